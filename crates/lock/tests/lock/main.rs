//! The lock manager through its public interface.
//!
//! Most tests are scripts on one thread: several owners, whose waits are polled. Nothing in them
//! depends on time. `stress` runs threads with infinite limits: a lost wake-up or a missed deadlock
//! shows as a hang.

mod deadlocks;
mod intents;
mod methods;
mod model;
mod queues;
mod stress;
mod tags;
mod victims;
mod waits;

use std::task::{Context, Poll, Waker};

use clearway_base::{Error, Result, TreeId};
use clearway_lock::{
    DeadlockMethod, Digests, IntentMethod, IntentMode, LockId, LockOptions, LockOwner, LockTable,
    RangeMode, ResourceId,
};

/// A small table, so that unrelated locks share buckets all the time.
fn options() -> LockOptions {
    LockOptions { buckets: 2, intents: 4, wait_limit: None, spins: 20, ..LockOptions::default() }
}

fn table() -> LockTable {
    LockTable::new(options())
}

/// The methods that find exactly the deadlocks there are, when all waiters are polled.
fn exact_methods() -> [DeadlockMethod; 4] {
    let plain = Digests { confirm: false, ..Digests::default() };
    let digests = [Digests::default(), Digests::bloom(), plain].map(DeadlockMethod::Dreadlocks);
    [DeadlockMethod::Search, digests[0], digests[1], digests[2]]
}

/// Runs a scenario under each of them; it makes its tables itself.
fn under_each_exact_method(scenario: impl Fn(&dyn Fn() -> LockTable)) {
    for deadlocks in exact_methods() {
        let options = LockOptions { deadlocks, ..options() };
        scenario(&|| LockTable::new(options.clone()));
    }
}

const METHODS: [IntentMethod; 3] =
    [IntentMethod::Lightweight, IntentMethod::MainTable, IntentMethod::Inherited];

/// The same, with intent locks kept as chosen.
fn table_with(intent_locks: IntentMethod) -> LockTable {
    LockTable::new(LockOptions { intent_locks, ..options() })
}

fn owners<const N: usize>(table: &LockTable) -> [LockOwner; N] {
    std::array::from_fn(|_| table.owner())
}

fn id(n: u32) -> LockId {
    LockId::of(TreeId(1), &n.to_be_bytes())
}

/// The result of a poll, in a form that can be compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Step {
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
fn ask(table: &LockTable, owner: &mut LockOwner, id: LockId, mode: RangeMode) -> Step {
    step(table.poll_acquire(owner, id, mode, &mut Context::from_waker(Waker::noop())))
}

/// The same for an intent lock.
fn intend(table: &LockTable, owner: &mut LockOwner, resource: u32, mode: IntentMode) -> Step {
    let mut cx = Context::from_waker(Waker::noop());
    step(table.poll_acquire_intent(owner, ResourceId(resource), mode, &mut cx))
}
