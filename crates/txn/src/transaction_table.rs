//! The transaction table: the register of running transactions, without a mutex that all of them
//! touch.
//!
//! A transaction runs in a *transaction slot*. The part of it that other threads may read (the
//! checkpointer, statistics) is a [`TransactionEntry`] on its own cache lines, at a fixed place for
//! the life of the engine. The rest, its lock owner, undo list and log space reservation, is a
//! boxed [`TransactionState`] that moves between a free list and the running
//! [`Transaction`](crate::Transaction), so that the next transaction reuses its memory.
//!
//! Invariants:
//! - TXN-TABLE-1. A `TransactionEntry` is written only by the thread that runs the transaction in
//!   its slot.
//! - TXN-TABLE-2. `first` is at or before the transaction's first record: it is set, from the log's
//!   end, before that record is inserted.
//! - TXN-TABLE-3. Around each insert that changes what recovery must do for the transaction, `word`
//!   is *busy*; a reader waits until it is not. So a checkpoint that reads it after inserting a
//!   record at `B` sees the effect of every such insert before `B`.
//! - TXN-TABLE-4. `word` is zero whenever recovery would have nothing to do for the transaction.
//! - TXN-TABLE-5. An id consists of the epoch (its lower 16 bits), the slot, and a number that each
//!   transaction of the slot increments. So in an epoch an id is not used again before 2³² further
//!   transactions have run in its slot.
//! - TXN-TABLE-6. If a transaction has unfinished work when the engine stops or closes, its `word`
//!   keeps naming that work, for recovery: the slot is *left*, neither finished nor used again, and
//!   does not count as active.
//! - TXN-TABLE-7. Once `close` has returned no transaction starts, and `active` counts every one
//!   that has started: `id` is set under the latch of a free list, and `closed` is read under the
//!   same latch.
//!
//! Life of `word`:
//!
//! ```text
//!          first change                commit or end of rollback
//!   0 ───────────────────► undo LSN ─────────────────────────────► 0
//!          ▲    │ each insert: LSN|BUSY, then the new LSN           ▲
//!          └────┘                     │ commit with deferred frees  │ end
//!                                     └────────► commit LSN|FREES ──┘
//! ```
//!
//! Ordering: TXN-TABLE-3 rests on the log's reservation, one modification order in which an earlier
//! insert happens before a later one; the busy store precedes the insert in program order.
//!
//! Free lists are partitioned by thread; a list's latch is held for one push or pop. An empty
//! list steals from the others before the transaction table grows, so programs that begin and end
//! transactions on different threads do not pile slots up.

use std::{collections::HashMap, sync::OnceLock};

use clearway_base::{Epoch, Error, Lsn, Result, TxnId};
use clearway_sync::{
    Backoff, CachePadded, Counter, SpinLatch,
    atomic::{AtomicBool, AtomicU16, AtomicU32, AtomicU64, Ordering},
    invariant, thread_number,
};

use crate::{
    kinds::Kind,
    record::{ActiveEntry, RecoveryWork},
    transaction_state::TransactionState,
};

/// Bits of a transaction id that name its slot: as many as the lock table has owners.
const SLOT_BITS: u32 = 16;
/// Bits that count the transactions of a slot, below the epoch's.
const SEQUENCE_BITS: u32 = 32;
/// Transactions that users may run at once. The other slots are for the engine's own work, also in
/// an opening that has to undo this number of transactions.
pub(crate) const TRANSACTIONS_MAX: u32 = 65_000;
/// Upper bound on the slots, those that are left to recovery included (TXN-TABLE-6): the lock table
/// has an owner for each.
pub(crate) const SLOTS_MAX: u32 = (1 << SLOT_BITS) - 1;
/// Slots are allocated 256 at a time, 32 KiB.
#[cfg(not(any(loom, shuttle)))]
const CHUNK_SLOTS: usize = 256;
#[cfg(any(loom, shuttle))]
const CHUNK_SLOTS: usize = 4;
const CHUNKS_MAX: usize = (1 << SLOT_BITS) / CHUNK_SLOTS;
/// Free lists: enough that threads rarely share one.
const PARTITIONS: usize = 16;

