//! The intent locks of an owner as other threads see them: a copy of its private table.
//!
//! Invariants:
//! - PUBLISHED-INTENTS-1. Only the owner changes the copy: for each lock with the private table,
//!   and when it releases its locks, before the first of them is released.
//! - PUBLISHED-INTENTS-2. A reader gets each lock whole, but not all of them at one moment. What it
//!   gets is exact if the owner does not move meanwhile: while the owner waits (WAIT-RECORD-3), and
//!   if the owner's transaction cannot go on before the reader's thread does. Otherwise the owner
//!   held the lock at some moment, not before the last store of the owner that the reader has
//!   acquired.

use clearway_sync::{
    SpinLatch,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use crate::intent::{HeldIntent, IntentMode};

/// The locks for which no latch is needed: a TPC-B transaction takes five intent locks, on four
/// tables and on the database.
const FIRST: usize = 8;

/// See the module.
#[derive(Default)]
pub(crate) struct PublishedIntents {
    count: AtomicUsize,
    /// The first locks, each packed into a word.
    first: [AtomicU64; FIRST],
    /// The others.
    rest: SpinLatch<Vec<HeldIntent>>,
}

fn pack(held: HeldIntent) -> u64 {
    u64::from(held.entry) | (held.mode as u64) << 32
}

fn unpack(word: u64) -> HeldIntent {
    HeldIntent { entry: word as u32, mode: IntentMode::ALL[(word >> 32) as usize] }
}

impl PublishedIntents {
    /// Publishes a lock at its place in the private table: the next one, or one that is published.
    #[inline]
    pub(crate) fn set(&self, at: usize, count: usize, held: HeldIntent) {
        match self.first.get(at) {
            Some(word) => word.store(pack(held), Ordering::Relaxed), // before the count
            None => self.set_in_rest(at - FIRST, held),
        }
        // Release pairs with the Acquire in `mode_on`.
        self.count.store(count, Ordering::Release);
    }

    #[cold]
    fn set_in_rest(&self, at: usize, held: HeldIntent) {
        let mut rest = self.rest.lock();
        rest.truncate(at.max(self.count.load(Ordering::Relaxed).saturating_sub(FIRST)));
        match rest.get_mut(at) {
            Some(place) => *place = held,
            None => rest.push(held),
        }
    }

    /// Withdraws all locks.
    #[inline]
    pub(crate) fn clear(&self) {
        self.count.store(0, Ordering::Release);
    }

    /// Returns the mode in which the owner holds a resource (PUBLISHED-INTENTS-2).
    pub(crate) fn mode_on(&self, entry: u32) -> Option<IntentMode> {
        let is_it = |held: &HeldIntent| held.entry == entry;
        // Acquire pairs with the Release of the owner: the locks below the count are there.
        let count = self.count.load(Ordering::Acquire);
        let first = self.first[..count.min(FIRST)].iter();
        let mut first = first.map(|word| unpack(word.load(Ordering::Relaxed)));
        let found = first.find(is_it).or_else(|| {
            let rest = if count > FIRST { Some(self.rest.lock()) } else { None };
            rest?.iter().take(count - FIRST).copied().find(is_it)
        });
        found.map(|held| held.mode)
    }
}

#[cfg(all(test, not(any(loom, shuttle))))]
mod tests {
    use super::*;

    fn held(entry: u32, mode: IntentMode) -> HeldIntent {
        HeldIntent { entry, mode }
    }

    #[test]
    fn what_is_published_is_found_until_it_is_withdrawn() {
        let published = PublishedIntents::default();
        for count in [0, 1, FIRST, 3 * FIRST, FIRST + 1, FIRST - 1, 2 * FIRST] {
            for at in 0..count {
                let entry = (count * 100 + at) as u32;
                assert_eq!(published.mode_on(entry), None);
                published.set(at, at + 1, held(entry, IntentMode::IS));
            }
            for at in 0..count {
                let entry = (count * 100 + at) as u32;
                assert_eq!(published.mode_on(entry), Some(IntentMode::IS));
                published.set(at, count, held(entry, IntentMode::SIX));
            }
            let entries = 0..(4 * FIRST * 100) as u32;
            let all: Vec<_> = entries.filter(|entry| published.mode_on(*entry).is_some()).collect();
            let expected: Vec<_> = (0..count).map(|at| (count * 100 + at) as u32).collect();
            assert_eq!(all, expected, "and none of earlier transactions");
            let six = |entry: &u32| published.mode_on(*entry) == Some(IntentMode::SIX);
            assert!(expected.iter().all(six));
            published.clear();
            assert!(expected.iter().all(|entry| published.mode_on(*entry).is_none()));
        }
    }

    #[test]
    fn every_mode_and_the_highest_entry_fit_a_word() {
        for mode in IntentMode::ALL {
            assert_eq!(unpack(pack(held(u32::MAX, mode))), held(u32::MAX, mode));
        }
    }
}
