//! Commit tags: raised before a lock is grantable, met by every reader, never lost.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    thread,
};

use clearway_base::Lsn;
use clearway_lock::{LockOptions, LockTable, Outcome, RangeMode, WaitLimit};

use crate::{Step, ask, id, owners, table};

#[test]
fn committed_writer_leaves_its_tag_to_readers_of_key_and_gap() {
    for written in [RangeMode::XN, RangeMode::NX, RangeMode::XX, RangeMode::SX, RangeMode::XS] {
        let table = table();
        let [mut a, mut b, mut c] = owners(&table);
        assert_eq!(table.try_acquire(&mut a, id(1), written), Outcome::Granted);
        table.release_all(&mut a, Some(Lsn(99)));
        assert_eq!(table.try_acquire(&mut b, id(1), RangeMode::SN), Outcome::Granted);
        assert_eq!(table.check(&mut c, id(1), RangeMode::NS), Outcome::Granted);
        assert_eq!((b.max_tag(), c.max_tag()), (Lsn(99), Lsn(99)));
    }
}

#[test]
fn readers_and_rollbacks_leave_no_tag() {
    let table = table();
    let [mut a] = owners(&table);
    assert_eq!(table.try_acquire(&mut a, id(1), RangeMode::SS), Outcome::Granted);
    table.release_all(&mut a, Some(Lsn(5)));
    assert_eq!(table.try_acquire(&mut a, id(1), RangeMode::XX), Outcome::Granted);
    table.release_all(&mut a, None);
    assert_eq!(table.tag(id(1)), Lsn::ZERO);
}

#[test]
fn tags_only_rise_and_outlive_every_lock() {
    let table = table();
    let [mut a] = owners(&table);
    for (commit, tag) in [(10, 10), (30, 30), (20, 30)] {
        assert_eq!(table.try_acquire(&mut a, id(1), RangeMode::XN), Outcome::Granted);
        table.release_all(&mut a, Some(Lsn(commit)));
        assert!(table.is_quiescent());
        assert_eq!(table.tag(id(1)), Lsn(tag));
    }
}

#[test]
fn released_owner_starts_without_a_tag_unless_it_inherits_one() {
    let table = table();
    let [mut a] = owners(&table);
    assert_eq!(table.try_acquire(&mut a, id(1), RangeMode::XN), Outcome::Granted);
    table.release_all(&mut a, Some(Lsn(8)));
    assert_eq!(a.max_tag(), Lsn::ZERO);
    a.raise_tag(Lsn(8));
    a.raise_tag(Lsn(3));
    assert_eq!(a.max_tag(), Lsn(8));
}

#[test]
fn waiter_meets_the_tag_of_the_one_it_waited_for() {
    let table = table();
    let [mut a, mut b] = owners(&table);
    assert_eq!(table.try_acquire(&mut a, id(1), RangeMode::XN), Outcome::Granted);
    assert_eq!(ask(&table, &mut b, id(1), RangeMode::SN), Step::Waits);
    table.release_all(&mut a, Some(Lsn(12)));
    assert_eq!(ask(&table, &mut b, id(1), RangeMode::SN), Step::Granted);
    assert_eq!(b.max_tag(), Lsn(12));
}

#[test]
fn denied_check_meets_no_tag_and_conversion_meets_the_tag() {
    let table = table();
    let [mut a, mut b, mut c] = owners(&table);
    assert_eq!(table.try_acquire(&mut b, id(1), RangeMode::SN), Outcome::Granted);
    assert_eq!(table.try_acquire(&mut a, id(1), RangeMode::NX), Outcome::Granted);
    assert_eq!(table.check(&mut c, id(1), RangeMode::NS), Outcome::Denied);
    table.release_all(&mut a, Some(Lsn(12)));
    assert_eq!((b.max_tag(), c.max_tag()), (Lsn::ZERO, Lsn::ZERO));
    assert_eq!(table.try_acquire(&mut b, id(1), RangeMode::NS), Outcome::Granted);
    assert_eq!(b.max_tag(), Lsn(12));
}

