//! Models of pages that are handed to the loader while its thread starts, sleeps or ends.
//!
//! Deliberate errors, and the model that was seen to fail for each:
//!
//! - `pages_handed_over_at_the_same_time_are_served_once`: a page is queued without a
//!   notification; the thread sleeps before it looks at the queue; a served page stays in it.
//! - `nothing_is_served_after_the_stop`: `stop` does not notify; it does not wait for the thread; a
//!   page that comes after `stop` starts the thread.
//! - `thread_that_drops_the_pool_ends`: `stop` waits for the thread that it runs in, or does not
//!   notify.

use std::{
    future::poll_fn,
    task::{Poll, Waker},
};

use clearway_sync::{
    ThreadWaker,
    atomic::{AtomicBool, AtomicUsize, Ordering},
    block_on, check, wake,
};

use super::*;

/// A pool that counts what its loader does.
struct ServedPages {
    loader: Loader,
    served: [AtomicUsize; 2],
    wakers: [Mutex<Option<Waker>>; 2],
    is_stopped: Arc<AtomicBool>,
}

impl Loads for ServedPages {
    fn load_for(self: &Arc<ServedPages>, work: LoaderWork) {
        assert!(!self.is_stopped.load(Ordering::Acquire), "the loader works after the stop");
        let LoaderWork::Serve(page) = work else { panic!("no page is to be read ahead") };
        let number = page.0 as usize;
        self.served[number].fetch_add(1, Ordering::AcqRel);
        let waker = self.wakers[number].lock().take();
        waker.into_iter().for_each(wake);
    }
}

impl Drop for ServedPages {
    fn drop(&mut self) {
        self.loader.stop();
    }
}

impl ServedPages {
    fn new() -> Arc<ServedPages> {
        Arc::new(ServedPages {
            loader: Loader::new(true),
            served: Default::default(),
            wakers: Default::default(),
            is_stopped: Arc::default(),
        })
    }

    /// Hands a page over.
    fn request(self: &Arc<ServedPages>, number: usize) {
        assert!(self.loader.request(self, PageId(number as u32)));
    }

    /// Hands a page over, and waits until it was served. One that is not is a deadlock, which loom
    /// reports.
    fn request_and_wait(self: &Arc<ServedPages>, number: usize) {
        *self.wakers[number].lock() = Some(ThreadWaker::current());
        self.request(number);
        block_on(poll_fn(|_| match self.served[number].load(Ordering::Acquire) {
            0 => Poll::Pending,
            _ => Poll::Ready(()),
        }));
    }

    fn served(&self) -> [usize; 2] {
        [0, 1].map(|number| self.served[number].load(Ordering::Acquire))
    }

    fn stop(&self) {
        self.loader.stop();
        self.is_stopped.store(true, Ordering::Release);
    }
}

/// LOADER-1. Either task may be the one that starts the thread.
#[test]
fn pages_handed_over_at_the_same_time_are_served_once() {
    check(3, || {
        let pool = ServedPages::new();
        let other = {
            let pool = pool.clone();
            thread::spawn(move || pool.request_and_wait(1))
        };
        pool.request_and_wait(0);
        other.join().unwrap();
        pool.stop();
        assert_eq!(pool.served(), [1, 1]);
    });
}

/// A page that comes beside the stop is served before it, or never; a close of the pool then ends
/// the waits for it.
#[test]
fn nothing_is_served_after_the_stop() {
    check(3, || {
        let pool = ServedPages::new();
        let other = {
            let pool = pool.clone();
            thread::spawn(move || (0..2).for_each(|number| pool.request(number)))
        };
        pool.stop();
        other.join().unwrap();
        assert!(pool.served().iter().all(|count| *count <= 1));
        assert!(pool.loader.shared.queue.lock().thread.is_none());
    });
}

/// The loader, too, may hold the last reference to the pool. A thread that does not end is a
/// deadlock, which loom reports.
#[test]
fn thread_that_drops_the_pool_ends() {
    check(3, || {
        let pool = ServedPages::new();
        (0..2).for_each(|number| pool.request(number));
        // An access that the order of the drops can follow: loom does not see references.
        assert!(pool.served().iter().all(|count| *count <= 1));
        drop(pool);
    });
}
