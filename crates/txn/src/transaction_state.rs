//! The private half of a transaction: its locks, undo list, log space reservation and table hints.
//!
//! [`TransactionState`] implements the tree's [`Environment`](clearway_tree::Environment): what an
//! operation requests under its latches goes directly to the lock table and to the log. It also
//! runs work that belongs to no user (ghost reclaim, the catalogue, the losers that recovery
//! undoes). Such work may use the participant records that are reserved for the engine. While
//! recovery runs it, it takes no locks.
//!
//! Invariants:
//! - TXN-1. `undo` obeys UNDO-1. Until the transaction commits, and except during a `log_*` call,
//!   the `word` of its `TransactionEntry`, which other threads may read, names the head of `undo`
//!   as the change at which recovery would begin the undo (TXN-TABLE-3, TXN-TABLE-4).
//! - TXN-2. No log space and no lock is awaited under a latch: what an operation would have to wait
//!   for, it returns as a need, and its driver waits with no latch held
//!   ([`Wait`](clearway_tree::Wait), `tasks`). A `log_*` call may wait under a latch, but only for
//!   room in the log's ring and for mutexes of the log. The flush that makes the room needs no
//!   lock, no page latch and no log space that a transaction could reserve. It waits only for the
//!   disk, for mutexes of the log, and for threads that fill their part of the ring, which wait for
//!   nothing meanwhile. (Images for the redo check take log space that is free, or are left out.)
//! - TXN-3. Exactly one compensation is logged for each undone change; logging it removes the
//!   change from the undo list.
//! - TXN-4. A state holds a reference to the engine's core, also while it is in a free list (there
//!   is one for each group of threads), so that a start and an end touch no shared reference count.
//!   Closing the engine empties the free lists.
//! - TXN-5. `tables` has only tables of the state's own opening: an id alone would also fit a table
//!   of another database, so the result of a look-up by id is used only after the opening was
//!   compared.
//! - TXN-6. While an operation or an undo on a table runs, `cover` is the range-lock mode that the
//!   transaction's absolute locks on the table and the database imply for each key of the table.
//!   The transaction requests no range lock that `cover` covers, so it does not read the tag of
//!   that lock. That is safe: when it was granted the absolute lock, it read that lock's self and
//!   descendant tags, and no commit of another transaction can raise these while the absolute lock
//!   is held.

mod capabilities;
mod deallocation;
mod escalation;
mod optimistic;
mod pending;
mod retry;
mod states;
mod table_use;
mod tasks;
mod waiting;

use std::{cell::Cell, sync::Arc};

use clearway_base::{
    Error, Lsn, LsnSpan, PageId, Result, TreeId, TxnId,
    failpoint::{self, Failpoint},
};
use clearway_lock::{IntentMode, LockId, LockOwner, Outcome, RangeMode, ResourceId, WaitLimit};
use clearway_log::Record;
use clearway_sync::{counted_reads::UnderLocks, invariant};
use clearway_tree::{LeafHint, Tree};

use deallocation::Deallocation;
use optimistic::OptimisticRun;
pub use retry::RetryContext;
pub(crate) use states::Transactions;
use table_use::{TableUse, UsedTables};
pub(crate) use tasks::take_as_task;

use crate::{
    contention::{PassedWait, Wanted},
    core::Core,
    deferred::DeferredDeallocations,
    kinds::Kind,
    parts::RangeModes,
    record,
    space_reservation::SpaceReservation,
    stage_memory::StageMemory,
    table::Table,
    transaction_table::{TransactionEntry, txn_id},
    undo::UndoList,
    upkeep_queue::Report,
    wait_totals::WaitTotals,
};

/// Upper bound on the number of tables whose leaf hints a state keeps from one transaction to the
/// next. A state that has used more tables keeps none.
const TABLES_KEPT: usize = 16;

/// A lock on a table, or on the database, that was denied.
#[derive(Clone, Copy)]
struct LackingIntent {
    /// The table or database, for errors and statistics.
    wanted: Wanted,
    resource: ResourceId,
    mode: IntentMode,
}

/// A reference to the service that keeps the state, with a reference count of its own.
struct Anchor(Arc<Transactions>);