const BUSY: u64 = 1;
const FREES: u64 = 2;
const LSN_SHIFT: u32 = 2;

/// The part of a transaction slot that other threads may read.
#[derive(Default)]
pub(crate) struct TransactionEntry {
    /// The running transaction, 0 if there is none.
    id: AtomicU64,
    /// The work that recovery would have to do for it: LSN << 2 | flags. See the module's diagram.
    word: AtomicU64,
    /// TXN-TABLE-2; 0 while it has logged nothing.
    first: AtomicU64,
    /// The number of its deferred deallocations that have begun.
    begun: AtomicU64,
    /// True if no transaction runs here any more and the next opening does the unfinished work
    /// (TXN-TABLE-6).
    left: AtomicBool,
    /// The number of the last transaction whose end was handed over to a thread of the engine, plus
    /// 1, modulo 2¹⁶.
    handed_over: AtomicU16,
    /// The lock table's number of its owner, plus 1, in the upper half, and the type of the running
    /// transaction in the lower. (It shares eight bytes with `left`, so that the entry fits one
    /// cache line.)
    who: AtomicU32,
    pub(crate) commits: Counter,
    pub(crate) read_only_commits: Counter,
    pub(crate) rollbacks: Counter,
}

impl TransactionEntry {
    /// Sets the lock owner and the type of the transactions in this slot: [`who`].
    #[inline]
    pub(crate) fn identify(&self, who: u32) {
        // Relaxed: for diagnosis only.
        self.who.store(who, Ordering::Relaxed);
    }

    /// Starts transaction `id` here.
    #[inline]
    pub(crate) fn start(&self, id: TxnId) {
        // Release pairs with the Acquire loads in `snapshot`, as all stores here do.
        let is_clear = self.word.load(Ordering::Relaxed) == 0;
        invariant(is_clear, "transaction table: an entry is clear when a transaction begins");
        self.id.store(id.0, Ordering::Release);
    }

    /// Sets an LSN at or before the transaction's first record (TXN-TABLE-2).
    #[inline]
    pub(crate) fn register(&self, first: Lsn) {
        self.first.store(first.0, Ordering::Release);
    }

    /// Called before an insert that changes what recovery must do (TXN-TABLE-3).
    #[inline]
    pub(crate) fn busy(&self) {
        let word = self.word.load(Ordering::Relaxed); // own store (TXN-TABLE-1)
        invariant(word & BUSY == 0, "TXN-TABLE-3: one record is inserted at a time");
        self.word.store(word | BUSY, Ordering::Release);
    }

    /// Called after that insert, or when it has failed, with the same `undo` as before.
    #[inline]
    pub(crate) fn set_undo_next(&self, undo: Lsn) {
        self.word.store(undo.0 << LSN_SHIFT, Ordering::Release);
    }

    /// Called after the commit, and at each of the deferred deallocations: recovery would do those
    /// that have not begun.
    pub(crate) fn set_deallocations(&self, commit: Lsn, begun: u64) {
        // Relaxed: own store (TXN-TABLE-1).
        let is_running = self.id.load(Ordering::Relaxed) != 0;
        invariant(is_running, "transaction table: a running transaction defers deallocations");
        self.begun.store(begun, Ordering::Release);
        self.word.store(commit.0 << LSN_SHIFT | FREES, Ordering::Release);
    }

    /// Called when the transaction has ended: recovery has no work for it, and the slot is free.
    #[inline]
    pub(crate) fn finish(&self) {
        self.word.store(0, Ordering::Release);
        self.id.store(0, Ordering::Release);
        self.first.store(0, Ordering::Release);
    }

    /// Called when no transaction will run here any more; the unfinished work is left to recovery
    /// (TXN-TABLE-6).
    pub(crate) fn leave_to_recovery(&self) {
        let first = !self.left.load(Ordering::Relaxed); // own store (TXN-TABLE-1)
        invariant(first, "TXN-TABLE-6: a transaction is left to recovery once");
        // Release pairs with the Acquire in `is_active`: the slot's last record comes before.
        self.left.store(true, Ordering::Release);
    }

