//! The waits that go on at this moment: which owner waits for which lock, and which owners are in
//! its way.
//!
//! Invariants:
//! - CURRENT-1. A wait is identified by its owner and its number. Whatever a thread reads of an
//!   owner between two moments at which the owner is in the same wait belongs to that wait: a
//!   waiting owner does nothing (WAIT-RECORD-2).
//! - CURRENT-2. Only the reader pays: a waiter publishes nothing for this beside what detectors
//!   need. The reader holds the latch of a queue for one pass over it, and allocates nothing then.
//!
//! Range locks list their holders. Intent locks are only counted: the reader gets the numbers, and
//! looks for the holders in the private tables of all owners (PUBLISHED-INTENTS-2).

use crate::{
    cycle::intent_name,
    cycle_member::Awaited,
    intent::IntentMode,
    mode::RangeMode,
    shared::LockTable,
    wait_record::{Target, WaitState},
};

/// Upper bound on the owners that are listed for a wait.
const LISTED_MAX: usize = 8;

/// A wait that went on when it was read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OngoingWait {
    /// The [number](crate::LockOwner::number) of the waiting owner.
    pub owner: u32,
    /// The lock that it waits for.
    pub lock: Awaited,
    target: Target,
    state: WaitState,
}

/// An owner that is in the way of a waiting one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct BlockingOwner {
    /// The owner's [number](crate::LockOwner::number).
    pub owner: u32,
    /// The name of the mode in which it holds the lock, or for which it waits.
    pub mode: &'static str,
    /// True if the mode in which it holds the lock conflicts; false if it blocks only by a request
    /// that goes before the waiter's.
    pub holds: bool,
}

/// The owners in the way of a waiting one.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct InTheWay {
    /// The holders first; at most eight.
    pub owners: Vec<BlockingOwner>,
    /// For an intent lock, the number of its holders in each mode that is in the way. They include
    /// the holders in `owners`.
    pub counted: Vec<(&'static str, u32)>,
}

/// A list of a fixed size, so that it is filled without an allocation (CURRENT-2).
#[derive(Default)]
struct Listed {
    owners: [Option<BlockingOwner>; LISTED_MAX],
    count: usize,
}

impl Listed {
    /// Returns false if the list is full.
    fn add(&mut self, owner: u32, mode: &'static str, holds: bool) -> bool {
        if self.count < LISTED_MAX {
            self.owners[self.count] = Some(BlockingOwner { owner, mode, holds });
            self.count += 1;
        }
        self.count < LISTED_MAX
    }

    fn owners(self) -> impl Iterator<Item = BlockingOwner> {
        self.owners.into_iter().flatten()
    }
}

impl LockTable {
    /// Returns the waits that go on now, in no particular order. Visits every owner.
    #[cold]
    pub fn ongoing_waits(&self) -> Vec<OngoingWait> {
        (0..self.shared.participants.len()).filter_map(|owner| self.ongoing_wait(owner)).collect()
    }

    fn ongoing_wait(&self, owner: u32) -> Option<OngoingWait> {
        let record = self.shared.record(owner);
        let state = record.state();
        let target = record.target(state)?;
        // The target is that of `state` if the owner has not moved meanwhile.
        let is_same = record.state() == state;
        let lock = match target {
            Target::Range(id) => self.entry_named(id).map_or(Awaited::Range(id), Awaited::Intent),
            Target::Intent(entry) => Awaited::Intent(entry),
        };
        is_same.then_some(OngoingWait { owner, lock, target, state })
    }

    /// Returns true if the wait still goes on.
    pub fn still_waits(&self, wait: &OngoingWait) -> bool {
        self.shared.record(wait.owner).state() == wait.state
    }

