//! A whole run of a pattern: insertions, and the deletions that belong to it.

use std::{collections::BTreeMap, fmt};

use crate::{order::Place, pattern::Pattern};

/// The deletions that follow the insertions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Removal {
    /// Nothing.
    Nothing,
    /// Everything in the order in which it was inserted; then all of it is inserted again.
    AllAndRefill,
    /// Every second key, in key order.
    EverySecond,
    /// Keys from both ends in turn, until all are gone.
    BothEnds,
}

impl Removal {
    /// All removals.
    pub const ALL: [Removal; 4] =
        [Removal::Nothing, Removal::AllAndRefill, Removal::EverySecond, Removal::BothEnds];

    /// The name of the removal in summaries.
    pub fn name(self) -> &'static str {
        match self {
            Removal::Nothing => "nothing",
            Removal::AllAndRefill => "all-and-refill",
            Removal::EverySecond => "every-second",
            Removal::BothEnds => "both-ends",
        }
    }
}

/// One step of a run.
#[derive(Clone, PartialEq, Eq)]
pub enum Step {
    /// Sets a key, which may exist already.
    Put {
        /// The key.
        key: Vec<u8>,
        /// Its value.
        value: Vec<u8>,
    },
    /// Deletes a key, which exists.
    Delete {
        /// The key.
        key: Vec<u8>,
    },
}

/// Prints the lengths and the first bytes of the key, which is short enough for a message.
impl fmt::Debug for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (verb, key) = match self {
            Step::Put { key, .. } => ("put", key),
            Step::Delete { key } => ("delete", key),
        };
        let start = key[..key.len().min(BRIEF)].escape_ascii();
        write!(f, "{verb} of a key of {} bytes, \"{start}\"", key.len())?;
        match self {
            Step::Put { value, .. } => write!(f, ", with {} bytes", value.len()),
            Step::Delete { .. } => Ok(()),
        }
    }
}

/// The number of bytes of a key that a message shows.
const BRIEF: usize = 16;

/// The window of an order that has one holds one in this number of insertions.
const WINDOWS: u64 = 4;
/// The smallest window.
const WINDOW_MIN: u64 = 4;

/// The steps of a run.
///
/// A run is a sequence of phases. Each phase has its own queue of remaining steps. The keys that
/// exist are recorded by place, so that deletions can follow the order of keys.
#[derive(Clone, Debug)]
pub struct Steps {
    pattern: Pattern,
    count: u64,
    phase: Phase,
    /// The insertion numbers of the keys that exist, by place.
    present: BTreeMap<Place, u64>,
    /// True once the keys are inserted a second time.
    is_refilled: bool,
}

#[derive(Clone, Debug)]
enum Phase {
    /// The next insertion; `is_full` if the window's oldest key is deleted before it.
    Insert {
        next: u64,
        is_full: bool,
    },
    /// Places to delete, the next one last.
    Delete {
        left: Vec<Place>,
    },
    Done,
}

impl Steps {
    pub(crate) fn new(pattern: Pattern, count: u64) -> Steps {
        let phase = Phase::Insert { next: 0, is_full: false };
        Steps { pattern, count, phase, present: BTreeMap::new(), is_refilled: false }
    }

    /// The pattern whose steps these are.
    pub fn pattern(&self) -> &Pattern {
        &self.pattern
    }

    fn window(&self) -> u64 {
        (self.count / WINDOWS).max(WINDOW_MIN)
    }

    fn insert(&mut self, next: u64) -> Step {
        let place = self.pattern.place(next);
        self.present.insert(place, next);
        // A key that is inserted again has another value.
        let number = if self.is_refilled { next + self.count } else { next };
        let value_len = self.pattern.value_len(number);
        let mut value = self.pattern.value(next);
        value.resize(value_len, next as u8);
        let (next, is_full) = (next + 1, self.pattern.order.is_window());
        self.phase = Phase::Insert { next, is_full: is_full && next > self.window() };
        Step::Put { key: self.pattern.key_at(place), value }
    }

    fn delete(&mut self, place: Place) -> Step {
        self.present.remove(&place);
        Step::Delete { key: self.pattern.key_at(place) }
    }

    /// Returns the places to delete after the insertions, the first one last.
    fn removals(&self) -> Vec<Place> {
        let mut places: Vec<Place> = self.present.keys().copied().collect();
        let mut removed = match self.pattern.removal {
            Removal::Nothing => Vec::new(),
            Removal::AllAndRefill => {
                places.sort_by_key(|place| self.present[place]);
                places
            }
            Removal::EverySecond => places.into_iter().step_by(2).collect(),
            Removal::BothEnds => {
                let (low, high) = places.split_at(places.len() / 2);
                let mut removed = Vec::new();
                for nth in 0..high.len() {
                    removed.push(high[high.len() - 1 - nth]);
                    removed.extend(low.get(nth));
                }
                removed
            }
        };
        removed.reverse();
        removed
    }
}

impl Iterator for Steps {
    type Item = Step;

    fn next(&mut self) -> Option<Step> {
        loop {
            match &mut self.phase {
                Phase::Insert { next, is_full: true } => {
                    let next = *next;
                    self.phase = Phase::Insert { next, is_full: false };
                    let oldest = self.pattern.place(next - 1 - self.window());
                    if self.present.contains_key(&oldest) {
                        return Some(self.delete(oldest));
                    }
                }
                Phase::Insert { next, .. } if *next < self.count => {
                    let next = *next;
                    return Some(self.insert(next));
                }
                Phase::Insert { .. } if self.is_refilled => self.phase = Phase::Done,
                Phase::Insert { .. } => self.phase = Phase::Delete { left: self.removals() },
                Phase::Delete { left } => match left.pop() {
                    Some(place) => return Some(self.delete(place)),
                    None if self.pattern.removal == Removal::AllAndRefill => {
                        self.is_refilled = true;
                        self.phase = Phase::Insert { next: 0, is_full: false };
                    }
                    None => self.phase = Phase::Done,
                },
                Phase::Done => return None,
            }
        }
    }
}
