//! The handles by which a store of intent locks works on the lock table's queues.
//!
//! A store keeps each intent lock as a request in the queue of a lock identity of its own choice
//! ([`IntentStore::name`]), so grants, conversions, order, hand-over and the edges of the wait-for
//! graph are those of range locks. The modes are coded so that the queue's algebra is that of the
//! intent modes. The owners' private tables and the tags of the resources stay with the table.
//!
//! [`IntentStore::name`]: super::IntentStore::name

use clearway_base::Lsn;
use clearway_sync::SpinLatchGuard;

use crate::{
    entries::Entries,
    identity::LockId,
    intent::{HeldIntent, IntentMode},
    mode::RangeMode,
    owner::{LockOwner, Request},
    queue::{Purpose, RequestResult},
    shared::LockTable,
    wait_record::Target,
};

/// The resources of a table and the queues of its locks.
#[derive(Clone, Copy)]
pub struct Resources<'a> {
    table: &'a LockTable,
}

/// An owner that requests or releases an intent lock, on its own thread.
pub struct Holder<'a> {
    table: &'a LockTable,
    owner: &'a mut LockOwner,
}

/// The queue of a lock identity, latched until it is dropped. While it exists, no other queue may
/// be latched, and no owner woken (BUCKET-4).
pub struct Queue<'a> {
    table: &'a LockTable,
    id: LockId,
    entries: SpinLatchGuard<'a, Entries>,
}

impl<'a> Resources<'a> {
    pub(crate) fn new(table: &'a LockTable) -> Resources<'a> {
        Resources { table }
    }

    /// Latches the queue of an identity.
    pub fn queue(self, id: LockId) -> Queue<'a> {
        Queue { table: self.table, id, entries: self.table.bucket(id).entries.lock() }
    }

    /// Returns the tag that a new holder of `mode` on a resource meets. Must be called after the
    /// grant (BUCKET-3).
    pub fn tag_for(self, entry: u32, mode: IntentMode) -> Lsn {
        self.table.resource(entry).tag_for(mode)
    }

    /// Raises the tags of a resource for an owner that held `mode` and commits at `commit`. Must be
    /// called before the lock is released (RESOURCE-5).
    pub fn raise_tags(self, entry: u32, mode: IntentMode, commit: Lsn) {
        self.table.resource(entry).raise_tags(mode, commit);
    }

    /// Wakes the owners that were granted their locks, and empties the list.
    pub fn wake(self, granted: &mut Vec<u32>) {
        self.table.shared.wake(granted);
    }
}

impl<'a> Holder<'a> {
    pub(crate) fn new(table: &'a LockTable, owner: &'a mut LockOwner) -> Holder<'a> {
        Holder { table, owner }
    }

    /// Returns the number of the owner.
    pub fn number(&self) -> u32 {
        self.owner.number
    }

    /// Returns the resources of the table.
    pub fn resources(&self) -> Resources<'a> {
        Resources { table: self.table }
    }

    /// Returns the mode that the owner has on a resource by its private table.
    pub fn mode_on(&self, entry: u32) -> Option<IntentMode> {
        self.owner.intent_position(entry).map(|at| self.owner.intents[at].mode)
    }

    /// Records a granted lock in the private table, in place of a weaker one on the resource, and
    /// meets the tag of its resource (OWNER-2, BUCKET-3).
    pub fn note(&mut self, entry: u32, mode: IntentMode) {
        let place = self.owner.intent_position(entry);
        self.owner.note_intent(place, HeldIntent { entry, mode });
        self.owner.raise_tag(self.table.resource(entry).tag_for(mode));
    }

    /// Returns the list of the owners that this one's changes have granted their locks.
    pub fn granted(&mut self) -> &mut Vec<u32> {
        &mut self.owner.granted
    }

    /// Wakes the owners in [`granted`](Holder::granted).
    pub fn wake(&mut self) {
        self.table.shared.wake(&mut self.owner.granted);
    }

    /// Publishes the owner's wait for a request that was queued in this latch hold (LOCK-WAIT-1),
    /// and unlatches the queue.
    pub fn wait(&mut self, queue: Queue<'_>, entry: u32, wanted: IntentMode) {
        let before = self.mode_on(entry);
        let target = Target::Range(queue.id);
        self.table.publish_wait(self.owner, target);
        let holder = || queue.entries.holder_in_the_way(queue.id);
        self.table.shared.begin_stall(self.owner.number, target, holder);
        drop(queue);
        self.table.note_pending(self.owner, Request::Intent { entry, before, wanted });
    }

    /// Withdraws the owner's waiting request: lowers its entry to `before`. Returns false, and
    /// changes nothing, if it was granted in the meantime and `undo` is not set (LOCK-WAIT-4).
    pub fn withdraw(
        &mut self,
        queue: &mut Queue<'_>,
        before: Option<IntentMode>,
        undo: bool,
    ) -> bool {
        if self.table.record(self.owner).is_granted() && !undo {
            return false;
        }
        self.table.shared.end_stall(self.owner.number);
        queue.lower(self.owner.number, before, &mut self.owner.granted);
        self.table.record(self.owner).end_wait();
        true
    }
}

impl Queue<'_> {
    /// Requests a mode for an owner, in place of what it has. Returns true if it is granted. If it
    /// is not and `queue` is set, the request waits, and [`Holder::wait`] must follow.
    pub fn request(&mut self, owner: u32, mode: IntentMode, queue: bool) -> bool {
        let purpose = if queue { Purpose::Wait } else { Purpose::Try };
        let result = self.entries.request(self.id, owner, RangeMode::of_intent(mode), purpose);
        !matches!(result, RequestResult::Denied { .. })
    }

    /// Lowers an owner's lock, or removes it, and adds the owners that this grants their locks to
    /// `granted`. They must be woken once the queue is unlatched.
    pub fn lower(&mut self, owner: u32, to: Option<IntentMode>, granted: &mut Vec<u32>) {
        let mode = to.map_or(RangeMode::NN, RangeMode::of_intent);
        let Some(at) = self.entries.position(self.id, owner) else {
            debug_assert!(false, "an intent lock has an entry");
            return;
        };
        self.entries.lower(at, mode, self.table.granting(granted));
    }

    /// Returns the owners that hold the lock in a mode that conflicts with `wanted`; with `None`,
    /// all holders.
    pub fn holders(&self, wanted: Option<IntentMode>) -> impl Iterator<Item = u32> {
        let wanted = wanted.map(RangeMode::of_intent);
        let holders = self.entries.holders(self.id);
        holders
            .filter(move |entry| wanted.is_none_or(|wanted| !entry.granted.compatible(wanted)))
            .map(|entry| entry.owner)
    }
}
