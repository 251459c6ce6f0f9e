//! The inbox of an agent, and the protocol by which the agent parks.
//!
//! Invariants:
//! - INBOX-1. No lost wake-up: an agent stores its waker under the same mutex hold in which it
//!   found the inbox empty; a submitter adds a job under that mutex and takes the waker out. So
//!   either the agent sees the job or the submitter sees the waker.
//! - INBOX-2. Nothing is accepted after the close, and an agent that sees the close finds all jobs
//!   that were accepted.
//! - INBOX-3. Wakers are called after the mutex is free.
//! - INBOX-4. No job waits for an agent that is busy, or has as many tasks as it may have, while
//!   another one that could run it sleeps. An agent stores its waker, then checks the other
//!   inboxes, and then sleeps. A submitter adds its job and then, if the agent of that inbox has
//!   stored no waker, searches the other inboxes for a waker. The inboxes' mutexes order the two.
//!   An agent that may begin no further task stores no waker; if there are jobs in its inbox, it
//!   wakes another agent before it sleeps, and an agent that takes a job out of another one's inbox
//!   wakes a third one if jobs are left there. (There are two exceptions. A busy agent that submits
//!   to its own inbox wakes no other agent. After the close an agent checks no other inbox before
//!   it sleeps: each agent runs the jobs that are left in its own, however many tasks it has.)

#[cfg(all(test, loom))]
mod models;

use std::{collections::VecDeque, task::Waker};

use clearway_sync::{Mutex, wake};

/// The jobs of one agent. Submitters add jobs, and other agents may take them.
pub(super) struct Inbox<J> {
    state: Mutex<InboxState<J>>,
}

struct InboxState<J> {
    jobs: VecDeque<J>,
    waker: Option<Waker>,
    is_closed: bool,
}

/// The reason why a job was not accepted.
pub(super) enum Refused<J> {
    Full(#[allow(dead_code)] J),
    Closed(#[allow(dead_code)] J),
}

/// The state in which an agent found its inbox before it parks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum ParkCheck {
    /// There is no job, and the waker is stored, if there is one: the agent may park.
    MayPark,
    /// There are jobs.
    Jobs,
    /// There are no jobs, and there will be none.
    Closed,
}

impl<J> Inbox<J> {
    pub(super) fn new() -> Inbox<J> {
        let state = InboxState { jobs: VecDeque::new(), waker: None, is_closed: false };
        Inbox { state: Mutex::new(state) }
    }

    /// Adds a job. Returns true if that woke the agent. At most `room` jobs fit.
    pub(super) fn push(&self, job: J, room: usize) -> Result<bool, Refused<J>> {
        let mut state = self.state.lock();
        if state.is_closed {
            return Err(Refused::Closed(job));
        }
        if state.jobs.len() >= room {
            return Err(Refused::Full(job));
        }
        state.jobs.push_back(job);
        Ok(take_and_wake(state))
    }

    /// Takes the oldest job out.
    pub(super) fn pop(&self) -> Option<J> {
        self.state.lock().jobs.pop_front()
    }

    /// Takes the oldest job out, for another agent. Also returns true if jobs are left.
    pub(super) fn steal(&self) -> Option<(J, bool)> {
        let mut state = self.state.lock();
        let job = state.jobs.pop_front()?;
        Some((job, !state.jobs.is_empty()))
    }

    /// Returns true if nothing is accepted any more.
    pub(super) fn is_closed(&self) -> bool {
        self.state.lock().is_closed
    }

    /// Returns true if the inbox is empty.
    pub(super) fn is_empty(&self) -> bool {
        self.state.lock().jobs.is_empty()
    }

    /// Stores the waker of an agent if there is no job (INBOX-1). An agent that could not run a job
    /// has none to store (INBOX-4).
    pub(super) fn prepare_park(&self, waker: Option<&Waker>) -> ParkCheck {
        let mut state = self.state.lock();
        match () {
            () if !state.jobs.is_empty() => ParkCheck::Jobs,
            () if state.is_closed => ParkCheck::Closed,
            () => {
                state.waker = waker.cloned();
                ParkCheck::MayPark
            }
        }
    }

    /// Removes the waker when the agent runs again, whatever woke it.
    pub(super) fn clear_waker(&self) {
        self.state.lock().waker = None;
    }

    /// Wakes the agent if it has stored a waker. Returns true if it had.
    pub(super) fn wake(&self) -> bool {
        take_and_wake(self.state.lock())
    }

    /// Refuses jobs from now on (INBOX-2).
    pub(super) fn close(&self) {
        let mut state = self.state.lock();
        state.is_closed = true;
        take_and_wake(state);
    }
}

/// Takes the waker out and calls it (INBOX-3). Returns true if there was one.
fn take_and_wake<J>(mut state: clearway_sync::MutexGuard<'_, InboxState<J>>) -> bool {
    let waker = state.waker.take();
    drop(state);
    waker.map(wake).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_come_out_in_order_and_none_after_the_close() {
        let inbox = Inbox::new();
        (0..5).for_each(|n| assert!(matches!(inbox.push(n, 5), Ok(false))));
        assert!(matches!(inbox.push(5, 5), Err(Refused::Full(5))));
        assert!((0..3).all(|n| inbox.pop() == Some(n)));
        assert_eq!(inbox.prepare_park(Some(Waker::noop())), ParkCheck::Jobs);
        inbox.close();
        assert!(matches!(inbox.push(6, 5), Err(Refused::Closed(6))));
        assert_eq!(
            inbox.prepare_park(Some(Waker::noop())),
            ParkCheck::Jobs,
            "what was accepted is still there"
        );
        assert!(!inbox.is_empty());
        assert_eq!([inbox.pop(), inbox.pop(), inbox.pop()], [Some(3), Some(4), None]);
        assert_eq!(inbox.prepare_park(Some(Waker::noop())), ParkCheck::Closed);
    }

    #[test]
    fn a_sleeper_is_woken_once() {
        let inbox = Inbox::new();
        assert_eq!(inbox.prepare_park(Some(Waker::noop())), ParkCheck::MayPark);
        assert!(matches!(inbox.push(1, 5), Ok(true)));
        assert!(matches!(inbox.push(2, 5), Ok(false)));
        assert!(!inbox.wake());
    }
}
