//! Intent locks: the owner's side. A lock is a count in its resource's entry (`resource`); requests
//! that must wait, of any mode, are in a list there. A store of the table's parts
//! ([`crate::parts::IntentStore`]) may keep them elsewhere.
//!
//! Invariants:
//! - INTENTS-1. The private table is checked first: a mode that is already covered needs no access
//!   to shared memory.
//! - INTENTS-2. An owner is counted in a resource's entry for exactly the mode in its private
//!   table, or for a lock that it was granted and has not picked up.
//!
//! | tag | raised at commit by holders of | met by holders of |
//! | --- | --- | --- |
//! | self | X | every mode |
//! | descendant | IX, SIX | S, SIX, X |
//!
//! A reader of parts meets their tags with its range locks; a reader of the whole resource takes no
//! range locks, and meets the tags here.
//!
//! Algorithm: "Efficient Locking for Databases", section 3.2; see `resource` for the shared side.
//! The identity of a resource is its entry: two resources that share an entry are the same resource
//! to all owners, so an owner that uses both does not wait for itself. The only effects are that an
//! absolute lock on one also blocks the users of the other, and that a tag may be too high. But a
//! thread that uses two owners at once must not wait with one of them for any resource while the
//! other holds a resource absolutely: no detector would find that the thread waits for itself.

use std::task::{Context, Poll};

use clearway_base::{Error, Lsn, Result};
use clearway_sync::SpinLatchGuard;

use crate::{
    identity::ResourceId,
    intent::{HeldIntent, IntentMode},
    owner::{LockOwner, Request},
    parts::{Holder, Resources},
    resource::IntentLocks,
    shared::{LockTable, Outcome, WaitLimit},
    wait_record::Target,
};

impl LockTable {
    /// Takes an intent lock, waiting up to `limit`. It is held until
    /// [`release_all`](Self::release_all).
    ///
    /// # Errors
    /// Those of [`acquire`](Self::acquire); locks held before are still held.
    #[inline]
    pub fn acquire_intent(
        &self,
        owner: &mut LockOwner,
        resource: ResourceId,
        mode: IntentMode,
        limit: WaitLimit,
    ) -> Result<()> {
        if limit == WaitLimit::NoWait {
            return match self.try_acquire_intent(owner, resource, mode) {
                Outcome::Granted => Ok(()),
                Outcome::Denied => Err(Error::WouldBlock { conflict: None }),
            };
        }
        if self.start_intent::<true>(owner, resource, mode) {
            return Ok(());
        }
        self.block(owner, limit)
    }

    /// Requests an intent lock and never waits. If denied, no request remains in the queue.
    #[inline]
    pub fn try_acquire_intent(
        &self,
        owner: &mut LockOwner,
        resource: ResourceId,
        mode: IntentMode,
    ) -> Outcome {
        match self.start_intent::<false>(owner, resource, mode) {
            true => Outcome::Granted,
            false => Outcome::Denied,
        }
    }

    /// Requests an intent lock like [`acquire_intent`](Self::acquire_intent), but registers a waker
    /// instead of blocking. Poll again with the same arguments, or [`cancel`](Self::cancel).
    pub fn poll_acquire_intent(
        &self,
        owner: &mut LockOwner,
        resource: ResourceId,
        mode: IntentMode,
        cx: &mut Context<'_>,
    ) -> Poll<Result<()>> {
        if owner.pending.is_none() && self.start_intent::<true>(owner, resource, mode) {
            return Poll::Ready(Ok(()));
        }
        debug_assert!(matches!(
            owner.pending.map(|pending| pending.request),
            Some(Request::Intent { entry, .. }) if entry == self.entry_of(resource)
        ));
        self.poll_pending(owner, cx)
    }

    /// Requests a lock. Returns true if it is granted. Otherwise, if `QUEUES`, the request waits. A
    /// constant, because requests that do not wait are the frequent ones.
    #[inline]
    fn start_intent<const QUEUES: bool>(
        &self,
        owner: &mut LockOwner,
        resource: ResourceId,
        mode: IntentMode,
    ) -> bool {
        debug_assert!(owner.pending.is_none(), "an owner waits for one lock at a time");
        let entry = self.entry_of(resource);
        // INTENTS-1: the private table first.
        let place = owner.intent_position(entry);
        let before = place.map(|at| owner.intents[at].mode);
        let wanted = before.map_or(mode, |before| before.supremum(mode));
        if before == Some(wanted) {
            return true; // INTENTS-1
        }
        if self.shared.store.is_some() {
            return self.start_stored(owner, entry, wanted, QUEUES);
        }
        let resource = self.resource(entry);
        let mut locks = resource.locks.lock();
        if locks.request(owner.number, before, wanted, QUEUES) {
            // An upgrade to an absolute mode also meets the descendant tag.
            let tag = resource.tag_for(wanted);
            drop(locks);
            owner.raise_tag(tag);
            owner.note_intent(place, HeldIntent { entry, mode: wanted });
            return true;
        }
        if QUEUES {
            self.begin_intent_wait(owner, entry, (before, wanted), locks);
        }
        false
    }

