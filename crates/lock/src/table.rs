//! The operations of the lock table that never wait. The table consists of buckets, which are never
//! freed, each with the requests that hash to it and a tag (`bucket`).
//!
//! Latch order: a bucket's or resource's latch, then an owner's participant record; nothing after
//! that. The `confirmation` mutex comes before all of them.
//!
//! Algorithm: "Efficient Locking for Databases", section 2.2 (requests), 4.2 (queues and
//! conversions) and 5.3, algorithms 6 and 7 (tags for safe early release of all locks).
//!
//! Differences: the table's buckets *are* the queues, so tags survive all changes of locks, ghosts
//! and pages; two keys in one bucket can only delay the delivery of a result. An owner finds out
//! in the bucket, not in a private map, whether it already has a lock. For a lock that it does not
//! have it must visit the bucket anyway, and the cost of a visit depends only on the entries in
//! that bucket (see `entries`).
//!
//! Measured with `benches/lock_speed.rs` under callgrind (November 2026): 143 instructions to hash,
//! take and release a range lock with a commit, 92 to hash and request one again that is held; 142
//! to take and release an intent lock, 35 to request one that is held, 140 for a transaction's
//! intent lock on the database.

#[cfg(all(test, loom))]
pub(crate) mod models;

use clearway_base::Lsn;
use clearway_sync::prefetch_to_write;

use crate::{
    bucket::Bucket,
    identity::{LockId, ResourceId},
    intent::IntentMode,
    mode::RangeMode,
    owner::{HELD_KEPT, LockOwner, NO_LOCK},
    participants::PARTICIPANTS_MAX,
    parts::Resources,
    queue::{Handover, Purpose, RequestResult},
    resource::Resource,
    shared::{LockTable, Outcome},
    wait_record::{LockStats, Target},
};

/// A lock's bucket is prefetched this many releases before the lock's release, so that it is in the
/// cache by then even if the transaction holds more locks than the caches have lines.
const RELEASED_AHEAD: usize = 8;

impl LockTable {
    /// Creates a new owner without locks. Reuse it for consecutive transactions.
    ///
    /// # Panics
    /// If there are already [`PARTICIPANTS_MAX`] owners.
    pub fn owner(&self) -> LockOwner {
        self.try_owner(PARTICIPANTS_MAX).expect("no more owners at a time (PARTICIPANT-3)")
    }

    /// Creates a new owner without locks, unless there are `most` owners. Reuse it for consecutive
    /// transactions.
    pub fn try_owner(&self, most: u32) -> Option<LockOwner> {
        let number = self.shared.participants.claim(most)?;
        Some(LockOwner::new(self.clone(), number))
    }

    /// Returns true if there are more than `most` owners.
    #[inline]
    pub fn has_more_owners_than(&self, most: u32) -> bool {
        self.shared.participants.exceeds(most)
    }

    #[inline]
    pub(crate) fn bucket(&self, id: LockId) -> &Bucket {
        let buckets = &self.shared.buckets;
        &buckets[id.0 as usize & (buckets.len() - 1)]
    }

    /// Returns the index of a resource's entry.
    #[inline]
    pub(crate) fn entry_of(&self, resource: ResourceId) -> u32 {
        // The first entry belongs to the database alone; tables share the others.
        let tables = self.shared.resources.len() as u32 - 1;
        if resource == ResourceId::DATABASE { 0 } else { 1 + (resource.0 & (tables - 1)) }
    }

    #[inline]
    pub(crate) fn resource(&self, entry: u32) -> &Resource {
        &self.shared.resources[entry as usize]
    }

    /// Returns the number of entries for resources.
    pub(crate) fn resource_count(&self) -> u32 {
        self.shared.resources.len() as u32
    }

    /// Prefetches the bucket of `id`, a lock that will be requested soon.
    #[inline]
    pub fn prefetch(&self, id: LockId) {
        prefetch_to_write(self.bucket(id));
    }

