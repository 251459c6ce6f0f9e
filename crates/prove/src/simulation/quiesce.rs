//! The end of a run: the faults stop, all transactions finish, and the contents are checked again.

use clearway_base::Error;

use super::world::World;
use crate::oracles::{
    Oracle, Verdict, Violation, check_quiet, check_same, check_upkeep, read_state,
};

/// The number of steps within which all transactions must finish. Eight alternating transactions of
/// thirty operations each, with every operation refused twenty times, take fewer.
const STEPS_MAX: u32 = 20_000;

/// The number of checkpoints that the upkeep of a run may need: between two of them, the log has
/// room for a few hundred merges.
const UPKEEP_MAX: u32 = 20;

impl World {
    /// See the module.
    pub(super) fn quiesce(&mut self) -> Verdict {
        self.disk.clear_plan();
        self.disk.set_space_bytes(None);
        if self.engine().health().is_err() {
            self.kill()?;
        }
        if self.is_faulty {
            let waiting = self.sessions.iter_mut().flatten().filter(|session| session.is_waiting());
            waiting.for_each(|session| session.began_with_faults = true);
        }
        self.is_faulty = false;
        self.is_running = false;
        self.finish_all()?;
        self.run_all_jobs()?;
        self.complete_all_reads();
        self.flush(self.engine().log().end())?;
        if let Some(left) = self.pending.len().checked_sub(1) {
            let detail = format!("{} results were never acknowledged", left + 1);
            return Err(Violation::new(Oracle::Liveness, detail));
        }
        if self.engine().holdings().transactions > 0 {
            // A checkpoint tries again to free the values whose deallocation failed on the faulty
            // disk.
            let made = self.engine().checkpoint();
            made.map_err(|error| Violation::unexpected("freeing again", &error))?;
        }
        // Before any read: cursors report leaves to the upkeep too, which must not depend on that.
        self.check_upkeep()?;
        self.check_again()?;
        self.check_room()?;
        self.close_and_reopen()?;
        check_same(self.history.state(), &self.read()?)
    }

    /// Checks that upkeep ends and leaves no ghost and no long foster chain.
    fn check_upkeep(&mut self) -> Verdict {
        check_upkeep(self.engine())?;
        self.watch.verdict()
    }

    /// ORACLE-8: runs all transactions to their end.
    fn finish_all(&mut self) -> Verdict {
        for _ in 0..STEPS_MAX {
            self.complete_some_reads();
            self.run_some_jobs()?;
            let Some(at) = self.pick_session()? else { return Ok(()) };
            self.operate(at)?;
            self.acknowledge_results()?;
            self.watch.verdict()?;
        }
        Err(Violation::new(Oracle::Liveness, format!("not over after {STEPS_MAX} steps")))
    }

    fn read(&self) -> Verdict<crate::oracles::State> {
        read_state(self.engine()).map_err(|error| Violation::unexpected("reading", &error))
    }

    fn check_again(&mut self) -> Verdict {
        let found = self.read()?;
        if let Some(detail) = self.history.state().difference(&found) {
            return Err(Violation::new(Oracle::Serializable, format!("at the end: {detail}")));
        }
        self.check_structure()?;
        check_quiet(self.engine())
    }

    /// Checks that a checkpoint frees log space when no transaction runs, whatever the log
    /// contains. Upkeep may need more space than the whole log has; it continues after each
    /// checkpoint.
    fn check_room(&mut self) -> Verdict {
        for _ in 0..UPKEEP_MAX {
            let made = self.engine().checkpoint();
            made.map_err(|error| Violation::unexpected("a checkpoint without users", &error))?;
            match self.engine().maintain() {
                Ok(()) => {
                    self.watch.verdict()?;
                    return self.check_again();
                }
                Err(Error::LogFull { .. }) => {}
                Err(error) => return Err(Violation::unexpected("upkeep without users", &error)),
            }
        }
        Err(Violation::new(Oracle::Liveness, "upkeep fills the log after every checkpoint"))
    }
}
