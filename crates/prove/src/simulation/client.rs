//! The transaction of a session, and its driver: a call blocks, or is a future that is polled.
//!
//! ```text
//!   blocking   call ──► result, or refused because of a lock: called again later
//!   task       call ──► future ── polled ──► result
//!                         │  └── pending: polled again later
//!                         └───── dropped: the transaction is back, and goes on
//! ```
//!
//! The future of a task's call owns the transaction and the cursor. When it ends or is dropped,
//! both come back, like a transaction that the façade lends to a closure.
//!
//! A task may be polled though it was not woken, and with another waker than before, as by an
//! executor that has moved it. Then only the last waker counts, and the call must go on waiting: if
//! it had anything to do, it should have been woken.

use std::{
    cell::Cell,
    future::Future,
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll, Wake, Waker},
};

use clearway_base::{Error, Lsn, Result, TxnId};
use clearway_lock::{AbsoluteMode, WaitLimit};
use clearway_sync::atomic::{AtomicBool, Ordering};
use clearway_testkit::Random;
use clearway_tree::{Direction, ReadIntent};
use clearway_txn::{
    Committed, Engine, Fetched, RetryContext, Savepoint, Table, TableCursor, Transaction,
};

use super::{footprint::KeyRange, stages::FirstStage};
use crate::workloads::Verb;

/// A call of a transaction.
pub(super) enum Call {
    Resume(Rc<RetryContext>),
    LockTable(Table, AbsoluteMode),
    Get(Table, Vec<u8>, ReadIntent),
    Write(Table, Vec<u8>, Verb),
    OpenCursor(Table, KeyRange, Direction, ReadIntent),
    /// Reads the next entry at the cursor that was opened last.
    Advance,
    Savepoint,
    RollbackTo(Savepoint),
}

/// The result of a call that has succeeded.
pub(super) enum Returned {
    Nothing,
    Value(Option<Vec<u8>>),
    /// Of a put: true if the key was present.
    WasThere(bool),
    Entry(Option<(Vec<u8>, Vec<u8>)>),
    Savepoint(Savepoint),
}

/// The reason why a call has no result yet.
#[derive(Debug)]
pub(super) enum Interrupt {
    /// The task waits: the same call is to be continued.
    Waits,
    /// The call has ended in a poll for which its task was not woken: the wake-up was lost.
    NotWoken,
    /// The engine has returned an error.
    Failed(Error),
}

/// A transaction, and the cursor that it reads with.
struct Held {
    txn: Transaction,
    cursor: Option<TableCursor>,
}

/// See the module.
pub(super) struct Client {
    id: TxnId,
    is_task: bool,
    /// True if the task does not wait for locks. For a page it waits up to ten seconds; to call the
    /// task then, an engine without threads wakes it in each poll.
    is_hasty: bool,
    /// `None` while a call is in progress.
    held: Option<Held>,
    in_progress: Option<CallInProgress>,
    /// Chooses the polls that have another waker than those before: one of two.
    wakers: Random,
}

/// A call of a task that was polled and is not over.
struct CallInProgress {
    future: Pin<Box<dyn Future<Output = Result<Returned>>>>,
    back: Back,
    woken: Arc<Woken>,
}

/// The place where a transaction comes back to from a call.
type Back = Rc<Cell<Option<Held>>>;

/// The message of a panic that cannot happen.
const IDLE: &str = "a transaction is here unless a call is in progress";

impl Client {
    /// A transaction that refuses to wait.
    pub(super) fn blocking(engine: &Arc<Engine>) -> Client {
        Client::new(engine.begin(), false, WaitLimit::NoWait)
    }

    /// A transaction that blocks and begins with this stage.
    pub(super) fn staged(engine: &Arc<Engine>, first: FirstStage) -> Client {
        let mut txn = engine.begin();
        match first {
            FirstStage::Fetch => txn.begin_fetch(),
            FirstStage::Optimistic => txn.begin_optimistic(),
        }
        Client::new(txn, false, WaitLimit::NoWait)
    }

    /// The transaction of a task.
    pub(super) fn task(engine: &Arc<Engine>, limit: WaitLimit) -> Client {
        Client::new(engine.begin_task(clearway_txn::Kind::default()), true, limit)
    }

    fn new(mut txn: Transaction, is_task: bool, limit: WaitLimit) -> Client {
        txn.set_wait_limit(limit);
        let (id, held) = (txn.id(), Some(Held { txn, cursor: None }));
        let is_hasty = is_task && limit == WaitLimit::NoWait;
        let wakers = Random::new(id.0);
        Client { id, is_task, is_hasty, held, in_progress: None, wakers }
    }

