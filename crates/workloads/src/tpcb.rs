//! TPC-B (TPC Benchmark B, revision 2.0): a bank with branches, ten tellers and many accounts to
//! each branch, and one transaction that adds an amount to an account, its teller and its branch
//! and writes a history row.
//!
//! Differences from the standard: keys are 8 bytes big-endian; account, teller and branch rows
//! are 100 bytes and history rows 50 as it says; a history row's key is (client, sequence), so
//! that clients insert in different places. Rows are written in the order account, history,
//! teller, branch, as the standard's sample program does, so the hottest row comes last. As there,
//! the account belongs to the teller's branch in 85 of 100 transactions and to any other else.
//!
//! Another order of the statements may be chosen, [`TpcbOrder`], so that the effect of the order on
//! the time for which the hottest row is locked can be measured.
//!
//! Skew, which the standard does not have, acts on the choice of the branch and on the choice of
//! the account within it. Hot accounts are spread over the branch's key range, so that they do
//! not all share a page.

mod check;
mod load;
mod order;
mod rows;

use clearway_sync::atomic::{AtomicU64, Ordering};
use clearway_testkit::Random;
use clearway_testkit::program::{Operations, ProgramError, ScanOrder};

use crate::{Sampler, Skew, driver::Workload, store::Store};

pub use check::TpcbBalance;
pub use order::TpcbOrder;
use rows::{HISTORY_LEN, history_key, history_row, key, read_balance, write_balance};

/// Tellers of a branch.
const TELLERS: u64 = 10;
/// Transactions of 100 whose account is of the teller's own branch.
const LOCAL_PERCENT: u64 = 85;
/// The largest amount, either way.
const DELTA_MAX: u64 = 999_999;

/// The size of the bank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TpcbScale {
    /// Branches; each has ten tellers.
    pub branches: u32,
    /// Accounts of each branch: 100,000 in the standard.
    pub accounts_per_branch: u32,
}

impl TpcbScale {
    /// Accounts of all branches.
    pub fn accounts(&self) -> u64 {
        u64::from(self.branches) * u64::from(self.accounts_per_branch)
    }

    /// Rows that loading writes.
    pub fn rows(&self) -> u64 {
        self.accounts() + u64::from(self.branches) * (TELLERS + 1)
    }
}

/// A loaded bank, ready to run.
pub struct Tpcb<S: Store> {
    tables: Tables<S>,
    scale: TpcbScale,
    order: TpcbOrder,
    branches: Sampler,
    accounts: Sampler,
    /// Multiplier that spreads ranks over a branch's accounts; shares no factor with their number.
    spread: u64,
    /// Highest sequence that any client used before this run.
    sequence_base: u64,
    /// The number of the next client. (The driver counts acknowledged transactions.)
    clients: AtomicU64,
}

/// The bank's tables.
struct Tables<S: Store> {
    account: S::Table,
    teller: S::Table,
    branch: S::Table,
    history: S::Table,
    scale: S::Table,
}

impl<S: Store> Tables<S> {
    fn open(store: &S) -> Result<Tables<S>, S::Error> {
        Ok(Tables {
            account: store.table("account")?,
            teller: store.table("teller")?,
            branch: store.table("branch")?,
            history: store.table("history")?,
            scale: store.table("tpcb_scale")?,
        })
    }
}

/// One logical client: its random numbers, its history sequence and its row buffer.
pub struct TpcbClient {
    random: Random,
    number: u64,
    sequence: u64,
    row: Vec<u8>,
}

/// The parameters of one transaction, drawn before it starts so that a retry does the same.
pub struct Transfer {
    account: u64,
    teller: u64,
    branch: u64,
    delta: i64,
    history: [u8; 8],
    history_row: [u8; HISTORY_LEN],
}

impl<S: Store> Tpcb<S> {
    /// Opens the bank in `store`, loading it first if it is not there, with `threads` threads.
    /// `progress` is called with the number of rows that were added since its last call; if it
    /// returns false, loading ends with an error.
    ///
    /// A bank of another scale, or one whose loading was interrupted, is an error.
    pub fn prepare(
        store: &S,
        scale: TpcbScale,
        skew: Skew,
        threads: usize,
        progress: &(dyn Fn(u64) -> bool + Sync),
    ) -> Result<Tpcb<S>, S::Error> {
        if scale.branches == 0 || scale.accounts_per_branch == 0 {
            return Err(S::Error::failed("a bank has at least one branch and account".into()));
        }
        let tables = Tables::open(store)?;
        load::load_if_absent(store, &tables, scale, threads, progress)?;
        let sequence_base = last_sequence(store, &tables.history)?;
        let per_branch = u64::from(scale.accounts_per_branch);
        Ok(Tpcb {
            tables,
            scale,
            order: TpcbOrder::default(),
            branches: Sampler::new(skew, u64::from(scale.branches)),
            accounts: Sampler::new(skew, per_branch),
            spread: coprime_with(per_branch),
            sequence_base,
            clients: AtomicU64::new(0),
        })
    }

    /// Makes transactions change their rows in this order; by default, in that of the standard.
    pub fn set_order(&mut self, order: TpcbOrder) {
        self.order = order;
    }

    /// The bank's size.
    pub fn scale(&self) -> TpcbScale {
        self.scale
    }

