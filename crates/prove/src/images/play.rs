//! A script's hands: everything it does goes through here, and is written into its history.
//!
//! Without a failure planned every error is a finding. With one, an error has to be a typed one
//! that comes after the failure; the play then repairs the disk and does the same again, which has
//! to work, or the engine has stopped itself and the play is over.

use std::{collections::BTreeMap, sync::Arc};

use clearway_base::{Error, Lsn, Result};
use clearway_disk::Disk;
use clearway_testkit::disk::{CrashImage, Fault, Lasting, ReadFault, ReadWhen, SimDisk};
use clearway_testkit::errors::{self, Circumstances};
use clearway_txn::{Creation, Engine, EngineOptions, Table};

use super::{
    damage::Failure,
    tape::{Moment, Standing, Tape},
};
use crate::{
    cases::Held,
    oracles::{
        Bounds, Change, History, Oracle, State, Verdict, Violation, check_quiet, check_structure,
        read_state,
    },
    random::Random,
};

/// Why a script does not go on.
pub(crate) enum Stop {
    /// Something is wrong.
    Found(Violation),
    /// The engine has stopped itself, or would not open, as it had to.
    Stopped,
}

/// What a step of a script answers.
pub(crate) type Played<T = ()> = Result<T, Stop>;

impl From<Violation> for Stop {
    fn from(violation: Violation) -> Stop {
        Stop::Found(violation)
    }
}

/// A failure of one of the script's disks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Planned {
    pub(super) failure: Failure,
    pub(super) disk_index: usize,
    pub(super) operation: u64,
    pub(super) read: u64,
}

/// See the module.
pub(crate) struct Play {
    pub(super) options: EngineOptions,
    pub(super) random: Random,
    pub(super) disk: SimDisk,
    tape: Option<Tape>,
    planned: Option<Planned>,
    disks: usize,
    engine: Option<Held<Arc<Engine>>>,
    pub(super) tables: BTreeMap<String, Table>,
    pub(super) history: History,
    /// The histories that ended with a crash.
    pub(super) eras: Vec<History>,
    standing: Standing,
    /// Commits that have begun and not returned.
    pub(super) under_way: usize,
}

impl Play {
    /// A play on an empty disk, taped or with a failure.
    pub(super) fn new(
        disk: SimDisk,
        options: EngineOptions,
        tape: Option<Tape>,
        planned: Option<Planned>,
    ) -> Play {
        Play {
            options,
            random: Random::new(1),
            disk,
            tape,
            planned,
            disks: 0,
            engine: None,
            tables: BTreeMap::new(),
            history: History::new(State::new()),
            eras: Vec::new(),
            standing: Standing::Creating,
            under_way: 0,
        }
    }

    pub(super) fn engine(&self) -> &Arc<Engine> {
        self.engine.as_ref().expect("a script opens before it works")
    }

    pub(super) fn is_open(&self) -> bool {
        self.engine.is_some()
    }

    /// What a crash at this moment must and may leave.
    pub(super) fn moment(&self) -> Moment {
        let Bounds { acknowledged, appended } = self.history.bounds();
        let bounds = Bounds { acknowledged, appended: appended + self.under_way };
        Moment { standing: self.standing, era: self.eras.len(), bounds }
    }

    pub(super) fn note(&mut self) {
        if let Some(engine) = &self.engine {
            // Whatever is durable may have been shown.
            self.history.acknowledge(engine.log().durable());
        }
        if let Some(tape) = &self.tape {
            tape.set_moment(self.moment());
        }
    }

    pub(super) fn set_under_way(&mut self, count: usize) {
        self.under_way = count;
        self.note();
    }

    /// The disk as the engine gets it; the failure is planned if it is this disk's.
    fn attach(&mut self, disk: &SimDisk, is_copy: bool) -> Arc<dyn Disk> {
        let index = self.disks;
        self.disks += 1;
        match self.planned {
            Some(planned) if planned.disk_index == index => plan(disk, planned),
            _ => {}
        }
        match &self.tape {
            Some(tape) if is_copy => tape.over_copy(disk),
            Some(tape) => tape.over(disk),
            None => Arc::new(disk.clone()),
        }
    }

    /// Does something that may fail if a failure is planned; then it is done again.
    pub(super) fn attempt<T>(
        &mut self,
        what: &str,
        call: impl Fn(&mut Play) -> Result<T>,
    ) -> Played<T> {
        let result = match call(self) {
            Ok(done) => Ok(done),
            Err(error) => {
                self.meet(what, &error)?;
                let again = |error| Violation::unexpected(&format!("{what}, again"), &error);
                call(self).map_err(|error| again(error).into())
            }
        };
        self.note();
        result
    }

