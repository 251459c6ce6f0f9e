//! One of the concurrent transactions: its program, its own writes and its footprint. A session
//! executes the operations of the program and judges their results.

use std::{collections::BTreeMap, ops::Bound, sync::Arc};

use clearway_base::{Error, Result};
use clearway_lock::{AbsoluteMode, WaitLimit};
use clearway_testkit::Random;
use clearway_testkit::errors::{self, Circumstances};
use clearway_tree::{Direction, ReadIntent};
use clearway_txn::{Engine, Savepoint, Table, TableCursor, Transaction};

use super::{
    expected::{Overlay, rest_after},
    footprint::{Footprint, KeyRange, slice},
    prints_steps,
};
use crate::{
    oracles::{Oracle, State, Verdict, Violation, brief},
    workloads::{Answer, Operation, Program, Verb},
};

/// The number of entries that a scan reads in one step. Other transactions run between the steps.
const ENTRIES_PER_STEP: usize = 4;

/// The result of a step of a transaction, if it is no violation.
#[derive(Debug)]
pub(super) enum Progress {
    /// An operation, or a part of one, was executed.
    Advanced,
    /// Another transaction holds the lock: the operation is repeated later.
    Blocked,
    /// The log or the disk is full: the operation has changed nothing.
    Full,
    /// The disk has failed.
    DiskFailed(Error),
    /// The program commits.
    Commit,
    /// The program rolls back.
    Rollback,
}

/// The surroundings of a session during a step.
pub(super) struct Surroundings<'a> {
    pub(super) tables: &'a BTreeMap<String, Table>,
    pub(super) state: &'a State,
    pub(super) others: &'a [Option<Session>],
    /// True if the engine has stopped itself. Its results are then never acknowledged, and so not
    /// judged.
    pub(super) is_stopped: bool,
}

/// See the module.
pub(super) struct Session {
    txn: Transaction,
    program: Box<dyn Program>,
    /// The table that the transaction locks first, and the mode.
    table_lock: Option<(Table, AbsoluteMode)>,
    /// The current operation; `None` if the program has to choose the next one.
    operation: Option<Operation>,
    answer: Answer,
    scan: Option<Scan>,
    overlay: Overlay,
    savepoints: Vec<(Savepoint, Overlay)>,
    footprint: Footprint,
    /// The number of commits on which its results depend.
    depends_on: usize,
    /// The number of refused lock requests since the last progress.
    pub(super) refusals: u32,
    /// A description of the last operation, if steps are printed.
    last: String,
}

/// A scan in progress.
struct Scan {
    cursor: TableCursor,
    rest: KeyRange,
    rows: Vec<(Vec<u8>, Vec<u8>)>,
}

/// A transaction whose program has ended, and the data for its entry in the history.
pub(super) struct Finished {
    pub(super) txn: Transaction,
    pub(super) overlay: Overlay,
    pub(super) depends_on: usize,
}

impl Session {
    pub(super) fn begin(engine: &Arc<Engine>, program: Box<dyn Program>) -> Session {
        let mut txn = engine.begin();
        txn.set_wait_limit(WaitLimit::NoWait);
        Session {
            txn,
            program,
            table_lock: None,
            operation: None,
            answer: Answer::Done,
            scan: None,
            overlay: Overlay::default(),
            savepoints: Vec::new(),
            footprint: Footprint::default(),
            depends_on: 0,
            refusals: 0,
            last: String::new(),
        }
    }

    /// Lets the transaction lock a whole table first.
    pub(super) fn lock_table_at_start(&mut self, table: Table, mode: AbsoluteMode) {
        self.table_lock = Some((table, mode));
    }

    /// Describes the last operation and its result, for the printed steps.
    pub(super) fn last(&self) -> String {
        let brief: String = self.last.chars().take(150).collect();
        format!("{:?} {brief} → {:?}", self.txn.id(), self.answer)
    }

    pub(super) fn finish(self) -> Finished {
        Finished { txn: self.txn, overlay: self.overlay, depends_on: self.depends_on }
    }

