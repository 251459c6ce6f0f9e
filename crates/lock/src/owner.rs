//! The private lock state of a transaction. The next transaction of the same owner reuses its
//! memory.
//!
//! Invariants:
//! - OWNER-1. `held` names exactly once each identity on which this owner has a granted entry,
//!   except one whose first grant was not picked up yet (OWNER-4).
//! - OWNER-2. `intents` names exactly once each resource on which this owner is counted, except one
//!   whose first grant was not picked up yet (OWNER-4).
//! - OWNER-3. `last` names a lock that this owner has, in a mode that the protocol confirmed. A
//!   repeated request is granted without reading the tag. No tag is missed: while the lock is held,
//!   no other owner changes what it protects; and if a boundary is removed, so that the protected
//!   gap grows, the boundary's tag is moved to this bucket only once it is durable, unless this
//!   owner itself removes the boundary and takes the tag into account at once
//!   ([`LockTable::inherit_tag`]).
//! - OWNER-4. `pending` is set exactly while a request of this owner waits in a queue, or was
//!   granted and not picked up yet.
//!
//! Only the owner's thread accesses these fields. What others may see of it is in its participant
//! record: the state of its wait (see `wait_record`), and its intent locks (`published_intents`).

use std::{
    fmt,
    sync::Arc,
    time::{Duration, Instant},
};

use clearway_base::{Lsn, TxnId};
use clearway_sync::atomic::Ordering;

use crate::{
    cycle_member::CycleMember,
    identity::LockId,
    intent::{HeldIntent, IntentMode},
    mode::RangeMode,
    published_intents::PublishedIntents,
    search_memory::Graph,
    shared::LockTable,
    victims::RetryPriority,
    wait_record::WaitRecord,
};

/// A waiting request, with the data needed to pick it up or to undo it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PendingRequest {
    pub(crate) request: Request,
    pub(crate) since: Instant,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Request {
    Range {
        id: LockId,
        /// The mode that the owner holds while it waits for a stronger one.
        before: RangeMode,
    },
    Intent {
        /// Index of the resource's entry.
        entry: u32,
        before: Option<IntentMode>,
        wanted: IntentMode,
    },
}

/// The length of a wait that has ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WaitLength {
    /// The time from its beginning to its end.
    pub waited: Duration,
    /// If a polled wait was granted: the part of `waited` from the grant to the poll that found it.
    pub grant_to_poll: Option<Duration>,
    /// The part of `waited` in which the holder of the lock waited for a page, or for a lock whose
    /// holder did, and so on. Of several holders one is followed at a time (`stalls`).
    pub behind_reads: Duration,
}

/// The locks of one transaction at a time.
///
/// Dropping an owner withdraws its request and releases its locks without a commit.
pub struct LockOwner {
    pub(crate) table: LockTable,
    /// The number of its participant record.
    pub(crate) number: u32,
    /// True if no later owner may have the number (PARTICIPANT-2).
    pub(crate) keeps_number: bool,
    pub(crate) txn: TxnId,
    pub(crate) max_tag: Lsn,
    /// The lock that `try_acquire` granted last: a row that was read for update is usually written
    /// next (OWNER-3).
    pub(crate) last: (LockId, RangeMode),
    /// The held locks in order of acquisition, unless some were released in between (OWNER-1).
    pub(crate) held: Vec<LockId>,
    /// The private table of intent locks (OWNER-2). There are few, so it is searched from the
    /// front.
    pub(crate) intents: Vec<HeldIntent>,
    /// The copy of `intents` that others may read.
    pub(crate) published: Arc<PublishedIntents>,
    pub(crate) pending: Option<PendingRequest>,
    /// True if the deadlock check of the pending request was made (polled waits only).
    pub(crate) checked: bool,
    /// The priority that this attempt of the transaction inherited from earlier ones, and its age.
    pub(crate) priority: RetryPriority,
    /// The number of transactions that its pipeline has completed.
    pub(crate) pipeline: u64,
    /// The owners for which this one must not block (LOCK-WAIT-6).
    pub(crate) suspended: Vec<u32>,
    /// Owners to wake after a release; empty between calls.
    pub(crate) granted: Vec<u32>,
    /// The working memory of detectors; empty until the first wait.
    pub(crate) graph: Graph,
    /// The length of the last wait, until it is taken.
    pub(crate) last_wait: Option<WaitLength>,
    /// The cycle of which this owner was the victim, until it is taken.
    pub(crate) cycle: Vec<CycleMember>,
}

