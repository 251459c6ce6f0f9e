//! The interface for variants of the lock table's parts, for `clearway-variants` and for no other
//! crate.
//!
//! [`LockOptions::parts`](crate::LockOptions::parts) names an object that makes the parts of a
//! table. It is asked once, when the table is created. Where it makes none, the table uses its own
//! part, whose code is called directly; the product's [`Product`] makes none at all.
//!
//! | part | trait | the product's |
//! | --- | --- | --- |
//! | deadlock checks | [`Detector`] | a search of the wait-for graph (`deadlock/search.rs`) |
//! | victims of a cycle | [`Victims`] | the owner that closes it |
//!
//! An implementation must keep these invariants:
//! - P1. A detector ends a wait only by [`Check::search`] or [`Check::die`], and reports what they
//!   return. So D5, D6 and W4 hold under every detector: the waiter withdraws its own request,
//!   holds something, and was not granted.
//! - P2. Every cycle of waits is broken, if each of its blocking members repeats its check as
//!   [`Detector::next_check`] requires. A cycle of polled members alone is broken by the check of
//!   the last of them: they check again only when they are polled ([`Check::edges`]).
//! - P3. `begin_wait` and `sources_changed` run under the latch of a queue: they take no latch but
//!   their own, wake no owner, and allocate nothing (B4).
//! - P4. A detector that wakes an owner records the reason first (D8): the owner stores its waker
//!   and checks afterwards.
//! - P5. The rank that [`Victims`] gives depends only on its arguments (V1). It orders owners that
//!   have never been victims; the others rank above them, by age, under every policy (V2).
//! - P6. Owners are named by the numbers of their slots ([`LockOwner::number`]), which are below
//!   65,536 and used again. What a detector keeps for a number may belong to an owner that is gone.
//!
//! [`LockOwner::number`]: crate::LockOwner::number

mod check;
pub mod steps;

use std::{fmt, time::Duration};

pub use check::{Check, Owners};

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
}

/// The product's parts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Product;

impl LockParts for Product {}

/// A method by which deadlocks are found or prevented.
pub trait Detector: Send + Sync {
    /// Runs a deadlock check of a waiter, and returns true if the waiter died (P1). `first` is set
    /// at the first check of a wait.
    fn check(&self, check: &mut Check<'_>, first: bool) -> bool;

    /// Returns how long a waiter may sleep before its next check; `None` means until it is woken.
    fn next_check(&self, check: &Check<'_>) -> Option<Duration>;

    /// Whether transactions take their ages when they begin, not when they first wait, and
    /// [`released`](Detector::released) is called.
    fn follows_transactions(&self) -> bool {
        false
    }

    /// Whether [`sources_changed`](Detector::sources_changed) is called.
    fn follows_queues(&self) -> bool {
        false
    }

    /// Notes that a wait of this owner is about to be published. Called by the owner, under the
    /// latch of the queue (P3).
    fn begin_wait(&self, _owner: u32) {}

    /// Notes that the queue in which an owner continues to wait has changed, so the owners that it
    /// waits for may be others. Called by the thread that changed the queue, under its latch (P3).
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
    /// of the lowest rank dies; of owners of equal rank, the youngest (P5).
    fn rank(&self, completed: u64) -> u64;

    /// Whether transactions take their ages when they begin, not when they first wait.
    fn ranks_by_age(&self) -> bool {
        false
    }
}
