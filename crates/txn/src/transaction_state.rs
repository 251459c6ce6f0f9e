//! The private half of a transaction: its locks, undo list, log space reservation and table hints.
//!
//! A slot implements the tree's [`Context`](clearway_tree::Context): what the tree asks under its
//! latches goes straight to the lock table and to the log. It also runs work that belongs to no
//! user (ghost reclaim, the catalogue, recovery's losers), which differs only in what it logs.
//!
//! Invariants:
//! - TXN-1. `undo` is UNDO-1, and the public record owes exactly its head
//!   (TXN-TABLE-3, TXN-TABLE-4).
//! - TXN-2. No log space is reserved and no lock is awaited under a latch: `reserve` and `wait` are
//!   the only calls that block, and the tree makes them with no latch held. (Images for the redo
//!   check take what is free, or are left out.)
//! - TXN-3. Exactly one compensation is logged for each undone change; logging it takes the change
//!   off the undo list.
//! - TXN-4. A slot holds a reference to the engine's core, in the free list too, so that a begin
//!   and an end touch no shared reference count. Closing the engine empties the lists.
//! - TXN-6. While an operation on a table runs, or an undo in it, `cover` is what the transaction
//!   has on every key there by absolute locks. It takes no range locks that this covers, and meets
//!   no tags on them: it met the self and descendant tags of the absolute lock, which no commit can
//!   raise while it is held.
//! - TXN-5. `tables` knows only tables of the slot's own opening: an id alone would also fit a
//!   table of another database, so the opening is compared before the id is looked up.

mod context;
mod deallocation;
mod escalation;
mod retry;
mod table_use;
mod waiting;

use std::{cell::Cell, sync::Arc};

use clearway_base::{
    Error, Lsn, LsnSpan, Result, TreeId, TxnId,
    failpoint::{self, Failpoint},
};
use clearway_lock::{IntentMode, LockId, LockOwner, Outcome, RangeMode, ResourceId, WaitLimit};
use clearway_log::Record;
use clearway_sync::invariant;
use clearway_tree::LeafHint;

use deallocation::Deallocation;
pub use retry::RetryContext;
use table_use::TableUse;

use crate::{
    contention::{PassedWait, Wanted},
    core::Core,
    deferred::DeferredDeallocations,
    kinds::Kind,
    parts::RangeModes,
    record,
    space_reservation::SpaceReservation,
    table::Table,
    transaction_table::{SLOTS_MAX, TRANSACTIONS_MAX, TransactionEntry, txn_id, who},
    undo::UndoList,
    upkeep::Report,
};

/// Tables whose leaf hints a slot remembers from one transaction to the next.
const TABLES_KEPT: usize = 16;

/// A reference to the core with a count of its own.
struct Anchor(Arc<Core>);

/// See the module.
pub(crate) struct TransactionState {
    pub(crate) core: Arc<Core>,
    /// Keeps the core alive while the slot itself moves to the free list. The slot's own, so that
    /// its count is on nobody else's cache line (TXN-4).
    anchor: Arc<Anchor>,
    index: u32,
    sequence: u32,
    /// The core's, at hand for each use of a table (TXN-5).
    pub(crate) opening: u64,
    pub(crate) id: TxnId,
    /// The transaction's type.
    kind: Kind,
    pub(crate) owner: LockOwner,
    /// The engine's, at hand for each lock.
    range_modes: Option<&'static RangeModes>,
    pub(crate) undo: UndoList,
    pub(crate) reservation: SpaceReservation,
    /// Whether this transaction has logged anything of its own.
    pub(crate) wrote: bool,
    /// Whether changes are being undone: log space then comes from what was set aside.
    undoing: bool,
    pub(crate) limit: WaitLimit,
    /// Whether the transaction has published a wait for a lock.
    has_published_wait: bool,
    /// The lock of which it was refused in a deadlock.
    refused: Option<(LockId, RangeMode)>,
    /// Its waits that are not counted yet.
    passed_waits: Vec<PassedWait>,
    tables: Vec<TableUse>,
    /// The intent lock the running transaction holds on the database.
    database: Option<IntentMode>,
    /// See TXN-6.
    cover: RangeMode,
    /// Savepoints that can be rolled back to: serial number and undo position, both ascending.
    pub(crate) savepoints: Vec<(u64, usize)>,
    pub(crate) savepoint_serial: u64,
    /// Leaves to report to upkeep.
    pub(crate) reported: Vec<Report>,
    /// Values to free once the transaction has committed.
    pub(crate) frees: DeferredDeallocations,
    /// While deferred frees are done.
    freeing: Option<Deallocation>,
    /// Whether this is a loser that recovery undoes: there are no locks then to say what is free.
    recovering: bool,
    /// Whether a ghost was asked about that somebody holds or awaits.
    pub(crate) met_held_ghost: Cell<bool>,
    body: Vec<u8>,
}

