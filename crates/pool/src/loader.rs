//! The loader: a thread that makes room for pages that tasks wait for, and begins the reads ahead.
//!
//! A task does not clean pages, and does not sleep until others unpin theirs. If there is no clean
//! slot for the page that it wants, it hands the page to the loader and waits as for any read
//! (`page_waits`). The loader takes a slot as a thread that misses does (`evict`), and submits the
//! read to the I/O queue; it does not wait for the read.
//!
//! An operation that has pages read ahead hands them over, too. A scan needs about as much
//! processor time to begin these reads as for its own work on the pages: the eviction of others,
//! and the system's work for new memory and for the device. The loader does that while the
//! operation goes on. It serves pages that tasks wait for first.
//!
//! The thread is started by the first of either, and ends with the pool's close or drop. It keeps
//! no strong reference while it sleeps. A pool without background threads
//! (`PoolOptions::background_cleaner`), or one to which the system gives no thread, has no loader:
//! then the polling thread makes the room itself, which may block it, and the operation begins the
//! reads ahead itself, which does not.
//!
//! Invariants:
//! - LOADER-1. Every page in the queue is served once, or the pool is closed, which ends all waits
//!   (PAGE-WAITS-4). A page for which no task waits any more needs no service.
//! - LOADER-2. No thread that holds a latch waits for the loader. So it may wait for whatever a
//!   thread that misses may wait for.
//! - LOADER-3. At most [`WINDOWS_MAX`] groups of pages to be read ahead are in the queue. They may
//!   be dropped: nothing depends on a read ahead.

use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
};

use clearway_base::PageId;
use clearway_sync::{
    Condvar, Mutex, MutexGuard,
    thread::{self, JoinHandle},
};

/// Groups of pages to be read ahead that are in the queue: more would be outdated when their turn
/// comes. Then the operation begins the reads itself.
const WINDOWS_MAX: usize = 8;

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
    /// Pages that tasks wait for.
    pages: VecDeque<PageId>,
    /// Pages to be read ahead (LOADER-3).
    windows: VecDeque<Vec<PageId>>,
    is_stopped: bool,
    thread: Option<JoinHandle<()>>,
}

/// The pool, which does what the loader is to do.
pub(crate) trait Loads: Send + Sync + 'static {
    /// Does a piece of work, in the loader's thread.
    fn load_for(self: &Arc<Self>, work: LoaderWork);
}

/// The next step of the loader.
pub(crate) enum LoaderWork {
    /// Makes room for a page that tasks wait for.
    Serve(PageId),
    /// Begins reads ahead.
    ReadAhead(Vec<PageId>),
}

impl Loader {
    /// A loader whose thread is not started yet; if it is not allowed, never.
    pub(crate) fn new(is_allowed: bool) -> Loader {
        Loader { shared: Arc::default(), is_allowed }
    }

    /// Hands a page over. Returns false if there is no thread.
    pub(crate) fn request(&self, pool: &Arc<impl Loads>, page: PageId) -> bool {
        // After a stop, the close of the pool ends the wait.
        self.enqueue(pool, |queue| {
            queue.pages.push_back(page);
            true
        })
    }

    /// Hands over pages to be read ahead. Returns false if there is no thread, or if the queue is
    /// full.
    pub(crate) fn request_ahead(&self, pool: &Arc<impl Loads>, pages: &[PageId]) -> bool {
        self.enqueue(pool, |queue| {
            let has_room = queue.windows.len() < WINDOWS_MAX;
            if has_room {
                queue.windows.push_back(pages.to_vec());
            }
            has_room
        })
    }

    /// Returns the result of `add`, or true after a stop, or false if there is no thread.
    fn enqueue(&self, pool: &Arc<impl Loads>, add: impl FnOnce(&mut LoaderQueue) -> bool) -> bool {
        if !self.is_allowed {
            return false;
        }
        let mut queue = self.shared.queue.lock();
        if queue.is_stopped {
            return true;
        }
        if !self.start(pool, &mut queue) || !add(&mut queue) {
            return false;
        }
        drop(queue);
        self.shared.changed.notify_one();
        true
    }

    /// Starts the thread unless it runs. Returns false if the system refuses.
    fn start(&self, pool: &Arc<impl Loads>, queue: &mut MutexGuard<'_, LoaderQueue>) -> bool {
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
    fn run(&self, pool: &Weak<impl Loads>) {
        while let Some(work) = self.next() {
            let Some(pool) = pool.upgrade() else { return };
            pool.load_for(work);
        }
    }

    /// Waits for work. Returns `None` when the loader must stop.
    fn next(&self) -> Option<LoaderWork> {
        let mut queue = self.queue.lock();
        loop {
            if queue.is_stopped {
                return None;
            }
            if let Some(page) = queue.pages.pop_front() {
                return Some(LoaderWork::Serve(page));
            }
            if let Some(pages) = queue.windows.pop_front() {
                return Some(LoaderWork::ReadAhead(pages));
            }
            self.changed.wait(&mut queue);
        }
    }
}

#[cfg(all(test, loom))]
mod models;