    /// Returns what is in the way of a waiting owner now; nothing if its wait is over.
    #[cold]
    pub fn in_the_way(&self, wait: &OngoingWait) -> InTheWay {
        match wait.target {
            Target::Range(id) => {
                let name_of: fn(RangeMode) -> &'static str = match wait.lock {
                    Awaited::Range(_) => RangeMode::name,
                    Awaited::Intent(_) => intent_name, // An intent lock of a store.
                };
                let mut listed = Listed::default();
                let entries = self.bucket(id).entries.lock();
                entries.in_the_way(id, wait.owner, |entry, holds| {
                    let mode = if holds { entry.granted } else { entry.wanted };
                    listed.add(entry.owner, name_of(mode), holds)
                });
                drop(entries);
                InTheWay { owners: listed.owners().collect(), counted: Vec::new() }
            }
            Target::Intent(entry) => self.in_the_way_of_intent(entry, wait.owner),
        }
    }

    fn in_the_way_of_intent(&self, entry: u32, waiter: u32) -> InTheWay {
        let mut ahead = Listed::default();
        let found = self.resource(entry).locks.lock().in_the_way(waiter, |owner, mode| {
            ahead.add(owner, mode.name(), false);
        });
        let Some((wanted, counts)) = found else { return InTheWay::default() };
        let mut listed = Listed::default();
        for (owner, mode) in self.conflicting_holders(entry, waiter, wanted) {
            // Not one that has come or gone since they were counted.
            if counts[mode as usize] > 0 && !listed.add(owner, mode.name(), true) {
                break;
            }
        }
        for other in ahead.owners() {
            listed.add(other.owner, other.mode, false);
        }
        let counted = IntentMode::ALL.into_iter().map(|mode| (mode.name(), counts[mode as usize]));
        InTheWay {
            owners: listed.owners().collect(),
            counted: counted.filter(|(_, count)| *count > 0).collect(),
        }
    }

    /// Returns true if an intent lock on this resource is the one that `lock` names.
    pub fn is_entry_of(&self, lock: Awaited, resource: crate::ResourceId) -> bool {
        lock == Awaited::Intent(self.entry_of(resource))
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Poll, Waker};

    use super::*;
    use crate::{LockId, LockOptions, LockOwner, Outcome, ResourceId};

    fn table_and_owners() -> (LockTable, [LockOwner; 4]) {
        let table = LockTable::new(LockOptions::default());
        let owners = std::array::from_fn(|_| table.owner());
        (table, owners)
    }

    fn polls(table: &LockTable, owner: &mut LockOwner, id: LockId, mode: RangeMode) -> bool {
        let mut cx = Context::from_waker(Waker::noop());
        matches!(table.poll_acquire(owner, id, mode, &mut cx), Poll::Ready(Ok(())))
    }

    fn listed(found: &InTheWay) -> Vec<(u32, &'static str, bool)> {
        found.owners.iter().map(|other| (other.owner, other.mode, other.holds)).collect()
    }

    #[test]
    fn holders_come_before_those_ahead_in_the_queue() {
        let (table, [mut a, mut b, mut c, mut d]) = table_and_owners();
        let x = LockId(11);
        assert!(polls(&table, &mut a, x, RangeMode::SN));
        assert!(polls(&table, &mut b, x, RangeMode::NX));
        assert!(!polls(&table, &mut c, x, RangeMode::XN));
        assert!(!polls(&table, &mut d, x, RangeMode::SN), "behind a newcomer that wants the key");
        let waits = table.ongoing_waits();
        assert_eq!(
            waits.iter().map(|wait| wait.owner).collect::<Vec<_>>(),
            [c.number(), d.number()]
        );
        assert!(waits.iter().all(|wait| wait.lock == Awaited::Range(x)));
        let found = waits.iter().map(|wait| table.in_the_way(wait)).collect::<Vec<_>>();
        assert_eq!(listed(&found[0]), [(a.number(), "SN", true)]);
        assert_eq!(listed(&found[1]), [(c.number(), "XN", false)]);
        assert!(found.iter().all(|found| found.counted.is_empty()));
        // A holder that converts is in the way of a newcomer by what it wants, and waits itself for
        // holders only.
        table.cancel(&mut c);
        table.cancel(&mut d);
        assert!(polls(&table, &mut d, x, RangeMode::SN));
        assert!(!polls(&table, &mut a, x, RangeMode::XN));
        assert!(!polls(&table, &mut c, x, RangeMode::SN));
        let waits = table.ongoing_waits();
        let of = |owner: &LockOwner| {
            let wait = waits.iter().find(|wait| wait.owner == owner.number()).unwrap();
            listed(&table.in_the_way(wait))
        };
        assert_eq!(of(&a), [(d.number(), "SN", true)]);
        assert_eq!(of(&c), [(a.number(), "XN", false)]);
    }

    #[test]
    fn a_wait_that_ended_is_recognized_though_the_owner_waits_again() {
        let (table, [mut a, mut b, ..]) = table_and_owners();
        let x = LockId(11);
        assert!(polls(&table, &mut a, x, RangeMode::XN));
        assert!(!polls(&table, &mut b, x, RangeMode::SN));
        let [first] = table.ongoing_waits()[..] else { panic!("one waits") };
        assert!(table.still_waits(&first));
        table.cancel(&mut b);
        assert!(table.ongoing_waits().is_empty() && !table.still_waits(&first));
        assert_eq!(table.in_the_way(&first), InTheWay::default());
        assert!(!polls(&table, &mut b, x, RangeMode::SN));
        assert!(!table.still_waits(&first));
        table.release_all(&mut a, None);
        assert!(table.ongoing_waits().is_empty(), "granted, though not picked up yet");
    }

    #[test]
    fn holders_of_intent_locks_are_counted_and_named() {
        let (table, [mut a, mut b, mut c, mut d]) = table_and_owners();
        let (t, x, mut e) = (ResourceId(5), LockId(11), table.owner());
        let mut cx = Context::from_waker(Waker::noop());
        for owner in [&mut a, &mut b] {
            let granted = table.try_acquire_intent(owner, t, IntentMode::IX);
            assert_eq!(granted, Outcome::Granted);
        }
        assert!(polls(&table, &mut e, x, RangeMode::XN));
        assert!(!polls(&table, &mut b, x, RangeMode::XN));
        assert!(table.poll_acquire_intent(&mut c, t, IntentMode::S, &mut cx).is_pending());
        assert!(table.poll_acquire_intent(&mut d, t, IntentMode::IX, &mut cx).is_pending());
        let waits = table.ongoing_waits();
        let of = |owner: &LockOwner| {
            let wait = waits.iter().find(|wait| wait.owner == owner.number()).unwrap();
            assert!(table.is_entry_of(wait.lock, t));
            table.in_the_way(wait)
        };
        assert_eq!(listed(&of(&c)), [(a.number(), "IX", true), (b.number(), "IX", true)]);
        assert_eq!(of(&c).counted, [("IX", 2)]);
        assert_eq!(listed(&of(&d)), [(c.number(), "S", false)]);
        assert_eq!(of(&d).counted, []);
    }

    #[test]
    fn long_queues_are_cut() {
        let table = LockTable::new(LockOptions::default());
        let x = LockId(11);
        let mut owners: Vec<_> = (0..100).map(|_| table.owner()).collect();
        owners.iter_mut().for_each(|owner| _ = polls(&table, owner, x, RangeMode::XN));
        let waits = table.ongoing_waits();
        assert_eq!(waits.len(), 99);
        let last = listed(&table.in_the_way(&waits[98]));
        assert_eq!(last.len(), LISTED_MAX);
        assert_eq!(last[0], (owners[0].number(), "XN", true));
        assert!(last[1..].iter().all(|(_, _, holds)| !holds));
    }
}