    pub(super) fn id(&self) -> TxnId {
        self.id
    }

    pub(super) fn is_task(&self) -> bool {
        self.is_task
    }

    /// Returns true if a call is in progress.
    pub(super) fn is_waiting(&self) -> bool {
        self.in_progress.is_some()
    }

    /// Returns true if a step may do something: no call waits, or its task was woken.
    pub(super) fn is_runnable(&self) -> bool {
        self.in_progress.as_ref().is_none_or(|call| call.woken.0.load(Ordering::SeqCst))
    }

    /// Returns true if the next poll comes though the task was not woken.
    pub(super) fn is_asleep(&self) -> bool {
        !self.is_runnable() && !self.is_hasty
    }

    /// Returns true if the transaction has ended.
    pub(super) fn has_ended(&self) -> bool {
        let has_ended = |held: &Held| !held.txn.is_active() && !held.txn.is_fetching();
        self.held.as_ref().is_some_and(has_ended)
    }

    /// Returns true if the transaction is in the fetch stage.
    pub(super) fn is_fetching(&self) -> bool {
        self.held.as_ref().is_some_and(|held| held.txn.is_fetching())
    }

    /// Returns the number of pages that the transaction has waited for in its operate stage.
    pub(super) fn absent_pages(&self) -> u32 {
        self.held.as_ref().map_or(0, |held| held.txn.absent_pages())
    }

    /// Ends the fetch stage. Also returns what the operate stage takes over from an optimistic run.
    pub(super) fn end_fetch(&mut self) -> (Option<Fetched>, RetryContext) {
        let Some(Held { mut txn, .. }) = self.held.take() else { return Default::default() };
        let context = txn.take_retry_context();
        (txn.end_fetch(), context)
    }

    /// Makes a call, or continues the one in progress, which must be the same.
    pub(super) fn call(
        &mut self,
        call: impl FnOnce() -> Call,
    ) -> std::result::Result<Returned, Interrupt> {
        let mut in_progress = match self.in_progress.take() {
            Some(in_progress) => in_progress,
            None => {
                let mut held = self.held.take().expect(IDLE);
                if !self.is_task {
                    let result = held.block(call());
                    self.held = Some(held);
                    return result.map_err(Interrupt::Failed);
                }
                CallInProgress::begin(held, call())
            }
        };
        let was_woken = in_progress.woken.0.swap(false, Ordering::SeqCst) || self.is_hasty;
        if self.wakers.one_in(2) {
            in_progress.woken = Arc::new(Woken(AtomicBool::new(false)));
        }
        match in_progress.poll() {
            Poll::Ready(result) => {
                self.held = in_progress.end();
                if !was_woken {
                    return Err(Interrupt::NotWoken);
                }
                result.map_err(Interrupt::Failed)
            }
            Poll::Pending => {
                if self.is_hasty {
                    in_progress.woken.0.store(false, Ordering::SeqCst);
                }
                self.in_progress = Some(in_progress);
                Err(Interrupt::Waits)
            }
        }
    }

    /// Drops the call in progress, if there is one.
    pub(super) fn cancel(&mut self) {
        if let Some(in_progress) = self.in_progress.take() {
            self.held = in_progress.end();
        }
    }

    fn into_transaction(mut self) -> Transaction {
        self.cancel();
        self.held.take().expect(IDLE).txn
    }

    /// Takes what the next attempt of a deadlock's victim begins with.
    pub(super) fn into_retry_context(self) -> RetryContext {
        self.into_transaction().take_retry_context()
    }

    pub(super) fn commit(self) -> End<Committed> {
        let is_task = self.is_task;
        let txn = self.into_transaction();
        if is_task { End::of_task(txn.commit_as_task()) } else { End::Over(txn.commit()) }
    }

    pub(super) fn roll_back(self) -> End<Lsn> {
        let is_task = self.is_task;
        let txn = self.into_transaction();
        if is_task { End::of_task(txn.rollback_as_task()) } else { End::Over(txn.rollback()) }
    }
}

/// The commit or rollback of a transaction.
pub(super) enum End<T> {
    Over(Result<T>),
    /// It waits for a job of the engine.
    Late(LateResult<T>),
}

/// The future of a commit or rollback.
pub(super) type LateResult<T> = Pin<Box<dyn Future<Output = Result<T>>>>;

impl<T> End<T> {
    fn of_task(end: impl Future<Output = Result<T>> + 'static) -> End<T> {
        End::Late(Box::pin(end)).poll()
    }

