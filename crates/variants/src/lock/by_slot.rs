//! State that a variant keeps for each lock owner, by the number of the owner's slot.
//!
//! Invariants:
//! - BY-SLOT-1. An entry is never moved or freed before the whole, so a reference to it stays valid
//!   while its owner, and another one after it, uses the slot.
//! - BY-SLOT-2. `get` allocates; `peek` does not, so it may be called under a latch. Entries that
//!   no owner has asked for with `get` are in their first state.

use std::sync::OnceLock;

use clearway_sync::CachePadded;

/// Entries are allocated for this many slots at a time.
const CHUNK: usize = if cfg!(any(loom, shuttle)) { 4 } else { 256 };
/// Number of chunks: enough for the 65,536 slots of a lock table.
const CHUNKS: usize = 256;

/// One `T` for each slot.
pub(super) struct BySlot<T> {
    chunks: Box<[OnceLock<Chunk<T>>]>,
}

type Chunk<T> = Box<[CachePadded<T>]>;

impl<T: Default> BySlot<T> {
    pub(super) fn new() -> BySlot<T> {
        BySlot { chunks: (0..CHUNKS).map(|_| OnceLock::new()).collect() }
    }

    /// Returns the entry of a slot.
    pub(super) fn get(&self, slot: u32) -> &T {
        let chunk = self.chunks[slot as usize / CHUNK]
            .get_or_init(|| (0..CHUNK).map(|_| CachePadded::default()).collect());
        &chunk[slot as usize % CHUNK]
    }

    /// Returns the entry of a slot, if it was allocated (BY-SLOT-2).
    pub(super) fn peek(&self, slot: u32) -> Option<&T> {
        Some(&self.chunks[slot as usize / CHUNK].get()?[slot as usize % CHUNK])
    }
}
