//! The loader: a thread that makes room for pages that tasks wait for.
//!
//! A task does not clean pages, and does not sleep until others unpin theirs. If there is no clean
//! slot for the page that it wants, it hands the page to the loader and waits as for any read
//! (`page_waits`). The loader takes a slot as a thread that misses does (`evict`), and submits the
//! read to the read queue; it does not wait for the read.
//!
//! The thread is started by the first such page, and ends with the pool's close or drop. It keeps
//! no strong reference while it sleeps. A pool without background threads
//! (`PoolOptions::background_cleaner`), or one to which the system gives no thread, has no loader:
//! then the polling thread makes the room itself, which may block it.
//!
//! Invariants:
//! - LOADER-1. Every page in the queue is served once, or the pool is closed, which ends all waits
//!   (PAGE-WAITS-4). A page for which no task waits any more needs no service.
//! - LOADER-2. No thread waits for the loader but the one that stops it. So it may wait for
//!   whatever a thread that misses may wait for.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Weak},
};

use clearway_base::PageId;
use clearway_sync::{
    Condvar, Mutex, MutexGuard,
    thread::{self, JoinHandle},
    wake,
};

use crate::{Pool, clean::panicked};

/// The queue of the loader, and its thread.
pub(crate) struct Loader {
    shared: Arc<LoaderShared>,
    /// False: there is to be no thread.
    is_allowed: bool,
}

#[derive(Default)]
struct LoaderShared {
    queue: Mutex<LoaderQueue>,
    changed: Condvar,
}

#[derive(Default)]
struct LoaderQueue {
    pages: VecDeque<PageId>,
    is_stopped: bool,
    thread: Option<JoinHandle<()>>,
}

impl Loader {
    /// A loader whose thread is not started yet; if it is not allowed, never.
    pub(crate) fn new(is_allowed: bool) -> Loader {
        Loader { shared: Arc::default(), is_allowed }
    }

    /// Hands a page over. Returns false if there is no thread.
    pub(crate) fn request(&self, pool: &Arc<Pool>, page: PageId) -> bool {
        let mut queue = self.shared.queue.lock();
        if queue.is_stopped {
            // The close of the pool ends the wait.
            return true;
        }
        if !self.is_allowed || !self.start(pool, &mut queue) {
            return false;
        }
        queue.pages.push_back(page);
        drop(queue);
        self.shared.changed.notify_one();
        true
    }

    /// Starts the thread unless it runs. Returns false if the system refuses.
    fn start(&self, pool: &Arc<Pool>, queue: &mut MutexGuard<'_, LoaderQueue>) -> bool {
        if queue.thread.is_none() {
            let (shared, pool) = (self.shared.clone(), Arc::downgrade(pool));
            let builder = thread::Builder::new().name("clearway-loader".into());
            queue.thread = builder.spawn(move || shared.run(&pool)).ok();
        }
        queue.thread.is_some()
    }

    /// Ends the thread and waits for it. A second call has no effect.
    pub(crate) fn stop(&self) {
        let mut queue = self.shared.queue.lock();
        queue.is_stopped = true;
        let thread = queue.thread.take();
        drop(queue);
        self.shared.changed.notify_one();
        // The loader itself may hold the last reference to the pool and drop it.
        if let Some(thread) = thread.filter(|thread| thread.thread().id() != thread::current().id())
        {
            let _ = thread.join();
        }
    }
}

impl LoaderShared {
    /// The thread's main loop. It ends when it is stopped or the pool is dropped.
    fn run(&self, pool: &Weak<Pool>) {
        while let Some(page) = self.next() {
            let Some(pool) = pool.upgrade() else { return };
            if !pool.page_waits.is_awaited(page) {
                continue;
            }
            let served = catch_unwind(AssertUnwindSafe(|| pool.serve_waits_in_need(page)));
            if served.is_err() {
                let error = panicked("making room for a page");
                let _ = pool.fail(error.clone());
                pool.fail_waits(page, &error).into_iter().for_each(wake);
            }
        }
    }

    /// Waits for a page. Returns `None` when the loader must stop.
    fn next(&self) -> Option<PageId> {
        let mut queue = self.queue.lock();
        while queue.pages.is_empty() && !queue.is_stopped {
            self.changed.wait(&mut queue);
        }
        if queue.is_stopped { None } else { queue.pages.pop_front() }
    }
}