/// See the module.
pub(crate) struct TransactionState {
    pub(crate) core: Arc<Core>,
    /// Keeps the free lists alive while this state moves to one. Each state has its own
    /// `Anchor`, so that no other thread writes the cache line of its reference count (TXN-4).
    anchor: Arc<Anchor>,
    sequence: u32,
    /// A copy of `core.opening`, read at each use of a table (TXN-5).
    pub(crate) opening: u64,
    pub(crate) id: TxnId,
    /// The transaction's type.
    kind: Kind,
    pub(crate) owner: LockOwner,
    /// A copy of `core.range_modes`, read at each lock request.
    range_modes: Option<&'static RangeModes>,
    pub(crate) undo: UndoList,
    pub(crate) reservation: SpaceReservation,
    /// Whether this transaction has begun to log records of its own.
    pub(crate) wrote: bool,
    /// Whether changes are being undone: their log space then comes from what was reserved for
    /// that.
    undoing: bool,
    pub(crate) limit: WaitLimit,
    /// True if the transaction has published a wait for a lock, or has waited for a page.
    has_waited: bool,
    /// The range lock and mode that were denied to this transaction when it became a deadlock's
    /// victim.
    refused: Option<(LockId, RangeMode)>,
    /// The waits of this transaction that have not been counted yet.
    passed_waits: Vec<PassedWait>,
    /// The waits of this transaction in all.
    wait_totals: WaitTotals,
    tables: UsedTables,
    /// The intent or absolute lock that the running transaction holds on the database.
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
    /// The overflow chain to which no record leads: one that an operation has begun to write and
    /// has not completed, or one whose record an undo has taken away.
    unlinked: Option<(TreeId, [u8; 16])>,
    /// The progress of the deferred deallocations, from the commit record to the END record.
    freeing: Option<Deallocation>,
    /// True if recovery runs this transaction: a loser (a transaction that was active at the
    /// crash), or a committed one whose deferred deallocations were unfinished. Recovery takes no
    /// locks, so the lock table cannot show then whether a ghost is unlocked.
    recovering: bool,
    /// True if the tree could not reclaim a ghost: its lock is held or awaited, or that cannot be
    /// known (`ghost_is_free`), or its tag could not be moved yet (`inherit_tag`).
    pub(crate) met_held_ghost: Cell<bool>,
    body: Vec<u8>,
    /// The number of waits for pages that were not in memory.
    pub(crate) absent_pages: u32,
    /// Set in the optimistic run of a closure.
    optimistic: OptimisticRun,
    /// The memory of the last fetch stage in this state, for the next one.
    pub(crate) stage_memory: Option<Box<StageMemory>>,
    /// True if there is something to do after each operation: lock escalation, or notes of an
    /// optimistic run.
    has_after_operation: bool,
}

/// Leaves a page that cannot be read, and was to be read ahead, to the operation that needs it.
pub(crate) fn leave_unreadable(prefetched: Result<usize>) -> Result<usize> {
    match prefetched {
        Err(Error::Io { .. } | Error::Corrupt { .. } | Error::CorruptPage { .. }) => Ok(0),
        prefetched => prefetched,
    }
}

impl TransactionState {
    /// A state for transaction `id`, which the caller has entered into the transaction table.
    fn new(transactions: &Arc<Transactions>, owner: LockOwner, id: TxnId) -> TransactionState {
        let core = &transactions.core;
        TransactionState {
            sequence: 0,
            opening: core.opening,
            id,
            kind: Kind::NONE,
            owner,
            range_modes: core.range_modes,
            undo: UndoList::default(),
            reservation: SpaceReservation::default(),
            wrote: false,
            undoing: false,
            limit: WaitLimit::Default,
            has_waited: false,
            refused: None,
            passed_waits: Vec::new(),
            wait_totals: WaitTotals::default(),
            tables: UsedTables::default(),
            database: None,
            cover: RangeMode::NN,
            savepoints: Vec::new(),
            savepoint_serial: 0,
            reported: Vec::new(),
            frees: DeferredDeallocations::default(),
            unlinked: None,
            freeing: None,
            recovering: false,
            met_held_ghost: Cell::new(false),
            body: Vec::new(),
            absent_pages: 0,
            optimistic: OptimisticRun::default(),
            stage_memory: None,
            has_after_operation: core.options.escalate_after.is_some(),
            core: core.clone(),
            anchor: Arc::new(Anchor(transactions.clone())),
        }
    }

    /// Begins the next transaction in this state.
    #[inline]
    fn begin_next(&mut self) {
        self.sequence = self.sequence.wrapping_add(1);
        self.id = txn_id(self.core.epoch, self.sequence, self.number());
        self.owner.set_txn(self.id);
        self.entry().start(self.id);
    }

    /// Returns the service that keeps this state when its transaction has ended.
    pub(crate) fn transactions(&self) -> Arc<Transactions> {
        self.anchor.0.clone()
    }

