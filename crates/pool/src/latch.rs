//! The state word of a page: version, exclusive bit, residency, waiters bit, count of sharers.
//!
//! ```text
//!  63            16   15     14     13     12           0
//!  +---------------+------+------+-------+--------------+
//!  | version       | excl | resi | waits | sharers      |
//!  +---------------+------+------+-------+--------------+
//! ```
//!
//! | state          | meaning                   | left through                            |
//! | -------------- | ------------------------- | --------------------------------------- |
//! | absent, free   | nothing in memory         | `try_exclusive_absent`,                 |
//! |                |                           | `try_exclusive_empty`                   |
//! | absent, excl   | being read in             | `set_resident`, `release_absent`        |
//! | resident, free | readable                  | `try_shared`, `try_exclusive`           |
//! | resident, shar | sharers > 0               | `release_shared`                        |
//! | resident, excl | one writer, or an evictor | `release_exclusive`, `release_unchanged`, |
//! |                |                           | `downgrade`, `release_absent`           |
//!
//! Invariants:
//! - PAGE-LATCH-1. At most one thread, or one request of the I/O queue (LOAD-1), holds the
//!   exclusive bit, and while it is set there are no sharers.
//! - PAGE-LATCH-2. The version is incremented, modulo 2⁴⁸, at each release of the exclusive bit
//!   except by `release_unchanged`; it survives eviction and reload. At 10⁷ releases a second, 48
//!   bits last for ten months, and a reader is misled only if it sleeps over exactly one full
//!   wrap-around.
//! - PAGE-LATCH-3. Residency changes only under the exclusive bit, or in the step that sets it. A
//!   page that is absent and exclusive is being read in.
//! - PAGE-LATCH-4. What a holder wrote is seen by the next holder: every release is `Release` and
//!   every acquisition `Acquire` on the same word.
//! - PAGE-LATCH-5. A reader that saw any byte written under the exclusive bit fails its validation:
//!   the writer's `Release` fence after the acquisition pairs with the reader's `Acquire` fence in
//!   `is_unchanged`, so the reader's second check sees the exclusive bit or a later version.
//! - PAGE-LATCH-6. No thread sleeps for ever. A thread is in the parking queue only while `waits`
//!   is set: it enters the queue only if it finds the bit set and the latch held, and the bit is
//!   cleared only when the queue is empty, all under the queue's own mutex. A thread that gives up
//!   the exclusive bit, or that leaves as the last sharer, and finds `waits` set, wakes the queue's
//!   head: all readers up to the first writer, and that writer. (A sharer that is not the last
//!   wakes no thread: the last one will.) A woken writer does one of three things. It takes the
//!   latch, to use the page or to read it in, and its release wakes the next. Or it finds that
//!   another thread holds the latch, whose release wakes the next. Or it needs the latch no longer,
//!   and calls `wake_next`.
//!
//! A sharer that finds `waits` set backs off before it joins the other sharers, so that writers are
//! not starved. It never sleeps for a waiting writer, since that could deadlock two threads that
//! share two pages.
//!
//! The optimistic part is Leis, Haubenschild, Neumann, "Optimistic Lock Coupling" (IEEE Data
//! Engineering Bulletin 42, 2019); the fences are those of Boehm, "Can Seqlocks Get Along With
//! Programming Language Memory Models?" (MSPC 2012).

use clearway_sync::{
    Backoff, Counter,
    atomic::{AtomicU64, Ordering, fence},
    invariant,
    parking::{self, FilterOp, ParkToken},
};

const SHARED_ONE: u64 = 1;
const SHARED_MASK: u64 = (1 << 13) - 1;
const SHARED_TOP: u64 = 1 << 12;
const WAITS: u64 = 1 << 13;
const RESIDENT: u64 = 1 << 14;
const EXCLUSIVE: u64 = 1 << 15;
const VERSION_ONE: u64 = 1 << 16;
/// Bits of `waits` and sharers; what is above them is what an optimistic reader compares.
const READER_SHIFT: u32 = 14;

/// Clears the exclusive bit and raises the version by the carry: `VERSION_ONE - EXCLUSIVE`.
const RELEASE: u64 = VERSION_ONE - EXCLUSIVE;

const WAITS_TO_READ: ParkToken = ParkToken(0);
const WAITS_TO_WRITE: ParkToken = ParkToken(1);

