//! Models of an agent that polls its tasks and parks, and of wakers on other threads.
//!
//! Deliberate errors, and the model that was seen to fail for each:
//!
//! - `woken_task_is_polled`: the agent is unparked before the task is in `ready` (AGENT-2);
//!   `is_ready` cleared after the poll (AGENT-3).

use std::{future::poll_fn, task::Poll};

use clearway_sync::{ThreadWaker, check, thread};

use super::*;

/// Something that a task waits for.
#[derive(Default)]
struct Event {
    has_come: AtomicBool,
    waker: Mutex<Option<Waker>>,
}

impl Event {
    /// Waits as a task: keeps the waker and checks afterwards.
    async fn wait(&self) {
        poll_fn(|cx| {
            *self.waker.lock() = Some(cx.waker().clone());
            match self.has_come.load(Ordering::Acquire) {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
        .await;
    }

    fn come(&self) {
        self.has_come.store(true, Ordering::Release);
        let waker = self.waker.lock().take();
        waker.into_iter().for_each(wake);
    }
}

/// Acts as an agent until its tasks have ended.
fn work(tasks: &mut Tasks<TaskFuture>) {
    let mut clock = StepClock::new();
    while !tasks.is_empty() {
        match tasks.is_ready() {
            true => tasks.poll_ready(&mut clock, |_| ()),
            false => thread::park(),
        }
    }
}

/// A lost wake-up is a deadlock, which loom reports.
#[test]
fn woken_task_is_polled() {
    check(3, || {
        let event = Arc::new(Event::default());
        let mut tasks = Tasks::new(ThreadWaker::current(), 1);
        let awaited = event.clone();
        begin(&mut tasks, Box::pin(async move { awaited.wait().await }));
        let comes = thread::spawn(move || event.come());
        work(&mut tasks);
        comes.join().unwrap();
    });
}

/// The number of the first task is used again while its waker may still be called (AGENT-4).
#[test]
fn late_waker_of_an_ended_task_loses_no_wake_up() {
    check(2, || {
        let events = [Arc::new(Event::default()), Arc::new(Event::default())];
        let mut tasks = Tasks::new(ThreadWaker::current(), 1);
        let (first, second) = (events[0].clone(), events[1].clone());
        begin(&mut tasks, Box::pin(async move { first.wait().await }));
        let comes = thread::spawn(move || events.iter().for_each(|event| event.come()));
        work(&mut tasks);
        begin(&mut tasks, Box::pin(async move { second.wait().await }));
        work(&mut tasks);
        comes.join().unwrap();
    });
}
