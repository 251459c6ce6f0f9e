//! A task against one other thread, many times, each time at a slightly different moment.

use std::{hint, time::Instant};

use super::*;

const ROUNDS: u32 = 10_000;
const PAGE: PageId = PageId(3);

/// A pool over a disk that reads at once.
fn pool() -> Arc<Pool> {
    let options = PoolOptions { cache_bytes: 64 * PAGE_SIZE as u64, ..PoolOptions::default() };
    Pool::open(&MemoryDisk::new(), Arc::new(DurableLog), options).unwrap()
}

/// Evicts the page if it is in memory and not in use.
fn evict(pool: &Pool) {
    let frame = pool.space.frame(PAGE);
    if frame.latch.try_exclusive() {
        if frame.is_evictable() {
            pool.evict_latched(PAGE, frame, frame.slot());
        } else {
            frame.latch.release_unchanged();
        }
    }
}

/// Waits until a number that another thread writes has reached `round`.
fn wait_for(number: &AtomicU32, round: u32) {
    let begun = Instant::now();
    while number.load(Ordering::SeqCst) < round {
        assert!(begun.elapsed() < Duration::from_secs(30), "the other thread has failed");
        thread::yield_now();
    }
}

/// Takes the page; fails if no wake-up comes.
fn take(task: &mut Task) {
    let waker = Waker::from(task.woken.clone());
    let (mut woken, begun) = (0, Instant::now());
    // Not as if inside a step: the disk reads at once.
    while task.pins.poll_take(PAGE, &mut Context::from_waker(&waker)).is_pending() {
        while task.woken() == woken {
            assert!(begun.elapsed() < Duration::from_secs(20), "a wake-up was lost");
            thread::yield_now();
        }
        woken = task.woken();
    }
}

/// A thread reads the page once in each round, so a wake-up that it loses is not made up for.
#[test]
fn task_that_finds_a_page_being_read_is_woken() {
    let pool = pool();
    let (begun, ended) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 1..=ROUNDS {
                wait_for(&begun, round);
                drop(pool.shared(PAGE).unwrap());
                ended.store(round, Ordering::SeqCst);
            }
        });
        for round in 1..=ROUNDS {
            let mut task = Task { pins: OperationPins::new(&pool), woken: Arc::default() };
            begun.store(round, Ordering::SeqCst);
            (0..round % 512).for_each(|_| hint::spin_loop());
            take(&mut task);
            wait_for(&ended, round);
            drop(task);
            evict(&pool);
            assert!(!pool.try_resident(PAGE));
        }
    });
}

/// A thread evicts the page whenever it can.
#[test]
fn page_that_has_arrived_stays_until_the_task_has_taken_it() {
    let pool = pool();
    let ended = AtomicU32::new(0);
    thread::scope(|scope| {
        scope.spawn(|| {
            let begun = Instant::now();
            while ended.load(Ordering::SeqCst) == 0 && begun.elapsed() < Duration::from_secs(30) {
                evict(&pool);
            }
        });
        for _ in 0..ROUNDS {
            let mut task = Task { pins: OperationPins::new(&pool), woken: Arc::default() };
            take(&mut task);
            // Waits for an eviction that has begun.
            assert!(pool.shared_if_resident(PAGE).is_ok(), "the page was evicted");
        }
        ended.store(1, Ordering::SeqCst);
    });
}
