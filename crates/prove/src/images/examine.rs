//! Examines one image: recovers it, judges the contents, recovers it again, and uses the database.

use std::sync::Arc;

use clearway_base::{Error, Result};
use clearway_disk::Disk;
use clearway_lock::WaitLimit;
use clearway_testkit::disk::{CrashImage, SimDisk};
use clearway_txn::{Creation, Engine, EngineOptions};

use super::recorder::{Cut, Moment, Phase, Recorder};
use crate::{
    cases::Held,
    oracles::{
        History, Oracle, State, Verdict, Violation, check_quiet, check_same, check_structure,
        read_state,
    },
};

/// The expectations against which an image is judged.
#[derive(Clone, Copy)]
pub(super) struct Expected<'a> {
    pub(super) history: &'a History,
    pub(super) moment: Moment,
    pub(super) options: &'a EngineOptions,
}

/// A recovery, with a power cut at each of its operations.
pub(super) struct Recovery {
    /// The contents of the database after the recovery; `None` if the image is no database.
    contents: Option<State>,
    pub(super) cuts: Vec<Cut>,
}

/// The name of the table that the examination adds.
const TABLE: &str = "examined";

impl Expected<'_> {
    /// Recovers the image that a power cut leaves of `cut`. Returns the contents and a cut at each
    /// operation of the recovery that changes the disk.
    ///
    /// # Errors
    /// A violation that the recovered database shows.
    pub(super) fn recovery(&self, cut: &SimDisk, image: CrashImage) -> Verdict<Recovery> {
        let (disk, recorder) = (cut.crash(image), Recorder::default());
        let contents = match self.recover(&disk.fork())? {
            Some(engine) => Some(self.judge(&engine)?),
            None => None,
        };
        let engine = Engine::open(recorder.over(&disk), self.options());
        let mut cuts = recorder.take_cuts();
        drop(engine.map(Held::new));
        cuts.retain(|cut| cut.is_change);
        Ok(Recovery { contents, cuts })
    }

    fn options(&self) -> EngineOptions {
        // An incomplete copy must not be turned into a new database.
        let create = match self.moment.phase {
            Phase::Copying => Creation::Never,
            Phase::Creating | Phase::Complete => Creation::IfMissing,
        };
        EngineOptions { create, ..self.options.clone() }
    }

    /// Opens the database. Returns `None` if there is none and the phase permits that.
    fn recover(&self, disk: &SimDisk) -> Verdict<Option<Held<Arc<Engine>>>> {
        match open(disk, self.options()) {
            Ok(engine) if engine.recovery().created && self.moment.phase == Phase::Complete => {
                let detail = "the database was taken for an empty directory";
                Err(Violation::new(Oracle::Durability, detail))
            }
            Ok(engine) => Ok(Some(engine)),
            Err(Error::NotADatabase { .. }) if self.moment.phase != Phase::Complete => Ok(None),
            Err(error) => Err(Violation::unexpected("recovery", &error)),
        }
    }

    /// Examines the image of a power cut in a recovery, which must give the same contents as the
    /// recovery without that cut.
    ///
    /// # Errors
    /// A violation that the database shows.
    pub(super) fn examine_again(&self, disk: SimDisk, recovery: &Recovery) -> Verdict {
        let Some(engine) = self.recover(&disk)? else { return Ok(()) };
        let found = self.judge(&engine)?;
        recovery.contents.as_ref().map_or(Ok(()), |contents| check_same(contents, &found))
    }

    /// Examines the image of a power cut: `disk`, with its power on again.
    ///
    /// # Errors
    /// A violation that the database shows.
    pub(super) fn examine(&self, disk: SimDisk) -> Verdict {
        let Some(engine) = self.recover(&disk)? else { return Ok(()) };
        let found = self.judge(&engine)?;
        // ORACLE-5: a second recovery, with the engine of the first one not closed in order.
        disk.cut_power();
        drop(engine);
        let disk = disk.crash(CrashImage::Random(disk.operations()));
        disk.set_space_bytes(None); // recovery needs no free space, but using the database does
        let again = open(&disk, self.options());
        let engine = again.map_err(|error| Violation::unexpected("recovering again", &error))?;
        check_same(&found, &read(&engine)?)?;
        let used = run_transactions(&engine, found);
        let state = used.map_err(|error| Violation::unexpected("use", &error))?;
        check_quiet(&engine)?;
        engine.close().map_err(|error| Violation::unexpected("close", &error))?;
        drop(engine);
        self.reopen(&disk, &state)
    }

    fn judge(&self, engine: &Arc<Engine>) -> Verdict<State> {
        let found = read(engine)?;
        self.history.judge(&found, self.moment.bounds)?;
        check_structure(engine)?;
        check_quiet(engine)?;
        Ok(found)
    }

    /// Opens a database that was closed in order: it has nothing to recover.
    fn reopen(&self, disk: &SimDisk, state: &State) -> Verdict {
        let engine = open(disk, self.options());
        let engine = engine.map_err(|error| Violation::unexpected("opening again", &error))?;
        let report = engine.recovery();
        if report.losers + report.undone > 0 {
            let detail = format!("closed in order, and recovery had work: {report:?}");
            return Err(Violation::new(Oracle::Quiet, detail));
        }
        check_same(state, &read(&engine)?)?;
        check_structure(&engine)?;
        Ok(())
    }
}

fn open(disk: &SimDisk, options: EngineOptions) -> Result<Held<Arc<Engine>>> {
    let disk: Arc<dyn Disk> = Arc::new(disk.clone());
    Engine::open(disk, options).map(Held::new)
}

fn read(engine: &Arc<Engine>) -> Verdict<State> {
    read_state(engine).map_err(|error| Violation::unexpected("reading", &error))
}

/// Runs a few transactions, starting from `state`. Returns the expected contents after them.
fn run_transactions(engine: &Arc<Engine>, mut state: State) -> Result<State> {
    use crate::oracles::{Row, Rows};
    let table = engine.create_table(TABLE)?;
    state.set_table(TABLE, Some(Rows::new()));
    for round in 0..3u8 {
        let mut txn = Held::new(engine.begin());
        txn.set_wait_limit(WaitLimit::NoWait);
        for number in 0..4 {
            let (key, value) = ([round, number], vec![number; 40]);
            txn.insert(&table, &key, &value)?;
            if round != 1 {
                state.set_row(TABLE, &key, Some(Row { value: Some(value), writer: 0 }));
            }
        }
        let txn = txn.into_inner();
        match round {
            1 => txn.rollback().map(drop)?,
            _ => txn.commit().map(drop)?,
        }
    }
    for name in engine.tables() {
        // The recovered tables must accept changes as well.
        let Some(key) = state.rows(&name).and_then(|rows| rows.keys().next().cloned()) else {
            continue;
        };
        let (mut txn, table) = (Held::new(engine.begin()), engine.open_table(&name)?);
        let value = b"changed by the examination".to_vec();
        txn.put(&table, &key, &value)?;
        txn.into_inner().commit()?;
        state.set_row(&name, &key, Some(Row { value: Some(value), writer: 0 }));
    }
    engine.log().wait_durable(engine.log().end())?;
    Ok(state)
}
