//! Speculative lock inheritance: an owner's next transaction inherits the intent locks of the
//! previous one, without an access to the lock table. Exists for comparison with lightweight intent
//! locks.
//!
//! Each owner has a list of inherited locks (*will*): a few cells, each of which identifies an
//! intent lock whose entry is in the lock table, and its state. The owner and absolute requesters
//! of the resource change a cell by compare-and-swap, so that exactly one of them gets the entry.
//!
//! ```text
//!             pass_on (end)             claim_inherited (next transaction)
//!   free ───────────────────────▶ left ────────────────────────────────────▶ used
//!    ▲                             │ ▲             pass_on                    │
//!    │  flush (absolute request),  │ └────────────────────────────────────────┤
//!    │  or not used for one whole  │                                          │
//!    └── transaction ──────────────┘        released like any other lock      │
//!    ▲────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! Invariants:
//! - I1. A cell that is `left` or `used` names an entry that its owner has in the queue. The thread
//!   that changes it from `left` to free removes the entry from the queue, and no other thread
//!   does.
//! - I2. No owner waits for a lock that is `left`. An absolute request is counted in `absolutes`
//!   before it checks the wills of blocking owners, and as long as it waits; an owner that passes a
//!   lock on checks the count afterwards and, if it is not zero, takes the lock back to release it.
//!   Between the store and the load of each stands a `SeqCst` fence: one of the two sees the other.
//! - I3. Only IS and IX are passed on, so they block only absolute requests.
//! - I4. A cell's tag is at least the commit LSN of every transaction that has left or used the
//!   lock since it was taken from the queue. It is written only by the owner, while the cell is
//!   `used` or free, and never decreases, so a flushing thread may read it afterwards. It is
//!   transferred to the resource's descendant tag before the entry is removed (N2). Too high a tag,
//!   of a cell that was used for another resource before, makes an absolute reader wait for the log
//!   and does no other harm.
//! - I5. The next transaction releases at its end what it has not used: a lock is passed on for one
//!   transaction, not for ever.
//! - I6. A claimed lock has been held all the time, so no owner held the resource absolutely and
//!   its self tag has not been raised since; it is read nevertheless, since the claiming
//!   transaction has not met it.
//!
//! Source: Johnson, Pandis, Ailamaki, "Improving OLTP Scalability using Speculative Lock
//! Inheritance" (VLDB 2009), as "Efficient Locking Techniques for Databases on Modern Hardware",
//! section 3.1, sums it up: transactions bypass acquisition and release, and one absolute request
//! flushes out all inherited locks of its resource. Differences: inherited are intent locks only,
//! all of them and not the hot ones; a will belongs to a lock owner and not to a thread; and the
//! commit tags, which that paper did not have, are kept in the will, so that no shared memory is
//! written. An inherited IX does not serve a transaction that asks for IS as it is, but is lowered,
//! at the price of a visit of the lock table: readers must not look like writers to who wants S.

#[cfg(all(test, loom))]
mod models;

use std::sync::OnceLock;

use clearway_base::Lsn;
use clearway_sync::{
    CachePadded,
    atomic::{AtomicU32, AtomicU64, Ordering, fence},
};

use super::{IntentMethod, main_table::name_of};
use crate::{
    entries::{Entries, Entry},
    intent::{HeldIntent, IntentMode},
    mode::RangeMode,
    owner::LockOwner,
    table::LockTable,
};

/// Cells of a will; the resource's number determines its cell, so the database and seven tables of
/// about the same age have one each. A lock that finds its cell in use is released.
#[cfg(not(any(loom, shuttle)))]
const CELLS: usize = 8;
#[cfg(any(loom, shuttle))]
const CELLS: usize = 2;
/// Wills are allocated for this many slots at a time.
const CHUNK_WILLS: usize = if cfg!(any(loom, shuttle)) { 4 } else { 256 };
/// Number of chunks: enough for the 65,536 slots of the registry.
const CHUNKS: usize = 256;

/// The shared state of inheritance.
pub(crate) struct Inheritance {
    /// For each resource's entry: absolute requests that ask or wait now (I2).
    absolutes: Box<[CachePadded<AtomicU32>]>,
    /// By slot.
    wills: Box<[OnceLock<Chunk>]>,
}

type Chunk = Box<[CachePadded<Will>]>;

/// The locks that one owner has passed on to its next transaction.
#[derive(Default)]
struct Will {
    cells: [Cell; CELLS],
}

#[derive(Default)]
struct Cell {
    /// 0 if free; else the resource's entry, the mode, and the state.
    word: AtomicU64,
    /// I4.
    tag: AtomicU64,
}

const USED: u64 = 1;
const LEFT: u64 = 2;
const STATE: u64 = 3;
const IS_IX: u64 = 4;
const ENTRY_SHIFT: u32 = 8;

fn pack(held: HeldIntent, state: u64) -> u64 {
    let mode = if held.mode == IntentMode::IX { IS_IX } else { 0 };
    u64::from(held.entry) << ENTRY_SHIFT | mode | state
}

