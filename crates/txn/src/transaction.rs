//! A transaction as its user sees it: reads, writes, savepoints, and an end.

mod fetching;

use clearway_base::{Error, Lsn, Result, TxnId};
use clearway_lock::{AbsoluteMode, IntentMode, WaitLimit};
use clearway_sync::{Process, counted_reads::UnderLocks};
use clearway_tree::{LeafHint, ReadIntent};

use crate::{
    away::{self, ComingBack, VictimsRollback},
    finish::{self, Committed},
    staging::{self, Conversion, FetchStage},
    suspended::Closure,
    table::Table,
    transaction_state::{RetryContext, TransactionState},
    transaction_table::TRANSACTIONS_MAX,
};

/// A running transaction. It may move between threads, and rolls back when it is dropped.
///
/// An operation that fails has changed no record; locks that it took may stay. After
/// [`Error::Deadlock`] the whole transaction has been rolled back and every further operation
/// returns [`Error::TransactionEnded`]. After any other error, [`Error::LockTimeout`] and
/// [`Error::WouldBlock`] among them, the transaction goes on, unless the engine has stopped or is
/// closed.
pub struct Transaction {
    /// `None` if the transaction could not begin, once it has ended, and while a thread of the
    /// engine has the state (TASK-4).
    pub(crate) state: Option<Box<TransactionState>>,
    /// True if the transaction belongs to a task, which must not be blocked by its rollback.
    pub(crate) is_of_task: bool,
    /// True if the closure can be run again in its fetch stage (STAGING-7).
    can_rerun: bool,
    /// The process that opened the database.
    process: Process,
    pub(crate) id: TxnId,
    /// The number of its engine's opening among those of this process (not the epoch). Compared
    /// together with the id, since transactions of different databases may have the same id.
    pub(crate) opening: u64,
    /// The fetch stage, while the transaction is in it: it has the state then.
    pub(crate) fetch: Option<Box<FetchStage>>,
    /// The parts that few transactions have, in one box, so that each transaction initializes one
    /// word for all of them.
    pub(crate) aside: Option<Box<Aside>>,
}

/// The parts of a transaction that few transactions have.
#[derive(Default)]
pub(crate) struct Aside {
    /// The error with which the transaction could not begin, if its id does not say it.
    refused: Option<Error>,
    /// The retry context of a deadlock's victim.
    pub(crate) retry: Option<RetryContext>,
    /// The place that the state comes back from, if a thread of the engine works on it (TASK-4).
    pub(crate) away: Option<ComingBack>,
    /// The deadlock whose victim the transaction was, once it is rolled back.
    deadlock: Option<Error>,
    /// The number of waits for pages of a deadlock's victim, which ended with it.
    absent_pages: u32,
    /// The rollback of a deadlock's victim, until a call has reported the deadlock (TASK-6).
    pub(crate) victim: Option<VictimsRollback>,
    /// The conversion of a task's transaction, which leads to the fetch stage (TASK-7).
    pub(crate) conversion: Option<Conversion>,
}

impl Aside {
    #[cold]
    fn deadlock(&self) -> Option<&Error> {
        let of_victim = self.victim.as_ref().map(|victim| &victim.deadlock);
        self.deadlock.as_ref().or(of_victim)
    }
}

/// The ids of transactions that could not begin. The upper 16 bits of a running transaction's id
/// are its epoch modulo 65,536. So a running transaction can have one of these ids only if that
/// number is 0.
const REFUSED_CLOSED: TxnId = TxnId(1);
const REFUSED_FULL: TxnId = TxnId(2);
/// The opening of a transaction that did not begin: openings are numbered from 1.
const NO_OPENING: u64 = 0;

/// The groups of pages, each of a sixteenth of the cache, that a prefetch reads at most: a quarter.
pub(crate) const PREFETCHES_MAX: usize = 4;

/// A point within a transaction to which it can be rolled back while it goes on.
#[derive(Clone, Debug)]
pub struct Savepoint {
    opening: u64,
    txn: TxnId,
    serial: u64,
}

