//! The grant rules of range locks: which request is granted at once, which waits, for which owners,
//! and which is granted next.
//!
//! Invariants:
//! - LOCK-QUEUE-1. The granted modes of different owners on one identity are pairwise compatible.
//! - LOCK-QUEUE-2. A *conversion* (an owner that holds something and wants more) waits exactly for
//!   the owners whose granted mode conflicts with what it wants. It waits for no other waiter, so
//!   no two owners wait for each other because of queue order alone.
//! - LOCK-QUEUE-3. A *newcomer* (an owner that holds nothing here) waits exactly for owners whose
//!   granted mode conflicts with what it wants, for conversions that want a conflicting mode, and
//!   for newcomers ahead of it that want a conflicting mode. A compatible newcomer passes.
//!   When the queue changes, `grant_waiters` tries the waiting conversions first, in the order of
//!   their requests, and then the newcomers in theirs.
//! - LOCK-QUEUE-4. No request waits that LOCK-QUEUE-2 and LOCK-QUEUE-3 would grant: every change
//!   that can make a waiter grantable is followed by `grant_waiters` in the same latch hold.
//!
//! Examples, with the requests of one identity in order (`has`, or `has→wants`):
//!
//! | queue | request | result | reason |
//! | --- | --- | --- | --- |
//! | SN | SN | granted | compatible with all |
//! | SN, –→XN | SN | waits | a newcomer ahead wants the key (LOCK-QUEUE-3) |
//! | SN, –→XN | NX | granted | no owner has or wants the gap: it passes |
//! | SN, SN→XN | SN | waits | a conversion wants the key (LOCK-QUEUE-3) |
//! | SS, –→XX | the holder of SS: XX | granted | conversions wait for no waiter (LOCK-QUEUE-2) |
//! | SN, SN→XN | the other holder: XN | waits | each waits for the other: deadlock (LOCK-QUEUE-2) |
//!
//! No owner starves: a newcomer that passes a waiting one is compatible with what that one wants,
//! and an owner converts a lock only a few times.
//!
//! All state is protected by the bucket's spin latch.
//!
//! Algorithm: "Efficient Locking for Databases", algorithm 5: a request is compared with what the
//! requests ahead *want* and with what those behind *have*. Difference: Shore-MT also makes the
//! first waiter ahead a dependency regardless of its mode; then a reader of one part (the key, say)
//! behind a conversion S → X of the other part (the gap) would wait although their modes do not
//! conflict. Here only modes decide, both in the grant rule and in the wait-for edges, which are
//! derived from the same conditions.

use crate::{
    entries::{Entries, LockEntry},
    identity::LockId,
    intent::IntentMode,
    mode::RangeMode,
};

/// The result of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum RequestResult {
    /// Granted, and this owner had no entry before.
    New,
    /// Granted to an owner that had an entry (covered, or converted at once).
    Held,
    /// Not granted. Queued if the caller requested that.
    Denied {
        /// The mode that the owner has here now.
        granted: RangeMode,
    },
}

/// The purpose of a request.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Granted or denied at once; the protocol requests exactly this lock, so it is kept.
    Keep,
    /// Queued if it must wait. What it adds may be released separately.
    Wait,
    /// Granted or denied at once, and what it adds may be released separately.
    Try,
}

/// The actions on waiters when a queue changes.
pub(crate) trait Handover {
    /// Grants this owner what it waits for.
    fn grant(&mut self, owner: u32);

    /// Returns true if owners that continue to wait must be notified that the queue has changed.
    fn notifies_others(&self) -> bool {
        false
    }

    /// Notifies this owner, which continues to wait.
    fn notify(&mut self, _owner: u32) {}

    /// Notes that the holders of a range lock may have changed. `holder` returns the one that the
    /// lock's clock of stalls follows from now on.
    fn follow(&mut self, _id: LockId, _holder: impl FnOnce() -> Option<u32>) {}

    /// As [`follow`](Handover::follow), for the intent lock in which an owner continues to wait.
    /// `granted` is an owner that was granted the lock just now.
    fn follow_intent(&mut self, _waiter: u32, _wanted: IntentMode, _granted: Option<u32>) {}
}

