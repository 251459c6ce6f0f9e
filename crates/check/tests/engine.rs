//! Short histories of the real engine are strictly serializable, however it is set up.

use clearway::Options;
use clearway_check::{
    check, format,
    workload::{self, EngineStore, Settings, Workload},
};
use clearway_testkit::disk::DelayedDisk;

fn record_and_check(options: Options, settings: &Settings) {
    let database = options.open("test").unwrap();
    let store = EngineStore::new(database).unwrap();
    let (history, result) = workload::run(&store, settings);
    result.unwrap();
    let report = check(&history).unwrap();
    if !report.is_valid() || report.undecided > 0 {
        let path = std::env::temp_dir().join(format!("{}.jsonl", settings.workload.name()));
        format::write(&history, std::fs::File::create(&path).unwrap()).unwrap();
        panic!("{settings:?}: see {}\n{report}", path.display());
    }
    assert!(report.acknowledged > report.transactions / 2, "{report}");
    store.database().verify().unwrap();
    store.database().close().unwrap();
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