impl TransactionState {
    /// A slot for the next transaction: a used one if there is any.
    #[inline]
    ///
    /// # Errors
    /// [`Error::Closed`], [`Error::TooManyTransactions`].
    pub(crate) fn begin(core: &Arc<Core>) -> Result<Box<TransactionState>> {
        TransactionState::begin_among(core, SLOTS_MAX, Kind::NONE)
    }

    /// As [`begin`](Slot::begin), for a user: some slots are kept for the engine's own work.
    ///
    /// # Errors
    /// Those of `begin`.
    #[inline]
    pub(crate) fn begin_for_user(core: &Arc<Core>, kind: Kind) -> Result<Box<TransactionState>> {
        TransactionState::begin_among(core, TRANSACTIONS_MAX, kind)
    }

    #[inline]
    fn begin_among(core: &Arc<Core>, slots_max: u32, kind: Kind) -> Result<Box<TransactionState>> {
        let begin = |state: &mut TransactionState| {
            state.sequence = state.sequence.wrapping_add(1);
            state.start(txn_id(core.epoch, state.sequence, state.index));
        };
        match core.transactions.reuse(begin) {
            Some(mut state) => {
                if state.kind != kind {
                    state.identify(kind);
                }
                Ok(state)
            }
            None => {
                TransactionState::new(core, slots_max, kind, |index| txn_id(core.epoch, 0, index))
            }
        }
    }

    /// A slot that continues `loser`, whose newest change not undone is at `head`.
    ///
    /// # Errors
    /// Those of [`begin`](Slot::begin).
    pub(crate) fn resume(
        core: &Arc<Core>,
        loser: TxnId,
        first: Lsn,
        head: Lsn,
    ) -> Result<Box<TransactionState>> {
        let mut state = TransactionState::new(core, SLOTS_MAX, Kind::NONE, |_| loser)?;
        state.wrote = true;
        state.recovering = true;
        state.entry().register(first);
        state.entry().set_undo_next(head);
        Ok(state)
    }

    #[cold]
    fn new(
        core: &Arc<Core>,
        slots_max: u32,
        kind: Kind,
        id: impl FnOnce(u32) -> TxnId,
    ) -> Result<Box<TransactionState>> {
        let (index, id) = core.transactions.grow(slots_max, id)?;
        let mut state = Box::new(TransactionState {
            index,
            sequence: 0,
            opening: core.opening,
            id,
            kind,
            owner: core.locks.owner(),
            range_modes: core.range_modes,
            undo: UndoList::default(),
            reservation: SpaceReservation::default(),
            wrote: false,
            undoing: false,
            limit: WaitLimit::Default,
            has_published_wait: false,
            refused: None,
            passed_waits: Vec::new(),
            tables: Vec::new(),
            database: None,
            cover: RangeMode::NN,
            savepoints: Vec::new(),
            savepoint_serial: 0,
            reported: Vec::new(),
            frees: DeferredDeallocations::default(),
            freeing: None,
            recovering: false,
            met_held_ghost: Cell::new(false),
            body: Vec::new(),
            core: core.clone(),
            anchor: Arc::new(Anchor(core.clone())),
        });
        state.owner.set_txn(id);
        state.identify(kind);
        Ok(state)
    }

    #[inline]
    fn start(&mut self, id: TxnId) {
        self.id = id;
        self.owner.set_txn(id);
        self.entry().start(id);
    }

    /// Says of what type the transactions in this slot are, until another is said: most often, one
    /// type after the same type uses a slot.
    #[cold]
    fn identify(&mut self, kind: Kind) {
        self.kind = kind;
        self.entry().identify(who(self.owner.number(), kind));
    }

    /// What others may read of this transaction.
    #[inline]
    pub(crate) fn entry(&self) -> &TransactionEntry {
        self.core.transactions.entry(self.index)
    }

    /// Ends the transaction here and keeps the slot for the next. The public record is finished
    /// and the locks are released already.
    #[inline]
    pub(crate) fn retire(mut self: Box<Self>) {
        self.reservation.end(&self.core.log);
        self.undo.clear();
        self.wrote = false;
        self.recovering = false;
        self.freeing = None;
        self.limit = WaitLimit::Default;
        if self.has_published_wait {
            self.end_waits();
        }
        self.savepoints.clear();
        self.reported.clear();
        self.frees.clear();
        if self.tables.len() > TABLES_KEPT {
            self.tables.clear();
        }
        self.tables.iter_mut().for_each(TableUse::end);
        self.database = None;
        self.cover = RangeMode::NN;
        self.owner.rest();
        let anchor = self.anchor.clone();
        let refused = anchor.0.transactions.give_back(self);
        if let Some(refused) = refused {
            // The engine was closed while this transaction ran.
            refused.core.leave_directory();
        }
    }

