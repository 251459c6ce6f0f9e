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

use bodies::{
    Log, an_earlier_record_happens_before_a_later_one, group_holds_only_filled_records,
    nothing_comes_behind_a_close, room_is_handed_back_after_the_flush,
};
use clearway_base::{Lsn, LsnSpan};
use clearway_log::parts::LogParts;
use clearway_sync::{check, thread};

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
                check($preemptions, move || super::$model(&parts));
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

/// Three inserters of records of different sizes, of which two may form a group: there is one
/// place.
fn groups_of_two_and_one(parts: &dyn LogParts) {
    let log = Log::new(parts);
    let inserters: Vec<_> = [(1, 64), (2, 96)]
        .map(|(txn, bytes)| {
            let log = log.clone();
            thread::spawn(move || log.insert(txn, bytes).expect("room for all"))
        })
        .into();
    let mine = log.insert(3, 32).expect("room for all");
    let mut spans: Vec<LsnSpan> = inserters.into_iter().map(|one| one.join().unwrap()).collect();
    spans.push(mine);
    spans.sort_unstable_by_key(|span| span.start);
    assert!(spans.windows(2).all(|pair| pair[0].end == pair[1].start), "no hole, no overlap");
    let (mut found, _) = log.flush(Lsn::ZERO).expect("there are records");
    found.sort_unstable();
    assert_eq!(found, [1, 2, 3]);
}

/// Two inserters that may form a group while the flusher has the cursor, and a flush of their
/// records before they are done.
fn groups_are_flown_while_others_fill(parts: &dyn LogParts) {
    let log = Log::new(parts);
    let inserters = [(1, 64), (2, 96)].map(|(txn, bytes)| {
        let log = log.clone();
        thread::spawn(move || log.insert(txn, bytes).expect("room for all"))
    });
    let (mut found, mut at) = (Vec::new(), Lsn::ZERO);
    let mut flush = || {
        if let Some((more, end)) = log.flush(at) {
            found.extend(more);
            at = end;
        }
    };
    flush();
    flush();
    inserters.into_iter().for_each(|one| {
        one.join().unwrap();
    });
    flush();
    found.sort_unstable();
    assert_eq!(found, [1, 2]);
}
