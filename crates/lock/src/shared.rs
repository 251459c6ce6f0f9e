//! The lock table as a value: its options, and what all its handles share.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use clearway_sync::{
    CachePadded, Mutex,
    atomic::{AtomicU32, AtomicU64},
    wake,
};

use crate::{
    bucket::Bucket,
    participants::{Participant, ParticipantTable, Participants},
    parts::{Detector, IntentStore, LockParts, ProductLockParts, Victims},
    resource::Resource,
    stall_clocks::StallClocks,
    victims::Rank,
    wait_record::WaitRecord,
};

/// Upper bound on the owners scanned by `is_oversubscribed`: reading 128 remote cache lines takes a
/// few microseconds, about the cost of one sleep.
const SCANNED_MAX: u32 = 128;

/// The default of [`LockOptions::spin_rounds`].
#[cfg(not(any(loom, shuttle)))]
const SPIN_ROUNDS: u32 = 8;
#[cfg(any(loom, shuttle))]
const SPIN_ROUNDS: u32 = 2;

/// Options of a lock table.
#[derive(Clone, Debug)]
pub struct LockOptions {
    /// Buckets, rounded up to a power of two; 64 bytes each. Default 131,072, that is 8 MiB.
    pub buckets: usize,
    /// Entries for intent locks on tables, rounded up to a power of two; 128 bytes each. Tables
    /// whose ids differ by a multiple of this number share an entry: at the worst, a false conflict
    /// or a tag that is too high. Default 1,024.
    pub intents: usize,
    /// The limit meant by [`WaitLimit::Default`]; `None` for no limit. Default 10 s.
    pub wait_limit: Option<Duration>,
    /// The number of times that a blocking waiter checks for its grant in a round of spins; it
    /// checks for a deadlock after the first round. Default 400, a few microseconds: about what it
    /// costs to put a thread to sleep and to wake it.
    pub spins: u32,
    /// Upper bound on the rounds that a blocking waiter spins before it goes to sleep, as long as a
    /// processor is free. Default 8. With 0 it sleeps at once. With [`u32::MAX`] it never sleeps,
    /// and spins whether or not a processor is free: for machines with more processors than
    /// threads.
    pub spin_rounds: u32,
    /// The parts of the table that can be exchanged; for comparison. Default [`ProductLockParts`].
    pub parts: Arc<dyn LockParts>,
}

impl Default for LockOptions {
    fn default() -> LockOptions {
        LockOptions {
            buckets: 1 << 17,
            intents: 1 << 10,
            wait_limit: Some(Duration::from_secs(10)),
            spins: 400,
            spin_rounds: SPIN_ROUNDS,
            parts: Arc::new(ProductLockParts),
        }
    }
}

/// The result of a request that may not wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The lock is held now (or, for a check, could be).
    Granted,
    /// Another owner holds or awaits a conflicting mode. No request remains.
    Denied,
}

/// The limit on a request's wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitLimit {
    /// No limit.
    Forever,
    /// At most this long.
    For(Duration),
    /// Do not wait: fail with [`Error::WouldBlock`](clearway_base::Error::WouldBlock).
    NoWait,
    /// The table's [`LockOptions::wait_limit`].
    Default,
}

/// The lock manager of one database. Cloning gives another handle to the same table.
#[derive(Clone)]
pub struct LockTable {
    pub(crate) shared: Arc<LockTableShared>,
}

