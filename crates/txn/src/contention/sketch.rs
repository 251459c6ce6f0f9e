//! The hottest keys, in fixed memory: those that were waited for most often, with bounds.
//!
//! Invariants, for a sketch of capacity k that was offered n waits in all:
//! - SKETCH-1. The counts of its entries add up to n.
//! - SKETCH-2. For an entry, the true count of its key is at most `waits` and at least
//!   `waits - over`.
//! - SKETCH-3. A key without an entry was offered at most `floor()` times, which is at most n / k.
//!   So a key with more than n / k of the waits has an entry.
//!
//! Algorithm: Metwally, Agrawal, El Abbadi: "Efficient Computation of Frequent and Top-k Elements
//! in Data Streams" (ICDT 2005), the Space-Saving algorithm: a key that has no entry takes over the
//! entry with the lowest count, and that count becomes its possible error.
//!
//! Differences: there is no list sorted by count, since a search of 64 entries takes less time than
//! the wait that is being counted. Keys are distinguished by their lock identity, a hash:
//! transactions that lock two keys with one identity wait for each other, so the two keys *are* one
//! hot spot.

use clearway_base::KeyName;
use clearway_lock::LockId;

/// A key with its counts.
#[derive(Clone, Copy, Debug)]
struct SketchEntry {
    id: LockId,
    name: KeyName,
    waits: u64,
    over: u64,
    /// Time of the waits that were counted under this entry since it has its key.
    wait_us: u64,
}

/// One sketch.
#[derive(Clone, Debug)]
pub(super) struct Sketch {
    capacity: usize,
    entries: Vec<SketchEntry>,
}

/// The bounds for a key's count that follow from several sketches, and the time of its waits.
#[derive(Clone, Copy, Debug)]
pub(super) struct Estimate {
    pub(super) name: KeyName,
    pub(super) waits_min: u64,
    pub(super) waits_max: u64,
    pub(super) wait_us: u64,
}

impl Sketch {
    pub(super) fn new(capacity: usize) -> Sketch {
        Sketch { capacity, entries: Vec::new() }
    }

    /// Counts a wait.
    pub(super) fn offer(&mut self, id: LockId, name: KeyName, us: u64) {
        if let Some(entry) = self.entries.iter_mut().find(|entry| entry.id == id) {
            entry.waits += 1;
            entry.wait_us += us;
            return;
        }
        let fresh = SketchEntry { id, name, waits: 1, over: 0, wait_us: us };
        if self.entries.len() < self.capacity {
            self.entries.push(fresh);
            return;
        }
        if let Some(rarest) = self.entries.iter_mut().min_by_key(|entry| entry.waits) {
            *rarest = SketchEntry { waits: rarest.waits + 1, over: rarest.waits, ..fresh };
        }
    }

    /// The maximum number of offers of a key without an entry (SKETCH-3).
    fn floor(&self) -> u64 {
        if self.entries.len() < self.capacity {
            return 0;
        }
        self.entries.iter().map(|entry| entry.waits).min().unwrap_or(0)
    }
}

/// The keys of all sketches, each offered a part of the waits: those surely waited for most first.
pub(super) fn merge(sketches: &[Sketch]) -> Vec<Estimate> {
    let mut ids: Vec<LockId> =
        sketches.iter().flat_map(|sketch| sketch.entries.iter().map(|entry| entry.id)).collect();
    ids.sort_unstable_by_key(|id| id.0);
    ids.dedup();
    let mut estimates: Vec<Estimate> =
        ids.iter().filter_map(|&id| estimate(sketches, id)).collect();
    estimates.sort_by_key(|estimate| {
        std::cmp::Reverse((estimate.waits_min, estimate.waits_max, estimate.wait_us))
    });
    estimates
}

fn estimate(sketches: &[Sketch], id: LockId) -> Option<Estimate> {
    let mut sum: Option<Estimate> = None;
    let mut absent = 0;
    for sketch in sketches {
        match sketch.entries.iter().find(|entry| entry.id == id) {
            Some(entry) => {
                let none = Estimate { name: entry.name, waits_min: 0, waits_max: 0, wait_us: 0 };
                let sum = sum.get_or_insert(none);
                sum.waits_min += entry.waits - entry.over;
                sum.waits_max += entry.waits;
                sum.wait_us += entry.wait_us;
            }
            None => absent += sketch.floor(),
        }
    }
    sum.map(|sum| Estimate { waits_max: sum.waits_max + absent, ..sum })
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use clearway_base::{KeySample, TreeId};
    use clearway_testkit::{Random, mix};

    use super::*;

    fn name(key: u64) -> KeyName {
        KeyName { tree: TreeId(9), key: KeySample::of(&key.to_be_bytes()) }
    }

    /// A stream over few or many keys, even or skewed, and the sketches that saw its parts.
    fn run(seed: u64, capacity: usize, shards: usize) {
        let mut random = Random::new(seed);
        let keys = 1 + random.below(400);
        let mut sketches = vec![Sketch::new(capacity); shards];
        let mut truth = vec![HashMap::<u64, u64>::new(); shards];
        let n = 1 + random.below(5_000);
        for _ in 0..n {
            // The smaller of some draws: the more draws, the more skewed.
            let key = (0..1 + seed % 5).map(|_| random.below(keys)).min().unwrap_or(0);
            let shard = random.below(shards as u64) as usize;
            sketches[shard].offer(LockId(key), name(key), 10);
            *truth[shard].entry(key).or_default() += 1;
        }
        for (sketch, truth) in sketches.iter().zip(&truth) {
            let offered: u64 = truth.values().sum();
            assert!(sketch.entries.len() <= capacity);
            assert_eq!(
                sketch.entries.iter().map(|entry| entry.waits).sum::<u64>(),
                offered,
                "SKETCH-1"
            );
            assert!(sketch.floor() <= offered / capacity as u64, "SKETCH-3");
            for (&key, &count) in truth {
                match sketch.entries.iter().find(|entry| entry.id.0 == key) {
                    Some(entry) => {
                        assert!(
                            count <= entry.waits && entry.waits - entry.over <= count,
                            "SKETCH-2"
                        );
                    }
                    None => assert!(count <= sketch.floor(), "SKETCH-3"),
                }
            }
        }
        let merged = merge(&sketches);
        for estimate in &merged {
            let key = u64::from_be_bytes(estimate.name.key.bytes().try_into().unwrap());
            let count: u64 = truth.iter().filter_map(|truth| truth.get(&key)).sum();
            assert!(estimate.waits_min <= count && count <= estimate.waits_max);
            assert!(estimate.wait_us >= 10 * estimate.waits_min);
        }
        let sure: Vec<u64> = merged.iter().map(|estimate| estimate.waits_min).collect();
        assert!(sure.is_sorted_by(|a, b| a >= b));
    }

    #[test]
    fn bounds_hold_for_every_stream() {
        for seed in 1..200u64 {
            let seed = mix(seed);
            run(seed, 1 + (seed % 64) as usize, 1 + (seed >> 8) as usize % 4);
        }
    }

    #[test]
    fn a_hot_key_among_many_cold_ones_is_found() {
        let mut sketch = Sketch::new(64);
        for n in 0..10_000u64 {
            sketch.offer(LockId(1_000 + n), name(1_000 + n), 1);
            if n % 20 == 0 {
                sketch.offer(LockId(7), name(7), 50);
            }
        }
        let hottest = merge(&[sketch])[0];
        assert_eq!(hottest.name, name(7));
        assert!(hottest.waits_min <= 500 && 500 <= hottest.waits_max);
    }
}
