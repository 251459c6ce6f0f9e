//! Tests of the state word alone, on a latch without a pool.

use std::{
    cell::UnsafeCell,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::Duration,
};

use super::*;

fn resident() -> Latch {
    let latch = Latch::new();
    assert!(latch.try_exclusive_absent());
    latch.set_resident();
    latch.release_exclusive();
    latch
}

fn no_waits() -> Counter {
    Counter::default()
}

#[test]
fn absent_page_can_only_be_brought_in() {
    let latch = Latch::new();
    assert!(latch.see().is_none() && !latch.try_shared() && !latch.try_exclusive());
    assert_eq!(latch.shared(&no_waits()), LatchOutcome::Absent);
    assert_eq!(latch.exclusive(&no_waits()), LatchOutcome::Absent);
    assert_eq!(latch.wait_to_see(&no_waits()), None);
    assert!(latch.try_exclusive_absent() && !latch.try_exclusive_absent());
}

#[test]
fn page_that_is_being_read_in_is_not_resident() {
    let latch = Latch::new();
    for _ in 0..2 {
        assert_eq!(latch.shared_if_resident(&no_waits()), LatchOutcome::Absent);
        assert_eq!(latch.exclusive_if_resident(&no_waits()), LatchOutcome::Absent);
        assert_eq!(latch.wait_to_see_resident(&no_waits()), None);
        latch.try_exclusive_absent();
    }
    latch.set_resident();
    latch.release_exclusive();
    assert!(latch.wait_to_see_resident(&no_waits()).is_some());
    assert_eq!(latch.shared_if_resident(&no_waits()), LatchOutcome::Latched);
    latch.release_shared();
    assert_eq!(latch.exclusive_if_resident(&no_waits()), LatchOutcome::Latched);
}

#[test]
fn exclusive_excludes_all_and_shared_excludes_writers() {
    let latch = resident();
    assert!(latch.try_exclusive());
    assert!(!latch.try_exclusive() && !latch.try_shared() && latch.see().is_none());
    latch.downgrade();
    assert!(!latch.try_exclusive() && latch.try_shared() && latch.see().is_some());
    latch.release_shared();
    latch.release_shared();
    assert!(latch.try_exclusive());
}

#[test]
fn sharers_do_not_disturb_an_optimistic_reader() {
    let latch = resident();
    let seen = latch.see().unwrap();
    assert!(latch.try_shared());
    assert!(latch.is_unchanged(seen));
    latch.release_shared();
    assert!(latch.is_unchanged(seen));
}

#[test]
fn each_way_to_write_or_leave_disturbs_an_optimistic_reader() {
    let endings: [fn(&Latch); 3] =
        [Latch::release_exclusive, Latch::release_absent, Latch::downgrade];
    for end in endings {
        let latch = resident();
        let seen = latch.see().unwrap();
        assert!(latch.try_exclusive());
        assert!(!latch.is_unchanged(seen));
        end(&latch);
        assert!(!latch.is_unchanged(seen));
        assert!(!latch.upgrade_to_exclusive(seen, &no_waits()));
    }
}

#[test]
fn version_survives_leaving_and_coming_back() {
    let latch = resident();
    let (seen, version) = (latch.see().unwrap(), latch.version());
    assert!(latch.try_exclusive());
    latch.release_absent();
    assert!(latch.try_exclusive_absent());
    latch.set_resident();
    latch.release_exclusive();
    assert_eq!(latch.version(), version + 2);
    assert!(!latch.is_unchanged(seen));
}

#[test]
fn untouched_release_lets_optimistic_readers_go_on() {
    let latch = resident();
    let seen = latch.see().unwrap();
    assert!(latch.try_exclusive());
    latch.release_unchanged();
    assert!(latch.is_unchanged(seen));
}

#[test]
fn upgrade_waits_for_sharers_and_no_longer() {
    let (latch, waits) = (resident(), no_waits());
    let seen = latch.see().unwrap();
    assert!(latch.try_shared());
    thread::scope(|scope| {
        let upgrade = scope.spawn(|| latch.upgrade_to_exclusive(seen, &waits));
        thread::sleep(Duration::from_millis(5));
        latch.release_shared();
        assert!(upgrade.join().unwrap());
    });
    assert!(!latch.try_shared());
}

/// A value that only latch holders touch; the test fails if two of them access it at the same time.
struct Guarded(Latch, UnsafeCell<[u64; 4]>);

// SAFETY: the test's threads touch the cell only under the latch, which is what it tests.
unsafe impl Sync for Guarded {}

#[test]
fn latches_exclude_and_every_sleeper_wakes() {
    let guarded = Guarded(resident(), UnsafeCell::new([0; 4]));
    let (waits, written, leaving) = (no_waits(), AtomicU64::new(0), AtomicBool::new(false));
    let guarded = &guarded;
    let bring_back = || {
        if guarded.0.try_exclusive_absent() {
            guarded.0.set_resident();
            guarded.0.release_exclusive();
        }
    };
    thread::scope(|scope| {
        for worker in 0..6 {
            let (waits, written, leaving) = (&waits, &written, &leaving);
            scope.spawn(move || {
                for round in 0..3_000u64 {
                    if worker % 2 == 0 {
                        while guarded.0.exclusive(waits) == LatchOutcome::Absent {
                            bring_back();
                        }
                        // SAFETY: exclusively latched.
                        let value = unsafe { &mut *guarded.1.get() };
                        let next = value[0] + 1;
                        for word in value.iter_mut() {
                            *word = next;
                            if round % 64 == 0 {
                                thread::yield_now();
                            }
                        }
                        written.fetch_add(1, Ordering::Relaxed);
                        // Now and then the page leaves, as under eviction.
                        if round % 100 == 0 {
                            leaving.store(true, Ordering::Relaxed);
                            guarded.0.release_absent();
                        } else {
                            guarded.0.release_exclusive();
                        }
                    } else {
                        while guarded.0.shared(waits) == LatchOutcome::Absent {
                            bring_back();
                        }
                        // SAFETY: latched for reading.
                        let value = unsafe { *guarded.1.get() };
                        assert!(value.iter().all(|word| *word == value[0]));
                        guarded.0.release_shared();
                    }
                }
            });
        }
    });
    // SAFETY: all threads have ended.
    let value = unsafe { *guarded.1.get() };
    assert_eq!(value[0], written.load(Ordering::Relaxed));
    assert_eq!(value[0], 9_000);
    assert!(leaving.load(Ordering::Relaxed));
}