impl Savepoint {
    /// Returns the savepoint's number within its transaction. A later savepoint has a higher
    /// number.
    pub fn number(&self) -> u64 {
        self.serial
    }
}

impl Transaction {
    #[inline]
    pub(crate) fn new(process: Process, state: Result<Box<TransactionState>>) -> Transaction {
        let with = |id, opening, state| Transaction {
            state,
            is_of_task: false,
            can_rerun: false,
            process,
            id,
            opening,
            fetch: None,
            aside: None,
        };
        let refused = |id| with(id, NO_OPENING, None);
        match state {
            Ok(state) => with(state.id, state.opening, Some(state)),
            Err(Error::TooManyTransactions { .. }) => refused(REFUSED_FULL),
            Err(Error::Closed) => refused(REFUSED_CLOSED),
            Err(error) => {
                let mut transaction = refused(REFUSED_CLOSED);
                transaction.aside().refused = Some(error);
                transaction
            }
        }
    }

    /// Returns the state of a running transaction.
    #[cfg(test)]
    pub(crate) fn state(&self) -> &TransactionState {
        self.state.as_ref().expect("it runs")
    }

    /// Returns the error that says why the transaction has no state.
    #[cold]
    pub(crate) fn ended(&self) -> Error {
        if let Some(error) = self.aside.as_ref().and_then(|aside| aside.refused.as_ref()) {
            return error.clone();
        }
        match self.id {
            REFUSED_CLOSED => Error::Closed,
            REFUSED_FULL => Error::TooManyTransactions { max: TRANSACTIONS_MAX },
            _ => Error::TransactionEnded,
        }
    }

    #[cold]
    pub(crate) fn aside(&mut self) -> &mut Aside {
        self.aside.get_or_insert_default()
    }

    #[cold]
    fn retry(&self) -> Option<&RetryContext> {
        self.aside.as_ref()?.retry.as_ref()
    }

    /// Returns the [`Error::Deadlock`] that has ended this transaction, if it was a deadlock's
    /// victim, even if no call has reported it (TASK-6).
    #[inline]
    pub fn deadlock(&self) -> Option<&Error> {
        self.aside.as_deref().and_then(Aside::deadlock)
    }

    /// Records the deadlock that has ended this transaction.
    pub(crate) fn note_deadlock(&mut self, deadlock: &Error) {
        self.aside().deadlock = Some(deadlock.clone());
    }

    /// Fails in a fork of the process that opened the database.
    #[inline]
    pub(crate) fn check_process(&self) -> Result<()> {
        if self.process.is_current() { Ok(()) } else { Err(Error::Forked) }
    }

    /// Returns the transaction's identity, with which its runner lists it while its closure runs,
    /// so that a self-wait is recognized (SUSPENDED-1).
    #[inline]
    pub fn closure(&self) -> Closure {
        Closure::new(self.opening, self.id)
    }

    /// The transaction's id.
    pub fn id(&self) -> TxnId {
        self.id
    }

    /// Returns true if the transaction has not ended and its state is here (TASK-4).
    pub fn is_active(&self) -> bool {
        self.state.is_some()
    }

    /// Returns the number of times that operations of this transaction have waited for a page that
    /// was not in memory. Also valid after a deadlock; 0 in the fetch stage.
    pub fn absent_pages(&self) -> u32 {
        match (&self.state, &self.aside) {
            (Some(state), _) => state.absent_pages,
            (None, Some(aside)) => aside.absent_pages,
            (None, None) => 0,
        }
    }

    /// Sets how long further operations of this transaction wait for locks. Returns the limit that
    /// was set before, if the transaction's state is here (TASK-4).
    pub fn set_wait_limit(&mut self, limit: WaitLimit) -> WaitLimit {
        if self.is_fetching() {
            let before = self.fetch(|stage| Ok(stage.set_wait_limit(limit)));
            return before.unwrap_or(WaitLimit::Default);
        }
        match (&mut self.state, self.aside.as_mut().and_then(|aside| aside.away.as_mut())) {
            (Some(state), _) => std::mem::replace(&mut state.limit, limit),
            (None, Some(coming)) => coming.limit.replace(limit).unwrap_or(WaitLimit::Default),
            (None, None) => WaitLimit::Default,
        }
    }

