//! Operations with counting wakers, one of which may be admitted at a time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    task::Wake,
};

use super::*;

#[derive(Default)]
struct Woken(AtomicU32);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// An operation with its place and its waker.
#[derive(Default)]
struct Operation {
    place: Admission,
    holds_locks: bool,
    woken: Arc<Woken>,
}

impl Operation {
    fn poll(&mut self, operations: &PinnedOperations) -> bool {
        let waker = Waker::from(self.woken.clone());
        operations.poll(&mut self.place, self.holds_locks, &waker).is_ready()
    }

    fn woken(&self) -> u32 {
        self.woken.0.load(Ordering::SeqCst)
    }
}

/// One operation is admitted, the others are in the queue in their order.
fn queue_of(count: usize) -> (PinnedOperations, Vec<Operation>) {
    let operations = PinnedOperations::new(1);
    let mut queue: Vec<Operation> = Vec::new();
    queue.resize_with(count, Operation::default);
    for (index, operation) in queue.iter_mut().enumerate() {
        assert_eq!(operation.poll(&operations), index == 0);
    }
    (operations, queue)
}

#[test]
fn operations_are_admitted_in_the_order_in_which_they_came() {
    let (operations, mut queue) = queue_of(4);
    for first in 0..3 {
        operations.leave(&mut queue[first].place);
        let woken: Vec<u32> = queue.iter().map(Operation::woken).collect();
        assert_eq!(woken.iter().sum::<u32>(), first as u32 + 1);
        assert_eq!(woken[first + 1], 1);
        assert!(queue[first + 1..].iter_mut().all(|other| {
            let is_next = other.woken() == 1;
            other.poll(&operations) == is_next
        }));
        // One that comes later does not overtake.
        assert!(first == 2 || !Operation::default().poll_and_leave(&operations));
    }
    operations.leave(&mut queue[3].place);
    assert_eq!(operations.counts(), (0, 0));
}

impl Operation {
    fn poll_and_leave(mut self, operations: &PinnedOperations) -> bool {
        let is_admitted = self.poll(operations);
        operations.leave(&mut self.place);
        is_admitted
    }
}

#[test]
fn operation_that_leaves_the_queue_is_not_admitted() {
    let (operations, mut queue) = queue_of(3);
    operations.leave(&mut queue[1].place);
    operations.leave(&mut queue[0].place);
    assert_eq!((queue[1].woken(), queue[2].woken()), (0, 1));
    assert!(queue[2].poll(&operations));
    assert_eq!(operations.counts(), (1, 0));
}

#[test]
fn operation_that_leaves_without_its_admission_passes_it_on() {
    let (operations, mut queue) = queue_of(3);
    operations.leave(&mut queue[0].place);
    assert_eq!((queue[1].woken(), queue[2].woken()), (1, 0));
    operations.leave(&mut queue[1].place);
    assert_eq!(queue[2].woken(), 1);
    assert!(queue[2].poll(&operations));
    operations.leave(&mut queue[2].place);
    assert_eq!(operations.counts(), (0, 0));
}

#[test]
fn last_waker_is_the_one_that_is_called() {
    let (operations, mut queue) = queue_of(2);
    let former = std::mem::take(&mut queue[1].woken);
    assert!(!queue[1].poll(&operations));
    operations.leave(&mut queue[0].place);
    assert_eq!((former.0.load(Ordering::SeqCst), queue[1].woken()), (0, 1));
}

/// Counts the calls of a waker that stands in a queue, and passes them on.
struct Counted {
    waker: Waker,
    calls: AtomicU32,
}

impl Wake for Counted {
    fn wake(self: Arc<Self>) {
        self.calls.fetch_add(1, Ordering::SeqCst);
        self.waker.wake_by_ref();
    }
}

