//! The consolidation array: where inserters that find the cursor taken form a group, which reserves
//! space for all of them at once.
//!
//! ```text
//!      join: + mine      close: all      notify           release: − mine       the last
//!  OPEN ───────────▶ OPEN ────▶ PENDING ──────▶ COPYING(n) ──────▶ COPYING(0) ────▶ FREE
//!   ▲                                                                                │
//!   └──────────── put into a place by the leader that closes the slot there ◀─────────┘
//! ```
//!
//! Invariants:
//! - ARRAY-1. A slot's word holds its phase and, while it is OPEN, the sum of what its members have
//!   joined with; while it is COPYING, of what they have not released yet.
//! - ARRAY-2. Members' places do not overlap: each begins at the end of the members that joined
//!   before it. The thread that joins a slot of 0 bytes is its leader, so a slot that is OPEN has
//!   at most one.
//! - ARRAY-3. Only the leader closes a slot, once, and it does so while it has the cursor. No
//!   thread joins after that, since the swap changes the phase that joining requires.
//! - ARRAY-4. A slot becomes FREE after its last member has released it, so no thread that waits in
//!   it can mistake another group for its own.
//! - ARRAY-5. A thread waits only for a slot of which it is a member: an inserter that finds none
//!   to join reserves alone.
//! - ARRAY-6. A group is at most `bytes_max` long, or has one member.
//! - ARRAY-7. An OPEN slot is in one place, whose index it stores; a FREE slot is in none. So when
//!   no thread inserts, each place has its own OPEN slot, and all others are FREE.
//!
//! A slot may have been recycled after a thread found it in a place, and be in another place when
//! it is joined. This is harmless: a member depends on the slot, never on the place where it was
//! found.
//!
//! Algorithm 5 of "Aether: A Scalable Approach to Logging" (appendix A.2), with its life cycle
//! (figure 10). Differences: the word counts members and payments for trailers beside bytes. A
//! leader that finds no FREE slot in the pool leaves its own in place, to be reopened when its
//! group is done, and continues, instead of searching for one while all others wait for the cursor.
//! Followers yield the processor after a while.

use clearway_base::Lsn;
use clearway_log::parts::{Draft, Ring};
use clearway_sync::{
    Backoff, CachePadded,
    atomic::{AtomicU64, AtomicUsize, Ordering},
    thread_number,
};

use super::{Consolidation, cursor::GroupSize};

/// Number of places tried before an inserter reserves alone (ARRAY-5).
const PROBES: usize = 4;

/// A group takes at most this share of the ring (ARRAY-6): a group that waited for half of the ring
/// to become durable would block others that fit.
const GROUP_SHARE: u64 = 8;

/// The sum of what members need, packed: bytes (bits 0..32), records (32..46), trailers paid
/// (46..60).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Sum(u64);

const RECORDS_AT: u32 = 32;
const TRAILERS_AT: u32 = 46;
const PHASE_AT: u32 = 60;
/// The maximum of a count of 14 bits.
const COUNT_MAX: u64 = (1 << 14) - 1;
const SUM: u64 = (1 << PHASE_AT) - 1;

impl Sum {
    pub(super) fn of(draft: &Draft<'_>) -> Sum {
        Sum::new(draft.span_bytes(), draft.trailers_paid())
    }

    fn new(bytes: u64, trailers_paid: u64) -> Sum {
        Sum(bytes | 1 << RECORDS_AT | trailers_paid << TRAILERS_AT)
    }

    pub(super) fn bytes(self) -> u64 {
        self.0 & u64::from(u32::MAX)
    }

    fn records(self) -> u64 {
        self.0 >> RECORDS_AT & COUNT_MAX
    }

    fn trailers_paid(self) -> u64 {
        self.0 >> TRAILERS_AT & COUNT_MAX
    }
}

impl From<Sum> for GroupSize {
    fn from(sum: Sum) -> GroupSize {
        let (bytes, records, trailers_paid) = (sum.bytes(), sum.records(), sum.trailers_paid());
        GroupSize { bytes, records, trailers_paid }
    }
}

