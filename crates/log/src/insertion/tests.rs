//! The tests of the product's insertion; their bodies are shared with those of the variants.

mod each;
mod every_place;

use crate::parts::ProductLogParts;

#[test]
fn groups_are_stored_whole_wherever_their_records_stand() {
    each::groups_are_stored_whole_wherever_their_records_stand(&ProductLogParts);
}

#[test]
fn a_full_ring_refuses_and_still_takes_the_trailer() {
    each::a_full_ring_refuses_and_still_takes_the_trailer(&ProductLogParts);
}

#[test]
fn groups_begin_and_end_at_sectors_and_empty_ones_get_no_trailer() {
    each::groups_begin_and_end_at_sectors_and_empty_ones_get_no_trailer(&ProductLogParts);
}

#[test]
fn the_end_is_where_the_next_record_starts() {
    each::the_end_is_where_the_next_record_starts(&ProductLogParts);
}

#[test]
fn concurrent_inserters_leave_no_hole_and_lose_no_record() {
    each::concurrent_inserters_leave_no_hole_and_lose_no_record(&ProductLogParts);
}

#[test]
fn every_length_is_stored_at_every_place() {
    every_place::one_after_the_other(&ProductLogParts);
}

#[test]
fn a_ring_takes_exactly_what_fits() {
    every_place::a_ring_takes_exactly_what_fits(&ProductLogParts);
}
