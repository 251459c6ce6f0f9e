//! One of the concurrent transactions: its program, its own writes and its footprint. A session
//! executes the operations of the program and judges their results.

use std::{collections::BTreeMap, ops::Bound, rc::Rc};

use clearway_base::{Error, TxnId};
use clearway_lock::AbsoluteMode;
use clearway_pool::FetchedPages;
use clearway_testkit::Random;
use clearway_testkit::errors::{self, Circumstances};
use clearway_tree::{Direction, ReadIntent};
use clearway_txn::{RetryContext, Savepoint, Table};

use super::{
    client::{Call, Client, Interrupt, Returned},
    expected::{Overlay, rest_after},
    footprint::{Footprint, KeyRange, slice},
    late_jobs::AwaitedJob,
    prints_steps,
    stages::{Stages, judge_fetch_interrupt},
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
    /// The operation of a task waits: it is continued later.
    Waits,
    /// A deadlock's victim: the engine has rolled the transaction back.
    Victim,
    /// The log or the disk is full: the operation has changed nothing.
    Full,
    /// The disk has failed.
    DiskFailed(Error),
    /// The fetch stage is over before the program.
    CutShort,
    /// The program has ended in the fetch stage.
    Fetched,
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
    /// The number of transactions that have ended.
    pub(super) ends: u64,
    /// True if only the other sessions have changed what is not committed.
    pub(super) is_settled: bool,
}

/// The result of a part of an operation: true if the operation is complete.
type Part = Result<bool, Interrupt>;

/// See the module.
pub(super) struct Session {
    pub(super) client: Client,
    program: Box<dyn Program>,
    /// The retry context that the transaction begins with, if it is the next attempt of a
    /// deadlock's victim.
    retry: Option<Rc<RetryContext>>,
    /// The table that the transaction locks first, and the mode.
    pub(super) table_lock: Option<(Table, AbsoluteMode)>,
    /// The stages, of a transaction that may have two.
    pub(super) stages: Option<Box<Stages>>,
    /// The current operation; `None` if the program has to choose the next one.
    operation: Option<Operation>,
    /// The operation that was dropped, if another one comes before its repetition.
    dropped: Option<Operation>,
    answer: Answer,
    scan: Option<Scan>,
    overlay: Overlay,
    savepoints: Vec<(Savepoint, Overlay)>,
    pub(super) footprint: Footprint,
    /// The number of commits on which its results depend.
    pub(super) depends_on: usize,
    /// The number of refused lock requests since the last progress.
    pub(super) refusals: u32,
    /// True if the call that waits was found to wait for a lock.
    waits_for_lock: bool,
    /// The job that the call waits for, if it has handed one over.
    pub(super) awaited: Option<AwaitedJob>,
    /// True for a deadlock's victim that is rolled back late.
    is_victim: bool,
    /// True if the call that waits began before the faults of the disk ended: a read that has
    /// failed by then is reported by a later poll.
    pub(super) began_with_faults: bool,
    /// A description of the last operation, if steps are printed.
    last: String,
}

/// A scan in progress.
struct Scan {
    rest: KeyRange,
    /// The number of transactions that had ended when it began.
    ends: u64,
    rows: Vec<(Vec<u8>, Vec<u8>)>,
}

/// A transaction whose program has ended, and the data for its entry in the history.
pub(super) struct Finished {
    pub(super) client: Client,
    pub(super) overlay: Overlay,
    pub(super) depends_on: usize,
    /// The pins of its fetch stage.
    pub(super) pages: Option<FetchedPages>,
}

impl Session {
    pub(super) fn begin(client: Client, program: Box<dyn Program>) -> Session {
        Session {
            client,
            program,
            retry: None,
            table_lock: None,
            stages: None,
            operation: None,
            dropped: None,
            answer: Answer::Done,
            scan: None,
            overlay: Overlay::default(),
            savepoints: Vec::new(),
            footprint: Footprint::default(),
            depends_on: 0,
            refusals: 0,
            waits_for_lock: false,
            awaited: None,
            is_victim: false,
            began_with_faults: false,
            last: String::new(),
        }
    }

