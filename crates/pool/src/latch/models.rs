//! Models of the state word.
//!
//! Deliberate errors, and the model that was seen to fail for each:
//!
//! - `validated_read_is_of_one_version`: no fence in `is_unchanged`; no fence in
//!   `swap_to_exclusive` (PAGE-LATCH-5); `Relaxed` in `see` (PAGE-LATCH-4).
//! - `version_survives_eviction_and_reload`: a version that `release_absent` does not raise;
//!   one that starts from 0 at reload (PAGE-LATCH-2).
//! - `writers_and_readers_exclude_each_other`: `Relaxed` in `release_shared`; `Relaxed` in
//!   `release_exclusive` (PAGE-LATCH-4).
//! - `every_sleeper_wakes`: no second check in `sleep` (PAGE-LATCH-6).
//! - `writer_that_leaves_an_absent_page_wakes_the_next`: no `wake_next` in `exclusive_if_resident`
//!   (PAGE-LATCH-6).
//! - `upgrade_is_refused_after_a_change`: an upgrade that does not compare versions after its
//!   wait.

use std::sync::Arc;

use clearway_sync::{Counter, Trace, atomic::AtomicU64, check, thread};

use super::*;

/// A page of two words that optimistic readers may see mixed, and a witness for latch holders.
struct TwoWordPage {
    latch: Latch,
    words: [AtomicU64; 2],
    trace: Trace,
    waits: Counter,
}

impl TwoWordPage {
    fn resident() -> Arc<TwoWordPage> {
        let page = TwoWordPage {
            latch: Latch::new(),
            words: [AtomicU64::new(0), AtomicU64::new(0)],
            trace: Trace::new(),
            waits: Counter::default(),
        };
        assert!(page.latch.try_exclusive_absent());
        page.latch.set_resident();
        page.latch.release_exclusive();
        Arc::new(page)
    }

    /// The exclusive holder writes.
    fn write(&self, value: u64) {
        self.trace.write();
        self.words.iter().for_each(|word| word.store(value, Ordering::Relaxed));
    }

    fn words(&self) -> [u64; 2] {
        [0, 1].map(|at: usize| self.words[at].load(Ordering::Relaxed))
    }

    /// Returns what an optimistic reader reads, if it validates.
    fn read(&self) -> Option<u64> {
        let seen = self.latch.see()?;
        let [left, right] = self.words();
        self.latch.is_unchanged(seen).then(|| {
            assert_eq!(left, right, "a validated read is of one version (PAGE-LATCH-5)");
            left
        })
    }
}

#[test]
fn validated_read_is_of_one_version() {
    check(3, || {
        let page = TwoWordPage::resident();
        let writer = {
            let page = page.clone();
            thread::spawn(move || {
                assert!(page.latch.exclusive_at_once());
                page.write(1);
                page.latch.release_exclusive();
            })
        };
        // A later read does not return older bytes: the version orders them (PAGE-LATCH-4).
        let first = page.read().unwrap_or(0);
        assert!(page.read().is_none_or(|second| second >= first));
        writer.join().unwrap();
        assert_eq!(page.read(), Some(1));
    });
}

#[test]
fn version_survives_eviction_and_reload() {
    check(3, || {
        let page = TwoWordPage::resident();
        let clock = {
            let page = page.clone();
            thread::spawn(move || {
                assert!(page.latch.try_exclusive());
                page.write(9);
                page.latch.release_absent();
                assert!(page.latch.try_exclusive_absent());
                page.write(7);
                page.latch.set_resident();
                page.latch.release_exclusive();
            })
        };
        let seen = page.latch.see();
        let words = page.words();
        if let Some(seen) = seen
            && page.latch.is_unchanged(seen)
        {
            assert!(words == [0, 0] || words == [7, 7], "{words:?}");
            let again = page.words();
            assert!(!page.latch.is_unchanged(seen) || again == words, "{words:?}, {again:?}");
        }
        clock.join().unwrap();
        assert_eq!(page.latch.version(), 3);
    });
}

#[test]
fn writers_and_readers_exclude_each_other() {
    check(1, || {
        let page = TwoWordPage::resident();
        let threads = [true, false].map(|writes| {
            let page = page.clone();
            thread::spawn(move || {
                if writes {
                    assert_eq!(page.latch.exclusive(&page.waits), LatchOutcome::Latched);
                    page.write(1);
                    page.latch.release_exclusive();
                } else {
                    assert_eq!(page.latch.shared(&page.waits), LatchOutcome::Latched);
                    page.trace.read();
                    page.latch.release_shared();
                }
            })
        });
        if page.latch.try_exclusive() {
            page.write(2);
            page.latch.downgrade();
            page.trace.read();
            page.latch.release_shared();
        }
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

/// A thread that sleeps for ever is a deadlock, which loom reports.
#[test]
fn every_sleeper_wakes() {
    check(2, || {
        let page = TwoWordPage::resident();
        assert!(page.latch.try_exclusive());
        let threads = [true, false].map(|writes| {
            let page = page.clone();
            thread::spawn(move || {
                if writes {
                    assert_eq!(page.latch.exclusive(&page.waits), LatchOutcome::Latched);
                    page.latch.release_exclusive();
                } else {
                    assert_eq!(page.latch.shared(&page.waits), LatchOutcome::Latched);
                    page.latch.release_shared();
                }
            })
        });
        page.latch.release_exclusive();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert!(page.latch.try_exclusive());
    });
}

/// The page is evicted while two writers sleep: the first one to wake, which does not read pages
/// in, leaves, and the other one reads the page in.
#[test]
fn writer_that_leaves_an_absent_page_wakes_the_next() {
    check(2, || {
        let page = TwoWordPage::resident();
        assert!(page.latch.try_exclusive());
        let leaver = {
            let page = page.clone();
            thread::spawn(move || {
                if page.latch.exclusive_if_resident(&page.waits) == LatchOutcome::Latched {
                    page.latch.release_exclusive();
                }
            })
        };
        let reader_in = {
            let page = page.clone();
            thread::spawn(move || {
                while page.latch.exclusive(&page.waits) == LatchOutcome::Absent {
                    if page.latch.try_exclusive_absent() {
                        page.latch.set_resident();
                        break;
                    }
                }
                page.latch.release_exclusive();
            })
        };
        page.latch.release_absent();
        leaver.join().unwrap();
        reader_in.join().unwrap();
        assert!(page.latch.try_exclusive());
    });
}

#[test]
fn upgrade_is_refused_after_a_change() {
    check(2, || {
        let page = TwoWordPage::resident();
        assert!(page.latch.try_shared());
        let writer = {
            let page = page.clone();
            thread::spawn(move || {
                if page.latch.exclusive(&page.waits) == LatchOutcome::Latched {
                    page.write(page.words()[0] + 1);
                    page.latch.release_exclusive();
                }
            })
        };
        let upgrader = {
            let page = page.clone();
            thread::spawn(move || {
                let Some(seen) = page.latch.see() else { return 0 };
                let before = page.words()[0];
                if !page.latch.upgrade_to_exclusive(seen, &page.waits) {
                    return 0;
                }
                assert_eq!(page.words()[0], before, "nothing changed since `see`");
                page.write(before + 1);
                page.latch.release_exclusive();
                1
            })
        };
        page.trace.read();
        page.latch.release_shared();
        writer.join().unwrap();
        let upgrades = upgrader.join().unwrap();
        assert_eq!(page.read(), Some(1 + upgrades));
    });
}
