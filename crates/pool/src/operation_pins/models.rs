//! A loom model of the wait for other operations' pins.

use std::sync::Arc;

use clearway_sync::{
    atomic::{AtomicUsize, Ordering},
    check, thread,
};

use super::PinnedOperations;

/// Three operations of which one at a time may keep pins: no two do, and none waits for ever. Seen
/// to fail without `notify_one` in `leave`.
#[test]
fn operation_that_ends_wakes_the_next() {
    check(2, || {
        let operations = Arc::new(PinnedOperations::new(1));
        let running = Arc::new(AtomicUsize::new(0));
        let run = |operations: &PinnedOperations, running: &AtomicUsize| {
            operations.enter();
            assert_eq!(running.fetch_add(1, Ordering::Relaxed), 0);
            running.fetch_sub(1, Ordering::Relaxed);
            operations.leave();
        };
        let others: Vec<_> = (0..2)
            .map(|_| {
                let (operations, running) = (operations.clone(), running.clone());
                thread::spawn(move || run(&operations, &running))
            })
            .collect();
        run(&operations, &running);
        for other in others {
            other.join().unwrap();
        }
        assert_eq!(*operations.count.lock(), 0);
    });
}