    fn transfer(&self, client: &mut TpcbClient) -> Transfer {
        let random = &mut client.random;
        let branches = u64::from(self.scale.branches);
        let per_branch = u64::from(self.scale.accounts_per_branch);
        let branch = self.branches.pick(random);
        let teller = branch * TELLERS + random.below(TELLERS);
        let home = if branches == 1 || random.below(100) < LOCAL_PERCENT {
            branch
        } else {
            (branch + 1 + random.below(branches - 1)) % branches
        };
        let rank = self.accounts.pick(random);
        let account = home * per_branch + rank * self.spread % per_branch;
        let delta = random.below(2 * DELTA_MAX + 1) as i64 - DELTA_MAX as i64;
        client.sequence += 1;
        Transfer {
            account,
            teller,
            branch,
            delta,
            history: history_key(client.number, client.sequence),
            history_row: history_row(delta, account, teller, branch, client.sequence),
        }
    }
}

/// The transaction itself. Returns the account's new balance.
fn transfer<S: Store>(
    tables: &Tables<S>,
    order: TpcbOrder,
    tx: &mut S::Tx<'_>,
    what: &Transfer,
    row: &mut Vec<u8>,
) -> Result<i64, S::Error> {
    match order {
        TpcbOrder::Standard => {
            let balance = add::<S>(tx, &tables.account, what.account, what.delta, row)?;
            tx.insert(&tables.history, &what.history, &what.history_row)?;
            add::<S>(tx, &tables.teller, what.teller, what.delta, row)?;
            add::<S>(tx, &tables.branch, what.branch, what.delta, row)?;
            Ok(balance)
        }
        TpcbOrder::BranchFirst => {
            add::<S>(tx, &tables.branch, what.branch, what.delta, row)?;
            add::<S>(tx, &tables.teller, what.teller, what.delta, row)?;
            tx.insert(&tables.history, &what.history, &what.history_row)?;
            add::<S>(tx, &tables.account, what.account, what.delta, row)
        }
    }
}

/// Adds `delta` to one row's balance.
#[inline]
fn add<S: Store>(
    tx: &mut S::Tx<'_>,
    table: &S::Table,
    id: u64,
    delta: i64,
    row: &mut Vec<u8>,
) -> Result<i64, S::Error> {
    let key = key(id);
    if !tx.get_for_update(table, &key, row)? {
        return Err(S::Error::failed(format!("row {id} is missing")));
    }
    let balance = read_balance(row).wrapping_add(delta);
    write_balance(row, balance);
    tx.update(table, &key, row)?;
    Ok(balance)
}

impl<S: Store> Workload<S> for Tpcb<S> {
    type Client = TpcbClient;
    type Work = Transfer;
    type Output = i64;

    fn client(&self, seed: u64) -> TpcbClient {
        // Relaxed: only the uniqueness of the number matters.
        let number = self.clients.fetch_add(1, Ordering::Relaxed);
        TpcbClient {
            random: Random::stream(seed, number),
            number,
            sequence: self.sequence_base,
            row: Vec::with_capacity(128),
        }
    }

    fn types(&self) -> &'static [&'static str] {
        &["tpcb"]
    }

    fn draw(&self, client: &mut TpcbClient) -> (usize, Transfer) {
        (0, self.transfer(client))
    }

    fn run(&self, store: &S, client: &mut TpcbClient, what: &Transfer) -> Result<(), S::Error> {
        let row = &mut client.row;
        store.run("tpcb", |tx| transfer::<S>(&self.tables, self.order, tx, what, row))?;
        Ok(())
    }

    fn submit(
        &self,
        store: &S,
        client: &mut TpcbClient,
        what: &Transfer,
    ) -> Result<S::Pending<i64>, S::Error> {
        let row = &mut client.row;
        store.submit("tpcb", |tx| transfer::<S>(&self.tables, self.order, tx, what, row))
    }
}

/// The highest sequence in the history, so that a second run on the same bank goes on from it.
/// Client numbers stand in the key's upper part, so the last row of each is looked up.
fn last_sequence<S: Store>(store: &S, history: &S::Table) -> Result<u64, S::Error> {
    let (mut highest, mut client) = (0, 0u64);
    loop {
        let from = history_key(client, 0);
        let next = store.run("resume", |tx| {
            let mut first = None;
            let lower = std::ops::Bound::Included(&from[..]);
            let bounds = (lower, std::ops::Bound::Unbounded);
            tx.scan(history, bounds, ScanOrder::Ascending, &mut |key, _| {
                first = Some(rows::history_client(key));
                false
            })?;
            let Some(found) = first else { return Ok(None) };
            let (low, high) = (history_key(found, 0), history_key(found + 1, 0));
            let bounds =
                (std::ops::Bound::Included(&low[..]), std::ops::Bound::Excluded(&high[..]));
            let mut last = 0;
            tx.scan(history, bounds, ScanOrder::Descending, &mut |key, _| {
                last = rows::history_sequence(key);
                false
            })?;
            Ok(Some((found, last)))
        })?;
        let Some((found, last)) = next else { return Ok(highest) };
        highest = highest.max(last);
        client = found + 1;
    }
}

/// A large multiplier that shares no factor with `n`, so that r ↦ r × m mod n is a bijection.
fn coprime_with(n: u64) -> u64 {
    fn gcd(a: u64, b: u64) -> u64 {
        if b == 0 { a } else { gcd(b, a % b) }
    }
    // Near 2³² ÷ golden ratio; ranks stay below 2³², so the product does not overflow.
    (0x9E37_79B1u64..).find(|&m| gcd(m, n) == 1).unwrap_or(1)
}

#[cfg(test)]
mod tests;
