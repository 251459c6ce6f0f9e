//! Models of the wait for other operations' pins.

use std::{sync::Arc, task::Waker};

use clearway_sync::{
    atomic::{AtomicUsize, Ordering},
    check, thread,
};

use super::*;

fn run(operations: &PinnedOperations, running: &AtomicUsize) {
    let mut place = Admission::Outside;
    operations.enter(&mut place, false);
    assert_eq!(running.fetch_add(1, Ordering::Relaxed), 0);
    running.fetch_sub(1, Ordering::Relaxed);
    operations.leave(&mut place);
}

/// Three operations of which one at a time may keep pins: no two do, and none waits for ever. Seen
/// to fail if `leave` does not call the waker.
#[test]
fn operation_that_ends_wakes_the_next() {
    check(2, || {
        let operations = Arc::new(PinnedOperations::new(1));
        let running = Arc::new(AtomicUsize::new(0));
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
        assert_eq!(operations.counts(), (0, 0));
    });
}

/// A task that was polled once is dropped, in the queue or after it was admitted, beside an
/// operation that ends and one that waits behind the task. Seen to fail if a place that is not in
/// the queue any more is left without an admission of the next.
#[test]
fn task_that_is_dropped_passes_its_admission_on() {
    check(3, || {
        let operations = Arc::new(PinnedOperations::new(1));
        let running = Arc::new(AtomicUsize::new(0));
        let (mut first, mut task) = (Admission::Outside, Admission::Outside);
        assert!(operations.poll(&mut first, false, Waker::noop()).is_ready());
        assert!(operations.poll(&mut task, true, Waker::noop()).is_pending());
        let behind = {
            let (operations, running) = (operations.clone(), running.clone());
            thread::spawn(move || run(&operations, &running))
        };
        let ending = {
            let operations = operations.clone();
            thread::spawn(move || operations.leave(&mut first))
        };
        operations.leave(&mut task);
        behind.join().unwrap();
        ending.join().unwrap();
        assert_eq!(operations.counts(), (0, 0));
    });
}
