//! Runs the transactions of many clients on a few threads, its *agents*.
//!
//! ```text
//!   submit ─▶ inbox ─▶ agent: run ─▶ waiting results ─▶ deliver all durable ones
//!             (one for each agent)   (the agent's own)
//! ```
//!
//! An asynchronous closure is begun by an agent and polled by it whenever it is woken (`tasks`), so
//! an agent has any number of them, which wait for locks, pages and the log. A blocking closure
//! that waits for a page in its fetch stage has no transaction meanwhile (STAGED-4): it is such a
//! task until its transaction has ended.
//!
//! A client that waits for its commit occupies no thread: the agent continues with the next
//! transaction, and whenever a flush completes it delivers all results that are durable by then,
//! one after the other, without a context switch between them ("Aether", section 4, flush
//! pipelining).
//!
//! Invariants:
//! - PIPELINE-1. A result that is in a [`Pending`] is delivered only when the `Pending` permits it.
//!   Only two kinds of errors are delivered without a `Pending`: those that `runner::run` returned
//!   itself, which RUNNER-1 permits to be delivered, and [`Error::Closed`] for a job that was
//!   dropped without being run, which never happens to an accepted job (PIPELINE-2).
//! - PIPELINE-2. An accepted transaction is run once (its closure again after a deadlock), and its
//!   result is delivered exactly once: also when the pipeline is closed, when the closure or its
//!   callback panics, and when the log fails. (If the conversion of its error panics there is no
//!   result: the wait for the ticket panics, and no callback is called.)
//! - PIPELINE-3. No queue is shared by all clients: an inbox, and the results that wait, belong to
//!   one agent. An idle agent takes jobs from other inboxes, so that a lock wait of one agent does
//!   not delay the jobs in its inbox. (What was begun stays with its agent: AGENT-1.)
//! - PIPELINE-4. An agent sleeps only when it has no result to deliver, no task to poll, and either
//!   no job to run or as many tasks as it may have. It is woken when that changes (INBOX-1 and
//!   INBOX-4; the log's completion queue, COMPLETION-1).
//! - PIPELINE-5. An agent delivers results in the order in which its transactions have ended.

mod agent;
mod inbox;
mod job;
mod own_errors;
mod spinning;
mod tasks;
mod ticket;

use std::sync::Arc;

use clearway_base::{Error, Result};
use clearway_sync::{
    CachePadded, Mutex,
    atomic::{AtomicUsize, Ordering},
    thread, thread_number,
};

use crate::{LentTransaction, Transaction, inner::Inner};
use agent::{Agent, AgentCounters};
use inbox::{Inbox, Refused};
use job::{Accepted, AsyncTask, Begin, Job, JobAtPage, PendingResult, Task, TaskPlace};
pub use ticket::Ticket;

/// Options of a [`Pipeline`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "options do nothing until `start`"]
pub struct PipelineOptions {
    agents: usize,
    backlog: usize,
    tasks: usize,
}

/// The default of [`PipelineOptions::tasks`].
const TASKS_DEFAULT: usize = 1024;
/// The default of [`PipelineOptions::backlog`].
const BACKLOG_DEFAULT: usize = 1 << 16;
/// Upper bound on the number of agents; more would not help.
const AGENTS_MAX: usize = 1024;

impl Default for PipelineOptions {
    fn default() -> PipelineOptions {
        PipelineOptions::new()
    }
}

impl PipelineOptions {
    /// Returns the default options, with one agent for each processor that the process can use.
    pub fn new() -> PipelineOptions {
        let agents = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        PipelineOptions { agents, backlog: BACKLOG_DEFAULT, tasks: TASKS_DEFAULT }
    }

    /// Sets the number of agents, the threads that run transactions, 1 to 1,024. One for each
    /// processor keeps the processors busy; a larger number is useful if the closures of
    /// [`submit`](Pipeline::submit) wait for locks or pages.
    pub fn agents(mut self, agents: usize) -> PipelineOptions {
        self.agents = agents;
        self
    }

    /// Sets the maximum number of transactions that are submitted and have not begun. Default
    /// 65,536.
    ///
    /// Each agent has an inbox of its own, which has room for an equal share of that number,
    /// rounded up, and for one transaction at least. A transaction is given to one inbox. If that
    /// has no room, the call fails with [`Error::BacklogFull`], even if other inboxes have room.
    pub fn backlog(mut self, transactions: usize) -> PipelineOptions {
        self.backlog = transactions;
        self
    }

