//! The pins of all fetch stages, and their bound. `fetched_pages` has the interface.
//!
//! Invariants:
//! - FETCH-PINS-1. All sets and waits together keep at most a quarter of the cache. A pin beyond
//!   that takes the pins of the oldest set away, all of them, and if there is no other, those of
//!   its own.
//! - FETCH-PINS-2. No thread or task waits for one of these pins: they are preferences, and a
//!   transaction runs without them as well. So pins and locks cannot block each other.
//! - FETCH-PINS-3. `pinned` counts the pages of all sets. The pages of a set that is taken away are
//!   returned to the caller, who unpins them; those of a set that is ended are unpinned by its
//!   owner, who knows them. The caller adds a page to a set once.
//! - FETCH-PINS-4. A wait for a page (`awaited_page`) has room for its pin reserved before it
//!   begins, and only while a quarter of all the room is free. The pin of a page that has arrived
//!   stays until the task is polled, and cannot be taken away.

use std::mem;

use clearway_base::PageId;
use clearway_sync::Mutex;

/// The sets of pins share this part of the cache (FETCH-PINS-1).
pub(crate) const SHARE_OF_CACHE: usize = 4;

/// A set that has ended keeps the memory of this number of pages for a later one.
const PAGES_KEPT: usize = 64;

/// No set, in the list of sets.
const NONE: usize = usize::MAX;

/// See the module.
pub(crate) struct FetchPins {
    state: Mutex<FetchPinsState>,
    max: usize,
}

/// The sets are a list in the order of their age, so that to begin and to end one takes the same
/// time however many there are.
struct FetchPinsState {
    /// Those that belong to the list, and the free ones.
    sets: Vec<PinnedSet>,
    free: Vec<usize>,
    oldest: usize,
    newest: usize,
    pinned: usize,
    last_number: u64,
    /// Waits for pages, each of which may have a pin.
    waits: usize,
}

/// A set in the list.
#[derive(Default)]
struct PinnedSet {
    /// 0 if it is free.
    number: u64,
    pages: Vec<PageId>,
    older: usize,
    newer: usize,
}

/// Names a set, also when it was taken away.
#[derive(Clone, Copy)]
pub(crate) struct PinnedSetId {
    at: usize,
    number: u64,
}

/// The result of adding pages to a set.
pub(crate) enum Addition {
    /// They belong to the set now.
    Added,
    /// They belong to the set, or did: the pages of other sets, or of this one, were taken away.
    AddedAndTaken(Vec<Vec<PageId>>),
    /// The set was taken away.
    Refused,
}

impl FetchPins {
    /// The pins of a cache of `capacity` pages.
    pub(crate) fn new(capacity: usize) -> FetchPins {
        let state = FetchPinsState {
            sets: Vec::new(),
            free: Vec::new(),
            oldest: NONE,
            newest: NONE,
            pinned: 0,
            waits: 0,
            last_number: 0,
        };
        FetchPins { state: Mutex::new(state), max: capacity / SHARE_OF_CACHE }
    }

    /// The number of pages that are pinned now, counted once for each set.
    pub(crate) fn pinned(&self) -> usize {
        self.state.lock().pinned
    }

    /// Reserves room for the pin of a page that is awaited. Returns false if there is none
    /// (FETCH-PINS-4).
    pub(crate) fn begin_wait(&self) -> bool {
        let mut state = self.state.lock();
        let has_room = 4 * (state.pinned + state.waits) < 3 * self.max;
        state.waits += usize::from(has_room);
        has_room
    }

    /// Gives the room of a wait back.
    pub(crate) fn end_wait(&self) {
        self.state.lock().waits -= 1;
    }

    /// Adds pages that the caller has pinned to a set. If it is `None`, begins one, the newest.
    pub(crate) fn add(&self, set: &mut Option<PinnedSetId>, pages: &[PageId]) -> Addition {
        let mut state = self.state.lock();
        let set = *set.get_or_insert_with(|| state.begin());
        let Some(found) = state.find(set) else { return Addition::Refused };
        for page in pages {
            found.pages.push(*page); // Few, as a rule.
        }
        state.pinned += pages.len();
        if state.pinned + state.waits <= self.max {
            return Addition::Added;
        }
        let mut taken = Vec::new();
        while state.pinned + state.waits > self.max && state.oldest != NONE {
            let oldest = state.oldest;
            taken.push(state.remove(oldest));
        }
        Addition::AddedAndTaken(taken)
    }

    /// The number of pages in a set; `None` if they were taken away.
    pub(crate) fn count(&self, set: PinnedSetId) -> Option<usize> {
        self.state.lock().find(set).map(|set| set.pages.len())
    }

    /// Ends a set. Returns true if it was there: then all that was added to it is pinned.
    pub(crate) fn end(&self, set: PinnedSetId) -> bool {
        let mut state = self.state.lock();
        let is_there = state.find(set).is_some();
        if is_there {
            let mut pages = state.remove(set.at);
            if pages.capacity() <= PAGES_KEPT {
                pages.clear();
                state.sets[set.at].pages = pages;
            }
        }
        is_there
    }
}

impl FetchPinsState {
    fn begin(&mut self) -> PinnedSetId {
        self.last_number += 1;
        let (number, older) = (self.last_number, self.newest);
        let at = self.free.pop().unwrap_or_else(|| {
            self.sets.push(PinnedSet::default());
            self.sets.len() - 1
        });
        let set = &mut self.sets[at];
        (set.number, set.older, set.newer) = (number, older, NONE);
        match older {
            NONE => self.oldest = at,
            older => self.sets[older].newer = at,
        }
        self.newest = at;
        PinnedSetId { at, number }
    }

    fn find(&mut self, id: PinnedSetId) -> Option<&mut PinnedSet> {
        let set = &mut self.sets[id.at];
        (set.number == id.number).then_some(set)
    }

    /// Takes a set out of the list. Returns its pages.
    fn remove(&mut self, at: usize) -> Vec<PageId> {
        let set = &mut self.sets[at];
        set.number = 0;
        let (pages, older, newer) = (mem::take(&mut set.pages), set.older, set.newer);
        match older {
            NONE => self.oldest = newer,
            older => self.sets[older].newer = newer,
        }
        match newer {
            NONE => self.newest = older,
            newer => self.sets[newer].older = older,
        }
        self.free.push(at);
        self.pinned -= pages.len();
        pages
    }
}