    /// Judges an error, and repairs the disk if the engine has not stopped.
    pub(super) fn meet(&mut self, what: &str, error: &Error) -> Played {
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

    /// Whether the disk may have forgotten what its cache still shows: only a restart of the whole
    /// machine brings out what it has.
    pub(super) fn sync_lies(&self) -> bool {
        matches!(self.planned, Some(Planned { failure: Failure::SyncLies, .. }))
    }

    /// A stopped engine acknowledges nothing more.
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
    pub(super) fn open(&mut self) -> Played {
        let disk = self.disk.clone();
        let attached = self.attach(&disk, false);
        let engine = self.attempt("open", |play| {
            let options = play.options.clone();
            Engine::open(attached.clone(), options)
        })?;
        for name in engine.tables() {
            let table = engine.open_table(&name);
            let table = table.map_err(|error| Violation::unexpected("open a table", &error))?;
            self.tables.insert(name, table);
        }
        self.engine = Some(Held::new(engine));
        self.standing = Standing::Whole;
        self.note();
        Ok(())
    }

    /// Puts a packed database, which says this, on the empty disk.
    pub(super) fn place(&mut self, packed: &[u8], contents: Vec<Change>) -> Played {
        let placed = clearway_disk::unpack(&self.disk, packed);
        placed.map_err(|error| Violation::unexpected("unpack", &error))?;
        let count = self.history.commit(Lsn::ZERO, contents);
        self.history.acknowledge_commit(count);
        self.standing = Standing::Whole;
        self.note();
        Ok(())
    }

    /// Closes in good order.
    pub(super) fn close(&mut self) -> Played {
        let closed = self.engine().close();
        match closed {
            Ok(()) => {
                // Closing has made everything durable.
                self.history.acknowledge_commit(self.history.bounds().appended);
                self.forget();
                self.note();
                Ok(())
            }
            // It is closed all the same, and recovery does the rest: the play ends here, since
            // nobody knows what it may build on.
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

    /// Drops everything that was in memory.
    pub(super) fn abandon(&mut self) {
        self.note();
        self.forget();
    }

    /// The power goes, and the script goes on with what is left. The database is not open then.
    pub(super) fn crash(&mut self, image: CrashImage) -> Played {
        self.note();
        self.disk.cut_power();
        self.forget();
        self.disk = self.disk.crash(image);
        self.settle()
    }

    fn settle(&mut self) -> Played {
        let found = read_copy(&self.disk, &self.options)?;
        let survived = self.history.judge(&found, self.history.bounds())?;
        self.eras.push(self.history.clone());
        self.history.settle(survived);
        self.note();
        Ok(())
    }

    /// Makes everything durable.
    pub(super) fn flush(&mut self) -> Played {
        self.attempt("flush", |play| {
            let log = play.engine().log();
            log.wait_durable(log.end())
        })
    }

    /// Writes what is dirty.
    pub(super) fn checkpoint(&mut self) -> Played {
        self.attempt("checkpoint", |play| play.engine().checkpoint())
    }

    /// Visits sparse leaves.
    pub(super) fn maintain(&mut self) -> Played {
        self.attempt("maintain", |play| play.engine().maintain())
    }

    /// A table, durable.
    pub(super) fn create_table(&mut self, name: &str) -> Played {
        let change = Change::Create { table: name.into() };
        let create = |play: &mut Play| play.engine().create_table(name);
        let table = self.change_tables("create a table", change, create)?;
        self.tables.insert(name.into(), table);
        Ok(())
    }

    /// Away with a table, durably.
    pub(super) fn drop_table(&mut self, name: &str) -> Played {
        self.tables.remove(name);
        let change = Change::Drop { table: name.into() };
        let drop = |play: &mut Play| match play.engine().drop_table(name) {
            Err(Error::UnknownTable { .. }) if play.planned.is_some() => Ok(()),
            result => result,
        };
        self.change_tables("drop a table", change, drop)
    }

    fn change_tables<T>(
        &mut self,
        what: &str,
        change: Change,
        call: impl Fn(&mut Play) -> Result<T>,
    ) -> Played<T> {
        self.set_under_way(1);
        let result = self.attempt(what, call);
        self.under_way = 0;
        match result {
            Ok(done) => {
                let durable = self.engine().log().durable();
                let count = self.history.commit(durable, [change]);
                self.history.acknowledge_commit(count);
                self.note();
                Ok(done)
            }
            // It may have taken place.
            Err(stop) => {
                self.history.commit(Lsn::MAX, [change]);
                Err(stop)
            }
        }
    }

    /// A copy of the database on a disk of its own, which is looked at as well.
    pub(super) fn backup(&mut self, seed: u64) -> Played {
        let copy = SimDisk::new(seed, Default::default());
        let target = self.attach(&copy, true);
        if let Err(error) = self.engine().backup(&*target) {
            copy.clear_plan();
            self.meet("back up", &error)?;
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

    /// A copy that is done is one, whatever happens to its disk then.
    fn check_backup(&self, copy: &SimDisk) -> Verdict {
        let found = read_copy(copy, &self.options)?;
        self.history.judge(&found, self.moment().bounds).map(drop)
    }

    /// Everything is as the history says.
    pub(super) fn check(&mut self) -> Played {
        let found = self.attempt("read everything", |play| read_state(play.engine()))?;
        if let Some(detail) = self.history.state().difference(&found) {
            return Err(Violation::new(Oracle::Serializable, detail).into());
        }
        self.disk.clear_plan();
        if self.planned.is_some() && is_stopped(self.engine()) {
            self.check_stopped()?;
            return Err(Stop::Stopped);
        }
        if self.planned.is_some() {
            // What a commit could not free waits for the next checkpoint.
            self.checkpoint()?;
        }
        check_structure(self.engine())?;
        check_quiet(self.engine())?;
        Ok(())
    }
}

/// What a database says when a copy of its disk is opened.
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

/// Whether the engine has stopped itself.
pub(super) fn is_stopped(engine: &Engine) -> bool {
    engine.health().is_err() || engine.log().health().is_err()
}

/// The public call that a step of a script stands for, if there is one.
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

/// What a failing disk may be answered with.
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
