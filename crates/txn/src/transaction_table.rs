//! The transaction table: the register of running transactions, without a mutex that all of them
//! touch.
//!
//! The part of a transaction that other threads may read lies in its *participant record*, which
//! has the number of its lock owner and stays at its place for the life of the engine
//! ([`Participants`]). This layer's part of it is a [`TransactionRecord`]: the
//! [`TransactionEntry`], which the checkpointer and the statistics read, and the waits that the
//! transaction has published. The rest, its lock owner, undo list and log space reservation, is a
//! boxed [`TransactionState`](crate::transaction_state) that moves between a free list and the
//! running [`Transaction`](crate::Transaction), so that the next transaction reuses its memory.
//!
//! Invariants:
//! - TXN-TABLE-1. A `TransactionEntry`, except its `handed_over`, is written only by the thread
//!   that runs the transaction of its record: the one that has its `TransactionState`.
//! - TXN-TABLE-2. `first` is at or before the transaction's first record: it is set, from the log's
//!   end, before that record is inserted.
//! - TXN-TABLE-3. Around each insert that changes what recovery must do for the transaction, `word`
//!   is *busy*; a reader waits until it is not. So a checkpoint that reads it after inserting a
//!   record at `B` sees the effect of every such insert before `B`.
//! - TXN-TABLE-4. `word` is zero whenever recovery would have nothing to do for the transaction.
//! - TXN-TABLE-5. An id consists of the epoch (its lower 16 bits), the number of the participant
//!   record, and a number that counts, from 0, the transactions of one `TransactionState`: the
//!   *generation* by which a thread that has kept an id notices that the record belongs to another
//!   transaction. In an epoch an id is used again only after 2³² further transactions in the same
//!   state, or after a state was dropped (STATES-3) and a new state has got its record.
//! - TXN-TABLE-6. If a transaction has unfinished work when the engine stops or closes, its `word`
//!   keeps naming that work, for recovery: the record is *left*, neither finished nor used again,
//!   and does not count as active.
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
//! Ordering: each insert into the log reserves its span by a compare-and-swap (AcqRel) of one word,
//! so the reservation of an earlier record happens before that of a later one. The busy store
//! precedes the insert in program order. TXN-TABLE-3 follows.

use std::{collections::HashMap, sync::Arc};

use clearway_base::{Epoch, Lsn, TxnId};
use clearway_lock::{PARTICIPANTS_MAX, Participant, Participants};
use clearway_sync::{
    Backoff, Counter,
    atomic::{AtomicBool, AtomicU16, AtomicU64, Ordering},
    invariant,
};

use crate::{
    contention::{PublishedWait, PublishedWaits},
    kinds::Kind,
    record::{ActiveEntry, RecoveryWork},
};

/// Bits of a transaction id that name its participant record.
const NUMBER_BITS: u32 = 16;
/// Bits that count the transactions of a `TransactionState`, below the epoch's.
const SEQUENCE_BITS: u32 = 32;
/// A new participant record is made for a user's transaction only if fewer than this number are in
/// use. The records above this number are for the engine's own work, so it can begin even while an
/// opening undoes 65,000 transactions. Records that are left to recovery (TXN-TABLE-6) are in use.
pub(crate) const TRANSACTIONS_MAX: u32 = 65_000;
/// Upper bound on all of them.
pub(crate) const ALL_TRANSACTIONS_MAX: u32 = PARTICIPANTS_MAX;
const _: () = assert!(PARTICIPANTS_MAX < 1 << NUMBER_BITS);

const BUSY: u64 = 1;
const FREES: u64 = 2;
const LSN_SHIFT: u32 = 2;

