//! The workload: searches in a table of tellers, then one write.
//!
//! A teller's key is its number in the upper half of 64 bits, so that between two tellers there is
//! room for search bounds and for inserted rows.

use std::ops::Bound;

use clearway::{Error, Pending, Result, Table};
use clearway_sync::atomic::{AtomicU64, Ordering};
use clearway_testkit::Random;
use clearway_workloads::{ClearwayStore, Operations, ScanOrder, Store, Workload};

/// The number of range searches in a transaction.
const SEARCHES: usize = 4;
/// The offset from a teller's key at which searches between keys start and end.
const BETWEEN: u64 = 1 << 31;
/// The offset from a teller's key below which rows are inserted, in descending order, so that each
/// is directly after the teller.
const INSERTED: u64 = 1 << 30;
/// A teller's row, as in TPC-B.
const ROW: [u8; 100] = [7; 100];

/// The write at the end of a transaction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Write {
    /// An update of a teller.
    Update,
    /// An insert of a row directly after a teller.
    Insert,
}

/// The table, and the parameters of its transactions.
pub(super) struct Tellers {
    table: Table,
    tellers: u64,
    hits: u64,
    span: u64,
    write: Write,
    inserts: AtomicU64,
    clients: AtomicU64,
}

/// The work of one transaction, drawn before it starts so that a retry does the same.
pub(super) struct Work {
    searches: [(u64, u64); SEARCHES],
    write: u64,
}

fn key_of(teller: u64) -> u64 {
    (teller + 1) << 32
}

impl Tellers {
    /// Creates and loads the table.
    pub(super) fn load(
        store: &ClearwayStore,
        tellers: u32,
        hits: u32,
        span: u32,
        write: Write,
    ) -> Result<Tellers> {
        let (table, tellers) = (store.table("teller")?, u64::from(tellers));
        store.run("load", |tx| {
            (0..tellers).try_for_each(|t| tx.insert(&table, &key_of(t).to_be_bytes(), &ROW))
        })?;
        let (hits, span) = (u64::from(hits), u64::from(span).min(tellers - 1));
        let (inserts, clients) = (AtomicU64::new(0), AtomicU64::new(0));
        Ok(Tellers { table, tellers, hits, span, write, inserts, clients })
    }

    /// Draws the first and the last key of a search, both included.
    fn search(&self, random: &mut Random) -> (u64, u64) {
        let gaps = random.below(self.span + 1);
        let first = random.below(self.tellers - gaps);
        let offset = if random.below(100) < self.hits { 0 } else { BETWEEN };
        (key_of(first) + offset, key_of(first + gaps) + offset)
    }

    fn work(&self, random: &mut Random) -> Work {
        let searches = std::array::from_fn(|_| self.search(random));
        let teller = key_of(random.below(self.tellers));
        let write = match self.write {
            Write::Update => teller,
            // Relaxed: only the uniqueness of the numbers matters.
            Write::Insert => teller + INSERTED - self.inserts.fetch_add(1, Ordering::Relaxed),
        };
        Work { searches, write }
    }

    fn perform<T: Operations<Table = Table, Error = Error>>(
        &self,
        tx: &mut T,
        work: &Work,
    ) -> Result<()> {
        for (first, last) in work.searches {
            let (first, last) = (first.to_be_bytes(), last.to_be_bytes());
            let bounds = (Bound::Included(&first[..]), Bound::Included(&last[..]));
            tx.scan(&self.table, bounds, ScanOrder::Ascending, &mut |_, _| true)?;
        }
        let key = work.write.to_be_bytes();
        match self.write {
            Write::Update => self.add(tx, &key),
            Write::Insert => tx.insert(&self.table, &key, &ROW),
        }
    }

    /// Adds to a teller's balance. (An update that changes nothing would not be logged.)
    fn add<T: Operations<Table = Table, Error = Error>>(
        &self,
        tx: &mut T,
        key: &[u8],
    ) -> Result<()> {
        let mut row = Vec::with_capacity(ROW.len());
        tx.get_for_update(&self.table, key, &mut row)?;
        let Some((balance, _)) = row.split_first_chunk_mut() else {
            return Err(Error::Aborted { reason: "a teller is missing".into() });
        };
        *balance = u64::from_le_bytes(*balance).wrapping_add(1).to_le_bytes();
        tx.update(&self.table, key, &row)
    }
}

impl Workload<ClearwayStore> for Tellers {
    type Client = Random;
    type Work = Work;
    type Output = ();

    fn types(&self) -> &'static [&'static str] {
        &["search"]
    }

    fn client(&self, seed: u64) -> Random {
        // Relaxed: only the uniqueness of the numbers matters.
        Random::stream(seed, self.clients.fetch_add(1, Ordering::Relaxed))
    }

    fn draw(&self, random: &mut Random) -> (usize, Work) {
        (0, self.work(random))
    }

    fn run(&self, store: &ClearwayStore, _rng: &mut Random, work: &Work) -> Result<()> {
        store.run("search", |tx| self.perform(tx, work))
    }

    fn submit(&self, store: &ClearwayStore, _rng: &mut Random, work: &Work) -> Result<Pending<()>> {
        store.submit("search", |tx| self.perform(tx, work))
    }
}