#[test]
fn predecessor_inherits_the_tag_of_a_removed_ghost() {
    let table = LockTable::new(LockOptions::default());
    let [mut a] = owners(&table);
    let (ghost, predecessor) = (id(2), id(1));
    assert_eq!(table.try_acquire(&mut a, ghost, RangeMode::XN), Outcome::Granted);
    table.release_all(&mut a, Some(Lsn(50)));
    assert_eq!(table.tag(predecessor), Lsn::ZERO);
    assert!(table.inherit_tag(&mut a, ghost, predecessor, Lsn::ZERO));
    assert_eq!(table.tag(predecessor), Lsn(50));
    // A higher one stays.
    assert_eq!(table.try_acquire(&mut a, predecessor, RangeMode::NX), Outcome::Granted);
    table.release_all(&mut a, Some(Lsn(60)));
    assert!(table.inherit_tag(&mut a, ghost, predecessor, Lsn::ZERO));
    assert_eq!(table.tag(predecessor), Lsn(60));
}

#[test]
fn tag_is_not_handed_to_a_lock_whose_holder_would_miss_it() {
    let table = LockTable::new(LockOptions::default());
    let [mut deleter, mut writer, mut reader, mut keeper] = owners(&table);
    let (ghost, predecessor) = (id(2), id(1));
    assert_eq!(table.try_acquire(&mut reader, predecessor, RangeMode::NS), Outcome::Granted);
    assert_eq!(table.try_acquire(&mut deleter, ghost, RangeMode::XN), Outcome::Granted);
    table.release_all(&mut deleter, Some(Lsn(50)));
    assert!(!table.inherit_tag(&mut keeper, ghost, predecessor, Lsn(49)));
    assert_eq!((table.tag(predecessor), keeper.max_tag()), (Lsn::ZERO, Lsn::ZERO));
    // The key has been written since, which the gap's reader has not met.
    assert_eq!(table.try_acquire(&mut writer, predecessor, RangeMode::XN), Outcome::Granted);
    table.release_all(&mut writer, Some(Lsn(60)));
    assert!(!table.inherit_tag(&mut keeper, ghost, predecessor, Lsn(49)));
    // The reader itself may, and meets it; any owner may when it is durable.
    assert!(table.inherit_tag(&mut reader, ghost, predecessor, Lsn(49)));
    assert_eq!(reader.max_tag(), Lsn(50));
    assert!(table.inherit_tag(&mut keeper, ghost, predecessor, Lsn(50)));
}

#[test]
fn tag_is_never_older_than_what_the_lock_protects() {
    // Each holder writes the LSN it will commit with; an owner that is granted the lock, by trying
    // or by waiting, or that passes a check, must have met a tag at least as high as what it reads.
    let table = table();
    let (value, next) = (AtomicU64::new(0), AtomicU64::new(1));
    thread::scope(|scope| {
        for reader in [false, false, true, true] {
            let (table, value, next) = (&table, &value, &next);
            scope.spawn(move || {
                let mut owner = table.owner();
                for round in 0..20_000u64 {
                    let mode = if reader { RangeMode::SN } else { RangeMode::XN };
                    if table.try_acquire(&mut owner, id(1), mode) == Outcome::Denied {
                        let end = table.acquire(&mut owner, id(1), mode, WaitLimit::Forever);
                        end.expect("one lock makes no cycle");
                    }
                    // Relaxed on purpose: the lock alone orders the accesses.
                    let read = value.load(Ordering::Relaxed);
                    assert!(owner.max_tag() >= Lsn(read), "{:?} < {read}", owner.max_tag());
                    let commit = (!reader).then(|| {
                        let commit = next.fetch_add(1, Ordering::Relaxed);
                        value.store(commit, Ordering::Relaxed);
                        Lsn(commit)
                    });
                    if round % 64 == 0 {
                        thread::yield_now();
                    }
                    table.release_all(&mut owner, commit);
                }
            });
        }
    });
    assert!(table.is_quiescent());
}