    /// Records that a thread of the engine ends the running transaction.
    pub(crate) fn hand_over(&self) {
        // Relaxed: a hint (see `is_handed_over`).
        let id = TxnId(self.id.load(Ordering::Relaxed));
        self.handed_over.store(handed_over(id), Ordering::Relaxed);
    }

    /// Returns true if the end of the running transaction `id` was handed over. The result is wrong
    /// if the last one that was handed over is 2¹⁶ transactions of this slot, or a multiple, older.
    fn is_handed_over(&self, id: TxnId) -> bool {
        self.handed_over.load(Ordering::Relaxed) == handed_over(id)
    }

    fn is_active(&self) -> bool {
        self.id.load(Ordering::Relaxed) != 0 && !self.left.load(Ordering::Acquire)
    }

    /// Returns the work that recovery would have to do for the transaction in this slot, if any
    /// (TXN-TABLE-3, TXN-TABLE-4).
    fn snapshot(&self) -> Option<ActiveEntry> {
        let backoff = Backoff::new();
        loop {
            // Acquire pairs with the owner's Release stores. If `word` belongs to a later
            // transaction than `id`, the second load of `id` sees that one's id, or zero.
            // `first` is set before `word` and cleared after `id`, so it is read between them.
            let id = self.id.load(Ordering::Acquire);
            let word = self.word.load(Ordering::Acquire);
            let first = self.first.load(Ordering::Acquire);
            let begun = self.begun.load(Ordering::Acquire);
            let again = self.word.load(Ordering::Acquire);
            if word & BUSY == 0 && again == word && self.id.load(Ordering::Acquire) == id {
                let lsn = Lsn(word >> LSN_SHIFT);
                let need = match word & FREES {
                    0 => RecoveryWork::Undo(lsn),
                    _ => RecoveryWork::Frees { commit: lsn, begun },
                };
                let entry = ActiveEntry { txn: TxnId(id), first: Lsn(first), need };
                return (word != 0).then_some(entry);
            }
            backoff.snooze();
        }
    }

    /// Returns an LSN at or before the transaction's first record (TXN-TABLE-2), or `None` if it
    /// has logged nothing.
    pub(crate) fn first(&self) -> Option<Lsn> {
        let first = self.first.load(Ordering::Acquire);
        (first != 0).then_some(Lsn(first))
    }
}

/// Returns the mark of a transaction whose end was handed over; not 0 for the first ones of a slot.
fn handed_over(id: TxnId) -> u16 {
    ((id.0 >> SLOT_BITS) as u16).wrapping_add(1)
}

/// The oldest running transaction that has written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Oldest {
    /// At or before its first record (TXN-TABLE-2).
    pub(crate) first: Lsn,
    /// Its slot.
    pub(crate) index: u32,
    pub(crate) txn: TxnId,
    pub(crate) kind: Kind,
}

/// Returns the word by which diagnosis finds a transaction from the number of its lock owner.
#[inline]
pub(crate) fn who(owner: u32, kind: Kind) -> u32 {
    // At most 65,535 owners: number plus 1 fits 16 bits.
    (owner + 1) << 16 | u32::from(kind.bits())
}

#[cfg(not(any(loom, shuttle)))] // A model's atomics are larger.
const _: () = assert!(size_of::<TransactionEntry>() == 64);

type Chunk = Box<[CachePadded<TransactionEntry>]>;

/// All slots of an engine.
pub(crate) struct TransactionTable {
    chunks: Box<[OnceLock<Chunk>]>,
    /// Slots ever handed out; they are numbered from 0.
    used: AtomicU32,
    #[allow(clippy::vec_box)] // States move as pointers, from transaction to list and back.
    free: [CachePadded<SpinLatch<Vec<Box<TransactionState>>>>; PARTITIONS],
    /// Set when the engine closes: states are dropped and not kept.
    closed: AtomicBool,
}

