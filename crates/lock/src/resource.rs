//! Lightweight intent locks: the shared side, one entry of counters for each resource.
//!
//! Invariants:
//! - RESOURCE-1. `granted[m]` is the number of owners that were last granted mode `m` on this
//!   resource and have not released it. The private table of an owner that has not picked up its
//!   last grant yet has its former mode.
//! - RESOURCE-2. Modes counted for different owners are pairwise compatible.
//! - RESOURCE-3. An owner that already holds a mode (an upgrade) waits only for other owners'
//!   counts: its own never blocks it. An owner that holds none waits for the counts, for upgrades
//!   that conflict, and for requests ahead that conflict. So a stream of intents cannot starve a
//!   waiting absolute locker, and a stream of absolute lockers cannot starve an intent.
//! - RESOURCE-4. An owner that stops waiting removes its request, and the waiters it blocked are
//!   granted in the same latch hold.
//! - RESOURCE-5. Tags never decrease, and are raised before the count falls (same latch hold).
//!
//! The counters and the waiting list belong to the holder of the spin latch. The tags may also be
//! read without it, by an owner that has waited for its grant, and a store of the table's parts
//! raises them without it.
//!
//! Algorithm: "Efficient Locking for Databases", section 3.2, algorithms 3 and 4, and the two tags
//! of section 5.3. Differences: the paper wakes all waiters by a broadcast and lets them race,
//! keeps counts of waiters, and breaks deadlocks by time-outs of its own. Here the few waiters are
//! in a list in order of arrival and are granted the lock by the releasing thread; a waiter that
//! gives up leaves no count behind; an upgrade does not count against itself; and waits are edges
//! of the deadlock detector's graph. Without waiters, the fast path is the paper's: latch, compare,
//! count, unlatch.

#[cfg(all(test, loom))]
mod models;

use clearway_base::Lsn;
use clearway_sync::{
    SpinLatch,
    atomic::{AtomicU64, Ordering},
    invariant,
};

use crate::{
    intent::{IntentMode, ModeSet},
    queue::Handover,
};

/// A resource's counters, waiting list and tags.
#[derive(Default)]
pub(crate) struct Resource {
    pub(crate) locks: SpinLatch<IntentLocks>,
    /// The highest end of the commit record of an owner that held X.
    self_tag: AtomicU64,
    /// The highest end of the commit record of an owner that held IX or SIX.
    descendant_tag: AtomicU64,
}

impl Resource {
    /// Returns the tag that a new holder of `mode` meets: the descendant tag concerns only readers
    /// of the whole resource.
    pub(crate) fn tag_for(&self, mode: IntentMode) -> Lsn {
        // Relaxed: the caller was granted its lock after the tags rose (RESOURCE-5), under the
        // latch or by a grant, whose Acquire orders these loads.
        let own = self.self_tag.load(Ordering::Relaxed);
        if mode.is_absolute() {
            Lsn(own.max(self.descendant_tag.load(Ordering::Relaxed)))
        } else {
            Lsn(own)
        }
    }

    /// Raises the tags for an owner that commits at `commit` and held `mode`. Called before the
    /// count falls, or before the lock of the parts' store is released.
    pub(crate) fn raise_tags(&self, mode: IntentMode, commit: Lsn) {
        // Relaxed: published by the latch or by a grant that follows (RESOURCE-5).
        if mode == IntentMode::X {
            self.self_tag.fetch_max(commit.0, Ordering::Relaxed);
        }
        if mode.writes_parts() {
            self.descendant_tag.fetch_max(commit.0, Ordering::Relaxed);
        }
    }
}

/// A waiting request.
#[derive(Clone, Copy, Debug)]
struct Waiter {
    owner: u32,
    /// The mode that it holds, if it is an upgrade.
    held: Option<IntentMode>,
    wanted: IntentMode,
}

/// The intent locks of a resource; see the module.
#[derive(Default)]
pub(crate) struct IntentLocks {
    granted: [u32; 5],
    /// The modes whose count is not zero.
    present: ModeSet,
    waiters: Vec<Waiter>,
}