    /// Requests a lock and never waits. If denied, no request remains in the queue.
    ///
    /// A lock granted here was requested by the protocol: [`release`](Self::release) does not
    /// release it. Requesting a lock again that is already held is fast and adds no mode to it. But
    /// the request confirms a lock that [`acquire`](Self::acquire) obtained, so that `release`
    /// keeps it from then on.
    #[inline]
    pub fn try_acquire(&self, owner: &mut LockOwner, id: LockId, mode: RangeMode) -> Outcome {
        if owner.last.0 == id && owner.last.1.covers(mode) {
            // OWNER-3: the tag need not be read again for a lock that is already held.
            return Outcome::Granted;
        }
        let outcome = self.request(owner, id, mode, Purpose::Keep);
        if outcome == Outcome::Granted {
            owner.last = (id, mode);
        }
        outcome
    }

    /// Requests a lock without queueing.
    #[inline]
    pub(crate) fn request(
        &self,
        owner: &mut LockOwner,
        id: LockId,
        mode: RangeMode,
        purpose: Purpose,
    ) -> Outcome {
        debug_assert!(owner.pending.is_none(), "an owner waits for one lock at a time");
        if mode.is_none() {
            return Outcome::Granted;
        }
        let bucket = self.bucket(id);
        let mut entries = bucket.entries.lock();
        let result = entries.request(id, owner.number, mode, purpose);
        // After the grant, and in the same latch hold (BUCKET-3).
        let tag = bucket.tag();
        drop(entries);
        match result {
            RequestResult::Denied { .. } => return Outcome::Denied,
            RequestResult::New => owner.held.push(id),
            RequestResult::Held => {}
        }
        owner.raise_tag(tag);
        Outcome::Granted
    }

    /// Checks whether `mode` could be granted now: compatible with all that others hold or await.
    /// Takes no lock, but meets the tag as a holder would.
    ///
    /// The result stays valid as long as the caller keeps new requests for `id` out, by the
    /// exclusive latch on the leaf.
    #[inline]
    pub fn check(&self, owner: &mut LockOwner, id: LockId, mode: RangeMode) -> Outcome {
        let bucket = self.bucket(id);
        let entries = bucket.entries.lock();
        if !entries.admits(id, owner.number, mode) {
            return Outcome::Denied;
        }
        let tag = bucket.tag();
        drop(entries);
        owner.raise_tag(tag);
        Outcome::Granted
    }

    /// Releases what [`acquire`](Self::acquire) added to a lock since the protocol last confirmed
    /// it with [`try_acquire`](Self::try_acquire): the whole lock if it never did, nothing if it
    /// confirmed all of it. A transaction that has waited for a lock and then finds that it needs
    /// another one calls this; what it locked in earlier operations stays locked.
    pub fn release(&self, owner: &mut LockOwner, id: LockId) {
        let bucket = self.bucket(id);
        let mut entries = bucket.entries.lock();
        let Some(at) = entries.position(id, owner.number) else { return };
        let kept = entries.get(at).kept;
        entries.lower(at, kept, self.granting(&mut owner.granted));
        drop(entries);
        let place = owner.held.iter().rposition(|&held| held == id);
        if let Some(at) = place.filter(|_| kept.is_none()) {
            owner.held.swap_remove(at);
        }
        self.shared.wake(&mut owner.granted);
    }

    /// Releases every lock and resets the owner for the next transaction. This sets
    /// [`max_tag`](LockOwner::max_tag) to zero, so a caller that needs it reads it before. A
    /// request that still waits is withdrawn.
    ///
    /// With `commit`, the end of the commit record, every lock held exclusively, and every intent
    /// to write, is tagged with it before it can be granted to another owner in a conflicting mode.
    /// Without `commit`, as after a rollback or for a reader, tags do not change.
    pub fn release_all(&self, owner: &mut LockOwner, commit: Option<Lsn>) {
        self.cancel(owner);
        // In reverse order of acquisition, without waking waiters in between: a waiter that runs
        // too early would find the next lock still held.
        while let Some(id) = owner.held.pop() {
            if owner.held.len() >= RELEASED_AHEAD {
                self.prefetch(owner.held[owner.held.len() - RELEASED_AHEAD]);
            }
            self.release_range(owner, id, RangeMode::NN, commit);
        }
        self.release_intents(owner, commit);
        self.shared.wake(&mut owner.granted);
        owner.max_tag = Lsn::ZERO;
        owner.last = NO_LOCK;
        owner.begin_lock_epoch();
        if owner.held.capacity() > HELD_KEPT {
            owner.held.shrink_to(HELD_KEPT);
        }
    }

