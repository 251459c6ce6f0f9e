//! Statistics: counters, and data that each thread keeps in a shard of its own.

use crate::{
    CachePadded,
    atomic::{AtomicU64, Ordering},
    thread_number,
};

/// A counter of events. It orders no other memory, so a reader of several counters may see an event
/// in one of them and not yet in another.
#[derive(Default, Debug)]
pub struct Counter(AtomicU64);

impl Counter {
    /// Adds to a counter that several threads write.
    #[inline]
    pub fn add(&self, count: u64) {
        // Relaxed: a statistic.
        self.0.fetch_add(count, Ordering::Relaxed);
    }

    /// Adds to a counter that only the calling thread writes: a load and a store, no atomic
    /// instruction. With a second writer, counts would be lost.
    #[inline]
    pub fn add_as_only_writer(&self, count: u64) {
        // Relaxed: a statistic.
        self.0.store(self.0.load(Ordering::Relaxed) + count, Ordering::Relaxed);
    }

    /// Returns the count.
    #[inline]
    pub fn get(&self) -> u64 {
        // Relaxed: a statistic.
        self.0.load(Ordering::Relaxed)
    }
}

/// One `T` for each of `SHARDS` groups of threads, in cache lines of its own; readers visit all of
/// them. A thread always has the same shard: that of its [number](thread_number) modulo `SHARDS`.
/// Numbers of threads that have ended are not used again. So no two threads share a shard until
/// more threads than shards have been numbered, and after that even a few threads may share one.
pub struct Sharded<T, const SHARDS: usize>([CachePadded<T>; SHARDS]);

impl<T, const SHARDS: usize> Sharded<T, SHARDS> {
    /// Creates the shards, each with what `make` returns.
    pub fn new(mut make: impl FnMut() -> T) -> Sharded<T, SHARDS> {
        Sharded(std::array::from_fn(|_| CachePadded::new(make())))
    }

    /// Returns the shard of the calling thread.
    #[inline]
    pub fn mine(&self) -> &T {
        &self.0[thread_number() % SHARDS]
    }

    /// Returns all shards.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.0.iter().map(|shard| &**shard)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use std::thread;

    use super::*;

    #[test]
    fn threads_count_in_shards_and_the_sum_is_complete() {
        let counters: Sharded<Counter, 4> = Sharded::new(Counter::default);
        thread::scope(|scope| {
            for _ in 0..6 {
                scope.spawn(|| (0..1_000).for_each(|_| counters.mine().add(2)));
            }
        });
        assert_eq!(counters.iter().map(Counter::get).sum::<u64>(), 12_000);
        assert!(counters.iter().filter(|counter| counter.get() > 0).count() > 1);
    }

    #[test]
    fn a_thread_always_has_the_same_shard() {
        let shards: Sharded<Counter, 8> = Sharded::new(Counter::default);
        let first = std::ptr::from_ref(shards.mine());
        assert!((0..100).all(|_| std::ptr::eq(first, shards.mine())));
        shards.mine().add_as_only_writer(3);
        assert_eq!(shards.mine().get(), 3);
    }
}