    /// Takes the retry context of this transaction, which was a deadlock's victim. The caller
    /// passes it to [`resume`](Self::resume) of the next attempt.
    #[cold]
    pub fn take_retry_context(&mut self) -> RetryContext {
        match (self.aside.as_mut().and_then(|aside| aside.retry.take()), &self.state) {
            (Some(context), _) => context,
            (None, Some(state)) => {
                RetryContext::with(state.owner.priority().after_loss(), state.owner.max_tag())
            }
            (None, None) => RetryContext::default(),
        }
    }

    /// Returns the LSN up to which the log must be durable before the caller may reveal anything
    /// that the transaction has read. Also valid after a deadlock, when the transaction has been
    /// rolled back before the caller gets the error. Not valid while a thread of the engine has the
    /// state (TASK-4).
    pub fn seen(&self) -> Lsn {
        match &self.state {
            Some(state) => state.owner.max_tag(),
            None => self.retry().map_or(Lsn::ZERO, |context| context.seen),
        }
    }

    /// Checks that the engine was open after the last read of this transaction. If it was not, the
    /// transaction may have read changes that another one made and never committed, so the caller
    /// must not reveal anything that was read (FINISH-4). Call this before the rollback. Also valid
    /// after a deadlock.
    ///
    /// # Errors
    /// [`Error::Closed`], [`Error::Poisoned`].
    #[cold]
    pub fn check_open(&self) -> Result<()> {
        match (&self.state, self.retry()) {
            (Some(state), _) => state.core.health.check_open(),
            (None, Some(context)) => context.stopped.clone().map_or(Ok(()), Err),
            (None, None) => Ok(()),
        }
    }

    /// As [`check_open`](Self::check_open), for a task.
    #[cold]
    pub async fn check_open_as_task(&mut self) -> Result<()> {
        let _ = self.come_back().await;
        self.check_open()
    }

    /// Makes this transaction the next attempt of one that was a deadlock's victim. It takes over
    /// that one's priority: it is chosen as the victim of a cycle only if all other members are
    /// former victims too, and older (VICTIM-2). It first tries to take the locks that the lost
    /// attempt needed, unless they are many. Call this before the first operation.
    ///
    /// # Errors
    /// [`Error::Deadlock`] if it is a victim again; it has then been rolled back.
    #[cold]
    pub fn resume(&mut self, context: &RetryContext) -> Result<()> {
        self.check_process()?;
        let Some(state) = &mut self.state else { return Err(self.ended()) };
        let result = state.begin_again(context);
        if result.is_err() { self.die(result) } else { result }
    }

    /// Sets how many transactions have completed in the sequence of transactions to which this one
    /// belongs; see [`Victims`](clearway_lock::parts::Victims).
    pub fn set_pipeline(&mut self, completed: u64) {
        if let Some(state) = &mut self.state {
            state.owner.set_pipeline(completed);
        }
    }

    /// Runs an operation on a table. A deadlock's victim is rolled back before this returns. The
    /// caller passes an error on to [`or_fetch`](Transaction::or_fetch).
    #[inline]
    pub(crate) fn run<R>(
        &mut self,
        table: &Table,
        mode: IntentMode,
        operation: impl FnOnce(&mut TransactionState, &mut LeafHint) -> Result<R>,
    ) -> Result<R> {
        self.check_process()?;
        let Some(state) = self.state.as_mut() else { return Err(self.ended()) };
        let result = {
            let _under_locks = UnderLocks::begin();
            state.operate(table, mode, operation)
        };
        match result {
            Ok(value) => Ok(value),
            Err(error) => self.failed(error),
        }
    }

    #[cold]
    fn failed<R>(&mut self, error: Error) -> Result<R> {
        match error {
            Error::Deadlock { .. } => self.die(Err(error)),
            Error::Cancelled => self.convert(),
            error => Err(error),
        }
    }

