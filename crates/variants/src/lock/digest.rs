//! Digests: sets of owners, small enough to be copied from waiter to waiter.
//!
//! Invariants:
//! - DIGEST-1. A digest reports every owner that it contains: no false negatives. For owners with
//!   exact bits there are no false positives either, and each is contained with the number of its
//!   lock epoch, which changes when the owner releases all its locks; the other owners share a
//!   Bloom filter.
//! - DIGEST-2. A published digest is *fresh* only if it was gathered since the last mark: the word
//!   is read before the gathering begins, and one exchange publishes the digest and clears the
//!   flag, which fails if another thread has marked it in between.
//! - DIGEST-3. The bits are protected by their latch, so a reader sees one complete digest.
//!
//! ```text
//!   word:  count of changes ··················· │ published │ out of date
//!          +1 at each mark, publication, wait
//! ```
//!
//! Algorithm: "Efficient Locking Techniques for Databases on Modern Hardware", section 4.2:
//! fingerprints of n out of m bits, and the flag that a release leaves on all waiters of the lock.
//! Differences: the first owners have a bit each, so up to 512 of them are distinguished exactly,
//! each with its lock epoch.
//!
//! # The purpose of lock epochs
//! The flag reaches the waiters of the queue that has changed. A digest gathered from one of *them*
//! is out of date as well, but is not marked. However, locks are held until the end of a
//! transaction, so a wait for an owner ends only with that owner's lock epoch (or with the waiter's
//! own withdrawal). Suppose that a digest reports that C waits for A, and A for Z in its present
//! lock epoch. Then A still waits for Z, so A's lock epoch has not ended either, so C still waits
//! for A: with lock epochs, the dependencies that are gathered from a digest exist regardless of
//! its age. Measured (November 2026, `clearway-lab deadlock_methods`, 2 cores, 32 threads, every
//! deadlock a false one): some 16 false alarms in half a second with the flag alone, none with lock
//! epochs.
//!
//! A lock that is released alone, right after the wait for it, ends a wait without ending a lock
//! epoch; only the flag reports that.

#[cfg(all(test, loom))]
mod models;

use clearway_sync::{
    SpinLatch,
    atomic::{AtomicU64, Ordering},
};

/// The options of `Dreadlocks`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digests {
    /// Number of owners that have a bit of their own. Owners are numbered in the order in which
    /// they came, and numbers are used again. Rounded up to 64. Default 512: a digest of one cache
    /// line.
    pub exact_owners: u32,
    /// Bits of the Bloom filter for all others, rounded up to 64. Default 512.
    pub bloom_bits: u32,
    /// Number of bits that an owner has in the Bloom filter. Default 3.
    pub fingerprint_bits: u32,
    /// True if an owner that finds itself searches the exact graph before a victim is chosen.
    /// Default true; without it digests alone decide, as in the paper, and may be wrong.
    pub confirm: bool,
    /// True if digests that are marked as out of date are accepted like fresh ones. Default false;
    /// with it, sleepers cause the false alarms that the paper shows.
    pub accepts_marked: bool,
}

impl Default for Digests {
    fn default() -> Digests {
        Digests {
            exact_owners: 512,
            bloom_bits: 512,
            fingerprint_bits: 3,
            confirm: true,
            accepts_marked: false,
        }
    }
}

impl Digests {
    /// Returns options with a Bloom filter for all owners, as in the paper.
    pub fn bloom() -> Digests {
        Digests { exact_owners: 0, ..Digests::default() }
    }

    fn exact_words(self) -> usize {
        self.exact_owners.div_ceil(64) as usize
    }

    fn bloom_words(self) -> usize {
        self.bloom_bits.div_ceil(64).max(1) as usize
    }

    /// Returns true if an owner has a bit of its own, with its lock epoch.
    fn is_exact(self, slot: u32) -> bool {
        (slot as usize) < self.exact_words() * 64
    }

    /// Passes the words and bits that represent an owner to `bit`, one after another, until it
    /// returns false.
    fn fingerprint(self, slot: u32, mut bit: impl FnMut(usize, u64) -> bool) {
        if self.is_exact(slot) {
            bit(slot as usize / 64, 1 << (slot % 64));
            return;
        }
        let bits = self.bloom_words() as u64 * 64;
        // Double hashing; the step is odd, so that the bits of one owner differ.
        let mixed = u64::from(slot).wrapping_add(1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let (first, step) = (mixed >> 32, (mixed >> 8) | 1);
        for n in 0..u64::from(self.fingerprint_bits.max(1)) {
            let at = first.wrapping_add(n.wrapping_mul(step)) % bits;
            if !bit(self.exact_words() + at as usize / 64, 1 << (at % 64)) {
                return;
            }
        }
    }
}

/// An owner as represented in digests.
#[derive(Clone, Copy)]
pub(super) struct Member {
    pub(super) slot: u32,
    pub(super) lock_epoch: u32,
}

/// A digest being gathered; the memory is kept from one to the next.
#[derive(Default)]
pub(super) struct Digest {
    words: Vec<u64>,
    /// The lock epoch of each exact owner whose bit is set.
    lock_epochs: Vec<u32>,
}

impl Digest {
    /// Empties it.
    pub(super) fn clear(&mut self, shape: Digests) {
        self.words.clear();
        self.words.resize(shape.exact_words() + shape.bloom_words(), 0);
        self.lock_epochs.resize(shape.exact_words() * 64, 0);
    }