impl<F: FnMut(u32)> Handover for F {
    fn grant(&mut self, owner: u32) {
        self(owner);
    }
}

impl Entries {
    /// Requests `mode` under LOCK-QUEUE-2 and LOCK-QUEUE-3.
    #[inline]
    pub(crate) fn request(
        &mut self,
        id: LockId,
        owner: u32,
        mode: RangeMode,
        purpose: Purpose,
    ) -> RequestResult {
        let kept = if purpose == Purpose::Keep { mode } else { RangeMode::NN };
        // One pass: this owner's entry, the modes that the other holders have, and the modes that
        // they have or convert to.
        let (mut mine, mut held, mut asked) = (None, RangeMode::NN, RangeMode::NN);
        let mut newcomers = None;
        self.survey(id, |at, entry| {
            if !entry.is_holder() {
                newcomers = Some(at); // ENTRIES-2: no holder stands behind it.
            } else if entry.owner == owner {
                mine = Some(at);
            } else {
                held = held.supremum(entry.granted);
                asked = asked.supremum(entry.wanted);
            }
            newcomers.is_none()
        });
        match mine {
            None => {
                let entry = LockEntry { id, owner, granted: mode, wanted: mode, kept };
                // Behind the holders and before the first newcomer (ENTRIES-2).
                match newcomers {
                    None if asked.compatible(mode) => self.push(entry),
                    Some(at) if asked.compatible(mode) && self.admits(id, owner, mode) => {
                        self.insert(at, entry);
                    }
                    _ if purpose == Purpose::Wait => {
                        self.push(LockEntry {
                            granted: RangeMode::NN,
                            kept: RangeMode::NN,
                            ..entry
                        });
                        return RequestResult::Denied { granted: RangeMode::NN };
                    }
                    _ => return RequestResult::Denied { granted: RangeMode::NN },
                }
                RequestResult::New
            }
            Some(at) => {
                let granted = self.get(at).granted;
                debug_assert!(!self.get(at).is_waiting(), "an owner waits for one lock at a time");
                // The mode it has stays granted while it waits for a stronger one.
                let wanted = granted.supremum(mode);
                let is_free = held.compatible(wanted);
                if wanted == granted || is_free {
                    self.update(at, |entry| {
                        entry.granted = wanted;
                        entry.wanted = wanted;
                        entry.kept = entry.kept.supremum(kept);
                    });
                    return RequestResult::Held;
                }
                if purpose == Purpose::Wait {
                    // Behind the earlier conversions (LOCK-QUEUE-3), before newcomers (ENTRIES-2).
                    let entry = LockEntry { wanted, ..self.remove(at) };
                    match newcomers {
                        Some(first) => self.insert(first - 1, entry),
                        None => self.push(entry),
                    }
                }
                RequestResult::Denied { granted }
            }
        }
    }

    /// Returns true if `mode` is compatible with everything that other owners hold or want here.
    #[inline]
    pub(crate) fn admits(&self, id: LockId, owner: u32, mode: RangeMode) -> bool {
        let mut admitted = true;
        self.survey(id, |_, entry| {
            admitted = entry.owner == owner || entry.wanted.compatible(mode);
            admitted
        });
        admitted
    }

    /// Lowers the granted mode of the entry at `at`: it becomes `mode`. Withdraws the waiting
    /// request of the entry's owner, and removes the entry if `mode` is none. Then grants waiters
    /// that have become grantable (LOCK-QUEUE-4).
    // Always inlined: a call would add 20 instructions to the release of each lock.
    #[inline(always)]
    pub(crate) fn lower(&mut self, at: usize, mode: RangeMode, handover: impl Handover) {
        let id = self.get(at).id;
        if mode.is_none() {
            self.remove(at);
        } else {
            self.update(at, |entry| {
                entry.granted = mode;
                entry.wanted = mode;
                entry.kept = entry.kept.infimum(mode);
            });
        }
        if self.waiting() != 0 {
            self.pass_on(id, handover);
        }
    }

