//! Speculative lock inheritance: an owner's next transaction inherits the intent locks of the
//! previous one, without an access to the lock table. Exists for comparison with lightweight intent
//! locks.
//!
//! Each owner has an inherited-lock list: a few cells, each of which identifies an intent lock
//! whose entry is in the lock table, and its state. The owner and absolute requesters of the
//! resource change a cell by compare-and-swap, so that exactly one of them gets the entry.
//!
//! ```text
//!             pass_on (end)             claim (next transaction)
//!   free ───────────────────────▶ left ────────────────────────────────────▶ used
//!    ▲                             │ ▲             pass_on                    │
//!    │  flush (absolute request),  │ └────────────────────────────────────────┤
//!    │  or not used for one whole  │                                          │
//!    └── transaction ──────────────┘        released like any other lock      │
//!    ▲────────────────────────────────────────────────────────────────────────┘
//! ```
//!
//! Invariants:
//! - INHERITED-1. A cell that is `left` or `used` identifies an entry that its owner has in the
//!   queue. The thread that changes it from `left` to free removes the entry from the queue, and no
//!   other thread does.
//! - INHERITED-2. No owner waits for a lock that is `left`. An absolute request is counted in
//!   `absolutes` before it checks the inherited-lock lists of blocking owners, and as long as it
//!   waits; an owner that passes a lock on checks the count afterwards and, if it is not zero,
//!   takes the lock back to release it. Between the store and the load of each stands a `SeqCst`
//!   fence: one of the two sees the other.
//! - INHERITED-3. Only IS and IX are passed on, so they block only absolute requests.
//! - INHERITED-4. A cell's tag is at least the commit LSN of every transaction that has left or
//!   used the lock since it was taken from the queue. It is written only by the owner, while the
//!   cell is `used` or free, and never decreases, so a flushing thread may read it afterwards. It
//!   is transferred to the resource's descendant tag before the entry is removed (MAIN-TABLE-2).
//!   Too high a tag, of a cell that was used for another resource before, makes an absolute reader
//!   wait for the log and does no other harm.
//! - INHERITED-5. The next transaction releases at its end what it has not used: a lock is passed
//!   on for one transaction, not for ever.
//! - INHERITED-6. A claimed lock has been held all the time, so no owner held the resource
//!   absolutely and its self tag has not been raised since; it is read nevertheless, since the
//!   claiming transaction has not met it.
//!
//! Source: Johnson, Pandis, Ailamaki, "Improving OLTP Scalability using Speculative Lock
//! Inheritance" (VLDB 2009), as "Efficient Locking Techniques for Databases on Modern Hardware",
//! section 3.1, sums it up: transactions bypass acquisition and release, and one absolute request
//! flushes out all inherited locks of its resource. Differences: only intent locks are inherited,
//! all of them and not the hot ones; an inherited-lock list belongs to a lock owner and not to a
//! thread; and the commit tags, which that paper did not have, are kept in the list, so that no
//! shared memory is written. A transaction that requests IS does not use an inherited IX as it is,
//! but lowers it, at the cost of an access to the lock table: a reader must not block requests for
//! S as a writer does.

#[cfg(all(test, loom))]
mod models;

use clearway_base::Lsn;
use clearway_lock::{
    IntentMode,
    parts::{Holder, Queue, Resources},
};
use clearway_sync::{
    CachePadded,
    atomic::{AtomicU32, AtomicU64, Ordering, fence},
};

use super::{by_slot::BySlot, main_table::name_of};

/// Cells of an inherited-lock list; the resource's number determines its cell, so the database and
/// seven tables of about the same age have one each. A lock whose cell is in use is released.
#[cfg(not(any(loom, shuttle)))]
const CELLS: usize = 8;
#[cfg(any(loom, shuttle))]
const CELLS: usize = 2;

/// The shared state of inheritance.
pub(super) struct Inheritance {
    /// For each resource's entry, the absolute requests that are being made or wait now
    /// (INHERITED-2).
    absolutes: Box<[CachePadded<AtomicU32>]>,
    inherited: BySlot<InheritedLocks>,
}

/// The inherited-lock list of one owner: the locks that it has passed on to its next transaction.
#[derive(Default)]
struct InheritedLocks {
    cells: [Cell; CELLS],
}

#[derive(Default)]
struct Cell {
    /// 0 if free; else the resource's entry, the mode, and the state.
    word: AtomicU64,
    /// INHERITED-4.
    tag: AtomicU64,
}

