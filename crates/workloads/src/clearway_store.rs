//! Clearway as a [`Store`].

use std::time::Instant;

use clearway::{Database, Error, Pending, Result, Savepoint, Scan, Stage, Table, Transaction};
use clearway_testkit::program::{KeyBounds, Operations, ScanOrder};

use crate::store::{Outstanding, Store};

/// A Clearway database behind the workloads' [`Store`] trait.
#[derive(Clone)]
pub struct ClearwayStore {
    db: Database,
}

impl ClearwayStore {
    /// Wraps a database.
    pub fn new(db: Database) -> ClearwayStore {
        ClearwayStore { db }
    }

    /// The database.
    pub fn database(&self) -> &Database {
        &self.db
    }
}

impl Store for ClearwayStore {
    type Table = Table;
    type Error = Error;
    type Tx<'a> = ClearwayTransaction<'a>;
    type Pending<T: Send> = Pending<T>;

    fn table(&self, name: &str) -> Result<Table> {
        self.db.table(name)
    }

    fn run<T, F>(&self, name: &'static str, mut body: F) -> Result<T>
    where
        T: Send,
        F: for<'a> FnMut(&mut ClearwayTransaction<'a>) -> Result<T>,
    {
        self.db.transact(name, |tx| body(&mut ClearwayTransaction { tx }))
    }

    fn submit<T, F>(&self, name: &'static str, mut body: F) -> Result<Pending<T>>
    where
        T: Send,
        F: for<'a> FnMut(&mut ClearwayTransaction<'a>) -> Result<T>,
    {
        self.db.submit(name, |tx| body(&mut ClearwayTransaction { tx }))
    }

    fn aborts(&self) -> u64 {
        self.db.type_stats().iter().map(|kind| kind.retries).sum()
    }
}

/// A Clearway transaction behind [`Operations`].
pub struct ClearwayTransaction<'a> {
    tx: &'a mut Transaction,
}

impl<'a> ClearwayTransaction<'a> {
    /// Wraps a transaction.
    pub fn new(tx: &'a mut Transaction) -> ClearwayTransaction<'a> {
        ClearwayTransaction { tx }
    }

    /// The stage in which the closure runs.
    pub fn stage(&self) -> Stage {
        self.tx.stage()
    }
}

impl Operations for ClearwayTransaction<'_> {
    type Table = Table;
    type Error = Error;
    type Savepoint = Savepoint;

    #[inline]
    fn get(&mut self, table: &Table, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        self.tx.get_into(table, key, out)
    }

    #[inline]
    fn get_for_update(&mut self, table: &Table, key: &[u8], out: &mut Vec<u8>) -> Result<bool> {
        self.tx.get_for_update_into(table, key, out)
    }

    #[inline]
    fn insert(&mut self, table: &Table, key: &[u8], row: &[u8]) -> Result<()> {
        self.tx.insert(table, key, row)
    }

    #[inline]
    fn put(&mut self, table: &Table, key: &[u8], row: &[u8]) -> Result<()> {
        self.tx.put(table, key, row).map(drop)
    }

    #[inline]
    fn update(&mut self, table: &Table, key: &[u8], row: &[u8]) -> Result<()> {
        self.tx.update(table, key, row)
    }

    #[inline]
    fn delete(&mut self, table: &Table, key: &[u8]) -> Result<()> {
        self.tx.delete(table, key)
    }

    fn scan(
        &mut self,
        table: &Table,
        bounds: KeyBounds<'_>,
        order: ScanOrder,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        let scan = match order {
            ScanOrder::Ascending => self.tx.scan(table, bounds),
            ScanOrder::Descending => self.tx.scan_descending(table, bounds),
        };
        walk(scan, visit)
    }

    fn scan_for_update(
        &mut self,
        table: &Table,
        bounds: KeyBounds<'_>,
        visit: &mut dyn FnMut(&[u8], &[u8]) -> bool,
    ) -> Result<()> {
        walk(self.tx.scan_for_update(table, bounds), visit)
    }

    fn savepoint(&mut self) -> Result<Savepoint> {
        self.tx.savepoint()
    }

    fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        self.tx.rollback_to(savepoint)
    }
}

fn walk(mut scan: Scan<'_>, visit: &mut dyn FnMut(&[u8], &[u8]) -> bool) -> Result<()> {
    while let Some((key, row)) = scan.next_ref()? {
        if !visit(key, row) {
            break;
        }
    }
    Ok(())
}

impl<T: Send> Outstanding<T, Error> for Pending<T> {
    #[inline]
    fn is_ready(&self) -> bool {
        Pending::is_ready(self)
    }

    fn wait_until(&self, deadline: Instant) -> bool {
        Pending::wait_until(self, deadline)
    }

    fn wait(self) -> Result<T> {
        Pending::wait(self)
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Bound::Unbounded;

    use super::*;

    #[test]
    fn a_scan_for_update_locks_what_it_visits_as_a_write_does() {
        let options = clearway::Options::in_memory().cache_size(16 << 20);
        let store = ClearwayStore::new(options.open("scan").unwrap());
        let table = store.table("rows").unwrap();
        for row in [b"a", b"b"] {
            store.run("fill", |tx| tx.insert(&table, row, b"")).unwrap();
        }
        // The rows that another transaction can read after the first row was visited.
        let readable = || {
            let mut other = store.database().begin();
            other.lock_wait(clearway::LockWait::Never);
            [b"a", b"b"].map(|row| other.get(&table, row).is_ok())
        };
        let seen = store.run("scan", |tx| {
            tx.scan(&table, (Unbounded, Unbounded), ScanOrder::Ascending, &mut |_, _| false)?;
            let after_scan = readable();
            tx.scan_for_update(&table, (Unbounded, Unbounded), &mut |_, _| false)?;
            Ok([after_scan, readable()])
        });
        assert_eq!(seen.unwrap(), [[true, true], [false, true]]);
    }
}