    /// Grants all grantable waiters, and notifies the others if `handover` requires it.
    #[cold]
    fn pass_on(&mut self, id: LockId, mut handover: impl Handover) {
        self.grant_waiters(id, |owner| handover.grant(owner));
        handover.follow(id, || self.holder_in_the_way(id));
        if handover.notifies_others() {
            self.of(id).filter(|entry| entry.is_waiting()).for_each(|e| handover.notify(e.owner));
        }
    }

    /// Grants every waiter that LOCK-QUEUE-2 and LOCK-QUEUE-3 let through: conversions first, then
    /// newcomers in order. Stops once the bounds show that no further request can be granted
    /// (ENTRIES-6): on a hot row, at once.
    fn grant_waiters(&mut self, id: LockId, mut granted: impl FnMut(u32)) {
        // The modes of the holders, by count, because a conversion must leave out its own share.
        let mut census = Census::default();
        self.holders(id).for_each(|entry| census.count(entry.granted));
        let mut asked = RangeMode::NN;
        let mut next = 0;
        while next < self.len() {
            let entry = *self.get(next);
            if entry.id == id {
                if !entry.is_holder() {
                    break;
                }
                if entry.is_waiting() {
                    // LOCK-QUEUE-2: the modes of the others, without its own share.
                    census.discount(entry.granted);
                    let grant = census.supremum().compatible(entry.wanted);
                    census.count(if grant { entry.wanted } else { entry.granted });
                    if grant {
                        self.update(next, |entry| entry.granted = entry.wanted);
                        granted(entry.owner);
                    }
                }
                asked = asked.supremum(entry.wanted);
            }
            next += 1;
        }
        // LOCK-QUEUE-3: `asked` is the supremum of what all holders have and convert to. `next` is
        // the first newcomer.
        let mut end_of_holders = next;
        while next < self.len() && self.waiting() != 0 && asked.compatible(self.floor()) {
            let entry = *self.get(next);
            if entry.id == id {
                if asked.compatible(entry.wanted) {
                    let now = LockEntry { granted: entry.wanted, ..entry };
                    if next == end_of_holders {
                        self.update(next, |entry| *entry = now);
                    } else {
                        // It passes newcomers that continue to wait (ENTRIES-2).
                        self.remove(next);
                        self.insert(end_of_holders, now);
                    }
                    end_of_holders += 1;
                    granted(entry.owner);
                }
                asked = asked.supremum(entry.wanted);
            } else if next == end_of_holders {
                end_of_holders += 1; // No newcomer of this identity was passed over yet.
            }
            next += 1;
        }
    }

    /// Returns the owner that the lock's clock of stalls follows: the first holder whose mode
    /// conflicts with what the waiter that is granted next wants, and that does not wait here.
    pub(crate) fn holder_in_the_way(&self, id: LockId) -> Option<u32> {
        // Conversions are granted first, and stand before newcomers (ENTRIES-2).
        let next = self.of(id).find(|entry| entry.is_waiting())?;
        let mut others = self.holders(id).filter(|entry| !entry.is_waiting());
        let holder = others.find(|entry| !entry.granted.compatible(next.wanted));
        holder.map(|entry| entry.owner)
    }

    /// Passes to `see` each entry that a waiting owner waits for directly, the holders first, with
    /// true if the entry's granted mode conflicts, and false if only its wanted mode does. Stops
    /// when `see` returns false. Does nothing if the owner does not wait here.
    pub(crate) fn in_the_way(
        &self,
        id: LockId,
        owner: u32,
        mut see: impl FnMut(&LockEntry, bool) -> bool,
    ) {
        let Some(at) = self.position_from_back(id, owner) else { return };
        let waiter = *self.get(at);
        let is_newcomer = !waiter.is_holder();
        if !waiter.is_waiting() {
            return;
        }
        for (place, entry) in self.iter().enumerate() {
            if is_newcomer && place == at {
                return; // LOCK-QUEUE-3: no newcomer waits for one behind it.
            }
            if entry.id != id || entry.owner == owner {
                continue;
            }
            if !is_newcomer && !entry.is_holder() {
                return; // LOCK-QUEUE-2
            }
            let holds = !entry.granted.compatible(waiter.wanted);
            let is_ahead = is_newcomer && !entry.wanted.compatible(waiter.wanted);
            if (holds || is_ahead) && !see(entry, holds) {
                return;
            }
        }
    }

