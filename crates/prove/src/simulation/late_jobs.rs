//! Late jobs: what an engine's threads do for tasks, since it would block them, waits in queues.
//! The seed chooses when a job is run, and of which queue; a queue keeps its order (OFFLOAD-2).
//!
//! ```text
//!   a task's poll, or its drop ──► job ──► queue ──► run by a step
//!                                            └─────► run when the engine closes
//! ```
//!
//! A job may block, and so runs only where something else may (see `late_reads`).

use clearway_txn::TaskJobs;

use super::{print_step, session::Session, world::World};
use crate::workloads::Operation;

/// Before a step, one of this many attempts to run a job runs one, and another follows.
const RUN_ONE_IN: u64 = 4;

impl World {
    /// The number of jobs that wait.
    pub(super) fn jobs(&self) -> usize {
        let engine = self.engine();
        engine.task_jobs(TaskJobs::Blocking) + engine.task_jobs(TaskJobs::LogSpace)
    }

    /// Runs some of the jobs that wait, or none.
    pub(super) fn run_some_jobs(&mut self) {
        while self.jobs() > 0 && self.random.one_in(RUN_ONE_IN) {
            self.run_job();
        }
    }

    /// Runs all jobs that wait.
    pub(super) fn run_all_jobs(&mut self) {
        while self.jobs() > 0 {
            self.run_job();
        }
    }

    /// Runs a job.
    pub(super) fn run_job(&mut self) {
        self.leave_pins(None);
        let mut queues = [TaskJobs::Blocking, TaskJobs::LogSpace];
        if self.random.one_in(2) {
            queues.reverse();
        }
        let run = queues.into_iter().find(|jobs| self.engine().run_task_job(*jobs));
        print_step(|| format!("  a job is run: {run:?}"));
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

/// A job that a call waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AwaitedJob {
    LogSpace,
    /// A longer file, for which the call keeps its pins, or the freeing of pages.
    Length,
    /// The rollback of a deadlock's victim, or one to a savepoint.
    Rollback,
}