/// A state word that an optimistic reader has seen: resident, not exclusive.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Seen(u64);

impl Seen {
    #[inline]
    fn matches(self, word: u64) -> bool {
        (word ^ self.0) >> READER_SHIFT == 0
    }
}

/// The result of a blocking acquisition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LatchOutcome {
    /// The latch is held now.
    Latched,
    /// The page is not in memory; no latch is held.
    Absent,
}

/// The state of a page's residency at one moment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Residency {
    /// The page is in memory; a thread may hold its latch.
    Resident,
    /// The page is being read in.
    Loading,
    /// The page is not in memory.
    Absent,
}

/// The state word.
pub(crate) struct Latch(AtomicU64);

fn is_readable(word: u64) -> bool {
    word & (EXCLUSIVE | RESIDENT) == RESIDENT
}

/// Returns true for a page that is absent, and that no thread is reading in.
fn is_absent(word: u64) -> bool {
    word & (EXCLUSIVE | RESIDENT) == 0
}

fn is_not_resident(word: u64) -> bool {
    word & RESIDENT == 0
}

impl Latch {
    /// A free latch of an absent page, as zeroed memory holds it.
    #[cfg(any(test, loom, shuttle))]
    pub(crate) fn new() -> Latch {
        Latch(AtomicU64::new(0))
    }

    /// Returns the word if the page can be read now.
    #[inline]
    pub(crate) fn see(&self) -> Option<Seen> {
        // Acquire pairs with the Release of `release_exclusive`: the reader sees the bytes of the
        // version that it has seen (PAGE-LATCH-4).
        let word = self.0.load(Ordering::Acquire);
        is_readable(word).then_some(Seen(word))
    }

    /// Returns true if nothing was written since `seen`. If so, everything read after `see` and
    /// before this call is of one version (PAGE-LATCH-5).
    #[inline]
    pub(crate) fn is_unchanged(&self, seen: Seen) -> bool {
        // Pairs with the Release fence of `swap`: data loads stay before the load.
        fence(Ordering::Acquire);
        seen.matches(self.0.load(Ordering::Relaxed))
    }

    /// Returns true if the page is in memory (it may be about to leave).
    #[inline]
    pub(crate) fn is_resident(&self) -> bool {
        // Relaxed: a hint only; no read depends on it.
        self.0.load(Ordering::Relaxed) & RESIDENT != 0
    }

    /// Returns the state of the page's residency.
    pub(crate) fn residency(&self) -> Residency {
        // Relaxed: the caller orders the load with a fence, and does not read the page.
        match self.0.load(Ordering::Relaxed) & (EXCLUSIVE | RESIDENT) {
            0 => Residency::Absent,
            EXCLUSIVE => Residency::Loading,
            _ => Residency::Resident,
        }
    }

    /// Returns true if any thread holds the latch, shared or exclusively.
    pub(crate) fn is_held(&self) -> bool {
        // Relaxed: the result may be outdated at once.
        self.0.load(Ordering::Relaxed) & (EXCLUSIVE | SHARED_MASK) != 0
    }

    /// Version, for tests and messages.
    #[cfg(test)]
    pub(crate) fn version(&self) -> u64 {
        self.0.load(Ordering::Relaxed) / VERSION_ONE
    }

