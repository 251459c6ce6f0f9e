//! The participant records: all that other threads may see of a transaction, under one number.
//!
//! A record has two parts. The lock table's part ([`WaitRecord`]) is the state of a waiting
//! owner. The other part belongs to the user of the table, who chooses its type; the transaction
//! layer keeps its entry of the transaction table and the published waits there. So the number of
//! a lock owner is also that of its transaction's entry, and no search leads from one to the other.
//!
//! Invariants:
//! - PARTICIPANT-1. A record belongs to at most one [`LockOwner`](crate::LockOwner) at a time. Its
//!   memory is never freed, and the numbers of its waits never restart, so a number that is out of
//!   date leads to a needless wake-up or a failed validation and never to a wrong grant.
//! - PARTICIPANT-2. An owner that is dropped gives its number back, and a later owner gets it,
//!   unless the record stays in use ([`keep_number`](crate::LockOwner::keep_number)).
//! - PARTICIPANT-3. There are at most 65,535 owners, so a count of waiters fits 16 bits.
//!
//! A thread that visits all records takes the number of records first. It misses no owner that
//! published a wait before that: `len` and the claim of a new record are `SeqCst`, as is the
//! publication (see `deadlock`).

use std::sync::OnceLock;

use clearway_sync::{
    CachePadded, Mutex,
    atomic::{AtomicU32, Ordering},
};

use crate::wait_record::WaitRecord;

/// Records are made 256 at a time; 256 chunks are 65,536 records, one of which is never used
/// (PARTICIPANT-3).
#[cfg(not(any(loom, shuttle)))]
const CHUNK_RECORDS: usize = 256;
#[cfg(any(loom, shuttle))]
const CHUNK_RECORDS: usize = 4;
const CHUNKS: usize = 256;

/// Upper bound on the participants (PARTICIPANT-3).
pub const PARTICIPANTS_MAX: u32 = (CHUNK_RECORDS * CHUNKS - 1) as u32;

/// The part of a participant record that belongs to the user of the lock table.
pub trait Participant: Default + Send + Sync + 'static {
    /// Returns false if no transaction runs with this number now. A hint: waiters spin only while
    /// there are no more running transactions than processors.
    fn runs(&self) -> bool {
        true
    }
}

/// For a lock table whose user keeps nothing in the records.
impl Participant for () {}

#[derive(Default)]
struct ParticipantRecord<T> {
    wait: CachePadded<WaitRecord>,
    user: CachePadded<T>,
}

type Chunk<T> = Box<[ParticipantRecord<T>]>;

/// All participant records of a database.
pub struct Participants<T> {
    chunks: Box<[OnceLock<Chunk<T>>]>,
    /// Numbers that were given back (PARTICIPANT-2).
    free: Mutex<Vec<u32>>,
    /// Number of records ever claimed: every number in use is below it.
    count: AtomicU32,
    /// Number of records in use. Written under the mutex of `free`.
    claimed: AtomicU32,
}

impl<T: Participant> Participants<T> {
    /// Creates the table without records.
    #[allow(clippy::new_without_default)] // One is made for each database.
    pub fn new() -> Participants<T> {
        Participants {
            chunks: (0..CHUNKS).map(|_| OnceLock::new()).collect(),
            free: Mutex::new(Vec::new()),
            count: AtomicU32::new(0),
            claimed: AtomicU32::new(0),
        }
    }

    /// Returns the user's part of the record that an owner has or had.
    ///
    /// # Panics
    /// If no owner ever had this number.
    #[inline]
    pub fn get(&self, number: u32) -> &T {
        &self.record(number).user
    }

    /// Returns the user's parts of all records that owners have or had, in the order of their
    /// numbers, from 0.
    pub fn all(&self) -> impl Iterator<Item = &T> {
        (0..self.len()).map(|number| self.get(number))
    }

