//! Executes the operations of a scenario and records their effects in its history.
//!
//! If no failure is planned, every error is a finding. If one is planned, an error must be one of
//! the typed errors of a failing disk and must come after the failure. Then either the engine has
//! stopped itself, which ends the run, or the runner repairs the disk and repeats the operation,
//! which must succeed.

use std::{collections::BTreeMap, sync::Arc};

use clearway_base::{Error, Lsn, Result};
use clearway_disk::Disk;
use clearway_testkit::Random;
use clearway_testkit::disk::{
    CrashImage, Fault, HeldReadsDisk, Lasting, ReadFault, ReadWhen, SimDisk,
};
use clearway_testkit::errors::{self, Circumstances};
use clearway_txn::{Creation, Engine, EngineOptions, Table};

use super::{
    damage::Failure,
    late_reads::LateReads,
    recorder::{Moment, Phase, Recorder},
};
use crate::{
    cases::Held,
    oracles::{
        Bounds, Change, History, Oracle, State, Verdict, Violation, check_quiet, check_structure,
        read_state,
    },
};

/// The reason for which a scenario ends early.
pub(crate) enum Stop {
    /// An oracle found a violation.
    Found(Violation),
    /// The engine stopped itself or refused to open, as required after the planned failure.
    Stopped,
}

/// The result of an operation of a scenario.
pub(crate) type StepResult<T = ()> = Result<T, Stop>;

impl From<Violation> for Stop {
    fn from(violation: Violation) -> Stop {
        Stop::Found(violation)
    }
}

/// A planned failure of one of the scenario's disks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planned {
    pub(super) failure: Failure,
    pub(super) disk_index: usize,
    pub(super) operation: u64,
    pub(super) read: u64,
}

/// See the module.
pub(crate) struct ScenarioRunner {
    pub(super) options: EngineOptions,
    pub(super) random: Random,
    pub(super) disk: SimDisk,
    recorder: Option<Recorder>,
    planned: Option<Planned>,
    disks: usize,
    engine: Option<Held<Arc<Engine>>>,
    /// The page reads of the disks that are opened, if they are held. Behind the engine: it is
    /// dropped later.
    reads: Option<LateReads>,
    pub(super) tables: BTreeMap<String, Table>,
    pub(super) history: History,
    /// The histories that ended with a crash, in order.
    pub(super) eras: Vec<History>,
    phase: Phase,
    /// The number of commits that have been called and have not returned.
    pub(super) in_progress: usize,
}

impl ScenarioRunner {
    /// Returns a runner on an empty disk that records its operations or has a planned failure.
    pub(super) fn new(
        disk: SimDisk,
        options: EngineOptions,
        recorder: Option<Recorder>,
        planned: Option<Planned>,
    ) -> ScenarioRunner {
        ScenarioRunner {
            options,
            random: Random::new(1),
            disk,
            recorder,
            planned,
            disks: 0,
            engine: None,
            reads: None,
            tables: BTreeMap::new(),
            history: History::new(State::new()),
            eras: Vec::new(),
            phase: Phase::Creating,
            in_progress: 0,
        }
    }

    pub(super) fn engine(&self) -> &Arc<Engine> {
        self.engine.as_ref().expect("a scenario opens before it works")
    }

    pub(super) fn is_open(&self) -> bool {
        self.engine.is_some()
    }

    /// Returns what a crash at this moment must leave and may leave.
    pub(super) fn moment(&self) -> Moment {
        let Bounds { acknowledged, appended } = self.history.bounds();
        let bounds = Bounds { acknowledged, appended: appended + self.in_progress };
        Moment { phase: self.phase, era: self.eras.len(), bounds }
    }

    pub(super) fn note(&mut self) {
        if let Some(engine) = &self.engine {
            // Every durable commit may have been acknowledged.
            self.history.acknowledge(engine.log().durable());
        }
        if let Some(recorder) = &self.recorder {
            recorder.set_moment(self.moment());
        }
    }

    pub(super) fn set_in_progress(&mut self, count: usize) {
        self.in_progress = count;
        self.note();
    }

