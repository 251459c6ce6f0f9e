//! Short histories of the real engine are strictly serializable, however it is set up.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use clearway::{Database, Options, Staging};
use clearway_check::{
    check, format,
    workload::{self, EngineStore, Settings, Workload},
};
use clearway_testkit::disk::DelayedDisk;

fn record_and_check(options: Options, settings: &Settings) {
    let store = EngineStore::new(options.open("test").unwrap()).unwrap();
    record_and_check_in(&store, settings);
    store.database().close().unwrap();
}

fn record_and_check_in(store: &EngineStore, settings: &Settings) {
    let (history, result) = workload::run(store, settings);
    result.unwrap();
    let report = check(&history).unwrap();
    if !report.is_valid() || report.undecided > 0 {
        let path = std::env::temp_dir().join(format!("{}.jsonl", settings.workload.name()));
        format::write(&history, std::fs::File::create(&path).unwrap()).unwrap();
        panic!("{settings:?}: see {}\n{report}", path.display());
    }
    assert!(report.acknowledged > report.transactions / 2, "{report}");
    store.database().verify().unwrap();
}

/// Drives the pages of all other tables out of the cache, again and again.
fn evict_until(database: &Database, ends: &AtomicBool) {
    let table = database.table("large").unwrap();
    let mut tx = database.begin();
    (0..150u8).for_each(|row| tx.put(&table, [row], [7; 12_000]).unwrap());
    tx.commit().unwrap();
    let mut value = Vec::new();
    while !ends.load(Relaxed) {
        let mut tx = database.begin();
        (0..150u8).for_each(|row| _ = tx.get_into(&table, [row], &mut value).unwrap());
    }
}

/// Ends the eviction, also if the history fails.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

#[test]
fn histories_of_staged_transactions_are_strictly_serializable() {
    let policies = [Staging::TwoStage, Staging::Optimistic, Staging::Hybrid];
    let workloads = [Workload::Append, Workload::Range, Workload::Mixed];
    for (seed, policy) in policies.into_iter().cycle().take(6).enumerate() {
        let workload = workloads[(seed + seed / 3) % 3];
        // Slow flushes: between two uses of a page, all others are used.
        let disk = DelayedDisk::in_memory(std::time::Duration::from_millis(10));
        let options = Options::new().on_disk(disk).cache_size(1 << 20).node_bytes(512);
        let store = EngineStore::new(options.staging(policy).open("test").unwrap()).unwrap();
        let ends = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| evict_until(store.database(), &ends));
            let _ends = Ends(&ends);
            record_and_check_in(&store, &Settings::new(workload, seed as u64 + 20, 400));
        });
        let types = store.database().type_stats();
        let sum = |of: fn(&clearway::StagingStats) -> u64| -> u64 {
            types.iter().map(|of_type| of(&of_type.staging)).sum()
        };
        assert!(sum(|staging| staging.fetches_with_reads) > 5, "{policy:?}: {types:?}");
        if policy == Staging::Optimistic {
            assert!(sum(|staging| staging.conversions) > 5, "{types:?}");
        }
        store.database().close().unwrap();
    }
}

#[test]
fn histories_in_memory_are_strictly_serializable() {
    for (seed, workload) in Workload::ALL.into_iter().enumerate() {
        let options = Options::in_memory().cache_size(8 << 20).node_bytes(512);
        record_and_check(options, &Settings::new(workload, seed as u64, 1_500));
    }
}

#[test]
fn histories_with_slow_flushes_are_strictly_serializable() {
    for (seed, workload) in Workload::ALL.into_iter().enumerate() {
        let delay = std::time::Duration::from_millis(1);
        let options = Options::new().on_disk(DelayedDisk::in_memory(delay)).cache_size(8 << 20);
        record_and_check(options, &Settings::new(workload, seed as u64 + 10, 800));
    }
}