fn unpack(word: u64) -> HeldIntent {
    let mode = if word & IS_IX != 0 { IntentMode::IX } else { IntentMode::IS };
    HeldIntent { entry: (word >> ENTRY_SHIFT) as u32, mode }
}

impl Cell {
    /// Takes a lock that is `left`: for the next transaction, or for a thread that removes it.
    fn take(&self, word: u64, to: u64) -> bool {
        // Acquire pairs with the Release in `pass_on`: the tag is seen (I4).
        word & STATE == LEFT
            && self.word.compare_exchange(word, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    fn tag(&self) -> Lsn {
        // Relaxed: the owner's own, or read after `take` (I4).
        Lsn(self.tag.load(Ordering::Relaxed))
    }
}

impl Will {
    /// The one cell that may name a resource.
    fn cell(&self, entry: u32) -> &Cell {
        &self.cells[entry as usize % CELLS]
    }

    /// That cell and its word, if it names the resource.
    fn find(&self, entry: u32) -> Option<(&Cell, u64)> {
        let cell = self.cell(entry);
        // Relaxed: for the owner its own; for others `take` decides.
        let word = cell.word.load(Ordering::Relaxed);
        (word & STATE != 0 && unpack(word).entry == entry).then_some((cell, word))
    }
}

impl Inheritance {
    /// Returns the inheritance state that a table with this many resource entries needs for its
    /// method.
    pub(crate) fn of(method: IntentMethod, resources: usize) -> Option<Box<Inheritance>> {
        (method == IntentMethod::Inherited).then(|| {
            Box::new(Inheritance {
                absolutes: (0..resources).map(|_| CachePadded::default()).collect(),
                wills: (0..CHUNKS).map(|_| OnceLock::new()).collect(),
            })
        })
    }

    fn will(&self, slot: u32) -> &Will {
        let chunk = self.wills[slot as usize / CHUNK_WILLS]
            .get_or_init(|| (0..CHUNK_WILLS).map(|_| CachePadded::default()).collect());
        &chunk[slot as usize % CHUNK_WILLS]
    }

    /// Whether an owner requests or awaits the resource absolutely.
    fn is_wanted(&self, entry: u32) -> bool {
        // Relaxed: ordered by the fence before it, where that matters (I2).
        self.absolutes[entry as usize].load(Ordering::Relaxed) != 0
    }
}

impl LockTable {
    fn inheritance(&self) -> Option<&Inheritance> {
        self.shared.inheritance.as_deref()
    }

    /// Takes over and records the lock that the previous transaction has passed on, if it covers
    /// what is wanted now; an inherited IX is lowered to an IS. If it does not cover it, the
    /// request is a newcomer's: an inherited lock gives it no right to pass others.
    pub(super) fn claim_inherited(
        &self,
        owner: &mut LockOwner,
        entry: u32,
        wanted: IntentMode,
    ) -> bool {
        let found = self.inheritance().and_then(|all| all.will(owner.slot).find(entry));
        let Some((cell, word)) = found else { return false };
        let left = unpack(word);
        let held = HeldIntent { entry, mode: wanted };
        if !left.mode.covers(wanted) || !cell.take(word, pack(held, USED)) {
            return false;
        }
        if left.mode != wanted {
            let mut entries = self.bucket(name_of(entry)).entries.lock();
            // IS blocks fewer requests, and those that it does not block will not read the tag here
            // (I4).
            self.hand_on(entry, cell);
            let to = Some(wanted);
            self.lower_entry(&mut entries, owner.slot, entry, to, &mut owner.granted);
        }
        owner.note_intent(None, held);
        owner.raise_tag(self.resource(entry).tag_for(wanted)); // I6
        true
    }

    /// Passes an intent lock on to the owner's next transaction. Returns false if the caller has to
    /// release it; tags of earlier transactions in the will are transferred then.
    pub(super) fn pass_on(&self, owner: &LockOwner, held: HeldIntent, commit: Option<Lsn>) -> bool {
        let Some(inheritance) = self.inheritance() else { return false };
        let will = inheritance.will(owner.slot);
        if held.mode.is_absolute() || inheritance.is_wanted(held.entry) {
            self.forget_cell(will, held.entry);
            return false;
        }
        let cell = will.cell(held.entry);
        // Relaxed: the owner's own, unless it is `left`, for another resource: then it stays.
        if cell.word.load(Ordering::Relaxed) != 0 && will.find(held.entry).is_none() {
            return false;
        }
        if let Some(commit) = commit.filter(|_| held.mode == IntentMode::IX) {
            // Relaxed: published by the store of the word (I4).
            cell.tag.store(cell.tag().0.max(commit.0), Ordering::Relaxed);
        }
        let left = pack(held, LEFT);
        // Release pairs with the Acquire in `take`.
        cell.word.store(left, Ordering::Release);
        // I2: with the one in `begin_absolute`.
        fence(Ordering::SeqCst);
        if inheritance.is_wanted(held.entry) && cell.take(left, pack(held, USED)) {
            self.forget_cell(will, held.entry);
            return false;
        }
        true // Left, or flushed already by who wants it.
    }

    /// Frees the cell when the owner releases a lock that it may have inherited.
    fn forget_cell(&self, will: &Will, entry: u32) {
        if let Some((cell, _)) = will.find(entry) {
            // Relaxed: only its owner changes a cell that is not `left`.
            cell.word.store(0, Ordering::Relaxed);
            self.hand_on(entry, cell);
        }
    }

    /// Transfers the cell's tag to the resource (I4).
    fn hand_on(&self, entry: u32, cell: &Cell) {
        self.resource(entry).raise_tags(IntentMode::IX, cell.tag());
    }

    /// Releases what this transaction inherited and has not used (I5).
    pub(super) fn give_up_unused(&self, owner: &mut LockOwner) {
        let Some(inheritance) = self.inheritance() else { return };
        let will = inheritance.will(owner.slot);
        for cell in &will.cells {
            let word = cell.word.load(Ordering::Relaxed);
            if cell.take(word, 0) {
                self.remove_left(owner.slot, unpack(word).entry, cell, &mut owner.granted);
            }
        }
    }

    /// Removes the entry of a lock whose cell the caller has made free (I1).
    fn remove_left(&self, slot: u32, entry: u32, cell: &Cell, granted: &mut Vec<u32>) {
        let mut entries = self.bucket(name_of(entry)).entries.lock();
        self.hand_on(entry, cell);
        self.lower_entry(&mut entries, slot, entry, None, granted);
    }

    /// Drops all inherited locks of an owner that ends and has no next transaction.
    pub(crate) fn drop_inherited(&self, owner: &mut LockOwner) {
        if self.inheritance().is_some() {
            self.give_up_unused(owner);
            self.shared.registry.wake(&mut owner.granted);
        }
    }

    /// Begins an absolute request that is about to check for blocking locks (I2). It has to meet
    /// the tags of its owner's earlier transactions like those of others (I4).
    pub(super) fn begin_absolute(&self, owner: &LockOwner, entry: u32, mode: IntentMode) {
        if let Some(inheritance) = self.inheritance().filter(|_| mode.is_absolute()) {
            if let Some((cell, _)) = inheritance.will(owner.slot).find(entry) {
                self.hand_on(entry, cell);
            }
            // Relaxed: the fence orders it; with the one in `pass_on`.
            inheritance.absolutes[entry as usize].fetch_add(1, Ordering::Relaxed);
            fence(Ordering::SeqCst);
        }
    }

    /// Ends an absolute request, which was granted, refused or withdrawn.
    pub(super) fn end_absolute(&self, entry: u32, mode: IntentMode) {
        if let Some(inheritance) = self.inheritance().filter(|_| mode.is_absolute()) {
            // Relaxed: an owner that passes on a lock a little later than possible does no harm.
            inheritance.absolutes[entry as usize].fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Removes locks that other owners have passed on and that block `wanted` (I2), and those that
    /// the owner itself has passed on and not claimed. The queue is latched.
    pub(super) fn flush_conflicting(
        &self,
        entries: &mut Entries,
        owner: &mut LockOwner,
        entry: u32,
        wanted: IntentMode,
    ) {
        let Some(inheritance) = self.inheritance() else { return };
        if let Some((cell, word)) = inheritance.will(owner.slot).find(entry)
            && cell.take(word, 0)
        {
            self.hand_on(entry, cell);
            self.lower_entry(entries, owner.slot, entry, None, &mut owner.granted);
        }
        if wanted.is_absolute() {
            let mode = RangeMode::of_intent(wanted);
            let in_the_way = |other: &Entry| !other.granted.compatible(mode);
            self.flush(entries, entry, in_the_way, &mut owner.granted);
        }
    }

    fn flush(
        &self,
        entries: &mut Entries,
        entry: u32,
        is_meant: impl Fn(&Entry) -> bool,
        granted: &mut Vec<u32>,
    ) {
        let Some(inheritance) = self.inheritance() else { return };
        // One at a time, since each removal moves the others, and nothing is allocated here (B4).
        loop {
            let meant = entries.holders(name_of(entry)).filter(|other| is_meant(other));
            let taken = meant.map(|other| other.owner).find_map(|slot| {
                let (cell, word) = inheritance.will(slot).find(entry)?;
                cell.take(word, 0).then_some((slot, cell))
            });
            let Some((slot, cell)) = taken else { break };
            self.hand_on(entry, cell);
            self.lower_entry(entries, slot, entry, None, granted);
        }
    }

    /// Removes all locks that were passed on for a resource.
    pub(super) fn flush_entry(&self, entry: u32) {
        if self.inheritance().is_some() {
            let mut granted = Vec::new();
            let mut entries = self.bucket(name_of(entry)).entries.lock();
            self.flush(&mut entries, entry, |_| true, &mut granted);
            drop(entries);
            self.shared.registry.wake(&mut granted);
        }
    }

    /// Removes all locks that were passed on.
    pub(crate) fn flush_all(&self) {
        if self.inheritance().is_some() {
            (0..self.resource_count()).for_each(|entry| self.flush_entry(entry));
        }
    }
}