    #[inline]
    fn record(&self, number: u32) -> &ParticipantRecord<T> {
        let chunk = self.chunks[number as usize / CHUNK_RECORDS].get();
        let chunk = chunk.expect("records in use exist (PARTICIPANT-1)");
        &chunk[number as usize % CHUNK_RECORDS]
    }
}

/// The participant records as the lock table sees them.
pub(crate) trait ParticipantTable: Send + Sync {
    /// Returns the number of records; they are numbered from 0.
    fn len(&self) -> u32;

    /// Returns the lock table's part of a record.
    fn wait_record(&self, number: u32) -> &WaitRecord;

    /// See [`Participant::runs`].
    fn runs(&self, number: u32) -> bool;

    /// Claims a record and returns its number, unless `most` are claimed (PARTICIPANT-1).
    fn claim(&self, most: u32) -> Option<u32>;

    /// Returns true if more than `most` records are claimed.
    fn exceeds(&self, most: u32) -> bool;

    /// Gives back the number of an owner that holds nothing and waits for nothing (PARTICIPANT-2).
    fn give_back(&self, number: u32);
}

impl<T: Participant> ParticipantTable for Participants<T> {
    fn len(&self) -> u32 {
        // SeqCst, like the store in `claim`: a detector that visits all records must not miss one
        // whose owner published a wait before the detector published its own.
        self.count.load(Ordering::SeqCst)
    }

    fn wait_record(&self, number: u32) -> &WaitRecord {
        &self.record(number).wait
    }

    fn runs(&self, number: u32) -> bool {
        self.get(number).runs()
    }

    fn claim(&self, most: u32) -> Option<u32> {
        let mut free = self.free.lock();
        // Relaxed load: changes only under the mutex.
        let count = self.count.load(Ordering::Relaxed);
        if count - free.len() as u32 >= most.min(PARTICIPANTS_MAX) {
            return None;
        }
        self.claimed.store(count - free.len() as u32 + 1, Ordering::Relaxed);
        if let Some(number) = free.pop() {
            return Some(number);
        }
        self.chunks[count as usize / CHUNK_RECORDS]
            .get_or_init(|| (0..CHUNK_RECORDS).map(|_| ParticipantRecord::default()).collect());
        self.count.store(count + 1, Ordering::SeqCst);
        Some(count)
    }

    fn exceeds(&self, most: u32) -> bool {
        // Relaxed: the number may change at any time.
        self.claimed.load(Ordering::Relaxed) > most
    }

    fn give_back(&self, number: u32) {
        self.wait_record(number).check_idle();
        let mut free = self.free.lock();
        free.push(number);
        let count = self.count.load(Ordering::Relaxed);
        self.claimed.store(count - free.len() as u32, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_again() {
        let participants = Participants::<()>::new();
        let claim = || participants.claim(PARTICIPANTS_MAX).unwrap();
        assert_eq!((0..600).map(|_| claim()).collect::<Vec<_>>(), (0..600).collect::<Vec<_>>());
        participants.give_back(17);
        assert_eq!((claim(), claim()), (17, 600));
        assert_eq!(participants.len(), 601);
        assert!(!participants.wait_record(600).state().is_waiting());
    }

    #[test]
    fn no_more_are_claimed_than_allowed() {
        let participants = Participants::<()>::new();
        let claimed: Vec<u32> = std::iter::from_fn(|| participants.claim(3)).collect();
        assert!(participants.exceeds(2) && !participants.exceeds(3));
        assert_eq!(claimed, [0, 1, 2]);
        assert_eq!(participants.claim(4), Some(3));
        assert_eq!(participants.claim(3), None);
        participants.give_back(1);
        assert_eq!((participants.claim(3), participants.claim(4)), (None, Some(1)));
        let all = std::iter::from_fn(|| participants.claim(u32::MAX)).count();
        assert_eq!(all as u32, PARTICIPANTS_MAX - 4, "PARTICIPANT-3");
    }
}
