//! Lock waits: their number and length by table and type, the hot keys, and the last deadlocks.
//!
//! Invariants:
//! - CONTENTION-1. Nothing here is touched by a transaction that was denied no lock.
//! - CONTENTION-2. *What is awaited* is published before the wait begins, with its mode and time,
//!   and stays until the transaction has ended or waits again: the detector that finds a cycle can
//!   name what its members wait for. The end of a wait is not published: the lock table knows which
//!   owners wait at a moment, and the published wait of an owner that does not wait is over.
//! - CONTENTION-3. *What was waited for* is counted when the transaction has ended and its locks
//!   are released, so that counting does not prolong the waits for a hot row; or, if that is
//!   earlier, after every [`PASSED_MAX`] waits.
//! - CONTENTION-4. Bounded: at most one published wait for each running transaction; in each shard
//!   [`PAIRS_MAX`] pairs of table and type (those that come later are counted under neither) and
//!   [`HOT_KEYS`] keys; [`DEADLOCKS`] deadlocks.
//!
//! Latch order: these mutexes are leaves, and none is taken under a page latch or a latch of the
//! lock table. (The transaction may hold locks, as it does whenever it publishes a wait.)
//!
//! | what | where | written |
//! | --- | --- | --- |
//! | published waits | the participant record | before |
//! | counts by table and type, hot keys | `shards`, by thread | after the transaction |
//! | deadlocks | `deadlocks` | by each victim |

mod counts;
mod published;
mod sketch;

use std::{
    collections::{HashMap, VecDeque},
    hash::Hash,
    sync::Arc,
    time::SystemTime,
};

use clearway_base::{DeadlockCycle, KeyName, KeySample, TreeId};
use clearway_lock::{IntentMode, LockId, RangeMode, WaitLength};
use clearway_sync::{Mutex, Sharded};

pub(crate) use counts::WaitEnd;
pub use counts::{GrantToPoll, WaitCounts};
pub(crate) use published::{PublishedWait, PublishedWaits};
use sketch::Sketch;

use crate::kinds::Kind;

/// Waits that a transaction keeps to itself before it counts them.
pub(crate) const PASSED_MAX: usize = 64;
/// Shards of the counts.
const SHARDS: usize = 8;
/// Pairs of table and type that a shard counts separately.
const PAIRS_MAX: usize = 128;
/// Keys that a shard's sketch has room for.
const HOT_KEYS: usize = 64;
/// Deadlocks that are remembered.
const DEADLOCKS: usize = 16;

/// A lock as its waiter knows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Wanted {
    /// A key or the gap behind it.
    Key(LockId, KeyName),
    /// A table as a whole.
    Table(TreeId),
}

impl Wanted {
    /// The database as a whole, under a number that no tree has.
    pub(crate) const DATABASE: Wanted = Wanted::Table(TreeId(u32::MAX));

    /// Under a number that no tree has, either.
    pub(crate) const NAMELESS: TreeId = TreeId(u32::MAX - 1);

    /// A key of which the identity alone is known.
    pub(crate) fn nameless(id: LockId) -> Wanted {
        Wanted::Key(id, KeyName { tree: Wanted::NAMELESS, key: KeySample::of(&[]) })
    }

    pub(crate) fn tree(&self) -> TreeId {
        match self {
            Wanted::Key(_, name) => name.tree,
            Wanted::Table(tree) => *tree,
        }
    }

    pub(crate) fn key(&self) -> Option<KeySample> {
        match self {
            Wanted::Key(_, name) => Some(name.key).filter(|_| name.tree != Wanted::NAMELESS),
            Wanted::Table(_) => None,
        }
    }
}

/// A mode that was asked for and not given.
#[derive(Clone, Copy, Debug)]
pub(crate) enum WantedMode {
    Key(RangeMode),
    Table(IntentMode),
}

impl WantedMode {
    pub(crate) fn name(self) -> &'static str {
        match self {
            WantedMode::Key(mode) => mode.name(),
            WantedMode::Table(mode) => mode.name(),
        }
    }
}

