//! Operations of tasks: the driver that does not block.
//!
//! It runs the same steps as the blocking driver (`clearway_tree::Wait`), and meets the same needs:
//!
//! | need | the task is woken by |
//! | --- | --- |
//! | a lock on a key, a table or the database | the grant, a mark as victim, the time limit |
//! | log space | the thread that waits for it (`task_work::offload`) |
//! | a page | the pool, when the page has been read |
//! | a longer file | the thread that lengthens it (`task_work::offload`) |
//!
//! Invariants:
//! - TASK-1. A poll waits only for page latches, for mutexes, and for room in the log's ring. (In
//!   an engine without background threads, or one that has closed, it also does their work; and
//!   where the system takes back the ring of reads or starts no thread, it reads itself.)
//!   In debug builds, everything else that blocks panics during a poll, unless it is marked by
//!   [`step::Except`](clearway_sync::step::Except).
//! - TASK-2. An operation whose future is dropped has changed no record: the step that logs the
//!   operation's own record is its last one, and its result is returned in the same poll. (Splits,
//!   adoptions and overflow chains of earlier steps may stay.) Its wait for a lock is withdrawn by
//!   the drop; a lock that was granted earlier stays.
//! - TASK-3. What an operation leaves to its transaction (its leaf hint, the count of its locks, an
//!   overflow chain to which no record leads) is recorded when the operation ends, in whatever way.

use std::{
    future::{Future, poll_fn},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::{Duration, Instant},
};

use clearway_base::{Error, PageId, Result};
use clearway_lock::{IntentMode, LockId, RangeMode, ResourceId, WaitLimit};
use clearway_pool::OperationPins;
use clearway_sync::step;
use clearway_tree::{Incomplete, LeafHint, Need, Step, Tree, Wait};

use super::{LackingIntent, RetryContext, TransactionState, leave_unreadable};
use crate::{
    contention::{WaitEnd, Wanted, WantedMode},
    log_space::ReservedSpace,
    table::Table,
    task_work::{Alarm, Timer},
};

/// A lock that a task waits for.
#[derive(Clone, Copy)]
enum LockRequest {
    Key(LockId, RangeMode),
    Whole(ResourceId, IntentMode),
}

/// The reason why a task could not enter a table at once. One word, since each operation returns
/// it.
struct Denied(Box<DeniedReason>);

enum DeniedReason {
    Lacking(LackingIntent),
    Failed(Error),
}

impl From<Error> for Denied {
    #[cold]
    fn from(error: Error) -> Denied {
        Denied(Box::new(DeniedReason::Failed(error)))
    }
}

impl From<LackingIntent> for Denied {
    #[cold]
    fn from(lacking: LackingIntent) -> Denied {
        Denied(Box::new(DeniedReason::Lacking(lacking)))
    }
}

impl Denied {
    /// Returns how an operation stops that was denied the table: see
    /// [`try_operation`](TransactionState::try_operation).
    #[cold]
    fn stop(self) -> Option<Incomplete> {
        match *self.0 {
            DeniedReason::Lacking(_) => None,
            DeniedReason::Failed(error) => Some(error.into()),
        }
    }
}

impl LockRequest {
    fn mode(self) -> WantedMode {
        match self {
            LockRequest::Key(_, mode) => WantedMode::Key(mode),
            LockRequest::Whole(_, mode) => WantedMode::Table(mode),
        }
    }
}

/// An operation that runs (TASK-3).
struct RunningOperation<'s> {
    state: &'s mut TransactionState,
    at: usize,
    hint: LeafHint,
    /// The number of range locks before the operation.
    held: usize,
}

impl<'s> RunningOperation<'s> {
    /// Begins an operation on the table at `at` in the state's list.
    #[inline]
    fn begin(state: &'s mut TransactionState, at: usize) -> RunningOperation<'s> {
        let used = &state.tables[at];
        state.cover = used.cover;
        let (hint, held) = (used.hint, state.owner.held());
        RunningOperation { state, at, hint, held }
    }
}

impl Drop for RunningOperation<'_> {
    #[inline]
    fn drop(&mut self) {
        self.state.tables[self.at].note(self.hint);
        if self.state.has_after_operation {
            self.state.after_operation(self.at, self.held);
        }
    }
}