    /// Returns the disk that is passed to the engine, with the failure planned on it if the failure
    /// concerns this disk.
    fn attach(&mut self, disk: &SimDisk, is_copy: bool) -> Arc<dyn Disk> {
        let index = self.disks;
        self.disks += 1;
        match self.planned {
            Some(planned) if planned.disk_index == index => plan(disk, planned),
            _ => {}
        }
        let attached = match &self.recorder {
            Some(recorder) if is_copy => recorder.over_copy(disk),
            Some(recorder) => recorder.over(disk),
            None => Arc::new(disk.clone()),
        };
        match &self.reads {
            Some(reads) if !is_copy => Arc::new(HeldReadsDisk::new(attached, reads.0.clone())),
            _ => attached,
        }
    }

    /// Holds the page reads of the engines that are opened from now on.
    pub(super) fn hold_reads(&mut self) {
        let reads = LateReads::new(self.random.next_u64());
        if let Some(recorder) = &self.recorder {
            recorder.count_reads(&reads.0);
        }
        self.reads = Some(reads);
    }

    /// Completes one of the reads that are held. Returns false if there is none.
    pub(super) fn complete_read(&self) -> bool {
        self.reads.as_ref().is_some_and(|reads| reads.0.complete_one())
    }

    /// Completes all reads that are held.
    pub(super) fn complete_reads(&self) {
        while self.complete_read() {}
    }

    /// Calls `call`. If that fails because of the planned failure, repairs the disk and calls it
    /// again.
    pub(super) fn attempt<T>(
        &mut self,
        what: &str,
        call: impl Fn(&mut ScenarioRunner) -> Result<T>,
    ) -> StepResult<T> {
        let result = match call(self) {
            Ok(done) => Ok(done),
            Err(error) => {
                self.handle_error(what, &error)?;
                let again = |error| Violation::unexpected(&format!("{what}, again"), &error);
                call(self).map_err(|error| again(error).into())
            }
        };
        self.note();
        result
    }

    /// Judges an error, and repairs the disk if the engine has not stopped itself.
    pub(super) fn handle_error(&mut self, what: &str, error: &Error) -> StepResult {
        let unexpected = || Stop::Found(Violation::unexpected(what, error));
        if let Some(call) = call_of(what) {
            let listed = errors::check(call, error, Circumstances::FAULTS);
            listed.map_err(|detail| Violation::new(Oracle::Answer, detail))?;
        }
        if self.planned.is_none() || !is_typed(error) {
            return Err(unexpected());
        }
        self.note();
        if self.engine.as_ref().is_some_and(|engine| is_stopped(engine)) {
            self.check_stopped()?;
            return Err(Stop::Stopped);
        }
        if self.engine.is_none() && self.sync_lies() {
            return Err(Stop::Stopped);
        }
        self.disk.clear_plan();
        Ok(())
    }

    /// Returns true if the disk may have lost data that its cache still returns: only a restart of
    /// the machine shows the real contents.
    pub(super) fn sync_lies(&self) -> bool {
        matches!(self.planned, Some(Planned { failure: Failure::SyncLies, .. }))
    }

    /// Checks that the stopped engine acknowledges nothing more.
    fn check_stopped(&self) -> Verdict {
        let engine = self.engine();
        let durable = engine.log().durable();
        if let Some((name, table)) = self.tables.iter().next() {
            let mut txn = Held::new(engine.begin());
            let put = txn.put(table, b"after the stop", b"1");
            let result = put.and_then(|_| txn.into_inner().commit());
            let shown = result.and_then(|done| engine.log().wait_durable(done.ack));
            if shown.is_ok() {
                let detail = format!("a stopped engine acknowledges a commit in {name}");
                return Err(Violation::new(Oracle::Durability, detail));
            }
        }
        let (_, _) = (engine.checkpoint().is_ok(), engine.maintain().is_ok());
        if engine.log().durable() > durable {
            let detail = "a stopped engine makes log durable";
            return Err(Violation::new(Oracle::Durability, detail));
        }
        Ok(())
    }

    /// Opens the database, or creates it.
    pub(super) fn open(&mut self) -> StepResult {
        let disk = self.disk.clone();
        let attached = self.attach(&disk, false);
        let engine = self.attempt("open", |runner| {
            let options = runner.options.clone();
            Engine::open(attached.clone(), options)
        })?;
        for name in engine.tables() {
            let table = engine.open_table(&name);
            let table = table.map_err(|error| Violation::unexpected("open a table", &error))?;
            self.tables.insert(name, table);
        }
        self.engine = Some(Held::new(engine));
        self.phase = Phase::Complete;
        self.note();
        Ok(())
    }

