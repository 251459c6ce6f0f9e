//! The lock waits that go on at this moment, in names: who waits, for what, since when, and which
//! transactions are in the way.
//!
//! Invariants:
//! - CURRENT-WAIT-1. A wait is reported only if it went on from before the first to after the last
//!   look at anything about it (CURRENT-1 of the lock table). Its transaction and what that has
//!   published are therefore its own.
//! - CURRENT-WAIT-2. A transaction is reported as in the way only if it ran from before to after a
//!   look that found its owner in the way. So the lock, or the place in the queue, was its own, and
//!   not that of an earlier or later transaction of the same owner. A transaction that ends just
//!   now is left out.
//! - CURRENT-WAIT-3. No transaction pays for its age: it is computed from its first wait, which it
//!   has published if there was one, and from the log's growth since its first write
//!   (TXN-LOG-SPACE-2).

use std::{
    collections::HashMap,
    fmt,
    time::{Duration, Instant},
};

use clearway_base::{LockName, TreeId, TxnName};
use clearway_lock::{Awaited, BlockingOwner, OngoingWait, ResourceId};

use crate::{
    contention::{PublishedWait, Wanted},
    core::Core,
};

/// Looks at what is in the way of a wait before transactions that do not stay are left out.
const LOOKS_MAX: u32 = 3;

/// A wait for a lock that goes on: the waiting transaction, the lock, the time, and transactions
/// that block it.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct CurrentWait {
    /// The waiting transaction.
    pub txn: TxnName,
    /// A lower bound on the time that the transaction has been open: see
    /// [`BlockingTransaction::age`].
    pub age: Option<Duration>,
    /// The lock.
    pub lock: LockName,
    /// The requested mode; for a key, the key part and the gap part, such as `XN`.
    pub wanted: &'static str,
    /// The time since the wait began.
    pub waited: Duration,
    /// Transactions that block this one. Holders of the lock come first. A holder blocks this
    /// transaction if its held mode conflicts with the request. If this transaction holds nothing
    /// of the lock, it is also blocked by holders that wait to convert the lock to a mode that
    /// conflicts, and by transactions that hold nothing of the lock, stand before this one in the
    /// queue and want a mode that conflicts. [`BlockingTransaction::holds`] is true for those whose
    /// held mode conflicts. At most eight are listed. A transaction that was ending during the call
    /// may be left out.
    pub blockers: Vec<BlockingTransaction>,
    /// If the lock is on a whole table or on the database: the number of its holders in each mode
    /// that conflicts. They can be more than `blockers` lists.
    pub holders: Vec<(&'static str, u32)>,
}

/// A transaction that blocks a waiting one.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BlockingTransaction {
    /// The transaction.
    pub txn: TxnName,
    /// The mode in which it holds the lock, or for which it waits.
    pub mode: &'static str,
    /// True if the mode in which it holds the lock conflicts; false if it blocks only by a request
    /// that goes before the waiter's: its first one, or the conversion of a lock that it holds in a
    /// mode that does not conflict.
    pub holds: bool,
    /// A lower bound on the time that the transaction has been open. The beginning of a transaction
    /// is not timed, so this is the time since its first write or since its first wait for a lock,
    /// whichever is longer. The time since the first write can be too short: the engine notes times
    /// at most 20 times a second, and not during a checkpoint. `None` if the transaction has not
    /// waited, and has not written or only just now.
    pub age: Option<Duration>,
}

impl fmt::Display for CurrentWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let waited = self.waited.as_secs_f64();
        write!(f, "{} waits for {} on {} for {waited:.3} s", self.txn, self.wanted, self.lock)?;
        for other in &self.blockers {
            let verb = if other.holds { "held by" } else { "behind" };
            write!(f, ", {verb} {} in {}", other.txn, other.mode)?;
            if let Some(age) = other.age {
                write!(f, " (open for at least {:.3} s)", age.as_secs_f64())?;
            }
        }
        for (at, (mode, count)) in self.holders.iter().enumerate() {
            let lead = if at == 0 { "; holders:" } else { "," };
            write!(f, "{lead} {count} in {mode}")?;
        }
        Ok(())
    }
}