    pub(super) fn insert(&mut self, shape: Digests, member: Member) {
        shape.fingerprint(member.slot, |at, bit| {
            if shape.is_exact(member.slot) {
                let known = &mut self.lock_epochs[member.slot as usize];
                *known = if self.words[at] & bit == 0 {
                    member.lock_epoch
                } else {
                    later(*known, member.lock_epoch)
                };
            }
            self.words[at] |= bit;
            true
        });
    }

    /// Returns true if it may contain an owner in its present lock epoch (DIGEST-1).
    fn contains(&self, shape: Digests, member: Member) -> bool {
        let mut contained = true;
        shape.fingerprint(member.slot, |at, bit| {
            contained = self.words[at] & bit != 0;
            contained
        });
        let known = self.lock_epochs.get(member.slot as usize);
        contained && (!shape.is_exact(member.slot) || known == Some(&member.lock_epoch))
    }

    /// Returns true if both have the same bits.
    #[cfg(test)]
    pub(super) fn is_like(&self, other: &Digest) -> bool {
        self.words == other.words
    }

    fn union(&mut self, other: &Digest) {
        for (at, &theirs) in other.words.iter().enumerate() {
            let mut rest = if at * 64 < other.lock_epochs.len() { theirs } else { 0 };
            while rest != 0 {
                let slot = at * 64 + rest.trailing_zeros() as usize;
                let is_new = self.words[at] & rest & rest.wrapping_neg() == 0;
                let lock_epoch = other.lock_epochs[slot];
                self.lock_epochs[slot] =
                    if is_new { lock_epoch } else { later(self.lock_epochs[slot], lock_epoch) };
                rest &= rest - 1;
            }
            self.words[at] |= theirs;
        }
    }

    /// Replaces the digest by `other`; only the relevant lock epochs are copied.
    fn replace(&mut self, other: &Digest) {
        self.words.clear();
        self.words.resize(other.words.len(), 0);
        self.lock_epochs.resize(other.lock_epochs.len(), 0);
        self.union(other);
    }
}

/// Returns the later of two lock epochs of an owner; information about the earlier one is obsolete.
fn later(a: u32, b: u32) -> u32 {
    if a.wrapping_sub(b) < u32::MAX / 2 { a } else { b }
}

const OUT_OF_DATE: u64 = 1;
const PUBLISHED: u64 = 2;
const CHANGE: u64 = 4;

/// The published dependencies of a waiter.
#[derive(Default)]
pub(super) struct Published {
    word: AtomicU64,
    digest: SpinLatch<Digest>,
}

/// The word as it was before a digest was gathered (DIGEST-2).
#[derive(Clone, Copy)]
pub(super) struct Noted(u64);

impl Published {
    /// Begins a wait without a digest. Called by the owner before it publishes the wait.
    pub(super) fn reset(&self) {
        // Relaxed: published with the wait.
        let word = self.word.load(Ordering::Relaxed);
        self.word.store((word & !(CHANGE - 1)) + CHANGE, Ordering::Relaxed);
    }

    /// Marks the digest as out of date because its sources have changed. Called under the latch of
    /// the queue.
    pub(super) fn mark(&self) {
        // AcqRel: the marking thread's next read of a digest comes after it; a gatherer that sees
        // the mark in `publish` sees the queue as the marker left it, by the queue's latch.
        let mark = |word: u64| Some((word + CHANGE) | OUT_OF_DATE);
        let marked = self.word.fetch_update(Ordering::AcqRel, Ordering::Relaxed, mark);
        debug_assert!(marked.is_ok());
    }

    /// Reads the word; must be called before gathering (DIGEST-2).
    pub(super) fn note(&self) -> Noted {
        // Acquire pairs with the Release in `mark`: the gathering sees at least what was marked.
        Noted(self.word.load(Ordering::Acquire))
    }