    /// Rolls back a deadlock's victim, so that the other transactions of the cycle can go on.
    #[cold]
    fn die<R>(&mut self, result: Result<R>) -> Result<R> {
        if let Some(mut state) = self.state.take() {
            let aside = self.aside();
            aside.retry = Some(state.retry_context());
            aside.absent_pages = state.absent_pages;
            finish::rollback(state)?;
            result.as_ref().err().into_iter().for_each(|deadlock| self.note_deadlock(deadlock));
        }
        result
    }

    /// The value of `key`. Locks the key, or the gap in which it would be, against writers.
    pub fn get(&mut self, table: &Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut value = Vec::new();
        Ok(self.get_into(table, key, &mut value)?.then_some(value))
    }

    /// As [`get`](Self::get), into the caller's memory. Returns true if there is such a key;
    /// `value` is meaningless if not.
    #[inline]
    pub fn get_into(&mut self, table: &Table, key: &[u8], value: &mut Vec<u8>) -> Result<bool> {
        if self.state.is_none() {
            return self.get_fetching(table, key, ReadIntent::Read, value);
        }
        let got = self.run(table, IntentMode::IS, |state, hint| {
            table.tree().get(state, hint, key, ReadIntent::Read, value)
        });
        if got.is_err() && self.is_fetching() {
            return self.get_fetching(table, key, ReadIntent::Read, value);
        }
        got
    }

    /// The value of `key`, locked for a write that will follow.
    pub fn get_for_update(&mut self, table: &Table, key: &[u8]) -> Result<Option<Vec<u8>>> {
        let mut value = Vec::new();
        Ok(self.get_for_update_into(table, key, &mut value)?.then_some(value))
    }

    /// As [`get_for_update`](Self::get_for_update), into the caller's memory.
    #[inline]
    pub fn get_for_update_into(
        &mut self,
        table: &Table,
        key: &[u8],
        value: &mut Vec<u8>,
    ) -> Result<bool> {
        if self.state.is_none() {
            return self.get_fetching(table, key, ReadIntent::Update, value);
        }
        let got = self.run(table, IntentMode::IX, |state, hint| {
            table.tree().get(state, hint, key, ReadIntent::Update, value)
        });
        if got.is_err() && self.is_fetching() {
            return self.get_fetching(table, key, ReadIntent::Update, value);
        }
        got
    }

    /// The values of keys, in their order, read as [`get`](Self::get) reads each of them. The pages
    /// that lead to the next keys and are not in memory are read together before.
    ///
    /// # Errors
    /// Those of [`get`](Self::get) and [`prefetch`](Self::prefetch).
    pub fn get_many(
        &mut self,
        table: &Table,
        keys: &[impl AsRef<[u8]>],
    ) -> Result<Vec<Option<Vec<u8>>>> {
        let mut values = Vec::with_capacity(keys.len());
        for keys in keys.chunks(table.tree().prefetch_max()) {
            self.prefetch_together(table, keys)?;
            for key in keys {
                values.push(self.get(table, key.as_ref())?);
            }
        }
        Ok(values)
    }

    /// Brings the pages that lead to keys into memory, several at the same time, as far as they fit
    /// in a part of the cache. Takes no lock. Leaves a page that cannot be read to the operation
    /// that needs it.
    ///
    /// # Errors
    /// [`Error::TransactionEnded`], or the reason why the transaction could not begin;
    /// [`Error::UnknownTable`]; [`Error::ReadTimeout`]; [`Error::Cancelled`] in a fetch stage;
    /// [`Error::Closed`], [`Error::Poisoned`].
    pub fn prefetch(&mut self, table: &Table, keys: &[impl AsRef<[u8]>]) -> Result<()> {
        let together = table.tree().prefetch_max();
        let mut left = together * PREFETCHES_MAX;
        for keys in keys.chunks(together) {
            left = left.saturating_sub(self.prefetch_together(table, keys)?);
            if left == 0 {
                break;
            }
        }
        Ok(())
    }

