//! The workload: a table of one row, which each transaction reads for update and increments.

use clearway::{Error, Pending, Result, Table};
use clearway_workloads::{ClearwayStore, Operations, Store, Workload};

const KEY: &[u8] = b"hot";

/// The table with the row.
pub(super) struct HotRow {
    table: Table,
}

impl HotRow {
    /// Creates the table with the row, whose count is zero.
    pub(super) fn load(store: &ClearwayStore) -> Result<HotRow> {
        let table = store.table("hot")?;
        store.run("load", |tx| tx.insert(&table, KEY, &0u64.to_le_bytes()))?;
        Ok(HotRow { table })
    }

    /// Returns the row's count.
    pub(super) fn read(&self, store: &ClearwayStore) -> Result<u64> {
        let row = store.database().transact("read", |tx| tx.get(&self.table, KEY))?;
        Ok(row.as_deref().and_then(number).unwrap_or_default())
    }

    /// Adds one to the count, and calls `meanwhile` while it holds the lock.
    pub(super) fn increment<T: Operations<Table = Table, Error = Error>>(
        &self,
        tx: &mut T,
        meanwhile: impl Fn(),
    ) -> Result<()> {
        let mut row = Vec::with_capacity(8);
        tx.get_for_update(&self.table, KEY, &mut row)?;
        let Some(count) = number(&row) else {
            return Err(Error::Aborted { reason: "the row is missing".into() });
        };
        meanwhile();
        tx.update(&self.table, KEY, &(count + 1).to_le_bytes())
    }
}

fn number(row: &[u8]) -> Option<u64> {
    Some(u64::from_le_bytes(row.try_into().ok()?))
}

impl Workload<ClearwayStore> for HotRow {
    type Client = ();
    type Work = ();
    type Output = ();

    fn types(&self) -> &'static [&'static str] {
        &["increment"]
    }

    fn client(&self, _seed: u64) {}

    fn draw(&self, (): &mut ()) -> (usize, ()) {
        (0, ())
    }

    fn run(&self, store: &ClearwayStore, (): &mut (), (): &()) -> Result<()> {
        store.run("increment", |tx| self.increment(tx, || ()))
    }

    fn submit(&self, store: &ClearwayStore, (): &mut (), (): &()) -> Result<Pending<()>> {
        store.submit("increment", |tx| self.increment(tx, || ()))
    }
}
