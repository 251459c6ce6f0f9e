//! Late jobs: what an engine's threads do for tasks, since it would block them, waits in queues.
//! The seed chooses when a job is run, and of which queue; a queue keeps its order (OFFLOAD-2).
//!
//! ```text
//!   a task's poll, or its drop ──► job ──► queue ──► run by a step
//!                                            └─────► run when the engine closes
//! ```
//!
//! The deferred deallocations of transactions that have committed wait in such a queue, too, those
//! of transactions without tasks included. No call waits for them: they are run by steps, by the
//! engine when a call needs their space, or by its close.
//!
//! A job may block, and so runs only where something else may (see `late_reads`). Commits that it
//! brings about are recorded at once, so that the history has them in the order of the log.

use clearway_base::Lsn;
use clearway_txn::{Committed, TaskJobs};

use super::{
    client::{End, LateResult},
    expected::Overlay,
    print_step,
    session::Session,
    world::World,
};
use crate::{
    oracles::{Oracle, Verdict, Violation},
    workloads::Operation,
};

/// One of this many commits and rollbacks that wait for a job is dropped.
const DROPPED_ONE_IN: u64 = 3;
/// Before a step, one of this many attempts to run a job runs one, and another follows.
const RUN_ONE_IN: u64 = 4;

impl World {
    /// The number of jobs that wait and that tasks wait for.
    pub(super) fn jobs(&self) -> usize {
        let engine = self.engine();
        engine.task_jobs(TaskJobs::Blocking) + engine.task_jobs(TaskJobs::LogSpace)
    }

    /// Runs some of the jobs that wait, or none.
    pub(super) fn run_some_jobs(&mut self) -> Verdict {
        while self.jobs() + self.deallocations() > 0 && self.random.one_in(RUN_ONE_IN) {
            self.run_job()?;
        }
        Ok(())
    }

    /// The number of transactions whose deallocations wait.
    pub(super) fn deallocations(&self) -> usize {
        self.engine().task_jobs(TaskJobs::Deallocations)
    }

    /// Runs all jobs that tasks wait for, and some of the others.
    pub(super) fn run_all_jobs(&mut self) -> Verdict {
        while self.jobs() > 0 {
            self.run_job()?;
        }
        match self.late_ends.len() {
            0 => Ok(()),
            count => {
                let detail = format!("{count} commits or rollbacks wait, and no job");
                Err(Violation::new(Oracle::Liveness, detail))
            }
        }
    }

    /// Runs a job, and records the commits and rollbacks that have ended by it.
    pub(super) fn run_job(&mut self) -> Verdict {
        self.leave_pins(None);
        let mut queues = [TaskJobs::Blocking, TaskJobs::LogSpace, TaskJobs::Deallocations];
        if self.random.one_in(2) {
            queues.reverse();
        }
        let log_end = self.engine().log().end();
        let run = queues.into_iter().find(|jobs| self.engine().run_task_job(*jobs));
        print_step(|| format!("  a job is run: {run:?}"));
        self.jobs_run += u64::from(run == Some(TaskJobs::Blocking));
        self.counters.late_deallocations += u64::from(run == Some(TaskJobs::Deallocations));
        let ends = std::mem::take(&mut self.late_ends);
        ends.into_iter().try_for_each(|end| self.poll_end(end, log_end))
    }