impl IntentLocks {
    /// Returns the modes held by owners other than a holder of `held`.
    #[inline]
    fn others(&self, held: Option<IntentMode>) -> ModeSet {
        match held {
            Some(mode) if self.granted[mode as usize] == 1 => self.present.without(mode),
            _ => self.present,
        }
    }

    #[inline]
    fn change(&mut self, from: Option<IntentMode>, to: Option<IntentMode>) {
        if let Some(from) = from {
            self.granted[from as usize] -= 1;
            if self.granted[from as usize] == 0 {
                self.present = self.present.without(from);
            }
        }
        if let Some(to) = to {
            self.granted[to as usize] += 1;
            self.present = self.present.with(to);
        }
    }

    /// Requests `wanted` in place of `held` (RESOURCE-3). If denied, the request waits if `queue`
    /// is set.
    #[inline]
    pub(crate) fn request(
        &mut self,
        owner: u32,
        held: Option<IntentMode>,
        wanted: IntentMode,
        queue: bool,
    ) -> bool {
        let behind = |waiter: &Waiter| !waiter.wanted.compatible(wanted);
        let free = !self.others(held).meets(wanted.conflicts())
            && (held.is_some() || !self.waiters.iter().any(behind));
        if free {
            self.change(held, Some(wanted));
        } else if queue {
            self.waiters.push(Waiter { owner, held, wanted });
        }
        free
    }

    /// Releases what an owner holds, or lowers it to `to`, and grants waiters that this unblocks.
    #[inline]
    pub(crate) fn lower(
        &mut self,
        held: IntentMode,
        to: Option<IntentMode>,
        handover: impl Handover,
    ) {
        self.change(Some(held), to);
        if !self.waiters.is_empty() {
            self.pass_on(handover);
        }
    }

    /// Withdraws a waiting request (RESOURCE-4).
    pub(crate) fn withdraw(&mut self, owner: u32, handover: impl Handover) {
        let is_there = self.waiters.iter().any(|waiter| waiter.owner == owner);
        invariant(is_there, "RESOURCE-4: only what waits is withdrawn");
        self.waiters.retain(|waiter| waiter.owner != owner);
        self.pass_on(handover);
    }

    /// Grants all grantable waiters, and notifies the others if `handover` requires it.
    #[cold]
    fn pass_on(&mut self, mut handover: impl Handover) {
        let mut granted = None;
        self.grant_waiters(|owner| {
            handover.grant(owner);
            granted = Some(owner);
        });
        if let Some(waiter) = self.waiters.first() {
            handover.follow_intent(waiter.owner, waiter.wanted, granted);
        }
        if handover.notifies_others() {
            self.waiters.iter().for_each(|waiter| handover.notify(waiter.owner));
        }
    }

    /// Grants every waiter that RESOURCE-3 permits: upgrades first, then the others in order.
    fn grant_waiters(&mut self, mut granted: impl FnMut(u32)) {
        let mut waiters = std::mem::take(&mut self.waiters);
        let mut asked = ModeSet::default();
        for upgrades in [true, false] {
            waiters.retain(|waiter| {
                if waiter.held.is_some() != upgrades {
                    return true;
                }
                let ahead = if upgrades { ModeSet::default() } else { asked };
                let blocking = self.others(waiter.held).union(ahead);
                let pass = !blocking.meets(waiter.wanted.conflicts());
                if pass {
                    self.change(waiter.held, Some(waiter.wanted));
                    granted(waiter.owner);
                } else {
                    asked = asked.with(waiter.wanted);
                }
                !pass
            });
        }
        self.waiters = waiters;
    }

    /// Returns true if an owner other than `owner` waits here.
    pub(crate) fn has_waiter_beside(&self, owner: u32) -> bool {
        self.waiters.iter().any(|waiter| waiter.owner != owner)
    }