impl Counted {
    /// Counts the calls of the waker of the last operation in the queue.
    fn last_of(operations: &PinnedOperations) -> Arc<Counted> {
        let mut state = operations.state.lock();
        let place = &mut state.others.back_mut().unwrap().waker;
        let (waker, calls) = (place.take().unwrap(), AtomicU32::new(0));
        let counted = Arc::new(Counted { waker, calls });
        *place = Some(Waker::from(counted.clone()));
        counted
    }
}

/// Threads and tasks wait in one queue.
#[test]
fn thread_and_task_are_admitted_in_turn() {
    let (operations, mut queue) = queue_of(2);
    let operations = Arc::new(operations);
    let entered = operations.clone();
    // In no scope: a failure ends the test although the thread waits for ever.
    let thread = std::thread::spawn(move || {
        let mut place = Admission::Outside;
        entered.enter(&mut place, false);
        entered.leave(&mut place);
    });
    while operations.counts().1 < 2 {
        std::thread::yield_now();
    }
    let unparked = Counted::last_of(&operations);
    let mut last = Operation::default();
    assert!(!last.poll(&operations));
    operations.leave(&mut queue[0].place);
    assert!(queue[1].poll(&operations) && !last.poll(&operations));
    assert!(!thread.is_finished());
    operations.leave(&mut queue[1].place);
    assert_eq!(unparked.calls.load(Ordering::SeqCst), 1, "the thread would not run again");
    thread.join().unwrap();
    assert!(last.woken() == 1 && last.poll(&operations));
    operations.leave(&mut last.place);
    assert_eq!(operations.counts(), (0, 0));
}

#[test]
fn close_wakes_all_and_admits_none() {
    let (operations, mut queue) = queue_of(3);
    operations.close();
    assert!(queue[1..].iter().all(|operation| operation.woken() == 1));
    assert!(operations.is_closed() && !queue[1].poll(&operations));
    queue.iter_mut().for_each(|operation| operations.leave(&mut operation.place));
    assert_eq!(operations.counts(), (0, 0));
}

/// Polls operations once, each of which waits behind the one that is admitted.
fn queue_up(operations: &PinnedOperations, holds_locks: bool, count: usize) -> Vec<Operation> {
    let new = || Operation { holds_locks, ..Operation::default() };
    let mut queued: Vec<Operation> = std::iter::repeat_with(new).take(count).collect();
    assert!(queued.iter_mut().all(|operation| !operation.poll(operations)));
    queued
}

#[test]
fn operations_of_lock_holders_go_first() {
    let (operations, mut first) = queue_of(1);
    let mut others = queue_up(&operations, false, 2);
    let mut holders = queue_up(&operations, true, 2);
    operations.leave(&mut first[0].place);
    for holder in &mut holders {
        assert_eq!(holder.woken(), 1);
        assert!(holder.poll(&operations));
        assert!(others.iter_mut().all(|other| !other.poll(&operations)));
        operations.leave(&mut holder.place);
    }
    for other in &mut others {
        assert!(other.poll(&operations));
        operations.leave(&mut other.place);
    }
    assert_eq!(operations.counts(), (0, 0));
}

#[test]
fn lock_holders_keep_no_one_waiting_for_ever() {
    let (operations, mut first) = queue_of(1);
    let mut other = queue_up(&operations, false, 1).remove(0);
    let mut holders = VecDeque::from(queue_up(&operations, true, 2));
    operations.leave(&mut first[0].place);
    let mut before = 0;
    while !other.poll(&operations) {
        assert!(before < 2 * IN_A_ROW, "ADMISSION-4");
        let mut holder = holders.pop_front().unwrap();
        assert!(holder.poll(&operations));
        // It has the next one waiting before it leaves.
        holders.extend(queue_up(&operations, true, 1));
        operations.leave(&mut holder.place);
        before += 1;
    }
    assert_eq!(before, IN_A_ROW);
    operations.leave(&mut other.place);
    holders.iter_mut().for_each(|holder| operations.leave(&mut holder.place));
    assert_eq!(operations.counts(), (0, 0));
}
