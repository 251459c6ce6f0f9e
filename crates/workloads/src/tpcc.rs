//! TPC-C (TPC Benchmark C, revision 5.11): a wholesale supplier with warehouses, ten districts to
//! each, and five transactions: new-order, payment, order-status, delivery and stock-level.
//!
//! All nine tables with all their columns, the loader (clause 4.3), the five transactions in full
//! (clause 2), and the twelve consistency conditions (clause 3.3.2). There are two indexes besides:
//! customers by last name, and orders by customer, for a customer's newest order.
//!
//! Statements stand in the order of the specification's transaction profiles, which is not the best
//! one: new-order takes its district's row, which every new order there needs, before all the
//! others, and payment its warehouse's. This is on purpose, so that other orders can be measured
//! against it. Rows that are written are read for update.
//!
//! Differences from the specification:
//! - No terminals: what one would ask for is drawn, and of what it would show one figure is given
//!   back.
//! - Clients think only if configured ([`Tpcc::thinking`]): without, a run's throughput is no tpmC.
//!   With it, what is keyed in is drawn before, its date included.
//! - The types are drawn with the weights 45, 43, 4, 4 and 4, and not dealt from a deck.
//! - Delivery is one transaction for all ten districts, as clause 2.7.2 allows, and runs like the
//!   others instead of from a queue.
//! - A smaller scale may be chosen, for tests; what depends on the scale is scaled with it.

mod fields;
mod keys;
mod random;
mod rows;
mod scale;

mod mix;
mod terminal;
mod think;

mod delivery;
mod new_order;
mod order_status;
mod payment;
mod stock_level;

mod access;
mod check;
mod load;

use std::time::Duration;

use clearway_sync::atomic::{AtomicU32, Ordering};
use clearway_testkit::program::{Operations, ProgramError, ScanOrder};

use crate::{driver::Workload, store::Store};

use access::Scratch;
pub use check::TpccReport;
pub use mix::{TpccMix, TpccTransaction};
pub use scale::TpccScale;
use terminal::Terminal;
pub use terminal::TpccClient;
pub use think::TpccThink;

/// Districts of a warehouse.
const DISTRICTS: u8 = 10;
/// The most lines that an order has, and the fewest.
const LINES_MAX: u8 = 15;
const LINES_MIN: u8 = 5;
/// The amount that each customer has paid when loaded, in cents.
const FIRST_PAYMENT: i64 = 1_000;

/// A loaded database, ready to run.
pub struct Tpcc<S: Store> {
    tables: Tables<S>,
    scale: TpccScale,
    mix: TpccMix,
    think: TpccThink,
    /// The constant with which last names were drawn for loading.
    load_constant: u32,
    /// Highest history sequence that any client used before this run.
    sequence_base: u32,
    /// The number of the next client.
    clients: AtomicU32,
}

/// The nine tables, two indexes and the scale row.
struct Tables<S: Store> {
    warehouse: S::Table,
    district: S::Table,
    customer: S::Table,
    history: S::Table,
    new_order: S::Table,
    order: S::Table,
    order_line: S::Table,
    item: S::Table,
    stock: S::Table,
    customer_name: S::Table,
    customer_order: S::Table,
    scale: S::Table,
}

impl<S: Store> Tables<S> {
    fn open(store: &S) -> Result<Tables<S>, S::Error> {
        Ok(Tables {
            warehouse: store.table("warehouse")?,
            district: store.table("district")?,
            customer: store.table("customer")?,
            history: store.table("history")?,
            new_order: store.table("new_order")?,
            order: store.table("order")?,
            order_line: store.table("order_line")?,
            item: store.table("item")?,
            stock: store.table("stock")?,
            customer_name: store.table("customer_name")?,
            customer_order: store.table("customer_order")?,
            scale: store.table("tpcc_scale")?,
        })
    }
}

/// The parameters of one transaction.
pub enum Work {
    /// An order of some items.
    NewOrder(new_order::NewOrder),
    /// A customer's payment.
    Payment(payment::Payment),
    /// A question for a customer's newest order.
    OrderStatus(order_status::OrderStatus),
    /// A carrier that takes the oldest order of each district.
    Delivery(delivery::Delivery),
    /// A question for items that run out.
    StockLevel(stock_level::StockLevel),
}

impl<S: Store> Tpcc<S> {
    /// Opens the data in `store`, loading them first if they are not there, with `threads` threads.
    /// `progress` is called with the number of rows that were added since its last call; if it
    /// returns false, loading ends with an error.
    ///
    /// Data of another scale, or whose loading was interrupted, are an error.
    pub fn prepare(
        store: &S,
        scale: TpccScale,
        mix: TpccMix,
        threads: usize,
        progress: &(dyn Fn(u64) -> bool + Sync),
    ) -> Result<Tpcc<S>, S::Error> {
        if let Some(fault) = scale.fault() {
            return Err(S::Error::failed(fault.into()));
        }
        let tables = Tables::open(store)?;
        let load_constant = load::load_if_absent(store, &tables, scale, threads, progress)?;
        let sequence_base = last_sequence(store, &tables.history)?;
        let clients = AtomicU32::new(0);
        let think = TpccThink::None;
        Ok(Tpcc { tables, scale, mix, think, load_constant, sequence_base, clients })
    }