    /// Publishes a digest that was gathered since `noted`; returns false if it is already out of
    /// date.
    pub(super) fn publish(&self, noted: Noted, digest: &Digest) -> bool {
        let mut published = self.digest.lock();
        published.replace(digest);
        let fresh = ((noted.0 & !(CHANGE - 1)) + CHANGE) | PUBLISHED;
        // AcqRel: readers that see the word see the bits, by the latch as well (DIGEST-3).
        self.word.compare_exchange(noted.0, fresh, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Adds this digest to `sum` and returns whether it contains `me`. Does nothing if there is no
    /// digest, or if it is out of date and the shape does not accept such a one.
    pub(super) fn gather(&self, shape: Digests, me: Member, sum: &mut Digest) -> bool {
        let digest = self.digest.lock();
        // Acquire pairs with the exchange in `publish` and with `mark`.
        let word = self.word.load(Ordering::Acquire);
        if word & PUBLISHED == 0 || (!shape.accepts_marked && word & OUT_OF_DATE != 0) {
            return false;
        }
        sum.union(&digest);
        digest.contains(shape, me)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn shape(exact_owners: u32, bloom_bits: u32, fingerprint_bits: u32) -> Digests {
        let (confirm, accepts_marked) = (true, false);
        Digests { exact_owners, bloom_bits, fingerprint_bits, confirm, accepts_marked }
    }

    const SHAPES: [Digests; 3] = [shape(512, 512, 3), shape(0, 512, 3), shape(64, 100, 1)];

    fn member(slot: u32) -> Member {
        Member { slot, lock_epoch: 1 }
    }

    fn digest_of(shape: Digests, owners: impl IntoIterator<Item = u32>) -> Digest {
        let mut digest = Digest::default();
        digest.clear(shape);
        owners.into_iter().for_each(|owner| digest.insert(shape, member(owner)));
        digest
    }

    #[test]
    fn members_are_contained_and_unions_contain_both() {
        for shape in SHAPES {
            let mut sum = digest_of(shape, (0..20).map(|n| n * 37));
            sum.union(&digest_of(shape, [1, 600, 65_000]));
            for owner in (0..20).map(|n| n * 37).chain([1, 600, 65_000]) {
                assert!(sum.contains(shape, member(owner)), "{shape:?}");
            }
        }
    }

    #[test]
    fn first_owners_are_distinguished_exactly() {
        let shape = Digests::default();
        let even = digest_of(shape, (0..512).filter(|n| n % 2 == 0));
        for owner in 0..512 {
            assert_eq!(even.contains(shape, member(owner)), owner % 2 == 0);
        }
        // Later owners do not affect them.
        let late = digest_of(shape, 512..5_000);
        assert!((0..512).all(|owner| !late.contains(shape, member(owner))));
    }

    #[test]
    fn the_latest_lock_epoch_of_an_owner_is_the_one_that_counts() {
        let shape = Digests::default();
        let with = |lock_epoch| {
            let mut digest = digest_of(shape, [8]);
            digest.insert(shape, Member { slot: 9, lock_epoch });
            digest
        };
        for (old, new) in [(1, 2), (u32::MAX, 0), (u32::MAX - 3, 4)] {
            for order in [[old, new], [new, old]] {
                let mut sum = with(order[0]);
                sum.union(&with(order[1]));
                assert!(sum.contains(shape, Member { slot: 9, lock_epoch: new }));
                assert!(!sum.contains(shape, Member { slot: 9, lock_epoch: old }));
                assert!(sum.contains(shape, member(8)));
            }
        }
    }

    #[test]
    fn bloom_filter_errs_about_as_often_as_it_should() {
        // 20 members of 3 bits among 512: 1 - (1 - 1/512)^60 = 11 % of the bits, so 0.13 % of other
        // owners.
        let shape = Digests::bloom();
        let digest = digest_of(shape, 1_000..1_020);
        let strangers = (2_000..22_000).filter(|&owner| digest.contains(shape, member(owner)));
        let wrong = strangers.count();
        assert!(wrong > 0 && wrong < 200, "{wrong} of 20,000");
    }

    #[test]
    fn mark_between_note_and_publication_wins() {
        let shape = Digests::default();
        let published = Published::default();
        let digest = digest_of(shape, [7]);
        let mut sum = digest_of(shape, []);
        let contains = |sum: &mut Digest, backoff: bool| {
            let shape = Digests { accepts_marked: !backoff, ..shape };
            published.gather(shape, member(7), sum)
        };
        assert!(!contains(&mut sum, false), "nothing is published");
        assert!(published.publish(published.note(), &digest));
        assert!(contains(&mut sum, true));
        // Marked: ignored until a fresh digest is published, unless marked ones are accepted.
        published.mark();
        assert!(!contains(&mut sum, true) && contains(&mut sum, false));
        let noted = published.note();
        assert!(!contains(&mut sum, true), "still the old one");
        published.mark();
        assert!(!published.publish(noted, &digest), "DIGEST-2");
        assert!(!contains(&mut sum, true));
        assert!(published.publish(published.note(), &digest));
        assert!(contains(&mut sum, true));
        published.reset();
        assert!(!contains(&mut sum, false), "another wait");
    }
}