    /// Releases what is only shared and keeps what is exclusive: early release of shared locks, for
    /// comparison. The owner may acquire nothing afterwards.
    pub fn release_shared(&self, owner: &mut LockOwner) {
        let mut held = std::mem::take(&mut owner.held);
        held.retain(|&id| !self.release_range(owner, id, RangeMode::XX, None).is_none());
        owner.held = held;
        self.release_shared_intents(owner);
        self.shared.wake(&mut owner.granted);
        owner.last = NO_LOCK;
    }

    /// Lowers an owner's lock: with `keep` = NN releases it, with `keep` = XX releases only its
    /// shared parts. Returns the mode that remains.
    #[inline]
    fn release_range(
        &self,
        owner: &mut LockOwner,
        id: LockId,
        keep: RangeMode,
        commit: Option<Lsn>,
    ) -> RangeMode {
        let handover = self.granting(&mut owner.granted);
        self.bucket(id).release(id, owner.number, keep, commit, handover)
    }

    /// Returns the handover that grants waiters when a queue changes. It records the granted owners
    /// in `granted`; the caller wakes them after it has released the latch.
    #[inline]
    pub(crate) fn granting<'a>(&'a self, granted: &'a mut Vec<u32>) -> Granting<'a> {
        Granting { table: self, granted }
    }

    /// Returns true if no owner holds or awaits a lock on `id`.
    pub fn is_idle(&self, id: LockId) -> bool {
        self.bucket(id).entries.lock().of(id).next().is_none()
    }

    /// Returns true if no owner other than `owner` holds or awaits a lock on `id`.
    pub fn is_idle_except(&self, owner: &LockOwner, id: LockId) -> bool {
        self.bucket(id).entries.lock().of(id).all(|entry| entry.owner == owner.number)
    }

    /// Returns the tag that an owner would read now if it were granted a lock on `id`.
    pub fn tag(&self, id: LockId) -> Lsn {
        let bucket = self.bucket(id);
        let _latched = bucket.entries.lock();
        bucket.tag()
    }

    /// Raises the tag of `to` to that of `from`, a ghost that is about to be removed: owners that
    /// later lock the gap of its predecessor (`to`) instead must read the ghost's tag there.
    /// `durable` is the durable LSN.
    ///
    /// Returns `false` and changes nothing if the tag of `from` is not durable and an owner other
    /// than `owner` holds or awaits `to`. Such a holder need not read the tag of its lock again
    /// (OWNER-3), so it would not learn of the raised tag. That the tag of `to` is already as high
    /// proves nothing: it may have been raised after the grant to that holder. `owner` itself takes
    /// the tag into account here.
    pub fn inherit_tag(
        &self,
        owner: &mut LockOwner,
        from: LockId,
        to: LockId,
        durable: Lsn,
    ) -> bool {
        let tag = self.tag(from);
        let bucket = self.bucket(to);
        let entries = bucket.entries.lock();
        if tag > durable && !entries.of(to).all(|entry| entry.owner == owner.number) {
            return false;
        }
        // In the same latch hold: later owners read it after their grant (BUCKET-3).
        bucket.raise_tag(tag);
        drop(entries);
        owner.raise_tag(tag);
        true
    }