    /// Makes clients wait between their transactions; by default, they do not.
    pub fn thinking(self, think: TpccThink) -> Tpcc<S> {
        Tpcc { think, ..self }
    }

    /// Returns the scale at which the data were loaded.
    pub fn scale(&self) -> TpccScale {
        self.scale
    }

    /// Does the work. Returns the figure that a terminal would show: the order's amount, the
    /// customer's balance, the number of districts delivered to or of items that run out.
    fn perform(
        &self,
        tx: &mut S::Tx<'_>,
        work: &Work,
        scratch: &mut Scratch,
    ) -> Result<i64, S::Error> {
        match work {
            Work::NewOrder(work) => work.perform(&self.tables, tx, scratch),
            Work::Payment(work) => work.perform(&self.tables, tx, scratch),
            Work::OrderStatus(work) => work.perform(&self.tables, tx, scratch),
            Work::Delivery(work) => work.perform(&self.tables, tx, scratch),
            Work::StockLevel(work) => work.perform(&self.tables, tx, scratch),
        }
    }
}

impl Work {
    fn kind(&self) -> TpccTransaction {
        match self {
            Work::NewOrder(_) => TpccTransaction::NewOrder,
            Work::Payment(_) => TpccTransaction::Payment,
            Work::OrderStatus(_) => TpccTransaction::OrderStatus,
            Work::Delivery(_) => TpccTransaction::Delivery,
            Work::StockLevel(_) => TpccTransaction::StockLevel,
        }
    }
}

impl<S: Store> Workload<S> for Tpcc<S> {
    type Client = TpccClient;
    type Work = Work;
    type Output = i64;

    fn types(&self) -> &'static [&'static str] {
        &mix::NAMES
    }

    fn client(&self, seed: u64) -> TpccClient {
        // Relaxed: only the uniqueness of the number matters.
        let number = self.clients.fetch_add(1, Ordering::Relaxed);
        TpccClient {
            terminal: Terminal::new(self.scale, self.load_constant, seed, number),
            sequence: self.sequence_base,
            last: None,
            scratch: Scratch::default(),
        }
    }

    fn draw(&self, client: &mut TpccClient) -> (usize, Work) {
        let terminal = &mut client.terminal;
        let work = match self.mix.pick(&mut terminal.random) {
            TpccTransaction::NewOrder => Work::NewOrder(new_order::NewOrder::draw(terminal)),
            TpccTransaction::Payment => {
                client.sequence += 1;
                Work::Payment(payment::Payment::draw(terminal, client.sequence))
            }
            TpccTransaction::OrderStatus => {
                Work::OrderStatus(order_status::OrderStatus::draw(terminal))
            }
            TpccTransaction::Delivery => Work::Delivery(delivery::Delivery::draw(terminal)),
            TpccTransaction::StockLevel => {
                Work::StockLevel(stock_level::StockLevel::draw(terminal))
            }
        };
        (work.kind() as usize, work)
    }

    fn pause(&self, client: &mut TpccClient, kind: usize) -> Duration {
        let next = TpccTransaction::ALL[kind];
        let last = client.last.replace(next);
        self.think.pause(&mut client.terminal.random, last, next)
    }

    fn run(&self, store: &S, client: &mut TpccClient, work: &Work) -> Result<(), S::Error> {
        let scratch = &mut client.scratch;
        store.run(work.kind().name(), |tx| self.perform(tx, work, scratch))?;
        Ok(())
    }

    fn submit(
        &self,
        store: &S,
        client: &mut TpccClient,
        work: &Work,
    ) -> Result<S::Pending<i64>, S::Error> {
        let scratch = &mut client.scratch;
        store.submit(work.kind().name(), |tx| self.perform(tx, work, scratch))
    }
}

/// The highest sequence of any client in the history, so that a second run goes on from it.
/// Clients stand in the key's upper part, so the last row of each is looked up.
fn last_sequence<S: Store>(store: &S, history: &S::Table) -> Result<u32, S::Error> {
    use std::ops::Bound::{Excluded, Included};
    let (mut highest, mut above) = (0, keys::first_loaded_history());
    // From the last client down, each time to the one below the last one found.
    loop {
        let bounds = (Included(&[0u8; 8][..]), Excluded(&above[..]));
        let found = store.run("resume", |tx| {
            let mut last = None;
            tx.scan(history, bounds, ScanOrder::Descending, &mut |key, _| {
                last = Some((keys::number(key, 0), keys::last_number(key)));
                false
            })?;
            Ok(last)
        })?;
        let Some((client, sequence)) = found else { return Ok(highest) };
        highest = highest.max(sequence);
        above = keys::history(client, 0);
    }
}

#[cfg(test)]
mod tests;
