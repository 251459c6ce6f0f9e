//! The states of transactions between one transaction and the next; the beginning of transactions.
//!
//! Invariants:
//! - STATES-1. Once `close` has returned, no transaction starts, and every one that has started and
//!   not ended counts as active in the transaction table: a transaction is entered there while a
//!   free list is latched. If it begins in a kept state, that is the list from which the state is
//!   taken. If it begins in a new state, `closed` was read as false under the same latch. `close`
//!   sets `closed` first, and then empties each list under its latch.
//! - STATES-2. A closed engine keeps no state, since each holds a reference to the core: a state is
//!   dropped when its transaction ends, and deallocations that fail are left to recovery.
//! - STATES-3. Users' transactions do not take the participant records that are reserved for the
//!   engine's own work. They make no state while [`TRANSACTIONS_MAX`] records are in use; a state
//!   is kept, for any transaction to use, only if at most that many are.
//!
//! Free lists are partitioned by thread; a list's latch is held for one push or pop. A thread that
//! finds its list empty takes a state from another list before it makes a new one, so states do not
//! accumulate in programs that begin and end transactions on different threads.

use std::sync::Arc;

use clearway_base::{Error, Lsn, Result, TxnId};
use clearway_lock::LockOwner;
use clearway_sync::{
    CachePadded, SpinLatch,
    atomic::{AtomicBool, Ordering},
    thread_number,
};

use super::{TransactionState, pending::PendingDeallocations};
use crate::{
    core::Core,
    kinds::Kind,
    transaction_table::{ALL_TRANSACTIONS_MAX, TRANSACTIONS_MAX, txn_id},
};

/// Free lists: enough that threads rarely share one.
const PARTITIONS: usize = 16;

#[allow(clippy::vec_box)] // States move as pointers, from transaction to list and back.
type StateList = Vec<Box<TransactionState>>;

/// Begins the transactions of an engine, and keeps the states of those that have ended.
pub(crate) struct Transactions {
    pub(crate) core: Arc<Core>,
    free: [CachePadded<SpinLatch<StateList>>; PARTITIONS],
    /// Set when the engine closes: states are dropped and not kept.
    closed: AtomicBool,
    /// Committed transactions whose deferred deallocations are not done.
    pub(crate) deallocations: PendingDeallocations,
}

impl Transactions {
    /// The transactions of this engine; none runs yet.
    pub(crate) fn new(core: Arc<Core>) -> Arc<Transactions> {
        Arc::new(Transactions {
            core,
            free: Default::default(),
            closed: AtomicBool::new(false),
            deallocations: PendingDeallocations::default(),
        })
    }

    /// Begins a transaction of the engine's own.
    ///
    /// # Errors
    /// [`Error::Closed`], [`Error::TooManyTransactions`].
    pub(crate) fn begin(self: &Arc<Self>) -> Result<Box<TransactionState>> {
        self.begin_among(ALL_TRANSACTIONS_MAX, Kind::NONE)
    }

    /// As [`begin`](Transactions::begin), for a user: makes no new state in the participant records
    /// that are reserved for the engine's own work.
    ///
    /// # Errors
    /// Those of `begin`.
    #[inline]
    pub(crate) fn begin_for_user(self: &Arc<Self>, kind: Kind) -> Result<Box<TransactionState>> {
        self.begin_among(TRANSACTIONS_MAX, kind)
    }

    #[inline]
    fn begin_among(self: &Arc<Self>, most: u32, kind: Kind) -> Result<Box<TransactionState>> {
        match self.reuse() {
            Some(mut state) => {
                if state.kind != kind {
                    state.identify(kind);
                }
                Ok(state)
            }
            None => self.begin_in_new(most, kind, |number| txn_id(self.core.epoch, 0, number)),
        }
    }

    /// Begins a transaction in a state that an earlier transaction has used, the one added last to
    /// this thread's list if there is one (STATES-1). Returns `None` if it finds none, as after
    /// `close`.
    #[inline]
    fn reuse(&self) -> Option<Box<TransactionState>> {
        let pop = |list: &mut StateList| {
            let mut state = list.pop()?;
            state.begin_next();
            Some(state)
        };
        let home = partition();
        if let Some(state) = pop(&mut self.free[home].lock()) {
            return Some(state);
        }
        (1..PARTITIONS)
            .find_map(|step| pop(&mut *self.free[(home + step) % PARTITIONS].try_lock()?))
    }

    /// Returns a state that continues `loser`, whose newest change not undone is at `head`.
    ///
    /// # Errors
    /// Those of [`begin`](Transactions::begin).
    pub(crate) fn resume(
        self: &Arc<Self>,
        loser: TxnId,
        first: Lsn,
        head: Lsn,
    ) -> Result<Box<TransactionState>> {
        let mut state = self.begin_in_new(ALL_TRANSACTIONS_MAX, Kind::NONE, |_| loser)?;
        state.wrote = true;
        state.recovering = true;
        state.entry().register(first);
        state.entry().set_undo_next(head);
        Ok(state)
    }

    /// Begins a transaction in a new state, unless `most` participant records are in use. `id`
    /// returns its id for the number of its participant record.
    #[cold]
    fn begin_in_new(
        self: &Arc<Self>,
        most: u32,
        kind: Kind,
        id: impl FnOnce(u32) -> TxnId,
    ) -> Result<Box<TransactionState>> {
        let owner = self.core.locks.try_owner(most);
        let owner = owner.ok_or(Error::TooManyTransactions { max: TRANSACTIONS_MAX })?;
        let id = id(owner.number());
        self.enter(&owner, id)?;
        let mut state = Box::new(TransactionState::new(self, owner, id));
        state.owner.set_txn(id);
        state.identify(kind);
        Ok(state)
    }

    /// Enters a transaction into the transaction table (STATES-1).
    fn enter(&self, owner: &LockOwner, id: TxnId) -> Result<()> {
        let _latched = self.free[partition()].lock();
        if self.closed.load(Ordering::Acquire) {
            return Err(Error::Closed);
        }
        self.core.transactions.entry(owner.number()).start(id);
        Ok(())
    }

    /// Keeps a state, or drops it (STATES-3); returns it if the engine was closed.
    #[inline]
    pub(super) fn give_back(&self, state: Box<TransactionState>) -> Option<Box<TransactionState>> {
        if self.core.locks.has_more_owners_than(TRANSACTIONS_MAX) {
            return self.let_go(state);
        }
        let mut list = self.free[partition()].lock();
        // Read under the latch: `close` sets the flag first and then empties every list under
        // its latch, so a state is either refused here or dropped there.
        if self.closed.load(Ordering::Acquire) {
            return Some(state);
        }
        list.push(state);
        None
    }

    /// Drops a state (STATES-3), or returns it if the engine was closed.
    #[cold]
    fn let_go(&self, state: Box<TransactionState>) -> Option<Box<TransactionState>> {
        let is_closed = {
            let _latched = self.free[partition()].lock(); // As in `give_back`.
            self.closed.load(Ordering::Acquire)
        };
        is_closed.then_some(state)
    }

    /// Drops the free states. From now on no state is kept, and no transaction starts (STATES-1).
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
        for list in &self.free {
            let states = std::mem::take(&mut *list.lock());
            drop(states);
        }
    }
}

/// The free list of this thread.
#[inline]
fn partition() -> usize {
    thread_number() % PARTITIONS
}