    /// Runs one step of the program.
    pub(super) fn step(
        &mut self,
        random: &mut Random,
        around: &Surroundings<'_>,
    ) -> Verdict<Progress> {
        if let Some(progress) = self.lock_table_first()? {
            return Ok(progress);
        }
        let operation = match self.operation.take() {
            Some(operation) => operation,
            None => self.program.next(random, &self.answer),
        };
        if prints_steps() {
            self.last = format!("{operation:?}");
        }
        match operation {
            Operation::Commit => return Ok(Progress::Commit),
            Operation::Rollback => return Ok(Progress::Rollback),
            _ => {}
        }
        let result = self.carry_out(&operation, around)?;
        let progress = match result {
            Ok(true) => Progress::Advanced,
            // The operation is not complete yet.
            Ok(false) => {
                self.operation = Some(operation);
                Progress::Advanced
            }
            Err(error) => {
                let call = call_of(&operation);
                self.operation = Some(operation);
                classify(call, error)?
            }
        };
        match progress {
            Progress::Blocked => self.refusals += 1,
            _ => self.refusals = 0,
        }
        Ok(progress)
    }

    /// Locks the table that the transaction locks first. Returns `None` if there is none or it is
    /// already locked.
    fn lock_table_first(&mut self) -> Verdict<Option<Progress>> {
        let Some((table, mode)) = &self.table_lock else { return Ok(None) };
        let progress = match self.txn.lock_table(table, *mode) {
            Ok(()) => Progress::Advanced,
            Err(Error::UnknownTable { .. }) => Progress::Advanced,
            Err(error) => classify("Transaction::lock_table", error)?,
        };
        match progress {
            Progress::Blocked => self.refusals += 1,
            Progress::Advanced => (self.table_lock, self.refusals) = (None, 0),
            _ => self.refusals = 0,
        }
        Ok(Some(progress))
    }

    /// Executes an operation or the next part of it. Returns true if the operation is complete, or
    /// the error of the engine.
    fn carry_out(
        &mut self,
        operation: &Operation,
        around: &Surroundings<'_>,
    ) -> Verdict<Result<bool>> {
        match operation {
            Operation::Get { table, key, intent } => self.get(around, table, key, *intent),
            Operation::Scan { .. } => self.scan(around, operation),
            Operation::Write { table, key, verb } => self.write(around, table, key, verb),
            Operation::Savepoint => {
                self.answer = Answer::Done;
                let savepoint = self.txn.savepoint();
                Ok(savepoint.map(|savepoint| {
                    self.savepoints.push((savepoint, self.overlay.clone()));
                    true
                }))
            }
            Operation::RollbackTo(at) => Ok(self.rollback_to(*at)),
            Operation::Commit | Operation::Rollback => Ok(Ok(true)),
        }
    }

    fn rollback_to(&mut self, at: usize) -> Result<bool> {
        self.answer = Answer::Done;
        if self.savepoints.is_empty() {
            return Ok(true);
        }
        let at = at % self.savepoints.len();
        self.savepoints.truncate(at + 1);
        let (savepoint, overlay) = &self.savepoints[at];
        self.txn.rollback_to(savepoint)?;
        self.overlay = overlay.clone();
        Ok(true)
    }

    fn get(
        &mut self,
        around: &Surroundings<'_>,
        table: &str,
        key: &[u8],
        intent: ReadIntent,
    ) -> Verdict<Result<bool>> {
        let Some(handle) = around.tables.get(table) else { return Ok(self.refuse()) };
        let found = match intent {
            ReadIntent::Read => self.txn.get(handle, key),
            ReadIntent::Update => self.txn.get_for_update(handle, key),
        };
        let found = match found {
            Ok(found) => found,
            Err(error) => return Ok(Err(error)),
        };
        self.see_key(around, table, key, |expected| expected == found.as_deref())?;
        self.answer = Answer::Value(found);
        Ok(Ok(true))
    }

    /// Completes an operation on a table that was dropped in the meantime.
    fn refuse(&mut self) -> Result<bool> {
        self.answer = Answer::Refused;
        Ok(true)
    }

