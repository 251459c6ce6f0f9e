//! One client's transaction: it is run, then its result waits for the log, then it is delivered.

use std::{
    any::Any,
    cell::Cell,
    convert::Infallible,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    rc::Rc,
    sync::Arc,
    task::{Context, Poll},
};

use clearway_base::{Error, Result};

use super::PipelineShared;
use crate::{
    LentTransaction, Pending, Transaction, async_runner,
    inner::Inner,
    lending::Lender,
    runner::{self, ClosureAtPage, ClosureRuns, EndedOrAtPage},
};

/// The contents of an inbox.
pub(super) enum Accepted {
    /// A closure, which the agent runs to its end, or to an absent page of its fetch stage.
    Job(Box<dyn Job>),
    /// An asynchronous closure, which the agent begins.
    Task(Box<dyn Begin>),
}

/// An asynchronous transaction with a result of any type, which was not begun yet.
pub(super) trait Begin: Send {
    /// Returns the type of the transaction.
    fn name(&self) -> &'static str;

    /// Begins it in `place`, if that is a place for transactions like this one, or in a new place.
    fn begin_in(
        self: Box<Self>,
        place: Option<Box<dyn TaskPlace>>,
        shared: &Arc<PipelineShared>,
    ) -> Box<dyn TaskPlace>;
}

/// A place where one asynchronous transaction after the other runs.
pub(super) trait TaskPlace {
    /// Returns the place's [`Mailbox`].
    fn mailbox(&self) -> &dyn Any;

    /// Polls the transaction. Returns its result, which the agent delivers, if it has ended.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Box<dyn PendingResult>>;
}

/// The way in and out of a place for transactions of type `A`.
struct Mailbox<A> {
    begins: Cell<Option<A>>,
    ended: Cell<Option<Box<dyn PendingResult>>>,
}

impl<A> Mailbox<A> {
    fn new(first: A) -> Rc<Mailbox<A>> {
        Rc::new(Mailbox { begins: Cell::new(Some(first)), ended: Cell::new(None) })
    }

    /// Returns the next transaction.
    async fn next(&self) -> A {
        poll_fn(|_| self.begins.take().map_or(Poll::Pending, Poll::Ready)).await
    }
}

/// Begins a transaction in `place`, if that is a place for those like this one, or in a new place.
fn begin_in<A: 'static>(
    transaction: A,
    place: Option<Box<dyn TaskPlace>>,
    new_place: impl FnOnce(A) -> Box<dyn TaskPlace>,
) -> Box<dyn TaskPlace> {
    if let Some(place) = place
        && let Some(mailbox) = place.mailbox().downcast_ref::<Mailbox<A>>()
    {
        mailbox.begins.set(Some(transaction));
        return place;
    }
    new_place(transaction)
}

/// A place for transactions of one Rust type. Their future runs one after the other, so a
/// transaction neither takes memory for it nor moves it there.
struct PlaceOf<A, F> {
    mailbox: Rc<Mailbox<A>>,
    /// `None` after a panic: then the place is not used again.
    future: Option<Pin<Box<F>>>,
}

impl<A, F> TaskPlace for PlaceOf<A, F>
where
    A: 'static,
    F: Future<Output = Infallible>,
{
    fn mailbox(&self) -> &dyn Any {
        if self.future.is_some() { &*self.mailbox } else { &() }
    }

    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Box<dyn PendingResult>> {
        if let Some(future) = &mut self.future
            && let Err(panic) = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(context)))
        {
            // The conversion of an error has panicked. The drop ends the wait of the client.
            std::mem::forget(panic);
            self.future = None;
            return Poll::Ready(Box::new(LostResult));
        }
        match self.mailbox.ended.take() {
            Some(ended) => Poll::Ready(ended),
            None => Poll::Pending,
        }
    }
}

/// An asynchronous closure with its callback.
pub(super) struct AsyncTask<T, E, B, D> {
    name: &'static str,
    /// `None` once the transaction has ended: what the closure has captured is dropped then.
    body: Option<B>,
    done: D,
    ran: Ran<T, E>,
}

impl<T, E, B, D> AsyncTask<T, E, B, D> {
    pub(super) fn new(name: &'static str, body: B, done: D) -> AsyncTask<T, E, B, D> {
        AsyncTask { name, body: Some(body), done, ran: Ran::Not }
    }
}

