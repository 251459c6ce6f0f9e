//! Intent locks that an owner's next transaction inherits.

use clearway_base::Lsn;
use clearway_lock::{
    IntentMode::{IS, IX, S, X},
    LockOptions, LockTable, ResourceId,
};
use clearway_variants::lock::{IntentMethod, LockVariants};

use crate::{Step, intend, intents::pass, options, owners};

#[test]
fn inherited_lock_is_left_again_by_who_has_used_it() {
    let table = LockTable::new(options().lock_variant(IntentMethod::Inherited));
    let [mut a, mut b] = owners(&table);
    // It is claimed, and passed on again …
    pass(&table, &mut a, IX, 10);
    pass(&table, &mut a, IX, 11);
    // … but not by a transaction that has not used it, so the tag is where it belongs.
    assert_eq!(intend(&table, &mut a, 2, IS), Step::Granted);
    table.release_all(&mut a, None);
    assert_eq!(intend(&table, &mut b, 1, S), Step::Granted);
    assert_eq!(b.max_tag(), Lsn(11));
}

#[test]
fn inherited_ix_is_no_more_than_what_is_asked_for() {
    let table = LockTable::new(options().lock_variant(IntentMethod::Inherited));
    for wanted in [IS, S] {
        let [mut a, mut b] = owners(&table);
        pass(&table, &mut a, IX, 10);
        assert_eq!(intend(&table, &mut a, 1, wanted), Step::Granted);
        assert_eq!(intend(&table, &mut b, 1, S), Step::Granted, "{wanted:?} is held, and no IX");
        assert_eq!(b.max_tag(), Lsn(10));
        assert_eq!(intend(&table, &mut a, 1, IX), Step::Waits, "an upgrade");
    }
}

#[test]
fn more_intents_than_a_will_has_cells_are_released() {
    let table = LockTable::new(LockOptions::default().lock_variant(IntentMethod::Inherited));
    let [mut a, mut b] = owners(&table);
    for round in 1..4 {
        for resource in 0..20 {
            assert_eq!(intend(&table, &mut a, resource, IX), Step::Granted);
        }
        table.release_all(&mut a, Some(Lsn(round)));
    }
    for resource in 0..20 {
        assert_eq!(intend(&table, &mut b, resource, X), Step::Granted);
        assert_eq!(table.intent_tag(ResourceId(resource), S), Lsn(3));
    }
}