    /// Makes sure that the transaction holds an intent lock on the table and that the table is
    /// there. Answers where its hint is.
    #[inline]
    pub(crate) fn enter(&mut self, table: &Table, mode: IntentMode) -> Result<usize> {
        if self.core.is_closed() {
            return Err(Error::Closed);
        }
        let tree = table.id();
        let at = self.tables.iter().position(|used| used.tree == tree);
        if let Some(at) = at
            && table.belongs_to(self.opening)
            && self.tables[at].intent.is_some_and(|held| held.covers(mode))
        {
            return Ok(at);
        }
        self.enter_first(table, mode, at)
    }

    /// The first use of a table in its mode by a transaction. The slot knows it `at`, if at all.
    fn enter_first(&mut self, table: &Table, mode: IntentMode, at: Option<usize>) -> Result<usize> {
        self.core.check_open()?;
        let unknown = || Err(Error::UnknownTable { name: table.name().into() });
        if !table.belongs_to(self.opening) {
            return unknown();
        }
        let tree = table.id();
        // Nobody locks the catalogue as a whole, so its users need not say that they are there. And
        // they must not: it would share an entry with some tables, and a drop holds its table's
        // absolutely while it changes the catalogue.
        if tree != TreeId::CATALOGUE {
            self.enter_database(mode.above())?;
            let resource = ResourceId(tree.0);
            let outcome = self.core.locks.try_acquire_intent(&mut self.owner, resource, mode);
            if outcome == Outcome::Denied {
                self.wait_for_whole(Wanted::Table(tree), resource, mode)?;
            }
        }
        // Whoever drops the table says so before it lets go of its absolute lock.
        if table.is_dropped() {
            return unknown();
        }
        let at = at.unwrap_or_else(|| {
            self.tables.push(TableUse::new(tree));
            self.tables.len() - 1
        });
        let database = self.database.filter(|_| tree != TreeId::CATALOGUE);
        self.tables[at].hold(mode, database);
        Ok(at)
    }

    /// Makes sure that the transaction holds `mode` on the database: the intents of its tables'
    /// locks, taken with the first of them.
    #[inline]
    fn enter_database(&mut self, mode: IntentMode) -> Result<()> {
        if self.database.is_some_and(|held| held.covers(mode)) {
            return Ok(());
        }
        let database = ResourceId::DATABASE;
        let outcome = self.core.locks.try_acquire_intent(&mut self.owner, database, mode);
        if outcome == Outcome::Denied {
            self.wait_for_whole(Wanted::DATABASE, database, mode)?;
        }
        self.database = Some(self.database.map_or(mode, |held| held.supremum(mode)));
        Ok(())
    }

    /// Locks the whole database (TXN-6).
    pub(crate) fn lock_database(&mut self, mode: IntentMode) -> Result<()> {
        self.core.check_open()?;
        self.enter_database(mode)?;
        let database = self.database;
        for used in self.tables.iter_mut().filter(|used| used.tree != TreeId::CATALOGUE) {
            used.intent.into_iter().for_each(|mode| used.hold(mode, database));
        }
        Ok(())
    }

    /// Reports to upkeep what the tree asked to report (FINISH-7).
    #[inline]
    pub(crate) fn report_leaves(&mut self) {
        if !self.reported.is_empty() {
            self.core.upkeep.push(self.reported.drain(..));
        }
    }

    /// Runs one operation on `table`, its hint at hand.
    #[inline]
    pub(crate) fn operate<R>(
        &mut self,
        table: &Table,
        mode: IntentMode,
        operation: impl FnOnce(&mut TransactionState, &mut LeafHint) -> Result<R>,
    ) -> Result<R> {
        let at = self.enter(table, mode)?;
        let used = &self.tables[at];
        self.cover = used.cover;
        let mut hint = used.hint;
        let held = self.owner.held();
        let result = operation(self, &mut hint);
        self.tables[at].note(hint);
        if self.core.options.escalate_after.is_some() {
            self.count_locks(at, held);
        }
        result
    }

