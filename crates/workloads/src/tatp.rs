//! TATP (Telecommunication Application Transaction Processing benchmark, IBM, version 1.0 of its
//! description, 2009): the register of a mobile network's subscribers, and seven very short
//! transactions on it, four fifths of which only read.
//!
//! Four tables, all rows with all their columns; SUBSCRIBER has a second index, sub_nbr to s_id,
//! which is a table of its own here. Population, transaction mix and the non-uniform choice of
//! subscribers are the description's.
//!
//! About a quarter of the transactions is *unsuccessful* by the rules, as the row that was drawn at
//! random does not exist, or does. Those that have something to undo, or broke a key's rule, are
//! rolled back (`update-subscriber-data`, `insert-call-forwarding`); those that found nothing to
//! read or to delete commit, as in SQL, and [`Tatp::unsuccessful`] counts them.
//!
//! Differences: the key's columns are not repeated in the row; which facilities and forwardings a
//! subscriber has is drawn from s_id alone, so that the check can draw it again.

mod draw;
mod population;
mod rows;

mod check;
mod load;
mod transactions;

use clearway_sync::{
    CachePadded,
    atomic::{AtomicU64, Ordering},
};
use clearway_testkit::Random;
use clearway_testkit::program::ProgramError;

use crate::{driver::Workload, store::Store};

pub use check::TatpAudit;
pub use draw::TatpTransaction;
use draw::{Drawn, KINDS, Mix};
use population::Shape;
use transactions::perform;

/// Places where unsuccessful transactions are counted, so that threads seldom share one.
const COUNTERS: usize = 64;

/// The number of subscribers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TatpScale {
    /// Rows of SUBSCRIBER: 100,000 in the description's smallest population.
    pub subscribers: u32,
}

impl TatpScale {
    /// Rows that loading writes, those of the index included: some 10.75 for each subscriber.
    /// Each is drawn to count them, which takes some 50 ns.
    pub fn rows(&self) -> u64 {
        (1..=self.subscribers).map(|id| Shape::draw(id).0.rows()).sum()
    }

    /// The ranges of s_id, `from..to`, of `threads` threads.
    fn parts(self, threads: usize) -> impl Iterator<Item = (u32, u32)> {
        let (subscribers, parts) = (u64::from(self.subscribers), threads.max(1) as u64);
        // At most 2³² − 1, as `prepare` leaves out the largest number of subscribers.
        let bound = move |part: u64| (subscribers * part / parts + 1) as u32;
        (0..parts).map(move |part| (bound(part), bound(part + 1)))
    }
}

/// The loaded subscribers, ready to run.
pub struct Tatp<S: Store> {
    tables: Tables<S>,
    scale: TatpScale,
    mix: Mix,
    /// Numbers the clients.
    clients: AtomicU64,
    unsuccessful: Box<[CachePadded<[AtomicU64; KINDS]>]>,
}

/// The tables.
struct Tables<S: Store> {
    subscriber: S::Table,
    by_number: S::Table,
    access: S::Table,
    facility: S::Table,
    forwarding: S::Table,
    scale: S::Table,
}

impl<S: Store> Tables<S> {
    fn open(store: &S) -> Result<Tables<S>, S::Error> {
        Ok(Tables {
            subscriber: store.table("subscriber")?,
            by_number: store.table("subscriber_by_number")?,
            access: store.table("access_info")?,
            facility: store.table("special_facility")?,
            forwarding: store.table("call_forwarding")?,
            scale: store.table("tatp_scale")?,
        })
    }
}

/// One logical client: its random numbers and its row buffer.
pub struct TatpClient {
    random: Random,
    /// The index of its counter.
    counter: usize,
    row: Vec<u8>,
}

impl<S: Store> Tatp<S> {
    /// Opens the subscribers in `store`, loading them first if they are not there, with `threads`
    /// threads. With `only`, all transactions are of that type. `progress` is called with the
    /// number of rows that were added since its last call; if it returns false, loading ends with
    /// an error.
    ///
    /// Another number of subscribers, or a loading that was interrupted, is an error.
    pub fn prepare(
        store: &S,
        scale: TatpScale,
        only: Option<TatpTransaction>,
        threads: usize,
        progress: &(dyn Fn(u64) -> bool + Sync),
    ) -> Result<Tatp<S>, S::Error> {
        if scale.subscribers == 0 || scale.subscribers == u32::MAX {
            return Err(S::Error::failed("there are 1 to 2³² − 2 subscribers".into()));
        }
        let tables = Tables::open(store)?;
        load::load_if_absent(store, &tables, scale, threads, progress)?;
        let counters = || CachePadded::new(std::array::from_fn(|_| AtomicU64::new(0)));
        Ok(Tatp {
            tables,
            scale,
            mix: Mix::new(scale.subscribers, only),
            clients: AtomicU64::new(0),
            unsuccessful: (0..COUNTERS).map(|_| counters()).collect(),
        })
    }

    /// The number of subscribers.
    pub fn scale(&self) -> TatpScale {
        self.scale
    }

    /// Committed transactions that found nothing, since this was prepared, by type in the order of
    /// [`TatpTransaction::ALL`].
    pub fn unsuccessful(&self) -> [u64; KINDS] {
        std::array::from_fn(|kind| {
            // Relaxed: exact once the clients' threads were joined.
            self.unsuccessful.iter().map(|counts| counts[kind].load(Ordering::Relaxed)).sum()
        })
    }

    /// Counts a transaction that committed.
    #[inline]
    fn note(&self, client: &TatpClient, work: &Drawn, successful: bool) {
        if !successful {
            let kind = work.transaction() as usize;
            // Relaxed: a count.
            self.unsuccessful[client.counter][kind].fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl<S: Store> Workload<S> for Tatp<S> {
    type Client = TatpClient;
    type Work = Drawn;
    /// True if the transaction was successful.
    type Output = bool;

    fn types(&self) -> &'static [&'static str] {
        &TatpTransaction::NAMES
    }

    fn client(&self, seed: u64) -> TatpClient {
        // Relaxed: only the uniqueness of the number matters.
        let number = self.clients.fetch_add(1, Ordering::Relaxed);
        TatpClient {
            random: Random::stream(seed, number),
            counter: number as usize % COUNTERS,
            row: Vec::with_capacity(64),
        }
    }

    #[inline]
    fn draw(&self, client: &mut TatpClient) -> (usize, Drawn) {
        let work = self.mix.draw(&mut client.random);
        (work.transaction() as usize, work)
    }

    fn run(&self, store: &S, client: &mut TatpClient, work: &Drawn) -> Result<(), S::Error> {
        let row = &mut client.row;
        let name = work.transaction().name();
        let successful = store.run(name, |tx| perform::<S>(&self.tables, tx, work, row))?;
        self.note(client, work, successful);
        Ok(())
    }

    fn submit(
        &self,
        store: &S,
        client: &mut TatpClient,
        work: &Drawn,
    ) -> Result<S::Pending<bool>, S::Error> {
        let row = &mut client.row;
        let mut successful = true;
        let pending = store.submit(work.transaction().name(), |tx| {
            successful = perform::<S>(&self.tables, tx, work, row)?;
            Ok(successful)
        })?;
        // Counted before it is durable; if it does not become so, the run fails.
        self.note(client, work, successful);
        Ok(pending)
    }
}

#[cfg(test)]
mod tests;