    /// Returns true if a waiting owner waits, directly or through newcomers ahead of it, for one of
    /// the owners that `is_one` selects, be that a holder or a newcomer.
    pub(crate) fn is_behind(&self, id: LockId, owner: u32, is_one: impl Fn(u32) -> bool) -> bool {
        let Some(at) = self.position_from_back(id, owner) else { return false };
        let waiter = *self.get(at);
        let mut others = self.holders(id).filter(|entry| entry.owner != owner);
        if !waiter.is_waiting() {
            return false;
        }
        if waiter.is_holder() {
            // LOCK-QUEUE-2.
            return others.any(|e| is_one(e.owner) && !e.granted.compatible(waiter.wanted));
        }
        // As in `blockers`.
        let mut needed = waiter.wanted;
        for ahead in (0..at).rev().map(|at| self.get(at)) {
            let is_newcomer = ahead.id == id && !ahead.is_holder();
            if is_newcomer && !ahead.wanted.compatible(needed) {
                if is_one(ahead.owner) {
                    return true;
                }
                needed = needed.supremum(ahead.wanted);
            }
        }
        others.any(|entry| is_one(entry.owner) && !entry.wanted.compatible(needed))
    }

    /// Appends to `out` the holders that a waiting owner waits for, directly or through newcomers
    /// of this queue. Returns false if the owner does not wait here.
    ///
    /// Newcomers on the way are left out: they hold nothing here and wait nowhere else, so the
    /// owners that *they* wait for suffice. One pass over the queue, because "conflicts with one of
    /// these modes" is "conflicts with their supremum".
    pub(crate) fn blockers(&self, id: LockId, owner: u32, out: &mut Vec<u32>) -> bool {
        let Some(at) = self.position_from_back(id, owner) else { return false };
        let waiter = *self.get(at);
        if !waiter.is_waiting() {
            return false;
        }
        if waiter.is_holder() {
            // LOCK-QUEUE-2.
            let others = self.holders(id).filter(|entry| entry.owner != owner);
            let blocking = others.filter(|entry| !entry.granted.compatible(waiter.wanted));
            out.extend(blocking.map(|entry| entry.owner));
            return true;
        }
        // LOCK-QUEUE-3, and transitively: `needed` gathers what the waiter and the newcomers it
        // waits for want. Backwards, since a newcomer waits only for those ahead of it.
        let mut needed = waiter.wanted;
        for ahead in (0..at).rev().map(|at| self.get(at)) {
            if needed.covers(self.ceiling()) {
                break; // It cannot grow (ENTRIES-6): on a hot row, at once.
            }
            let is_newcomer = ahead.id == id && !ahead.is_holder();
            if is_newcomer && !ahead.wanted.compatible(needed) {
                needed = needed.supremum(ahead.wanted);
            }
        }
        // `wanted` covers `granted` (ENTRIES-5), so this is both "has" and "converts to".
        let blocking = self.holders(id).filter(|entry| !entry.wanted.compatible(needed));
        out.extend(blocking.map(|entry| entry.owner));
        true
    }
}

/// A count of the owners that have each bit of a mode, so that one owner's share can be left out.
#[derive(Default)]
struct Census {
    bits: [u32; 4],
}

impl Census {
    fn count(&mut self, mode: RangeMode) {
        self.bits.iter_mut().enumerate().for_each(|(at, n)| *n += u32::from(mode.has_bit(at)));
    }

    fn discount(&mut self, mode: RangeMode) {
        self.bits.iter_mut().enumerate().for_each(|(at, n)| *n -= u32::from(mode.has_bit(at)));
    }

    fn supremum(&self) -> RangeMode {
        RangeMode::of_bits(|at| self.bits[at] != 0)
    }
}