    fn prefetch_together(&mut self, table: &Table, keys: &[impl AsRef<[u8]>]) -> Result<usize> {
        self.check_process()?;
        let Some(state) = self.state.as_mut() else {
            return self.fetch(|stage| staging::run_to_end(stage.prefetch(table, keys)));
        };
        let done = match state.prefetch(table, keys) {
            Err(Error::Cancelled) => self.convert(),
            done => done,
        };
        self.or_fetch(done, |stage| staging::run_to_end(stage.prefetch(table, keys)))
    }

    /// Adds a key.
    ///
    /// # Errors
    /// [`Error::DuplicateKey`] if it is there.
    #[inline]
    pub fn insert(&mut self, table: &Table, key: &[u8], value: &[u8]) -> Result<()> {
        if self.state.is_none() {
            return self.write_fetching(table, key, Some(value), staging::must_be_absent).map(drop);
        }
        let done = self
            .run(table, IntentMode::IX, |state, hint| table.tree().insert(state, hint, key, value));
        if done.is_err() && self.is_fetching() {
            return self.write_fetching(table, key, Some(value), staging::must_be_absent).map(drop);
        }
        done.map_err(|error| error.at_key(table.name(), key))
    }

    /// Sets the value of `key`, adding the key if need be. Returns true if it was there.
    #[inline]
    pub fn put(&mut self, table: &Table, key: &[u8], value: &[u8]) -> Result<bool> {
        if self.state.is_none() {
            return self.write_fetching(table, key, Some(value), staging::may_be_present);
        }
        let done = self
            .run(table, IntentMode::IX, |state, hint| table.tree().put(state, hint, key, value));
        if done.is_err() && self.is_fetching() {
            return self.write_fetching(table, key, Some(value), staging::may_be_present);
        }
        done
    }

    /// Changes the value of a key.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such key.
    #[inline]
    pub fn update(&mut self, table: &Table, key: &[u8], value: &[u8]) -> Result<()> {
        if self.state.is_none() {
            return self
                .write_fetching(table, key, Some(value), staging::must_be_present)
                .map(drop);
        }
        let done = self
            .run(table, IntentMode::IX, |state, hint| table.tree().update(state, hint, key, value));
        if done.is_err() && self.is_fetching() {
            return self
                .write_fetching(table, key, Some(value), staging::must_be_present)
                .map(drop);
        }
        done.map_err(|error| error.at_key(table.name(), key))
    }

    /// Removes a key.
    ///
    /// # Errors
    /// [`Error::NotFound`] if there is no such key.
    #[inline]
    pub fn delete(&mut self, table: &Table, key: &[u8]) -> Result<()> {
        if self.state.is_none() {
            return self.write_fetching(table, key, None, staging::must_be_present).map(drop);
        }
        let done =
            self.run(table, IntentMode::IX, |state, hint| table.tree().delete(state, hint, key));
        if done.is_err() && self.is_fetching() {
            return self.write_fetching(table, key, None, staging::must_be_present).map(drop);
        }
        done.map_err(|error| error.at_key(table.name(), key))
    }

    /// Locks a whole table. From then on this transaction takes no locks on keys for its reads and,
    /// if the lock is exclusive, none for its writes. Waits for the transactions that hold a
    /// conflicting lock on the table.
    pub fn lock_table(&mut self, table: &Table, mode: AbsoluteMode) -> Result<()> {
        let locked = self.run(table, mode.into(), |_, _| Ok(()));
        self.or_fetch(locked, |stage| stage.lock_table(table))
    }

    /// Locks the whole database in the same way, that is, all tables, also those that are created
    /// while the lock is held. A drop of a table waits for the lock.
    pub fn lock_database(&mut self, mode: AbsoluteMode) -> Result<()> {
        self.check_process()?;
        let Some(state) = self.state.as_mut() else {
            return self.fetch(|stage| stage.lock_database());
        };
        let result = state.lock_database(mode.into());
        match result {
            Err(Error::Deadlock { .. }) => self.die(result),
            result => result,
        }
    }

