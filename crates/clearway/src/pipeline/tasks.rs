//! The closures that an agent has begun and that wait: its *tasks*. They are asynchronous, or they
//! wait for a page between two runs of their fetch stage.
//!
//! ```text
//!   inbox ─▶ begin ─▶ poll ─▶ waits for a lock or a page ─▶ woken: ready ─▶ poll ─▶ ended
//! ```
//!
//! Invariants:
//! - AGENT-1. A task stays with the agent that began it, so its future need not be able to move
//!   between threads. Only the closure moves.
//! - AGENT-2. No lost wake-up: a waker adds its task to `ready` and then unparks the agent, which
//!   checks `ready` before it parks; a thread that was unparked before it parks does not park.
//! - AGENT-3. A task is in `ready` once at most: it is added when its waker sets `is_ready`, which
//!   the agent clears before it polls.
//! - AGENT-4. A slot and its waker are used again after their task has ended. A late wake-up of the
//!   old task then causes one poll of the new one, which is harmless.
//! - AGENT-5. What a task leaves (the memory of its future) is used for the next task, and is
//!   polled only while there is one. At most [`KEPT`] are kept; of the others, the agent frees the
//!   memory when it has nothing else to do, or when there are [`SURPLUS_MAX`].

use std::{
    collections::VecDeque,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

use clearway_sync::{
    Mutex,
    atomic::{AtomicBool, Ordering},
    wake,
};

use super::agent::StepClock;

/// A place where tasks run, one after the other in the same memory.
pub(super) trait RunsTask {
    /// The result of a task, which the agent delivers.
    type Result;

    /// Polls the task.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Self::Result>;
}

/// The number of places that are kept for further tasks.
const KEPT: usize = 64;
/// The number of further places that wait to be freed.
const SURPLUS_MAX: usize = 1024;

/// The tasks of one agent.
pub(super) struct Tasks<P> {
    slots: Vec<TaskSlot<P>>,
    /// Numbers of the slots without a task.
    free: Vec<usize>,
    /// Places without a task (AGENT-5).
    places: Vec<P>,
    /// Places that are not needed any more.
    surplus: Vec<P>,
    ready: Arc<ReadyTasks>,
    max: usize,
}

/// A task that waits, or room for one. Its waker serves one task after the other (AGENT-4).
struct TaskSlot<P> {
    task: Option<WaitingTask<P>>,
    waker: Waker,
    wake: Arc<TaskWake>,
}

struct WaitingTask<P> {
    /// The type of the task's transaction.
    name: &'static str,
    place: P,
}

/// A poll of a task.
pub(super) struct Polled<R> {
    /// The type of the task's transaction.
    pub(super) name: &'static str,
    pub(super) is_long: bool,
    /// The result, if the task has ended.
    pub(super) result: Option<R>,
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
        // that it takes the place of (AGENT-3).
        if !self.is_ready.swap(true, Ordering::AcqRel) {
            self.ready.numbers.lock().push_back(self.number);
            wake(self.ready.agent.clone());
        }
    }
}

impl<P: RunsTask> Tasks<P> {
    /// No task yet, and at most `max` at a time. `agent` unparks the agent's thread.
    pub(super) fn new(agent: Waker, max: usize) -> Tasks<P> {
        let ready = Arc::new(ReadyTasks { numbers: Mutex::default(), agent });
        let (slots, free, places, surplus) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Tasks { slots, free, places, surplus, ready, max }
    }

    fn count(&self) -> usize {
        self.slots.len() - self.free.len()
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

    /// Begins a task, and polls it once. `begin` makes it from what the last task has left.
    pub(super) fn begin(
        &mut self,
        name: &'static str,
        begin: impl FnOnce(Option<P>) -> P,
        clock: &mut StepClock,
    ) -> Polled<P::Result> {
        let number = self.free.last().copied().unwrap_or_else(|| self.add_slot());
        let mut place = begin(self.places.pop());
        // A late wake-up of an earlier task is left in `ready` (AGENT-3, AGENT-4).
        let mut cx = Context::from_waker(&self.slots[number].waker);
        let (polled, is_long) = clock.step(|| place.poll(&mut cx));
        let result = match polled {
            Poll::Ready(result) => {
                self.keep(place);
                Some(result)
            }
            Poll::Pending => {
                self.free.pop();
                self.slots[number].task = Some(WaitingTask { name, place });
                None
            }
        };
        Polled { name, is_long, result }
    }

    /// Adds a free slot, and returns its number.
    #[cold]
    fn add_slot(&mut self) -> usize {
        let number = self.slots.len();
        let (ready, is_ready) = (Arc::clone(&self.ready), AtomicBool::new(false));
        let wake = Arc::new(TaskWake { ready, number, is_ready });
        let waker = Waker::from(Arc::clone(&wake));
        self.slots.push(TaskSlot { task: None, waker, wake });
        self.free.push(number);
        number
    }

    /// Keeps the place of a task that has ended (AGENT-5).
    #[inline]
    fn keep(&mut self, place: P) {
        if self.places.len() < KEPT {
            self.places.push(place);
        } else if self.surplus.len() < SURPLUS_MAX {
            self.surplus.push(place);
        }
    }

    /// Frees a place that is not needed. Returns false if there is none.
    pub(super) fn free_one(&mut self) -> bool {
        self.surplus.pop().is_some()
    }

    /// Polls a task that was woken.
    fn poll(&mut self, number: usize, clock: &mut StepClock) -> Option<Polled<P::Result>> {
        let TaskSlot { task, waker, .. } = &mut self.slots[number];
        let WaitingTask { name, place } = task.as_mut()?;
        let (name, mut cx) = (*name, Context::from_waker(waker));
        let (polled, is_long) = clock.step(|| place.poll(&mut cx));
        let Poll::Ready(result) = polled else {
            return Some(Polled { name, is_long, result: None });
        };
        let ended = task.take();
        self.free.push(number);
        ended.into_iter().for_each(|task| self.keep(task.place));
        Some(Polled { name, is_long, result: Some(result) })
    }

    /// Polls the tasks that are ready now, each once, and calls `each` after it. Those that become
    /// ready meanwhile wait for the next call, so that the agent can deliver results and begin
    /// other jobs in between.
    pub(super) fn poll_ready(
        &mut self,
        clock: &mut StepClock,
        mut each: impl FnMut(Polled<P::Result>),
    ) {
        let count = self.ready.numbers.lock().len();
        for _ in 0..count {
            let Some(number) = self.ready.numbers.lock().pop_front() else { return };
            self.slots[number].wake.is_ready.swap(false, Ordering::AcqRel);
            self.poll(number, clock).into_iter().for_each(&mut each);
        }
    }
}

/// The future of a task of a test.
#[cfg(test)]
type TaskFuture = std::pin::Pin<Box<dyn Future<Output = ()>>>;

#[cfg(test)]
impl RunsTask for TaskFuture {
    type Result = ();

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.as_mut().poll(context)
    }
}

