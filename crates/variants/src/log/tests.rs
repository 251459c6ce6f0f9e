//! The tests of an insertion (`crates/log/src/insertion/tests.rs`) for each strategy other than the
//! engine's, and for each way to form a group without other threads.

#[path = "../../../log/src/insertion/tests/each.rs"]
mod each;
#[path = "../../../log/src/insertion/tests/every_place.rs"]
mod every_place;

use std::sync::Arc;

use super::{
    ChosenParts, ConsolidatedInsertion, Consolidation, DelegatedInsertion, HybridInsertion,
    LogParts, Strategy,
};

const SIZES: Consolidation = Consolidation { places: 2, slots: 4 };

fn with_each(test: fn(&dyn LogParts)) {
    for strategy in Strategy::ALL.into_iter().filter(|it| *it != Strategy::LockFree) {
        test(&ChosenParts { strategy, consolidation: SIZES, ..ChosenParts::default() });
    }
}

#[test]
fn groups_are_stored_whole_wherever_their_records_stand() {
    with_each(each::groups_are_stored_whole_wherever_their_records_stand);
}

#[test]
fn a_full_ring_refuses_and_still_takes_the_trailer() {
    with_each(each::a_full_ring_refuses_and_still_takes_the_trailer);
}

#[test]
fn groups_begin_and_end_at_sectors_and_empty_ones_get_no_trailer() {
    with_each(each::groups_begin_and_end_at_sectors_and_empty_ones_get_no_trailer);
}

#[test]
fn the_end_is_where_the_next_record_starts() {
    with_each(each::the_end_is_where_the_next_record_starts);
}

#[test]
fn concurrent_inserters_leave_no_hole_and_lose_no_record() {
    with_each(each::concurrent_inserters_leave_no_hole_and_lose_no_record);
}

#[test]
fn every_strategy_stores_every_length_at_every_place() {
    with_each(every_place::one_after_the_other);
}

#[test]
fn a_ring_takes_exactly_what_fits() {
    with_each(every_place::a_ring_takes_exactly_what_fits);
}

#[test]
fn groups_under_a_mutex_store_every_length_at_every_place() {
    let insertion = |ring| Arc::new(ConsolidatedInsertion::new(ring, SIZES));
    every_place::at_every_place(insertion, ConsolidatedInsertion::insert_in_groups);
}

#[test]
fn groups_under_a_latch_store_every_length_at_every_place() {
    let insertion = |ring| Arc::new(HybridInsertion::new(ring, SIZES));
    every_place::at_every_place(insertion, HybridInsertion::insert_in_groups);
}

#[test]
fn groups_with_delegated_release_store_every_length_at_every_place() {
    let insertion = |ring| Arc::new(DelegatedInsertion::new(ring, SIZES));
    every_place::at_every_place(insertion, DelegatedInsertion::insert_in_groups);
}
