//! The transactions of many clients on a few agent threads.
//!
//! ```text
//!   submit ─▶ inbox ─▶ agent: run ─▶ waiting results ─▶ told, all that are durable at once
//!             (one for each agent)   (the agent's own)
//! ```
//!
//! A client that waits for its commit costs nobody a thread: the agent goes on with the next
//! transaction, and whenever a flush has landed it tells all results that are durable by then, one
//! after the other, without a change of threads between them ("Aether", section 4, flush
//! pipelining).
//!
//! Invariants:
//! - P1. A result is told when it may be: [`Pending`] is asked, never gone around.
//! - P2. What was accepted is run and told, exactly once: also when the pipeline is closed, when
//!   the closure or its listener panics, and when the log fails.
//! - P3. No queue is every client's: an inbox belongs to one agent, and the results that wait are
//!   its alone. Who has nothing to do takes from others' inboxes, so that a lock wait of one agent
//!   does not hold up what it was given.
//! - P4. An agent sleeps only when it has nothing to run and no result to tell, and is woken when
//!   it has (`inbox.rs`, A1 and A4; the log's completion queue, C1).
//! - P5. An agent's results are told in the order in which it ran the transactions.

mod agent;
mod inbox;
mod job;
mod ticket;

use std::sync::Arc;

use clearway_base::{Error, Result};
use clearway_sync::{
    CachePadded, Mutex,
    atomic::{AtomicUsize, Ordering},
    thread, thread_number,
};

use crate::{Database, Pending, Transaction, database::Inner};
use agent::{Agent, Figures};
use inbox::{Inbox, Refused};
use job::{Job, Task};
pub use ticket::Ticket;

/// How a [`Pipeline`] is set up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use = "options do nothing until `start`"]
pub struct PipelineOptions {
    agents: usize,
    backlog: usize,
}

/// Transactions that may wait for their turn, unless told otherwise.
const BACKLOG_DEFAULT: usize = 1 << 16;
/// More agents than this help nobody.
const AGENTS_MAX: usize = 1024;

impl Default for PipelineOptions {
    fn default() -> PipelineOptions {
        PipelineOptions::new()
    }
}

impl PipelineOptions {
    /// The defaults: as many agents as there are processors.
    pub fn new() -> PipelineOptions {
        let agents = thread::available_parallelism().map_or(1, std::num::NonZero::get);
        PipelineOptions { agents, backlog: BACKLOG_DEFAULT }
    }

    /// How many threads run transactions, 1 to 1,024. One for each processor keeps them busy; more
    /// pay where transactions wait for locks or pages.
    pub fn agents(mut self, agents: usize) -> PipelineOptions {
        self.agents = agents;
        self
    }

    /// How many transactions may have been submitted and not begun; further ones are refused with
    /// [`Error::BacklogFull`]. Default 65,536.
    pub fn backlog(mut self, transactions: usize) -> PipelineOptions {
        self.backlog = transactions;
        self
    }

    /// Starts the agents.
    ///
    /// # Errors
    /// [`Error::BadOption`]; [`Error::Io`] if the system gives no thread.
    pub fn start(self, database: &Database) -> Result<Pipeline> {
        if !(1..=AGENTS_MAX).contains(&self.agents) {
            let detail = format!("{} is not 1..={AGENTS_MAX}", self.agents);
            return Err(Error::BadOption { option: "agents", detail });
        }
        database.inner.check_process()?;
        Pipeline::start(database, self)
    }
}

/// What the agents of a pipeline have done.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct PipelineStats {
    /// Transactions that were accepted and have been told.
    pub results: u64,
    /// Times that an agent told one or more results in a row.
    pub batches: u64,
    /// Times that an agent went to sleep: the changes of threads that it had by its own will, not
    /// counting those for locks and pages.
    pub rests: u64,
    /// Transactions that another agent ran than the one to whom they were given.
    pub stolen: u64,
}

/// What one agent is brought.
type Jobs = Inbox<Box<dyn Job>>;

/// What agents and clients share.
struct Shared {
    database: Arc<Inner>,
    inboxes: Box<[CachePadded<Jobs>]>,
    figures: Box<[CachePadded<Figures>]>,
    /// Agents that sleep or are about to: whoever finds none does not look for one.
    asleep: CachePadded<AtomicUsize>,
    /// Transactions that one inbox takes.
    room: usize,
    backlog: usize,
}

/// Runs the transactions of thousands of clients on a few threads, and tells each client its result
/// when it is durable.
///
/// Where [`submit`](Database::submit) runs the closure on the caller's thread, this is for programs
/// whose clients are no threads: connections, sessions, tasks. It is shared by reference or `Arc`.
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
/// Closures run as in [`transact`](Database::transact): more than once if they lose a conflict, so
/// they have no effects but through the transaction. Dropping the pipeline
/// [closes](Pipeline::close) it.
///
/// An agent whose transaction waits for a lock tells no results meanwhile, and if all agents do
/// nothing is run. So a closure must not wait for another result of the same pipeline, nor the
/// owner of an [interactive transaction](Database::begin) that holds locks which closures need.
pub struct Pipeline {
    shared: Arc<Shared>,
    agents: Mutex<Vec<thread::JoinHandle<()>>>,
}

