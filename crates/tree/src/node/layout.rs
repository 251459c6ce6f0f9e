//! The bytes of a node: offsets, slot words, limits. Nothing here interprets a whole page.
//!
//! ```text
//!   0         24                56                heap_start              node_end     8192
//!   +---------+-----------------+----------------+-------+----------------+------------+
//!   | pool    | node header     | slots, 8 bytes | free  | heap: records, | unused     |
//!   | header  |                 | each, in key   |       | fences, foster | (tests     |
//!   |         |                 | order       -> |       | key         <- | only)      |
//!   +---------+-----------------+----------------+-------+----------------+------------+
//! ```
//!
//! A slot is one little-endian, 8-aligned `u64`, so one load reads all of it:
//!
//! ```text
//!   63                         32 31                16 15                 0
//!   +----------------------------+--------------------+-------------------+
//!   | head: 4 bytes of the       | meta: suffix len   | offset of the     |
//!   | suffix, big-endian, padded | 0..=10, flags      | record in the     |
//!   | with zeros                 | 11..=15            | page              |
//!   +----------------------------+--------------------+-------------------+
//! ```
//!
//! The head starts after the bytes that all keys of the node happen to share (`HEAD_SKIP`). The
//! prefix is common to all keys that the node can ever have, since it follows from the fences. The
//! skip depends on the keys that the node has now. It is useful in a tree's first and last nodes
//! and in its root, whose fences have no common prefix. Slot 0 of a branch is not searched (no key
//! routed here is below it), so its key does not limit the skip, and it has no head.
//!
//! A record is `value length u16 | suffix | value`. A key is the node's prefix (the common prefix
//! of its low and high fences, read from the low fence) followed by the suffix. A branch record's
//! value is the child's page id, four bytes.

use clearway_base::{KEY_LEN_MAX, PAGE_SIZE};

/// Offset of the kind byte; it belongs to the pool's header but the value is the owner's.
pub(crate) const KIND: usize = 16;
/// `u8`: height above the leaves; a leaf's is 0.
pub(crate) const LEVEL: usize = 17;
/// `u8`: bits, see [`HIGH_IS_INFINITE`].
pub(crate) const FLAGS: usize = 18;
/// `u32`: the tree that owns the node.
pub(crate) const TREE: usize = 20;
/// `u32`: the foster child, 0 = none.
pub(crate) const FOSTER: usize = 24;
/// `u16`: number of slots.
pub(crate) const COUNT: usize = 28;
/// `u16`: offset of the lowest heap byte in use.
pub(crate) const HEAP_START: usize = 30;
/// `u16`: heap bytes that nothing refers to any more.
pub(crate) const GARBAGE: usize = 32;
/// `u16`: length of the prefix that all keys share.
pub(crate) const PREFIX_LEN: usize = 34;
/// `u16` offset, `u16` length of the low fence.
pub(crate) const LOW: usize = 36;
/// `u16` offset, `u16` length of the high fence of the whole foster chain.
pub(crate) const HIGH: usize = 40;
/// `u16` offset, `u16` length of the foster key: the low fence of the foster child.
pub(crate) const FOSTER_KEY: usize = 44;
/// `u16`: end of the heap. [`PAGE_SIZE`] but in tests, which want nodes of a few keys.
pub(crate) const NODE_END: usize = 48;
/// `u16`: number of ghosts.
pub(crate) const GHOSTS: usize = 50;
/// `u16`: suffix bytes that all searched keys share, so that heads are taken after them.
pub(crate) const HEAD_SKIP: usize = 52;
/// First slot. Bytes 54..56 are zero and reserved.
pub(crate) const SLOTS: usize = 56;
/// Bytes of a slot.
pub(crate) const SLOT_LEN: usize = 8;
/// Bytes of a record beside suffix and value: the value's length.
pub(crate) const RECORD_HEADER: usize = 2;
/// Bytes a record costs beside suffix and value: slot and header.
pub(crate) const RECORD_OVERHEAD: usize = SLOT_LEN + RECORD_HEADER;

/// Bit of [`FLAGS`]: the chain's high fence is plus infinity.
pub(crate) const HIGH_IS_INFINITE: u8 = 1;

/// Meta bits 0..=10: length of the suffix, at most [`KEY_LEN_MAX`] = 1024.
const META_LEN: u16 = 0x07FF;
/// Meta bit: the record is a ghost: logically absent, but a place to lock.
pub(crate) const META_GHOST: u16 = 0x0800;
/// Meta bit: the value is an overflow reference.
pub(crate) const META_OVERFLOW: u16 = 0x1000;
/// Meta bits spare and zero. Reserved: 0x2000 "the record header is followed by the 8-byte LSN of
/// its last change", from which a reader of a snapshot can find the older version.
pub(crate) const META_SPARE: u16 = 0xE000;

/// The use of a page: the byte at offset 16 of every page.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum PageKind {
    /// Never written, or none of the kinds below.
    None = 0,
    /// A space-map page.
    SpaceMap = 1,
    /// A leaf.
    Leaf = 2,
    /// A branch.
    Branch = 3,
    /// A chunk of a large value.
    Overflow = 4,
    /// A node that a merge or a root shrinkage emptied: an operation that still has its page id
    /// must descend again.
    Freed = 5,
}