pub(crate) struct LockTableShared {
    pub(crate) buckets: Box<[Bucket]>,
    pub(crate) resources: Box<[CachePadded<Resource>]>,
    pub(crate) participants: Arc<dyn ParticipantTable>,
    /// The time from which the times of grants, and of page waits, are measured.
    pub(crate) created: Instant,
    /// Held while a waiter confirms that it is in a cycle and withdraws, so that there is one
    /// victim at a time.
    pub(crate) confirmation: Mutex<()>,
    /// The deadlock method that `LockOptions::parts` provides; `None` for the search.
    pub(crate) method: Option<Box<dyn Detector>>,
    /// The victim policy that `LockOptions::parts` provides; `None` for the owner that closes the
    /// cycle.
    victims: Option<Box<dyn Victims>>,
    /// The store of intent locks that `LockOptions::parts` provides; `None` for counters.
    pub(crate) store: Option<Box<dyn IntentStore>>,
    /// Number of waiters that spin now.
    pub(crate) spinners: CachePadded<AtomicU32>,
    /// The next age (VICTIM-3).
    pub(crate) ages: CachePadded<AtomicU64>,
    /// True if each transaction publishes its start and takes an age then, not when it first waits.
    pub(crate) publishes_begins: bool,
    pub(crate) stalls: StallClocks,
    pub(crate) options: LockOptions,
}

impl LockTableShared {
    /// Returns what other owners see of the waits of an owner.
    #[inline]
    pub(crate) fn record(&self, owner: u32) -> &WaitRecord {
        self.participants.wait_record(owner)
    }

    /// Returns the microseconds from the table's creation to `time`, modulo 2⁴⁸, as in a recorded
    /// grant.
    pub(crate) fn us_at(&self, time: Instant) -> u64 {
        WaitRecord::grant_time(time.saturating_duration_since(self.created))
    }

    /// Wakes these owners and empties the list. The caller holds no latch of the lock table. (It
    /// may hold a leaf's latch, if the tree releases a lock that it no longer needs.)
    pub(crate) fn wake(&self, granted: &mut Vec<u32>) {
        for record in granted.drain(..).map(|owner| self.record(owner)) {
            record.record_grant(|| self.us_at(Instant::now()));
            // Comes after the grant: see `is_granted_or_wakes`.
            if let Some(waker) = record.take_waker() {
                wake(waker);
            }
        }
    }

    /// Returns true if roughly more than `most` owners have a transaction, or if there are too many
    /// owners to scan.
    pub(crate) fn is_oversubscribed(&self, most: u32) -> bool {
        let participants = &self.participants;
        let count = participants.len();
        let runs = |owner: &u32| participants.runs(*owner);
        count > most
            && (count > SCANNED_MAX || (0..count).filter(runs).nth(most as usize).is_some())
    }

    /// Returns the rank of an owner in the choice of a victim; `closes` is set if it closed the
    /// cycle.
    pub(crate) fn rank(&self, owner: u32, closes: bool) -> Rank {
        self.record(owner).priority.rank(self.victims.as_deref(), closes)
    }
}

impl LockTable {
    /// Creates a table without locks, with participant records of its own.
    pub fn new(options: LockOptions) -> LockTable {
        LockTable::with_participants(options, Arc::new(Participants::<()>::new()))
    }

    /// Creates a table without locks. Its owners are numbered as the given participants, and what
    /// the table notes of an owner lies in the participant's record.
    pub fn with_participants<T: Participant>(
        options: LockOptions,
        participants: Arc<Participants<T>>,
    ) -> LockTable {
        let buckets = options.buckets.next_power_of_two();
        let resources = 1 + options.intents.next_power_of_two();
        let (method, victims) = (options.parts.detector(), options.parts.victims());
        LockTable {
            shared: Arc::new(LockTableShared {
                buckets: (0..buckets).map(|_| Bucket::new()).collect(),
                resources: (0..resources).map(|_| CachePadded::default()).collect(),
                participants,
                created: Instant::now(),
                confirmation: Mutex::new(()),
                store: options.parts.intents(resources as u32),
                spinners: CachePadded::new(AtomicU32::new(0)),
                stalls: StallClocks::new(),
                ages: CachePadded::new(AtomicU64::new(1)),
                publishes_begins: method.as_ref().is_some_and(|m| m.follows_transactions())
                    || victims.as_ref().is_some_and(|v| v.ranks_by_age()),
                method,
                victims,
                options,
            }),
        }
    }
}