    /// Lets the transaction lock a whole table first.
    pub(super) fn lock_table_at_start(&mut self, table: Table, mode: AbsoluteMode) {
        if let Some(stages) = &mut self.stages {
            stages.table_lock = Some((table.clone(), mode));
        }
        self.table_lock = Some((table, mode));
    }

    /// Makes the transaction the next attempt of a deadlock's victim.
    pub(super) fn resume_at_start(&mut self, context: Rc<RetryContext>) {
        self.retry = Some(context);
    }

    /// Returns true if an operation of a task waits.
    pub(super) fn is_waiting(&self) -> bool {
        self.client.is_waiting()
    }

    /// Returns true if an operation of a task waits for a lock.
    pub(super) fn is_waiting_for_lock(&self) -> bool {
        self.is_waiting() && self.waits_for_lock
    }

    /// Returns true if an operation of a task waits and may keep pins.
    pub(super) fn may_keep_pins(&self) -> bool {
        let is_without = matches!(self.awaited, Some(AwaitedJob::LogSpace | AwaitedJob::Rollback));
        self.is_waiting() && !self.waits_for_lock && !is_without
    }

    /// Forgets what the transaction has read and written: its rollback releases its locks before a
    /// call reports the deadlock.
    pub(super) fn become_victim(&mut self) {
        self.is_victim = true;
        self.footprint = Footprint::default();
    }

    /// Returns true for a deadlock's victim that is rolled back late.
    pub(super) fn is_late_victim(&self) -> bool {
        self.is_victim
    }

    /// The operation that waits, if there is one.
    pub(super) fn waiting_operation(&self) -> Option<&Operation> {
        if self.is_waiting() { self.operation.as_ref() } else { None }
    }

    /// Returns true if the transaction has written a value longer than a node, and the operation
    /// that waits may have stored a part of another one.
    pub(super) fn may_leave_chain(&self, node_bytes: usize) -> bool {
        let Some(Operation::Write { verb, .. }) = self.waiting_operation() else { return false };
        let (Verb::Insert(value) | Verb::Put(value) | Verb::Update(value)) = verb else {
            return false;
        };
        let is_chain = value.len() > node_bytes && !self.waits_for_lock;
        is_chain && self.overlay.has_longer_value(node_bytes)
    }

    /// Notes what the operation waits for.
    pub(super) fn set_waiting_for_lock(&mut self, is_for_lock: bool) {
        self.waits_for_lock = is_for_lock;
    }

    /// The id of the transaction.
    pub(super) fn id(&self) -> TxnId {
        self.client.id()
    }

    /// Drops the operation that waits, if there is one; the session is about to be dropped.
    pub(super) fn drop_call(&mut self) {
        self.client.cancel();
    }

    /// Returns true if a step may do something.
    pub(super) fn is_runnable(&self) -> bool {
        self.client.is_runnable()
    }

    /// Returns true if the next step polls a task that was not woken.
    pub(super) fn is_asleep(&self) -> bool {
        self.client.is_asleep()
    }

    /// Returns true if the transaction is a task's.
    pub(super) fn is_task(&self) -> bool {
        self.client.is_task()
    }

    /// Returns true if the transaction has ended without a request.
    pub(super) fn has_ended(&self) -> bool {
        self.client.has_ended()
    }

    /// Drops the operation that waits. It has had no effect, so it is repeated; before a write is,
    /// the transaction may read its key.
    pub(super) fn cancel(&mut self, random: &mut Random) {
        self.client.cancel();
        self.retry = None;
        self.refusals += 1;
        if let Some(Operation::Write { table, key, .. }) = &self.operation
            && random.one_in(2)
        {
            let (table, key) = (table.clone(), key.clone());
            let intent = random.pick(&[ReadIntent::Read, ReadIntent::Update]);
            let get = Operation::Get { table, key, intent };
            self.dropped = self.operation.replace(get);
        }
    }

