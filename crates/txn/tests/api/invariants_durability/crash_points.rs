//! Invariant 13: at any crash nothing acknowledged is lost, nothing unacknowledged half there.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering::SeqCst},
    },
    thread,
};

use clearway_disk::MemoryDisk;
use clearway_sync::Mutex;
use clearway_testkit::disk::{Faults, FaultyDisk, Operation};
use clearway_txn::{Engine, Table};

use super::{overlapping, tiny_cache, with_table};
use crate::rig::{commit, contents, open_with};

const WORKERS: usize = 3;
const SLOTS: u64 = 8;
const PARTS: [&str; 3] = ["first", "middle", "third"];

fn key(part: &str, worker: usize, slot: u64) -> Vec<u8> {
    format!("{part}/{worker}/{slot}").into_bytes()
}

/// Transaction `n` of a worker writes `n` in three places. Every fifth is rolled back before it is
/// done at last. `acknowledged` is how many are.
fn write_triples(engine: &Arc<Engine>, table: &Table, worker: usize, acknowledged: &AtomicU64) {
    // A transaction that is open all the time and never ends.
    let mut loser = engine.begin();
    for n in 1..=60u64 {
        let write = |value: u64| {
            let mut txn = engine.begin();
            for part in PARTS {
                let value = [value.to_be_bytes().as_slice(), &[0; 100]].concat();
                txn.put(table, &key(part, worker, n % SLOTS), &value).unwrap();
            }
            txn
        };
        if n % 5 == 0 {
            write(u64::MAX).rollback().unwrap();
        }
        commit(engine, write(n));
        acknowledged.store(n, SeqCst);
        loser.put(table, format!("loser/{worker}/{n}").as_bytes(), &[1; 100]).unwrap();
        if n % 20 == 10 {
            engine.checkpoint().unwrap();
        }
    }
    // Dropped after the images were taken, as the power failure would have it.
    std::mem::forget(loser);
}

/// Recovers an image: each worker's transactions are there up to some number, whole.
fn judge_triples(disk: &MemoryDisk, acknowledged: &[u64]) {
    let engine = open_with(disk.clone(), overlapping());
    let table = engine.open_table("t").unwrap();
    let mut found = contents(&engine, &table);
    for (worker, &acknowledged) in acknowledged.iter().enumerate() {
        let mut number = |part: &str, slot| {
            let value = found.remove(&key(part, worker, slot))?;
            Some(u64::from_be_bytes(value[..8].try_into().unwrap()))
        };
        let mut last = BTreeMap::new();
        for slot in 0..SLOTS {
            let parts: BTreeSet<_> = PARTS.iter().map(|part| number(part, slot)).collect();
            assert_eq!(parts.len(), 1, "half a transaction: {parts:?}");
            last.insert(slot, parts.into_iter().flatten().next().unwrap_or(0));
        }
        let survived = *last.values().max().unwrap();
        assert!(survived <= 60, "a rolled back transaction");
        assert!(survived >= acknowledged, "{survived} survived of {acknowledged}");
        let expected = |slot: u64| (1..=survived).rfind(|n| n % SLOTS == slot).unwrap_or(0);
        assert!(last.iter().all(|(&slot, &n)| n == expected(slot)), "{last:?}");
    }
    assert!(found.is_empty(), "of transactions that never ended: {found:?}");
    engine.verify().unwrap();
}

#[test]
fn invariant_13_acknowledged_is_kept_and_unacknowledged_is_whole_or_absent() {
    let memory = with_table();
    let counts: Arc<[AtomicU64; WORKERS]> = Arc::default();
    let (faults, images) = (Faults::new(), Arc::new(Mutex::new(Vec::new())));
    let (disk, seen, counted, kept) =
        (memory.clone(), AtomicUsize::new(0), counts.clone(), images.clone());
    faults.watch(move |event| {
        let changes = matches!(event.operation, Operation::Write | Operation::Sync);
        let number = if changes { seen.fetch_add(1, SeqCst) } else { 1 };
        if number.is_multiple_of(9) {
            // What was acknowledged before the image was made must be in it.
            let acknowledged = counted.each_ref().map(|count| count.load(SeqCst));
            // A power failure, and now and then a kill.
            let image = if number % 27 == 0 { disk.fork() } else { disk.fork_durable() };
            kept.lock().push((image, acknowledged));
        }
        None
    });
    let engine = open_with(FaultyDisk::new(memory, faults.clone()), tiny_cache(overlapping()));
    let table = engine.open_table("t").unwrap();
    thread::scope(|scope| {
        for worker in 0..WORKERS {
            let (engine, table, counts) = (&engine, &table, &counts);
            scope.spawn(move || write_triples(engine, table, worker, &counts[worker]));
        }
    });
    faults.clear();
    let images = std::mem::take(&mut *images.lock());
    assert!(images.len() > 40, "{} images", images.len());
    images.iter().for_each(|(disk, acknowledged)| judge_triples(disk, acknowledged));
}
