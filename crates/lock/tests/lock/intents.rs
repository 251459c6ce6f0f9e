//! Intent locks, with each method: modes, upgrades, starvation, leaks, tags.

use std::time::Duration;

use clearway_base::{Error, Lsn};
use clearway_lock::{
    IntentMode::{self, IS, IX, S, SIX, X},
    LockOwner, LockTable, ResourceId, WaitLimit,
};

use crate::{Step, intend, intent_tables, owners};

const MODES: [IntentMode; 5] = [IS, IX, S, SIX, X];

#[test]
fn each_pair_of_modes_is_granted_exactly_if_compatible() {
    for table in intent_tables() {
        for first in MODES {
            for second in MODES {
                let [mut a, mut b] = owners(&table);
                assert_eq!(intend(&table, &mut a, 1, first), Step::Granted);
                let expected = if first.compatible(second) { Step::Granted } else { Step::Waits };
                assert_eq!(intend(&table, &mut b, 1, second), expected, "{first:?} {second:?}");
                table.release_all(&mut a, None);
                assert_eq!(intend(&table, &mut b, 1, second), Step::Granted);
            }
        }
        assert!(table.is_quiescent());
    }
}

#[test]
fn upgrade_does_not_conflict_with_itself() {
    for table in intent_tables() {
        for first in MODES {
            for second in MODES {
                let [mut a, mut b] = owners(&table);
                assert_eq!(intend(&table, &mut a, 1, first), Step::Granted);
                assert_eq!(intend(&table, &mut a, 1, second), Step::Granted);
                assert_eq!(a.held_intents(), 1);
                // It is counted once, and as the supremum.
                let expected =
                    if first.supremum(second).compatible(IX) { Step::Granted } else { Step::Waits };
                assert_eq!(intend(&table, &mut b, 1, IX), expected);
            }
        }
        assert!(table.is_quiescent());
    }
}

#[test]
fn waiter_that_gives_up_takes_its_count_with_it() {
    for table in intent_tables() {
        for absolute in [S, SIX, X] {
            let [mut a, mut b, mut c] = owners(&table);
            assert_eq!(intend(&table, &mut a, 1, IX), Step::Granted);
            let limit = WaitLimit::For(Duration::from_millis(2));
            let end = table.acquire_intent(&mut b, ResourceId(1), absolute, limit);
            assert!(matches!(end, Err(Error::LockTimeout { .. })));
            assert_eq!(intend(&table, &mut c, 1, IX), Step::Granted);
            assert_eq!(intend(&table, &mut b, 1, absolute), Step::Waits);
            table.cancel(&mut b);
            assert_eq!(intend(&table, &mut b, 1, IS), Step::Granted);
        }
        assert!(table.is_quiescent());
        assert_eq!(table.stats().timeouts, 3);
    }
}

#[test]
fn upgrade_that_gives_up_keeps_what_it_had() {
    for table in intent_tables() {
        let [mut a, mut b] = owners(&table);
        assert_eq!(intend(&table, &mut a, 1, IX), Step::Granted);
        assert_eq!(intend(&table, &mut b, 1, IS), Step::Granted);
        assert_eq!(intend(&table, &mut b, 1, X), Step::Waits);
        table.cancel(&mut b);
        assert_eq!(intend(&table, &mut a, 1, X), Step::Waits, "b still holds IS");
        table.release_all(&mut b, None);
        assert_eq!(intend(&table, &mut a, 1, X), Step::Granted);
    }
}

#[test]
fn grant_that_is_not_picked_up_is_released() {
    for table in intent_tables() {
        let [mut a, mut b, mut c] = owners(&table);
        assert_eq!(intend(&table, &mut a, 1, X), Step::Granted);
        assert_eq!(intend(&table, &mut b, 1, X), Step::Waits);
        assert_eq!(intend(&table, &mut c, 1, IS), Step::Waits);
        table.release_all(&mut a, None);
        table.cancel(&mut b);
        assert_eq!(intend(&table, &mut c, 1, IS), Step::Granted);
        drop((b, c));
        assert!(table.is_quiescent());
    }
}

