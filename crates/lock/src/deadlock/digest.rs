//! Digests: sets of owners, small enough to be copied from waiter to waiter.
//!
//! Invariants:
//! - X1. A digest that contains an owner says so: no false negatives. For owners with exact bits it
//!   says nothing else; the others share a Bloom filter.
//! - X2. A published digest is *fresh* only if it was gathered since the last mark: the word is
//!   noted before the gathering begins, and the digest is published, and the flag cleared, by one
//!   exchange that fails if anybody has marked it in between.
//! - X3. The bits belong to the holder of their latch, so whoever reads them sees one digest whole.
//!
//! ```text
//!   word:  epoch ······························ │ published │ out of date
//!          +1 at each mark, publication, wait
//! ```
//!
//! Algorithm: "Efficient Locking Techniques for Databases on Modern Hardware", section 4.2:
//! fingerprints of n out of m bits, and the flag that a release leaves on all waiters of the lock.
//! Differences: the first owners have a bit each, so up to 512 of them are told apart exactly; a
//! fingerprint belongs to an owner, which carries one transaction at a time.

#[cfg(all(test, loom))]
mod models;

use clearway_base::zoo::{self, Bug};
use clearway_sync::{
    SpinLatch,
    atomic::{AtomicU64, Ordering},
};

/// The options of `Dreadlocks`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Digests {
    /// Owners that have a bit of their own. Owners are numbered in the order in which they came,
    /// and numbers are used again. Rounded up to 64. Default 512: a digest of one cache line.
    pub exact_owners: u32,
    /// Bits of the Bloom filter for all others, rounded up to 64. Default 512.
    pub bloom_bits: u32,
    /// Bits that an owner has in the Bloom filter. Default 3.
    pub fingerprint_bits: u32,
    /// Whether an owner that finds itself searches the exact graph before anybody dies. Default
    /// yes; without it digests alone decide, as in the paper, and may be wrong.
    pub confirm: bool,
}

impl Default for Digests {
    fn default() -> Digests {
        Digests { exact_owners: 512, bloom_bits: 512, fingerprint_bits: 3, confirm: true }
    }
}

impl Digests {
    /// A Bloom filter for everybody, as in the paper.
    pub fn bloom() -> Digests {
        Digests { exact_owners: 0, ..Digests::default() }
    }

    fn exact_words(self) -> usize {
        self.exact_owners.div_ceil(64) as usize
    }

    fn bloom_words(self) -> usize {
        self.bloom_bits.div_ceil(64).max(1) as usize
    }

