//! Models of reservation, release and room in the ring, for each strategy other than the engine's.
//!
//! Deliberate errors, and the model that was seen to fail for each:
//!
//! - `group_holds_only_filled_records`: `Relaxed` where `Releases` publishes the released LSN, or
//!   in its exchanges.
//! - `groups_of_two_and_one`: `Relaxed` in `Array::notify`; a group that is not closed; a slot that
//!   is freed while a thread waits in it.
//! - `groups_are_flown_while_others_fill`: `Relaxed` in `Array::release`.

#[path = "../../../log/src/ring/models/bodies.rs"]
mod bodies;

use clearway_sync::check;

use super::{ChosenParts, Consolidation, Strategy};

/// A test of each strategy; the number is how many preemptions loom tries.
macro_rules! models {
    ($($model:ident: $($kind:ident $preemptions:literal)*;)*) => {
        $(mod $model {
            use super::*;

            $(#[test]
            #[allow(non_snake_case)]
            fn $kind() {
                let consolidation = Consolidation { places: 1, slots: 2 };
                let strategy = Strategy::$kind;
                let parts = ChosenParts { strategy, consolidation, ..ChosenParts::default() };
                check($preemptions, move || bodies::$model(&parts));
            })*
        })*
    };
}

models! {
    group_holds_only_filled_records: Mutex 3 Consolidated 2 Decoupled 4 Hybrid 2 Delegated 2;
    groups_of_two_and_one: Consolidated 2 Hybrid 2 Delegated 1;
    groups_are_flown_while_others_fill: Consolidated 2 Hybrid 2 Delegated 2;
    room_is_handed_back_after_the_flush: Mutex 3 Consolidated 2 Decoupled 4 Hybrid 2 Delegated 2;
    nothing_comes_behind_a_close: Decoupled 3 Hybrid 2;
    an_earlier_record_happens_before_a_later_one:
        Mutex 3 Consolidated 2 Decoupled 3 Hybrid 2 Delegated 2;
}