    /// Sets the type of the transactions that use this state, until the next call. Consecutive
    /// transactions in one state mostly have the same type, so this call is rare.
    #[cold]
    fn identify(&mut self, kind: Kind) {
        self.kind = kind;
        self.entry().set_kind(kind);
    }

    /// Returns the number of the transaction's participant record.
    #[inline]
    pub(crate) fn number(&self) -> u32 {
        self.owner.number()
    }

    /// Returns the part of this transaction that other threads may read.
    #[inline]
    pub(crate) fn entry(&self) -> &TransactionEntry {
        self.core.transactions.entry(self.number())
    }

    /// Ends the transaction, and keeps this state in a free list for a later one or drops it
    /// (STATES-2, STATES-3). The caller has finished the `TransactionEntry` and released the locks.
    #[inline]
    pub(crate) fn retire(mut self: Box<Self>) {
        self.reservation.end(&self.core.log);
        self.undo.clear();
        self.wrote = false;
        self.recovering = false;
        self.freeing = None;
        if self.has_after_operation {
            self.end_optimistic();
        }
        self.limit = WaitLimit::Default;
        if self.has_waited {
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
        let anchor = self.anchor.clone();
        let refused = anchor.0.give_back(self);
        if let Some(refused) = refused {
            // The engine was closed while this transaction ran.
            refused.core.directory.leave();
        }
    }

    /// Makes sure that the transaction holds `mode`, an intent or absolute lock, on the table (none
    /// on the catalogue), and that the table has not been dropped. Returns the table's index in
    /// `tables`.
    #[inline]
    pub(crate) fn enter(&mut self, table: &Table, mode: IntentMode) -> Result<usize> {
        if self.core.health.is_closed() {
            return Err(Error::Closed);
        }
        match self.entered(table, mode) {
            Ok(at) => Ok(at),
            Err(at) => self.enter_first(table, mode, at),
        }
    }

    /// Returns `Ok` with the table's index in `tables` if the transaction holds `mode` on the
    /// table; otherwise `Err` with that index, or with `None` if the table is not in `tables`.
    #[inline]
    fn entered(
        &self,
        table: &Table,
        mode: IntentMode,
    ) -> std::result::Result<usize, Option<usize>> {
        let at = self.tables.find(table.id());
        match at {
            Some(at)
                if table.belongs_to(self.opening)
                    && self.tables[at].intent.is_some_and(|held| held.covers(mode)) =>
            {
                Ok(at)
            }
            _ => Err(at),
        }
    }

    /// Takes `mode`, an intent or absolute lock, on a table on which the transaction does not hold
    /// it yet. `at` is the index of the table in `tables`, or `None` if it is not there.
    fn enter_first(&mut self, table: &Table, mode: IntentMode, at: Option<usize>) -> Result<usize> {
        self.enter_with(table, mode, at, TransactionState::wait_for_whole)
    }

    /// Does what [`enter_first`](TransactionState::enter_first) does. Calls `denied` for each lock
    /// that was denied; once that call has succeeded, the lock is held.
    #[inline(always)] // Each driver has its own copy.
    fn enter_with<E: From<Error>>(
        &mut self,
        table: &Table,
        mode: IntentMode,
        at: Option<usize>,
        denied: impl Fn(&mut TransactionState, LackingIntent) -> std::result::Result<(), E>,
    ) -> std::result::Result<usize, E> {
        self.core.health.check_open()?;
        let unknown = || Err(Error::UnknownTable { name: table.name().into() }.into());
        if !table.belongs_to(self.opening) {
            return unknown();
        }
        let tree = table.id();
        // No transaction locks the catalogue as a whole, so its users need no intent lock on it.
        // They must not take one. The lock table would keep it in an entry that the catalogue
        // shares with some tables. A drop holds the absolute lock of the dropped table while a
        // second transaction of the same drop changes the catalogue: if both locks were in one
        // entry, the drop would wait for itself.
        if tree != TreeId::CATALOGUE {
            self.enter_database_with(mode.above(), &denied)?;
            let resource = ResourceId(tree.0);
            let outcome = self.core.locks.try_acquire_intent(&mut self.owner, resource, mode);
            if outcome == Outcome::Denied {
                denied(self, LackingIntent { wanted: Wanted::Table(tree), resource, mode })?;
            }
        }
        // A drop marks the table before it releases the table's absolute lock, so once the intent
        // lock is granted the mark is visible here.
        if table.is_dropped() {
            return unknown();
        }
        let at = at.unwrap_or_else(|| self.tables.add(tree));
        let database = self.database.filter(|_| tree != TreeId::CATALOGUE);
        self.tables[at].hold(mode, database);
        Ok(at)
    }

    /// Makes sure that the transaction holds `mode` on the database: the intent that goes with a
    /// lock on a table, or the absolute mode of `lock_database`.
    #[inline(always)]
    fn enter_database_with<E>(
        &mut self,
        mode: IntentMode,
        denied: impl Fn(&mut TransactionState, LackingIntent) -> std::result::Result<(), E>,
    ) -> std::result::Result<(), E> {
        if self.database.is_some_and(|held| held.covers(mode)) {
            return Ok(());
        }
        let resource = ResourceId::DATABASE;
        let outcome = self.core.locks.try_acquire_intent(&mut self.owner, resource, mode);
        if outcome == Outcome::Denied {
            denied(self, LackingIntent { wanted: Wanted::DATABASE, resource, mode })?;
        }
        self.database = Some(self.database.map_or(mode, |held| held.supremum(mode)));
        Ok(())
    }

    /// Locks the whole database (TXN-6).
    pub(crate) fn lock_database(&mut self, mode: IntentMode) -> Result<()> {
        self.core.health.check_open()?;
        self.enter_database_with(mode, TransactionState::wait_for_whole)?;
        self.cover_tables();
        Ok(())
    }

    /// Records in each used table the lock that the transaction now holds on the database.
    fn cover_tables(&mut self) {
        let database = self.database;
        for used in self.tables.iter_mut().filter(|used| used.tree != TreeId::CATALOGUE) {
            used.intent.into_iter().for_each(|mode| used.hold(mode, database));
        }
    }

    /// Adds the leaves that the tree has reported to the upkeep queue (FINISH-7).
    #[inline]
    pub(crate) fn report_leaves(&mut self) {
        if !self.reported.is_empty() {
            self.core.upkeep.push(self.reported.drain(..));
        }
    }

    /// Runs one operation on `table`, with the table's leaf hint.
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
        if self.unlinked.is_some() {
            self.prevent_conversion(); // Its request would be lost.
            // If this fails as well, the pages stay allocated and unreachable, which `verify`
            // reports; the operation's error is the one to return.
            let _ = self.free_unlinked();
        }
        if self.has_after_operation {
            self.after_operation(at, held);
        }
        result
    }