#[test]
fn intents_do_not_starve_an_absolute_locker_nor_it_them() {
    for table in intent_tables() {
        let [mut a, mut absolute, mut b, mut c] = owners(&table);
        assert_eq!(intend(&table, &mut a, 1, IX), Step::Granted);
        assert_eq!(intend(&table, &mut absolute, 1, S), Step::Waits);
        assert_eq!(intend(&table, &mut b, 1, IX), Step::Waits);
        assert_eq!(intend(&table, &mut c, 1, IS), Step::Granted);
        table.release_all(&mut a, None);
        assert_eq!(intend(&table, &mut absolute, 1, S), Step::Granted);
        assert_eq!(intend(&table, &mut a, 1, X), Step::Waits);
        assert_eq!(intend(&table, &mut b, 1, IX), Step::Waits);
        table.release_all(&mut absolute, None);
        table.release_all(&mut c, None);
        assert_eq!(intend(&table, &mut b, 1, IX), Step::Granted);
        assert_eq!(intend(&table, &mut a, 1, X), Step::Waits);
    }
}

#[test]
fn no_wait_is_refused_and_leaves_nothing() {
    for table in intent_tables() {
        let [mut a, mut b] = owners(&table);
        assert_eq!(intend(&table, &mut a, 1, S), Step::Granted);
        let end = table.acquire_intent(&mut b, ResourceId(1), IX, WaitLimit::NoWait);
        assert!(matches!(end, Err(Error::WouldBlock { .. })));
        assert_eq!(intend(&table, &mut a, 1, X), Step::Granted);
    }
}

#[test]
fn resources_that_share_an_entry_are_one_resource() {
    // Four entries: resources 1 and 5 share one. Their owner does not block itself.
    for table in intent_tables() {
        let [mut a, mut b] = owners(&table);
        assert_eq!(intend(&table, &mut a, 1, IX), Step::Granted);
        assert_eq!(intend(&table, &mut a, 5, X), Step::Granted);
        assert_eq!(a.held_intents(), 1);
        assert_eq!(intend(&table, &mut b, 1, IS), Step::Waits);
    }
}

#[test]
fn absolute_readers_meet_the_tag_of_part_writers() {
    for table in intent_tables() {
        let [mut a, mut b] = owners(&table);
        assert_eq!(intend(&table, &mut a, 1, IX), Step::Granted);
        table.release_all(&mut a, Some(Lsn(40)));
        // An intent reads parts, and meets their tags there.
        assert_eq!(intend(&table, &mut b, 1, IS), Step::Granted);
        assert_eq!(b.max_tag(), Lsn::ZERO);
        for absolute in [S, SIX, X] {
            table.release_all(&mut b, None);
            assert_eq!(intend(&table, &mut b, 1, absolute), Step::Granted);
            assert_eq!(b.max_tag(), Lsn(40));
        }
        // Also by an upgrade.
        table.release_all(&mut b, None);
        assert_eq!(intend(&table, &mut b, 1, IS), Step::Granted);
        assert_eq!(intend(&table, &mut b, 1, S), Step::Granted);
        assert_eq!(b.max_tag(), Lsn(40));
    }
}

#[test]
fn every_owner_meets_the_tag_of_an_absolute_writer() {
    for table in intent_tables() {
        let [mut a, mut b, mut c] = owners(&table);
        assert_eq!(intend(&table, &mut a, 1, X), Step::Granted);
        assert_eq!(intend(&table, &mut b, 1, IS), Step::Waits);
        table.release_all(&mut a, Some(Lsn(7)));
        assert_eq!(intend(&table, &mut b, 1, IS), Step::Granted);
        assert_eq!(intend(&table, &mut c, 1, IX), Step::Granted);
        assert_eq!((b.max_tag(), c.max_tag()), (Lsn(7), Lsn(7)));
        assert_eq!(table.intent_tag(ResourceId(1), IS), Lsn(7));
    }
}