impl TransactionTable {
    pub(crate) fn new() -> TransactionTable {
        TransactionTable {
            chunks: (0..CHUNKS_MAX).map(|_| OnceLock::new()).collect(),
            used: AtomicU32::new(0),
            free: Default::default(),
            closed: AtomicBool::new(false),
        }
    }

    /// Begins a transaction in a state that an earlier transaction has used, this thread's last one
    /// if possible (TXN-TABLE-7). Returns `None` if there is none, as after `close`.
    #[inline]
    pub(crate) fn reuse(
        &self,
        begin: impl Fn(&mut TransactionState),
    ) -> Option<Box<TransactionState>> {
        let pop = |list: &mut Vec<Box<TransactionState>>| {
            let mut state = list.pop()?;
            begin(&mut state);
            Some(state)
        };
        let home = partition();
        if let Some(state) = pop(&mut self.free[home].lock()) {
            return Some(state);
        }
        (1..PARTITIONS)
            .find_map(|step| pop(&mut *self.free[(home + step) % PARTITIONS].try_lock()?))
    }

    /// Numbers a new slot, if there are fewer than `slots_max`, and starts a transaction in it.
    ///
    /// # Errors
    /// [`Error::TooManyTransactions`], [`Error::Closed`].
    pub(crate) fn grow(
        &self,
        slots_max: u32,
        id: impl FnOnce(u32) -> TxnId,
    ) -> Result<(u32, TxnId)> {
        let _latched = self.free[partition()].lock(); // TXN-TABLE-7
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::Closed);
        }
        // Relaxed: the number alone is used, and the chunk is published by its OnceLock. It never
        // exceeds the bound: threads that visit all slots rely on it.
        let more = |used| (used < slots_max).then_some(used + 1);
        let index = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, more)
            .map_err(|_| Error::TooManyTransactions { max: TRANSACTIONS_MAX })?;
        let id = id(index);
        self.entry(index).start(id);
        Ok((index, id))
    }

    /// Returns the transaction that has locks under this owner's number, and its type. The result
    /// is exact for a transaction that waits; for any other it may be out of date.
    pub(crate) fn transaction_of(&self, owner: u32) -> Option<(TxnId, Kind)> {
        // Relaxed: for diagnosis only.
        (0..self.used.load(Ordering::Relaxed)).find_map(|index| {
            let entry = self.entry(index);
            let who = entry.who.load(Ordering::Relaxed);
            let id = entry.id.load(Ordering::Relaxed);
            (who >> 16 == owner + 1 && id != 0).then_some((TxnId(id), Kind::of_bits(who as u16)))
        })
    }

    /// Returns the slot and the running transaction, if there is one, of each lock owner. An owner
    /// keeps its slot until the table is closed.
    pub(crate) fn slots_by_owner(&self) -> HashMap<u32, (u32, Option<TxnId>)> {
        let by_owner = |(index, entry): (usize, &TransactionEntry)| {
            // Relaxed: for diagnosis only.
            let who = entry.who.load(Ordering::Relaxed);
            let (index, owner) = (index as u32, (who >> 16).checked_sub(1)?);
            Some((owner, (index, self.transaction_in(index).map(|(id, _)| id))))
        };
        self.all().enumerate().filter_map(by_owner).collect()
    }

    /// Returns the lock owner of transaction `id`, which began in this table, if it still runs and
    /// its end was not handed over to a thread of the engine.
    pub(crate) fn owner_of(&self, id: TxnId) -> Option<u32> {
        let entry = self.entry((id.0 & ((1 << SLOT_BITS) - 1)) as u32); // TXN-TABLE-5
        // Relaxed: the caller asks for a transaction that its own thread runs.
        let runs = entry.id.load(Ordering::Relaxed) == id.0 && !entry.is_handed_over(id);
        let owner = (entry.who.load(Ordering::Relaxed) >> 16).checked_sub(1);
        owner.filter(|_| runs)
    }

    /// Returns the transaction that runs in slot `index`, and its type.
    pub(crate) fn transaction_in(&self, index: u32) -> Option<(TxnId, Kind)> {
        let entry = self.entry(index);
        // Relaxed: for diagnosis only.
        let id = entry.id.load(Ordering::Relaxed);
        let kind = Kind::of_bits(entry.who.load(Ordering::Relaxed) as u16);
        (id != 0).then_some((TxnId(id), kind))
    }

    /// Keeps a state for the next transaction, or returns it if the engine was closed.
    #[inline]
    pub(crate) fn give_back(&self, state: Box<TransactionState>) -> Option<Box<TransactionState>> {
        let mut list = self.free[partition()].lock();
        // Read under the latch: `close` sets the flag first and then empties every list under
        // its latch, so a state is either refused here or dropped there.
        if self.closed.load(Ordering::Acquire) {
            return Some(state);
        }
        list.push(state);
        None
    }

    /// Drops the free states, now and from now on; no transaction starts any more (TXN-TABLE-7).
    /// States hold the engine's core alive.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        for list in &self.free {
            let states = std::mem::take(&mut *list.lock());
            drop(states);
        }
    }

    /// Returns the `TransactionEntry` of slot `index`.
    #[inline]
    pub(crate) fn entry(&self, index: u32) -> &TransactionEntry {
        let chunk = self.chunks[index as usize / CHUNK_SLOTS]
            .get_or_init(|| (0..CHUNK_SLOTS).map(|_| CachePadded::default()).collect());
        &chunk[index as usize % CHUNK_SLOTS]
    }

    fn all(&self) -> impl Iterator<Item = &TransactionEntry> {
        // Acquire: as good as Relaxed here, see `oldest_first` for why a slot may be missed.
        (0..self.used.load(Ordering::Acquire)).map(|index| self.entry(index))
    }

    /// Returns the work that recovery would have to do for every running transaction, for a
    /// checkpoint that has inserted its first record. A slot that appears meanwhile logs after that
    /// record and needs no entry.
    pub(crate) fn snapshot(&self) -> Vec<ActiveEntry> {
        self.all().filter_map(TransactionEntry::snapshot).collect()
    }

    /// Returns an LSN at or before the oldest record of every running transaction. A transaction
    /// that is missed registers now and logs only after what the caller inserted before.
    pub(crate) fn oldest_first(&self) -> Option<Lsn> {
        self.all().filter_map(TransactionEntry::first).min()
    }

    /// The oldest of the running transactions that have written, for diagnosis: it may have ended
    /// meanwhile.
    pub(crate) fn oldest(&self) -> Option<Oldest> {
        let of = |(index, entry): (usize, &TransactionEntry)| {
            let first = entry.first()?;
            let txn = TxnId(entry.id.load(Ordering::Acquire));
            // Relaxed: for diagnosis only.
            let kind = Kind::of_bits(entry.who.load(Ordering::Relaxed) as u16);
            (txn.0 != 0).then_some(Oldest { first, index: index as u32, txn, kind })
        };
        self.all().enumerate().filter_map(of).min_by_key(|oldest| oldest.first)
    }

    /// Transactions running now.
    pub(crate) fn active(&self) -> u64 {
        self.all().filter(|entry| entry.is_active()).count() as u64
    }

    /// Commits, read-only commits and rollbacks of all slots.
    pub(crate) fn totals(&self) -> (u64, u64, u64) {
        self.all().fold((0, 0, 0), |(commits, read_only, rollbacks), entry| {
            (
                commits + entry.commits.get(),
                read_only + entry.read_only_commits.get(),
                rollbacks + entry.rollbacks.get(),
            )
        })
    }
}

