//! The pins of all fetch stages, and their bound. `fetched_pages` has the interface.
//!
//! Invariants:
//! - FETCH-PINS-1. All sets together keep at most a quarter of the cache. A pin beyond that takes
//!   the pins of the oldest set away, all of them, and if there is no other, those of its own.
//! - FETCH-PINS-2. No thread or task waits for one of these pins: they are preferences, and a
//!   transaction runs without them as well. So pins and locks cannot block each other.
//! - FETCH-PINS-3. `pinned` counts the pages of all sets. A page that leaves a set is returned to
//!   the caller, who unpins it. The caller adds a page to a set once.

use std::collections::BTreeMap;

use clearway_base::PageId;
use clearway_sync::Mutex;

/// The sets of pins share this part of the cache (FETCH-PINS-1).
pub(crate) const SHARE_OF_CACHE: usize = 4;

/// See the module.
pub(crate) struct FetchPins {
    state: Mutex<FetchPinsState>,
    max: usize,
}

#[derive(Default)]
struct FetchPinsState {
    /// By number: the oldest set is the first. A set whose pins were taken away is absent.
    sets: BTreeMap<u64, Vec<PageId>>,
    pinned: usize,
    next_number: u64,
}

/// The result of adding a page to a set.
pub(crate) enum Addition {
    /// It belongs to the set now. The pages of other sets, or of this one, were taken away.
    Added(Vec<Vec<PageId>>),
    /// The set was taken away.
    Refused,
}

impl FetchPins {
    /// The pins of a cache of `capacity` pages.
    pub(crate) fn new(capacity: usize) -> FetchPins {
        FetchPins { state: Mutex::default(), max: capacity / SHARE_OF_CACHE }
    }

    /// The number of pages that are pinned now, counted once for each set.
    pub(crate) fn pinned(&self) -> usize {
        self.state.lock().pinned
    }

    /// Begins an empty set, the newest. Returns its number.
    pub(crate) fn begin(&self) -> u64 {
        let mut state = self.state.lock();
        let number = state.next_number;
        state.next_number += 1;
        state.sets.insert(number, Vec::new());
        number
    }

    /// Adds a page that the caller has pinned.
    pub(crate) fn add(&self, number: u64, page: PageId) -> Addition {
        let mut state = self.state.lock();
        let Some(set) = state.sets.get_mut(&number) else { return Addition::Refused };
        set.push(page);
        state.pinned += 1;
        let mut taken = Vec::new();
        while state.pinned > self.max
            && let Some((_, oldest)) = state.sets.pop_first()
        {
            state.pinned -= oldest.len();
            taken.push(oldest);
        }
        Addition::Added(taken)
    }

    /// The number of pages in a set; `None` if they were taken away.
    pub(crate) fn count(&self, number: u64) -> Option<usize> {
        self.state.lock().sets.get(&number).map(Vec::len)
    }

    /// Ends a set. Returns its pages.
    pub(crate) fn end(&self, number: u64) -> Vec<PageId> {
        let mut state = self.state.lock();
        let pages = state.sets.remove(&number).unwrap_or_default();
        state.pinned -= pages.len();
        pages
    }
}
