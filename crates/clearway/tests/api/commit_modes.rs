//! The time at which results are delivered: of durable commits, of lazy ones, and of errors that
//! reveal what was read.

use std::{sync::Arc, time::Duration};

use clearway::{CommitMode, Database, Error, Options, Table};
use clearway_testkit::disk::{CrashImage, DelayedDisk, SimDisk, SimOptions};
use clearway_variants::txn::{EarlyRelease, TxnVariants};

/// Inserts row `n`, and writes `n`, the number of rows, to the row `last`, in one transaction.
fn append(db: &Database, table: &Table, n: u64) {
    let appended = db.transact("append", |tx| {
        tx.put(table, b"last", n.to_be_bytes())?;
        tx.insert(table, [b"row".as_slice(), &n.to_be_bytes()].concat(), b"")
    });
    appended.unwrap();
}

fn options(disk: &SimDisk) -> Options {
    Options::in_memory().on_disk(Arc::new(disk.clone())).cache_size(8 << 20).log_capacity(4 << 20)
}

/// Returns the number of rows, which must be a prefix of those appended and equal to `last`.
fn rows(disk: &SimDisk) -> u64 {
    let db = options(disk).open("after the crash").unwrap();
    let table = db.table("t").unwrap();
    let (last, rows) = db
        .transact("count", |tx| {
            let last = tx.get(&table, b"last")?;
            let rows = tx.scan(&table, clearway::prefix(b"row")).collect::<Result<Vec<_>, _>>()?;
            Ok((last, rows))
        })
        .unwrap();
    let last = last.map_or(0, |bytes| u64::from_be_bytes(bytes.try_into().unwrap()));
    let numbers = rows.iter().map(|(key, _)| u64::from_be_bytes(key[3..].try_into().unwrap()));
    assert!(numbers.eq(1..=last), "{} rows, and `last` is {last}", rows.len());
    last
}

#[test]
fn a_crash_takes_the_last_lazy_commits_and_none_before_the_last_sync() {
    let mut lost = 0;
    for seed in 0..20 {
        let disk = SimDisk::new(seed, SimOptions::default());
        let db = options(&disk).commit_mode(CommitMode::Lazy).open("lazy").unwrap();
        let table = db.table("t").unwrap();
        (1..=50 + seed).for_each(|n| append(&db, &table, n));
        db.sync().unwrap();
        (51 + seed..=100).for_each(|n| append(&db, &table, n));
        let crashed = disk.crash(CrashImage::DropAll);
        drop(db);
        let kept = rows(&crashed);
        assert!((50 + seed..=100).contains(&kept), "{kept} of 100, {} were synced", 50 + seed);
        lost += 100 - kept;
    }
    assert!(lost > 0, "acknowledged as durable, and hence not lazy");
}

#[test]
fn lazy_commits_become_durable_without_a_waiter() {
    let disk = SimDisk::new(1, SimOptions::default());
    let db = options(&disk).commit_mode(CommitMode::Lazy).open("lazy").unwrap();
    let table = db.table("t").unwrap();
    append(&db, &table, 1);
    while rows(&disk.crash(CrashImage::DropAll)) < 1 {
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_durable_commit_is_kept_whatever_follows() {
    for seed in 0..5 {
        let disk = SimDisk::new(seed, SimOptions::default());
        let db = options(&disk).open("durable").unwrap();
        let table = db.table("t").unwrap();
        (1..=40).for_each(|n| append(&db, &table, n));
        let crashed = disk.crash(CrashImage::DropAll);
        drop(db);
        assert_eq!(rows(&crashed), 40);
    }
}

#[test]
fn an_error_that_reveals_what_was_read_is_withheld_and_blocks_no_thread() {
    let disk = DelayedDisk::in_memory(Duration::from_millis(100));
    let db = Options::new().on_disk(disk).cache_size(8 << 20).open("slow").unwrap();
    let table = db.table("t").unwrap();
    let first = db.submit("insert", |tx| tx.insert(&table, b"key", b"")).unwrap();
    match db.submit("again", |tx| tx.insert(&table, b"key", b"")) {
        Ok(second) => {
            assert!(matches!(second.wait(), Err(Error::DuplicateKey { .. })));
            assert!(first.is_ready(), "the error revealed a commit that could still be lost");
        }
        // On a slow machine the flush may be over.
        Err(error) => assert!(first.is_ready() && matches!(error, Error::DuplicateKey { .. })),
    }
    // Nothing was read that is not durable: the error needs no Pending.
    let refused = db.submit("refuse", |tx| tx.abort::<()>("no"));
    assert!(matches!(refused, Err(Error::Aborted { .. })));
}

/// Returns the median times of type `name`: locks held, flush awaited, both.
fn medians(db: &Database, name: &str) -> [Duration; 3] {
    let timings = db.timings();
    let of = timings.iter().find(|timings| timings.name == name).unwrap();
    [&of.lock_hold, &of.flush_wait, &of.latency].map(|h| Duration::from_nanos(h.quantile(0.5)))
}

#[test]
fn timings_separate_the_flush_from_the_locks() {
    const DELAY: Duration = Duration::from_millis(5);
    for early_release in [EarlyRelease::All, EarlyRelease::None] {
        let slow = Options::new().on_disk(DelayedDisk::in_memory(DELAY)).cache_size(8 << 20);
        let db = slow.time_one_in(1).txn_variant(early_release).open("slow").unwrap();
        let table = db.table("t").unwrap();
        (1..=20).for_each(|n| append(&db, &table, n));
        let [lock_hold, flush_wait, latency] = medians(&db, "append");
        assert!(latency >= DELAY, "{latency:?}");
        match early_release {
            EarlyRelease::All => assert!(flush_wait > lock_hold, "{flush_wait:?} {lock_hold:?}"),
            _ => assert!(lock_hold >= DELAY, "{lock_hold:?}"),
        }
        let timings = db.timings();
        let counted = timings.iter().find(|timings| timings.name == "append").unwrap();
        assert_eq!(counted.latency.count(), 20);
    }
    let db = Options::in_memory().cache_size(8 << 20).time_one_in(0).open("untimed").unwrap();
    let table = db.table("t").unwrap();
    (1..=20).for_each(|n| append(&db, &table, n));
    assert!(db.timings().is_empty());
}

#[test]
fn each_database_times_its_own_share() {
    let open = |count| Options::in_memory().cache_size(8 << 20).time_one_in(count).open("t");
    let all = [(open(1).unwrap(), 64), (open(16).unwrap(), 4)];
    let tables = all.each_ref().map(|(db, _)| db.table("t").unwrap());
    for n in 1..=64 {
        all.iter().zip(&tables).for_each(|((db, _), table)| append(db, table, n));
    }
    for (db, timed) in &all {
        let timings = db.timings();
        let counted = timings.iter().find(|timings| timings.name == "append").unwrap();
        assert_eq!(counted.latency.count(), *timed);
    }
}
