//! Work that blocks, done for tasks by a thread of the engine: rollbacks, the growth of files,
//! waits for log space, commits that free large values.
//!
//! ```text
//!   task: run ──► queue ──► thread ──► reply ──► the task's waker
//!                                        └─ the task is gone: the value is dropped
//! ```
//!
//! Invariants:
//! - OFFLOAD-1. A job is run exactly once, whatever becomes of the task that has handed it over: by
//!   the thread, or, if no thread runs (an engine without background threads, or one that has
//!   closed), by the caller. A simulation runs the jobs in place of the thread.
//! - OFFLOAD-2. The thread runs jobs one after the other, in the order in which they came, also
//!   while it ends. A job that its caller runs has ended when the caller goes on. So a job may take
//!   the reply of an earlier one, and must not wait for what only a later one brings about: waits
//!   for log space, which rollbacks end, have a queue of their own.
//! - OFFLOAD-3. The reply of a job is delivered once. If the [`Reply`] is dropped before the job
//!   has run, the thread that runs the job drops the value; if it is dropped later, the value is
//!   dropped with it. So a value that must not be lost has a drop that takes care of it.
//! - OFFLOAD-4. No job and no waker is called, and no value of a reply dropped, under a mutex.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
    task::{Context, Poll, Waker},
};

use clearway_base::{Error, Result};
use clearway_sync::{Condvar, Mutex, invariant, step, wake};

/// A piece of work.
pub(super) type BlockingJob = Box<dyn FnOnce() + Send>;

/// A queue of jobs, and the thread that runs them.
#[derive(Default)]
pub(crate) struct Offload {
    state: Mutex<OffloadState>,
    /// A job has come, or the thread is to end.
    changed: Condvar,
    /// The thread has run the last job of the queue.
    is_idle: Condvar,
}

#[derive(Default)]
struct OffloadState {
    jobs: VecDeque<BlockingJob>,
    runs: bool,
    is_busy: bool,
}

impl Offload {
    /// Lets jobs wait in the queue: the caller will [work](Offload::work) it off.
    pub(crate) fn start(&self) {
        self.state.lock().runs = true;
    }

    /// Runs jobs until [`stop`](Offload::stop) was called and none is left.
    pub(crate) fn work(&self) {
        let mut state = self.state.lock();
        loop {
            if let Some(job) = state.jobs.pop_front() {
                state.is_busy = true;
                drop(state);
                run(job);
                state = self.state.lock();
                state.is_busy = false;
                continue;
            }
            self.is_idle.notify_all();
            if !state.runs {
                return;
            }
            self.changed.wait(&mut state);
        }
    }

    /// Runs the first job of the queue, for a simulation without the thread. Returns false if there
    /// is none.
    pub(crate) fn run_one(&self) -> bool {
        let job = self.state.lock().jobs.pop_front();
        let has_one = job.is_some();
        job.into_iter().for_each(run);
        has_one
    }

    /// The number of jobs in the queue.
    pub(crate) fn count(&self) -> usize {
        self.state.lock().jobs.len()
    }

    /// Ends the thread once the queue is empty.
    pub(crate) fn stop(&self) {
        self.state.lock().runs = false;
        self.changed.notify_all();
    }

    /// Waits until no job is queued or running.
    pub(crate) fn wait_idle(&self) {
        let mut state = self.state.lock();
        while state.runs && (state.is_busy || !state.jobs.is_empty()) {
            self.is_idle.wait(&mut state);
        }
    }

    /// Hands over a job (OFFLOAD-1).
    pub(crate) fn run(&self, job: impl FnOnce() + Send + 'static) {
        let job = Box::new(job);
        let mut state = self.state.lock();
        // A thread that is to end does the jobs of the queue first.
        if state.runs || state.is_busy || !state.jobs.is_empty() {
            state.jobs.push_back(job);
            drop(state);
            self.changed.notify_all();
        } else {
            drop(state);
            let _may_block = step::Except::begin();
            run(job);
        }
    }

    /// Hands over work with a result.
    pub(crate) fn call<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Reply<T> {
        let place = Arc::new(Mutex::new(ReplyState::Awaited(None)));
        let sender = Sender { place: place.clone() };
        self.run(move || {
            let value = work();
            sender.send(ReplyState::Given(value));
        });
        Reply { place }
    }
}

fn run(job: BlockingJob) {
    // The panic hook has reported a panic; the drop of the job's sender reports it to the task.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(job)) {
        std::mem::forget(payload);
    }
}

/// The result of a job, for the task that has handed it over.
pub(crate) struct Reply<T> {
    place: Arc<Mutex<ReplyState<T>>>,
}

enum ReplyState<T> {
    Awaited(Option<Waker>),
    Given(T),
    /// The job panicked.
    Lost,
    /// The reply was taken, or no one waits for it.
    Over,
}

struct Sender<T> {
    place: Arc<Mutex<ReplyState<T>>>,
}

impl<T> Sender<T> {
    fn send(&self, reply: ReplyState<T>) {
        let mut place = self.place.lock();
        let ReplyState::Awaited(waker) = &mut *place else { return };
        let waker = waker.take();
        *place = reply;
        drop(place);
        waker.into_iter().for_each(wake);
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        self.send(ReplyState::Lost);
    }
}