    /// Finds the owners that a waiting owner waits for: appends waiting upgrades to `out` and
    /// returns the modes that block it when *held* by another. Returns `None` if the owner does not
    /// wait here.
    ///
    /// Like [`Entries::blockers`](crate::entries::Entries::blockers): newcomers in between are
    /// passed through and not listed.
    pub(crate) fn blockers(&self, owner: u32, out: &mut Vec<u32>) -> Option<ModeSet> {
        let at = self.waiters.iter().position(|waiter| waiter.owner == owner)?;
        let mut needed = self.waiters[at].wanted.conflicts();
        if self.waiters[at].held.is_some() {
            return Some(needed);
        }
        for ahead in self.waiters[..at].iter().rev().filter(|waiter| waiter.held.is_none()) {
            if needed.contains(ahead.wanted) {
                needed = needed.union(ahead.wanted.conflicts());
            }
        }
        let upgrades = self.waiters.iter().filter(|waiter| waiter.held.is_some());
        out.extend(upgrades.filter(|w| needed.contains(w.wanted)).map(|w| w.owner));
        Some(needed)
    }

    /// Returns what a waiting owner waits for directly: passes to `ahead` each waiting request that
    /// goes before it and conflicts, and returns the mode that it wants and the number of other
    /// owners that hold each mode in conflict with that. `None` if the owner does not wait here.
    pub(crate) fn in_the_way(
        &self,
        owner: u32,
        mut ahead: impl FnMut(u32, IntentMode),
    ) -> Option<(IntentMode, [u32; 5])> {
        let at = self.waiters.iter().position(|waiter| waiter.owner == owner)?;
        let Waiter { held, wanted, .. } = self.waiters[at];
        let mut counts = [0; 5];
        for mode in IntentMode::ALL.into_iter().filter(|mode| !mode.compatible(wanted)) {
            let own = u32::from(held == Some(mode));
            counts[mode as usize] = self.granted[mode as usize].saturating_sub(own);
        }
        if held.is_none() {
            // RESOURCE-3: upgrades, and requests that came before.
            let before = self
                .waiters
                .iter()
                .enumerate()
                .filter(|(place, waiter)| waiter.held.is_some() || *place < at);
            let others = before.filter(|(_, waiter)| !waiter.wanted.compatible(wanted));
            others.for_each(|(_, waiter)| ahead(waiter.owner, waiter.wanted));
        }
        Some((wanted, counts))
    }

    /// Returns `None` if a waiting owner stands behind a waiting request of an owner that `is_one`
    /// selects, directly or through newcomers in between; otherwise the modes that block it if one
    /// of these owners *holds* them.
    pub(crate) fn ways_behind(&self, owner: u32, is_one: impl Fn(u32) -> bool) -> Option<ModeSet> {
        let Some(at) = self.waiters.iter().position(|waiter| waiter.owner == owner) else {
            return Some(ModeSet::default());
        };
        let mut needed = self.waiters[at].wanted.conflicts();
        if self.waiters[at].held.is_some() {
            return Some(needed);
        }
        for ahead in self.waiters[..at].iter().rev().filter(|waiter| waiter.held.is_none()) {
            if needed.contains(ahead.wanted) {
                if is_one(ahead.owner) {
                    return None;
                }
                needed = needed.union(ahead.wanted.conflicts());
            }
        }
        let mut upgrades = self.waiters.iter().filter(|waiter| waiter.held.is_some());
        let is_behind = upgrades.any(|w| needed.contains(w.wanted) && is_one(w.owner));
        (!is_behind).then_some(needed)
    }

    /// Returns the mode that a waiting owner wants.
    pub(crate) fn wanted_by(&self, owner: u32) -> Option<IntentMode> {
        let waiter = self.waiters.iter().find(|waiter| waiter.owner == owner);
        waiter.map(|waiter| waiter.wanted)
    }

    /// Returns true if no owner holds or awaits anything.
    pub(crate) fn is_idle(&self) -> bool {
        self.waiters.is_empty() && self.granted == [0; 5]
    }
}