/// The part of a running transaction that other threads may read.
#[derive(Default)]
pub(crate) struct TransactionEntry {
    /// The running transaction, 0 if there is none.
    id: AtomicU64,
    /// The work that recovery would have to do for it: LSN << 2 | flags. See the module's diagram.
    word: AtomicU64,
    /// TXN-TABLE-2; 0 until the transaction is about to log its first record.
    first: AtomicU64,
    /// The number of its deferred deallocations that have begun.
    begun: AtomicU64,
    /// True if no transaction runs here any more and the next opening does the unfinished work
    /// (TXN-TABLE-6).
    left: AtomicBool,
    /// The generation of the last transaction whose end was handed over to a thread of the engine,
    /// plus 1, modulo 2¹⁶.
    handed_over: AtomicU16,
    /// The type of the running transaction. (It shares eight bytes with `left`, so that the entry
    /// fits one cache line.)
    kind: AtomicU16,
    pub(crate) commits: Counter,
    pub(crate) read_only_commits: Counter,
    pub(crate) rollbacks: Counter,
}

impl TransactionEntry {
    /// Sets the type of the transactions that run with this record from now on.
    #[inline]
    pub(crate) fn set_kind(&self, kind: Kind) {
        // Relaxed: for diagnosis only.
        self.kind.store(kind.bits(), Ordering::Relaxed);
    }

    fn kind(&self) -> Kind {
        Kind::of_bits(self.kind.load(Ordering::Relaxed))
    }

    /// Starts transaction `id` here.
    #[inline]
    pub(crate) fn start(&self, id: TxnId) {
        // Release pairs with the Acquire loads in `snapshot`, as do the other Release stores here.
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

    /// Called after that insert; if the insert has failed, with the same `undo` as before it.
    #[inline]
    pub(crate) fn set_undo_next(&self, undo: Lsn) {
        self.word.store(undo.0 << LSN_SHIFT, Ordering::Release);
    }

    /// Called after the commit, and at each step of the deferred deallocations: recovery would do
    /// those that have not begun.
    pub(crate) fn set_deallocations(&self, commit: Lsn, begun: u64) {
        // Relaxed: own store (TXN-TABLE-1).
        let is_running = self.id.load(Ordering::Relaxed) != 0;
        invariant(is_running, "transaction table: a running transaction defers deallocations");
        self.begun.store(begun, Ordering::Release);
        self.word.store(commit.0 << LSN_SHIFT | FREES, Ordering::Release);
    }

    /// Called when recovery has no work left for the transaction: when its commit record is in the
    /// log or its rollback is complete, before its locks are released; or, if it deferred
    /// deallocations, when these are done.
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
        // Release pairs with the Acquire in `is_active`: its last log record comes before.
        self.left.store(true, Ordering::Release);
    }

    /// Records that a thread of the engine ends the running transaction.
    pub(crate) fn hand_over(&self) {
        // Relaxed: a hint (see `is_handed_over`).
        let id = TxnId(self.id.load(Ordering::Relaxed));
        self.handed_over.store(handed_over(id), Ordering::Relaxed);
    }

    /// Returns true if the end of the running transaction `id` was handed over. The result is wrong
    /// if the last one that was handed over is 2¹⁶ transactions of this record older, or a multiple
    /// of that; and, if none was handed over, for one transaction in 2¹⁶.
    fn is_handed_over(&self, id: TxnId) -> bool {
        self.handed_over.load(Ordering::Relaxed) == handed_over(id)
    }

    /// Returns true if no transaction runs here, or is left here (TXN-TABLE-6).
    pub(crate) fn is_clear(&self) -> bool {
        // Relaxed: own stores (TXN-TABLE-1).
        self.id.load(Ordering::Relaxed) == 0 && self.word.load(Ordering::Relaxed) == 0
    }

    fn is_active(&self) -> bool {
        self.id.load(Ordering::Relaxed) != 0 && !self.left.load(Ordering::Acquire)
    }

