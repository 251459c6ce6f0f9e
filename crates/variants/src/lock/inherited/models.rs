//! Models of inherited intent locks: an owner that passes a lock on against an absolute request for
//! the resource.
//!
//! Deliberate errors, and the model that was seen to fail for each:
//!
//! - `left_lock_is_flushed_or_taken_back`: either of the two fences of INHERITED-2 left out; no
//!   second check of `absolutes` after a lock was left.
//! - `lock_is_claimed_or_flushed_and_not_both`: a claim that stores instead of comparing
//!   (INHERITED-1).
//! - `absolute_reader_meets_the_tag_that_was_left`: a flush that does not transfer the tag
//!   (INHERITED-4); the tag stored after the word; the word stored, or taken, with `Relaxed`.

use clearway_base::Lsn;
use clearway_lock::{IntentMode, LockOptions, LockOwner, LockTable, ResourceId, WaitLimit};
use clearway_sync::{check, thread};

use crate::lock::{IntentMethod, LockVariants};

const TABLE: ResourceId = ResourceId(0);
const COMMIT: Lsn = Lsn(33);

fn table() -> LockTable {
    let options = LockOptions {
        buckets: 1,
        intents: 1,
        wait_limit: None,
        spins: 0,
        ..LockOptions::default()
    };
    LockTable::new(options.lock_variant(IntentMethod::Inherited))
}

fn intend(table: &LockTable, owner: &mut LockOwner, mode: IntentMode) {
    table.acquire_intent(owner, TABLE, mode, WaitLimit::Forever).unwrap();
}

/// A lost flush is an absolute locker that waits for ever, which loom reports.
#[test]
fn left_lock_is_flushed_or_taken_back() {
    check(3, || {
        let table = table();
        let (mut writer, mut reader) = (table.owner(), table.owner());
        intend(&table, &mut writer, IntentMode::IX);
        let leaver = {
            let table = table.clone();
            thread::spawn(move || {
                table.release_all(&mut writer, None);
                writer
            })
        };
        intend(&table, &mut reader, IntentMode::S);
        drop((leaver.join().unwrap(), reader));
        assert!(table.is_quiescent());
    });
}

#[test]
fn lock_is_claimed_or_flushed_and_not_both() {
    check(2, || {
        let table = table();
        let (mut first, mut second) = (table.owner(), table.owner());
        intend(&table, &mut first, IntentMode::IX);
        table.release_all(&mut first, None);
        let claimer = {
            let table = table.clone();
            thread::spawn(move || {
                let limit = WaitLimit::NoWait;
                let has = table.acquire_intent(&mut first, TABLE, IntentMode::IX, limit).is_ok();
                (first, has)
            })
        };
        let limit = WaitLimit::NoWait;
        let flushed = table.acquire_intent(&mut second, TABLE, IntentMode::X, limit).is_ok();
        let (first, claimed) = claimer.join().unwrap();
        assert!(!(claimed && flushed), "INHERITED-1");
        drop((first, second));
        assert!(table.is_quiescent());
    });
}

#[test]
fn absolute_reader_meets_the_tag_that_was_left() {
    check(3, || {
        let table = table();
        let (mut writer, mut reader) = (table.owner(), table.owner());
        intend(&table, &mut writer, IntentMode::IX);
        let leaver = {
            let table = table.clone();
            thread::spawn(move || {
                table.release_all(&mut writer, Some(COMMIT));
                // The next transaction takes the lock over and changes nothing.
                let again =
                    table.acquire_intent(&mut writer, TABLE, IntentMode::IX, WaitLimit::NoWait);
                table.release_all(&mut writer, None);
                (writer, again.is_ok())
            })
        };
        intend(&table, &mut reader, IntentMode::S);
        assert_eq!(reader.max_tag(), COMMIT, "INHERITED-4");
        drop((leaver.join().unwrap(), reader));
        assert!(table.is_quiescent());
    });
}