const USED: u64 = 1;
const LEFT: u64 = 2;
const STATE: u64 = 3;
const IS_IX: u64 = 4;
const ENTRY_SHIFT: u32 = 8;

fn pack(entry: u32, mode: IntentMode, state: u64) -> u64 {
    let mode = if mode == IntentMode::IX { IS_IX } else { 0 };
    u64::from(entry) << ENTRY_SHIFT | mode | state
}

fn entry_of(word: u64) -> u32 {
    (word >> ENTRY_SHIFT) as u32
}

fn mode_of(word: u64) -> IntentMode {
    if word & IS_IX != 0 { IntentMode::IX } else { IntentMode::IS }
}

impl Cell {
    /// Takes a lock that is `left`: for the next transaction, or for a thread that removes it.
    fn take(&self, word: u64, to: u64) -> bool {
        // Acquire pairs with the Release in `pass_on`: the tag is seen (INHERITED-4).
        word & STATE == LEFT
            && self.word.compare_exchange(word, to, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    fn tag(&self) -> Lsn {
        // Relaxed: the owner's own, or read after `take` (INHERITED-4).
        Lsn(self.tag.load(Ordering::Relaxed))
    }
}

impl InheritedLocks {
    /// Returns the only cell that can hold a resource's lock.
    fn cell(&self, entry: u32) -> &Cell {
        &self.cells[entry as usize % CELLS]
    }

    /// Returns that cell and its word, if it holds the resource's lock.
    fn find(&self, entry: u32) -> Option<(&Cell, u64)> {
        let cell = self.cell(entry);
        // Relaxed: for the owner its own; for others `take` decides.
        let word = cell.word.load(Ordering::Relaxed);
        (word & STATE != 0 && entry_of(word) == entry).then_some((cell, word))
    }
}

impl Inheritance {
    /// Returns the inheritance state of a table with this many resource entries.
    pub(super) fn new(resources: u32) -> Inheritance {
        Inheritance {
            absolutes: (0..resources).map(|_| CachePadded::default()).collect(),
            inherited: BySlot::new(),
        }
    }

    /// Returns true if an owner requests or awaits the resource absolutely.
    fn is_wanted(&self, entry: u32) -> bool {
        // Relaxed: ordered by the fence before it, where that matters (INHERITED-2).
        self.absolutes[entry as usize].load(Ordering::Relaxed) != 0
    }

    /// Takes over and records the lock that the previous transaction has passed on, if it covers
    /// what is wanted now; an inherited IX is lowered to an IS. If it does not cover it, the
    /// request is a newcomer's: an inherited lock gives it no right to pass others.
    pub(super) fn claim(&self, holder: &mut Holder<'_>, entry: u32, wanted: IntentMode) -> bool {
        let Some((cell, word)) = self.inherited.get(holder.number()).find(entry) else {
            return false;
        };
        let left = mode_of(word);
        if !left.covers(wanted) || !cell.take(word, pack(entry, wanted, USED)) {
            return false;
        }
        if left != wanted {
            let resources = holder.resources();
            let mut queue = resources.queue(name_of(entry));
            // IS blocks fewer requests, and those that it does not block will not read the tag here
            // (INHERITED-4).
            transfer_tag(resources, entry, cell);
            queue.lower(holder.number(), Some(wanted), holder.granted());
        }
        holder.note(entry, wanted); // INHERITED-6
        true
    }

    /// Passes an intent lock on to the owner's next transaction. Returns false if the caller has to
    /// release it; tags of earlier transactions in the list are transferred then.
    pub(super) fn pass_on(
        &self,
        holder: &Holder<'_>,
        entry: u32,
        mode: IntentMode,
        commit: Option<Lsn>,
    ) -> bool {
        let (inherited, resources) = (self.inherited.get(holder.number()), holder.resources());
        if mode.is_absolute() || self.is_wanted(entry) {
            forget_cell(resources, inherited, entry);
            return false;
        }
        let cell = inherited.cell(entry);
        // Relaxed: the owner's own, unless it is `left`, for another resource: then it stays.
        if cell.word.load(Ordering::Relaxed) != 0 && inherited.find(entry).is_none() {
            return false;
        }
        if let Some(commit) = commit.filter(|_| mode == IntentMode::IX) {
            // Relaxed: published by the store of the word (INHERITED-4).
            cell.tag.store(cell.tag().0.max(commit.0), Ordering::Relaxed);
        }
        let left = pack(entry, mode, LEFT);
        // Release pairs with the Acquire in `take`.
        cell.word.store(left, Ordering::Release);
        // INHERITED-2: with the one in `begin_absolute`.
        fence(Ordering::SeqCst);
        if self.is_wanted(entry) && cell.take(left, pack(entry, mode, USED)) {
            forget_cell(resources, inherited, entry);
            return false;
        }
        true // Left, or already flushed by an absolute request.
    }

    /// Drops the locks that this transaction inherited and has not used (INHERITED-5).
    pub(super) fn drop_unused(&self, holder: &mut Holder<'_>) {
        let (owner, resources) = (holder.number(), holder.resources());
        for cell in &self.inherited.get(owner).cells {
            let word = cell.word.load(Ordering::Relaxed);
            if cell.take(word, 0) {
                // INHERITED-1: this owner has made the cell free.
                let entry = entry_of(word);
                let mut queue = resources.queue(name_of(entry));
                transfer_tag(resources, entry, cell);
                queue.lower(owner, None, holder.granted());
            }
        }
    }

    /// Begins an absolute request that is about to check for blocking locks (INHERITED-2). It has
    /// to meet the tags of its owner's earlier transactions like those of others (INHERITED-4).
    pub(super) fn begin_absolute(&self, holder: &Holder<'_>, entry: u32, mode: IntentMode) {
        if !mode.is_absolute() {
            return;
        }
        if let Some((cell, _)) = self.inherited.get(holder.number()).find(entry) {
            transfer_tag(holder.resources(), entry, cell);
        }
        // Relaxed: the fence orders it; with the one in `pass_on`.
        self.absolutes[entry as usize].fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Ends an absolute request, which was granted, refused or withdrawn.
    pub(super) fn end_absolute(&self, entry: u32, mode: IntentMode) {
        if mode.is_absolute() {
            // Relaxed: an owner that passes on a lock a little later than possible does no harm.
            self.absolutes[entry as usize].fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Removes locks that other owners have passed on and that block `wanted` (INHERITED-2), and
    /// those that the owner itself has passed on and not claimed. The queue is the resource's.
    pub(super) fn flush_conflicting(
        &self,
        queue: &mut Queue<'_>,
        holder: &mut Holder<'_>,
        entry: u32,
        wanted: IntentMode,
    ) {
        let resources = holder.resources();
        if let Some((cell, word)) = self.inherited.get(holder.number()).find(entry)
            && cell.take(word, 0)
        {
            transfer_tag(resources, entry, cell);
            queue.lower(holder.number(), None, holder.granted());
        }
        if wanted.is_absolute() {
            self.flush(queue, resources, entry, Some(wanted), holder.granted());
        }
    }

    /// Removes the locks that were passed on and conflict with `wanted`; with `None`, all of them.
    fn flush(
        &self,
        queue: &mut Queue<'_>,
        resources: Resources<'_>,
        entry: u32,
        wanted: Option<IntentMode>,
        granted: &mut Vec<u32>,
    ) {
        // One at a time: each removal moves the others, and no list of them is allocated under the
        // latch (BUCKET-4).
        loop {
            let taken = queue.holders(wanted).find_map(|owner| {
                let (cell, word) = self.inherited.get(owner).find(entry)?;
                cell.take(word, 0).then_some((owner, cell))
            });
            let Some((owner, cell)) = taken else { break };
            transfer_tag(resources, entry, cell);
            queue.lower(owner, None, granted);
        }
    }

    /// Removes all locks that were passed on for a resource.
    pub(super) fn flush_entry(&self, resources: Resources<'_>, entry: u32) {
        let mut granted = Vec::new();
        let mut queue = resources.queue(name_of(entry));
        self.flush(&mut queue, resources, entry, None, &mut granted);
        drop(queue);
        resources.wake(&mut granted);
    }
}

/// Frees the cell when the owner releases a lock that it may have inherited.
fn forget_cell(resources: Resources<'_>, inherited: &InheritedLocks, entry: u32) {
    if let Some((cell, _)) = inherited.find(entry) {
        // Relaxed: only its owner changes a cell that is not `left`.
        cell.word.store(0, Ordering::Relaxed);
        transfer_tag(resources, entry, cell);
    }
}

/// Transfers the cell's tag to the resource (INHERITED-4).
fn transfer_tag(resources: Resources<'_>, entry: u32, cell: &Cell) {
    resources.raise_tags(entry, IntentMode::IX, cell.tag());
}
