//! The services of an engine for tasks: alarms, and threads that do what would block a task.
//!
//! The threads are started for the first transaction of a task, and end when the engine closes.

mod offload;
mod timer;

use std::sync::Arc;

use clearway_base::{Error, Result};
use clearway_sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
    thread::{self, JoinHandle},
};

use crate::EngineOptions;
use offload::BlockingJob;
pub(crate) use offload::{Offload, Reply};
pub(crate) use timer::{Alarm, Timer};

/// A queue of jobs that a thread of the engine runs, for a task or for a transaction that has
/// ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TaskJobs {
    /// Everything that blocks, except waits for log space.
    Blocking,
    /// Waits for log space.
    LogSpace,
    /// The deallocations that transactions have deferred until their commit, one job for each
    /// transaction. They are not only those of tasks.
    Deallocations,
}

/// The services of an engine for tasks.
#[derive(Default)]
pub(crate) struct TaskWork {
    pub(crate) timer: Arc<Timer>,
    /// Everything that blocks, except waits for log space.
    pub(crate) blocking: Arc<Offload>,
    /// Waits for log space. Such a wait may last until a transaction ends, and a job of `blocking`
    /// may have to end that transaction (OFFLOAD-2).
    pub(crate) log_space: Arc<Offload>,
    /// The threads that run; they are started for the first transaction of a task.
    threads: Mutex<Threads>,
    /// True once `threads` was decided, so that later transactions need not latch it.
    is_started: AtomicBool,
}

#[derive(Default)]
enum Threads {
    #[default]
    NotStarted,
    Running(Vec<JoinHandle<()>>),
    /// A simulation runs the jobs of the queues, in place of threads.
    Simulated,
    /// Tasks do without: the engine has no background threads, or has closed.
    Never,
}

impl TaskWork {
    /// Starts the threads, unless they run or are not wanted.
    ///
    /// # Errors
    /// `Io` if a thread cannot be started.
    pub(crate) fn start(&self, options: &EngineOptions) -> Result<()> {
        // Acquire pairs with the Release below: jobs find the queues started.
        if self.is_started.load(Ordering::Acquire) { Ok(()) } else { self.start_now(options) }
    }

    #[cold]
    fn start_now(&self, options: &EngineOptions) -> Result<()> {
        let mut threads = self.threads.lock();
        if !matches!(*threads, Threads::NotStarted) {
            return Ok(());
        }
        if !options.background {
            *threads = Threads::Never;
            if options.simulated_jobs {
                *threads = Threads::Simulated;
                self.blocking.start();
                self.log_space.start();
            }
            self.is_started.store(true, Ordering::Release);
            return Ok(());
        }
        let (timer, blocking, log_space) =
            (self.timer.clone(), self.blocking.clone(), self.log_space.clone());
        let runs: [(&str, BlockingJob); 3] = [
            ("clearway-timer", Box::new(move || timer.run())),
            ("clearway-tasks", Box::new(move || blocking.work())),
            ("clearway-log-space", Box::new(move || log_space.work())),
        ];
        self.timer.start();
        self.blocking.start();
        self.log_space.start();
        let mut running = Vec::new();
        for (name, run) in runs {
            match thread::Builder::new().name(name.into()).spawn(run) {
                Ok(thread) => running.push(thread),
                Err(source) => {
                    self.end(running);
                    return Err(Error::io("start a thread for", name, source));
                }
            }
        }
        *threads = Threads::Running(running);
        self.is_started.store(true, Ordering::Release);
        Ok(())
    }

    /// Waits until the thread of `blocking` has no job, so that the rollbacks that were handed over
    /// are done (TASK-5).
    pub(crate) fn wait_idle(&self) {
        let is_simulated = matches!(*self.threads.lock(), Threads::Simulated);
        while is_simulated && self.blocking.run_one() {}
        self.blocking.wait_idle();
    }

    /// The queue of these jobs, if they are done for tasks.
    pub(crate) fn queue(&self, jobs: TaskJobs) -> Option<&Offload> {
        match jobs {
            TaskJobs::Blocking => Some(&self.blocking),
            TaskJobs::LogSpace => Some(&self.log_space),
            TaskJobs::Deallocations => None,
        }
    }

    /// Ends the threads once their jobs are done.
    pub(crate) fn stop(&self) {
        let threads = std::mem::replace(&mut *self.threads.lock(), Threads::Never);
        match threads {
            Threads::Running(threads) => self.end(threads),
            Threads::Simulated => {
                self.end(Vec::new());
                self.log_space.work();
                self.blocking.work();
            }
            Threads::NotStarted | Threads::Never => {}
        }
    }

    fn end(&self, threads: Vec<JoinHandle<()>>) {
        self.timer.stop();
        self.blocking.stop();
        self.log_space.stop();
        for thread in threads {
            let _ = thread.join();
        }
    }
}