    /// Sets the maximum number of closures that an agent has begun and not ended, at least 1.
    /// Default 1,024. Counted are asynchronous closures, and those of [`submit`](Pipeline::submit)
    /// that wait for a page in their fetch stage. While an agent has that number, it begins no
    /// other transaction, unless the pipeline is closed. Each of these closures takes the memory of
    /// its future and of its transaction.
    pub fn tasks(mut self, tasks: usize) -> PipelineOptions {
        self.tasks = tasks;
        self
    }

    /// Starts the agents of a database.
    pub(crate) fn start_for(self, database: &Arc<Inner>) -> Result<Pipeline> {
        if !(1..=AGENTS_MAX).contains(&self.agents) {
            let detail = format!("{} is not 1..={AGENTS_MAX}", self.agents);
            return Err(Error::BadOption { option: "agents", detail });
        }
        if self.tasks == 0 {
            return Err(Error::BadOption { option: "tasks", detail: "0 is not 1 or more".into() });
        }
        database.check_process()?;
        Pipeline::start(database, self)
    }
}

/// Counters of a pipeline's agents.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct PipelineStats {
    /// Transactions whose results were delivered.
    pub results: u64,
    /// Number of times that an agent delivered one or more results in a row.
    pub batches: u64,
    /// Number of times that an agent put its thread to sleep, because it had nothing to do or had
    /// begun as many closures as it may have ([`tasks`](PipelineOptions::tasks)). Waits for locks
    /// and pages are not counted.
    pub parks: u64,
    /// Transactions that an agent took out of the inbox of another one.
    pub stolen: u64,
}

/// The inbox of an agent.
type Jobs = Inbox<Accepted>;

/// The state that agents and clients share.
struct PipelineShared {
    database: Arc<Inner>,
    inboxes: Box<[CachePadded<Jobs>]>,
    counters: Box<[CachePadded<AgentCounters>]>,
    /// The number of agents that store a waker, or are about to; if it is 0, a submitter does not
    /// search for one.
    asleep: CachePadded<AtomicUsize>,
    /// The number of transactions that fit in one inbox.
    room: usize,
    /// The number of tasks that an agent may have.
    tasks_max: usize,
}

/// Runs the transactions of many clients on a few threads, its *agents*, and delivers each result
/// to its client when it is durable (under [`CommitMode::Lazy`](crate::CommitMode::Lazy), at once).
///
/// [`Database::submit`](crate::Database::submit) runs a closure on the caller's thread. A pipeline
/// is for programs whose clients are not threads: connections, sessions, tasks. It is shared by
/// reference or `Arc`. The database stays open as long as the pipeline exists, unless it is
/// [closed](crate::Database::close).
///
/// ```
/// use clearway::PipelineOptions;
/// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
/// let stock = db.table("stock")?;
/// let pipeline = PipelineOptions::new().agents(2).start(&db)?;
/// let clients: Vec<_> = (0..100u8)
///     .map(|n| {
///         let stock = stock.clone();
///         pipeline.submit("fill", move |tx| tx.insert(&stock, [n], "full"))
///     })
///     .collect::<Result<_, _>>()?;
/// for client in clients {
///     client.wait()?; // or client.await
/// }
/// pipeline.close();
/// # Ok::<(), clearway::Error>(())
/// ```
///
/// Closures run as in [`transact`](crate::Database::transact): more than once if the transaction is
/// a deadlock's victim, so they should have no effects other than through the transaction. Dropping
/// the pipeline [closes](Pipeline::close) it.
///
/// While an agent runs a closure of [`submit`](Pipeline::submit), its waits for locks, pages and
/// log space included, it delivers no results and polls no asynchronous closure. If all agents wait
/// in this way, no transaction is run. (An asynchronous closure does not keep its agent while it
/// waits, nor does any closure while it waits for a page in its fetch stage, see
/// [`Staging`](crate::Staging).) Therefore a closure must not wait for another result of the same
/// pipeline. If a closure needs a lock that an asynchronous closure of the same agent holds, it
/// fails with [`Error::SelfWait`], since the asynchronous closure cannot go on while this one
/// blocks the agent. While an [interactive transaction](crate::Database::begin) holds locks that
/// closures need, its owner must not wait for a result of the pipeline either.
pub struct Pipeline {
    shared: Arc<PipelineShared>,
    agents: Mutex<Vec<thread::JoinHandle<()>>>,
}