    /// Sets a savepoint at the present state.
    pub fn savepoint(&mut self) -> Result<Savepoint> {
        self.check_process()?;
        let serial = match self.state.as_mut() {
            Some(state) => {
                state.savepoint_serial += 1;
                state.savepoints.push((state.savepoint_serial, state.undo.len()));
                state.savepoint_serial
            }
            None => self.fetch(|stage| Ok(stage.savepoint()))?,
        };
        Ok(Savepoint { opening: self.opening, txn: self.id, serial })
    }

    /// The number of the newest savepoint that was set.
    pub fn last_savepoint(&self) -> u64 {
        match (&self.state, &self.fetch) {
            (Some(state), _) => state.savepoint_serial,
            (None, Some(stage)) => stage.last_savepoint(),
            (None, None) => 0,
        }
    }

    /// Undoes what was done since the savepoint. The savepoint stays valid, later ones do not;
    /// locks are kept.
    ///
    /// # Errors
    /// [`Error::UnknownSavepoint`] if it is another transaction's, or a rollback went past it;
    /// [`Error::TransactionEnded`], or the reason why the transaction could not begin;
    /// [`Error::Closed`] if the engine was closed, [`Error::Poisoned`] if it has stopped or the
    /// undo fails, which stops it.
    pub fn rollback_to(&mut self, savepoint: &Savepoint) -> Result<()> {
        self.check_process()?;
        let serial = self.own_savepoint(savepoint)?;
        let Some(state) = self.state.as_mut() else {
            return self.fetch(|stage| stage.rollback_to(serial));
        };
        state.rollback_to(serial)
    }

    /// Returns the number of one of this transaction's savepoints.
    pub(crate) fn own_savepoint(&self, savepoint: &Savepoint) -> Result<u64> {
        let is_away = self.aside.as_ref().is_some_and(|aside| aside.away.is_some());
        if self.state.is_none() && !is_away && !self.is_fetching() {
            return Err(self.ended());
        }
        let is_own = (savepoint.opening, savepoint.txn) == (self.opening, self.id);
        if is_own { Ok(savepoint.serial) } else { Err(Error::UnknownSavepoint) }
    }

    /// Commits: when this returns, the commit record of a transaction that has written stands in
    /// the log buffer and all locks are released, but the transaction may **not be durable yet**.
    /// Its result may be delivered once the log is durable up to `ack` (FINISH-2). The caller must
    /// request the flush: it waits with [`Log::wait_durable`](clearway_log::Log::wait_durable), or
    /// calls [`Log::request_flush`](clearway_log::Log::request_flush) and compares
    /// [`Log::durable`](clearway_log::Log::durable) later. Without one of these calls the commit
    /// becomes durable with a flush that was requested for another reason.
    ///
    /// # Errors
    /// [`Error::TransactionEnded`], or the reason why the transaction could not begin;
    /// [`Error::Poisoned`] if the engine has stopped, and [`Error::Closed`] if it was closed: the
    /// transaction did not take place. [`Error::OutcomeUnknown`] only if the options plug in a
    /// [`CommitRelease`](crate::parts::CommitRelease) that keeps locks until the commit is durable,
    /// and the log failed first.
    #[inline]
    pub fn commit(mut self) -> Result<Committed> {
        self.check_process()?;
        let Some(state) = self.state.take() else { return Err(self.ended()) };
        if self.aside.is_none() {
            // Its drop would find nothing to do. This saves each commit two calls.
            std::mem::forget(self);
        }
        finish::commit(state)
    }

    /// Undoes everything and ends. Returns an LSN: once the log is durable up to it, a crash can no
    /// longer undo anything that the transaction has read.
    ///
    /// # Errors
    /// [`Error::TransactionEnded`], or the reason why the transaction could not begin. For a
    /// transaction that has written, [`Error::Closed`] if the engine was closed, and
    /// [`Error::Poisoned`] if it has stopped or the undo fails, which stops it: the next opening
    /// undoes the transaction.
    pub fn rollback(mut self) -> Result<Lsn> {
        self.check_process()?;
        match self.state.take() {
            Some(state) => finish::rollback(state),
            None => Err(self.ended()),
        }
    }
}