    /// Brings the pages on the way to keys into memory, without a lock. Returns the number of those
    /// that were absent.
    pub(crate) fn prefetch(&mut self, table: &Table, keys: &[impl AsRef<[u8]>]) -> Result<usize> {
        self.check_table(table)?;
        leave_unreadable(table.tree().prefetch(self, keys))
    }

    /// Checks that the engine is open and the table exists.
    #[inline]
    pub(crate) fn check_table(&self, table: &Table) -> Result<()> {
        self.core.health.check_open()?;
        if !table.belongs_to(self.opening) || table.is_dropped() {
            return Err(Error::UnknownTable { name: table.name().into() });
        }
        Ok(())
    }

    /// Notes the leaf of an operation on the table `at`, and counts its locks: `held` were held
    /// before.
    #[cold]
    fn after_operation(&mut self, at: usize, held: usize) {
        self.note_touched(self.tables[at].hint.page());
        self.count_locks(at, held);
    }

    /// Undoes what was done since a savepoint, and forgets the savepoints that were set after it.
    ///
    /// # Errors
    /// [`Error::UnknownSavepoint`] if a rollback went past it. If the undo fails, the engine is
    /// stopped: recovery undoes the changes at the next opening.
    pub(crate) fn rollback_to(&mut self, savepoint: u64) -> Result<()> {
        let at = self.find_savepoint(savepoint)?;
        let keep = self.savepoints[at].1;
        self.savepoints.truncate(at + 1);
        let result = self.undo_to(keep);
        result.map_err(|error| self.core.health.fail(error))
    }

    /// Returns the index of a savepoint.
    ///
    /// # Errors
    /// [`Error::UnknownSavepoint`] if a rollback went past it; [`Error::Closed`] or
    /// [`Error::Poisoned`] if the engine is closed or has stopped.
    pub(crate) fn find_savepoint(&self, savepoint: u64) -> Result<usize> {
        let at = self.savepoints.binary_search_by_key(&savepoint, |&(serial, _)| serial);
        let at = at.map_err(|_| Error::UnknownSavepoint)?;
        self.core.health.check_open()?;
        Ok(at)
    }