    /// Publishes the wait for a request that was queued in this latch hold (LOCK-WAIT-1).
    #[cold]
    fn begin_intent_wait(
        &self,
        owner: &mut LockOwner,
        entry: u32,
        (before, wanted): (Option<IntentMode>, IntentMode),
        locks: SpinLatchGuard<'_, IntentLocks>,
    ) {
        self.publish_wait(owner, Target::Intent(entry));
        let holder = || self.holder_of_intent(entry, owner.number, wanted);
        self.shared.begin_stall(owner.number, Target::Intent(entry), holder);
        drop(locks);
        self.note_pending(owner, Request::Intent { entry, before, wanted });
    }

    /// Releases all intent locks of an owner, the newest first.
    #[inline]
    pub(crate) fn release_intents(&self, owner: &mut LockOwner, commit: Option<Lsn>) {
        owner.published.clear(); // PUBLISHED-INTENTS-1
        if self.shared.store.is_some() {
            return self.release_stored(owner, commit);
        }
        while let Some(held) = owner.intents.pop() {
            self.lower_count(owner, held, None, commit);
        }
    }

    /// Lowers an intent lock to `to`, or releases it. The caller updates the private table.
    #[inline]
    fn lower_count(
        &self,
        owner: &mut LockOwner,
        held: HeldIntent,
        to: Option<IntentMode>,
        commit: Option<Lsn>,
    ) {
        let resource = self.resource(held.entry);
        let mut locks = resource.locks.lock();
        if let Some(commit) = commit {
            resource.raise_tags(held.mode, commit); // RESOURCE-5: before the count falls.
        }
        locks.lower(held.mode, to, self.granting(&mut owner.granted));
    }

    /// Requests a lock of the store, like [`start_intent`](Self::start_intent).
    #[inline(never)]
    fn start_stored(
        &self,
        owner: &mut LockOwner,
        entry: u32,
        wanted: IntentMode,
        queue: bool,
    ) -> bool {
        let Some(store) = &self.shared.store else { return false };
        store.start(&mut Holder::new(self, owner), entry, wanted, queue)
    }

    /// Releases all intent locks of an owner that are in the store, the newest first.
    #[inline(never)]
    fn release_stored(&self, owner: &mut LockOwner, commit: Option<Lsn>) {
        let Some(store) = &self.shared.store else { return };
        store.end(&mut Holder::new(self, owner));
        while let Some(HeldIntent { entry, mode }) = owner.intents.pop() {
            store.lower(&mut Holder::new(self, owner), entry, mode, None, commit);
        }
    }

    /// Ends an owner in the store: it has no next transaction.
    pub(crate) fn end_stored(&self, owner: &mut LockOwner) {
        if let Some(store) = &self.shared.store {
            store.end(&mut Holder::new(self, owner));
            self.shared.wake(&mut owner.granted);
        }
    }

    /// Releases IS and S, and the S part of SIX.
    pub(crate) fn release_shared_intents(&self, owner: &mut LockOwner) {
        owner.published.clear();
        for held in std::mem::take(&mut owner.intents) {
            let to = match held.mode {
                IntentMode::IS | IntentMode::S => None,
                IntentMode::SIX | IntentMode::IX => Some(IntentMode::IX),
                IntentMode::X => Some(IntentMode::X),
            };
            if to != Some(held.mode) {
                match &self.shared.store {
                    None => self.lower_count(owner, held, to, None),
                    Some(store) => {
                        store.lower(&mut Holder::new(self, owner), held.entry, held.mode, to, None);
                    }
                }
            }
            if let Some(mode) = to {
                owner.note_intent(None, HeldIntent { entry: held.entry, mode });
            }
        }
    }

    /// Returns the highest tag that a new holder of `mode` on `resource` meets now.
    pub fn intent_tag(&self, resource: ResourceId, mode: IntentMode) -> Lsn {
        let entry = self.entry_of(resource);
        if let Some(store) = &self.shared.store {
            store.flush(Resources::new(self), entry);
        }
        let resource = self.resource(entry);
        let _latched = resource.locks.lock();
        resource.tag_for(mode)
    }
}
