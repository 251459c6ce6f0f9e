//! The interface for variants of the lock table's parts, for `clearway-variants` and for no other
//! crate.
//!
//! [`LockOptions::parts`](crate::LockOptions::parts) names an object that makes the parts of a
//! table. It is called once, when the table is created. Where it makes none, the table uses its own
//! part, whose code is called directly; the product's [`ProductLockParts`] makes none at all.
//!
//! | part | trait | the product's |
//! | --- | --- | --- |
//! | deadlock checks | [`Detector`] | a search of the wait-for graph (`deadlock/search.rs`) |
//! | victims of a cycle | [`Victims`] | the owner that closes it |
//! | intent locks | [`IntentStore`] | counters (`resource.rs`) |
//!
//! An implementation must keep these invariants:
//! - LOCK-PARTS-1. A detector ends a wait only by [`Check::search`] or [`Check::die`], and reports
//!   what they return. So DEADLOCK-1, DEADLOCK-2 and LOCK-WAIT-4 hold under every detector: the
//!   waiter withdraws its own request, holds something, and was not granted.
//! - LOCK-PARTS-2. Every cycle of waits is broken, if each of its blocking members repeats its
//!   check as [`Detector::next_check`] requires. A cycle of polled members alone is broken by the
//!   check of the last of them: they check again only when they are polled ([`Check::edges`]).
//! - LOCK-PARTS-3. `begin_wait` and `sources_changed` run under the latch of a queue: they take no
//!   latch but their own, wake no owner (BUCKET-4), and allocate nothing.
//! - LOCK-PARTS-4. A detector that wakes an owner records the reason first (DEADLOCK-4): the owner
//!   stores its waker and checks afterwards.
//! - LOCK-PARTS-5. The rank that [`Victims`] gives depends only on its arguments (VICTIM-1). It
//!   orders owners that have never been victims; the others rank above them, by age, under every
//!   policy (VICTIM-2).
//! - LOCK-PARTS-6. Owners are identified by the numbers of their records ([`LockOwner::number`]),
//!   which are below 65,536 and used again. What a detector keeps for a number may belong to an
//!   owner that is gone.
//! - LOCK-PARTS-7. An owner has an entry in the queue of [`IntentStore::name`] for exactly the mode
//!   in its private table (OWNER-2, INTENTS-2), or one that waits, or was granted and is not picked
//!   up; or one that no transaction holds and that [`IntentStore::flush`] removes.
//! - LOCK-PARTS-8. A store raises the tags of a resource before a lock that may have written it is
//!   released, and its requests meet them after the grant (RESOURCE-5, BUCKET-2, BUCKET-3).
//! - LOCK-PARTS-9. No two resources have one name, and no range lock has the name of a resource,
//!   but for a collision of 64 bits.
//!
//! [`LockOwner::number`]: crate::LockOwner::number

mod check;
mod intents;
pub mod steps;

use std::{fmt, time::Duration};

use clearway_base::Lsn;

use crate::{identity::LockId, intent::IntentMode};

pub use check::{Check, Owners};
pub use intents::{Holder, Queue, Resources};

/// Makes the parts of a lock table; see the [module](self).
pub trait LockParts: fmt::Debug + Send + Sync {
    /// Returns the detector that runs the deadlock checks of waiters; `None` for the search.
    fn detector(&self) -> Option<Box<dyn Detector>> {
        None
    }

    /// Returns the policy that chooses the victim of a cycle; `None` for the owner that closes it.
    fn victims(&self) -> Option<Box<dyn Victims>> {
        None
    }

    /// Returns the store of the intent locks of a table with this many entries for resources;
    /// `None` for counters.
    fn intents(&self, _resources: u32) -> Option<Box<dyn IntentStore>> {
        None
    }
}

/// The product's parts.
#[derive(Clone, Copy, Debug, Default)]
pub struct ProductLockParts;

impl LockParts for ProductLockParts {}

/// A method by which deadlocks are found or prevented.
pub trait Detector: Send + Sync {
    /// Runs a deadlock check of a waiter, and returns true if the waiter died (LOCK-PARTS-1).
    /// `first` is set at the first check of a wait.
    fn check(&self, check: &mut Check<'_>, first: bool) -> bool;

    /// Returns how long a waiter may sleep before its next check; `None` means until it is woken.
    fn next_check(&self, check: &Check<'_>) -> Option<Duration>;

    /// Returns true if transactions must take their ages when they begin, not when they first wait,
    /// and [`released`](Detector::released) must be called.
    fn follows_transactions(&self) -> bool {
        false
    }

    /// Returns true if [`sources_changed`](Detector::sources_changed) must be called.
    fn follows_queues(&self) -> bool {
        false
    }

    /// Notes that a wait of this owner is about to be published. Called by the owner, under the
    /// latch of the queue (LOCK-PARTS-3).
    fn begin_wait(&self, _owner: u32) {}

    /// Notes that the queue in which an owner continues to wait has changed, so the owners that it
    /// waits for may be others. Called by the thread that changed the queue, under its latch
    /// (LOCK-PARTS-3).
    fn sources_changed(&self, _waiter: u32) {}

    /// Notes that an owner has released all its locks, so no owner waits for it any more. Called by
    /// the owner.
    fn released(&self, _owner: u32) {}

    /// Notes that an owner begins another attempt of an earlier transaction, with that one's age.
    /// Called by the owner.
    fn resumed(&self, _owner: u32) {}
}

/// A policy that chooses the victim of a cycle, as long as none of its owners has been a victim
/// before.
pub trait Victims: Send + Sync {
    /// Returns the rank of an owner whose pipeline has completed this many transactions. The owner
    /// of the lowest rank dies; of owners of equal rank, the youngest (LOCK-PARTS-5).
    fn rank(&self, completed: u64) -> u64;

    /// Returns true if transactions must take their ages when they begin, not when they first wait.
    fn ranks_by_age(&self) -> bool {
        false
    }
}

/// A store of intent locks in the lock table's queues. Resources are identified by their entries,
/// which are numbered from 0.
pub trait IntentStore: Send + Sync {
    /// Returns the identity under which a resource's locks are in the lock table (LOCK-PARTS-9).
    fn name(&self, entry: u32) -> LockId;

    /// Requests `wanted`, which the owner does not have. Returns true if it is granted, and in the
    /// private table ([`Holder::note`]). Otherwise, if `queue`, the request waits
    /// ([`Holder::wait`]).
    fn start(&self, holder: &mut Holder<'_>, entry: u32, wanted: IntentMode, queue: bool) -> bool;

    /// Notes that the owner of a waiting request has picked up its grant.
    fn picked_up(&self, entry: u32, mode: IntentMode);

    /// Withdraws a waiting request of an owner that has `before`. Returns false if it was granted
    /// and `undo` is not set ([`Holder::withdraw`]).
    fn withdraw(
        &self,
        holder: &mut Holder<'_>,
        entry: u32,
        before: Option<IntentMode>,
        wanted: IntentMode,
        undo: bool,
    ) -> bool;

    /// Lowers a lock in `mode` to `to`, or releases it. The caller updates the private table.
    fn lower(
        &self,
        holder: &mut Holder<'_>,
        entry: u32,
        mode: IntentMode,
        to: Option<IntentMode>,
        commit: Option<Lsn>,
    );

    /// Notes that a transaction of the owner ends, before its locks are released, or that the owner
    /// ends and has no next transaction.
    fn end(&self, _holder: &mut Holder<'_>) {}

    /// Removes the entries of a resource that no transaction holds (LOCK-PARTS-7).
    fn flush(&self, _resources: Resources<'_>, _entry: u32) {}
}