/// A wait that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PassedWait {
    pub(crate) wanted: Wanted,
    pub(crate) length: WaitLength,
    pub(crate) end: WaitEnd,
}

/// Lock waits of one table, or of one type of transaction.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct WaitsOf {
    /// The name of the table or the type; for a table, it can also be a description in parentheses,
    /// as in [`LockName`](clearway_base::LockName). Empty for transactions without a type, and for
    /// waits that are not counted separately: those of types after the 63rd, and those of pairs of
    /// table and type beyond the 128 that each of 8 groups of threads counts.
    pub name: String,
    /// The waits of the table or the type.
    pub counts: WaitCounts,
}

/// A key that was waited for often.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct HotKey {
    /// The table, or a description in parentheses, as in [`LockName`](clearway_base::LockName).
    pub table: String,
    /// The key whose lock, or the lock of the gap behind it, was waited for.
    pub key: KeySample,
    /// Lower bound on the number of waits.
    pub waits_min: u64,
    /// Upper bound on the number of waits.
    pub waits_max: u64,
    /// The time of the waits that are known for certain to be this key's, in microseconds.
    pub wait_us: u64,
}

/// A deadlock that was found and broken.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct DeadlockReport {
    /// The time at which it was found.
    pub at: SystemTime,
    /// Its members, the victim first, with the lock that each held and the one it waited for.
    pub cycle: Arc<DeadlockCycle>,
}

/// The lock waits since the database was opened. Waits of transactions that still run may not be
/// counted yet.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct LockWaits {
    /// By table, the longest total time first.
    pub tables: Vec<WaitsOf>,
    /// By type of transaction, the longest total time first.
    pub types: Vec<WaitsOf>,
    /// At most 64 keys: those with the most waits, as far as is known, the highest `waits_min`
    /// first. A key with more than a 64th of all counted waits is among them, unless 64 other keys
    /// have a `waits_min` at least as high as its own.
    pub hot_keys: Vec<HotKey>,
    /// The last 16 deadlocks, the newest first.
    pub deadlocks: Vec<DeadlockReport>,
}

/// The counts of one group of threads: those with the same thread number modulo `SHARDS`.
struct ContentionShard {
    pairs: HashMap<(TreeId, Kind), WaitCounts>,
    keys: Sketch,
}

/// See the module.
pub(crate) struct Contention {
    shards: Sharded<Mutex<ContentionShard>, SHARDS>,
    deadlocks: Mutex<VecDeque<DeadlockReport>>,
}

impl Default for Contention {
    fn default() -> Contention {
        let shard = || ContentionShard { pairs: HashMap::new(), keys: Sketch::new(HOT_KEYS) };
        Contention {
            shards: Sharded::new(|| Mutex::new(shard())),
            deadlocks: Mutex::new(VecDeque::new()),
        }
    }
}

impl Contention {
    /// Counts waits of a transaction of type `kind` (CONTENTION-3).
    pub(crate) fn count(&self, kind: Kind, waits: &mut Vec<PassedWait>) {
        let mut shard = self.shards.mine().lock();
        for wait in waits.drain(..) {
            let us = wait.length.waited.as_micros() as u64;
            let mut pair = (wait.wanted.tree(), kind);
            if shard.pairs.len() >= PAIRS_MAX && !shard.pairs.contains_key(&pair) {
                pair = (TreeId(0), Kind::NONE);
            }
            let counts = shard.pairs.entry(pair).or_default();
            counts.count(us, wait.end);
            counts.behind_reads_us += wait.length.behind_reads.as_micros() as u64;
            let polled = wait.length.grant_to_poll.into_iter();
            polled.for_each(|time| counts.grant_to_poll.count(time.as_micros() as u64));
            if let Wanted::Key(id, name) = wait.wanted {
                shard.keys.offer(id, name, us);
            }
        }
    }

