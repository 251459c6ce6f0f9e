//! The grant rules of range locks: who is granted at once, who waits, for whom, and who comes next.
//!
//! Invariants:
//! - Q1. The granted modes of different owners on one identity are pairwise compatible.
//! - Q2. A *conversion* (an owner that holds something and wants more) waits exactly for the owners
//!   whose granted mode conflicts with what it wants. It waits for no other waiter, so nobody waits
//!   for somebody who waits for him because of the queue alone.
//! - Q3. A *newcomer* (an owner that holds nothing here) waits exactly for those whose granted mode
//!   conflicts with what it wants, for conversions that want something that conflicts, and for
//!   newcomers ahead of it that want something that conflicts. A compatible newcomer passes.
//!   Conversions are granted in the order in which they were asked for, and before newcomers.
//! - Q4. No request stays in the queue that Q2 and Q3 would let through: every change that can
//!   make a waiter grantable is followed by `grant_waiters` in the same latch hold.
//!
//! Examples, with the requests of one identity in order (`has`, or `has→wants`):
//!
//! | queue | asks | answer | by |
//! | --- | --- | --- | --- |
//! | SN | SN | granted | compatible with all |
//! | SN, –→XN | SN | waits | a newcomer ahead wants the key (Q3) |
//! | SN, –→XN | NX | granted | nobody has or wants the gap: it passes |
//! | SN, SN→XN | SN | waits | a conversion wants the key (Q3) |
//! | SS, –→XX | the holder of SS: XX | granted | conversions wait for no waiter (Q2) |
//! | SN, SN→XN | the other holder: XN | waits | both wait for each other: a deadlock (Q2) |
//!
//! Nobody starves: whoever passes a waiting newcomer is compatible with what it wants, and an owner
//! that holds something converts at most four times.
//!
//! Everything here belongs to whoever holds the bucket's spin latch.
//!
//! Algorithm: "Efficient Locking for Databases", algorithm 5: a request is compared with what those
//! ahead *want* and with what those behind *have*. Difference: Shore-MT also makes the first waiter
//! ahead a dependency whatever its mode; then a reader behind a conversion S → X of another key
//! part would wait for nothing. Here modes decide alone, in the grant rule and in the wait-for
//! edges, which come from the same conditions.

use clearway_base::zoo::{self, Bug};

use crate::{
    entries::{Entries, Entry},
    identity::LockId,
    mode::RangeMode,
};

/// What became of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// Granted, and this owner had no entry before.
    New,
    /// Granted to an owner that had an entry (covered, or converted at once).
    Held,
    /// Not granted. Queued if the caller asked for that.
    Denied {
        /// What the owner has here now.
        granted: RangeMode,
    },
}

/// What a request is for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Granted or denied now; the protocol asks for exactly this lock, so it is kept.
    Keep,
    /// Queued if it must wait. What it adds may be given back alone.
    Wait,
    /// Granted or denied now, and what it adds may be given back alone.
    Try,
}

/// What becomes of those who wait when a queue changes.
pub(crate) trait Handover {
    /// This owner has what it waits for.
    fn grant(&mut self, owner: u32);

    /// Whether those who go on waiting are to be told that the queue has changed.
    fn tells_the_others(&self) -> bool {
        false
    }

    /// This owner goes on waiting.
    fn tell(&mut self, _owner: u32) {}
}

impl<F: FnMut(u32)> Handover for F {
    fn grant(&mut self, owner: u32) {
        self(owner);
    }
}

