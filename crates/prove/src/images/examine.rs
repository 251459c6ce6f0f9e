//! One image: recovered, judged, recovered again, and used.

use std::sync::Arc;

use clearway_base::{Error, Result};
use clearway_disk::Disk;
use clearway_lock::WaitLimit;
use clearway_testkit::disk::{CrashImage, SimDisk};
use clearway_txn::{Creation, Engine, EngineOptions};

use super::tape::{Cut, Moment, Standing, Tape};
use crate::{
    cases::Held,
    oracles::{
        History, Oracle, State, Verdict, Violation, check_quiet, check_same, check_structure,
        read_state,
    },
};

/// What is known of the database whose image is looked at.
#[derive(Clone, Copy)]
pub(super) struct Expected<'a> {
    pub(super) history: &'a History,
    pub(super) moment: Moment,
    pub(super) options: &'a EngineOptions,
}

/// One recovery, of which the power may interrupt each operation.
pub(super) struct Recovery {
    /// What the database says after it, if it is one.
    says: Option<State>,
    pub(super) cuts: Vec<Cut>,
}

/// The table that the examination adds.
const TABLE: &str = "examined";

impl Expected<'_> {
    /// What the recovery of what the power left of `cut` says, and its operations.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn recovery(&self, cut: &SimDisk, image: CrashImage) -> Verdict<Recovery> {
        let (disk, tape) = (cut.crash(image), Tape::default());
        let says = match self.recover(&disk.fork())? {
            Some(engine) => Some(self.judge(&engine)?),
            None => None,
        };
        let engine = Engine::open(tape.over(&disk), self.options());
        let mut cuts = tape.take_cuts();
        drop(engine.map(Held::new));
        cuts.retain(|cut| cut.is_change);
        Ok(Recovery { says, cuts })
    }

    fn options(&self) -> EngineOptions {
        // A copy that is no database must not become a new one.
        let create = match self.moment.standing {
            Standing::Copying => Creation::Never,
            Standing::Creating | Standing::Whole => Creation::IfMissing,
        };
        EngineOptions { create, ..self.options.clone() }
    }

    /// The database, or `None` where there need not be one.
    fn recover(&self, disk: &SimDisk) -> Verdict<Option<Held<Arc<Engine>>>> {
        match open(disk, self.options()) {
            Ok(engine) if engine.recovery().created && self.moment.standing == Standing::Whole => {
                let detail = "the database was taken for an empty directory";
                Err(Violation::new(Oracle::Durability, detail))
            }
            Ok(engine) => Ok(Some(engine)),
            Err(Error::NotADatabase { .. }) if self.moment.standing != Standing::Whole => Ok(None),
            Err(error) => Err(Violation::unexpected("recovery", &error)),
        }
    }

    /// Examines what the power has left when it went in a recovery, which must not matter.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn examine_again(&self, disk: SimDisk, recovery: &Recovery) -> Verdict {
        let Some(engine) = self.recover(&disk)? else { return Ok(()) };
        let found = self.judge(&engine)?;
        recovery.says.as_ref().map_or(Ok(()), |says| check_same(says, &found))
    }

    /// Examines what the power has left: a disk with the power on.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn examine(&self, disk: SimDisk) -> Verdict {
        let Some(engine) = self.recover(&disk)? else { return Ok(()) };
        let found = self.judge(&engine)?;
        // O5, without an orderly end of the first.
        disk.cut_power();
        drop(engine);
        let disk = disk.crash(CrashImage::Random(disk.operations()));
        disk.set_space_bytes(None); // recovery needs none, use does
        let again = open(&disk, self.options());
        let engine = again.map_err(|error| Violation::unexpected("recovering again", &error))?;
        check_same(&found, &read(&engine)?)?;
        let state = use_it(&engine, found).map_err(|error| Violation::unexpected("use", &error))?;
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

    /// What was closed in order has nothing to recover.
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

/// A few transactions. Answers what the database says after them.
fn use_it(engine: &Arc<Engine>, mut state: State) -> Result<State> {
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
        // What was there takes changes, too.
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
