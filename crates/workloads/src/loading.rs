//! Rows on their way into the store: many to a transaction, several transactions in flight.

use std::collections::VecDeque;

use super::Progress;
use crate::store::{Operations, Outstanding, Store, StoreError};

/// Rows of a loading transaction: large enough that commits cost nothing, small enough for the
/// lock table.
const ROWS_PER_TRANSACTION: usize = 1_000;
/// Loading transactions each thread keeps in flight.
const IN_FLIGHT: usize = 4;

/// One thread's way into the store.
pub(super) struct Loader<'a, S: Store> {
    store: &'a S,
    progress: &'a Progress<'a>,
    in_flight: VecDeque<S::Pending<u64>>,
    rows: Vec<Row<'a, S>>,
    /// Keys and rows, one after the other.
    bytes: Vec<u8>,
}

/// Where a row of the next transaction ends in the bytes; it begins where the one before it ends.
struct Row<'a, S: Store> {
    table: &'a S::Table,
    key_end: usize,
    end: usize,
}

impl<'a, S: Store> Loader<'a, S> {
    pub(super) fn new(store: &'a S, progress: &'a Progress<'a>) -> Loader<'a, S> {
        let in_flight = VecDeque::with_capacity(IN_FLIGHT);
        Loader { store, progress, in_flight, rows: Vec::new(), bytes: Vec::new() }
    }

    pub(super) fn insert(
        &mut self,
        table: &'a S::Table,
        key: &[u8],
        row: &[u8],
    ) -> Result<(), S::Error> {
        self.bytes.extend_from_slice(key);
        let key_end = self.bytes.len();
        self.bytes.extend_from_slice(row);
        self.rows.push(Row { table, key_end, end: self.bytes.len() });
        if self.rows.len() < ROWS_PER_TRANSACTION { Ok(()) } else { self.submit() }
    }

    /// Waits until all rows are there.
    pub(super) fn finish(mut self) -> Result<(), S::Error> {
        self.submit()?;
        while !self.in_flight.is_empty() {
            self.reap()?;
        }
        Ok(())
    }

    fn submit(&mut self) -> Result<(), S::Error> {
        if self.in_flight.len() == IN_FLIGHT {
            self.reap()?;
        }
        let (rows, bytes) = (&self.rows, &self.bytes);
        let pending = self.store.submit("load", |tx| {
            let mut start = 0;
            for row in rows {
                tx.insert(row.table, &bytes[start..row.key_end], &bytes[row.key_end..row.end])?;
                start = row.end;
            }
            Ok(rows.len() as u64)
        })?;
        self.in_flight.push_back(pending);
        self.rows.clear();
        self.bytes.clear();
        Ok(())
    }

    fn reap(&mut self) -> Result<(), S::Error> {
        let Some(oldest) = self.in_flight.pop_front() else { return Ok(()) };
        if (self.progress)(oldest.wait()?) {
            Ok(())
        } else {
            Err(S::Error::failed("loading was interrupted".into()))
        }
    }
}