    /// Tries to join the sharers of a resident page without waiting.
    pub(crate) fn try_shared(&self) -> bool {
        let mut word = self.0.load(Ordering::Relaxed);
        while is_readable(word) && word & SHARED_MASK != SHARED_MASK {
            // Acquire pairs with the Release of the last writer's release (PAGE-LATCH-4).
            let next = word + SHARED_ONE;
            match self.0.compare_exchange_weak(word, next, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Tries to take the latch of a resident page without waiting.
    pub(crate) fn try_exclusive(&self) -> bool {
        let mut word = self.0.load(Ordering::Relaxed);
        while word & (EXCLUSIVE | RESIDENT | SHARED_MASK) == RESIDENT {
            match self.swap_to_exclusive(word) {
                Ok(()) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Tries to become the thread that reads an absent page in.
    pub(crate) fn try_exclusive_absent(&self) -> bool {
        let mut word = self.0.load(Ordering::Relaxed);
        while is_absent(word) {
            match self.swap_to_exclusive(word) {
                Ok(()) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    /// Tries to take the latch of an absent page, which becomes resident, with zeros for contents.
    pub(crate) fn try_exclusive_empty(&self) -> bool {
        let mut word = self.0.load(Ordering::Relaxed);
        while is_absent(word) {
            match self.swap(word, word | EXCLUSIVE | RESIDENT) {
                Ok(()) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    #[inline]
    fn swap_to_exclusive(&self, word: u64) -> Result<(), u64> {
        self.swap(word, word | EXCLUSIVE)
    }

    /// Replaces `word` by `next`, which has the exclusive bit.
    #[inline]
    fn swap(&self, word: u64, next: u64) -> Result<(), u64> {
        // Acquire pairs with the Release of the former holders' releases (PAGE-LATCH-4).
        self.0.compare_exchange_weak(word, next, Ordering::Acquire, Ordering::Relaxed)?;
        // Pairs with the Acquire fence of `is_unchanged` (PAGE-LATCH-5): data stores stay after the
        // bit.
        fence(Ordering::Release);
        Ok(())
    }

    /// The fast path of [`Latch::shared`]: one attempt, and only if no thread waits.
    #[inline]
    pub(crate) fn shared_at_once(&self) -> bool {
        let word = self.0.load(Ordering::Relaxed);
        // Counts with the top bit set (4,096 sharers and more) are left to the slow path, which
        // joins as long as the count is below its maximum, 8,191.
        if word & (EXCLUSIVE | RESIDENT | WAITS | SHARED_TOP) != RESIDENT {
            return false;
        }
        let next = word + SHARED_ONE;
        // Acquire as in `try_shared`.
        self.0.compare_exchange_weak(word, next, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Joins the sharers, waiting as long as it takes.
    pub(crate) fn shared(&self, waits: &Counter) -> LatchOutcome {
        self.shared_unless(is_absent, waits)
    }

    /// Like [`Latch::shared`], but does not wait for a page that another thread is reading in: such
    /// a page is absent too.
    pub(crate) fn shared_if_resident(&self, waits: &Counter) -> LatchOutcome {
        self.shared_unless(is_not_resident, waits)
    }

    fn shared_unless(&self, is_absent: fn(u64) -> bool, waits: &Counter) -> LatchOutcome {
        let backoff = Backoff::new();
        loop {
            let word = self.0.load(Ordering::Relaxed);
            if is_absent(word) {
                return LatchOutcome::Absent;
            }
            let readable = is_readable(word);
            let hesitate = word & WAITS != 0 && word & SHARED_MASK != 0 && !backoff.is_completed();
            if readable && !hesitate && self.try_shared() {
                return LatchOutcome::Latched;
            }
            // Readable, but not joined: this thread backs off, or the count is full. It waits in
            // the queue for neither.
            if readable || !backoff.is_completed() {
                backoff.snooze();
            } else {
                self.sleep(WAITS_TO_READ, waits);
                backoff.reset();
            }
        }
    }

    /// The fast path of [`Latch::exclusive`]: one attempt.
    #[inline]
    pub(crate) fn exclusive_at_once(&self) -> bool {
        let word = self.0.load(Ordering::Relaxed);
        word & (EXCLUSIVE | RESIDENT | SHARED_MASK) == RESIDENT
            && self.swap_to_exclusive(word).is_ok()
    }

    /// Takes the latch, waiting as long as it takes.
    pub(crate) fn exclusive(&self, waits: &Counter) -> LatchOutcome {
        // A woken writer that returns `Absent` continues with `try_exclusive_absent` or
        // `try_exclusive_empty`, and the thread that wins there wakes the others with its release;
        // or, if it finds no room for the page, it calls `wake_next` (PAGE-LATCH-6).
        self.exclusive_unless(is_absent, waits)
    }

    /// Like [`Latch::exclusive`], but does not wait for a page that another thread is reading in:
    /// such a page is absent too.
    pub(crate) fn exclusive_if_resident(&self, waits: &Counter) -> LatchOutcome {
        let outcome = self.exclusive_unless(is_not_resident, waits);
        if outcome == LatchOutcome::Absent {
            // This thread may have been the writer that was woken (PAGE-LATCH-6).
            self.wake_next();
        }
        outcome
    }

    fn exclusive_unless(&self, is_absent: fn(u64) -> bool, waits: &Counter) -> LatchOutcome {
        let backoff = Backoff::new();
        loop {
            if self.try_exclusive() {
                return LatchOutcome::Latched;
            }
            if is_absent(self.0.load(Ordering::Relaxed)) {
                return LatchOutcome::Absent;
            }
            if backoff.is_completed() {
                self.sleep(WAITS_TO_WRITE, waits);
                backoff.reset();
            } else {
                backoff.snooze();
            }
        }
    }

    /// Waits until the page is readable. Returns `None` if it is absent and free.
    #[cold]
    pub(crate) fn wait_to_see(&self, waits: &Counter) -> Option<Seen> {
        self.wait_to_see_unless(is_absent, waits)
    }

    /// Waits until the page is readable. Returns `None` if it is absent, also if another thread is
    /// reading it in.
    #[cold]
    pub(crate) fn wait_to_see_resident(&self, waits: &Counter) -> Option<Seen> {
        self.wait_to_see_unless(is_not_resident, waits)
    }

    fn wait_to_see_unless(&self, is_absent: fn(u64) -> bool, waits: &Counter) -> Option<Seen> {
        let backoff = Backoff::new();
        loop {
            if let Some(seen) = self.see() {
                return Some(seen);
            }
            if is_absent(self.0.load(Ordering::Relaxed)) {
                return None;
            }
            if backoff.is_completed() {
                self.sleep(WAITS_TO_READ, waits);
                backoff.reset();
            } else {
                backoff.snooze();
            }
        }
    }

    /// Takes the latch if nothing changed since `seen`, waiting for sharers to leave.
    #[inline]
    pub(crate) fn upgrade_to_exclusive(&self, seen: Seen, waits: &Counter) -> bool {
        let mut word = self.0.load(Ordering::Relaxed);
        while seen.matches(word) {
            if word & SHARED_MASK != 0 {
                return self.upgrade_after_sharers(seen, waits);
            }
            match self.swap_to_exclusive(word) {
                Ok(()) => return true,
                Err(now) => word = now,
            }
        }
        false
    }

    #[cold]
    fn upgrade_after_sharers(&self, seen: Seen, waits: &Counter) -> bool {
        match self.exclusive(waits) {
            LatchOutcome::Latched => {
                let word = self.0.load(Ordering::Relaxed) & !EXCLUSIVE;
                if seen.matches(word) {
                    return true;
                }
                self.release_unchanged();
            }
            // This thread may have been the writer that was woken (PAGE-LATCH-6).
            LatchOutcome::Absent => self.wake_next(),
        }
        false
    }

    /// Marks the page resident. The caller holds the exclusive bit and keeps it (PAGE-LATCH-3).
    pub(crate) fn set_resident(&self) {
        // Relaxed: published by the release that follows.
        let before = self.0.fetch_or(RESIDENT, Ordering::Relaxed);
        invariant(before & (EXCLUSIVE | RESIDENT) == EXCLUSIVE, "PAGE-LATCH-3: brought in twice");
    }

    /// Releases the latch and increments the version.
    #[inline]
    pub(crate) fn release_exclusive(&self) {
        // Release pairs with the Acquire of the next acquisition or `see` (PAGE-LATCH-4).
        let before = self.0.fetch_add(RELEASE, Ordering::Release);
        if before & (EXCLUSIVE | SHARED_MASK | WAITS) != EXCLUSIVE {
            self.after_exclusive(before);
        }
    }

    /// Releases the latch of a page that is absent, or has just been evicted, and increments the
    /// version.
    pub(crate) fn release_absent(&self) {
        // Change residency, latch and version in one step, so that no thread sees a free resident
        // page without bytes. Only `waits` can change concurrently, and the loop preserves it.
        let mut word = self.0.load(Ordering::Relaxed);
        loop {
            let next = (word & !RESIDENT).wrapping_add(RELEASE);
            // Release as in `release_exclusive`.
            match self.0.compare_exchange_weak(word, next, Ordering::Release, Ordering::Relaxed) {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        let is_alone = word & (EXCLUSIVE | SHARED_MASK) == EXCLUSIVE;
        invariant(is_alone, "PAGE-LATCH-1: an absent page's latch has one holder");
        if word & WAITS != 0 {
            self.wake();
        }
    }

    /// Releases the latch. The caller wrote nothing, so optimistic readers may continue.
    pub(crate) fn release_unchanged(&self) {
        // Release: the caller may have read what the next holder overwrites.
        let before = self.0.fetch_sub(EXCLUSIVE, Ordering::Release);
        if before & (EXCLUSIVE | SHARED_MASK | WAITS) != EXCLUSIVE {
            self.after_exclusive(before);
        }
    }

    /// Turns the exclusive holder into a sharer.
    #[inline]
    pub(crate) fn downgrade(&self) {
        // Release as in `release_exclusive`.
        let before = self.0.fetch_add(RELEASE + SHARED_ONE, Ordering::Release);
        if before & (EXCLUSIVE | SHARED_MASK | WAITS) != EXCLUSIVE {
            self.after_exclusive(before);
        }
    }

    /// Leaves the sharers.
    #[inline]
    pub(crate) fn release_shared(&self) {
        // Release: the next writer must not overwrite what this sharer still reads (PAGE-LATCH-4).
        let before = self.0.fetch_sub(SHARED_ONE, Ordering::Release);
        invariant(before & SHARED_MASK != 0, "PAGE-LATCH-1: as many leave as have joined");
        if before & (WAITS | SHARED_MASK) == WAITS | SHARED_ONE {
            self.wake();
        }
    }

    /// Finishes a release of the exclusive bit from a word that was not just that bit.
    #[cold]
    fn after_exclusive(&self, before: u64) {
        let is_alone = before & (EXCLUSIVE | SHARED_MASK) == EXCLUSIVE;
        invariant(is_alone, "PAGE-LATCH-1: an exclusive latch is released by its only holder");
        if before & WAITS != 0 {
            self.wake();
        }
    }

    /// Passes on a wake-up that this thread does not need (PAGE-LATCH-6).
    pub(crate) fn wake_next(&self) {
        if self.0.load(Ordering::Relaxed) & WAITS != 0 {
            self.wake();
        }
    }

    fn key(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Sleeps until a release wakes this thread, unless the latch is free already.
    ///
    /// ```text
    ///   this thread                            the releasing thread
    ///   sets `waits` (or sees it set)          frees the latch, sees `waits` in the same step
    ///   takes the queue's mutex                takes the queue's mutex
    ///   still blocked and `waits` set? sleeps  wakes the head; queue empty? clears `waits`
    /// ```
    ///
    /// In either order, the sleeper's second check finds the latch free or `waits` cleared, or the
    /// releasing thread finds the sleeper in the queue (PAGE-LATCH-6).
    fn sleep(&self, wanted: ParkToken, waits: &Counter) {
        let blocking = if wanted == WAITS_TO_WRITE { EXCLUSIVE | SHARED_MASK } else { EXCLUSIVE };
        let word = self.0.load(Ordering::Relaxed);
        if word & blocking == 0 {
            return;
        }
        // Relaxed: the bit orders nothing; the releases and this word's modification order do
        // (PAGE-LATCH-6).
        let (yes, no) = (Ordering::Relaxed, Ordering::Relaxed);
        let is_waiting =
            word & WAITS != 0 || self.0.compare_exchange(word, word | WAITS, yes, no).is_ok();
        if !is_waiting {
            return;
        }
        waits.add(1);
        let still_blocked = || {
            let word = self.0.load(Ordering::Relaxed);
            word & WAITS != 0 && word & blocking != 0
        };
        // SAFETY: the key is this latch's own address (its frame stays mapped while any thread can
        // reach it), and the closures neither panic nor call into the parking lot.
        unsafe { parking::park(self.key(), still_blocked, || (), |_, _| (), wanted, None) };
    }

    /// Wakes the readers at the head of the queue up to the first writer, and that writer
    /// (PAGE-LATCH-6).
    #[cold]
    fn wake(&self) {
        let mut writer_woken = false;
        let choose = |token: ParkToken| {
            if writer_woken {
                return FilterOp::Stop;
            }
            writer_woken = token == WAITS_TO_WRITE;
            FilterOp::Unpark
        };
        // SAFETY: as in `sleep`.
        unsafe {
            parking::unpark_filter(self.key(), choose, |result| {
                if !result.have_more_threads {
                    // Relaxed: cleared under the queue's mutex, which sleepers take before they
                    // sleep.
                    self.0.fetch_and(!WAITS, Ordering::Relaxed);
                }
                parking::DEFAULT_UNPARK_TOKEN
            })
        };
    }
}

#[cfg(all(test, loom))]
mod models;
#[cfg(all(test, not(any(loom, shuttle))))]
mod tests;
