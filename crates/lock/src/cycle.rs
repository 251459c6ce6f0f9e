//! Diagnosis of waits: the cycle of a deadlock, for its victim, and the holders of a lock, for a
//! waiter that gave up.
//!
//! Invariants:
//! - CYCLE-1. A cycle is recorded after it is certain and before its victim withdraws: its members
//!   wait, so the facts read of them one after the other were all true at one moment (unless a
//!   member withdraws its request meanwhile; see GRAPH-2). A victim chosen by a rule, such as its
//!   age, has a cycle to report only if the checker found one.
//! - CYCLE-2. Owners are identified by their number, which the user of the table maps to a
//!   transaction. Keys are identified by their hash.
//! - CYCLE-3. No function here is called before an owner has waited or was refused.
//!
//! This is the whole interface between detection and diagnosis: the search, and the checker of
//! false deaths, pass the members of a cycle, in order, to [`LockTable::describe`].

use crate::{
    cycle_member::{Awaited, CycleMember},
    entries::LockEntry,
    identity::{LockId, ResourceId},
    intent::IntentMode,
    mode::RangeMode,
    owner::LockOwner,
    shared::LockTable,
    wait_record::Target,
};

/// Upper bound on the holders that are reported.
const HOLDERS_MAX: usize = 4;

/// Returns the name of an intent mode that is coded as a range mode ([`RangeMode::of_intent`]).
pub(crate) fn intent_name(mode: RangeMode) -> &'static str {
    let is_it = |intent: &&IntentMode| RangeMode::of_intent(**intent) == mode;
    IntentMode::ALL.iter().find(is_it).map_or(NOTHING, |intent| intent.name())
}

/// The name for no lock.
const NOTHING: &str = RangeMode::NN.name();

impl LockTable {
    /// Returns the entry of the resource that has this name in the lock table, if intent locks are
    /// stored there. Scans all entries: for diagnosis.
    pub(crate) fn entry_named(&self, id: LockId) -> Option<u32> {
        let store = self.shared.store.as_ref()?;
        (0..self.resource_count()).find(|&entry| store.name(entry) == id)
    }

    /// Records a cycle of owners, each of which waits for the next, and the last for the first
    /// (CYCLE-1).
    #[cold]
    pub(crate) fn describe(&self, owners: &[u32]) -> Vec<CycleMember> {
        let target = |owner: u32| {
            let record = self.shared.record(owner);
            record.target(record.state())
        };
        let Some(&last) = owners.last() else { return Vec::new() };
        let mut before = target(last);
        let mut members = Vec::with_capacity(owners.len());
        for &owner in owners {
            let awaited = target(owner);
            let holds = before.map_or(NOTHING, |lock| self.modes_on(owner, lock).0);
            before = awaited;
            let Some(target) = awaited else { continue };
            let wanted = self.modes_on(owner, target).1;
            let lock = match target {
                Target::Range(id) => {
                    self.entry_named(id).map_or(Awaited::Range(id), Awaited::Intent)
                }
                Target::Intent(entry) => Awaited::Intent(entry),
            };
            members.push(CycleMember { owner, lock, wanted, holds });
        }
        members
    }

    /// Returns the mode that a waiting owner holds of a lock, and the mode it wants.
    fn modes_on(&self, owner: u32, target: Target) -> (&'static str, &'static str) {
        match target {
            Target::Range(id) => {
                let name_of = match self.entry_named(id) {
                    Some(_) => intent_name,
                    None => RangeMode::name,
                };
                let entries = self.bucket(id).entries.lock();
                let at = entries.position(id, owner);
                at.map_or((NOTHING, NOTHING), |at| {
                    let &LockEntry { granted, wanted, .. } = entries.get(at);
                    (name_of(granted), name_of(wanted))
                })
            }
            Target::Intent(entry) => {
                let held = self.shared.record(owner).intents.mode_on(entry);
                let held = held.map_or(NOTHING, IntentMode::name);
                let wanted = self.resource(entry).locks.lock().wanted_by(owner);
                (held, wanted.map_or(held, |mode| mode.name()))
            }
        }
    }

