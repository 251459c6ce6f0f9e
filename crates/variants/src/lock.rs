//! Variants of the crate `clearway-lock`: how deadlocks are found or prevented,
//! which owner is rolled back, and how intent locks are stored.
//!
//! [`LockVariant`] chooses among them; its default is the product. [`LockVariants`] sets the choice
//! in the options of a database or of a lock table.
//!
//! | method | at a check | checks again | victim |
//! | --- | --- | --- | --- |
//! | `Search` | searches the graph, the first time | when marked | the cycle's victim, confirmed |
//! | `Dreadlocks` | gathers digests, publishes one | every `refresh` | the same; or the finder |
//! | `Timeout` | compares its wait with the limit | at the limit | an owner that waits too long |
//! | `WoundWait` | wounds younger blockers | every `refresh` | a wounded owner that waits |
//! | `WaitDie` | compares ages | every `refresh` | an owner that waits for an older one |
//!
//! `Search` is the product's. A *running* owner can be wounded, but notices it only when it has to
//! wait: as long as it does not wait it is in no cycle, and if it never waits again its death was
//! not necessary. `Timeout` can only read the clock of a polled waiter when it is polled.
//!
//! The wait policies of the paper's figure 5 are tuning values of
//! [`LockOptions`], together with an option of the digests:
//!
//! | policy | `spin_rounds` | with digests |
//! | --- | --- | --- |
//! | spin | `u32::MAX` | they are hardly ever old |
//! | sleep | 0 | `accepts_marked`: old ones are accepted as new, the paper's false alarms |
//! | sleep with backoff | 0 | old ones are ignored until their owners check |
//! | hybrid | the default | the same |
//!
//! | method | an intent lock is | a transaction's end | absolute locks |
//! | --- | --- | --- | --- |
//! | `Lightweight` | a count | lowers it | wait in a list |
//! | `MainTable` | an entry in a bucket's queue | removes it | wait in the queue |
//! | `Inherited` | the same | passes it on to the next | flush what was left |
//!
//! `Lightweight` is the product's. All three have the same grant rules (RESOURCE-2, RESOURCE-3),
//! tags and wait-for graph. Measured with `benches/intent_speed.rs` under callgrind (November
//! 2026), alone: 142 instructions to take and release a lightweight one, 278 an inherited one, 423
//! one in the lock table; the lab's `intent_locks` counts them among sixty owners.

mod by_slot;
mod digest;
mod dreadlocks;
mod inherited;
mod main_table;
mod timeout;
mod victims;
mod wait_die;
mod wound_wait;
mod wounds;

use std::{sync::Arc, time::Duration};

use clearway_lock::{
    LockOptions, LockParts,
    parts::{Detector, IntentStore, Victims},
};

pub use digest::Digests;
pub use victims::VictimPolicy;

use dreadlocks::Dreadlocks;
use inherited::Inheritance;
use main_table::MainTable;
use timeout::Timeout;
use wait_die::WaitDie;
use wound_wait::WoundWait;

/// The method by which deadlocks are found or prevented.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum DeadlockMethod {
    /// A search of the exact wait-for graph by each owner that has to wait: the product's. No owner
    /// dies without a deadlock, none is missed, and sleepers need not wake up.
    #[default]
    Search,
    /// Digests of the owners on which each waiter depends, spread from waiter to waiter.
    Dreadlocks(Digests),
    /// An owner that holds something and has waited this long is considered deadlocked. A former
    /// victim waits twice as long in each further attempt, up to 64 times.
    Timeout(Duration),
    /// A transaction that has to wait for a younger one rolls that one back.
    WoundWait,
    /// A transaction that would have to wait for an older one rolls back.
    WaitDie,
}

/// The method by which intent locks are stored.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum IntentMethod {
    /// Counters apart from the lock table: "Efficient Locking Techniques", section 3.2. The
    /// product's.
    #[default]
    Lightweight,
    /// Requests in the lock table's queues like all others.
    MainTable,
    /// Like `MainTable`, but an owner's next transaction inherits the intents of the one before:
    /// Johnson, Pandis, Ailamaki, "Improving OLTP Scalability using Speculative Lock Inheritance"
    /// (VLDB 2009).
    Inherited,
}

impl IntentMethod {
    /// All methods.
    pub const ALL: [IntentMethod; 3] =
        [IntentMethod::Lightweight, IntentMethod::MainTable, IntentMethod::Inherited];
}

/// A choice among the variants of a lock table's parts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockVariant {
    /// The method by which deadlocks are found or prevented. Default [`DeadlockMethod::Search`].
    pub deadlocks: DeadlockMethod,
    /// The policy that chooses the victim of a deadlock. Default [`VictimPolicy::Closer`].
    pub victims: VictimPolicy,
    /// The method for intent locks. Default [`IntentMethod::Lightweight`].
    pub intent_locks: IntentMethod,
    /// The time that a waiter sleeps before it repeats its deadlock check, with methods that need
    /// it. Default 10 ms.
    pub refresh: Duration,
}

impl Default for LockVariant {
    fn default() -> LockVariant {
        LockVariant {
            deadlocks: DeadlockMethod::default(),
            victims: VictimPolicy::default(),
            intent_locks: IntentMethod::default(),
            refresh: Duration::from_millis(10),
        }
    }
}

impl From<DeadlockMethod> for LockVariant {
    fn from(deadlocks: DeadlockMethod) -> LockVariant {
        LockVariant { deadlocks, ..LockVariant::default() }
    }
}

impl From<VictimPolicy> for LockVariant {
    fn from(victims: VictimPolicy) -> LockVariant {
        LockVariant { victims, ..LockVariant::default() }
    }
}

impl From<IntentMethod> for LockVariant {
    fn from(intent_locks: IntentMethod) -> LockVariant {
        LockVariant { intent_locks, ..LockVariant::default() }
    }
}

impl LockParts for LockVariant {
    fn detector(&self) -> Option<Box<dyn Detector>> {
        match self.deadlocks {
            DeadlockMethod::Search => None,
            DeadlockMethod::Dreadlocks(shape) => {
                Some(Box::new(Dreadlocks::new(shape, self.refresh)))
            }
            DeadlockMethod::Timeout(limit) => Some(Box::new(Timeout { limit })),
            DeadlockMethod::WoundWait => Some(Box::new(WoundWait::new(self.refresh))),
            DeadlockMethod::WaitDie => Some(Box::new(WaitDie::new(self.refresh))),
        }
    }

    fn victims(&self) -> Option<Box<dyn Victims>> {
        match self.victims {
            VictimPolicy::Closer => None,
            policy => Some(Box::new(policy)),
        }
    }

    fn intents(&self, resources: u32) -> Option<Box<dyn IntentStore>> {
        let inheritance = match self.intent_locks {
            IntentMethod::Lightweight => return None,
            IntentMethod::MainTable => None,
            IntentMethod::Inherited => Some(Inheritance::new(resources)),
        };
        Some(Box::new(MainTable::new(inheritance)))
    }
}

/// Options whose lock table can have other parts than the product's.
pub trait LockVariants {
    /// Sets the parts of the lock table.
    #[must_use]
    fn lock_variant(self, variant: impl Into<LockVariant>) -> Self;
}

impl LockVariants for LockOptions {
    fn lock_variant(self, variant: impl Into<LockVariant>) -> LockOptions {
        LockOptions { parts: Arc::new(variant.into()), ..self }
    }
}

impl LockVariants for clearway::Options {
    fn lock_variant(self, variant: impl Into<LockVariant>) -> clearway::Options {
        self.engine(|engine| engine.lock.parts = Arc::new(variant.into()))
    }
}
