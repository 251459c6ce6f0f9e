//! Restarts of the engine within a run: power cuts, kills and orderly reopenings, and the judgement
//! of the contents afterwards.

use std::sync::Arc;

use clearway_base::{Error, PAGE_SIZE, Result};
use clearway_disk::Disk;
use clearway_testkit::disk::{CrashImage, Fault, HeldReadsDisk, PowerCut, SimDisk};
use clearway_txn::Engine;

use super::{
    late_reads::{complete_before_blocking, late_reads, operations_max},
    print_step,
    world::{MAINTENANCE, World},
};
use crate::oracles::{
    Oracle, State, Verdict, Violation, check_quiet, check_same, check_structure, check_upkeep,
    read_state,
};

/// The maximum number of power cuts in a row.
const CHAIN_MAX: u64 = 5;
/// The number of operations within which a recovery is interrupted. Most recoveries take fewer.
const RECOVERY_OPERATIONS: u64 = 60;
/// The number of operations within which a running engine is interrupted.
const RUN_OPERATIONS: u64 = 20;

impl World {
    /// Opens the engine on the current disk.
    pub(super) fn open(&mut self) -> Result<()> {
        let mut disk = self.watch.over(Arc::new(self.disk.clone()));
        let options = self.plan.options(&mut self.random);
        self.operations_max = operations_max(options.pool.cache_bytes / PAGE_SIZE as u64);
        if self.plan.has_tasks {
            let reads = late_reads(self.random.next_u64());
            disk = Arc::new(HeldReadsDisk::new(disk, reads.clone()));
            self.reads = Some(reads);
        }
        complete_before_blocking(self.reads.as_ref());
        let engine = Engine::open(disk, options)?;
        for name in engine.tables() {
            self.tables.insert(name.clone(), engine.open_table(&name)?);
        }
        self.deadlocks = engine.stats().lock.deadlocks;
        self.engine = Some(engine);
        Ok(())
    }

    /// Cuts the power, now or at one of the next operations of a busy disk, and recovers.
    pub(super) fn crash(&mut self) -> Verdict {
        if !self.disk.is_off() && self.stopped_at.is_none() && self.random.one_in(2) {
            let at = self.disk.operations() + 1 + self.random.below(RUN_OPERATIONS);
            self.disk.plan(Fault::PowerCut { at });
            self.keep_disk_busy()?;
        }
        self.counters.crashes += 1;
        self.disk.cut_power();
        let image = match self.random.below(8) {
            0 => CrashImage::DropAll,
            1 => CrashImage::KeepAll,
            _ => CrashImage::Random(self.random.next_u64()),
        };
        let disk = self.disk.crash(image);
        self.forget_running();
        self.recover(disk, CHAIN_MAX)
    }

    /// Runs up to four operations that write, until the power is off.
    fn keep_disk_busy(&mut self) -> Verdict {
        for _ in 0..4 {
            match self.random.below(4) {
                0 => self.flush(self.engine().log().end())?,
                1 => (0..self.sessions.len()).try_for_each(|at| self.operate(at))?,
                2 => {
                    self.leave_pins(None);
                    let result = self.engine().maintain();
                    self.judge_result(MAINTENANCE, result)?;
                }
                _ => self.checkpoint()?,
            }
            if self.disk.is_off() {
                break;
            }
        }
        Ok(())
    }

    /// Restarts a process that was killed or has stopped itself: its writes stay, except for those
    /// that the disk has dropped.
    pub(super) fn kill(&mut self) -> Verdict {
        self.counters.reopenings += 1;
        let mut disk = self.disk.fork();
        if self.is_faulty && self.stopped_at.is_some() {
            // The writes that the disk dropped may still be in the kernel's cache, or not.
            disk = if self.random.one_in(2) { disk.crash(CrashImage::DropAll) } else { disk };
        }
        self.disk.cut_power();
        self.forget_running();
        self.recover(disk, 1)
    }

    /// Drops the engine and everything that runs in it. The caller has closed it or cut the power,
    /// so it writes nothing more.
    fn forget_running(&mut self) {
        self.end_reads();
        self.sessions.iter_mut().for_each(|session| drop(session.take()));
        self.retry = None;
        self.tables.clear();
        self.pending.clear();
        self.unfinished_drops.clear();
        if let Some(engine) = self.engine.take() {
            let pool = engine.stats().pool;
            self.counters.evictions += pool.evictions;
            self.counters.repaired += pool.pages_repaired;
        }
        self.stopped_at = None;
        self.is_faulty = false;
        self.unreachable = None;
    }

    fn take_disk(&mut self, disk: SimDisk) {
        self.trace = self.trace.rotate_left(7) ^ self.disk.trace_digest();
        self.disk = disk;
    }