impl<T, E, B, D> Begin for AsyncTask<T, E, B, D>
where
    T: Send + 'static,
    E: From<Error> + Send + 'static,
    B: AsyncFnMut(LentTransaction) -> Result<T, E> + Send + 'static,
    D: FnOnce(Result<T, E>) + Send + 'static,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn begin_in(
        self: Box<Self>,
        place: Option<Box<dyn TaskPlace>>,
        shared: &Arc<PipelineShared>,
    ) -> Box<dyn TaskPlace> {
        begin_in(self, place, |first| new_place(first, Arc::clone(shared)))
    }
}

/// Returns a place in which `first` runs, and then others of its type.
#[cold]
fn new_place<T, E, B, D>(
    first: Box<AsyncTask<T, E, B, D>>,
    shared: Arc<PipelineShared>,
) -> Box<dyn TaskPlace>
where
    T: 'static,
    E: From<Error> + 'static,
    B: AsyncFnMut(LentTransaction) -> Result<T, E> + 'static,
    D: FnOnce(Result<T, E>) + 'static,
{
    let mailbox = Mailbox::new(first);
    let tasks = Rc::clone(&mailbox);
    let future = Box::pin(async move {
        let mut lender = Lender::default();
        loop {
            let mut task = tasks.next().await;
            let Some(mut body) = task.body.take() else { continue };
            let database = &shared.database;
            let ran = async_runner::run_lending(database, task.name, &mut body, &mut lender).await;
            drop(body);
            task.ran = Ran::of(ran);
            tasks.ended.set(Some(task));
        }
    });
    Box::new(PlaceOf { mailbox, future: Some(future) })
}

/// A result that an agent holds back until it may be delivered.
pub(super) trait PendingResult {
    /// Returns true if the result may be delivered.
    fn is_ready(&self) -> bool;

    /// Waits until the result may be delivered, and delivers it.
    fn deliver(self: Box<Self>);

    /// Returns true if the result is ready. If it is not, registers the waker of `context`, like
    /// [`clearway_log::Log::poll_durable`].
    fn poll(&self, context: &mut Context<'_>) -> bool;
}

impl<T, E: From<Error>, B, D: FnOnce(Result<T, E>)> PendingResult for AsyncTask<T, E, B, D> {
    fn is_ready(&self) -> bool {
        self.ran.is_ready()
    }

    fn poll(&self, context: &mut Context<'_>) -> bool {
        self.ran.poll(context)
    }

    fn deliver(self: Box<Self>) {
        let AsyncTask { done, ran, .. } = *self;
        deliver(done, ran);
    }
}

/// The result of a transaction whose client knows already that there is none.
struct LostResult;

impl PendingResult for LostResult {
    fn is_ready(&self) -> bool {
        true
    }

    fn poll(&self, _: &mut Context<'_>) -> bool {
        true
    }

    fn deliver(self: Box<Self>) {}
}

/// The state of a transaction of an agent.
enum Ran<T, E> {
    Not,
    Waits(Pending<T, E>),
    Failed(E),
    /// The conversion of an error has panicked, so there is no result.
    Lost,
}

impl<T, E: From<Error>> Ran<T, E> {
    /// The state after a run. Requests the flush that the result waits for, but does not wake the
    /// log's thread for each result: an agent that has nothing else to do waits for the first.
    fn of(result: Result<Pending<T, E>, E>) -> Ran<T, E> {
        match result {
            Ok(pending) => {
                pending.request_flush();
                Ran::Waits(pending)
            }
            Err(error) => Ran::Failed(error),
        }
    }

    fn is_ready(&self) -> bool {
        match self {
            Ran::Waits(pending) => pending.is_ready(),
            Ran::Not | Ran::Failed(_) | Ran::Lost => true,
        }
    }

    fn poll(&self, context: &mut Context<'_>) -> bool {
        match self {
            Ran::Waits(pending) => pending.poll_ready(context),
            Ran::Not | Ran::Failed(_) | Ran::Lost => true,
        }
    }

    /// Returns the result, or `None` if it is lost.
    fn wait(self) -> Option<Result<T, E>> {
        match self {
            Ran::Waits(pending) => Some(pending.wait()),
            Ran::Failed(error) => Some(Err(error)),
            Ran::Not => Some(Err(Error::Closed.into())),
            Ran::Lost => None,
        }
    }
}

/// Calls the callback of a client. The panic hook has reported a panic; the callback's author must
/// handle it.
fn deliver<T, E: From<Error>>(done: impl FnOnce(Result<T, E>), ran: Ran<T, E>) {
    // The conversion of an error is the program's code, too.
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| ran.wait().map(done))) {
        // Dropping the payload could panic again.
        std::mem::forget(payload);
    }
}

