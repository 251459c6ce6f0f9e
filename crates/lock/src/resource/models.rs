//! Models of intent locks.
//!
//! Deliberate errors, and the model that was seen to fail for each:
//!
//! - `absolute_locker_meets_the_writers_tag`: tags that are not raised (RESOURCE-5).
//! - `upgrade_passes_its_own_count_and_waits_for_the_other`: an owner's own count left in
//!   `others` (RESOURCE-3); tags that are not raised.
//! - `waiter_that_gives_up_leaves_no_request`: a withdrawal that leaves the waiter in the list
//!   (RESOURCE-4).

use clearway_base::{Error, Lsn};
use clearway_sync::{check, thread};

use crate::{IntentMode, LockOwner, LockTable, ResourceId, WaitLimit, table::models::table};

const TABLE: ResourceId = ResourceId(0);
const COMMIT: Lsn = Lsn(33);

fn intend(table: &LockTable, owner: &mut LockOwner, mode: IntentMode) {
    table.acquire_intent(owner, TABLE, mode, WaitLimit::Forever).unwrap();
}

#[test]
fn absolute_locker_meets_the_writers_tag() {
    check(3, || {
        let table = table();
        let (mut writer, mut reader) = (table.owner(), table.owner());
        intend(&table, &mut writer, IntentMode::IX);
        let releaser = {
            let table = table.clone();
            thread::spawn(move || {
                table.release_all(&mut writer, Some(COMMIT));
                writer
            })
        };
        intend(&table, &mut reader, IntentMode::S);
        assert_eq!(reader.max_tag(), COMMIT, "RESOURCE-5");
        drop((releaser.join().unwrap(), reader));
        assert!(table.is_quiescent());
    });
}

#[test]
fn upgrade_passes_its_own_count_and_waits_for_the_other() {
    check(3, || {
        let table = table();
        let (mut upgrader, mut other) = (table.owner(), table.owner());
        intend(&table, &mut upgrader, IntentMode::IX);
        intend(&table, &mut other, IntentMode::IX);
        let releaser = {
            let table = table.clone();
            thread::spawn(move || {
                table.release_all(&mut other, Some(COMMIT));
                other
            })
        };
        intend(&table, &mut upgrader, IntentMode::X);
        assert_eq!(upgrader.max_tag(), COMMIT, "an upgrade meets the descendants' tag");
        let mut other = releaser.join().unwrap();
        let refused = table.acquire_intent(&mut other, TABLE, IntentMode::IS, WaitLimit::NoWait);
        assert!(matches!(refused, Err(Error::WouldBlock { .. })), "X is held");
        drop((upgrader, other));
        assert!(table.is_quiescent());
    });
}

#[test]
fn waiter_that_gives_up_leaves_no_request() {
    check(3, || {
        let table = table();
        let (mut holder, mut waiter) = (table.owner(), table.owner());
        intend(&table, &mut holder, IntentMode::IX);
        let releaser = {
            let table = table.clone();
            thread::spawn(move || {
                table.release_all(&mut holder, None);
                holder
            })
        };
        let limit = WaitLimit::For(std::time::Duration::ZERO);
        let granted = table.acquire_intent(&mut waiter, TABLE, IntentMode::X, limit).is_ok();
        let mut holder = releaser.join().unwrap();
        let refused = table.acquire_intent(&mut holder, TABLE, IntentMode::IS, WaitLimit::NoWait);
        assert_eq!(refused.is_err(), granted, "X is held, or no owner waits for it any more");
        drop((waiter, holder));
        assert!(table.is_quiescent());
    });
}