    /// Judges the observed value of a key, and adds the read to the footprint.
    fn see_key(
        &mut self,
        around: &Surroundings<'_>,
        table: &str,
        key: &[u8],
        is_right: impl FnOnce(Option<&[u8]>) -> bool,
    ) -> Verdict {
        if around.is_stopped {
            return Ok(());
        }
        let expected = self.overlay.value(around.state, table, key);
        if !is_right(expected.found) {
            let expected = expected.found.map_or("nothing".into(), brief);
            let detail = format!("{table}/{} should have {expected}", brief(key));
            return Err(Violation::new(Oracle::Serializable, detail));
        }
        self.depends_on = self.depends_on.max(expected.depends_on);
        self.footprint.read_key(table, key);
        let range = (Bound::Included(key), Bound::Included(key));
        check_others(around, |other| other.check_read(table, range))
    }

    fn write(
        &mut self,
        around: &Surroundings<'_>,
        table: &str,
        key: &[u8],
        verb: &Verb,
    ) -> Verdict<Result<bool>> {
        let Some(handle) = around.tables.get(table) else { return Ok(self.refuse()) };
        let (txn, mut was_there) = (&mut self.txn, None);
        let result = match verb {
            Verb::Insert(value) => txn.insert(handle, key, value),
            Verb::Put(value) => txn.put(handle, key, value).map(|was| was_there = Some(was)),
            Verb::Update(value) => txn.update(handle, key, value),
            Verb::Delete => txn.delete(handle, key),
        };
        let (was_there, is_written) = match (result, verb) {
            (Ok(()), Verb::Insert(_)) => (false, true),
            (Ok(()), Verb::Update(_) | Verb::Delete) => (true, true),
            (Ok(()), Verb::Put(_)) => (was_there == Some(true), true),
            (Err(Error::DuplicateKey), Verb::Insert(_)) => (true, false),
            (Err(Error::NotFound), Verb::Update(_) | Verb::Delete) => (false, false),
            (Err(error), _) => return Ok(Err(error)),
        };
        self.see_key(around, table, key, |expected| expected.is_some() == was_there)?;
        self.answer = if is_written { Answer::Done } else { Answer::Refused };
        if is_written {
            let (Verb::Insert(value) | Verb::Put(value) | Verb::Update(value)) = verb else {
                return self.wrote(around, table, key, None);
            };
            return self.wrote(around, table, key, Some(value.clone()));
        }
        Ok(Ok(true))
    }

    fn wrote(
        &mut self,
        around: &Surroundings<'_>,
        table: &str,
        key: &[u8],
        value: Option<Vec<u8>>,
    ) -> Verdict<Result<bool>> {
        self.overlay.set(table, key, value);
        self.footprint.write_key(table, key);
        check_others(around, |other| other.check_write(table, key))?;
        Ok(Ok(true))
    }

    /// Reads the next few entries of a range. Returns true if the scan is complete.
    fn scan(&mut self, around: &Surroundings<'_>, operation: &Operation) -> Verdict<Result<bool>> {
        let Operation::Scan { table, lower, upper, direction, intent, limit } = operation else {
            return Ok(Ok(true));
        };
        let Some(handle) = around.tables.get(table) else { return Ok(self.refuse()) };
        let mut scan = match self.scan.take() {
            Some(scan) => scan,
            None => {
                let (low, high) = (lower.clone(), upper.clone());
                match self.txn.cursor(handle, low, high, *direction, *intent) {
                    Ok(cursor) => {
                        let rest = (lower.clone(), upper.clone());
                        Scan { cursor, rest, rows: Vec::new() }
                    }
                    Err(error) => return Ok(Err(error)),
                }
            }
        };
        for _ in 0..ENTRIES_PER_STEP {
            match self.advance(&mut scan, around, table, *direction)? {
                Ok(true) if scan.rows.len() < *limit => {}
                Ok(_) => {
                    self.answer = Answer::Rows(scan.rows);
                    return Ok(Ok(true));
                }
                Err(error) => {
                    self.scan = Some(scan);
                    return Ok(Err(error));
                }
            }
        }
        self.scan = Some(scan);
        Ok(Ok(false))
    }