    /// Describes the last operation and its result, for the printed steps.
    pub(super) fn last(&self) -> String {
        let brief: String = self.last.chars().take(150).collect();
        format!("{:?} {brief} → {:?}", self.client.id(), self.answer)
    }

    pub(super) fn finish(self) -> Finished {
        let pages = self.stages.and_then(|stages| stages.into_pages());
        let Session { client, overlay, depends_on, .. } = self;
        Finished { client, overlay, depends_on, pages }
    }

    /// Runs one step of the program.
    pub(super) fn step(
        &mut self,
        random: &mut Random,
        around: &Surroundings<'_>,
    ) -> Verdict<Progress> {
        if let Some(progress) = self.begin_first()? {
            return Ok(progress);
        }
        let operation = match self.operation.take().or_else(|| self.dropped.take()) {
            Some(operation) => operation,
            None => self.program.next(random, &self.answer),
        };
        if prints_steps() {
            self.last = format!("{operation:?}");
        }
        match operation {
            Operation::Commit | Operation::Rollback if self.is_fetching() => {
                return Ok(Progress::Fetched);
            }
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
            Err(interrupt) => {
                let call = call_of(&operation);
                self.operation = Some(operation);
                match self.is_fetching() {
                    true => judge_fetch_interrupt(call, interrupt)?,
                    false => judge_interrupt(call, interrupt)?,
                }
            }
        };
        match progress {
            Progress::Blocked => self.refusals += 1,
            Progress::Waits => {}
            _ => self.refusals = 0,
        }
        Ok(progress)
    }

    /// Does what comes before the program: takes the locks of a lost attempt, and locks a table.
    /// Returns `None` if nothing is left to do.
    fn begin_first(&mut self) -> Verdict<Option<Progress>> {
        let Some(context) = self.retry.clone() else { return self.lock_table_first() };
        let progress = match self.call(|| Call::Resume(context)) {
            Ok(_) => Progress::Advanced,
            Err(interrupt) => judge_interrupt("Transaction::get", interrupt)?,
        };
        if matches!(progress, Progress::Advanced) {
            self.retry = None;
        }
        Ok(Some(progress))
    }

    /// Locks the table that the transaction locks first. Returns `None` if there is none or it is
    /// already locked.
    fn lock_table_first(&mut self) -> Verdict<Option<Progress>> {
        let Some((table, mode)) = self.table_lock.clone() else { return Ok(None) };
        let progress = match self.call(|| Call::LockTable(table.clone(), mode)) {
            Ok(_) => Progress::Advanced,
            Err(Interrupt::Failed(Error::UnknownTable { .. })) => Progress::Advanced,
            Err(interrupt) if self.is_fetching() => {
                judge_fetch_interrupt("Transaction::lock_table", interrupt)?
            }
            Err(interrupt) => judge_interrupt("Transaction::lock_table", interrupt)?,
        };
        match progress {
            Progress::Blocked => self.refusals += 1,
            Progress::Waits => {}
            Progress::Advanced => (self.table_lock, self.refusals) = (None, 0),
            _ => self.refusals = 0,
        }
        Ok(Some(progress))
    }

    /// Executes an operation or the next part of it. Returns true if the operation is complete, or
    /// the error of the engine.
    fn carry_out(&mut self, operation: &Operation, around: &Surroundings<'_>) -> Verdict<Part> {
        match operation {
            Operation::Get { table, key, intent } => self.get(around, table, key, *intent),
            Operation::Scan { .. } => self.scan(around, operation),
            Operation::Write { table, key, verb } => self.write(around, table, key, verb),
            Operation::Savepoint => {
                self.answer = Answer::Done;
                Ok(self.call(|| Call::Savepoint).map(|returned| {
                    if let Returned::Savepoint(savepoint) = returned {
                        self.savepoints.push((savepoint, self.overlay.clone()));
                    }
                    true
                }))
            }
            Operation::RollbackTo(at) => Ok(self.rollback_to(*at)),
            Operation::Commit | Operation::Rollback => Ok(Ok(true)),
        }
    }

