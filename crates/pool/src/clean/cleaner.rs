//! The background cleaner, and the cleaning that an evicting thread does itself.
//!
//! The cleaner keeps a window of slots ahead of the clock's hand free of dirty untouched pages: the
//! pages that the hand would evict next. Touched pages are skipped, since they survive the hand's
//! next visit anyway; so a hot page is written by checkpoints and not in every round of the clock.
//! The cleaner sleeps until the hand has advanced by half a window, and never wakes while the cache
//! has room.
//!
//! The thread holds no strong reference while it sleeps, so dropping the pool ends it.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, Weak},
    time::Duration,
};

use clearway_base::{Error, Lsn, PageId, Result};
use clearway_sync::{
    Condvar, Mutex,
    atomic::{AtomicBool, Ordering},
    thread::{self, JoinHandle},
};

use super::batch::panicked;
use crate::Pool;

/// Pause after a transient error, such as a full disk.
const PAUSE: Duration = Duration::from_millis(100);

/// Wakes and stops the background cleaner.
#[derive(Default)]
pub(crate) struct CleanerHandle {
    shared: Arc<CleanerShared>,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct CleanerShared {
    /// True while the cleaner sleeps; a hint that saves its wakers the mutex.
    asleep: AtomicBool,
    wanted: Mutex<CleanerRequests>,
    changed: Condvar,
}

#[derive(Default)]
struct CleanerRequests {
    clean: bool,
    stop: bool,
}

impl CleanerHandle {
    /// Starts the thread.
    pub(crate) fn spawn_cleaner(pool: &Arc<Pool>) -> Result<()> {
        let shared = pool.cleaning.handle.shared.clone();
        let weak = Arc::downgrade(pool);
        let builder = thread::Builder::new().name("clearway-cleaner".into());
        let spawned = builder.spawn(move || shared.run(&weak));
        let handle =
            spawned.map_err(|error| Error::io("start a thread for", "the page cleaner", error))?;
        *pool.cleaning.handle.thread.lock() = Some(handle);
        Ok(())
    }

    /// Wakes the cleaner if it sleeps. Cheap enough for every eviction.
    pub(crate) fn wake(&self) {
        // Relaxed: if a stale value loses a wake-up, the next eviction makes up for it, and an
        // evicting thread can clean pages itself.
        if self.shared.asleep.load(Ordering::Relaxed) {
            self.shared.wanted.lock().clean = true;
            self.shared.changed.notify_one();
        }
    }

    /// Ends the thread and waits for it. A second call has no effect.
    pub(crate) fn stop(&self) {
        self.shared.wanted.lock().stop = true;
        self.shared.changed.notify_one();
        let handle = self.thread.lock().take();
        // The cleaner itself may hold the last reference to the pool and drop it.
        if let Some(handle) = handle.filter(|handle| handle.thread().id() != thread::current().id())
        {
            let _ = handle.join();
        }
    }
}

impl CleanerShared {
    /// The thread's main loop. It ends when it is stopped or the pool is dropped.
    fn run(&self, pool: &Weak<Pool>) {
        let mut pause = None;
        while self.sleep(pause.take()) {
            let Some(pool) = pool.upgrade() else { return };
            // A permanent failure is in `health`, where every evicting thread finds it. A transient
            // one (a full disk, a log that cannot flush at the moment) is neither retried at once
            // nor reported: threads that need room will retry and report it.
            let cleaned =
                catch_unwind(AssertUnwindSafe(|| pool.clean_ahead(|| self.wanted.lock().stop)));
            match cleaned {
                Ok(Err(error)) if Pool::is_passing(&error) => pause = Some(PAUSE),
                Ok(_) => {}
                // Every caller finds the error in `health`; continuing would only repeat it.
                Err(_) => {
                    let _ = pool.fail(panicked("cleaning pages"));
                    return;
                }
            }
        }
    }

    /// Sleeps until cleaning is wanted, and for at least `pause`, if given. Returns false if the
    /// cleaner must stop.
    fn sleep(&self, pause: Option<Duration>) -> bool {
        let mut wanted = self.wanted.lock();
        if let Some(pause) = pause
            && !wanted.stop
        {
            self.changed.wait_for(&mut wanted, pause);
        }
        // Under the mutex, so that a waker that sees `asleep` finds this thread waiting, or sets
        // its request before the wait.
        self.asleep.store(true, Ordering::Relaxed);
        while !wanted.clean && !wanted.stop {
            self.changed.wait(&mut wanted);
        }
        self.asleep.store(false, Ordering::Relaxed);
        wanted.clean = false;
        !wanted.stop
    }
}

impl Pool {
    /// Returns the number of slots that the cleaner keeps ahead of the hand: an eighth of the
    /// cache, at least two batches, at most half the cache.
    fn window(&self) -> usize {
        let capacity = self.slots.capacity();
        (capacity / 8).max(2 * self.cleaning.batch_pages).min(capacity / 2)
    }

    /// Wakes the cleaner when the hand is within half a window of the cleaner's position.
    pub(crate) fn wake_cleaner_if_near(&self) {
        // Relaxed: positions are hints.
        let ahead = self.cleaning.position.load(Ordering::Relaxed);
        if self.slots.hand() + self.window() / 2 >= ahead {
            self.cleaning.handle.wake();
        }
    }

    /// Cleans batch after batch until the window ahead of the hand is clean or `stop` returns true.
    fn clean_ahead(&self, stop: impl Fn() -> bool) -> Result<()> {
        let mut pages = Vec::with_capacity(self.cleaning.batch_pages);
        while !stop() {
            // Continue where the last search ended, unless the hand has overtaken that position
            // since.
            let hand = self.slots.hand();
            let mut position = self.cleaning.position.load(Ordering::Relaxed).max(hand);
            let end = hand + self.window();
            pages.clear();
            // Each slot is examined once in a round of the clock: about 100 ns for a frame that is
            // not in the processor's cache, against 20 µs and more for writing a page.
            while position < end && pages.len() < self.cleaning.batch_pages {
                pages.extend(self.slots.page(position % self.slots.len()).filter(|page| {
                    let frame = self.space.frame(*page);
                    frame.is_dirty() && !frame.is_touched() && !frame.is_pinned()
                }));
                position += 1;
            }
            self.cleaning.position.store(position, Ordering::Relaxed);
            if !pages.is_empty() {
                self.write_batch(&mut self.cleaning.batch(), &mut pages, Lsn::MAX)?;
            }
            if position >= end {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Cleans pages that the clock met, on the thread that needs room. If all batches are in use,
    /// waits for one to complete, which may have cleaned pages as well.
    pub(crate) fn clean_in_need(&self, pages: &mut Vec<PageId>) -> Result<usize> {
        let mut batch = self.cleaning.batch();
        let written = self.write_batch(&mut batch, pages, Lsn::MAX)?;
        if written > 0 {
            self.counters.foreground_batches.add(1);
        }
        Ok(written)
    }
}