    /// Recovers `disk`, with up to `chain` interruptions, and judges the contents.
    fn recover(&mut self, disk: SimDisk, chain: u64) -> Verdict {
        let limit = self.random.pick(&[None, None, Some(disk.used_bytes() + (64 << 20))]);
        disk.set_space_bytes(limit);
        // Not with unsynced changes: a power cut during the recovery could lose some of them.
        let compares = self.random.one_in(4) && disk.unsynced_changes() == 0;
        let reference = if compares { Some(self.recover_copy(&disk)?) } else { None };
        self.take_disk(disk);
        let mut left = self.random.below(chain + 1);
        let found = loop {
            if left > 0 {
                let at = self.disk.operations() + 1 + self.random.below(RECOVERY_OPERATIONS);
                self.disk.plan(Fault::PowerCut { at });
            }
            match self.open_and_read() {
                Ok(found) => break found,
                Err(error) if PowerCut::caused(&error) => {}
                Err(error) => return Err(Violation::unexpected("recovery", &error)),
            }
            left -= 1;
            self.counters.crashes_in_recovery += 1;
            print_step(|| "  recovery interrupted".to_string());
            self.forget_running();
            let image = CrashImage::Random(self.random.next_u64());
            self.take_disk(self.disk.crash(image));
        };
        self.counters.recoveries += 1;
        if let Some(reference) = reference {
            check_same(&reference, &found)?;
        }
        self.judge_recovered(&found)
    }

    fn open_and_read(&mut self) -> Result<State> {
        self.open()?;
        let found = read_state(self.engine())?;
        // A power cut that is still planned would otherwise occur during the judgement.
        self.disk.clear_plan();
        if self.disk.is_off() { Err(power_cut(&self.disk)) } else { Ok(found) }
    }

    /// Returns the contents of a copy of `disk` after an uninterrupted recovery.
    fn recover_copy(&mut self, disk: &SimDisk) -> Verdict<State> {
        let recovery = |error: Error| Violation::unexpected("recovery of a copy", &error);
        let options = self.plan.options(&mut self.random);
        let copy: Arc<dyn Disk> = Arc::new(disk.fork());
        let engine = Engine::open(copy, options).map_err(recovery)?;
        read_state(&engine).map_err(recovery)
    }

    fn judge_recovered(&mut self, found: &State) -> Verdict {
        let survived = self.history.judge(found, self.history.bounds())?;
        let report = self.engine().recovery().clone();
        self.counters.images += report.images;
        print_step(|| format!("  {survived} of {:?} survived; {report:?}", self.history.bounds()));
        self.history.restart_after(survived);
        self.plan.workload.check(found)?;
        match self.random.below(8) {
            0 => check_upkeep(self.engine())?,
            1..5 => self.check_structure()?,
            _ => {}
        }
        check_quiet(self.engine())?;
        self.watch.verdict()
    }

    /// ORACLE-4: checks the structure, and that no more pages are unreachable than before, if that
    /// is known. No transaction may run.
    pub(super) fn check_structure(&mut self) -> Verdict {
        let found = check_structure(self.engine())?.unreachable_pages;
        match self.unreachable.replace(found) {
            Some(known) if found > known => {
                let detail = format!("{found} pages are unreachable, and {known} were before");
                return Err(Violation::new(Oracle::Structure, detail));
            }
            known => self.counters.reachable += u64::from(known.is_some()),
        }
        Ok(())
    }

    /// Closes the database in order and opens it again: no commit may be missing.
    pub(super) fn close_and_reopen(&mut self) -> Verdict {
        if self.stopped_at.is_some() || self.is_faulty {
            return Ok(());
        }
        for at in 0..self.sessions.len() {
            self.roll_back(at)?;
        }
        self.run_all_jobs()?;
        match self.engine().close() {
            Ok(()) => {}
            // With a full disk or log it cannot be closed in order; recovery completes the work.
            Err(Error::LogFull { .. } | Error::DiskFull { .. }) => return self.kill(),
            Err(error) => return Err(Violation::unexpected("close", &error)),
        }
        self.counters.reopenings += 1;
        let bounds = self.history.bounds();
        self.history.acknowledge_commit(bounds.appended);
        let unreachable = self.unreachable;
        self.forget_running();
        self.unreachable = unreachable;
        self.disk.set_space_bytes(None);
        let found = self.open_and_read();
        let found = found.map_err(|error| Violation::unexpected("opening again", &error))?;
        let report = self.engine().recovery();
        if report.losers + report.undone > 0 {
            let detail = format!("closed in order, and recovery had work: {report:?}");
            return Err(Violation::new(Oracle::Quiet, detail));
        }
        self.judge_recovered(&found)
    }
}

/// Returns the error of a disk whose power is off.
fn power_cut(disk: &SimDisk) -> Error {
    match disk.sync_dir("") {
        Err(error) => error,
        Ok(()) => Error::Closed,
    }
}