    fn rollback_to(&mut self, at: usize) -> Part {
        self.answer = Answer::Done;
        if self.savepoints.is_empty() {
            return Ok(true);
        }
        let at = at % self.savepoints.len();
        let (savepoint, overlay) = self.savepoints[at].clone();
        self.call(|| Call::RollbackTo(savepoint))?;
        self.overlay = overlay;
        // Not before the call is over: until then `at` must stay the same.
        self.savepoints.truncate(at + 1);
        Ok(true)
    }

    fn get(
        &mut self,
        around: &Surroundings<'_>,
        table: &str,
        key: &[u8],
        intent: ReadIntent,
    ) -> Verdict<Part> {
        let Some(handle) = around.tables.get(table) else { return Ok(self.refuse()) };
        let found = match self.call(|| Call::Get(handle.clone(), key.to_vec(), intent)) {
            Ok(Returned::Value(found)) => found,
            Ok(_) => None,
            Err(interrupt) => return Ok(Err(interrupt)),
        };
        self.see_key(around, table, key, |expected| expected == found.as_deref())?;
        self.answer = Answer::Value(found);
        Ok(Ok(true))
    }

    /// Completes an operation on a table that was dropped in the meantime.
    fn refuse(&mut self) -> Part {
        self.client.cancel();
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
        let range = (Bound::Included(key), Bound::Included(key));
        let expected = self.overlay.value(around.state, table, key);
        let wrong = (!is_right(expected.found)).then(|| {
            let expected = expected.found.map_or("nothing".into(), brief);
            format!("{table}/{} should have {expected}", brief(key))
        });
        let depends_on = expected.depends_on;
        if self.is_fetching() {
            return self.judge_fetched_key(around, table, key, wrong);
        }
        if let Some(detail) = wrong {
            return Err(Violation::new(Oracle::Serializable, detail));
        }
        self.depends_on = self.depends_on.max(depends_on);
        self.footprint.read_key(table, key);
        check_others(around, |other| other.check_read(table, range))
    }