impl TransactionState {
    /// Calls `attempt`, which tries an operation without a wait. Returns the error `None` if it has
    /// not done the operation, or was not called because a lock on the table is lacking.
    #[inline]
    pub(crate) fn try_operation<T>(
        &mut self,
        table: &Table,
        mode: IntentMode,
        attempt: impl FnOnce(&mut TransactionState, &mut LeafHint) -> Step<Option<T>>,
    ) -> std::result::Result<T, Option<Incomplete>> {
        let at = match self.enter_at_once(table, mode) {
            Ok(at) => at,
            Err(denied) => return Err(denied.stop()),
        };
        let used = &self.tables[at];
        self.cover = used.cover;
        let (mut hint, held) = (used.hint, self.owner.held());
        let inside = step::Inside::begin();
        let done = attempt(self, &mut hint);
        drop(inside);
        self.tables[at].note(hint);
        if self.has_after_operation {
            self.after_operation(at, held);
        }
        done?.ok_or(None)
    }

    /// As [`operate`](TransactionState::operate), for a task. First meets `need`, which an attempt
    /// has returned. The caller frees an overflow chain that is left.
    pub(crate) async fn operate_as_task<T>(
        &mut self,
        table: &Table,
        mode: IntentMode,
        mut operation: impl FnMut(&Tree, &mut TransactionState, &mut LeafHint) -> Step<T>,
        mut need: Option<Need>,
    ) -> Result<T> {
        let at = self.enter_as_task(table, mode).await?;
        let mut running = RunningOperation::begin(self, at);
        let mut pins = OperationPins::new(&running.state.core.pool);
        loop {
            if let Some(need) = need.take() {
                running.state.meet(need, &mut pins).await?;
            }
            match table.tree().step(&mut operation, running.state, &mut running.hint) {
                Ok(done) => return Ok(done),
                Err(incomplete) => need = Some(incomplete.need()?),
            }
        }
    }

    /// As [`prefetch`](TransactionState::prefetch), for a task.
    pub(crate) async fn prefetch_as_task<K: AsRef<[u8]>>(
        &mut self,
        table: &Table,
        keys: &[K],
    ) -> Result<usize> {
        self.check_table(table)?;
        let tree = table.tree();
        let (mut look, mut hint) = (tree.prefetch_operation(keys), LeafHint::default());
        let mut pins = OperationPins::new(&self.core.pool);
        loop {
            match tree.step(&mut look, self, &mut hint) {
                Ok(absent) => return Ok(absent),
                Err(incomplete) => {
                    let met = self.meet(incomplete.need()?, &mut pins).await;
                    if met.is_err() {
                        return leave_unreadable(met.map(|()| 0));
                    }
                }
            }
        }
    }

    /// As [`enter`](TransactionState::enter), but returns the lock that was denied.
    #[inline(always)]
    fn enter_at_once(
        &mut self,
        table: &Table,
        mode: IntentMode,
    ) -> std::result::Result<usize, Denied> {
        if self.core.health.is_closed() {
            return Err(Error::Closed.into());
        }
        match self.entered(table, mode) {
            Ok(at) => Ok(at),
            Err(at) => self.enter_first_at_once(table, mode, at),
        }
    }

    /// As [`enter_first`](TransactionState::enter_first), but returns the lock that was denied.
    #[inline(never)]
    fn enter_first_at_once(
        &mut self,
        table: &Table,
        mode: IntentMode,
        at: Option<usize>,
    ) -> std::result::Result<usize, Denied> {
        let _inside = step::Inside::begin();
        self.enter_with(table, mode, at, |_, lacking| Err(lacking.into()))
    }

    /// Enters a table, if that needs no wait. Returns false also after an error, which the next
    /// call of `enter_as_task` returns.
    pub(crate) fn enters_at_once(&mut self, table: &Table, mode: IntentMode) -> bool {
        self.enter_at_once(table, mode).is_ok()
    }

