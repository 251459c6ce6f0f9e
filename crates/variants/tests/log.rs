//! The log with each strategy of insertion and with a fixed policy of group commit.

#[path = "../../log/tests/scenario/mod.rs"]
mod scenario;

use std::{sync::Arc, time::Duration};

use clearway::{CommitMode, Database};
use clearway_base::{Epoch, Error, Lsn};
use clearway_disk::{Disk, MemoryDisk};
use clearway_log::{Log, LogOptions};
use clearway_testkit::disk::{CrashImage, SimDisk, SimOptions};
use clearway_variants::log::{Consolidation, GroupPolicy, LogVariants, Strategy};
use scenario::{
    closing::{eventually, is_pending},
    *,
};

fn memory() -> Arc<dyn Disk> {
    Arc::new(MemoryDisk::new())
}

#[test]
fn records_of_all_sizes_come_back_in_order() {
    for strategy in Strategy::ALL {
        scenario::records_of_all_sizes_come_back_in_order(options().log_strategy(strategy));
    }
}

#[test]
fn concurrent_committers_find_all_their_records() {
    for strategy in Strategy::ALL {
        let options = options().log_strategy(strategy);
        scenario::concurrent_committers_find_all_their_records(&options);
    }
}

#[test]
fn a_record_that_waits_for_room_while_the_log_closes_is_durable_or_refused() {
    for strategy in Strategy::ALL {
        let options = options().log_strategy(strategy);
        closing::a_record_that_waits_for_room_is_durable_or_refused(&options);
    }
}

#[test]
fn sizes_of_the_array_out_of_range_are_refused_before_a_file_is_made() {
    for (places, slots) in [(0, 1), (65, 128), (2, 1), (2, 4097)] {
        let disk = memory();
        let options = options().log_consolidation(Consolidation { places, slots });
        let started = Log::start(disk.clone(), options, Lsn::ZERO, Epoch(1), Lsn::ZERO);
        assert!(matches!(started, Err(Error::BadOption { option: "consolidation", .. })));
        assert!(disk.list("").unwrap().is_empty());
    }
}

#[test]
fn each_choice_is_kept_by_the_next_one() {
    let group = GroupPolicy::Fixed { commits: 3, bytes: 4096, time: Duration::MAX };
    let sizes = Consolidation { places: 3, slots: 7 };
    let options =
        options().log_strategy(Strategy::Hybrid).group_policy(group).log_consolidation(sizes);
    let chosen = format!("{:?}", options.parts);
    for part in ["Hybrid", "places: 3", "slots: 7", "commits: 3"] {
        assert!(chosen.contains(part), "{part} in {chosen}");
    }
}

#[test]
fn fixed_policy_gathers_until_its_first_limit() {
    let time = Duration::from_secs(3600);
    let group = GroupPolicy::Fixed { commits: 8, bytes: 1 << 30, time };
    let disk = memory();
    let options = options().group_policy(group);
    let log = Log::start(disk.clone(), options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
    let before = log.stats().flushes;
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let log = &log;
            scope.spawn(move || {
                for i in 0..5 {
                    commit(log, thread * 5 + i, 64);
                }
            });
        }
    });
    assert_eq!(log.stats().flushes - before, 5, "eight commits in each group");
    log.close().unwrap();
    assert_eq!(read_all(&disk, Lsn::ZERO).unwrap().0.len(), 40);
}

#[test]
fn fixed_policy_gives_up_gathering_when_its_time_is_over() {
    let time = Duration::from_millis(2);
    let group = GroupPolicy::Fixed { commits: 1000, bytes: 1 << 30, time };
    let disk = memory();
    let options = options().group_policy(group);
    let log = Log::start(disk, options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
    for i in 0..5 {
        commit(&log, i, 64);
    }
    log.close().unwrap();
}

#[test]
fn fixed_policy_does_not_stop_an_insert_that_needs_room() {
    let time = Duration::from_secs(3600);
    let group = GroupPolicy::Fixed { commits: 1000, bytes: 1 << 30, time };
    let disk = memory();
    let options = options().group_policy(group);
    let log = Log::start(disk.clone(), options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
    for i in 0..200 {
        insert(&log, i, 1000).unwrap();
    }
    assert!(log.stats().ring_waits > 0);
    log.close().unwrap();
    assert_eq!(read_all(&disk, Lsn::ZERO).unwrap().0.len(), 200);
}

#[test]
fn a_time_limit_beyond_all_clocks_is_no_limit() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let group = GroupPolicy::Fixed { commits: 3, bytes: 1 << 30, time: Duration::MAX };
    let options = options().group_policy(group);
    let log = Log::start(disk, options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
    let ends: Vec<_> = (0..3).map(|i| insert(&log, i, 100).unwrap().end).collect();
    assert!(ends.iter().all(|&end| is_pending(&log, end)));
    assert!(eventually(|| log.durable() >= ends[2]));
}

#[test]
fn without_threads_a_waiter_writes_whatever_the_policy() {
    let disk: Arc<dyn Disk> = Arc::new(MemoryDisk::new());
    let group = GroupPolicy::Fixed { commits: 9, bytes: 1 << 30, time: Duration::from_secs(9) };
    let options = LogOptions { background: false, ..options() }.group_policy(group);
    let log = Log::start(disk, options, Lsn::ZERO, Epoch(1), Lsn::ZERO).unwrap();
    commit(&log, 1, 100);
    insert(&log, 2, 100).unwrap();
    log.close().unwrap();
}

/// A database on `disk` that flushes nothing for an hour, unless it must.
fn open_lazy(disk: &SimDisk) -> Database {
    let hour = Duration::from_secs(3_600);
    let group = GroupPolicy::Fixed { commits: 1_000, bytes: 1 << 30, time: hour };
    let options = clearway::Options::in_memory().on_disk(Arc::new(disk.clone()));
    let options = options.cache_size(8 << 20).log_capacity(4 << 20);
    options.commit_mode(CommitMode::Lazy).group_policy(group).open("lazy").unwrap()
}

/// The keys that a crash leaves, all of them in one byte each.
fn keys_after_a_crash(disk: &SimDisk) -> Vec<u8> {
    let db = open_lazy(&disk.crash(CrashImage::DropAll));
    let table = db.table("t").unwrap();
    let rows = db.transact("read", |tx| tx.scan(&table, ..).collect::<Result<Vec<_>, _>>());
    rows.unwrap().iter().map(|(key, _)| key[0]).collect()
}

#[test]
fn a_sync_waits_for_no_group() {
    let disk = SimDisk::new(1, SimOptions::default());
    let db = open_lazy(&disk);
    let table = db.table("t").unwrap();
    let insert = |key: u8| db.transact("insert", |tx| tx.insert(&table, [key], b"")).unwrap();
    insert(1);
    db.sync().unwrap();
    assert_eq!(keys_after_a_crash(&disk), [1]);
    insert(2);
    db.checkpoint().unwrap();
    assert_eq!(keys_after_a_crash(&disk), [1, 2]);
}
