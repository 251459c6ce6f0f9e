//! Models of reservation, release and room in the ring, for the product's insertion.
//!
//! Deliberate errors, and the model that was seen to fail for each:
//!
//! - `group_holds_only_filled_records`: `Relaxed` in `Links::mark`; `mark` before `fill`; `Relaxed`
//!   in `Links::follow`; no `await_released`.
//! - `nothing_comes_behind_a_close`: a close without a latch that inserters do not check.
//! - `an_earlier_record_happens_before_a_later_one`: `Release` alone in the reservation without a
//!   latch.
//! - `room_is_handed_back_after_the_flush`: `Relaxed` in `set_durable`; `Relaxed` in `durable`;
//!   a limit that is one record too high (RING-2).

mod bodies;

use clearway_sync::check;

use crate::parts::ProductLogParts;

#[test]
fn group_holds_only_filled_records() {
    check(4, || bodies::group_holds_only_filled_records(&ProductLogParts));
}

#[test]
fn room_is_handed_back_after_the_flush() {
    check(4, || bodies::room_is_handed_back_after_the_flush(&ProductLogParts));
}

#[test]
fn nothing_comes_behind_a_close() {
    check(4, || bodies::nothing_comes_behind_a_close(&ProductLogParts));
}

#[test]
fn an_earlier_record_happens_before_a_later_one() {
    check(4, || bodies::an_earlier_record_happens_before_a_later_one(&ProductLogParts));
}
