//! Waiting: wakers, limits, cancellation, counts.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Wake, Waker},
    thread,
    time::{Duration, Instant},
};

use clearway_base::Error;
use clearway_lock::{LockOptions, LockTable, Outcome, RangeMode, WaitLimit};

use crate::{Step, ask, id, owners, table};

#[derive(Default)]
struct Bell(AtomicUsize);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

#[test]
fn waker_is_called_once_at_the_grant_and_not_before() {
    let table = table();
    let [mut a, mut b, mut c] = owners(&table);
    let bell = Arc::new(Bell::default());
    let waker = Waker::from(bell.clone());
    let mut cx = Context::from_waker(&waker);
    assert_eq!(table.try_acquire(&mut a, id(1), RangeMode::SN), Outcome::Granted);
    assert_eq!(table.try_acquire(&mut c, id(1), RangeMode::SN), Outcome::Granted);
    assert!(table.poll_acquire(&mut b, id(1), RangeMode::XN, &mut cx).is_pending());
    table.release_all(&mut a, None);
    assert_eq!(bell.0.load(Ordering::SeqCst), 0);
    table.release_all(&mut c, None);
    assert_eq!(bell.0.load(Ordering::SeqCst), 1);
    let granted = table.poll_acquire(&mut b, id(1), RangeMode::XN, &mut cx);
    assert!(matches!(granted, Poll::Ready(Ok(()))));
    let stats = table.stats();
    assert_eq!((stats.waits, stats.parks, stats.timeouts), (1, 0, 0));
}

#[test]
fn uncontended_locks_touch_no_counter() {
    let table = table();
    let [mut a] = owners(&table);
    assert_eq!(table.try_acquire(&mut a, id(1), RangeMode::XN), Outcome::Granted);
    assert_eq!(ask(&table, &mut a, id(2), RangeMode::XN), Step::Granted);
    table.release_all(&mut a, None);
    assert_eq!(table.stats(), Default::default());
}

#[test]
fn time_limit_is_kept_and_leaves_nothing_behind() {
    let table = table();
    let [mut a, mut b, mut c] = owners(&table);
    assert_eq!(table.try_acquire(&mut a, id(1), RangeMode::SN), Outcome::Granted);
    let limit = Duration::from_millis(10);
    let begin = Instant::now();
    let end = table.acquire(&mut b, id(1), RangeMode::XN, WaitLimit::For(limit));
    assert!(matches!(end, Err(Error::LockTimeout { waited_us: 10_000, .. })));
    assert!(begin.elapsed() >= limit);
    assert_eq!(table.try_acquire(&mut c, id(1), RangeMode::SN), Outcome::Granted);
    table.release_all(&mut a, None);
    table.release_all(&mut c, None);
    assert!(table.is_quiescent());
    assert_eq!((table.stats().timeouts, table.stats().waits), (1, 1));
}

#[test]
fn timed_out_waiter_lets_those_behind_it_pass() {
    let table = table();
    let [mut a, mut b, mut c] = owners(&table);
    assert_eq!(table.try_acquire(&mut a, id(1), RangeMode::SN), Outcome::Granted);
    thread::scope(|scope| {
        let (table, b) = (&table, &mut b);
        let writer = scope.spawn(move || {
            let limit = WaitLimit::For(Duration::from_millis(40));
            table.acquire(b, id(1), RangeMode::XN, limit)
        });
        while table.is_idle_except(&a, id(1)) {
            thread::yield_now();
        }
        // Waits behind the writer, for ever if the writer's time-out does not grant it the lock.
        table.acquire(&mut c, id(1), RangeMode::SN, WaitLimit::Forever).unwrap();
        assert!(matches!(writer.join().unwrap(), Err(Error::LockTimeout { .. })));
    });
}

#[test]
fn default_limit_comes_from_the_options() {
    let limit = Some(Duration::from_millis(3));
    let table = LockTable::new(LockOptions { buckets: 2, wait_limit: limit, ..Default::default() });
    let [mut a, mut b] = owners(&table);
    assert_eq!(table.try_acquire(&mut a, id(1), RangeMode::SN), Outcome::Granted);
    let end = table.acquire(&mut b, id(1), RangeMode::XN, WaitLimit::Default);
    assert!(matches!(end, Err(Error::LockTimeout { waited_us: 3_000, .. })));
}

#[test]
fn no_wait_is_refused_at_once() {
    let table = table();
    let [mut a, mut b] = owners(&table);
    assert_eq!(table.try_acquire(&mut a, id(1), RangeMode::SN), Outcome::Granted);
    let end = table.acquire(&mut b, id(1), RangeMode::XN, WaitLimit::NoWait);
    assert!(matches!(end, Err(Error::WouldBlock { .. })));
    assert!(table.acquire(&mut b, id(1), RangeMode::SN, WaitLimit::NoWait).is_ok());
    assert_eq!(table.stats().waits, 0);
}

#[test]
fn cancelled_conversion_keeps_what_was_held() {
    let table = table();
    let [mut a, mut b] = owners(&table);
    assert_eq!(table.try_acquire(&mut a, id(1), RangeMode::SN), Outcome::Granted);
    assert_eq!(table.try_acquire(&mut b, id(1), RangeMode::SN), Outcome::Granted);
    assert_eq!(ask(&table, &mut a, id(1), RangeMode::XN), Step::Waits);
    table.cancel(&mut a);
    assert!(a.holds(id(1), RangeMode::SN) && !a.holds(id(1), RangeMode::XN));
    assert_eq!(ask(&table, &mut a, id(1), RangeMode::XN), Step::Waits);
    // Granted, and given up before it was picked up.
    table.release_all(&mut b, None);
    table.cancel(&mut a);
    assert_eq!(table.try_acquire(&mut b, id(1), RangeMode::SN), Outcome::Granted);
    assert!(a.held() == 1 && b.held() == 1);
}

#[test]
fn cancelled_grant_passes_to_the_next() {
    let table = table();
    let [mut a, mut b, mut c] = owners(&table);
    assert_eq!(table.try_acquire(&mut a, id(1), RangeMode::XN), Outcome::Granted);
    assert_eq!(ask(&table, &mut b, id(1), RangeMode::XN), Step::Waits);
    assert_eq!(ask(&table, &mut c, id(1), RangeMode::XN), Step::Waits);
    table.release_all(&mut a, None);
    drop(b);
    assert_eq!(ask(&table, &mut c, id(1), RangeMode::XN), Step::Granted);
}
