//! The lock requests of one bucket, for each identity the holders first and then the newcomers in
//! order of arrival: two in the bucket's own cache line, and any others in a separate allocation.
//!
//! Invariants:
//! - ENTRIES-1. At most one entry for each (identity, owner).
//! - ENTRIES-2. For each identity, holders (which have something, and may convert) stand before
//!   newcomers (which have nothing yet), and newcomers stand in order of arrival. So a search for
//!   holders stops at the first newcomer, however long the queue behind a hot row is.
//! - ENTRIES-3. `first[..min(len, 2)]` are the foremost entries; the overflow is empty unless
//!   `len > 2`.
//! - ENTRIES-4. `waiting` counts the entries whose `wanted` differs from `granted`. It fits 16
//!   bits: an owner waits for one lock at a time, and there are at most 65,535 owners.
//! - ENTRIES-5. In every entry `wanted` covers `granted` and `granted` covers `kept`.
//! - ENTRIES-6. Of every waiting entry, `wanted` covers `floor` and `ceiling` covers `wanted`.
//!
//! ```text
//!   first[0]   first[1] │ overflow …
//!   holder     holder   │ converting  newcomer  newcomer  newcomer      of one identity; those of
//!   ◀───── of(id).take_while(is_holder) ─────▶                          others stand in between
//! ```
//!
//! All fields are protected by the bucket's spin latch.
//!
//! Cost of a held lock: 16 bytes here, 8 in its owner's list, and its share of the overflow's
//! header of 32 bytes. Overflow and list grow by doubling and are therefore partly empty: averaged
//! over all locks, at most about 40 bytes are allocated for one. The buckets, of 64 bytes each,
//! exist in any case. If a bulk transaction holds fifteen locks for each bucket, an access to a
//! bucket walks over up to fifteen entries: two in the bucket and thirteen in the overflow.
//!
//! Measured (November 2026, Linux, resident memory before and after a scan of a whole table, first
//! touch of the buckets included): 42 bytes for each of a million locks, 36 for each of six
//! million. After the transaction's end 28 of the 36 were still allocated, 170 MB, for the locks of
//! later transactions; the next such scan took 8 bytes for each lock.
//!
//! Differences: the paper's engine keeps a queue for each lock and a list of requests in it. Here
//! a bucket is the queue of all locks that hash to it: an uncontended lock costs one cache line
//! and no allocation. The overflow is allocated once for a bucket that needs it and then kept,
//! unless a burst made it large.

use std::collections::VecDeque;

use clearway_sync::invariant;

use crate::{identity::LockId, mode::RangeMode};

/// One owner's lock or request on one identity; 16 bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LockEntry {
    /// The identity that is locked.
    pub(crate) id: LockId,
    /// The owner's number.
    pub(crate) owner: u32,
    /// The mode that the owner holds.
    pub(crate) granted: RangeMode,
    /// The mode that it will hold once its request is granted; equals `granted` if it does not
    /// wait.
    pub(crate) wanted: RangeMode,
    /// The part of `granted` that the protocol has confirmed: the part that remains when a lock
    /// that was only waited for is released.
    pub(crate) kept: RangeMode,
}

impl LockEntry {
    const VACANT: LockEntry = LockEntry {
        id: LockId(0),
        owner: 0,
        granted: RangeMode::NN,
        wanted: RangeMode::NN,
        kept: RangeMode::NN,
    };

    /// Returns true if the owner waits, for a first grant or for a conversion.
    #[inline]
    pub(crate) fn is_waiting(&self) -> bool {
        self.granted != self.wanted
    }

    /// Returns true if the owner holds something (in which case its wait is a conversion).
    #[inline]
    pub(crate) fn is_holder(&self) -> bool {
        !self.granted.is_none()
    }
}

/// Entries kept in the bucket's own cache line: 64 − 8 tag − 8 latch − 8 counts − 8 pointer = 32.
const INLINE: usize = 2;

/// An emptied overflow larger than this many entries is freed.
const OVERFLOW_KEPT: usize = 64;