impl Drop for Transaction {
    #[inline]
    fn drop(&mut self) {
        if let Some(state) = self.state.take() {
            self.abandon(state);
            return;
        }
        if let Some(stage) = self.fetch.take() {
            self.abandon_stage(stage);
        }
        if let Some(aside) = self.aside.take() {
            self.abandon_aside(aside);
        }
    }
}

impl Transaction {
    /// Rolls back a transaction that the program has dropped while a thread of the engine had its
    /// state (TASK-4).
    #[cold]
    fn abandon_aside(&self, mut aside: Box<Aside>) {
        if !self.process.is_current() {
            std::mem::forget(aside);
            return;
        }
        if let Some(coming) = aside.away.take() {
            coming.core.transactions.hand_over(self.id);
            away::leave_coming_to_engine(coming);
        }
    }

    /// Rolls back what the program has dropped.
    #[cold]
    fn abandon(&self, state: Box<TransactionState>) {
        if !self.process.is_current() {
            // The transaction belongs to the parent process, which ends it. The child keeps the
            // memory as it was at the fork.
            std::mem::forget(state);
            return;
        }
        if self.is_of_task {
            return away::leave_to_engine(state);
        }
        // If the rollback has failed, the engine has stopped or is closed: later calls return that
        // error.
        let _ = finish::rollback(state);
    }
}

impl std::fmt::Debug for Transaction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Transaction")
            .field("id", &self.id)
            .field("active", &self.is_active())
            .finish()
    }
}

/// The lock on the table that goes with a read of its rows.
pub(crate) fn intent_mode(intent: ReadIntent) -> IntentMode {
    match intent {
        ReadIntent::Read => IntentMode::IS,
        ReadIntent::Update => IntentMode::IX,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use clearway_disk::MemoryDisk;
    use clearway_log::record_bytes;

    use super::*;
    use crate::{Engine, EngineOptions};

    #[test]
    fn transaction_that_could_not_begin_reports_why() {
        let options = EngineOptions { background: false, ..EngineOptions::default() };
        let engine = Engine::open(Arc::new(MemoryDisk::new()), options).unwrap();
        let table = engine.create_table("t").unwrap();
        let no_thread =
            Error::io("start a thread", "clearway-timer", std::io::Error::other("full"));
        let mut refused = Transaction::new(engine.core.process, Err(no_thread));
        assert!(matches!(refused.get(&table, b"k"), Err(Error::Io { .. })));
        assert!(matches!(refused.commit(), Err(Error::Io { .. })));
        engine.close().unwrap();
    }

    #[test]
    fn deferred_frees_are_paid_for_exactly() {
        let options = EngineOptions { background: false, ..EngineOptions::default() };
        let engine = Engine::open(Arc::new(MemoryDisk::new()), options).unwrap();
        let table = engine.create_table("t").unwrap();
        let mut txn = engine.begin();
        for n in 0..200u32 {
            txn.insert(&table, &n.to_be_bytes(), &[7; 20_000]).unwrap();
        }
        txn.commit().unwrap();

        let mut txn = engine.begin();
        txn.delete(&table, &0u32.to_be_bytes()).unwrap();
        let promised = |txn: &Transaction| txn.state.as_ref().unwrap().reservation.promised();
        let (savepoint, before) = (txn.savepoint().unwrap(), promised(&txn));
        assert!(before.0 > 0 && before.1 > 0);
        for n in 1..200u32 {
            txn.delete(&table, &n.to_be_bytes()).unwrap();
            assert!(promised(&txn).1 > before.1);
            txn.rollback_to(&savepoint).unwrap();
            assert_eq!(promised(&txn), before);
        }
        for n in 1..200u32 {
            txn.delete(&table, &n.to_be_bytes()).unwrap();
        }
        let mut state = txn.state.take().unwrap();
        state.log_commit().unwrap();
        assert_eq!(state.reservation.promised(), (0, 0));
        assert!(state.reservation.held() >= record_bytes(0) as i64, "its END");
        state.free_deferred().unwrap();
        assert!(state.reservation.held() >= 0);
        finish::abandon(state);
    }
}