#[test]
fn rollback_and_shared_release_leave_no_tag() {
    for table in intent_tables() {
        let [mut a] = owners(&table);
        assert_eq!(intend(&table, &mut a, 1, SIX), Step::Granted);
        table.release_shared(&mut a);
        assert_eq!(table.intent_tag(ResourceId(1), S), Lsn::ZERO);
        assert_eq!(a.held_intents(), 1, "IX is left of SIX");
        table.release_all(&mut a, None);
        assert_eq!(table.intent_tag(ResourceId(1), S), Lsn::ZERO);
    }
}

/// A transaction that takes one intent lock and commits at `commit`.
pub(crate) fn pass(table: &LockTable, owner: &mut LockOwner, mode: IntentMode, commit: u64) {
    assert_eq!(intend(table, owner, 1, mode), Step::Granted);
    table.release_all(owner, Some(Lsn(commit)));
}

#[test]
fn absolute_request_flushes_what_others_have_left() {
    for table in intent_tables() {
        let [mut a, mut b, mut c] = owners(&table);
        for absolute in [S, SIX, X] {
            pass(&table, &mut a, IX, 10);
            pass(&table, &mut b, IS, 11);
            assert_eq!(intend(&table, &mut c, 1, absolute), Step::Granted, "{absolute:?}");
            assert_eq!(c.max_tag(), Lsn(10), "the tag was transferred");
            assert_eq!(intend(&table, &mut a, 1, IX), Step::Waits, "nothing is left");
            table.release_all(&mut c, None);
            assert_eq!(intend(&table, &mut a, 1, IX), Step::Granted);
            table.release_all(&mut a, None);
        }
    }
}

#[test]
fn no_lock_is_passed_on_while_an_absolute_request_waits() {
    for table in intent_tables() {
        let [mut a, mut b, mut c] = owners(&table);
        assert_eq!(intend(&table, &mut a, 1, IS), Step::Granted);
        assert_eq!(intend(&table, &mut b, 1, IX), Step::Granted);
        assert_eq!(intend(&table, &mut c, 1, X), Step::Waits);
        table.release_all(&mut a, Some(Lsn(3)));
        table.release_all(&mut b, Some(Lsn(5)));
        assert_eq!(intend(&table, &mut c, 1, X), Step::Granted);
        assert_eq!(c.max_tag(), Lsn(5));
        // An absolute request that was withdrawn, or refused at once, blocks no other request.
        table.release_all(&mut c, None);
        assert_eq!(intend(&table, &mut a, 1, IS), Step::Granted);
        assert_eq!(intend(&table, &mut c, 1, X), Step::Waits);
        table.cancel(&mut c);
        let refused = table.acquire_intent(&mut c, ResourceId(1), X, WaitLimit::NoWait);
        assert!(matches!(refused, Err(Error::WouldBlock { .. })));
        assert_eq!(intend(&table, &mut b, 1, IX), Step::Granted);
    }
}

#[test]
fn upgrade_of_an_inherited_lock_is_a_conversion() {
    for table in intent_tables() {
        let [mut a, mut b] = owners(&table);
        pass(&table, &mut a, IX, 1);
        for wanted in [IS, IX, SIX, X] {
            assert_eq!(intend(&table, &mut a, 1, wanted), Step::Granted);
            assert_eq!(a.held_intents(), 1);
            let met = if wanted.is_absolute() { Lsn(1) } else { Lsn::ZERO };
            assert_eq!(a.max_tag(), met, "the tag of its own earlier commit counts like any other");
        }
        assert_eq!(intend(&table, &mut b, 1, IS), Step::Waits);
        table.release_all(&mut a, Some(Lsn(8)));
        assert_eq!(intend(&table, &mut b, 1, IS), Step::Granted);
        assert_eq!(b.max_tag(), Lsn(8));
    }
}
