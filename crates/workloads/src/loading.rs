//! Loading a store: many rows to a transaction, several transactions in flight on each thread, and
//! one row, the mark, that records what was loaded.
//!
//! Invariant: the mark says "complete" only after every row of the loading is durable. A store
//! whose loading was interrupted is refused from then on, since its contents are unknown.

use std::{collections::VecDeque, thread};

use clearway_testkit::program::{Operations, ProgramError};

use crate::{
    driver::{join, start},
    store::{Outstanding, Store},
};

/// A callback that receives the number of rows added since its last call, and returns whether to
/// continue.
pub(crate) type Progress<'a> = dyn Fn(u64) -> bool + Sync + 'a;

/// Rows of a loading transaction: large enough that commits cost nothing, small enough for the
/// lock table.
const ROWS_PER_TRANSACTION: usize = 1_000;
/// Number of loading transactions that each thread keeps in flight.
const IN_FLIGHT: usize = 4;
/// The key of the mark, the row that records what was loaded.
const MARK_KEY: &[u8] = b"scale";

/// The mark of a store: the scale, then a note that only a loaded store has, then 1 once everything
/// is loaded.
pub(crate) struct Mark<'a, S: Store> {
    pub(crate) store: &'a S,
    /// The table of this one row.
    pub(crate) table: &'a S::Table,
    /// A description of the data for errors: "a TPC-B bank".
    pub(crate) what: &'static str,
    /// The requested scale.
    pub(crate) scale: &'a [u8],
}

impl<S: Store> Mark<'_, S> {
    /// Loads with `load` if the store is empty, and checks its scale otherwise. Returns `note`, or
    /// the note of the earlier loading.
    ///
    /// # Errors
    ///
    /// Errors of the store and of `load`, data of another scale, or an earlier loading that was
    /// interrupted.
    pub(crate) fn load_once(
        &self,
        note: &[u8],
        load: impl FnOnce() -> Result<(), S::Error>,
    ) -> Result<Vec<u8>, S::Error> {
        let mut found = Vec::new();
        if self.store.run("scale", |tx| tx.get(self.table, MARK_KEY, &mut found))? {
            return self.note_of(&found, note.len());
        }
        self.write(note, 0)?;
        load()?;
        self.write(note, 1)?;
        Ok(note.to_vec())
    }

    fn note_of(&self, mark: &[u8], len: usize) -> Result<Vec<u8>, S::Error> {
        let what = self.what;
        let refused = match mark.split_last() {
            Some((1, rest)) => match rest.strip_prefix(self.scale) {
                Some(note) if note.len() == len => return Ok(note.to_vec()),
                _ => format!("the directory holds {what} of another scale"),
            },
            _ => format!("the loading of {what} into this directory was interrupted"),
        };
        Err(S::Error::failed(format!("{refused}; use another directory")))
    }

    fn write(&self, note: &[u8], complete: u8) -> Result<(), S::Error> {
        let row = [self.scale, note, &[complete]].concat();
        self.store.run("scale", |tx| tx.put(self.table, MARK_KEY, &row))
    }
}

/// Runs `load` for each of `parts` on a thread of its own, and returns the first error.
pub(crate) fn in_parallel<'a, S: Store, P: Send>(
    store: &'a S,
    progress: &'a Progress<'a>,
    parts: impl Iterator<Item = P>,
    load: impl Fn(P, &mut Loader<'a, S>) -> Result<(), S::Error> + Sync,
) -> Result<(), S::Error> {
    let load = &load;
    thread::scope(|scope| {
        let workers: Vec<_> = parts
            .map(|part| {
                start::<S, _>(scope, move || {
                    let mut loader = Loader::new(store, progress);
                    load(part, &mut loader)?;
                    loader.finish()
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.and_then(join::<S, _>))
    })
}

/// The loader of one thread.
pub(crate) struct Loader<'a, S: Store> {
    store: &'a S,
    progress: &'a Progress<'a>,
    in_flight: VecDeque<S::Pending<u64>>,
    rows: Vec<Row<'a, S>>,
    /// Keys and rows, one after the other.
    bytes: Vec<u8>,
}

/// The end of a row of the next transaction in the bytes; the row begins at the end of the one
/// before it.
struct Row<'a, S: Store> {
    table: &'a S::Table,
    key_end: usize,
    end: usize,
}

impl<'a, S: Store> Loader<'a, S> {
    pub(crate) fn new(store: &'a S, progress: &'a Progress<'a>) -> Loader<'a, S> {
        let in_flight = VecDeque::with_capacity(IN_FLIGHT);
        Loader { store, progress, in_flight, rows: Vec::new(), bytes: Vec::new() }
    }

    pub(crate) fn insert(
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

    /// Waits until all rows are durable.
    pub(crate) fn finish(mut self) -> Result<(), S::Error> {
        self.submit()?;
        while !self.in_flight.is_empty() {
            self.reap()?;
        }
        Ok(())
    }

    fn submit(&mut self) -> Result<(), S::Error> {
        if self.rows.is_empty() {
            return Ok(());
        }
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