/// The facts that are read before the waits are described.
struct WaitsRead {
    published: HashMap<u32, PublishedWait>,
    now: Instant,
}

impl Core {
    /// The waits that go on, the longest first.
    pub(crate) fn current_waits(&self) -> Vec<CurrentWait> {
        // CURRENT-WAIT-1: the waits before everything else.
        let waits = self.locks.ongoing_waits();
        if waits.is_empty() {
            return Vec::new();
        }
        let read = WaitsRead { published: self.transactions.all_published(), now: Instant::now() };
        let described = waits.iter().filter_map(|wait| self.describe_wait(&read, wait));
        let mut described: Vec<CurrentWait> = described.collect();
        described.sort_by_key(|wait| std::cmp::Reverse(wait.waited));
        described
    }

    fn describe_wait(&self, read: &WaitsRead, wait: &OngoingWait) -> Option<CurrentWait> {
        let published = read.published.get(&wait.owner)?;
        let is_it = match (published.wanted, wait.lock) {
            (Wanted::Key(id, _), Awaited::Range(awaited)) => id == awaited,
            (Wanted::Table(tree), lock) => self.locks.is_entry_of(lock, resource_of(tree)),
            _ => false,
        };
        let txn = self.txn_of(wait.owner).filter(|_| is_it)?;
        let (blockers, holders) = self.blockers(read, wait);
        let described = CurrentWait {
            txn,
            age: self.age_of(read, wait.owner),
            lock: self.lock_name(&published.wanted),
            wanted: published.mode.name(),
            waited: read.now.saturating_duration_since(published.since),
            blockers,
            holders,
        };
        self.locks.still_waits(wait).then_some(described) // CURRENT-WAIT-1
    }

    /// Returns the transactions that are in the way (CURRENT-WAIT-2), and the numbers of holders.
    fn blockers(
        &self,
        read: &WaitsRead,
        wait: &OngoingWait,
    ) -> (Vec<BlockingTransaction>, Vec<(&'static str, u32)>) {
        let named = |other: &BlockingOwner| self.txn_of(other.owner);
        let mut found = self.locks.in_the_way(wait);
        for look_number in 1.. {
            let before: Vec<_> = found.owners.iter().map(named).collect();
            let again = self.locks.in_the_way(wait);
            let stays = |other: &BlockingOwner| {
                let place = found.owners.iter().position(|one| one.owner == other.owner)?;
                before[place].filter(|txn| named(other).as_ref() == Some(txn))
            };
            let names: Vec<Option<TxnName>> = again.owners.iter().map(stays).collect();
            if look_number < LOOKS_MAX && names.contains(&None) {
                found = again;
                continue;
            }
            let stayed = again.owners.iter().zip(names);
            let blockers = stayed.filter_map(|(other, name)| {
                let &BlockingOwner { owner, mode, holds } = other;
                Some(BlockingTransaction { txn: name?, mode, holds, age: self.age_of(read, owner) })
            });
            return (blockers.collect(), again.counted);
        }
        unreachable!("the last look returns")
    }

    /// See [`BlockingTransaction::age`].
    fn age_of(&self, read: &WaitsRead, owner: u32) -> Option<Duration> {
        let wrote = || {
            let first = self.transactions.entry(owner).first()?;
            self.log_space.age(first, read.now)
        };
        let waited = read.published.get(&owner);
        let waited = waited.map(|wait| read.now.saturating_duration_since(wait.first));
        wrote().into_iter().chain(waited).max()
    }
}

/// Returns the resource under which the lock table has the lock on a whole table, or on the
/// database.
pub(super) fn resource_of(tree: TreeId) -> ResourceId {
    if tree == Wanted::DATABASE.tree() { ResourceId::DATABASE } else { ResourceId(tree.0) }
}