impl<T> Reply<T> {
    /// Returns the result once the job has run.
    ///
    /// # Errors
    /// [`Error::Panicked`] if the job has panicked.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<T>> {
        let mut place = self.place.lock();
        match std::mem::replace(&mut *place, ReplyState::Over) {
            ReplyState::Given(value) => Poll::Ready(Ok(value)),
            ReplyState::Awaited(_) => {
                *place = ReplyState::Awaited(Some(cx.waker().clone()));
                Poll::Pending
            }
            ReplyState::Lost | ReplyState::Over => Poll::Ready(Err(panicked())),
        }
    }

    /// Returns the result, for a later job of the same queue (OFFLOAD-2).
    ///
    /// # Errors
    /// [`Error::Panicked`] if the job has panicked.
    pub(crate) fn take_in_later_job(self) -> Result<T> {
        let reply = std::mem::replace(&mut *self.place.lock(), ReplyState::Over);
        invariant(
            !matches!(reply, ReplyState::Awaited(_)),
            "OFFLOAD-2: jobs are run in the order in which they came",
        );
        match reply {
            ReplyState::Given(value) => Ok(value),
            _ => Err(panicked()),
        }
    }
}

fn panicked() -> Error {
    Error::Panicked { message: "a thread of the engine, in work for a task".into() }
}

impl<T> Drop for Reply<T> {
    fn drop(&mut self) {
        let before = std::mem::replace(&mut *self.place.lock(), ReplyState::Over);
        drop(before); // Not under the mutex (OFFLOAD-4).
    }
}

#[cfg(all(test, loom))]
mod models;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::future::poll_fn;

    use clearway_sync::{
        block_on,
        plain::{AtomicUsize, Ordering},
        thread,
    };

    use super::*;

    fn with_thread(test: impl FnOnce(&Arc<Offload>)) {
        let offload = Arc::new(Offload::default());
        offload.start();
        thread::scope(|scope| {
            let works = scope.spawn(|| offload.work());
            test(&offload);
            offload.stop();
            works.join().unwrap();
        });
    }

    fn wait<T>(mut reply: Reply<T>) -> Result<T> {
        block_on(poll_fn(|cx| reply.poll(cx)))
    }

    #[test]
    fn jobs_run_in_order_and_reply() {
        with_thread(|offload| {
            let order = Arc::new(Mutex::new(Vec::new()));
            let replies: Vec<_> = (0..100)
                .map(|n| {
                    let order = order.clone();
                    offload.call(move || {
                        order.lock().push(n);
                        2 * n
                    })
                })
                .collect();
            let values: Vec<_> = replies.into_iter().map(|reply| wait(reply).unwrap()).collect();
            assert_eq!(values, (0..100).map(|n| 2 * n).collect::<Vec<_>>());
            assert_eq!(*order.lock(), (0..100).collect::<Vec<_>>());
        });
    }

    #[test]
    fn job_of_a_task_that_is_gone_runs_and_its_value_is_dropped() {
        struct Counted(Arc<AtomicUsize>);
        impl Drop for Counted {
            fn drop(&mut self) {
                self.0.fetch_add(1, Ordering::SeqCst);
            }
        }
        let dropped = Arc::new(AtomicUsize::new(0));
        with_thread(|offload| {
            for _ in 0..10 {
                let counted = Counted(dropped.clone());
                drop(offload.call(move || counted));
            }
            offload.wait_idle();
            assert_eq!(dropped.load(Ordering::SeqCst), 10);
        });
    }

    #[test]
    fn panic_of_a_job_is_the_error_of_its_task_alone() {
        with_thread(|offload| {
            let lost = offload.call(|| panic!("on purpose"));
            let next = offload.call(|| 7);
            assert!(matches!(wait::<()>(lost), Err(Error::Panicked { .. })));
            assert_eq!(wait(next).unwrap(), 7);
        });
    }

    /// The jobs come while the thread runs one that was the last until then.
    #[test]
    fn jobs_that_come_before_and_after_the_stop_are_run() {
        let (offload, order) = (Arc::new(Offload::default()), Arc::new(Mutex::new(Vec::new())));
        offload.start();
        let (hands_over, begun) = (offload.clone(), order.clone());
        offload.run(move || {
            let note = |n| {
                let order = begun.clone();
                move || order.lock().push(n)
            };
            hands_over.run(note(1));
            hands_over.stop();
            hands_over.run(note(2));
            assert!(begun.lock().is_empty(), "the jobs wait for this one (OFFLOAD-2)");
        });
        offload.work();
        assert_eq!(*order.lock(), [1, 2], "OFFLOAD-1");
    }

    #[test]
    fn jobs_wait_until_a_simulation_runs_them() {
        let offload = Offload::default();
        offload.start();
        let mut reply = offload.call(|| 3);
        let mut cx = Context::from_waker(Waker::noop());
        assert!(reply.poll(&mut cx).is_pending() && offload.count() == 1);
        assert!(offload.run_one() && !offload.run_one() && offload.count() == 0);
        assert!(matches!(reply.poll(&mut cx), Poll::Ready(Ok(3))));
    }

    #[test]
    fn without_a_thread_the_caller_works() {
        let offload = Offload::default();
        assert_eq!(wait(offload.call(|| 3)).unwrap(), 3);
        let _inside = step::Inside::begin();
        let slept = offload.call(|| thread::sleep(std::time::Duration::from_millis(1)));
        drop(_inside);
        assert!(wait(slept).is_ok(), "it may block");
    }
}
