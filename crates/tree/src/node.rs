//! One node of the Foster B-tree: its bytes, reading it, changing it.
//!
//! What it is
//! : A page with sorted variable-length records, its own key range (fences) and, between a split
//!   and the adoption that follows, a pointer to a foster child that owns the upper part of the
//!   range. Leaves and branches share one layout ([`layout`]); a branch record's value is a child.
//!
//! Invariants
//! 1. *Order.* Keys rise strictly from slot to slot, ghosts included.
//! 2. *Fences.* Every key `k` has `low ≤ k < end`, where `end` is the foster key if there is a
//!    foster child and the high fence otherwise. The high fence is the whole chain's. The low
//!    fence `""` is minus infinity (and a real key); plus infinity is a flag.
//! 3. *Prefix.* The prefix is the common prefix of the low and high fences; no key stores it. All
//!    bytes of the prefix are read from the low fence.
//! 4. *Branch.* Slot 0 of a branch has the low fence as its key; slot `i` leads to the keys from
//!    its own key to the next slot's, or to `end`.
//! 5. *Leaf separators are full keys.* A foster key, and so a fence, is the full key of a record
//!    (or ghost) that existed when the node was split, so no lock boundary falls inside a gap that
//!    a transaction has locked. Branches are split at their own separators, which makes fence and
//!    separator equal on every level.
//! 6. *Space.* `SLOTS + 8·count ≤ heap_start ≤ node_end`; `garbage` is exactly the number of heap
//!    bytes that belong to no record and no fence.
//! 7. *Heads.* All searched keys share their first `HEAD_SKIP` suffix bytes, and the head of each
//!    searched slot is what follows them in its key.
//! 8. *Function of the operations.* A node's bytes after the pool's header depend on nothing but
//!    the operations applied to it, in order: compaction happens only inside an operation. So
//!    redo produces the same bytes as forward processing did.
//! 9. *Total.* Reading ([`Node`]) never panics, loops without bound or leaves the page, whatever
//!    the bytes are; changing ([`NodeMut`]) a damaged node may give nonsense but stays in the page.
//!
//! Who touches which field when
//! : Readers: anything, under a shared latch, or optimistically if they validate before they use
//!   the result. Writers: anything, under the exclusive latch, through `op`'s `apply_to` only.
//!
//! Algorithm
//! : Graefe, Kimura, Kuno, "Foster B-trees" (TODS 2012): fences in every node, foster children.
//!   Graefe and Larson, "B-tree indexes and CPU caches" (ICDE 2001): key heads ("poor man's
//!   normalized keys"). Prefix truncation after Bayer and Unterauer, "Prefix B-trees" (TODS 1977).
//!
//! Differences
//! : Separators are not suffix-truncated: a leaf's must be full keys (invariant 5), and a branch's
//!   must equal the fences of its children, so there is nothing left to truncate but the prefix.

mod build;
mod bytes;
mod check;
mod image;
mod layout;
mod read;
mod search;
mod split;
mod write;

#[cfg(test)]
mod tests;

pub(crate) use bytes::NodeBytes;
pub(crate) use image::Image;
pub(crate) use layout::{KIND, Limits, PageKind, SLOTS};
pub(crate) use read::Node;
pub(crate) use search::Place;
pub(crate) use split::Division;
pub(crate) use write::{NodeMut, NodeRecord, mark_freed};