/// The entries of a bucket; see the module.
pub(crate) struct Entries {
    overflow: Option<Box<Overflow>>,
    first: [LockEntry; INLINE],
    len: u32,
    waiting: u16,
    floor: RangeMode,
    ceiling: RangeMode,
}

struct Overflow {
    entries: VecDeque<LockEntry>,
}

impl Entries {
    pub(crate) const fn new() -> Entries {
        Entries {
            overflow: None,
            first: [LockEntry::VACANT; INLINE],
            len: 0,
            waiting: 0,
            floor: RangeMode::XX,
            ceiling: RangeMode::NN,
        }
    }

    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns the number of waiting entries of all identities.
    #[inline]
    pub(crate) fn waiting(&self) -> u16 {
        self.waiting
    }

    /// Returns a lower bound on what every waiter here wants (ENTRIES-6), which may be too low but
    /// never too high.
    #[inline]
    pub(crate) fn floor(&self) -> RangeMode {
        self.floor
    }

    /// Returns an upper bound on what every waiter here wants (ENTRIES-6), which may be too high
    /// but never too low.
    #[inline]
    pub(crate) fn ceiling(&self) -> RangeMode {
        self.ceiling
    }

    /// Counts a waiter (ENTRIES-4) and widens the bounds (ENTRIES-6).
    fn note_waiter(&mut self, wanted: RangeMode) {
        self.waiting += 1;
        self.floor = self.floor.infimum(wanted);
        self.ceiling = self.ceiling.supremum(wanted);
    }

    /// Counts one waiter less (ENTRIES-4). The bounds are not narrowed, since that would require a
    /// scan of all others; once no entry waits they are reset.
    fn forget_waiter(&mut self) {
        if !invariant(self.waiting != 0, "ENTRIES-4: every waiter is counted") {
            return;
        }
        self.waiting -= 1;
        if self.waiting == 0 {
            (self.floor, self.ceiling) = (RangeMode::XX, RangeMode::NN);
        }
    }

    /// Passes each entry of an identity, with its place, to `see`, until that returns false.
    #[inline]
    pub(crate) fn survey(&self, id: LockId, mut see: impl FnMut(usize, &LockEntry) -> bool) {
        for at in 0..INLINE {
            if at < self.len() && self.first[at].id == id && !see(at, &self.first[at]) {
                return;
            }
        }
        if self.len() > INLINE {
            let rest = self.overflow.iter().flat_map(|overflow| overflow.entries.iter());
            for (at, entry) in rest.enumerate() {
                if entry.id == id && !see(at + INLINE, entry) {
                    return;
                }
            }
        }
    }

    /// Returns all entries in their order.
    #[inline]
    pub(crate) fn iter(&self) -> impl Iterator<Item = &LockEntry> {
        let rest = self.overflow.iter().flat_map(|overflow| overflow.entries.iter());
        self.first[..self.len().min(INLINE)].iter().chain(rest)
    }

    /// Returns the holders of one identity.
    #[inline]
    pub(crate) fn holders(&self, id: LockId) -> impl Iterator<Item = &LockEntry> {
        self.of(id).take_while(|entry| entry.is_holder())
    }