    /// Undoes the newest changes until `keep` are left.
    ///
    /// # Errors
    /// A failure leaves the rest of the changes in place: the caller stops the engine.
    pub(crate) fn undo_to(&mut self, keep: usize) -> Result<()> {
        // First, for what they were promised is not owed any more.
        self.frees.forget_from(keep);
        self.reservation.owe_frees(self.frees.log_bytes());
        debug_assert!(self.can_pay_undo(), "TXN-SPACE-2");
        let mut body = std::mem::take(&mut self.body);
        self.undoing = true;
        let mut result = Ok(());
        while result.is_ok() && self.undo.len() > keep {
            let before = self.undo.len();
            self.undo.copy_newest(&mut body);
            result = self.undo_one(&body);
            failpoint::pass(Failpoint::ChangeUndone);
            let is_one_less = result.is_err() || self.undo.len() == before - 1;
            if !invariant(is_one_less, "TXN-3: each step undoes the newest change") {
                break; // It would be undone again, for ever.
            }
        }
        self.undoing = false;
        self.body = body;
        result
    }

    /// Undoes one change, the newest.
    fn undo_one(&mut self, body: &[u8]) -> Result<()> {
        let core = self.core.clone();
        let tree = core.tree_of(body)?;
        let used = self.tables.iter().find(|used| used.tree == tree.id());
        self.cover = used.map_or(RangeMode::NN, |used| used.cover); // TXN-6
        tree.undo(self, body)
    }

    /// Whether the reservation pays for the whole rollback. A loser's died with its process.
    fn can_pay_undo(&self) -> bool {
        self.recovering || self.reservation.covers(self.undo.newest(usize::MAX).map(<[u8]>::len))
    }

    /// Undoes the change that recovery read from the log, and nothing else.
    pub(crate) fn undo_from_log(&mut self, lsn: Lsn, prev: Lsn, body: &[u8]) -> Result<()> {
        // Two entries, so that the list gives the right undo-next (UNDO-1).
        self.undo.clear();
        if prev != Lsn::ZERO {
            self.undo.push(prev, &[]);
        }
        self.undo.push(lsn, body);
        self.undoing = true;
        let result = self.undo_one(body);
        self.undoing = false;
        result
    }

    /// Logs the commit record, after which the transaction owes nothing but its deferred frees.
    #[inline]
    pub(crate) fn log_commit(&mut self) -> Result<LsnSpan> {
        let prev = if self.frees.is_empty() { Lsn::ZERO } else { self.log_frees()? };
        let body = self.frees.last_body();
        let entry = self.core.transactions.entry(self.index);
        entry.busy();
        let record = Record { kind: record::COMMIT, txn: self.id, prev, body: &[body] };
        let span = match self.core.log.insert_with_trailer(&record) {
            Ok(span) => span,
            Err(error) => {
                entry.set_undo_next(self.undo.head());
                return Err(error);
            }
        };
        if body.is_empty() {
            entry.finish();
        } else {
            entry.set_deallocations(span.start, 0);
            self.freeing = Some(Deallocation { commit: span.start, current: 0, begun: 0 });
        }
        self.reservation.spend_with_trailer(span.end.0 - span.start.0);
        self.reservation.commit();
        Ok(span)
    }

    /// Makes room for the record that ends a loser.
    pub(crate) fn reserve_end(&mut self) -> Result<()> {
        self.reservation.reserve(&self.core, self.index, 0)
    }

    /// Logs the record that ends a transaction which owes nothing any more.
    pub(crate) fn log_end(&mut self) -> Result<LsnSpan> {
        let record = Record { kind: record::END, txn: self.id, prev: Lsn::ZERO, body: &[] };
        let span = self.core.log.insert(&record)?;
        self.reservation.spend(span.end.0 - span.start.0);
        Ok(span)
    }

    /// Inserts a record that changes the undo-next LSN, between the two marks of TXN-TABLE-3.
    /// `undo_next` returns that LSN for the span of the record.
    #[inline]
    fn log_change(
        &mut self,
        kind: u8,
        prev: Lsn,
        body: &[u8],
        undo_next: impl FnOnce(LsnSpan) -> Lsn,
    ) -> Result<LsnSpan> {
        let entry = self.core.transactions.entry(self.index);
        if !self.wrote {
            entry.register(self.core.log.end());
            self.wrote = true;
        }
        entry.busy();
        let record = Record { kind, txn: self.id, prev, body: &[body] };
        match self.core.log.insert(&record) {
            Ok(span) => {
                entry.set_undo_next(undo_next(span));
                self.reservation.spend(span.end.0 - span.start.0);
                Ok(span)
            }
            Err(error) => {
                entry.set_undo_next(self.undo.head());
                Err(error)
            }
        }
    }
}

impl Drop for TransactionState {
    fn drop(&mut self) {
        self.reservation.close(&self.core.log);
    }
}
