//! Parking a thread, for loom. Its own `unpark` also wakes a thread that is blocked in a join or at
//! a mutex, and fails there; a waker that is called late does exactly that.

use std::sync::Arc;

use super::{Condvar, Mutex, thread::ThreadId};

/// A thread that can be unparked.
#[derive(Clone, Debug)]
pub struct Thread {
    id: ThreadId,
    parker: Arc<Parker>,
}

/// The state of a parker: a flag that is set if a park would return at once, and the condition
/// variable.
#[derive(Default, Debug)]
struct Parker {
    token: Mutex<bool>,
    given: Condvar,
}

loom::thread_local! {
    static CURRENT: Thread = Thread {
        id: loom::thread::current().id(),
        parker: Arc::default(),
    };
}

/// The calling thread.
pub fn current() -> Thread {
    CURRENT.with(Thread::clone)
}

/// Sleeps until the calling thread has been unparked, before or after.
pub fn park() {
    let parker = current().parker;
    let mut token = parker.token.lock();
    while !*token {
        parker.given.wait(&mut token);
    }
    *token = false;
}

impl Thread {
    /// Its id.
    pub fn id(&self) -> ThreadId {
        self.id
    }

    /// Lets its present or next park return.
    pub fn unpark(&self) {
        *self.parker.token.lock() = true;
        self.parker.given.notify_one();
    }
}