    /// Records the end if it is over. Before the job the log ended at `log_end`.
    fn poll_end(&mut self, end: LateEnd, log_end: Lsn) -> Verdict {
        match end {
            LateEnd::Commit(commit, overlay, depends_on) => match End::Late(commit).poll() {
                End::Over(result) => self.note_commit(result, overlay, depends_on)?,
                End::Late(commit) => {
                    self.late_ends.push(LateEnd::Commit(commit, overlay, depends_on));
                }
            },
            LateEnd::Rollback(rollback, depends_on) => match End::Late(rollback).poll() {
                End::Over(result) => self.note_rollback(result, depends_on)?,
                End::Late(rollback) => self.late_ends.push(LateEnd::Rollback(rollback, depends_on)),
            },
            LateEnd::DroppedCommit { job, .. } if job > self.jobs_run => self.late_ends.push(end),
            LateEnd::DroppedCommit { overlay, .. } => {
                // It has taken place, if the log works, and no result between the two ends of the
                // log is another's.
                let is_certain = self.engine().log().health().is_ok();
                let lsn = if is_certain { Lsn(log_end.0 + 1) } else { Lsn::MAX };
                if !overlay.changes_nothing(self.history.state()) {
                    self.history.commit(lsn, overlay.into_changes());
                }
            }
        }
        Ok(())
    }

    /// Adds a commit that waits for a job, and sometimes drops it: it takes place all the same.
    pub(super) fn add_late_commit(
        &mut self,
        commit: LateResult<Committed>,
        overlay: Overlay,
        depends_on: usize,
    ) {
        self.counters.late_commits += 1;
        let is_dropped = self.random.one_in(DROPPED_ONE_IN);
        print_step(|| format!("  a commit waits for a job, dropped: {is_dropped}"));
        self.late_ends.push(if is_dropped {
            self.counters.dropped_commits += 1;
            drop(commit);
            // Its job is the last one in the queue.
            let job = self.jobs_run + self.engine().task_jobs(TaskJobs::Blocking) as u64;
            LateEnd::DroppedCommit { job, overlay }
        } else {
            LateEnd::Commit(commit, overlay, depends_on)
        });
    }

    /// Adds a rollback that waits for a job, and sometimes drops it: it takes place all the same.
    pub(super) fn add_late_rollback(&mut self, rollback: LateResult<Lsn>, depends_on: usize) {
        self.counters.late_rollbacks += 1;
        print_step(|| "  a rollback waits for a job".to_string());
        if !self.random.one_in(DROPPED_ONE_IN) {
            self.late_ends.push(LateEnd::Rollback(rollback, depends_on));
        }
    }

    /// Notes the job that a step of this session has handed over to a queue, if it has, and that it
    /// waits for.
    pub(super) fn note_job(
        &mut self,
        session: &mut Session,
        handed_over: Option<TaskJobs>,
        was_asleep: bool,
    ) {
        let Some(jobs) = handed_over.filter(|_| session.is_waiting()) else {
            // A task that was not woken still waits for the same job.
            session.awaited.take_if(|_| !was_asleep);
            return;
        };
        let deadlocks = self.engine().stats().lock.deadlocks;
        let is_victim = deadlocks > std::mem::replace(&mut self.deadlocks, deadlocks);
        let (counters, operation) = (&mut self.counters, session.waiting_operation());
        let (count, job) = match (jobs, operation) {
            (TaskJobs::LogSpace, _) => (&mut counters.space_waits, AwaitedJob::LogSpace),
            (_, _) if is_victim => (&mut counters.late_victims, AwaitedJob::Rollback),
            (_, Some(Operation::RollbackTo(_))) => {
                (&mut counters.late_partial, AwaitedJob::Rollback)
            }
            _ => (&mut counters.length_waits, AwaitedJob::Length),
        };
        *count += 1;
        session.awaited = Some(job);
        if is_victim {
            // Its locks are released before the deadlock is reported.
            session.become_victim();
        }
    }
}

/// A commit or rollback that waits for a job, with the number of commits that its results depend
/// on.
pub(super) enum LateEnd {
    Commit(LateResult<Committed>, Overlay, usize),
    Rollback(LateResult<Lsn>, usize),
    /// A commit whose future was dropped: it has ended once `job` jobs of its queue were run.
    DroppedCommit {
        job: u64,
        overlay: Overlay,
    },
}

/// A job that a call waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AwaitedJob {
    LogSpace,
    /// A longer file, for which the call keeps its pins, or the freeing of pages.
    Length,
    /// The rollback of a deadlock's victim, or one to a savepoint.
    Rollback,
}
