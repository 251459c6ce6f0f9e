//! The store under a workload: the engine, or a broken store that a test puts in its place.

use std::{sync::OnceLock, time::Duration};

use clearway::{
    Database, Error, Pending, Pipeline, PipelineOptions, Result, Savepoint, Table, Transaction,
};
use clearway_sync::{
    atomic::{AtomicU64, Ordering},
    thread,
};

use super::patterned::Patterned;
use crate::history::{Op, Way};

/// Number of conflicts after which an interactive transaction is abandoned.
const ATTEMPTS: u64 = 100;

/// The tables of the workloads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Place {
    /// Lists.
    Lists,
    /// Registers.
    Registers,
    /// Rows: present or not, with their version.
    Rows,
    /// For each row, the list of its versions.
    Ledgers,
}

impl Place {
    const ALL: [Place; 4] = [Place::Lists, Place::Registers, Place::Rows, Place::Ledgers];

    fn name(self) -> &'static str {
        match self {
            Place::Lists => "lists",
            Place::Registers => "registers",
            Place::Rows => "rows",
            Place::Ledgers => "ledgers",
        }
    }
}

/// The operations of a transaction.
pub trait Access {
    /// Returns the value of a key.
    fn get(&mut self, place: Place, key: u64) -> Result<Option<Vec<u8>>>;
    /// Returns the value of a key that will be written.
    fn get_for_update(&mut self, place: Place, key: u64) -> Result<Option<Vec<u8>>>;
    /// Inserts or replaces an entry.
    fn put(&mut self, place: Place, key: u64, value: &[u8]) -> Result<()>;
    /// Removes an entry if it is present.
    fn remove(&mut self, place: Place, key: u64) -> Result<()>;
    /// Returns the entries with `low <= key <= high`.
    fn range(&mut self, place: Place, low: u64, high: u64, way: Way)
    -> Result<Vec<(u64, Vec<u8>)>>;
    /// Sets a savepoint.
    fn savepoint(&mut self) -> Result<()>;
    /// Rolls back to the last savepoint.
    fn rollback_to_savepoint(&mut self) -> Result<()>;
}

/// The way in which a transaction is run and committed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// Retry after conflicts, and wait for durability.
    Transact,
    /// Retry after conflicts, and wait on another thread.
    Submit,
    /// Begin and commit explicitly.
    Commit,
    /// The same, pipelined.
    CommitPipelined,
    /// As a task, of which operations, the commit or the whole transaction may be dropped.
    Task,
    /// As an asynchronous closure that this thread polls.
    TransactAsync,
    /// As an asynchronous closure that an agent of a pipeline polls.
    SubmitAsync,
    /// The same, with a function that gets the result.
    SubmitAsyncThen,
}

/// A transaction as a closure that returns the operations it performed.
pub type Body<'a> = dyn FnMut(&mut dyn Access) -> Result<Vec<Op>> + 'a;

/// Waits for a transaction's result.
pub type Ticket = Box<dyn FnOnce() -> Result<Vec<Op>> + Send>;

/// Something that runs transactions.
pub trait Store: Sync {
    /// Runs a transaction. The ticket gives its result when that is durable.
    ///
    /// # Errors
    /// The error of the body or of the commit.
    fn run(&self, how: How, body: &mut Body<'_>) -> Result<Ticket>;
}

/// The engine.
pub struct EngineStore {
    pub(super) database: Database,
    tables: Vec<Table>,
    patterned: Option<Patterned>,
    /// Started for the first transaction that runs in it.
    pipeline: OnceLock<Pipeline>,
    /// The number of tasks so far, from which each one's random choices follow.
    tasks: AtomicU64,
}

/// The additional table for pattern steps.
const PATTERNED: &str = "patterned";

impl EngineStore {
    /// Opens or creates the tables.
    pub fn new(database: Database) -> Result<EngineStore> {
        let tables = Place::ALL.iter().map(|place| database.table(place.name()));
        let tables = tables.collect::<Result<_>>()?;
        let (pipeline, tasks) = (OnceLock::new(), AtomicU64::new(0));
        Ok(EngineStore { database, tables, patterned: None, pipeline, tasks })
    }

    /// Like [`EngineStore::new`], but keys follow a pattern drawn from the seed, and transactions
    /// take steps of another pattern in an additional table. Pages are of `node_bytes`.
    ///
    /// # Errors
    /// The engine's errors.
    pub fn with_patterns(database: Database, seed: u64, node_bytes: usize) -> Result<EngineStore> {
        let table = database.table(PATTERNED)?;
        let patterned = Some(Patterned::new(table, seed, node_bytes));
        Ok(EngineStore { patterned, ..EngineStore::new(database)? })
    }

    /// Runs a body in a transaction.
    fn perform(&self, tx: &mut Transaction, body: &mut Body<'_>) -> Result<Vec<Op>> {
        if let Some(patterned) = &self.patterned {
            patterned.advance(tx)?;
        }
        body(&mut EngineAccess { tx, store: self, mark: None })
    }

    /// Returns the pipeline.
    ///
    /// # Errors
    /// If its threads cannot be started.
    pub(super) fn pipeline(&self) -> Result<&Pipeline> {
        if let Some(pipeline) = self.pipeline.get() {
            return Ok(pipeline);
        }
        let pipeline = PipelineOptions::new().agents(2).start(&self.database)?;
        // Of two threads that start one, the second ends its own again.
        Ok(self.pipeline.get_or_init(|| pipeline))
    }

