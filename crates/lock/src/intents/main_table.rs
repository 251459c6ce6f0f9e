//! Intent locks in the lock table, for comparison with lightweight intent locks.
//!
//! An intent lock is a request in the queue of its resource's bucket, like a range lock, coded so
//! that the queue's own algebra is that of the intent modes ([`RangeMode::of_intent`]). Grants,
//! conversions, order, hand-over and the edges of the wait-for graph are the queue's, unchanged.
//!
//! Invariants:
//! - N1. An owner has an entry in the resource's queue for exactly the mode in its private table
//!   (O2), or one that waits, or was granted and is not picked up; or it left the entry to its next
//!   transaction (`inherited`).
//! - N2. The tags are those of the resource's entry and not of the bucket, so that only absolute
//!   requests meet the tags of writers of parts. They rise before the queue's latch is taken to
//!   release, and are read after the grant (L5, B2, B3).
//! - N3. No range lock has the identity of a resource, but for a collision of 64 bits: those of
//!   resources are hashed under a tree number that no tree has.
//!
//! Source: "Efficient Locking Techniques for Databases on Modern Hardware", section 3.1: "each
//! transaction must create a lock request for intent locks in the lock table and then remove it
//! when it commits". Difference: there a bucket is under a mutex and holds a queue for each lock;
//! here both are the lean ones that range locks use.

use clearway_base::{Lsn, TreeId};

use crate::{
    entries::Entries,
    identity::LockId,
    intent::{HeldIntent, IntentMode},
    intents::IntentMethod,
    mode::RangeMode,
    owner::{LockOwner, Request},
    queue::{Purpose, Verdict},
    registry::Target,
    table::LockTable,
};

/// The name of a resource in the lock table (N3).
pub(super) fn name_of(entry: u32) -> LockId {
    LockId::of(TreeId(u32::MAX), &entry.to_le_bytes())
}

impl LockTable {
    /// The entry of the resource whose name in the lock table this is (N3), if intent locks are
    /// stored there. Scans all entries: for diagnosis.
    pub(crate) fn entry_named(&self, id: LockId) -> Option<u32> {
        let is_there = self.shared.options.intent_locks != IntentMethod::Lightweight;
        (0..self.resource_count()).find(|&entry| is_there && name_of(entry) == id)
    }

    /// Requests `wanted`, which the owner does not have. Returns true if it is granted; otherwise,
    /// if `queue`, the request waits.
    #[inline(never)]
    pub(super) fn start_queued(
        &self,
        owner: &mut LockOwner,
        entry: u32,
        wanted: IntentMode,
        queue: bool,
    ) -> bool {
        if self.claim_inherited(owner, entry, wanted) {
            self.shared.registry.wake(&mut owner.granted);
            return true;
        }
        let before = owner.intent_position(entry).map(|at| owner.intents[at].mode);
        self.begin_absolute(owner, entry, wanted);
        let name = name_of(entry);
        let mut entries = self.bucket(name).entries.lock();
        self.flush_conflicting(&mut entries, owner, entry, wanted);
        let purpose = if queue { Purpose::Wait } else { Purpose::Try };
        let verdict = entries.request(name, owner.slot, RangeMode::of_intent(wanted), purpose);
        match verdict {
            Verdict::Denied { .. } => {
                if queue {
                    // In the same latch hold as the request (W1).
                    self.publish_wait(owner, Target::Range(name));
                    drop(entries);
                    self.note_pending(owner, Request::Queued { entry, before, wanted });
                } else {
                    drop(entries);
                    self.end_absolute(entry, wanted);
                }
            }
            Verdict::New | Verdict::Held => {
                drop(entries);
                let tag = self.pick_up_queued(owner, entry, wanted);
                owner.raise_tag(tag);
            }
        }
        // Flushing may have granted others.
        self.shared.registry.wake(&mut owner.granted);
        !matches!(verdict, Verdict::Denied { .. })
    }

    /// Picks up a granted lock, and returns the tag that its holder meets (N2).
    pub(crate) fn pick_up_queued(
        &self,
        owner: &mut LockOwner,
        entry: u32,
        mode: IntentMode,
    ) -> Lsn {
        let place = owner.intent_position(entry);
        owner.note_intent(place, HeldIntent { entry, mode });
        self.end_absolute(entry, mode);
        self.resource(entry).tag_for(mode)
    }

    /// Removes a waiting request from its queue. A lock that was granted and not picked up is
    /// released if `undo` is set, and otherwise stays; in that case returns false.
    pub(crate) fn withdraw_queued(
        &self,
        owner: &mut LockOwner,
        entry: u32,
        before: Option<IntentMode>,
        wanted: IntentMode,
        undo: bool,
    ) -> bool {
        let name = name_of(entry);
        let mut entries = self.bucket(name).entries.lock();
        if self.slot(owner).is_granted() && !undo {
            return false;
        }
        self.lower_entry(&mut entries, owner.slot, entry, before, &mut owner.granted);
        self.slot(owner).end_wait();
        drop(entries);
        self.end_absolute(entry, wanted);
        true
    }

    /// Releases all intent locks of an owner, the newest first.
    #[inline(never)]
    pub(super) fn release_queued(&self, owner: &mut LockOwner, commit: Option<Lsn>) {
        self.give_up_unused(owner);
        while let Some(held) = owner.intents.pop() {
            self.lower_queued(owner, held, None, commit);
        }
    }

    /// Lowers an intent lock to `to`, or releases it, if it is not passed on to the next
    /// transaction.
    pub(super) fn lower_queued(
        &self,
        owner: &mut LockOwner,
        held: HeldIntent,
        to: Option<IntentMode>,
        commit: Option<Lsn>,
    ) {
        let HeldIntent { entry, mode } = held;
        if to.is_none() && self.pass_on(owner, held, commit) {
            return;
        }
        if let Some(commit) = commit {
            self.resource(entry).raise_tags(mode, commit); // N2: before the lock is free.
        }
        let mut entries = self.bucket(name_of(entry)).entries.lock();
        self.lower_entry(&mut entries, owner.slot, entry, to, &mut owner.granted);
    }

    /// Lowers or removes a slot's entry in the queue of a resource, which is latched.
    pub(super) fn lower_entry(
        &self,
        entries: &mut Entries,
        slot: u32,
        entry: u32,
        to: Option<IntentMode>,
        granted: &mut Vec<u32>,
    ) {
        let mode = to.map_or(RangeMode::NN, RangeMode::of_intent);
        let Some(at) = entries.position(name_of(entry), slot) else {
            debug_assert!(false, "an intent lock has an entry (N1)");
            return;
        };
        entries.lower(at, mode, self.granting(granted));
    }
}