impl Consolidation {
    /// The array for inserters of `ring`.
    pub(super) fn array(self, ring: &Ring) -> Array {
        Array::new(self.places, self.slots, ring.bytes() / GROUP_SHARE)
    }
}

/// A slot's phase; in the top four bits of its word.
const FREE: u64 = 0;
const OPEN: u64 = 1 << PHASE_AT;
const PENDING: u64 = 2 << PHASE_AT;
const COPYING: u64 = 3 << PHASE_AT;

fn phase(word: u64) -> u64 {
    word & !SUM
}

/// The base of a group for which there was no room.
const NO_ROOM: u64 = u64::MAX;

/// The slot of one group.
#[derive(Default)]
struct Slot {
    /// ARRAY-1.
    word: AtomicU64,
    /// The group's position, and the leader's data for the last member; valid while the slot is
    /// COPYING.
    base: AtomicU64,
    ticket: AtomicU64,
    /// ARRAY-7; written before the slot is OPEN.
    place: AtomicUsize,
}

/// The array and the slots it is filled from.
pub(super) struct Array {
    /// For each place the slot in it.
    places: Box<[CachePadded<AtomicUsize>]>,
    slots: Box<[CachePadded<Slot>]>,
    /// The start of the search for a free slot.
    next: AtomicUsize,
    bytes_max: u64,
}

/// A member of a group.
pub(super) struct Member {
    slot: usize,
    /// The offset of its record in the group.
    pub(super) offset: u64,
    sum: Sum,
}

impl Member {
    /// ARRAY-2.
    pub(super) fn leads(&self) -> bool {
        self.offset == 0
    }
}

/// The position of a group.
#[derive(Clone, Copy)]
pub(super) struct Base {
    pub(super) lsn: Lsn,
    /// The leader's data for the last member.
    pub(super) ticket: u64,
}

impl Array {
    /// Creates an array of `places`, filled from `slots`, for groups of at most `bytes_max` bytes.
    pub(super) fn new(places: usize, slots: usize, bytes_max: u64) -> Array {
        debug_assert!(0 < places && places <= slots, "a slot for each place");
        let array = Array {
            places: (0..places).map(|at| CachePadded::new(AtomicUsize::new(at))).collect(),
            slots: (0..slots).map(|_| CachePadded::default()).collect(),
            next: AtomicUsize::new(places),
            bytes_max,
        };
        (0..places).for_each(|at| array.open(at, at));
        array
    }

    /// Joins a group, or opens one. Returns `None` if no group takes the record.
    pub(super) fn join(&self, draft: &Draft<'_>) -> Option<Member> {
        let sum = Sum::of(draft);
        let first = thread_number();
        (0..PROBES).find_map(|probe| self.join_at((first + probe) % self.places.len(), sum))
    }

    fn join_at(&self, place: usize, sum: Sum) -> Option<Member> {
        // Relaxed: any value that was ever stored here is a slot; its word determines whether it
        // can be joined.
        self.join_slot(self.places[place].load(Ordering::Relaxed), sum)
    }

    fn join_slot(&self, slot: usize, sum: Sum) -> Option<Member> {
        let word = &self.slots[slot].word;
        let mut seen = word.load(Ordering::Relaxed);
        loop {
            let before = Sum(seen & SUM);
            let fits = before.bytes() + sum.bytes() <= self.bytes_max || before == Sum::default();
            if phase(seen) != OPEN || !fits || before.records() == COUNT_MAX {
                return None;
            }
            let joined = seen + sum.0;
            // Acquire pairs with the Release in `open`: a leader sees the slot's place.
            match word.compare_exchange_weak(seen, joined, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return Some(Member { slot, offset: before.bytes(), sum }),
                Err(now) => seen = now,
            }
        }
    }