    /// Returns all that is known of lock waits, with the names of tables and types.
    pub(crate) fn report(
        &self,
        table_name: impl Fn(TreeId) -> String,
        kind_name: impl Fn(Kind) -> String,
    ) -> LockWaits {
        let (mut tables, mut types) = (HashMap::new(), HashMap::new());
        let mut sketches = Vec::new();
        for shard in self.shards.iter() {
            let shard = shard.lock();
            for (&(tree, kind), counts) in &shard.pairs {
                tables.entry(tree).or_insert_with(WaitCounts::default).add(counts);
                types.entry(kind).or_insert_with(WaitCounts::default).add(counts);
            }
            sketches.push(shard.keys.clone());
        }
        let mut hot = sketch::merge(&sketches);
        hot.truncate(HOT_KEYS);
        let hot_keys = hot.into_iter().map(|estimate| HotKey {
            table: table_name(estimate.name.tree),
            key: estimate.name.key,
            waits_min: estimate.waits_min,
            waits_max: estimate.waits_max,
            wait_us: estimate.wait_us,
        });
        LockWaits {
            tables: by_time(tables, &table_name),
            types: by_time(types, &kind_name),
            hot_keys: hot_keys.collect(),
            deadlocks: self.deadlocks.lock().iter().cloned().collect(),
        }
    }

    /// Remembers a deadlock.
    pub(crate) fn remember(&self, cycle: Arc<DeadlockCycle>) {
        let mut deadlocks = self.deadlocks.lock();
        deadlocks.truncate(DEADLOCKS - 1);
        deadlocks.push_front(DeadlockReport { at: SystemTime::now(), cycle });
    }
}

/// Counts under their names, the longest total time first.
fn by_time<K: Eq + Hash>(
    counts: HashMap<K, WaitCounts>,
    name: impl Fn(K) -> String,
) -> Vec<WaitsOf> {
    let named = counts.into_iter().map(|(key, counts)| WaitsOf { name: name(key), counts });
    let mut all: Vec<WaitsOf> = named.collect();
    all.sort_by(|a, b| {
        (b.counts.wait_us, b.counts.waits)
            .cmp(&(a.counts.wait_us, a.counts.waits))
            .then_with(|| a.name.cmp(&b.name))
    });
    all
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn wait(tree: u32, key: u64) -> PassedWait {
        let name = KeyName { tree: TreeId(tree), key: KeySample::of(&key.to_be_bytes()) };
        let wanted = Wanted::Key(LockId(key), name);
        let grant_to_poll = Some(Duration::from_micros(1));
        let behind_reads = Duration::from_micros(2);
        let length = WaitLength { waited: Duration::from_micros(3), grant_to_poll, behind_reads };
        PassedWait { wanted, length, end: WaitEnd::Granted }
    }

    #[test]
    fn memory_is_bounded_and_no_wait_is_lost() {
        let contention = Contention::default();
        for tree in 0..1_000 {
            contention.count(Kind::NONE, &mut vec![wait(tree + 2, u64::from(tree)); 2]);
        }
        let shard = contention.shards.mine().lock();
        assert_eq!(shard.pairs.len(), PAIRS_MAX + 1);
        assert_eq!(shard.pairs.values().map(|counts| counts.waits).sum::<u64>(), 2_000);
        let others = &shard.pairs[&(TreeId(0), Kind::NONE)];
        assert_eq!(others.waits, 2 * (1_000 - PAIRS_MAX as u64));
        let polled = others.grant_to_poll;
        assert_eq!((polled.count, polled.us, polled.us_max), (others.waits, others.waits, 1));
        assert_eq!((others.wait_us, others.behind_reads_us), (3 * others.waits, 2 * others.waits));
    }

    #[test]
    fn the_last_deadlocks_are_remembered() {
        let contention = Contention::default();
        let cycles: Vec<_> =
            (0..DEADLOCKS + 5).map(|_| Arc::new(DeadlockCycle { members: Vec::new() })).collect();
        cycles.iter().for_each(|cycle| contention.remember(cycle.clone()));
        let kept = contention.deadlocks.lock();
        assert_eq!(kept.len(), DEADLOCKS);
        let newest_first = cycles.iter().rev().zip(kept.iter());
        assert!(newest_first.into_iter().all(|(cycle, kept)| Arc::ptr_eq(cycle, &kept.cycle)));
    }
}