    pub(super) fn poll(self) -> End<T> {
        let End::Late(mut late) = self else { return self };
        match late.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => End::Over(result),
            Poll::Pending => End::Late(late),
        }
    }
}

impl Held {
    /// Makes a call that blocks.
    fn block(&mut self, call: Call) -> Result<Returned> {
        let Held { txn, cursor } = self;
        let done = |()| Returned::Nothing;
        match call {
            Call::Resume(context) => txn.resume(&context).map(done),
            Call::LockTable(table, mode) => txn.lock_table(&table, mode).map(done),
            Call::Get(table, key, ReadIntent::Read) => txn.get(&table, &key).map(Returned::Value),
            Call::Get(table, key, ReadIntent::Update) => {
                txn.get_for_update(&table, &key).map(Returned::Value)
            }
            Call::Write(table, key, verb) => match verb {
                Verb::Insert(value) => txn.insert(&table, &key, &value).map(done),
                Verb::Put(value) => txn.put(&table, &key, &value).map(Returned::WasThere),
                Verb::Update(value) => txn.update(&table, &key, &value).map(done),
                Verb::Delete => txn.delete(&table, &key).map(done),
            },
            Call::OpenCursor(table, (lower, upper), direction, intent) => {
                *cursor = Some(txn.cursor(&table, lower, upper, direction, intent)?);
                Ok(Returned::Nothing)
            }
            Call::Advance => match cursor {
                Some(cursor) => cursor.next(txn).map(Returned::Entry),
                None => Ok(Returned::Entry(None)),
            },
            Call::Savepoint => txn.savepoint().map(Returned::Savepoint),
            Call::RollbackTo(savepoint) => txn.rollback_to(&savepoint).map(done),
        }
    }

    /// Makes a call as a task.
    async fn run(&mut self, call: Call) -> Result<Returned> {
        let Held { txn, cursor } = self;
        let done = |()| Returned::Nothing;
        match call {
            Call::Resume(context) => txn.resume_as_task(&context).await.map(done),
            Call::LockTable(table, mode) => txn.lock_table_as_task(&table, mode).await.map(done),
            Call::Get(table, key, intent) => {
                txn.get_as_task(&table, &key, intent).await.map(Returned::Value)
            }
            Call::Write(table, key, verb) => match verb {
                Verb::Insert(value) => txn.insert_as_task(&table, &key, &value).await.map(done),
                Verb::Put(value) => {
                    txn.put_as_task(&table, &key, &value).await.map(Returned::WasThere)
                }
                Verb::Update(value) => txn.update_as_task(&table, &key, &value).await.map(done),
                Verb::Delete => txn.delete_as_task(&table, &key).await.map(done),
            },
            Call::OpenCursor(table, (lower, upper), direction, intent) => {
                let opened = txn.cursor_as_task(&table, lower, upper, direction, intent);
                *cursor = Some(opened.await?);
                Ok(Returned::Nothing)
            }
            Call::Advance => {
                let Some(cursor) = cursor else { return Ok(Returned::Entry(None)) };
                let found = cursor.advance_as_task(txn).await?;
                let entry = || (cursor.entry().0.to_vec(), cursor.entry().1.to_vec());
                Ok(Returned::Entry(found.then(entry)))
            }
            Call::Savepoint => txn.savepoint_as_task().await.map(Returned::Savepoint),
            Call::RollbackTo(savepoint) => txn.rollback_to_as_task(&savepoint).await.map(done),
        }
    }
}

impl CallInProgress {
    fn begin(held: Held, call: Call) -> CallInProgress {
        let back = Back::default();
        let mut lent = Lent { held: Some(held), back: back.clone() };
        let run = async move { lent.held.as_mut().expect(IDLE).run(call).await };
        let woken = Arc::new(Woken(AtomicBool::new(true)));
        CallInProgress { future: Box::pin(run), back, woken }
    }

    fn poll(&mut self) -> Poll<Result<Returned>> {
        let waker = Waker::from(self.woken.clone());
        self.future.as_mut().poll(&mut Context::from_waker(&waker))
    }

    /// Drops the future, and returns the transaction.
    fn end(self) -> Option<Held> {
        drop(self.future);
        self.back.take()
    }
}

/// A transaction within a call: it goes back when the call's future ends or is dropped.
struct Lent {
    held: Option<Held>,
    back: Back,
}

impl Drop for Lent {
    fn drop(&mut self) {
        self.back.set(self.held.take());
    }
}

/// True at first, and once the task was woken.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}
