//! Early lock release: who saw what a commit has not made durable yet must wait with it.

use std::{
    ops::Bound,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use clearway_base::{Error, Lsn};
use clearway_disk::MemoryDisk;
use clearway_lock::WaitLimit;
use clearway_testkit::disk::{Faults, FaultyDisk, Lasting, Operation};
use clearway_tree::{Direction, ReadIntent};
use clearway_txn::{Engine, EngineOptions, Table, Transaction};
use clearway_variants::txn::{EarlyRelease, TxnVariant};

use crate::rig::{commit, open_with, options, put, read_all};

/// An engine whose log writes can be held up.
struct Stalled {
    engine: Arc<Engine>,
    table: Table,
    stall: Arc<AtomicBool>,
    faults: Faults,
}

impl Drop for Stalled {
    /// A test that fails does not leave the engine waiting for its log.
    fn drop(&mut self) {
        self.stall.store(false, Ordering::SeqCst);
    }
}

fn stalled(options: EngineOptions) -> Stalled {
    let (faults, stall) = (Faults::new(), Arc::new(AtomicBool::new(false)));
    let held = stall.clone();
    faults.watch(move |event| {
        while held.load(Ordering::SeqCst) && event.name.starts_with("log/") {
            std::thread::sleep(Duration::from_millis(1));
        }
        None
    });
    let disk = FaultyDisk::new(MemoryDisk::new(), faults.clone());
    let engine = open_with(disk, options);
    let table = engine.create_table("t").unwrap();
    for key in ["a", "c", "e"] {
        put(&engine, &table, key, "old");
    }
    Stalled { engine, table, stall, faults }
}

#[test]
fn reader_of_undurable_data_waits_for_its_writer() {
    let s = stalled(options());
    let table = &s.table;
    type Read = fn(&mut Transaction, &Table);
    let reads: [(&str, Read); 5] = [
        ("point", |txn, t| assert_eq!(txn.get(t, b"c").unwrap().unwrap(), b"new")),
        ("deleted key", |txn, t| assert!(txn.get(t, b"e").unwrap().is_none())),
        ("scan", |txn, t| assert_eq!(read_all(txn, t).unwrap().len(), 3)),
        ("duplicate", |txn, t| {
            assert!(matches!(txn.insert(t, b"d", b"x"), Err(Error::DuplicateKey { .. })));
        }),
        ("descending", |txn, t| {
            let (low, high) = (Bound::Unbounded, Bound::Unbounded);
            let (order, intent) = (Direction::Descending, ReadIntent::Read);
            let mut cursor = txn.cursor(t, low, high, order, intent).unwrap();
            assert_eq!(cursor.next(txn).unwrap().unwrap().0, b"d");
        }),
    ];
    s.stall.store(true, Ordering::SeqCst);
    let mut writer = s.engine.begin();
    writer.update(table, b"c", b"new").unwrap();
    writer.delete(table, b"e").unwrap();
    writer.insert(table, b"d", b"new").unwrap();
    let written = writer.commit().unwrap();
    assert!(s.engine.log().durable() < written.ack);
    for (what, read) in reads {
        let mut reader = s.engine.begin();
        read(&mut reader, table);
        let committed = reader.commit().unwrap();
        assert!(!committed.wrote, "{what}");
        assert!(committed.ack >= written.ack, "{what}: acknowledged before its writer");
    }
    // A reader that reads again, and a writer that builds on it.
    let mut dependent = s.engine.begin();
    dependent.update(table, b"c", b"newer").unwrap();
    let after = dependent.commit().unwrap();
    assert!(after.ack > written.ack);
    s.stall.store(false, Ordering::SeqCst);
    s.engine.log().wait_durable(after.ack).unwrap();
    let mut reader = s.engine.begin();
    assert_eq!(reader.get(table, b"c").unwrap().unwrap(), b"newer");
    assert!(reader.commit().unwrap().ack <= s.engine.log().durable());
}

#[test]
fn reader_of_old_data_does_not_wait() {
    let s = stalled(options());
    s.stall.store(true, Ordering::SeqCst);
    let mut writer = s.engine.begin();
    writer.update(&s.table, b"c", b"new").unwrap();
    writer.rollback().unwrap();
    // A rollback raises no tag: what is read is what was durable before.
    let mut reader = s.engine.begin();
    assert_eq!(reader.get(&s.table, b"c").unwrap().unwrap(), b"old");
    let committed = reader.commit().unwrap();
    assert!(committed.ack <= s.engine.log().durable());
    assert_eq!(s.engine.begin().commit().unwrap().ack, Lsn::ZERO);
    s.stall.store(false, Ordering::SeqCst);
}

#[test]
fn without_early_release_a_reader_waits_for_the_lock() {
    for early_release in [EarlyRelease::None, EarlyRelease::Shared] {
        let s = stalled(EngineOptions {
            parts: Arc::new(TxnVariant::from(early_release)),
            ..options()
        });
        s.stall.store(true, Ordering::SeqCst);
        let mut writer = s.engine.begin();
        writer.update(&s.table, b"c", b"new").unwrap();
        assert_eq!(writer.get(&s.table, b"a").unwrap().unwrap(), b"old");
        let before = s.engine.stats().commits;
        std::thread::scope(|scope| {
            let committer = scope.spawn(|| writer.commit());
            // Counted once the commit record stands, just before any lock goes.
            while s.engine.stats().commits == before {
                std::thread::yield_now();
            }
            std::thread::sleep(Duration::from_millis(20));
            let mut other = s.engine.begin();
            other.set_wait_limit(WaitLimit::NoWait);
            let written = other.get(&s.table, b"c");
            assert!(
                matches!(written, Err(Error::WouldBlock { .. })),
                "{early_release:?}: {written:?}"
            );
            let read = other.update(&s.table, b"a", b"newer");
            let is_free = !matches!(read, Err(Error::WouldBlock { .. }));
            assert_eq!(is_free, early_release == EarlyRelease::Shared, "{read:?}");
            other.rollback().unwrap();
            assert!(!committer.is_finished());
            s.stall.store(false, Ordering::SeqCst);
            let written = committer.join().unwrap().unwrap();
            assert!(s.engine.log().durable() >= written.ack);
            let mut reader = s.engine.begin();
            assert_eq!(reader.get(&s.table, b"c").unwrap().unwrap(), b"new");
            assert!(reader.commit().unwrap().ack <= s.engine.log().durable());
        });
    }
}

#[test]
fn failed_flush_stops_every_dependent() {
    let s = stalled(options());
    s.stall.store(true, Ordering::SeqCst);
    let mut writer = s.engine.begin();
    writer.update(&s.table, b"c", b"new").unwrap();
    let written = writer.commit().unwrap();
    let mut reader = s.engine.begin();
    assert_eq!(reader.get(&s.table, b"c").unwrap().unwrap(), b"new");
    let read = reader.commit().unwrap();
    let mut open = s.engine.begin();
    open.update(&s.table, b"a", b"open").unwrap();
    let mut late = s.engine.begin();
    assert!(late.get(&s.table, b"e").unwrap().is_some());

    s.faults.fail(Operation::Write, "log/", 1, std::io::ErrorKind::Other, Lasting::Once);
    s.faults.fail(Operation::Sync, "log/", 1, std::io::ErrorKind::Other, Lasting::Once);
    s.stall.store(false, Ordering::SeqCst);
    let log = s.engine.log();
    assert!(matches!(log.wait_durable(written.ack), Err(Error::OutcomeUnknown { .. })));
    assert!(matches!(log.wait_durable(read.ack), Err(Error::OutcomeUnknown { .. })));
    assert!(matches!(open.commit(), Err(Error::Poisoned { .. })));
    assert!(matches!(late.commit(), Err(Error::Poisoned { .. })), "a reader commits no more");
    assert!(s.engine.health().is_err());
    let mut next = s.engine.begin();
    assert!(matches!(next.get(&s.table, b"a"), Err(Error::Poisoned { .. })));
    assert!(s.engine.checkpoint().is_err());
}

#[test]
fn commits_follow_each_other_in_the_order_of_their_effects() {
    let s = stalled(options());
    // Everyone increments one counter; a higher value must have a later commit record.
    let acks = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    let mut acks = Vec::new();
                    for _ in 0..200 {
                        let mut txn = s.engine.begin();
                        let old = txn.get_for_update(&s.table, b"a").unwrap().unwrap();
                        let old = std::str::from_utf8(&old).unwrap().parse().unwrap_or(0u64);
                        let new = (old + 1).to_string();
                        txn.put(&s.table, b"a", new.as_bytes()).unwrap();
                        acks.push((old + 1, txn.commit().unwrap().ack));
                    }
                    acks
                })
            })
            .collect();
        let mut acks: Vec<_> =
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
        acks.sort_unstable();
        acks
    });
    assert_eq!(acks.last().unwrap().0, 800);
    assert!(acks.windows(2).all(|pair| pair[0].0 + 1 == pair[1].0 && pair[0].1 < pair[1].1));
    let mut txn = s.engine.begin();
    txn.put(&s.table, b"z", b"end").unwrap();
    commit(&s.engine, txn);
}