    /// Returns at most a few other owners that block `mode` on `id` now: their numbers, and the
    /// mode in which each holds the lock.
    #[cold]
    pub fn holders(
        &self,
        owner: &LockOwner,
        id: LockId,
        mode: RangeMode,
    ) -> Vec<(u32, &'static str)> {
        let mut found = [None; HOLDERS_MAX];
        let entries = self.bucket(id).entries.lock();
        let others = entries.holders(id).filter(|entry| entry.owner != owner.number);
        let blocking = others.filter(|entry| !entry.wanted.compatible(mode));
        for (place, entry) in found.iter_mut().zip(blocking) {
            *place = Some((entry.owner, entry.granted.name()));
        }
        drop(entries); // The list is allocated without the latch (BUCKET-4).
        found.into_iter().flatten().collect()
    }

    /// Returns at most a few other owners that hold an intent lock on `resource` in a mode that
    /// conflicts with `mode`, as [`holders`](Self::holders) does. An owner that has moved meanwhile
    /// may be left out, or may have released the lock.
    #[cold]
    pub fn intent_holders(
        &self,
        owner: &LockOwner,
        resource: ResourceId,
        mode: IntentMode,
    ) -> Vec<(u32, &'static str)> {
        let holders = self.conflicting_holders(self.entry_of(resource), owner.number, mode);
        holders.map(|(owner, held)| (owner, held.name())).take(HOLDERS_MAX).collect()
    }

    /// Returns the owners other than `owner` that hold an intent lock with this entry in a mode
    /// that conflicts with `wanted` (PUBLISHED-INTENTS-2).
    pub(crate) fn conflicting_holders(
        &self,
        entry: u32,
        owner: u32,
        wanted: IntentMode,
    ) -> impl Iterator<Item = (u32, IntentMode)> {
        let others = (0..self.shared.participants.len()).filter(move |other| *other != owner);
        let held = move |other| Some((other, self.shared.record(other).intents.mode_on(entry)?));
        others.filter_map(held).filter(move |(_, mode)| !mode.compatible(wanted))
    }
}

#[cfg(test)]
mod tests {
    use std::task::{Context, Waker};

    use super::*;
    use crate::{LockOptions, Outcome};

    #[test]
    fn conversions_of_one_key_are_reported_with_the_modes_that_they_hold() {
        let table = LockTable::new(LockOptions::default());
        let [mut a, mut b] = std::array::from_fn(|_| table.owner());
        let x = LockId(11);
        assert_eq!(table.try_acquire(&mut a, x, RangeMode::SN), Outcome::Granted);
        assert_eq!(table.try_acquire(&mut b, x, RangeMode::SN), Outcome::Granted);
        let mut cx = Context::from_waker(Waker::noop());
        assert!(table.poll_acquire(&mut a, x, RangeMode::XN, &mut cx).is_pending());
        assert!(table.poll_acquire(&mut b, x, RangeMode::XN, &mut cx).is_ready());
        let reported: Vec<_> =
            b.take_cycle().iter().map(|member| (member.wanted, member.holds)).collect();
        assert_eq!(reported, [("XN", "SN"), ("XN", "SN")]);
    }

    #[test]
    fn holders_are_those_in_the_way() {
        let table = LockTable::new(LockOptions::default());
        let [mut a, mut b, c] = std::array::from_fn(|_| table.owner());
        let x = LockId(11);
        assert_eq!(table.try_acquire(&mut a, x, RangeMode::SN), Outcome::Granted);
        assert_eq!(table.try_acquire(&mut b, x, RangeMode::NX), Outcome::Granted);
        assert_eq!(table.holders(&c, x, RangeMode::XN), [(a.number(), "SN")]);
        assert_eq!(table.holders(&c, x, RangeMode::NS), [(b.number(), "NX")]);
        assert_eq!(table.holders(&a, x, RangeMode::XN), []);
    }
}