    /// As [`enter`](TransactionState::enter), for a task.
    pub(crate) async fn enter_as_task(&mut self, table: &Table, mode: IntentMode) -> Result<usize> {
        loop {
            // The locks that it holds already are granted again without a wait.
            match self.enter_at_once(table, mode).map_err(|denied| *denied.0) {
                Ok(at) => return Ok(at),
                Err(DeniedReason::Lacking(lacking)) => self.await_intent(lacking).await?,
                Err(DeniedReason::Failed(error)) => return Err(error),
            }
        }
    }

    /// As [`lock_database`](TransactionState::lock_database), for a task.
    pub(crate) async fn lock_database_as_task(&mut self, mode: IntentMode) -> Result<()> {
        self.core.health.check_open()?;
        while let Err(lacking) = self.enter_database_with(mode, |_, lacking| Err(lacking)) {
            self.await_intent(lacking).await?;
        }
        self.cover_tables();
        Ok(())
    }

    /// As [`begin_again`](TransactionState::begin_again), for a task.
    pub(crate) async fn begin_again_as_task(&mut self, context: &RetryContext) -> Result<()> {
        let limit = self.inherit(context);
        for needed in &context.locks {
            let request = LockRequest::Key(needed.id, needed.mode);
            self.publish_wait(needed.wanted(), request.mode());
            let result =
                PolledLockWait::new(self, request, WaitLimit::For(limit), needed.wanted()).await;
            // This wait must not be taken for one of the next statement.
            self.count_retry_wait();
            match result {
                Ok(()) => {}
                Err(error @ Error::Deadlock { .. }) => {
                    self.refused = Some((needed.id, needed.mode));
                    let (wanted, mode) = (needed.wanted(), request.mode());
                    return Err(self.core.clone().explain(error, &mut self.owner, &wanted, mode));
                }
                Err(_) => break, // RETRY-2
            }
        }
        Ok(())
    }

    async fn meet(&mut self, need: Need, pins: &mut OperationPins) -> Result<()> {
        match need {
            Need::Lock { id, mode, name } => {
                pins.clear(); // PINS-3 of the pool.
                let request = LockRequest::Key(id, self.taken(mode));
                self.await_lock(request, Wanted::Key(id, name)).await
            }
            Need::LogSpace(bytes) => {
                pins.clear();
                self.await_log_space(bytes as u64).await
            }
            Need::Page(page) => self.await_page(page, pins).await,
            Need::Pages(pages) => {
                let Some((first, others)) = pages.split_first() else { return Ok(()) };
                self.core.pool.load_ahead(others);
                self.await_page(*first, pins).await
            }
            Need::FileLength { last, is_required } => {
                let pool = self.core.pool.clone();
                let mut reply = self.core.task_work.blocking.call(move || pool.ensure_len(last));
                match poll_fn(|cx| reply.poll(cx)).await? {
                    Err(error) if is_required => Err(error),
                    _ => Ok(()),
                }
            }
        }
    }

    async fn await_page(&mut self, page: PageId, pins: &mut OperationPins) -> Result<()> {
        Wait::check_page_wait(self)?;
        pins.set_holds_locks(Wait::holds_locks(self));
        let (limit, timer) = (self.page_limit(), self.core.task_work.timer.clone());
        let _waiting = PolledPageWait::begin(self);
        take_as_task(&timer, page, limit, pins).await
    }

    async fn await_intent(&mut self, lacking: LackingIntent) -> Result<()> {
        let LackingIntent { wanted, resource, mode } = lacking;
        self.await_lock(LockRequest::Whole(resource, mode), wanted).await
    }

    async fn await_lock(&mut self, request: LockRequest, wanted: Wanted) -> Result<()> {
        self.publish_wait(wanted, request.mode());
        let limit = self.limit;
        let result = PolledLockWait::new(self, request, limit, wanted).await;
        if let (LockRequest::Key(id, mode), Err(Error::Deadlock { .. })) = (request, &result) {
            self.refused = Some((id, mode));
        }
        self.after_wait(result, wanted, request.mode())
    }