impl Entries {
    /// Asks for `mode`, by Q2 and Q3.
    #[inline]
    pub(crate) fn request(
        &mut self,
        id: LockId,
        owner: u32,
        mode: RangeMode,
        purpose: Purpose,
    ) -> Verdict {
        let kept = if purpose == Purpose::Keep { mode } else { RangeMode::NN };
        // One pass: my own entry, what the other holders have, and what they have or convert to.
        let (mut mine, mut held, mut asked) = (None, RangeMode::NN, RangeMode::NN);
        let mut newcomers = None;
        self.survey(id, |at, entry| {
            if !entry.is_holder() {
                newcomers = Some(at); // E2: no holder stands behind it.
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
                let entry = Entry { id, owner, granted: mode, wanted: mode, kept };
                // First among the holders (E2), so before whoever waits.
                match newcomers {
                    None if asked.compatible(mode) => self.push(entry),
                    Some(at) if asked.compatible(mode) && self.admits(id, owner, mode) => {
                        self.insert(at, entry);
                    }
                    _ if purpose == Purpose::Wait => {
                        self.push(Entry { granted: RangeMode::NN, kept: RangeMode::NN, ..entry });
                        return Verdict::Denied { granted: RangeMode::NN };
                    }
                    _ => return Verdict::Denied { granted: RangeMode::NN },
                }
                Verdict::New
            }
            Some(at) => {
                let granted = self.get(at).granted;
                debug_assert!(!self.get(at).is_waiting(), "an owner waits for one lock at a time");
                // What it has stays granted while it waits for more.
                let wanted = granted.supremum(mode);
                let is_free = held.compatible(wanted)
                    && (!zoo::has(Bug::WaitsForWaiters) || self.admits(id, owner, wanted));
                if wanted == granted || is_free {
                    self.update(at, |entry| {
                        entry.granted = wanted;
                        entry.wanted = wanted;
                        entry.kept = entry.kept.supremum(kept);
                    });
                    return Verdict::Held;
                }
                if purpose == Purpose::Wait {
                    // Behind the conversions that were asked for earlier (E2).
                    let entry = Entry { wanted, ..self.remove(at) };
                    match newcomers {
                        Some(first) => self.insert(first - 1, entry),
                        None => self.push(entry),
                    }
                }
                Verdict::Denied { granted }
            }
        }
    }

    /// Whether `mode` is compatible with everything that others hold or want here.
    #[inline]
    pub(crate) fn admits(&self, id: LockId, owner: u32, mode: RangeMode) -> bool {
        let mut admitted = true;
        self.survey(id, |_, entry| {
            admitted = entry.owner == owner || entry.wanted.compatible(mode);
            admitted
        });
        admitted
    }

    /// Lowers what the owner of the entry at `at` has to `mode`, withdraws what it waits for, and
    /// removes the entry if nothing is left. Then grants those who can be (Q4).
    // Always: a call costs a release of every lock 20 instructions.
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

    /// Grants whom it can, and tells the others if they want to know.
    #[cold]
    fn pass_on(&mut self, id: LockId, mut handover: impl Handover) {
        self.grant_waiters(id, |owner| handover.grant(owner));
        if handover.tells_the_others() {
            self.of(id).filter(|entry| entry.is_waiting()).for_each(|e| handover.tell(e.owner));
        }
    }

    /// Grants every waiter that Q2 and Q3 let through: conversions first, then newcomers in order.
    /// Stops at the first point behind which nobody can pass (E6): on a hot row, at once.
    fn grant_waiters(&mut self, id: LockId, mut granted: impl FnMut(u32)) {
        // What the holders have, by count, because a conversion must leave out its own part of it.
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
                    // Q2: what the others have, without its own part.
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
        // Q3: `asked` is what all holders have and convert to. `next` is the first newcomer.
        let mut end_of_holders = next;
        while next < self.len() && self.waiting() != 0 && asked.compatible(self.floor()) {
            let entry = *self.get(next);
            if entry.id == id {
                if asked.compatible(entry.wanted) {
                    let now = Entry { granted: entry.wanted, ..entry };
                    if next == end_of_holders {
                        self.update(next, |entry| *entry = now);
                    } else {
                        // It passes newcomers that go on waiting (E2).
                        self.remove(next);
                        self.insert(end_of_holders, now);
                    }
                    end_of_holders += 1;
                    granted(entry.owner);
                }
                asked = asked.supremum(entry.wanted);
            } else if next == end_of_holders {
                end_of_holders += 1; // Nobody of this identity was passed over yet.
            }
            next += 1;
        }
    }

    /// The holders that a waiting owner waits for, directly or through newcomers of this very
    /// queue, appended to `out`. False if the owner does not wait here.
    ///
    /// Newcomers on the way are left out: they hold nothing here and wait nowhere else, so whom
    /// *they* wait for says it all. One pass over the queue, because "conflicts with one of these
    /// modes" is "conflicts with their supremum".
    pub(crate) fn blockers(&self, id: LockId, owner: u32, out: &mut Vec<u32>) -> bool {
        let Some(at) = self.position_from_back(id, owner) else { return false };
        let waiter = *self.get(at);
        if !waiter.is_waiting() {
            return false;
        }
        if waiter.is_holder() {
            // Q2.
            let others = self.holders(id).filter(|entry| entry.owner != owner);
            let blocking = others.filter(|entry| !entry.granted.compatible(waiter.wanted));
            out.extend(blocking.map(|entry| entry.owner));
            if zoo::has(Bug::WaitsForWaiters) {
                let newcomers = self.of(id).filter(|entry| !entry.is_holder());
                out.extend(newcomers.map(|entry| entry.owner));
            }
            return true;
        }
        // Q3, and transitively: `needed` gathers what the waiter and the newcomers it waits for
        // want.
        // Backwards, since a newcomer waits only for those ahead of it.
        let mut needed = waiter.wanted;
        for ahead in (0..at).rev().map(|at| self.get(at)) {
            if needed.covers(self.ceiling()) {
                break; // It cannot grow (E6): on a hot row, at once.
            }
            let is_newcomer = ahead.id == id && !ahead.is_holder();
            if zoo::has(Bug::QueueOrderLeftOut) {
                break;
            }
            if is_newcomer && !ahead.wanted.compatible(needed) {
                needed = needed.supremum(ahead.wanted);
            }
        }
        // `wanted` covers `granted` (E5), so this is both "has" and "converts to".
        let has = |entry: &Entry| match zoo::has(Bug::ConversionLeftOut) {
            false => entry.wanted,
            true => entry.granted,
        };
        let blocking = self.holders(id).filter(|entry| !has(entry).compatible(needed));
        out.extend(blocking.map(|entry| entry.owner));
        true
    }
}

/// How many owners have each bit of a mode, so that one owner's share can be left out.
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