    /// Reads one entry of a range. Returns true if there was one.
    fn advance(
        &mut self,
        scan: &mut Scan,
        around: &Surroundings<'_>,
        table: &str,
        direction: Direction,
    ) -> Verdict<Result<bool>> {
        let found = match scan.cursor.next(&mut self.txn) {
            Ok(found) => found,
            Err(error) => return Ok(Err(error)),
        };
        if around.is_stopped {
            return Ok(Ok(found.is_some()));
        }
        let rest = (slice(&scan.rest.0), slice(&scan.rest.1));
        let expected = self.overlay.next(around.state, table, rest, direction);
        let as_found = found.as_ref().map(|(key, value)| (key.as_slice(), value.as_slice()));
        if expected.found != as_found {
            let show = |entry: Option<(&[u8], &[u8])>| {
                entry.map_or("the end".into(), |(k, v)| format!("{}: {}", brief(k), brief(v)))
            };
            let (found, expected) = (show(as_found), show(expected.found));
            let detail = format!("a scan of {table} found {found} instead of {expected}");
            return Err(Violation::new(Oracle::Serializable, detail));
        }
        self.depends_on = self.depends_on.max(expected.depends_on);
        let mut seen = scan.rest.clone();
        if let Some((key, _)) = &found {
            match direction {
                Direction::Ascending => seen.1 = Bound::Included(key.clone()),
                Direction::Descending => seen.0 = Bound::Included(key.clone()),
            }
            rest_after(&mut scan.rest, key, direction);
        }
        let range = (slice(&seen.0), slice(&seen.1));
        check_others(around, |other| other.check_read(table, range))?;
        self.footprint.read_range(table, seen);
        let is_entry = found.is_some();
        scan.rows.extend(found);
        Ok(Ok(is_entry))
    }
}

fn check_others(around: &Surroundings<'_>, check: impl Fn(&Footprint) -> Verdict) -> Verdict {
    if around.is_stopped {
        return Ok(());
    }
    around.others.iter().flatten().try_for_each(|other| check(&other.footprint))
}

/// Returns the public call that corresponds to an operation.
fn call_of(operation: &Operation) -> &'static str {
    match operation {
        Operation::Get { intent: ReadIntent::Read, .. } => "Transaction::get",
        Operation::Get { intent: ReadIntent::Update, .. } => "Transaction::get_for_update",
        Operation::Scan { .. } => "Cursor::next",
        Operation::Write { verb: Verb::Insert(_), .. } => "Transaction::insert",
        Operation::Write { verb: Verb::Put(_), .. } => "Transaction::put",
        Operation::Write { verb: Verb::Update(_), .. } => "Transaction::update",
        Operation::Write { verb: Verb::Delete, .. } => "Transaction::delete",
        Operation::Savepoint => "Transaction::savepoint",
        Operation::RollbackTo(_) => "Transaction::rollback_to",
        Operation::Commit => "Transaction::commit",
        Operation::Rollback => "Transaction::rollback",
    }
}

/// Classifies the error of a valid call by its effect on the transaction. Faults of the disk are
/// judged later.
///
/// # Errors
/// If the call must not return this error, or if the error is not possible here.
pub(super) fn classify(call: &str, error: Error) -> Verdict<Progress> {
    let listed = errors::check(call, &error, Circumstances::FAULTS);
    listed.map_err(|detail| Violation::new(Oracle::Answer, detail))?;
    match error {
        Error::WouldBlock { .. } | Error::LockTimeout { .. } => Ok(Progress::Blocked),
        Error::LogFull { .. } | Error::DiskFull { .. } => Ok(Progress::Full),
        Error::Io { .. } | Error::Poisoned { .. } | Error::OutcomeUnknown { .. } => {
            Ok(Progress::DiskFailed(error))
        }
        error => Err(Violation::unexpected("an operation", &error)),
    }
}