impl Pipeline {
    fn start(database: &Arc<Inner>, options: PipelineOptions) -> Result<Pipeline> {
        let shared = Arc::new(PipelineShared {
            database: Arc::clone(database),
            inboxes: (0..options.agents).map(|_| CachePadded::new(Inbox::new())).collect(),
            counters: (0..options.agents).map(|_| CachePadded::default()).collect(),
            asleep: CachePadded::default(),
            room: options.backlog.div_ceil(options.agents).max(1),
            tasks_max: options.tasks,
        });
        let pipeline = Pipeline { shared, agents: Mutex::new(Vec::new()) };
        for number in 0..options.agents {
            let shared = Arc::clone(&pipeline.shared);
            let builder = thread::Builder::new().name(format!("clearway-agent-{number}"));
            // On an error, the drop ends the agents that already run.
            let started = builder
                .spawn(move || Agent::new(shared, number).run())
                .map_err(|error| Error::io("start a thread for", &database.path, error))?;
            pipeline.agents.lock().push(started);
        }
        Ok(pipeline)
    }

    /// Gives the transaction `body` of type `name` to an agent, and returns a ticket with which a
    /// thread or a task can wait for its result. The call itself does not wait for the agent. While
    /// `body` waits for a lock, a page or log space, its agent is blocked; that of
    /// [`submit_async`](Pipeline::submit_async) is not.
    ///
    /// In a fetch stage (see [`Staging`](crate::Staging)) `body` does not wait for a page. The
    /// first one that is not in memory ends its run: all further operations return
    /// [`Error::Cancelled`], which it should return with `?`. The page is read while the agent runs
    /// other transactions, and then `body` is run again, in the fetch stage. So it may be run many
    /// times there, and its result is dropped each time. After 32 such runs, or one that has
    /// panicked, it waits for its pages.
    ///
    /// # Errors
    /// [`Error::BacklogFull`] if the agent's inbox has no room
    /// ([`backlog`](PipelineOptions::backlog)): submit again later; [`Error::Closed`] if the
    /// pipeline is closed. The ticket reports all other errors, [`Error::Closed`] among them if the
    /// database was closed.
    pub fn submit<T, B>(&self, name: &'static str, body: B) -> Result<Ticket<T>>
    where
        T: Send + 'static,
        B: FnMut(&mut Transaction) -> Result<T> + Send + 'static,
    {
        self.try_submit(name, body)
    }

    /// Gives the transaction `body` of type `name` to an agent, like [`submit`](Pipeline::submit).
    /// While the transaction waits for a lock, a page, log space, or for another future, its agent
    /// runs other transactions.
    ///
    /// The agent polls the future of `body` on its own thread. So the future needs no executor, and
    /// need not be able to move between threads. A future that belongs to an executor (a timer or a
    /// socket of tokio) works only if it can be polled outside of the executor.
    ///
    /// ```
    /// use clearway::PipelineOptions;
    /// # let db = clearway::Options::in_memory().cache_size(8 << 20).open("")?;
    /// let stock = db.table("stock")?;
    /// let pipeline = PipelineOptions::new().agents(2).start(&db)?;
    /// let clients: Vec<_> = (0..100u8)
    ///     .map(|n| {
    ///         let stock = stock.clone();
    ///         pipeline.submit_async("count", async move |mut tx| {
    ///             let count = tx.get_for_update(&stock, "bolt").await?;
    ///             let count = count.map_or(0, |count| count[0]);
    ///             tx.put(&stock, "bolt", [count + 1]).await?;
    ///             Ok(n)
    ///         })
    ///     })
    ///     .collect::<Result<_, _>>()?;
    /// for client in clients {
    ///     client.wait()?; // or client.await
    /// }
    /// assert_eq!(db.begin().get(&stock, "bolt")?, Some(vec![100]));
    /// # Ok::<(), clearway::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`submit`](Pipeline::submit).
    pub fn submit_async<T, B>(&self, name: &'static str, body: B) -> Result<Ticket<T>>
    where
        T: Send + 'static,
        B: AsyncFnMut(LentTransaction) -> Result<T> + Send + 'static,
    {
        self.try_submit_async(name, body)
    }

    /// Gives the transaction `body` of type `name` to an agent, which calls `done` with the result
    /// on its own thread, so that no other thread is woken. `done` should be short, since other
    /// results wait for it. It may submit the client's next transaction. If it panics, the panic
    /// hook is called, and the agent goes on.
    ///
    /// # Errors
    /// As for [`submit`](Pipeline::submit); `done` is not called in that case.
    pub fn submit_then<T, B, D>(&self, name: &'static str, body: B, done: D) -> Result<()>
    where
        T: Send + 'static,
        B: FnMut(&mut Transaction) -> Result<T> + Send + 'static,
        D: FnOnce(Result<T>) + Send + 'static,
    {
        self.try_submit_then(name, body, done)
    }

    /// Gives the transaction `body` of type `name` to an agent, like
    /// [`submit_async`](Pipeline::submit_async), and calls `done` with the result on the agent's
    /// thread, like [`submit_then`](Pipeline::submit_then).
    ///
    /// # Errors
    /// As for [`submit`](Pipeline::submit); `done` is not called in that case.
    pub fn submit_async_then<T, B, D>(&self, name: &'static str, body: B, done: D) -> Result<()>
    where
        T: Send + 'static,
        B: AsyncFnMut(LentTransaction) -> Result<T> + Send + 'static,
        D: FnOnce(Result<T>) + Send + 'static,
    {
        self.try_submit_async_then(name, body, done)
    }

    fn give(&self, job: Accepted) -> Result<()> {
        let shared = &*self.shared;
        shared.database.check_process()?;
        let home = agent::current(shared);
        let number = home.unwrap_or_else(|| next_of_thread() % shared.inboxes.len());
        match shared.inboxes[number].push(job, shared.room) {
            // An agent that submits to itself will run the job soon.
            Ok(woke) if woke || home.is_some() => Ok(()),
            // The agent is busy: a sleeping agent may take the job.
            Ok(_) => {
                shared.wake_one();
                Ok(())
            }
            Err(Refused::Full(_)) => Err(Error::BacklogFull { waiting: shared.room as u64 }),
            Err(Refused::Closed(_)) => Err(Error::Closed),
        }
    }

    /// Returns the counters since the pipeline was started.
    pub fn stats(&self) -> PipelineStats {
        self.shared.counters.iter().fold(PipelineStats::default(), |sum, agent| agent.add_to(sum))
    }

    /// Runs the transactions that were accepted, waits until all results are delivered, and ends
    /// the agents. The database stays open. If an agent makes the call, in a closure or a callback,
    /// the call does not wait for that agent.
    pub fn close(self) {
        drop(self);
    }

    pub(crate) fn end(&self) {
        self.shared.inboxes.iter().for_each(|inbox| inbox.close());
        let here = thread::current().id();
        let agents = std::mem::take(&mut *self.agents.lock());
        // Those that have stored no waker, too: they may have jobs to run now (INBOX-4).
        agents.iter().for_each(|agent| agent.thread().unpark());
        for agent in agents {
            // A callback may drop the last handle: its agent then ends on its own after the
            // callback.
            if agent.thread().id() != here {
                // The agent contains all panics.
                let _ = agent.join();
            }
        }
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        if self.shared.database.check_process().is_err() {
            // The agents and their jobs belong to the parent: the child runs, delivers and waits
            // for nothing, and what it has inherited stays in its memory.
            let agents = std::mem::take(self.agents.get_mut());
            std::mem::forget((Arc::clone(&self.shared), agents));
            return;
        }
        self.end();
    }
}

impl std::fmt::Debug for Pipeline {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pipeline")
            .field("agents", &self.shared.inboxes.len())
            .finish_non_exhaustive()
    }
}

impl PipelineShared {
    /// Wakes a sleeping agent, if there is one.
    fn wake_one(&self) {
        // Relaxed: ordered by the inboxes' mutexes (INBOX-4).
        if self.asleep.load(Ordering::Relaxed) > 0 {
            let _ = self.inboxes.iter().any(|inbox| inbox.wake());
        }
    }
}

/// Returns a number that increases with each call on this thread, with a different start on each
/// thread.
fn next_of_thread() -> usize {
    use std::cell::Cell;
    thread_local! {
        static NEXT: Cell<usize> = Cell::new(thread_number());
    }
    NEXT.with(|next| next.replace(next.get().wrapping_add(1)))
}

#[cfg(test)]
mod tests;