    /// Reserves log space for an operation of `bytes`.
    async fn await_log_space(&mut self, bytes: u64) -> Result<()> {
        let (space, number) = (self.core.log_space.clone(), self.number());
        let missing = self.reservation.missing(bytes);
        let waits = &self.core.task_work.log_space;
        let mut reply = waits.call(move || ReservedSpace::reserve(space, number, missing));
        let reserved = poll_fn(|cx| reply.poll(cx)).await??;
        self.reservation.add(reserved.take());
        Ok(())
    }
}

/// As [`OperationPins::take`], for a task.
pub(crate) async fn take_as_task(
    timer: &Arc<Timer>,
    page: PageId,
    limit: Duration,
    pins: &mut OperationPins,
) -> Result<()> {
    let until = Instant::now().checked_add(limit);
    let mut alarm = Alarm::new(timer);
    poll_fn(|cx| match pins.poll_take(page, cx) {
        Poll::Pending if until.is_some_and(|until| alarm.poll(until, cx)) => {
            Poll::Ready(Err(pins.time_out(page, limit)))
        }
        polled => polled,
    })
    .await
}

/// A wait for a page, which ends when this is dropped.
struct PolledPageWait<'s>(&'s mut TransactionState);

impl PolledPageWait<'_> {
    fn begin(state: &mut TransactionState) -> PolledPageWait<'_> {
        state.begin_page_wait();
        PolledPageWait(state)
    }
}

impl Drop for PolledPageWait<'_> {
    fn drop(&mut self) {
        self.0.end_page_wait();
    }
}

/// The wait for a lock. Dropping it withdraws the request (TASK-2).
struct PolledLockWait<'s> {
    state: &'s mut TransactionState,
    request: LockRequest,
    wanted: Wanted,
    /// The limit of the wait, and the time at which it ends; `None` if there is no limit.
    limit: Option<Duration>,
    until: Option<Instant>,
    /// True if the program asked not to wait, which is not the same as a limit of zero.
    is_no_wait: bool,
    alarm: Alarm,
    is_over: bool,
}

impl<'s> PolledLockWait<'s> {
    fn new(
        state: &'s mut TransactionState,
        request: LockRequest,
        limit: WaitLimit,
        wanted: Wanted,
    ) -> PolledLockWait<'s> {
        let is_no_wait = matches!(limit, WaitLimit::NoWait);
        let limit = state.core.locks.time_limit(limit);
        let until = limit.and_then(|limit| Instant::now().checked_add(limit));
        let alarm = Alarm::new(&state.core.task_work.timer);
        PolledLockWait { state, request, wanted, limit, until, is_no_wait, alarm, is_over: false }
    }

    fn poll_lock(&mut self, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let TransactionState { core, owner, .. } = &mut *self.state;
        let locks = &core.locks;
        if self.is_no_wait {
            let limit = WaitLimit::NoWait;
            return Poll::Ready(match self.request {
                LockRequest::Key(id, mode) => locks.acquire(owner, id, mode, limit),
                LockRequest::Whole(id, mode) => locks.acquire_intent(owner, id, mode, limit),
            });
        }
        let polled = match self.request {
            LockRequest::Key(id, mode) => locks.poll_acquire(owner, id, mode, cx),
            LockRequest::Whole(id, mode) => locks.poll_acquire_intent(owner, id, mode, cx),
        };
        if polled.is_ready() {
            return polled;
        }
        let check = locks.next_check(owner).and_then(|time| Instant::now().checked_add(time));
        let Some(next) = self.until.into_iter().chain(check).min() else { return Poll::Pending };
        if !self.alarm.poll(next, cx) {
            return Poll::Pending;
        }
        if self.until.is_some_and(|until| until <= next) {
            return Poll::Ready(locks.time_out(owner, self.limit.unwrap_or_default()));
        }
        cx.waker().wake_by_ref(); // A check is due.
        Poll::Pending
    }
}

impl Future for PolledLockWait<'_> {
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<()>> {
        let _inside = step::Inside::begin();
        let polled = self.poll_lock(cx);
        self.is_over = polled.is_ready();
        polled
    }
}

impl Drop for PolledLockWait<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            let TransactionState { core, owner, .. } = &mut *self.state;
            core.locks.cancel(owner);
            self.state.count_wait(self.wanted, WaitEnd::Withdrawn);
        }
    }
}