    /// Raises the tag of `to` to that of `from`. `to` is a key that is being created in the gap of
    /// `from`; the caller holds its lock, or an absolute X that covers it. Owners that lock the
    /// upper part of that gap from now on do so under the new identity, and must read the tag left
    /// by a ghost that was once in it. No owner can hold the new gap yet, so none misses the tag.
    ///
    /// The caller holds the exclusive latch of the leaf, and a tag is passed from one key to
    /// another only under that latch. In the same latch hold it has either passed
    /// [`check`](LockTable::check) for the gap of `from`, which reads the tag, or found that it
    /// holds the gap in X, for which it read the tag when it was granted the gap (BUCKET-3). Or it
    /// holds an absolute X that covers both keys. A former holder of the gap raised the tag before
    /// it released its intent lock, and the X was granted only after that release. So this call
    /// reads the tag of `from` without the latch of its bucket. It takes the latch of `to` only if
    /// the tag of `to` is lower: tags never decrease (BUCKET-2).
    #[inline]
    pub fn pass_tag(&self, from: LockId, to: LockId) {
        let tag = self.bucket(from).tag();
        let bucket = self.bucket(to);
        if bucket.tag() < tag {
            let _latched = bucket.entries.lock();
            bucket.raise_tag(tag);
        }
    }

    /// Returns the counters since the table was created.
    pub fn stats(&self) -> LockStats {
        let participants = &self.shared.participants;
        LockStats::gather((0..participants.len()).map(|owner| participants.wait_record(owner)))
    }

    /// Returns true if no owner holds or awaits anything, which must be true when no transaction is
    /// active. Visits every bucket; for tests.
    pub fn is_quiescent(&self) -> bool {
        if let Some(store) = &self.shared.store {
            (0..self.resource_count()).for_each(|entry| store.flush(Resources::new(self), entry));
        }
        self.shared.buckets.iter().all(|bucket| bucket.entries.lock().len() == 0)
            && self.shared.resources.iter().all(|resource| resource.locks.lock().is_idle())
    }
}

/// See [`LockTable::granting`]. Used only under the latch of the bucket or resource that the
/// waiters wait for.
pub(crate) struct Granting<'a> {
    table: &'a LockTable,
    granted: &'a mut Vec<u32>,
}

impl Handover for Granting<'_> {
    #[inline]
    fn grant(&mut self, owner: u32) {
        self.table.shared.end_stall(owner);
        // The tag is already raised (BUCKET-2, RESOURCE-5): the granted owner reads it next.
        self.table.shared.record(owner).grant();
        self.granted.push(owner);
    }

    fn notifies_others(&self) -> bool {
        self.table.shared.method.as_ref().is_some_and(|method| method.follows_queues())
    }

    fn notify(&mut self, owner: u32) {
        if let Some(method) = &self.table.shared.method {
            method.sources_changed(owner);
        }
    }

    fn follow(&mut self, id: LockId, holder: impl FnOnce() -> Option<u32>) {
        self.table.shared.move_stall(Target::Range(id), holder);
    }

    fn follow_intent(&mut self, waiter: u32, wanted: IntentMode, granted: Option<u32>) {
        let table = self.table;
        if !table.shared.stalls.is_on() {
            return;
        }
        let record = table.shared.record(waiter);
        if let Some(Target::Intent(entry)) = record.target(record.state()) {
            let holder = || granted.or_else(|| table.holder_of_intent(entry, waiter, wanted));
            table.shared.move_stall(Target::Intent(entry), holder);
        }
    }
}