/// The id of the `sequence`-th transaction of a slot (TXN-TABLE-5).
#[inline]
pub(crate) fn txn_id(epoch: Epoch, sequence: u32, index: u32) -> TxnId {
    let epoch = u64::from(epoch.0) << (SEQUENCE_BITS + SLOT_BITS);
    TxnId(epoch | u64::from(sequence) << SLOT_BITS | u64::from(index))
}

/// The free list of this thread.
#[inline]
fn partition() -> usize {
    thread_number() % PARTITIONS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn snapshot_lists_unfinished_work() {
        let table = TransactionTable::new();
        let (index, _) = table.grow(SLOTS_MAX, |_| TxnId(1)).unwrap();
        let entry = table.entry(index);
        entry.start(txn_id(Epoch(1), 1, index));
        assert!(table.snapshot().is_empty(), "recovery has no work for a reader");
        entry.register(Lsn(512));
        entry.busy();
        entry.set_undo_next(Lsn(600));
        let active = table.snapshot()[0];
        assert_eq!((active.first, active.need), (Lsn(512), RecoveryWork::Undo(Lsn(600))));
        entry.set_deallocations(Lsn(700), 2);
        assert_eq!(table.snapshot()[0].need, RecoveryWork::Frees { commit: Lsn(700), begun: 2 });
        assert_eq!(table.oldest_first(), Some(Lsn(512)));
        entry.finish();
        assert!(table.snapshot().is_empty());
        assert_eq!((table.oldest_first(), table.active()), (None, 0));
    }

    #[test]
    fn snapshot_waits_for_an_insert_under_way() {
        let table = TransactionTable::new();
        let (index, _) = table.grow(SLOTS_MAX, |_| TxnId(1)).unwrap();
        let entry = table.entry(index);
        entry.start(TxnId(1));
        entry.register(Lsn(512));
        entry.busy();
        clearway_sync::thread::scope(|scope| {
            let reader = scope.spawn(|| table.snapshot());
            clearway_sync::thread::sleep(std::time::Duration::from_millis(20));
            assert!(!reader.is_finished());
            entry.set_undo_next(Lsn(640));
            assert_eq!(reader.join().unwrap()[0].need, RecoveryWork::Undo(Lsn(640)));
        });
    }

    #[test]
    fn left_slots_are_listed_and_not_active() {
        let table = TransactionTable::new();
        let (index, _) = table.grow(SLOTS_MAX, |_| TxnId(1)).unwrap();
        table.entry(index).set_undo_next(Lsn(600));
        table.close();
        assert_eq!(table.active(), 1);
        table.entry(index).leave_to_recovery();
        assert_eq!((table.active(), table.snapshot().len()), (0, 1));
        assert!(matches!(table.grow(SLOTS_MAX, |_| TxnId(2)), Err(Error::Closed)));
    }

    #[test]
    fn full_table_refuses_and_stays_as_it_is() {
        let table = TransactionTable::new();
        let numbers = (0..3).map(|n| table.grow(3, |_| TxnId(n + 1)).unwrap().0);
        assert_eq!(numbers.collect::<Vec<_>>(), [0, 1, 2]);
        for _ in 0..3 {
            let refused = table.grow(3, |_| TxnId(9));
            assert!(matches!(refused, Err(Error::TooManyTransactions { .. })));
        }
        assert_eq!(table.active(), 3);
        assert_eq!(table.grow(4, |_| TxnId(4)).unwrap().0, 3);
    }

    #[test]
    fn owners_are_found_until_their_end_is_handed_over() {
        let table = TransactionTable::new();
        let id = |sequence| move |index| txn_id(Epoch(1), sequence, index);
        let (index, first) = table.grow(SLOTS_MAX, id(0)).unwrap();
        let entry = table.entry(index);
        entry.identify(who(7, Kind::NONE));
        assert_eq!(table.owner_of(first), Some(7));
        assert_eq!(table.slots_by_owner(), HashMap::from([(7, (index, Some(first)))]));
        entry.hand_over();
        assert_eq!(table.owner_of(first), None);
        entry.finish();
        let next = id(1)(index);
        entry.start(next);
        assert_eq!((table.owner_of(first), table.owner_of(next)), (None, Some(7)));
        entry.finish();
        assert_eq!(table.owner_of(next), None);
        assert_eq!(table.slots_by_owner(), HashMap::from([(7, (index, None))]));
    }

    #[test]
    fn ids_differ_between_slots_sequences_and_epochs() {
        let ids = [txn_id(Epoch(1), 1, 0), txn_id(Epoch(1), 1, 1), txn_id(Epoch(1), 2, 0)];
        assert!(ids.iter().all(|id| *id != txn_id(Epoch(2), 1, 0)));
        assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
    }
}
