//! Disk faults, and the check that the durable LSN of a stopped engine does not move.

use std::io::ErrorKind;

use clearway_base::Error;
use clearway_testkit::disk::{
    Fault, HeldReads, Lasting, PowerCut, ReadFault, ReadWhen, SimOperation,
};

use super::{print_step, world::World};
use crate::oracles::{Oracle, Verdict, Violation};

/// The number of operations within which a planned fault occurs.
const SOON: u64 = 12;

impl World {
    /// Plans a fault for one of the next operations, or changes the free space.
    pub(super) fn plan_fault(&mut self) {
        self.counters.faults += 1;
        self.unreachable = None;
        let at = self.disk.operations() + 1 + self.random.below(SOON);
        let kind = ErrorKind::Other;
        let fail = |operation, lasting| Fault::Fail { at, operation, kind, lasting };
        let fault = match self.random.below(9) {
            0 => fail(Some(SimOperation::WriteDurable), Lasting::Once),
            1 => fail(Some(SimOperation::Write), Lasting::Once),
            2 => fail(Some(SimOperation::SyncData), Lasting::Once),
            3 => fail(None, Lasting::Once),
            4 => fail(None, Lasting::Forever),
            5 => Fault::SyncDropsWrites { at },
            6 => {
                let at = self.disk.reads() + 1 + self.random.below(SOON);
                Fault::Read { fault: ReadFault::Fail, when: ReadWhen::Number(at) }
            }
            _ => return self.fill_disk(),
        };
        print_step(|| format!("  {fault:?}"));
        self.is_faulty = true;
        self.disk.plan(fault);
    }

    /// Limits the free space of the disk, or removes the limit.
    fn fill_disk(&mut self) {
        let room = self.random.pick(&[None, Some(0), Some(20_000), Some(200_000)]);
        print_step(|| format!("  room for {room:?} bytes"));
        self.disk.set_space_bytes(room.map(|room| self.disk.used_bytes() + room));
    }

    /// Handles an operation that failed because of the disk; `at` is its transaction, if it belongs
    /// to one. It may have begun before the faults of the disk ended.
    ///
    /// # Errors
    /// If no fault of the disk explains the error.
    pub(super) fn handle_failure(
        &mut self,
        at: Option<usize>,
        error: &Error,
        began_with_faults: bool,
    ) -> Verdict {
        print_step(|| format!("  met {error}"));
        let was_faulty = self.is_faulty || began_with_faults;
        if !was_faulty && !PowerCut::caused(error) && !HeldReads::caused(error) {
            return Err(Violation::unexpected("the disk is fine", error));
        }
        if let Err(stopped) = self.engine().health() {
            // Not `error`: a call may report its failed read after a power cut.
            if HeldReads::caused(&stopped) {
                return Err(Violation::new(Oracle::Answer, "a failed read has stopped the engine"));
            }
            self.note_stopped();
            return Ok(());
        }
        // The operation failed without any other effect: the transaction may give up or try again.
        match at {
            Some(at) if self.random.one_in(2) => self.roll_back(at),
            _ => Ok(()),
        }
    }

    /// Handles a commit or a rollback that failed, which is permitted only if the engine has
    /// stopped.
    pub(super) fn expect_stopped(&mut self, what: &str, error: &Error) -> Verdict {
        print_step(|| format!("  {what} met {error}"));
        if self.engine().log().health().is_ok() {
            return Err(Violation::unexpected(what, error));
        }
        if !self.is_faulty && !PowerCut::caused(error) {
            return Err(Violation::unexpected("the disk is fine", error));
        }
        self.note_stopped();
        Ok(())
    }

    fn note_stopped(&mut self) {
        if self.stopped_at.is_none() && self.engine().log().health().is_err() {
            self.counters.poisoned += 1;
            self.stopped_at = Some(self.engine().log().durable());
        }
    }

    /// Checks that the durable LSN of a stopped engine has not moved. Then restarts the process or
    /// cuts the power.
    pub(super) fn restart_stopped(&mut self) -> Verdict {
        let durable = self.engine().log().durable();
        if self.stopped_at.is_some_and(|stopped_at| durable > stopped_at) {
            let detail = format!("stopped, and the log went on to become durable up to {durable}");
            return Err(Violation::new(Oracle::Durability, detail));
        }
        if self.disk.is_off() || self.random.one_in(2) { self.crash() } else { self.kill() }
    }
}