    fn write(
        &mut self,
        around: &Surroundings<'_>,
        table: &str,
        key: &[u8],
        verb: &Verb,
    ) -> Verdict<Part> {
        let Some(handle) = around.tables.get(table) else { return Ok(self.refuse()) };
        let call = || Call::Write(handle.clone(), key.to_vec(), verb.clone());
        let (was_there, is_written) = match (self.call(call), verb) {
            (Ok(Returned::WasThere(was_there)), _) => (was_there, true),
            (Ok(_), Verb::Insert(_)) => (false, true),
            (Ok(_), _) => (true, true),
            (Err(Interrupt::Failed(Error::DuplicateKey { .. })), Verb::Insert(_)) => (true, false),
            (Err(Interrupt::Failed(Error::NotFound { .. })), Verb::Update(_) | Verb::Delete) => {
                (false, false)
            }
            (Err(interrupt), _) => return Ok(Err(interrupt)),
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
    ) -> Verdict<Part> {
        self.overlay.set(table, key, value);
        if self.is_fetching() {
            return Ok(Ok(true));
        }
        self.footprint.write_key(table, key);
        check_others(around, |other| other.check_write(table, key))?;
        Ok(Ok(true))
    }

    /// Reads the next few entries of a range. Returns true if the scan is complete.
    fn scan(&mut self, around: &Surroundings<'_>, operation: &Operation) -> Verdict<Part> {
        let Operation::Scan { table, lower, upper, direction, intent, limit } = operation else {
            return Ok(Ok(true));
        };
        let Some(handle) = around.tables.get(table) else { return Ok(self.refuse()) };
        let mut scan = match self.scan.take() {
            Some(scan) => scan,
            None => {
                let rest = (lower.clone(), upper.clone());
                let open = || Call::OpenCursor(handle.clone(), rest.clone(), *direction, *intent);
                match self.call(open) {
                    Ok(_) => Scan { rest, ends: around.ends, rows: Vec::new() },
                    Err(interrupt) => return Ok(Err(interrupt)),
                }
            }
        };
        for _ in 0..ENTRIES_PER_STEP {
            match self.advance(&mut scan, around, table, *direction)? {
                // The table was dropped, and another one may have its name.
                Err(Interrupt::Failed(Error::UnknownTable { .. })) if self.is_fetching() => {
                    return Ok(self.refuse());
                }
                Ok(true) if scan.rows.len() < *limit => {}
                Ok(_) => {
                    self.answer = Answer::Rows(scan.rows);
                    return Ok(Ok(true));
                }
                Err(interrupt) => {
                    self.scan = Some(scan);
                    return Ok(Err(interrupt));
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
    ) -> Verdict<Part> {
        let found = match self.call(|| Call::Advance) {
            Ok(Returned::Entry(found)) => found,
            Ok(_) => None,
            Err(interrupt) => return Ok(Err(interrupt)),
        };
        if around.is_stopped {
            return Ok(Ok(found.is_some()));
        }
        let rest = (slice(&scan.rest.0), slice(&scan.rest.1));
        let expected = self.overlay.next(around.state, table, rest, direction);
        let as_found = found.as_ref().map(|(key, value)| (key.as_slice(), value.as_slice()));
        let wrong = (expected.found != as_found).then(|| {
            let show = |entry: Option<(&[u8], &[u8])>| {
                entry.map_or("the end".into(), |(k, v)| format!("{}: {}", brief(k), brief(v)))
            };
            let (found, expected) = (show(as_found), show(expected.found));
            format!("a scan of {table} found {found} instead of {expected}")
        });
        let depends_on = expected.depends_on;
        if self.is_fetching() {
            self.judge_fetched(around, table, rest, scan.ends, wrong)?;
        } else if let Some(detail) = wrong {
            return Err(Violation::new(Oracle::Serializable, detail));
        } else {
            self.depends_on = self.depends_on.max(depends_on);
        }
        let mut seen = scan.rest.clone();
        if let Some((key, _)) = &found {
            match direction {
                Direction::Ascending => seen.1 = Bound::Included(key.clone()),
                Direction::Descending => seen.0 = Bound::Included(key.clone()),
            }
            rest_after(&mut scan.rest, key, direction);
        }
        if !self.is_fetching() {
            let range = (slice(&seen.0), slice(&seen.1));
            check_others(around, |other| other.check_read(table, range))?;
            self.footprint.read_range(table, seen);
        }
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

/// Classifies the reason why a valid call has no result.
///
/// # Errors
/// Those of [`classify`].
pub(super) fn judge_interrupt(call: &str, interrupt: Interrupt) -> Verdict<Progress> {
    match interrupt {
        Interrupt::Waits => Ok(Progress::Waits),
        Interrupt::NotWoken => {
            let detail = format!("{call} has ended, and its task was not woken");
            Err(Violation::new(Oracle::Liveness, detail))
        }
        Interrupt::Failed(error) => classify(call, error),
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
        Error::Deadlock { .. } => Ok(Progress::Victim),
        Error::LogFull { .. } | Error::DiskFull { .. } => Ok(Progress::Full),
        Error::Io { .. } | Error::Poisoned { .. } | Error::OutcomeUnknown { .. } => {
            Ok(Progress::DiskFailed(error))
        }
        error => Err(Violation::unexpected("an operation", &error)),
    }
}
