//! The end of a run: the faults stop, everybody finishes, and everything is looked at once more.

use clearway_base::Error;

use super::world::World;
use crate::oracles::{
    Oracle, Verdict, Violation, check_quiet, check_same, check_structure, check_upkeep, read_state,
};

/// Steps in which everybody must have finished: a transaction of thirty operations, each refused
/// twenty times, with eight of them taking turns, takes fewer.
const STEPS_MAX: u32 = 20_000;

/// Checkpoints that the upkeep of a run may need: the log takes a few hundred merges at once.
const UPKEEP_MAX: u32 = 20;

impl World {
    /// See the module.
    pub(super) fn quiesce(&mut self) -> Verdict {
        self.disk.clear_plan();
        self.disk.set_space_bytes(None);
        if self.engine().health().is_err() {
            self.kill()?;
        }
        self.is_faulty = false;
        self.finish_everybody()?;
        self.flush(self.engine().log().end())?;
        if let Some(left) = self.pending.len().checked_sub(1) {
            let detail = format!("{} results were never shown", left + 1);
            return Err(Violation::new(Oracle::Liveness, detail));
        }
        if self.engine().holdings().transactions > 0 {
            // Values whose freeing failed on the faulty disk: a checkpoint tries again.
            let made = self.engine().checkpoint();
            made.map_err(|error| Violation::unexpected("freeing again", &error))?;
        }
        // Before anything is read: cursors report leaves too, and upkeep must not need them.
        self.check_upkeep()?;
        self.check_again()?;
        self.check_room()?;
        self.close_and_reopen()?;
        check_same(self.history.state(), &self.read()?)
    }

    /// Upkeep comes to an end, and leaves no ghost and no long chain.
    fn check_upkeep(&mut self) -> Verdict {
        check_upkeep(self.engine())?;
        self.watch.verdict()
    }

    /// O8.
    fn finish_everybody(&mut self) -> Verdict {
        for _ in 0..STEPS_MAX {
            let running = |at: &usize| self.sessions[*at].is_some();
            let running: Vec<usize> = (0..self.sessions.len()).filter(running).collect();
            if running.is_empty() {
                return Ok(());
            }
            let at = self.random.pick(&running);
            self.operate(at)?;
            self.show_results()?;
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
        check_structure(self.engine())?;
        check_quiet(self.engine())
    }

    /// With no transaction running, a checkpoint makes room whatever was in the log. Upkeep may
    /// need more room than the log has at once; it gets on after each checkpoint.
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