    /// Returns the work that recovery would have to do for the running transaction, if any
    /// (TXN-TABLE-3, TXN-TABLE-4).
    fn snapshot(&self) -> Option<ActiveEntry> {
        let backoff = Backoff::new();
        loop {
            // Acquire pairs with the owner's Release stores. If `word` belongs to a later
            // transaction than `id`, the second load of `id` sees that one's id, or zero. `first`
            // is set before `word` and cleared after `id`, so it is read after the first load of
            // `word` and before the second load of `id`.
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

/// Returns the mark of a transaction whose end was handed over; not 0 for the first ones of a
/// record.
fn handed_over(id: TxnId) -> u16 {
    ((id.0 >> NUMBER_BITS) as u16).wrapping_add(1)
}

/// The oldest running transaction that has written.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Oldest {
    /// At or before its first record (TXN-TABLE-2).
    pub(crate) first: Lsn,
    /// The number of its participant record.
    pub(crate) number: u32,
    pub(crate) txn: TxnId,
    pub(crate) kind: Kind,
}

#[cfg(not(any(loom, shuttle)))] // A model's atomics are larger.
const _: () = assert!(size_of::<TransactionEntry>() == 64);

/// The transaction layer's part of a participant record.
#[derive(Default)]
pub(crate) struct TransactionRecord {
    entry: TransactionEntry,
    published: PublishedWaits,
}

impl Participant for TransactionRecord {
    fn runs(&self) -> bool {
        self.entry.is_active()
    }
}

/// The running transactions of an engine, as other threads see them. A clone is the same table.
#[derive(Clone)]
pub(crate) struct TransactionTable {
    participants: Arc<Participants<TransactionRecord>>,
}

impl TransactionTable {
    /// Creates the table for the transactions whose lock owners have these records.
    pub(crate) fn new(participants: Arc<Participants<TransactionRecord>>) -> TransactionTable {
        TransactionTable { participants }
    }

    /// Returns the number of transaction `id`, which began in this table, if it still runs and its
    /// end was not handed over to a thread of the engine.
    pub(crate) fn number_of(&self, id: TxnId) -> Option<u32> {
        let number = (id.0 & ((1 << NUMBER_BITS) - 1)) as u32; // TXN-TABLE-5
        let entry = self.entry(number);
        // Relaxed: the caller asks for a transaction that its own thread runs.
        let runs = entry.id.load(Ordering::Relaxed) == id.0 && !entry.is_handed_over(id);
        runs.then_some(number)
    }

    /// Records that a thread of the engine ends transaction `id`, if that still runs.
    pub(crate) fn hand_over(&self, id: TxnId) {
        let number = (id.0 & ((1 << NUMBER_BITS) - 1)) as u32; // TXN-TABLE-5
        let entry = self.entry(number);
        // Relaxed: a hint (see `is_handed_over`).
        if entry.id.load(Ordering::Relaxed) == id.0 {
            entry.hand_over();
        }
    }

    /// Returns the transaction that runs with this record, and its type. The result is exact for a
    /// transaction that waits; for any other it may be out of date.
    pub(crate) fn transaction_of(&self, number: u32) -> Option<(TxnId, Kind)> {
        let entry = self.entry(number);
        // Acquire pairs with the Release at its begin: what its record has of earlier transactions
        // is not taken for its own (CURRENT-WAIT-2).
        let id = entry.id.load(Ordering::Acquire);
        (id != 0).then(|| (TxnId(id), entry.kind()))
    }

    /// Returns the entry of a participant record.
    #[inline]
    pub(crate) fn entry(&self, number: u32) -> &TransactionEntry {
        &self.participants.get(number).entry
    }

    /// Returns what the transactions of a participant record have published.
    pub(crate) fn published(&self, number: u32) -> &PublishedWaits {
        &self.participants.get(number).published
    }

    /// Returns the waits that transactions have published, each under the number of its record.
    pub(crate) fn all_published(&self) -> HashMap<u32, PublishedWait> {
        let numbered = (0..).zip(self.participants.all());
        numbered.filter_map(|(number, record)| Some((number, record.published.read()?))).collect()
    }

    fn all(&self) -> impl Iterator<Item = &TransactionEntry> {
        self.participants.all().map(|record| &record.entry)
    }

    /// Returns the work that recovery would have to do for every running transaction, for a
    /// checkpoint that has inserted its first record. A transaction that appears meanwhile logs
    /// after that record and needs no entry.
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
        let of = |(number, entry): (usize, &TransactionEntry)| {
            let first = entry.first()?;
            let txn = TxnId(entry.id.load(Ordering::Acquire));
            let number = number as u32;
            (txn.0 != 0).then_some(Oldest { first, number, txn, kind: entry.kind() })
        };
        self.all().enumerate().filter_map(of).min_by_key(|oldest| oldest.first)
    }

    /// Transactions running now.
    pub(crate) fn active(&self) -> u64 {
        self.all().filter(|entry| entry.is_active()).count() as u64
    }

    /// Commits, read-only commits and rollbacks of all participants.
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

/// The id of transaction `sequence`, from 0, of a `TransactionState` with this participant record
/// (TXN-TABLE-5).
#[inline]
pub(crate) fn txn_id(epoch: Epoch, sequence: u32, number: u32) -> TxnId {
    let epoch = u64::from(epoch.0) << (SEQUENCE_BITS + NUMBER_BITS);
    TxnId(epoch | u64::from(sequence) << NUMBER_BITS | u64::from(number))
}

#[cfg(test)]
mod tests {
    use clearway_lock::{LockOptions, LockOwner, LockTable};

    use super::*;

    /// A transaction table, and the lock owners of its transactions.
    fn table(transactions: usize) -> (TransactionTable, Vec<LockOwner>) {
        let participants = Arc::new(Participants::new());
        let options = LockOptions { buckets: 1, intents: 1, ..LockOptions::default() };
        let locks = LockTable::with_participants(options, participants.clone());
        let owners = (0..transactions).map(|_| locks.owner()).collect();
        (TransactionTable::new(participants), owners)
    }

    #[test]
    fn snapshot_lists_unfinished_work() {
        let (table, _owners) = table(1);
        let entry = table.entry(0);
        entry.start(txn_id(Epoch(1), 1, 0));
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
        let (table, _owners) = table(1);
        let entry = table.entry(0);
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
    fn left_transactions_are_listed_and_not_active() {
        let (table, _owners) = table(1);
        table.entry(0).start(TxnId(1));
        table.entry(0).set_undo_next(Lsn(600));
        assert_eq!(table.active(), 1);
        table.entry(0).leave_to_recovery();
        assert_eq!((table.active(), table.snapshot().len()), (0, 1));
    }

    #[test]
    fn transactions_are_found_until_their_end_is_handed_over() {
        let (table, owners) = table(8);
        let number = owners[7].number();
        let (first, next) = (txn_id(Epoch(1), 0, number), txn_id(Epoch(1), 1, number));
        let entry = table.entry(number);
        entry.start(first);
        entry.set_kind(Kind::of_bits(3));
        assert_eq!(table.number_of(first), Some(number));
        assert_eq!(table.transaction_of(number), Some((first, Kind::of_bits(3))));
        assert_eq!(table.transaction_of(number - 1), None);
        entry.hand_over();
        assert_eq!(table.number_of(first), None);
        entry.finish();
        entry.start(next);
        assert_eq!((table.number_of(first), table.number_of(next)), (None, Some(number)));
        entry.finish();
        assert_eq!((table.number_of(next), table.transaction_of(number)), (None, None));
    }

    #[test]
    fn ids_differ_between_records_sequences_and_epochs() {
        let ids = [txn_id(Epoch(1), 1, 0), txn_id(Epoch(1), 1, 1), txn_id(Epoch(1), 2, 0)];
        assert!(ids.iter().all(|id| *id != txn_id(Epoch(2), 1, 0)));
        assert!(ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]);
    }
}
