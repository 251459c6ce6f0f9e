//! What a workload runs on: the engine, or something broken that tests put in its place.

use std::time::Duration;

use clearway::{Database, Error, Pending, Result, Savepoint, Table, Transaction};
use clearway_sync::thread;

use super::patterned::Patterned;
use crate::history::{Op, Way};

/// Conflicts after which an interactive transaction is given up.
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

/// What a transaction can do.
pub trait Access {
    /// The value of a key.
    fn get(&mut self, place: Place, key: u64) -> Result<Option<Vec<u8>>>;
    /// The value of a key that will be written.
    fn get_for_update(&mut self, place: Place, key: u64) -> Result<Option<Vec<u8>>>;
    /// Adds or replaces.
    fn put(&mut self, place: Place, key: u64, value: &[u8]) -> Result<()>;
    /// Removes, if it is there.
    fn remove(&mut self, place: Place, key: u64) -> Result<()>;
    /// The entries with `low <= key <= high`.
    fn range(&mut self, place: Place, low: u64, high: u64, way: Way)
    -> Result<Vec<(u64, Vec<u8>)>>;
    /// Marks the state to come back to.
    fn savepoint(&mut self) -> Result<()>;
    /// Comes back to the last mark.
    fn rollback_to_savepoint(&mut self) -> Result<()>;
}

/// How a transaction is run and committed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// Run again after conflicts, and wait.
    Transact,
    /// Run again after conflicts, and wait elsewhere.
    Submit,
    /// Begun and committed by hand.
    Commit,
    /// The same, pipelined.
    CommitPipelined,
}

/// A transaction as a closure: what it did, as far as it got.
pub type Body<'a> = dyn FnMut(&mut dyn Access) -> Result<Vec<Op>> + 'a;

/// Waits for a transaction's result.
pub type Ticket = Box<dyn FnOnce() -> Result<Vec<Op>> + Send>;

/// Something that runs transactions.
pub trait Store: Sync {
    /// Runs one; the ticket gives its result when it is durable.
    ///
    /// # Errors
    /// What the body, or the commit, returns.
    fn run(&self, how: How, body: &mut Body<'_>) -> Result<Ticket>;
}

/// The engine.
pub struct EngineStore {
    database: Database,
    tables: Vec<Table>,
    patterned: Option<Patterned>,
}

/// The table beside those of the workloads.
const PATTERNED: &str = "patterned";

impl EngineStore {
    /// Opens or creates the tables.
    pub fn new(database: Database) -> Result<EngineStore> {
        let tables = Place::ALL.iter().map(|place| database.table(place.name()));
        let tables = tables.collect::<Result<_>>()?;
        Ok(EngineStore { database, tables, patterned: None })
    }

    /// The same, with keys in a pattern that follows from the seed, and with a run of another
    /// pattern beside them. Pages are of `node_bytes`.
    ///
    /// # Errors
    /// What the engine says.
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

    /// The database itself.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// A transaction without the façade's retries.
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
        }
    }
}

struct EngineAccess<'a> {
    tx: &'a mut Transaction,
    store: &'a EngineStore,
    mark: Option<Savepoint>,
}

impl EngineAccess<'_> {
    fn table(&self, place: Place) -> Table {
        self.store.tables[place as usize].clone()
    }

    fn key(&self, number: u64) -> Vec<u8> {
        match &self.store.patterned {
            Some(patterned) => patterned.key(number),
            None => number.to_be_bytes().to_vec(),
        }
    }

    fn number(&self, key: &[u8]) -> u64 {
        match &self.store.patterned {
            Some(patterned) => patterned.number(key),
            None => super::number(key, 0),
        }
    }
}

impl Access for EngineAccess<'_> {
    fn get(&mut self, place: Place, key: u64) -> Result<Option<Vec<u8>>> {
        self.tx.get(&self.table(place), self.key(key))
    }

    fn get_for_update(&mut self, place: Place, key: u64) -> Result<Option<Vec<u8>>> {
        self.tx.get_for_update(&self.table(place), self.key(key))
    }

    fn put(&mut self, place: Place, key: u64, value: &[u8]) -> Result<()> {
        self.tx.put(&self.table(place), self.key(key), value).map(drop)
    }

    fn remove(&mut self, place: Place, key: u64) -> Result<()> {
        match self.tx.delete(&self.table(place), self.key(key)) {
            Err(Error::NotFound) => Ok(()),
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
        let table = self.table(place);
        let (mut range, mut is_up) = (self.key(low)..=self.key(high), way == Way::Up);
        if self.store.patterned.as_ref().is_some_and(Patterned::is_descending) {
            (range, is_up) = (self.key(high)..=self.key(low), !is_up);
        }
        let scan = match is_up {
            true => self.tx.scan(&table, range),
            false => self.tx.scan_descending(&table, range),
        };
        let entries: Vec<_> = scan.collect::<Result<_>>()?;
        Ok(entries.into_iter().map(|(key, value)| (self.number(&key), value)).collect())
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
