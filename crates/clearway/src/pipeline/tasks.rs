//! The asynchronous closures that an agent has begun: its *tasks*.
//!
//! ```text
//!   inbox ─▶ begin ─▶ poll ─▶ waits for a lock, a page, the log ─▶ woken: ready ─▶ poll ─▶ result
//! ```
//!
//! Invariants:
//! - TASKS-1. A task stays with the agent that began it, so its future need not be able to move
//!   between threads. Only the closure moves.
//! - TASKS-2. No lost wake-up: a waker adds its task to `ready` and then unparks the agent, which
//!   checks `ready` before it parks; a thread that was unparked before it parks does not park.
//! - TASKS-3. A task is in `ready` once at most: it is added when its waker sets `is_ready`, which
//!   the agent clears before it polls.
//! - TASKS-4. A number is used again after its task has ended. A late waker of the old task then
//!   causes one poll of the new one, which is harmless.

use std::{
    collections::VecDeque,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Wake, Waker},
};

use clearway_sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
    wake,
};

use super::agent::StepClock;

/// The future of a task, which delivers its result itself.
pub(super) type TaskFuture = Pin<Box<dyn Future<Output = ()>>>;

/// The tasks of one agent.
pub(super) struct Tasks {
    running: Vec<Option<RunningTask>>,
    /// Numbers of ended tasks.
    free: Vec<usize>,
    ready: Arc<ReadyTasks>,
    max: usize,
}

struct RunningTask {
    /// The type of its transaction.
    name: &'static str,
    future: TaskFuture,
    waker: Waker,
    wake: Arc<TaskWake>,
}

/// The tasks that are to be polled.
struct ReadyTasks {
    numbers: Mutex<VecDeque<usize>>,
    agent: Waker,
}

/// The waker of one task.
struct TaskWake {
    ready: Arc<ReadyTasks>,
    number: usize,
    is_ready: AtomicBool,
}

impl Wake for TaskWake {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        // AcqRel: pairs with the agent's swap, so that a poll sees what was done before the wake-up
        // that it takes the place of (TASKS-3).
        if !self.is_ready.swap(true, Ordering::AcqRel) {
            self.ready.numbers.lock().push_back(self.number);
            wake(self.ready.agent.clone());
        }
    }
}

impl Tasks {
    /// No task yet, and at most `max` at a time. `agent` unparks the agent's thread.
    pub(super) fn new(agent: Waker, max: usize) -> Tasks {
        let ready = Arc::new(ReadyTasks { numbers: Mutex::default(), agent });
        Tasks { running: Vec::new(), free: Vec::new(), ready, max }
    }

    fn count(&self) -> usize {
        self.running.len() - self.free.len()
    }

    /// Returns true if no further task may begin.
    pub(super) fn is_full(&self) -> bool {
        self.count() >= self.max
    }

    pub(super) fn is_empty(&self) -> bool {
        self.count() == 0
    }

    /// Returns true if a task is to be polled.
    pub(super) fn is_ready(&self) -> bool {
        !self.ready.numbers.lock().is_empty()
    }

    /// Begins a task: it is polled next.
    pub(super) fn begin(&mut self, name: &'static str, future: TaskFuture) {
        let number = self.free.pop().unwrap_or_else(|| {
            self.running.push(None);
            self.running.len() - 1
        });
        let (ready, is_ready) = (Arc::clone(&self.ready), AtomicBool::new(false));
        let wake = Arc::new(TaskWake { ready, number, is_ready });
        let waker = Waker::from(Arc::clone(&wake));
        waker.wake_by_ref();
        self.running[number] = Some(RunningTask { name, future, waker, wake });
    }

    /// Polls the tasks that are ready now, each once. Those that become ready meanwhile wait for
    /// the next call, so that the agent can deliver results and begin other jobs in between. `long`
    /// is called with the type of each task whose poll was long.
    pub(super) fn poll_ready(&mut self, clock: &mut StepClock, mut long: impl FnMut(&'static str)) {
        let count = self.ready.numbers.lock().len();
        for _ in 0..count {
            let Some(number) = self.ready.numbers.lock().pop_front() else { return };
            let Some(task) = &mut self.running[number] else { continue };
            task.wake.is_ready.swap(false, Ordering::AcqRel);
            let mut cx = Context::from_waker(&task.waker);
            let (polled, is_long) = clock.step(|| task.future.as_mut().poll(&mut cx));
            if is_long {
                long(task.name);
            }
            if polled.is_ready() {
                self.running[number] = None;
                self.free.push(number);
            }
        }
    }
}

#[cfg(all(test, loom))]
mod models;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::{cell::RefCell, future::poll_fn, rc::Rc, task::Poll};

    use super::*;

    fn poll_ready(tasks: &mut Tasks) {
        tasks.poll_ready(&mut StepClock::new(), |_| {});
    }

    #[test]
    fn task_is_polled_once_for_each_time_it_was_woken() {
        let mut tasks = Tasks::new(Waker::noop().clone(), 2);
        let (polls, wakers) = (Rc::new(RefCell::new(0)), Rc::new(RefCell::new(Vec::new())));
        let (counted, kept) = (polls.clone(), wakers.clone());
        tasks.begin(
            "",
            Box::pin(poll_fn(move |cx| {
                *counted.borrow_mut() += 1;
                kept.borrow_mut().push(cx.waker().clone());
                if *counted.borrow() < 4 { Poll::Pending } else { Poll::Ready(()) }
            })),
        );
        poll_ready(&mut tasks);
        poll_ready(&mut tasks);
        assert_eq!(*polls.borrow(), 1);
        for expected in 2..=4 {
            let waker = wakers.borrow()[0].clone();
            (0..3).for_each(|_| waker.wake_by_ref());
            poll_ready(&mut tasks);
            poll_ready(&mut tasks);
            assert_eq!(*polls.borrow(), expected);
        }
        assert!(tasks.is_empty() && !tasks.is_ready());
        // TASKS-4.
        tasks.begin("", Box::pin(std::future::pending()));
        tasks.begin("", Box::pin(std::future::pending()));
        assert!(tasks.is_full());
        wakers.borrow()[0].wake_by_ref();
        poll_ready(&mut tasks);
        assert!(tasks.is_full());
    }

    #[test]
    fn task_that_wakes_itself_does_not_starve_the_others() {
        let mut tasks = Tasks::new(Waker::noop().clone(), 2);
        let other = Rc::new(RefCell::new(0));
        tasks.begin(
            "",
            Box::pin(poll_fn(|cx| {
                cx.waker().wake_by_ref();
                Poll::Pending
            })),
        );
        let counted = other.clone();
        tasks.begin(
            "",
            Box::pin(poll_fn(move |cx| {
                cx.waker().wake_by_ref();
                *counted.borrow_mut() += 1;
                Poll::Pending
            })),
        );
        (0..10).for_each(|_| poll_ready(&mut tasks));
        assert_eq!(*other.borrow(), 10);
    }
}