    /// Returns a number that differs for each task.
    pub(super) fn next_task(&self) -> u64 {
        self.tasks.fetch_add(1, Ordering::Relaxed) // a counter
    }

    pub(super) fn table(&self, place: Place) -> Table {
        self.tables[place as usize].clone()
    }

    pub(super) fn key(&self, number: u64) -> Vec<u8> {
        match &self.patterned {
            Some(patterned) => patterned.key(number),
            None => number.to_be_bytes().to_vec(),
        }
    }

    /// Returns the number of a key.
    pub(super) fn number(&self, key: &[u8]) -> u64 {
        match &self.patterned {
            Some(patterned) => patterned.number(key),
            None => super::number(key, 0),
        }
    }

    /// Returns the keys between two numbers, and true if a scan of them in this direction ascends.
    pub(super) fn range(
        &self,
        low: u64,
        high: u64,
        way: Way,
    ) -> (std::ops::RangeInclusive<Vec<u8>>, bool) {
        let is_up = way == Way::Up;
        match self.patterned.as_ref().is_some_and(Patterned::is_descending) {
            true => (self.key(high)..=self.key(low), !is_up),
            false => (self.key(low)..=self.key(high), is_up),
        }
    }

    /// Returns the database.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Runs a transaction without the façade's retries.
    fn interactive(&self, body: &mut Body<'_>) -> Result<(Transaction, Vec<Op>)> {
        let mut attempt = 0;
        loop {
            attempt += 1;
            let mut tx = self.database.begin();
            let result = self.perform(&mut tx, body);
            let error = match result {
                Ok(ops) => return Ok((tx, ops)),
                Err(error) => error,
            };
            // Dropping rolls back as well.
            let ended = if attempt % 2 == 0 {
                drop(tx);
                Ok(())
            } else {
                tx.rollback()
            };
            match ended {
                Ok(()) | Err(Error::TransactionEnded) if error.is_retryable() => {}
                Ok(()) | Err(Error::TransactionEnded) => return Err(error),
                Err(failure) => return Err(failure),
            }
            if attempt >= ATTEMPTS {
                return Err(Error::Aborted { reason: "too many conflicts".to_owned() });
            }
            thread::sleep(Duration::from_micros(attempt * 37 % 500));
        }
    }
}

fn ticket<T: Send + 'static>(
    pending: Pending<T>,
    value: impl FnOnce(T) -> Vec<Op> + Send + 'static,
) -> Ticket {
    Box::new(move || pending.wait().map(value))
}

impl Store for EngineStore {
    fn run(&self, how: How, body: &mut Body<'_>) -> Result<Ticket> {
        let run = |tx: &mut Transaction| self.perform(tx, body);
        match how {
            How::Transact => {
                let ops = self.database.transact("transact", run)?;
                Ok(Box::new(|| Ok(ops)))
            }
            How::Submit => Ok(ticket(self.database.submit("submit", run)?, |ops| ops)),
            How::Commit => {
                let (tx, ops) = self.interactive(body)?;
                tx.commit()?;
                Ok(Box::new(|| Ok(ops)))
            }
            How::CommitPipelined => {
                let (tx, ops) = self.interactive(body)?;
                Ok(ticket(tx.commit_pipelined()?, |()| ops))
            }
            How::Task => super::task::run(self, body),
            How::TransactAsync => super::task::transact(self, body),
            How::SubmitAsync => super::task::submit(self, body, false),
            How::SubmitAsyncThen => super::task::submit(self, body, true),
        }
    }
}

struct EngineAccess<'a> {
    tx: &'a mut Transaction,
    store: &'a EngineStore,
    mark: Option<Savepoint>,
}

impl Access for EngineAccess<'_> {
    fn get(&mut self, place: Place, key: u64) -> Result<Option<Vec<u8>>> {
        self.tx.get(&self.store.table(place), self.store.key(key))
    }

    fn get_for_update(&mut self, place: Place, key: u64) -> Result<Option<Vec<u8>>> {
        self.tx.get_for_update(&self.store.table(place), self.store.key(key))
    }

    fn put(&mut self, place: Place, key: u64, value: &[u8]) -> Result<()> {
        self.tx.put(&self.store.table(place), self.store.key(key), value).map(drop)
    }

    fn remove(&mut self, place: Place, key: u64) -> Result<()> {
        match self.tx.delete(&self.store.table(place), self.store.key(key)) {
            Err(Error::NotFound { .. }) => Ok(()),
            result => result,
        }
    }

    fn range(
        &mut self,
        place: Place,
        low: u64,
        high: u64,
        way: Way,
    ) -> Result<Vec<(u64, Vec<u8>)>> {
        let table = self.store.table(place);
        let (range, is_up) = self.store.range(low, high, way);
        let scan = match is_up {
            true => self.tx.scan(&table, range),
            false => self.tx.scan_descending(&table, range),
        };
        let entries: Vec<_> = scan.collect::<Result<_>>()?;
        Ok(entries.into_iter().map(|(key, value)| (self.store.number(&key), value)).collect())
    }

    fn savepoint(&mut self) -> Result<()> {
        self.mark = Some(self.tx.savepoint()?);
        Ok(())
    }

    fn rollback_to_savepoint(&mut self) -> Result<()> {
        let mark = self.mark.as_ref().ok_or(Error::UnknownSavepoint)?;
        self.tx.rollback_to(mark)
    }
}
