//! Model of the free list.
//!
//! Deliberate errors, and the model that was seen to fail for each:
//!
//! - `slot_has_one_owner_and_the_capacity_holds`: no second check of `taken` under the mutex
//!   (POOL-SLOTS-3).

use std::sync::Arc;

use clearway_sync::{Trace, check, thread};

use super::*;

/// Slots, each with a witness that its owner touches.
struct Owned(Slots, Vec<Trace>);

#[test]
fn slot_has_one_owner_and_the_capacity_holds() {
    check(3, || {
        let slots = Slots::new(2);
        let traces = (0..slots.len()).map(|_| Trace::new()).collect();
        let owned = Arc::new(Owned(slots, traces));
        // One of the two is taken for good.
        assert_eq!(owned.0.take(false), Some(0));
        let threads = [0, 1].map(|_| {
            let owned = owned.clone();
            thread::spawn(move || {
                let Some(slot) = owned.0.take(false) else { return };
                assert_eq!(slot, 1, "POOL-SLOTS-3");
                owned.1[slot as usize].write();
                owned.0.occupy(slot, PageId(7));
                owned.0.vacate(slot);
                owned.0.give_back(slot);
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(owned.0.taken(), 1);
    });
}