    /// Returns the entries of one identity, holders first.
    #[inline]
    pub(crate) fn of(&self, id: LockId) -> impl Iterator<Item = &LockEntry> {
        self.iter().filter(move |entry| entry.id == id)
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> &LockEntry {
        match &self.overflow {
            _ if at < INLINE => &self.first[at],
            Some(overflow) => &overflow.entries[at - INLINE],
            None => unreachable!("an entry beyond the first is in the overflow (ENTRIES-3)"),
        }
    }

    /// Returns the place of an owner's entry (ENTRIES-1). A holder's is near the front (ENTRIES-2).
    #[inline]
    pub(crate) fn position(&self, id: LockId, owner: u32) -> Option<usize> {
        let is_it = |entry: &LockEntry| entry.id == id && entry.owner == owner;
        for at in 0..INLINE {
            if at < self.len() && is_it(&self.first[at]) {
                return Some(at);
            }
        }
        self.overflow.as_ref()?.entries.iter().position(is_it).map(|at| at + INLINE)
    }

    /// Returns the mode that an owner holds of an identity. The search stops at the first newcomer
    /// (ENTRIES-2), since an owner that is about to wait calls this with the whole queue of a hot
    /// row before it.
    #[inline]
    pub(crate) fn held_by(&self, id: LockId, owner: u32) -> RangeMode {
        let mut held = RangeMode::NN;
        self.survey(id, |_, entry| {
            if entry.owner == owner {
                held = entry.granted;
            }
            entry.owner != owner && entry.is_holder()
        });
        held
    }

    /// Returns the place of a waiter's entry, searched from the back, where late arrivals are.
    pub(crate) fn position_from_back(&self, id: LockId, owner: u32) -> Option<usize> {
        (0..self.len()).rev().find(|&at| self.get(at).id == id && self.get(at).owner == owner)
    }

    #[inline]
    fn get_mut(&mut self, at: usize) -> &mut LockEntry {
        match &mut self.overflow {
            _ if at < INLINE => &mut self.first[at],
            Some(overflow) => &mut overflow.entries[at - INLINE],
            None => unreachable!("an entry beyond the first is in the overflow (ENTRIES-3)"),
        }
    }

    /// Changes one entry in place and maintains ENTRIES-4 to ENTRIES-6.
    #[inline]
    pub(crate) fn update<R>(&mut self, at: usize, change: impl FnOnce(&mut LockEntry) -> R) -> R {
        let entry = self.get_mut(at);
        // Count the new wait before removing the old one, so that the bounds are kept.
        let waited = entry.is_waiting();
        let result = change(entry);
        debug_assert!(entry.wanted.covers(entry.granted) && entry.granted.covers(entry.kept));
        let (waits, wanted) = (entry.is_waiting(), entry.wanted);
        if waits {
            self.note_waiter(wanted);
        }
        if waited {
            self.forget_waiter();
        }
        result
    }

    /// Appends an entry.
    #[inline]
    pub(crate) fn push(&mut self, entry: LockEntry) {
        if self.len() < INLINE {
            self.first[self.len()] = entry;
        } else {
            self.overflow().entries.push_back(entry);
        }
        self.len += 1;
        if entry.is_waiting() {
            self.note_waiter(entry.wanted);
        }
    }

    /// Puts an entry before the one at `at`; the caller ensures ENTRIES-2.
    #[cold]
    pub(crate) fn insert(&mut self, at: usize, entry: LockEntry) {
        // In the cache line each entry moves the next one back; the last one moves to the overflow
        // (ENTRIES-3).
        let mut carried = entry;
        for place in at..INLINE.min(self.len()) {
            std::mem::swap(&mut self.first[place], &mut carried);
        }
        if self.len() < INLINE {
            self.first[self.len()] = carried;
        } else {
            let behind = at.max(INLINE) - INLINE;
            self.overflow().entries.insert(behind, carried);
        }
        self.len += 1;
        if entry.is_waiting() {
            self.note_waiter(entry.wanted);
        }
    }

    #[cold]
    fn overflow(&mut self) -> &mut Overflow {
        self.overflow.get_or_insert_with(|| Box::new(Overflow { entries: VecDeque::new() }))
    }

    /// Removes an entry; those after it move up (ENTRIES-3).
    #[inline]
    pub(crate) fn remove(&mut self, at: usize) -> LockEntry {
        let entry = *self.get(at);
        if self.len() <= INLINE {
            if at == 0 {
                self.first[0] = self.first[1];
            }
        } else {
            self.remove_overflow(at);
        }
        self.len -= 1;
        if entry.is_waiting() {
            self.forget_waiter();
        }
        entry
    }

    #[cold]
    fn remove_overflow(&mut self, at: usize) {
        let Some(overflow) = &mut self.overflow else { return };
        if at >= INLINE {
            // `VecDeque` moves the shorter side: mostly the front, near which most removals occur.
            overflow.entries.remove(at - INLINE);
        } else {
            if at == 0 {
                self.first[0] = self.first[1];
            }
            // The oldest of the overflow moves up into the cache line (ENTRIES-3).
            if let Some(next) = overflow.entries.pop_front() {
                self.first[INLINE - 1] = next;
            }
        }
        if overflow.entries.is_empty() && overflow.entries.capacity() > OVERFLOW_KEPT {
            self.overflow = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: u64, owner: u32, granted: RangeMode) -> LockEntry {
        LockEntry { id: LockId(id), owner, granted, wanted: RangeMode::XX, kept: RangeMode::NN }
    }

    #[test]
    fn removal_keeps_the_order_of_arrival() {
        // Every removal order of up to five entries against a plain vector.
        for count in 1usize..6 {
            for seed in 0..count.pow(count as u32) {
                let mut entries = Entries::new();
                let mut model = Vec::new();
                for owner in 0..count as u32 {
                    entries.push(entry(1, owner, RangeMode::NN));
                    model.push(owner);
                }
                let mut choice = seed;
                while !model.is_empty() {
                    let at = choice % model.len();
                    choice /= count;
                    assert_eq!(entries.remove(at).owner, model.remove(at));
                    assert_eq!(entries.iter().map(|e| e.owner).collect::<Vec<_>>(), model);
                    assert_eq!(entries.len(), model.len());
                    assert_eq!(usize::from(entries.waiting()), model.len());
                }
            }
        }
    }

    #[test]
    fn insertion_puts_an_entry_where_it_was_asked_to() {
        for count in 0usize..6 {
            for at in 0..=count {
                let mut entries = Entries::new();
                let mut model: Vec<u32> = (0..count as u32).collect();
                model.iter().for_each(|&owner| entries.push(entry(1, owner, RangeMode::NN)));
                entries.insert(at, entry(1, 99, RangeMode::NN));
                model.insert(at, 99);
                assert_eq!(entries.iter().map(|e| e.owner).collect::<Vec<_>>(), model);
                assert_eq!(usize::from(entries.waiting()), count + 1);
            }
        }
    }

    #[test]
    fn waiting_entries_are_counted_through_updates() {
        let mut entries = Entries::new();
        entries.push(entry(1, 1, RangeMode::XX));
        entries.push(entry(1, 2, RangeMode::NN));
        entries.push(entry(2, 1, RangeMode::NN));
        assert_eq!(entries.waiting(), 2);
        let at = entries.position(LockId(2), 1).unwrap();
        entries.update(at, |entry| entry.granted = RangeMode::XX);
        assert_eq!(entries.waiting(), 1);
        assert_eq!(entries.of(LockId(1)).count(), 2);
    }

    #[test]
    fn what_an_owner_has_is_found_among_the_holders() {
        let mut entries = Entries::new();
        for owner in 0..4 {
            entries.push(entry(1, owner, RangeMode::SN));
            entries.push(entry(2, owner, RangeMode::NS));
        }
        entries.push(entry(1, 4, RangeMode::NN));
        for owner in 0..4 {
            assert_eq!(entries.held_by(LockId(1), owner), RangeMode::SN);
            assert_eq!(entries.held_by(LockId(2), owner), RangeMode::NS);
        }
        for (id, owner) in [(1, 4), (1, 5), (2, 4), (3, 0)] {
            assert_eq!(entries.held_by(LockId(id), owner), RangeMode::NN, "{id}, {owner}");
        }
    }

    #[test]
    fn large_overflow_is_given_back_and_small_is_kept() {
        let mut entries = Entries::new();
        for (count, kept) in [(4, true), (500, false)] {
            (0..count).for_each(|owner| entries.push(entry(7, owner, RangeMode::XX)));
            (0..count).for_each(|_| _ = entries.remove(0));
            assert_eq!(entries.overflow.is_some(), kept);
        }
    }
}