/// Capacity that a new owner starts with: a TPC-B transaction takes four range locks and five
/// intent locks, on four tables and on the database.
const HELD_AT_FIRST: usize = 16;
const INTENTS_AT_FIRST: usize = 8;

/// A list of held locks that grew beyond this many entries (32 KiB) is shrunk when it is empty.
pub(crate) const HELD_KEPT: usize = 4096;

/// No lock: the value of `last` that satisfies no request (OWNER-3).
pub(crate) const NO_LOCK: (LockId, RangeMode) = (LockId(0), RangeMode::NN);

impl LockOwner {
    pub(crate) fn new(table: LockTable, number: u32) -> LockOwner {
        let published = table.shared.record(number).intents.clone();
        let mut owner = LockOwner {
            table,
            number,
            keeps_number: false,
            txn: TxnId::NONE,
            max_tag: Lsn::ZERO,
            last: NO_LOCK,
            held: Vec::with_capacity(HELD_AT_FIRST),
            intents: Vec::with_capacity(INTENTS_AT_FIRST),
            published,
            pending: None,
            checked: false,
            priority: RetryPriority::default(),
            pipeline: 0,
            suspended: Vec::new(),
            granted: Vec::new(),
            graph: Graph::default(),
            last_wait: None,
            cycle: Vec::new(),
        };
        owner.begin_age();
        owner
    }

    /// Returns this owner's id as it appears in [`CycleMember`]; unique while the owner exists.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// Takes the length of the last wait, granted or not; returns `None` if there was none since
    /// the last call.
    pub fn take_wait(&mut self) -> Option<WaitLength> {
        self.last_wait.take()
    }

    /// Takes the cycle of the last deadlock of which this owner was the victim: itself first, each
    /// member waiting for the next. Empty if there was none since the last call.
    pub fn take_cycle(&mut self) -> Vec<CycleMember> {
        std::mem::take(&mut self.cycle)
    }

    /// Sets the transaction to which the locks taken from now on belong: the name in
    /// [`Error::Deadlock`](clearway_base::Error::Deadlock).
    #[inline]
    pub fn set_txn(&mut self, txn: TxnId) {
        self.txn = txn;
        self.begin_age();
    }

    /// Withholds the owner's number from later owners: its participant record stays in use after
    /// the owner is dropped.
    pub fn keep_number(&mut self) {
        self.keeps_number = true;
    }

    /// Returns the priority that the transaction should keep if it has to start over. Must be
    /// called before [`release_all`](LockTable::release_all), which begins the next transaction.
    pub fn priority(&self) -> RetryPriority {
        self.priority
    }

    /// Makes the transaction that begins now another attempt of an earlier one: a victim of
    /// deadlocks has priority in later ones (VICTIM-2). Must be called after
    /// [`set_txn`](Self::set_txn).
    pub fn resume(&mut self, priority: RetryPriority) {
        // An age that was not needed yet is assigned later.
        let age = if priority.age == 0 { self.priority.age } else { priority.age };
        self.priority = RetryPriority { age, ..priority };
        self.record().priority.publish_age(age);
        if let Some(method) = &self.table.shared.method {
            method.resumed(self.number);
        }
    }

    /// Sets the number of transactions completed by the pipeline that this one belongs to, for
    /// victim policies that rank by it ([`Victims`](crate::parts::Victims)). The value stays until
    /// it is set again.
    pub fn set_pipeline(&mut self, completed: u64) {
        self.pipeline = completed;
    }

    /// Names the owners, by their [numbers](LockOwner::number), that do nothing as long as the
    /// calling thread blocks: a blocking wait for one of them fails at once with
    /// [`Error::SelfWait`](clearway_base::Error::SelfWait). The list stays until it is set again.
    pub fn set_suspended(&mut self, owners: Vec<u32>) {
        self.suspended = owners;
    }