    /// The words and bits that stand for an owner, given to `bit` one after another until it says
    /// to stop.
    fn fingerprint(self, slot: u32, mut bit: impl FnMut(usize, u64) -> bool) {
        if (slot as usize) < self.exact_words() * 64 {
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

    /// Whether `words` may contain an owner (X1).
    pub(crate) fn contain(self, words: &[u64], slot: u32) -> bool {
        let mut contained = true;
        self.fingerprint(slot, |at, bit| {
            contained = words[at] & bit != 0;
            contained
        });
        contained
    }
}

/// A digest being gathered; the memory is kept from one to the next.
#[derive(Default)]
pub(crate) struct Digest {
    words: Vec<u64>,
}

impl Digest {
    /// Empties it.
    pub(crate) fn clear(&mut self, shape: Digests) {
        self.words.clear();
        self.words.resize(shape.exact_words() + shape.bloom_words(), 0);
    }

    pub(crate) fn insert(&mut self, shape: Digests, slot: u32) {
        shape.fingerprint(slot, |at, bit| {
            self.words[at] |= bit;
            true
        });
    }

    /// Whether both have the same bits.
    #[cfg(test)]
    pub(crate) fn is_like(&self, other: &Digest) -> bool {
        self.words == other.words
    }

    fn union(&mut self, other: &[u64]) {
        for (word, other) in self.words.iter_mut().zip(other) {
            *word |= other;
        }
    }
}

const OUT_OF_DATE: u64 = 1;
const PUBLISHED: u64 = 2;
const EPOCH: u64 = 4;

/// What a waiter shows of its dependencies.
#[derive(Default)]
pub(crate) struct Published {
    word: AtomicU64,
    words: SpinLatch<Vec<u64>>,
}

/// The word as it was before a digest was gathered (X2).
#[derive(Clone, Copy)]
pub(crate) struct Noted(u64);

impl Published {
    /// Begins a wait without a digest. By the owner, before it publishes the wait.
    pub(crate) fn reset(&self) {
        // Relaxed: published with the wait.
        let word = self.word.load(Ordering::Relaxed);
        self.word.store((word & !(EPOCH - 1)) + EPOCH, Ordering::Relaxed);
    }

    /// Says that what the digest was gathered from has changed. Under the latch of the queue.
    pub(crate) fn mark(&self) {
        // AcqRel: the marker's next look at a digest comes after; a gatherer that sees the mark in
        // `publish` sees the queue as the marker left it, by the queue's latch.
        let mark = |word: u64| Some((word + EPOCH) | OUT_OF_DATE);
        let marked = self.word.fetch_update(Ordering::AcqRel, Ordering::Relaxed, mark);
        debug_assert!(marked.is_ok());
    }

    /// To be called before gathering (X2).
    pub(crate) fn note(&self) -> Noted {
        if zoo::has(Bug::DigestFlagClearedEarly) {
            self.word.fetch_and(!OUT_OF_DATE, Ordering::AcqRel);
        }
        // Acquire pairs with the Release in `mark`: the gathering sees at least what was marked.
        Noted(self.word.load(Ordering::Acquire))
    }

    /// Publishes a digest that was gathered since `noted`; false if it is out of date already.
    pub(crate) fn publish(&self, noted: Noted, digest: &Digest) -> bool {
        let mut words = self.words.lock();
        words.clone_from(&digest.words);
        let fresh = ((noted.0 & !(EPOCH - 1)) + EPOCH) | PUBLISHED;
        // AcqRel: readers that see the word see the bits, by the latch as well (X3).
        self.word.compare_exchange(noted.0, fresh, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Adds this digest to `sum`; whether it contains `me`. Not if there is none, or, with
    /// `backoff`, if it is out of date.
    pub(crate) fn gather(&self, shape: Digests, me: u32, backoff: bool, sum: &mut Digest) -> bool {
        let words = self.words.lock();
        // Acquire pairs with the exchange in `publish` and with `mark`.
        let word = self.word.load(Ordering::Acquire);
        if word & PUBLISHED == 0 || (backoff && word & OUT_OF_DATE != 0) {
            return false;
        }
        sum.union(&words);
        shape.contain(&words, me)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPES: [Digests; 3] = [
        Digests { exact_owners: 512, bloom_bits: 512, fingerprint_bits: 3, confirm: true },
        Digests { exact_owners: 0, bloom_bits: 512, fingerprint_bits: 3, confirm: true },
        Digests { exact_owners: 64, bloom_bits: 100, fingerprint_bits: 1, confirm: false },
    ];

    fn digest_of(shape: Digests, owners: impl IntoIterator<Item = u32>) -> Digest {
        let mut digest = Digest::default();
        digest.clear(shape);
        owners.into_iter().for_each(|owner| digest.insert(shape, owner));
        digest
    }

    #[test]
    fn members_are_contained_and_unions_contain_both() {
        for shape in SHAPES {
            let mut sum = digest_of(shape, (0..20).map(|n| n * 37));
            sum.union(&digest_of(shape, [1, 600, 65_000]).words);
            for owner in (0..20).map(|n| n * 37).chain([1, 600, 65_000]) {
                assert!(shape.contain(&sum.words, owner), "{shape:?}");
            }
        }
    }

    #[test]
    fn first_owners_are_told_apart_exactly() {
        let shape = Digests::default();
        let even = digest_of(shape, (0..512).filter(|n| n % 2 == 0));
        for owner in 0..512 {
            assert_eq!(shape.contain(&even.words, owner), owner % 2 == 0);
        }
        // Whoever comes later leaves no trace among them.
        let late = digest_of(shape, 512..5_000);
        assert!((0..512).all(|owner| !shape.contain(&late.words, owner)));
    }

    #[test]
    fn bloom_filter_errs_about_as_often_as_it_should() {
        // 20 members of 3 bits among 512: 1 - (1 - 1/512)^60 = 11 % of the bits, so 0.13 % of
        // strangers.
        let shape = Digests::bloom();
        let digest = digest_of(shape, 1_000..1_020);
        let strangers = (2_000..22_000).filter(|&owner| shape.contain(&digest.words, owner));
        let wrong = strangers.count();
        assert!(wrong > 0 && wrong < 200, "{wrong} of 20,000");
    }

    #[test]
    fn mark_between_note_and_publication_wins() {
        let shape = Digests::default();
        let published = Published::default();
        let digest = digest_of(shape, [7]);
        let mut sum = digest_of(shape, []);
        let contains = |sum: &mut Digest, backoff| published.gather(shape, 7, backoff, sum);
        assert!(!contains(&mut sum, false), "nothing is published");
        assert!(published.publish(published.note(), &digest));
        assert!(contains(&mut sum, true));
        // Marked: left out by who backs off, until a fresh one is there.
        published.mark();
        assert!(!contains(&mut sum, true) && contains(&mut sum, false));
        let noted = published.note();
        assert!(!contains(&mut sum, true), "still the old one");
        published.mark();
        assert!(!published.publish(noted, &digest), "X2");
        assert!(!contains(&mut sum, true));
        assert!(published.publish(published.note(), &digest));
        assert!(contains(&mut sum, true));
        published.reset();
        assert!(!contains(&mut sum, false), "another wait");
    }
}