    /// Unpacks a database with these contents onto the empty disk.
    pub(super) fn place(&mut self, packed: &[u8], contents: Vec<Change>) -> StepResult {
        let placed = clearway_disk::unpack(&self.disk, packed);
        placed.map_err(|error| Violation::unexpected("unpack", &error))?;
        let count = self.history.commit(Lsn::ZERO, contents);
        self.history.acknowledge_commit(count);
        self.phase = Phase::Complete;
        self.note();
        Ok(())
    }

    /// Closes the database in order.
    pub(super) fn close(&mut self) -> StepResult {
        let closed = self.engine().close();
        match closed {
            Ok(()) => {
                // Closing has made everything durable.
                self.history.acknowledge_commit(self.history.bounds().appended);
                self.forget();
                self.note();
                Ok(())
            }
            // The database is closed even so, and recovery completes the work. The run ends here,
            // since the state on the disk is unknown.
            Err(error) if self.planned.is_some() && is_typed(&error) => {
                self.note();
                self.forget();
                Err(Stop::Stopped)
            }
            Err(error) => Err(Violation::unexpected("close", &error).into()),
        }
    }

    fn forget(&mut self) {
        self.tables.clear();
        self.engine = None;
    }

    /// Drops the engine and everything else that is in memory.
    pub(super) fn abandon(&mut self) {
        self.note();
        self.forget();
    }

    /// Cuts the power and continues with the image that is left. The database is not open then.
    pub(super) fn crash(&mut self, image: CrashImage) -> StepResult {
        self.note();
        self.disk.cut_power();
        self.forget();
        self.disk = self.disk.crash(image);
        self.judge_and_restart()
    }

    fn judge_and_restart(&mut self) -> StepResult {
        let found = read_copy(&self.disk, &self.options)?;
        let survived = self.history.judge(&found, self.history.bounds())?;
        self.eras.push(self.history.clone());
        self.history.restart_after(survived);
        self.note();
        Ok(())
    }

    /// Makes everything durable.
    pub(super) fn flush(&mut self) -> StepResult {
        self.attempt("flush", |runner| {
            let log = runner.engine().log();
            log.wait_durable(log.end())
        })
    }

    /// Takes a checkpoint, which writes the dirty pages.
    pub(super) fn checkpoint(&mut self) -> StepResult {
        self.attempt("checkpoint", |runner| runner.engine().checkpoint())
    }

    /// Runs the upkeep, which visits sparse leaves.
    pub(super) fn maintain(&mut self) -> StepResult {
        self.attempt("maintain", |runner| runner.engine().maintain())
    }

    /// Creates a table, durably.
    pub(super) fn create_table(&mut self, name: &str) -> StepResult {
        let change = Change::Create { table: name.into() };
        let create = |runner: &mut ScenarioRunner| runner.engine().create_table(name);
        let table = self.change_tables("create a table", change, create)?;
        self.tables.insert(name.into(), table);
        Ok(())
    }

    /// Drops a table, durably.
    pub(super) fn drop_table(&mut self, name: &str) -> StepResult {
        self.tables.remove(name);
        let change = Change::Drop { table: name.into() };
        let drop = |runner: &mut ScenarioRunner| match runner.engine().drop_table(name) {
            Err(Error::UnknownTable { .. }) if runner.planned.is_some() => Ok(()),
            result => result,
        };
        self.change_tables("drop a table", change, drop)
    }

    fn change_tables<T>(
        &mut self,
        what: &str,
        change: Change,
        call: impl Fn(&mut ScenarioRunner) -> Result<T>,
    ) -> StepResult<T> {
        self.set_in_progress(1);
        let result = self.attempt(what, call);
        self.in_progress = 0;
        match result {
            Ok(done) => {
                let durable = self.engine().log().durable();
                let count = self.history.commit(durable, [change]);
                self.history.acknowledge_commit(count);
                self.note();
                Ok(done)
            }
            // The change may have taken place.
            Err(stop) => {
                self.history.commit(Lsn::MAX, [change]);
                Err(stop)
            }
        }
    }

