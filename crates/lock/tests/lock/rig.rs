//! Shared by the tests of the lock manager, in this crate and in that of the variants.
#![allow(dead_code)] // Each test program uses a part of it.

use std::{
    sync::Arc,
    task::{Context, Poll, Waker},
};

use clearway_base::{Error, Result, TreeId};
use clearway_lock::{
    IntentMode, LockId, LockOptions, LockOwner, LockParts, LockTable, RangeMode, ResourceId,
    parts::ProductLockParts,
};

/// A small table, so that unrelated locks share buckets all the time.
pub(crate) fn options() -> LockOptions {
    LockOptions { buckets: 2, intents: 4, wait_limit: None, spins: 20, ..LockOptions::default() }
}

pub(crate) fn table() -> LockTable {
    LockTable::new(options())
}

pub(crate) fn owners<const N: usize>(table: &LockTable) -> [LockOwner; N] {
    std::array::from_fn(|_| table.owner())
}

pub(crate) fn id(n: u32) -> LockId {
    LockId::of(TreeId(1), &n.to_be_bytes())
}

/// The result of a poll, in a form that can be compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Granted,
    Waits,
    Dies,
}

fn step(poll: Poll<Result<()>>) -> Step {
    match poll {
        Poll::Ready(Ok(())) => Step::Granted,
        Poll::Pending => Step::Waits,
        Poll::Ready(Err(Error::Deadlock { .. })) => Step::Dies,
        Poll::Ready(Err(error)) => panic!("unexpected {error}"),
    }
}

/// Requests a range lock, or checks whether the requested one has been granted.
pub(crate) fn ask(table: &LockTable, owner: &mut LockOwner, id: LockId, mode: RangeMode) -> Step {
    step(table.poll_acquire(owner, id, mode, &mut Context::from_waker(Waker::noop())))
}

/// The same for an intent lock.
pub(crate) fn intend(
    table: &LockTable,
    owner: &mut LockOwner,
    resource: u32,
    mode: IntentMode,
) -> Step {
    let mut cx = Context::from_waker(Waker::noop());
    step(table.poll_acquire_intent(owner, ResourceId(resource), mode, &mut cx))
}

/// A method to find or prevent deadlocks, and its guarantees.
#[derive(Clone, Debug)]
pub(crate) struct Method {
    pub(crate) parts: Arc<dyn LockParts>,
    /// No owner dies without a deadlock, and each deadlock has one victim.
    pub(crate) is_exact: bool,
    /// The same, as long as all waiters are polled.
    pub(crate) is_exact_when_polled: bool,
    /// All members of a cycle may die.
    pub(crate) may_kill_all: bool,
    /// A polled waiter finds its deadlock only when it is polled for no other reason.
    pub(crate) needs_polls: bool,
    /// Upper bound on the attempts that an owner loses among a few others that close cycles with
    /// it; `None` for the number of the others.
    pub(crate) losses_max: Option<u32>,
}

/// The product's method.
pub(crate) fn product() -> Method {
    exact(Arc::new(ProductLockParts))
}

/// A method as exact as the product's.
pub(crate) fn exact(parts: Arc<dyn LockParts>) -> Method {
    Method {
        parts,
        is_exact: true,
        is_exact_when_polled: true,
        may_kill_all: false,
        needs_polls: false,
        losses_max: None,
    }
}