impl Pipeline {
    fn start(database: &Database, options: PipelineOptions) -> Result<Pipeline> {
        let shared = Arc::new(Shared {
            database: Arc::clone(&database.inner),
            inboxes: (0..options.agents).map(|_| CachePadded::new(Inbox::new())).collect(),
            figures: (0..options.agents).map(|_| CachePadded::default()).collect(),
            asleep: CachePadded::default(),
            room: options.backlog.div_ceil(options.agents).max(1),
            backlog: options.backlog,
        });
        let pipeline = Pipeline { shared, agents: Mutex::new(Vec::new()) };
        for number in 0..options.agents {
            let agent = Agent::new(Arc::clone(&pipeline.shared), number);
            let builder = thread::Builder::new().name(format!("clearway-agent-{number}"));
            // On an error the drop ends those that run already.
            let started = builder
                .spawn(move || agent.run())
                .map_err(|error| Error::io("start a thread for", database.path(), error))?;
            pipeline.agents.lock().push(started);
        }
        Ok(pipeline)
    }

    /// Gives the transaction `body` of type `name` to an agent; its result comes by the ticket, for
    /// a thread or a task to wait for. Does not wait for anything.
    ///
    /// # Errors
    /// [`Error::BacklogFull`] if the [backlog](PipelineOptions::backlog) is full: submit again
    /// later; [`Error::Closed`] after [`close`](Pipeline::close). Everything else is the ticket's.
    pub fn submit<T, B>(&self, name: &'static str, body: B) -> Result<Ticket<T>>
    where
        T: Send + 'static,
        B: FnMut(&mut Transaction) -> Result<T> + Send + 'static,
    {
        self.shared.database.check_process()?;
        let (ticket, promise) = ticket::new();
        self.give(Box::new(Task::new(name, body, move |result| promise.keep(result))))?;
        Ok(ticket)
    }

    /// Gives the transaction `body` to an agent, which calls `done` with the result on its own
    /// thread: nobody is woken. `done` should be short, for other results wait behind it; it may
    /// submit the client's next transaction. If it panics, that is reported and harms nobody.
    ///
    /// # Errors
    /// As of [`submit`](Pipeline::submit); `done` is then not called.
    pub fn submit_then<T, B, D>(&self, name: &'static str, body: B, done: D) -> Result<()>
    where
        T: Send + 'static,
        B: FnMut(&mut Transaction) -> Result<T> + Send + 'static,
        D: FnOnce(Result<T>) + Send + 'static,
    {
        self.give(Box::new(Task::new(name, body, done)))
    }

    fn give(&self, job: Box<dyn Job>) -> Result<()> {
        let shared = &*self.shared;
        shared.database.check_process()?;
        let home = agent::current(shared);
        let number = home.unwrap_or_else(|| next_of_thread() % shared.inboxes.len());
        match shared.inboxes[number].push(job, shared.room) {
            // An agent that gives to itself comes to it soon.
            Ok(woke) if woke || home.is_some() => Ok(()),
            // The agent is busy: one that sleeps may take it.
            Ok(_) => {
                shared.wake_one();
                Ok(())
            }
            Err(Refused::Full(_)) => Err(Error::BacklogFull { waiting: shared.backlog as u64 }),
            Err(Refused::Closed(_)) => Err(Error::Closed),
        }
    }

    /// What has been done so far.
    pub fn stats(&self) -> PipelineStats {
        self.shared.figures.iter().fold(PipelineStats::default(), |sum, agent| agent.add_to(sum))
    }

    /// Takes no more transactions, runs those that were accepted, waits until all results are told,
    /// and ends the agents. The database stays open.
    pub fn close(self) {
        drop(self);
    }

    fn end(&self) {
        self.shared.inboxes.iter().for_each(|inbox| inbox.close());
        let here = thread::current().id();
        for agent in std::mem::take(&mut *self.agents.lock()) {
            // A listener may hold the last handle: its agent ends by itself after it.
            if agent.thread().id() != here {
                // It contains what panics in it.
                let _ = agent.join();
            }
        }
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        if self.shared.database.check_process().is_err() {
            // The agents are the parent's, and so is what they were given: nothing of it is run,
            // told or waited for here, and what the child has inherited stays in its memory.
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

impl Shared {
    /// Wakes one agent that sleeps, if there is one.
    fn wake_one(&self) {
        // Relaxed: ordered by the inboxes' mutexes (A4).
        if self.asleep.load(Ordering::Relaxed) > 0 {
            let _ = self.inboxes.iter().any(|inbox| inbox.wake());
        }
    }
}

/// A number that goes up with each call on this thread, and begins elsewhere on each.
fn next_of_thread() -> usize {
    use std::cell::Cell;
    thread_local! {
        static NEXT: Cell<usize> = Cell::new(thread_number());
    }
    NEXT.with(|next| next.replace(next.get().wrapping_add(1)))
}

/// What a transaction that was run is waiting for.
enum Ran<T> {
    Not,
    Waits(Pending<T>),
    Failed(Error),
}

#[cfg(test)]
mod tests;