impl PageKind {
    /// The kind a byte stands for.
    #[inline]
    pub(crate) fn of(byte: u8) -> PageKind {
        match byte {
            1 => PageKind::SpaceMap,
            2 => PageKind::Leaf,
            3 => PageKind::Branch,
            4 => PageKind::Overflow,
            5 => PageKind::Freed,
            _ => PageKind::None,
        }
    }
}

/// One slot, as loaded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct NodeSlot(pub(crate) u64);

impl NodeSlot {
    /// A slot with no flags and no head.
    #[inline]
    pub(crate) fn new(suffix_len: usize, offset: usize) -> NodeSlot {
        let meta = suffix_len as u16 & META_LEN;
        NodeSlot((u64::from(meta) << 16) | offset as u64)
    }
    /// The same slot with the head of its `suffix` after `skip` bytes.
    #[inline]
    pub(crate) fn headed(self, suffix: &[u8], skip: usize) -> NodeSlot {
        let head = head_of(suffix.get(skip..).unwrap_or(&[]));
        NodeSlot((u64::from(head) << 32) | (self.0 & 0xFFFF_FFFF))
    }
    /// The key head.
    #[inline]
    pub(crate) fn head(self) -> u32 {
        (self.0 >> 32) as u32
    }
    /// Where the record stands.
    #[inline]
    pub(crate) fn offset(self) -> usize {
        (self.0 & 0xFFFF) as usize
    }
    /// Flags and length.
    #[inline]
    pub(crate) fn meta(self) -> u16 {
        (self.0 >> 16) as u16
    }
    /// Length of the key's suffix.
    #[inline]
    pub(crate) fn suffix_len(self) -> usize {
        usize::from(self.meta() & META_LEN)
    }
    /// Whether the record is a ghost.
    #[inline]
    pub(crate) fn is_ghost(self) -> bool {
        self.meta() & META_GHOST != 0
    }
    /// Whether the value is an overflow reference.
    #[inline]
    pub(crate) fn is_overflow(self) -> bool {
        self.meta() & META_OVERFLOW != 0
    }
    /// Where the suffix starts.
    #[inline]
    pub(crate) fn suffix_at(self) -> usize {
        self.offset() + RECORD_HEADER
    }
    /// Where the value starts.
    #[inline]
    pub(crate) fn value_at(self) -> usize {
        self.offset() + RECORD_HEADER + self.suffix_len()
    }
    /// The same slot with `flag` set or cleared.
    #[inline]
    pub(crate) fn with(self, flag: u16, on: bool) -> NodeSlot {
        let bit = u64::from(flag) << 16;
        NodeSlot(if on { self.0 | bit } else { self.0 & !bit })
    }
    /// The same slot for a record that moved.
    #[inline]
    pub(crate) fn at(self, offset: usize) -> NodeSlot {
        NodeSlot((self.0 & !0xFFFF) | offset as u64)
    }
}

/// The first four bytes of a string as a number that orders like the bytes; shorter ones are
/// padded with zeros, so equal heads do not mean equal strings.
#[inline]
pub(crate) fn head_of(suffix: &[u8]) -> u32 {
    match suffix.first_chunk::<4>() {
        Some(bytes) => u32::from_be_bytes(*bytes),
        None => {
            let byte = |at| u32::from(suffix.get(at).copied().unwrap_or(0));
            byte(0) << 24 | byte(1) << 16 | byte(2) << 8
        }
    }
}

/// The limits of keys and records in nodes of a given size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Limits {
    /// Longest key in bytes.
    pub(crate) key_len_max: usize,
    /// Longest `key.len() + value.len()` of a record kept in its leaf; a record beyond it keeps
    /// an overflow reference of 16 bytes instead of its value.
    pub(crate) record_len_max: usize,
}

impl Limits {
    /// Smallest node that works: room for keys of 13 bytes.
    pub(crate) const NODE_BYTES_MIN: usize = 256;

    /// The limits of nodes of `node_bytes` bytes: three fences of the longest key (low, high,
    /// foster) and four of the largest records always fit, so a split always makes room.
    ///
    /// A record with an overflow reference must be no larger than an inline one:
    /// `3k + 4(k + 16 + 10) ≤ n − 56`, hence `k = (n − 160) / 7`; for a full page 1,147, cut to
    /// [`KEY_LEN_MAX`] = 1024, and `(8192 − 56 − 3 × 1024) / 4 − 10 = 1256` bytes for a record.
    pub(crate) fn of(node_bytes: usize) -> Limits {
        let node_bytes = node_bytes.clamp(Limits::NODE_BYTES_MIN, PAGE_SIZE);
        let key_len_max = ((node_bytes - 160) / 7).min(KEY_LEN_MAX);
        let record_len_max = (node_bytes - SLOTS - 3 * key_len_max) / 4 - RECORD_OVERHEAD;
        Limits { key_len_max, record_len_max }
    }

    /// Whether a value of `value_len` bytes stays in the leaf.
    #[inline]
    pub(crate) fn is_inline(&self, key_len: usize, value_len: usize) -> bool {
        key_len + value_len <= self.record_len_max
    }
}