    /// Undoes the newest changes until `keep` are left.
    ///
    /// # Errors
    /// A failure leaves the rest of the changes in place: the caller stops the engine.
    pub(crate) fn undo_to(&mut self, keep: usize) -> Result<()> {
        // Forget the deferred deallocations of the undone changes first: they will not run, so the
        // log space reserved for them is no longer needed and can pay for the undo.
        self.frees.forget_from(keep);
        self.reservation.set_frees(self.frees.log_bytes());
        debug_assert!(self.can_pay_undo(), "TXN-SPACE-2");
        let mut body = std::mem::take(&mut self.body);
        self.undoing = true;
        if self.has_unlinked() {
            // Left by an operation of a task that was dropped, or that has lost. First: an undo
            // notes the chain of its change in place of this one. If this fails, the pages stay
            // allocated and unreachable, which `verify` reports.
            let _ = self.free_unlinked();
        }
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
        let _under_locks = UnderLocks::begin();
        let core = self.core.clone();
        let tree = core.tree_of(body)?;
        let at = self.tables.find(tree.id());
        self.cover = at.map_or(RangeMode::NN, |at| self.tables[at].cover); // TXN-6
        tree.undo(self, body)?;
        self.free_unlinked()
    }

    /// Frees the overflow chain to which no record leads, if there is one.
    #[cold]
    pub(crate) fn free_unlinked(&mut self) -> Result<()> {
        let Some((tree, chain)) = self.unlinked.take() else { return Ok(()) };
        self.tree_by_id(tree).free_value(self, &chain)
    }

    /// Returns true if the transaction has locked the database or a table as a whole.
    #[cold]
    fn holds_absolute_lock(&self) -> bool {
        let tables = self.tables.iter().filter_map(|used| used.intent);
        self.database.into_iter().chain(tables).any(IntentMode::is_absolute)
    }

    /// Returns true if an operation has left an overflow chain to which no record leads.
    #[inline]
    pub(crate) fn has_unlinked(&self) -> bool {
        self.unlinked.is_some()
    }

    /// Returns true if a commit has more to do than to log its record and to release locks.
    #[inline]
    pub(crate) fn ends_with_work(&self) -> bool {
        !self.frees.is_empty() || self.has_unlinked()
    }

    /// Returns a handle of a tree with which to free values. No record leads to these values any
    /// more, so the tree's id is enough and no root is needed, even if the table has been dropped
    /// meanwhile.
    fn tree_by_id(&self, tree: TreeId) -> Tree {
        let core = &self.core;
        let (pool, space) = (core.pool.clone(), core.space.clone());
        Tree::open(pool, space, tree, PageId::NONE, core.tree_config())
    }

    /// Returns true if the reservation pays for the whole rollback. The reservation of a loser was
    /// lost when its process ended, so it is not checked.
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

    /// Logs the commit record, after which recovery has no work left for the transaction except its
    /// deferred deallocations.
    #[inline]
    pub(crate) fn log_commit(&mut self) -> Result<LsnSpan> {
        let prev = if self.frees.is_empty() { Lsn::ZERO } else { self.log_frees()? };
        let body = self.frees.last_body();
        let entry = self.core.transactions.entry(self.owner.number());
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

    /// Reserves log space for the END record of a loser.
    pub(crate) fn reserve_end(&mut self) -> Result<()> {
        self.reservation.reserve(&self.core.log_space, self.number(), 0)
    }

    /// Logs the END record of a transaction for which recovery has no work left.
    pub(crate) fn log_end(&mut self) -> Result<LsnSpan> {
        let record = Record { kind: record::END, txn: self.id, prev: Lsn::ZERO, body: &[] };
        let span = self.core.log.insert(&record)?;
        self.reservation.spend(span.end.0 - span.start.0);
        Ok(span)
    }

    /// Inserts a record that changes the undo-next LSN; the entry is busy meanwhile (TXN-TABLE-3).
    /// `undo_next` returns that LSN for the span of the record.
    #[inline]
    fn log_change(
        &mut self,
        kind: u8,
        prev: Lsn,
        body: &[u8],
        undo_next: impl FnOnce(LsnSpan) -> Lsn,
    ) -> Result<LsnSpan> {
        let entry = self.core.transactions.entry(self.owner.number());
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
        if !self.entry().is_clear() {
            // Dropped by a panic, or left to recovery: no later transaction gets this participant
            // record.
            self.owner.keep_number();
        }
    }
}
