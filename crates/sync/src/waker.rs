//! Wakers that unpark a thread, so that one wait path serves blocking and asynchronous callers.

use std::{
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::pin,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

#[cfg(loom)]
use loom::thread_local;
#[cfg(shuttle)]
use shuttle::thread_local;

use crate::thread::{self, Thread};

/// A [`Wake`] that unparks one thread.
pub struct ThreadWaker(Thread);

impl ThreadWaker {
    /// A waker that unparks the calling thread. One is kept for each thread and cloned.
    pub fn current() -> Waker {
        thread_local! {
            static WAKER: Waker = Waker::from(Arc::new(ThreadWaker(thread::current())));
        }
        WAKER.with(Waker::clone)
    }
}

impl Wake for ThreadWaker {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        self.0.unpark();
    }
}

/// Calls a waker. A waker runs user code: if it panics, neither the calling thread nor other
/// waiters are affected.
pub fn wake(waker: Waker) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
        // The panic has been reported by the hook. The payload's drop could be another one.
        std::mem::forget(payload);
    }
}

/// Runs a future to its end on this thread, parking it while the future is pending.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let waker = ThreadWaker::current();
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