/// Begins a task of a test.
#[cfg(test)]
fn begin(tasks: &mut Tasks<TaskFuture>, future: TaskFuture) {
    tasks.begin("test", |_| future, &mut StepClock::new());
}

#[cfg(all(test, loom))]
mod models;

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::{cell::RefCell, future::poll_fn, rc::Rc};

    use super::*;

    fn poll_ready(tasks: &mut Tasks<TaskFuture>) {
        tasks.poll_ready(&mut StepClock::new(), |_| {});
    }

    #[test]
    fn memory_of_tasks_is_used_again_after_many_at_a_time() {
        let mut tasks = Tasks::new(Waker::noop().clone(), 3 * KEPT);
        let is_over = Rc::new(RefCell::new(false));
        for _ in 0..3 * KEPT {
            let is_over = is_over.clone();
            let future = poll_fn(move |cx| {
                cx.waker().wake_by_ref();
                if *is_over.borrow() { Poll::Ready(()) } else { Poll::Pending }
            });
            begin(&mut tasks, Box::pin(future));
        }
        assert!(tasks.is_full());
        *is_over.borrow_mut() = true;
        poll_ready(&mut tasks);
        assert!(tasks.is_empty());
        assert_eq!(tasks.places.len(), KEPT);
        // The others are freed one at a time, when there is nothing else to do.
        (0..2 * KEPT).for_each(|_| assert!(tasks.free_one()));
        assert!(!tasks.free_one());
        for _ in 0..3 * KEPT {
            let (mut is_used, future) = (false, Box::pin(std::future::ready(())));
            let begin = |kept: Option<TaskFuture>| -> TaskFuture {
                is_used = kept.is_some();
                future
            };
            tasks.begin("test", begin, &mut StepClock::new());
            assert!(is_used, "AGENT-5");
        }
    }

    #[test]
    fn task_is_polled_once_for_each_time_it_was_woken() {
        let mut tasks = Tasks::new(Waker::noop().clone(), 2);
        let (polls, wakers) = (Rc::new(RefCell::new(0)), Rc::new(RefCell::new(Vec::new())));
        let (counted, kept) = (polls.clone(), wakers.clone());
        begin(
            &mut tasks,
            Box::pin(poll_fn(move |cx| {
                *counted.borrow_mut() += 1;
                kept.borrow_mut().push(cx.waker().clone());
                if *counted.borrow() < 4 { Poll::Pending } else { Poll::Ready(()) }
            })),
        );
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
        // AGENT-4.
        begin(&mut tasks, Box::pin(std::future::pending()));
        begin(&mut tasks, Box::pin(std::future::pending()));
        assert!(tasks.is_full());
        wakers.borrow()[0].wake_by_ref();
        poll_ready(&mut tasks);
        assert!(tasks.is_full());
    }

    #[test]
    fn task_that_wakes_itself_does_not_starve_the_others() {
        let mut tasks = Tasks::new(Waker::noop().clone(), 2);
        let other = Rc::new(RefCell::new(0));
        begin(
            &mut tasks,
            Box::pin(poll_fn(|cx| {
                cx.waker().wake_by_ref();
                Poll::Pending
            })),
        );
        let counted = other.clone();
        begin(
            &mut tasks,
            Box::pin(poll_fn(move |cx| {
                cx.waker().wake_by_ref();
                *counted.borrow_mut() += 1;
                Poll::Pending
            })),
        );
        (0..10).for_each(|_| poll_ready(&mut tasks));
        assert_eq!(*other.borrow(), 11);
    }
}