    /// Begins a new transaction: gives it an age, if ages must be known before any wait.
    #[inline]
    pub(crate) fn begin_age(&mut self) {
        self.priority = RetryPriority::default();
        if self.table.shared.publishes_begins {
            self.take_age();
        }
    }

    /// Begins the next transaction, and with it the owner's next lock epoch, after all locks are
    /// released.
    #[inline]
    pub(crate) fn begin_lock_epoch(&mut self) {
        self.priority = RetryPriority::default();
        if self.table.shared.publishes_begins {
            self.begin_known();
        }
    }

    /// Begins the next transaction where its start must be known: gives it an age, and notifies the
    /// detector that all locks of the one before are released.
    #[cold]
    fn begin_known(&mut self) {
        self.take_age();
        if let Some(method) = &self.table.shared.method {
            method.released(self.number);
        }
    }

    /// Gives the transaction an age and publishes it.
    #[cold]
    fn take_age(&mut self) {
        // Relaxed: the numbers differ, and nothing else is ordered by them.
        self.priority.age = self.table.shared.ages.fetch_add(1, Ordering::Relaxed);
        self.record().priority.publish_age(self.priority.age);
    }

    /// Publishes the priority of a waiting owner for detectors, before the wait is published
    /// (WAIT-RECORD-4).
    pub(crate) fn publish_priority(&mut self) {
        if self.priority.age == 0 {
            self.take_age();
        }
        self.record().priority.publish(self.priority, self.pipeline);
    }

    fn record(&self) -> &WaitRecord {
        self.table.shared.record(self.number)
    }

    /// Returns the highest tag met: a result that depends on data protected by these locks may
    /// leave the engine only once the log is durable up to here.
    pub fn max_tag(&self) -> Lsn {
        self.max_tag
    }

    /// Adds `lsn` to the tags met. The transaction layer calls this when it runs a deadlock's
    /// victim again, with the highest tag that the lost attempt met (RETRY-5).
    pub fn raise_tag(&mut self, lsn: Lsn) {
        self.max_tag = self.max_tag.max(lsn);
    }

    /// Returns the number of range locks held.
    pub fn held(&self) -> usize {
        self.held.len()
    }

    /// Returns the range locks held, in no particular order.
    pub fn range_locks(&self) -> Vec<(LockId, RangeMode)> {
        let lock = |id: &LockId| {
            let entries = self.table.bucket(*id).entries.lock();
            entries.position(*id, self.number).map(|at| (*id, entries.get(at).granted))
        };
        self.held.iter().filter_map(lock).collect()
    }

    /// Returns the number of intent locks held.
    pub fn held_intents(&self) -> usize {
        self.intents.len()
    }

    /// Returns true if `id` is held in `mode` or a stronger one.
    pub fn holds(&self, id: LockId, mode: RangeMode) -> bool {
        let entries = self.table.bucket(id).entries.lock();
        entries.held_by(id, self.number).covers(mode)
    }

    /// Returns the place of a resource in the private table.
    #[inline]
    pub(crate) fn intent_position(&self, entry: u32) -> Option<usize> {
        self.intents.iter().position(|held| held.entry == entry)
    }

    /// Records an intent lock, replacing a weaker one on the same resource (OWNER-2), and publishes
    /// it (PUBLISHED-INTENTS-1).
    #[inline]
    pub(crate) fn note_intent(&mut self, place: Option<usize>, held: HeldIntent) {
        let at = place.unwrap_or(self.intents.len());
        match place {
            Some(at) => self.intents[at] = held,
            None => self.intents.push(held),
        }
        self.published.set(at, self.intents.len(), held);
    }
}

impl fmt::Debug for LockOwner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LockOwner")
            .field("number", &self.number)
            .field("txn", &self.txn)
            .field("max_tag", &self.max_tag)
            .field("held", &self.held.len())
            .field("intents", &self.intents)
            .field("pending", &self.pending)
            .finish_non_exhaustive()
    }
}
