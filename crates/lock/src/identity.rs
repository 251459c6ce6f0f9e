//! The identity of a lock: a 64-bit hash of tree and key.
//!
//! Invariants:
//! - LOCK-ID-1. Equal (tree, key) pairs have equal identities within a process. Unequal pairs may
//!   share one: the consequence is at most a false conflict and a tag that is too high.
//! - LOCK-ID-2. Every bit of an identity depends on every bit of tree and key, so the low bits
//!   choose a bucket.
//!
//! Algorithm: fold multiplication (64 × 64 → 128 bits, halves xored), the core of wyhash. A key of
//! up to 16 bytes costs two of them. Identities are never stored, so the function may change with
//! any version.

use clearway_base::TreeId;

/// The identity of a range lock: the key it is on, in the tree it is in.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, PartialOrd, Ord)]
pub struct LockId(pub u64);

/// The identity of a resource that intent locks protect: a table, or the whole database.
///
/// A table's is the number of its tree, which is never 0.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct ResourceId(pub u32);

impl ResourceId {
    /// The whole database. No table shares its entry.
    pub const DATABASE: ResourceId = ResourceId(0);
}

// Odd constants. The first two are digits of the golden ratio and of e.
const TREE_MIX: u64 = 0x9E37_79B9_7F4A_7C15;
const HEAD_MIX: u64 = 0xB7E1_5162_8AED_2A6B;
const TAIL_MIX: u64 = 0x2437_54A8_885A_308D;

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let product = u128::from(a) * u128::from(b);
    (product as u64) ^ (product >> 64) as u64
}

#[inline]
fn word(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[..8]);
    u64::from_le_bytes(word)
}

#[inline]
fn half(bytes: &[u8]) -> u64 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[..4]);
    u64::from(u32::from_le_bytes(word))
}

impl LockId {
    /// Returns the identity of `key` in `tree`.
    #[inline]
    pub fn of(tree: TreeId, key: &[u8]) -> LockId {
        let len = key.len();
        let mut seed = (u64::from(tree.0) + 1).wrapping_mul(TREE_MIX) ^ len as u64;
        // Of a key of 4 to 16 bytes, `head` and `tail` are pieces from its two ends, which may
        // overlap; all of a shorter key is in `head`. Of a longer key they are its last 16 bytes,
        // and `mix_long` has folded in what comes before. So no byte is left out.
        let (head, tail) = match len {
            0 => (0, 0),
            1..4 => {
                let ends = u64::from(key[0]) | u64::from(key[len - 1]) << 8;
                (ends | u64::from(key[len / 2]) << 16, 0)
            }
            4..8 => (half(key), half(&key[len - 4..])),
            8..17 => (word(key), word(&key[len - 8..])),
            _ => {
                seed = LockId::mix_long(seed, key);
                (word(&key[len - 16..]), word(&key[len - 8..]))
            }
        };
        // Mix in `tail` a second time, so that a head that equals the constant does not cancel it.
        let folded = fold(head ^ HEAD_MIX, tail ^ seed);
        LockId(fold(folded ^ seed, TAIL_MIX ^ head ^ tail.rotate_left(32)))
    }

    /// Folds all but the last 1 to 16 bytes of a long key into the seed.
    #[inline(never)]
    fn mix_long(mut seed: u64, key: &[u8]) -> u64 {
        let body = &key[..key.len() - 1];
        for pair in body.chunks_exact(16) {
            seed = fold(word(pair) ^ TAIL_MIX, word(&pair[8..]) ^ seed);
        }
        seed
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn sequential_keys_and_trees_do_not_collide() {
        let mut seen = HashSet::new();
        for tree in 1..9 {
            for n in 0u64..10_000 {
                assert!(seen.insert(LockId::of(TreeId(tree), &n.to_be_bytes())));
                assert!(seen.insert(LockId::of(TreeId(tree), &n.to_le_bytes()[..3])));
                assert!(
                    seen.insert(LockId::of(TreeId(tree), format!("account {n:05}").as_bytes()))
                );
                assert!(seen.insert(LockId::of(
                    TreeId(tree),
                    format!("a rather long prefix before the number {n:05} and a tail").as_bytes()
                )));
            }
        }
    }

    #[test]
    fn every_byte_counts() {
        for len in 1..80 {
            let mut key = vec![7u8; len];
            let before = LockId::of(TreeId(1), &key);
            for at in 0..len {
                key[at] ^= 1;
                assert_ne!(LockId::of(TreeId(1), &key), before, "byte {at} of {len}");
                key[at] ^= 1;
            }
            key.push(0);
            assert_ne!(LockId::of(TreeId(1), &key), before);
        }
    }

    #[test]
    fn buckets_fill_evenly() {
        // 64 Ki sequential keys in 64 Ki buckets: in a random distribution the fullest bucket has
        // about 8 to 10.
        let mut buckets = vec![0u8; 1 << 16];
        for n in 0u64..1 << 16 {
            buckets[LockId::of(TreeId(3), &n.to_be_bytes()).0 as usize & 0xFFFF] += 1;
        }
        assert!(*buckets.iter().max().unwrap() <= 14);
        assert!(buckets.iter().filter(|&&n| n == 0).count() < 30_000);
    }
}