impl Drop for LockOwner {
    fn drop(&mut self) {
        // A panic may have occurred after a grant: remove everything from the queues.
        let table = self.table.clone();
        table.release_all(self, None);
        table.end_stored(self);
        if !self.keeps_number {
            table.shared.participants.give_back(self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::Arc,
        task::{Context, Wake, Waker},
    };

    use clearway_sync::atomic::{AtomicU32, AtomicU64, Ordering};

    use super::*;
    use crate::{LockOptions, Participant, Participants};

    #[test]
    fn tag_is_raised_before_any_waiter_is_granted() {
        let (bucket, id) = (Bucket::new(), LockId(5));
        let mut entries = bucket.entries.lock();
        assert_eq!(entries.request(id, 1, RangeMode::XN, Purpose::Keep), RequestResult::New);
        let denied = RequestResult::Denied { granted: RangeMode::NN };
        assert_eq!(entries.request(id, 2, RangeMode::SN, Purpose::Wait), denied);
        assert_eq!(entries.request(id, 3, RangeMode::SN, Purpose::Wait), denied);
        drop(entries);
        let mut granted = Vec::new();
        bucket.release(id, 1, RangeMode::NN, Some(Lsn(77)), |owner| {
            assert_eq!(bucket.tag(), Lsn(77), "before the grant");
            assert!(bucket.entries.try_lock().is_none(), "in the same latch hold");
            granted.push(owner);
        });
        assert_eq!(granted, [2, 3]);
    }

    /// Records what its owner holds when it is woken.
    struct HolderWitness {
        table: LockTable,
        owner: u32,
        saw: AtomicU64,
    }

    impl Wake for HolderWitness {
        fn wake(self: Arc<Self>) {
            let is_granted = self.table.shared.record(self.owner).is_granted();
            self.saw.store(1 + u64::from(is_granted), Ordering::SeqCst);
        }
    }

    #[test]
    fn woken_waiter_has_its_lock() {
        let (table, id) = (LockTable::new(LockOptions::default()), LockId(5));
        let (mut holder, mut waiter) = (table.owner(), table.owner());
        let (saw, owner) = (AtomicU64::new(0), waiter.number);
        let witness = Arc::new(HolderWitness { table: table.clone(), owner, saw });
        let waker = Waker::from(witness.clone());
        let mut cx = Context::from_waker(&waker);
        assert_eq!(table.try_acquire(&mut holder, id, RangeMode::XN), Outcome::Granted);
        assert!(table.poll_acquire(&mut waiter, id, RangeMode::SN, &mut cx).is_pending());
        table.release_all(&mut holder, None);
        assert_eq!(
            witness.saw.load(Ordering::SeqCst),
            2,
            "woken once, and granted before (LOCK-WAIT-2)"
        );
        assert!(table.poll_acquire(&mut waiter, id, RangeMode::SN, &mut cx).is_ready());
    }

    struct PanickingWaker;

    impl Wake for PanickingWaker {
        fn wake(self: Arc<Self>) {
            panic!("a waker that panics, as it should");
        }
    }

    struct Flag(AtomicU32);

    impl Wake for Flag {
        fn wake(self: Arc<Self>) {
            self.0.store(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_waker_that_panics_keeps_no_other_owner_asleep() {
        let table = LockTable::new(LockOptions::default());
        let owners = [table.owner(), table.owner()];
        let flag = Arc::new(Flag(AtomicU32::new(0)));
        table.record(&owners[0]).is_granted_or_wakes(&Waker::from(Arc::new(PanickingWaker)));
        table.record(&owners[1]).is_granted_or_wakes(&Waker::from(flag.clone()));
        table.shared.wake(&mut owners.each_ref().map(LockOwner::number).to_vec());
        assert_eq!(flag.0.load(Ordering::SeqCst), 1);
    }

    /// A participant with or without a transaction.
    #[derive(Default)]
    struct Runs(AtomicU32);

    impl Participant for Runs {
        fn runs(&self) -> bool {
            self.0.load(Ordering::Relaxed) != 0
        }
    }

    #[test]
    fn only_owners_with_a_transaction_count_as_oversubscription() {
        let participants = Arc::new(Participants::<Runs>::new());
        let table = LockTable::with_participants(LockOptions::default(), participants.clone());
        let owners: Vec<LockOwner> = (0..6).map(|_| table.owner()).collect();
        let run = |owner: &LockOwner, runs| {
            participants.get(owner.number()).0.store(runs, Ordering::Relaxed);
        };
        let is_over = |most| table.shared.is_oversubscribed(most);
        assert!(!is_over(0), "none runs");
        owners.iter().for_each(|owner| run(owner, 1));
        assert!(is_over(5) && !is_over(6));
        owners[..4].iter().for_each(|owner| run(owner, 0));
        assert!(is_over(1) && !is_over(2));
    }
}