    /// Closes the group that `leader` leads (ARRAY-3), and puts another slot in its place. Returns
    /// what all its members need. The caller has the cursor.
    pub(super) fn close(&self, leader: &Member) -> Sum {
        debug_assert!(leader.leads(), "ARRAY-3");
        self.replace(leader.slot);
        Sum(self.slots[leader.slot].word.swap(PENDING, Ordering::Relaxed) & SUM)
    }

    /// Puts a free slot where `slot` is. If there is none, `slot` stays. The caller has the cursor,
    /// so no other thread takes free slots.
    fn replace(&self, slot: usize) {
        let place = self.slots[slot].place.load(Ordering::Relaxed);
        let slots = self.slots.len();
        for _ in 0..slots {
            // Relaxed: only a hint for the search.
            let free = self.next.fetch_add(1, Ordering::Relaxed) % slots;
            // Acquire pairs with the Release in `free`: its members are done with the slot.
            if self.slots[free].word.load(Ordering::Acquire) == FREE {
                self.places[place].store(free, Ordering::Relaxed);
                return self.open(free, place);
            }
        }
    }

    /// Opens a slot in `place`, so that it can be joined.
    fn open(&self, slot: usize, place: usize) {
        let slot = &self.slots[slot];
        slot.place.store(place, Ordering::Relaxed);
        // Release pairs with the Acquire in `join_slot`.
        slot.word.store(OPEN, Ordering::Release);
    }

    /// Notifies the members of their group's position; `None` if there was no room.
    pub(super) fn notify(&self, leader: &Member, base: Option<Base>, group: Sum) {
        let slot = &self.slots[leader.slot];
        // Relaxed, both: published by the word.
        slot.base.store(base.map_or(NO_ROOM, |base| base.lsn.0), Ordering::Relaxed);
        slot.ticket.store(base.map_or(0, |base| base.ticket), Ordering::Relaxed);
        // Release pairs with the Acquire in `wait`.
        slot.word.store(COPYING | group.0, Ordering::Release);
    }

    /// Waits until the leader has notified its group.
    pub(super) fn wait(&self, member: &Member) -> Option<Base> {
        let slot = &self.slots[member.slot];
        let backoff = Backoff::new();
        // ARRAY-4: the slot stays this group's until this member has released it.
        while phase(slot.word.load(Ordering::Acquire)) != COPYING {
            backoff.snooze();
        }
        let (lsn, ticket) =
            (slot.base.load(Ordering::Relaxed), slot.ticket.load(Ordering::Relaxed));
        (lsn != NO_ROOM).then_some(Base { lsn: Lsn(lsn), ticket })
    }

    /// Releases a member that has filled its place, or will not. Returns whether it is the last,
    /// which frees the slot.
    pub(super) fn release(&self, member: &Member) -> bool {
        let word = &self.slots[member.slot].word;
        // AcqRel: the last one sees what all others have filled.
        let left = word.fetch_sub(member.sum.0, Ordering::AcqRel) - member.sum.0;
        left == COPYING
    }

    /// Waits until all members have released their places.
    pub(super) fn wait_for_all(&self, leader: &Member) {
        let backoff = Backoff::new();
        // Acquire pairs with the releases of all members: a chain of read-modify-writes.
        while self.slots[leader.slot].word.load(Ordering::Acquire) != COPYING {
            backoff.snooze();
        }
    }

    /// Recycles a slot after all its members are done (ARRAY-4). It becomes FREE, unless there was
    /// no other slot for its place (ARRAY-7): then it is still in its place, since only its leader
    /// could replace it.
    pub(super) fn free(&self, member: Member) {
        let slot = &self.slots[member.slot];
        // Relaxed, both: the leader, who may have replaced it, has released the slot before.
        let place = slot.place.load(Ordering::Relaxed);
        if self.places[place].load(Ordering::Relaxed) == member.slot {
            return self.open(member.slot, place);
        }
        // Release pairs with the Acquire in `replace`.
        slot.word.store(FREE, Ordering::Release);
    }
}

#[cfg(test)]
mod tests;