    /// Backs the database up to a disk of its own, and checks the backup.
    pub(super) fn backup(&mut self, seed: u64) -> StepResult {
        let copy = SimDisk::new(seed, Default::default());
        let target = self.attach(&copy, true);
        if let Err(error) = self.engine().backup(&*target) {
            copy.clear_plan();
            self.handle_error("back up", &error)?;
            let again = SimDisk::new(seed, Default::default());
            let done = self.engine().backup(&again);
            done.map_err(|error| Violation::unexpected("back up, again", &error))?;
            self.check_backup(&again.crash(CrashImage::DropAll))?;
        } else {
            self.check_backup(&copy.crash(CrashImage::DropAll))?;
        }
        self.note();
        Ok(())
    }

    /// Checks that a completed backup is a database, whatever happens to its disk afterwards.
    fn check_backup(&self, copy: &SimDisk) -> Verdict {
        let found = read_copy(copy, &self.options)?;
        self.history.judge(&found, self.moment().bounds).map(drop)
    }

    /// Checks that the database has the contents that the history expects.
    pub(super) fn check(&mut self) -> StepResult {
        let found = self.attempt("read everything", |runner| read_state(runner.engine()))?;
        if let Some(detail) = self.history.state().difference(&found) {
            return Err(Violation::new(Oracle::Serializable, detail).into());
        }
        self.disk.clear_plan();
        if self.planned.is_some() && is_stopped(self.engine()) {
            self.check_stopped()?;
            return Err(Stop::Stopped);
        }
        if self.planned.is_some() {
            // The next checkpoint frees the pages that a commit could not free.
            self.checkpoint()?;
        }
        check_structure(self.engine())?;
        check_quiet(self.engine())?;
        Ok(())
    }
}

/// Opens a copy of the disk and returns the contents of the database.
fn read_copy(disk: &SimDisk, options: &EngineOptions) -> Verdict<State> {
    let options = EngineOptions { create: Creation::Never, ..options.clone() };
    let unexpected = |error| Violation::unexpected("opening a copy", &error);
    let engine = Engine::open(Arc::new(disk.fork()), options).map_err(unexpected)?;
    read_state(&Held::new(engine)).map_err(unexpected)
}

fn plan(disk: &SimDisk, planned: Planned) {
    use std::io::ErrorKind;
    let at = planned.operation;
    let fail = |kind, lasting| Fault::Fail { at, operation: None, kind, lasting };
    disk.plan(match planned.failure {
        Failure::Error => fail(ErrorKind::Other, Lasting::Once),
        Failure::ErrorForever => fail(ErrorKind::Other, Lasting::Forever),
        Failure::Full => fail(ErrorKind::StorageFull, Lasting::Once),
        Failure::FullForever => fail(ErrorKind::StorageFull, Lasting::Forever),
        Failure::SyncLies => Fault::SyncDropsWrites { at },
        Failure::Read => {
            Fault::Read { fault: ReadFault::Fail, when: ReadWhen::Number(planned.read) }
        }
    });
}

/// Returns true if the engine has stopped itself.
pub(super) fn is_stopped(engine: &Engine) -> bool {
    engine.health().is_err() || engine.log().health().is_err()
}

/// The public call that corresponds to an operation of a scenario, if there is one.
fn call_of(step: &str) -> Option<&'static str> {
    Some(match step {
        "insert" => "Transaction::insert",
        "put" => "Transaction::put",
        "update" => "Transaction::update",
        "delete" => "Transaction::delete",
        "get" => "Transaction::get",
        "commit" => "Transaction::commit",
        "rollback" => "Transaction::rollback",
        "rollback to a savepoint" => "Transaction::rollback_to",
        "create a table" => "Database::create_table",
        "drop a table" => "Database::drop_table",
        "back up" => "Database::backup",
        "checkpoint" => "Database::checkpoint",
        "flush" => "Database::sync",
        _ => return None,
    })
}

/// Returns true if this is one of the errors by which the engine may report a failing disk.
fn is_typed(error: &Error) -> bool {
    match error {
        Error::DropUnfinished { cause, .. } => is_typed(cause),
        Error::Io { .. }
        | Error::DiskFull { .. }
        | Error::LogFull { .. }
        | Error::Poisoned { .. }
        | Error::OutcomeUnknown { .. } => true,
        _ => false,
    }
}