/// A transaction with a result of any type.
pub(super) trait Job: PendingResult + Send {
    /// Returns the type of the transaction.
    fn name(&self) -> &'static str;

    /// Runs the transaction, once. Its locks are released afterwards. If its closure waits for a
    /// page in its fetch stage, returns that: a [`JobAtPage`] is to be begun as a task.
    fn run(&mut self, database: &Inner) -> Option<Box<ClosureAtPage>>;

    /// Continues what [`run`](Job::run) has begun, after the wait.
    fn go_on(&mut self, database: &Inner, runs: ClosureRuns) -> Option<Box<ClosureAtPage>>;
}

/// A job whose closure waits for a page in its fetch stage. It becomes a task of its agent.
pub(super) struct JobAtPage {
    pub(super) job: Box<dyn Job>,
    pub(super) closure: Box<ClosureAtPage>,
}

impl JobAtPage {
    /// Begins the wait in `place`, if that is a place for jobs, or in a new place.
    pub(super) fn begin_in(
        self,
        place: Option<Box<dyn TaskPlace>>,
        shared: &Arc<PipelineShared>,
    ) -> Box<dyn TaskPlace> {
        begin_in(self, place, |first| new_place_of_jobs(first, Arc::clone(shared)))
    }
}

/// Returns a place in which `first` waits and runs to its end, and then others.
#[cold]
fn new_place_of_jobs(first: JobAtPage, shared: Arc<PipelineShared>) -> Box<dyn TaskPlace> {
    let mailbox = Mailbox::new(first);
    let jobs = Rc::clone(&mailbox);
    let future = Box::pin(async move {
        loop {
            let JobAtPage { mut job, closure } = jobs.next().await;
            let mut waits = Some(closure);
            while let Some(closure) = waits {
                let runs = closure.wait(&shared.database).await;
                waits = job.go_on(&shared.database, runs);
            }
            jobs.ended.set(Some(job));
        }
    });
    Box::new(PlaceOf { mailbox, future: Some(future) })
}

/// A closure with its callback.
pub(super) struct Task<T, E, B, D> {
    name: &'static str,
    body: B,
    done: D,
    ran: Ran<T, E>,
}

impl<T, E: From<Error>, B, D> Task<T, E, B, D> {
    pub(super) fn new(name: &'static str, body: B, done: D) -> Task<T, E, B, D> {
        Task { name, body, done, ran: Ran::Not }
    }

    /// Keeps the result of the closure, unless it waits for a page.
    #[inline]
    fn keep(
        &mut self,
        run: impl FnOnce(&mut B) -> EndedOrAtPage<T, E>,
    ) -> Option<Box<ClosureAtPage>> {
        match catch_unwind(AssertUnwindSafe(|| run(&mut self.body))) {
            Ok(Ok(ended)) => self.ran = Ran::of(ended),
            Ok(Err(closure)) => return Some(closure),
            Err(panic) => {
                // The conversion of an error has panicked.
                std::mem::forget(panic);
                self.ran = Ran::Lost;
            }
        }
        None
    }
}

impl<T, E, B, D> Job for Task<T, E, B, D>
where
    T: Send + 'static,
    E: From<Error> + Send + 'static,
    B: FnMut(&mut Transaction) -> Result<T, E> + Send + 'static,
    D: FnOnce(Result<T, E>) + Send + 'static,
{
    fn name(&self) -> &'static str {
        self.name
    }

    fn run(&mut self, database: &Inner) -> Option<Box<ClosureAtPage>> {
        let name = self.name;
        self.keep(|body| runner::run_by_agent(database, name, body))
    }

    fn go_on(&mut self, database: &Inner, runs: ClosureRuns) -> Option<Box<ClosureAtPage>> {
        self.keep(|body| runs.go_on(database, body))
    }
}

impl<T, E: From<Error>, B, D: FnOnce(Result<T, E>)> PendingResult for Task<T, E, B, D> {
    fn is_ready(&self) -> bool {
        self.ran.is_ready()
    }

    fn poll(&self, context: &mut Context<'_>) -> bool {
        self.ran.poll(context)
    }

    fn deliver(self: Box<Self>) {
        let Task { done, ran, body, .. } = *self;
        // Drop what the closure has captured before the client receives the result.
        drop(body);
        deliver(done, ran);
    }
}
