//! Workloads that produce histories: threads that run planned transactions on a store concurrently,
//! and record each request and its result.
//!
//! | workload | what it does |
//! | --- | --- |
//! | append | appends to lists, reads of lists and of ranges of lists |
//! | register | reads, blind writes, read-modify-writes, compare-and-set |
//! | range | rows inserted, replaced and removed under range reads in both directions |
//! | sum | transfers between rows, insertions and removals under sums over ranges |
//! | mixed | all of them, in the same transactions |
//!
//! Half of the threads run one transaction after the other. The other half keep several
//! transactions in progress and leave the waiting to a separate thread. A third of the transactions
//! are tasks, polled by their thread or by agents of a pipeline, of which operations, commits or
//! all are dropped now and then (`task`). A quarter of
//! the transactions only read; some roll back to savepoints, some abort at the end; few keys are in
//! use at a time. Keys follow a pattern of the test kit, and many transactions also write keys of
//! another pattern (`patterned`).

mod agents;
mod patterned;
mod perform;
mod plan;
mod requests;
mod store;
mod task;

use clearway::{Error, Result};
use clearway_sync::{
    Mutex,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

pub use patterned::pattern;
pub use store::{Access, Body, EngineStore, How, Place, Store, Ticket};

use crate::history::{Event, History};

/// The kind of transactions that a workload runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Workload {
    /// Lists.
    Append,
    /// Registers.
    Register,
    /// Rows and ranges of them.
    Range,
    /// Rows and sums of ranges of them.
    Sum,
    /// All of them, in the same transactions.
    Mixed,
}

impl Workload {
    /// All workloads.
    pub const ALL: [Workload; 5] =
        [Workload::Append, Workload::Register, Workload::Range, Workload::Sum, Workload::Mixed];

    /// Returns the workload's name.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Append => "append",
            Workload::Register => "register",
            Workload::Range => "range",
            Workload::Sum => "sum",
            Workload::Mixed => "mixed",
        }
    }
}

/// The settings of a run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The workload.
    pub workload: Workload,
    /// The seed. The plans depend on it alone; how threads interleave does not repeat.
    pub seed: u64,
    /// The number of transactions, without the final reads.
    pub transactions: u64,
    /// The number of threads that wait for each of their transactions.
    pub waiting_threads: u64,
    /// The number of threads that do not wait.
    pub pipelining_threads: u64,
    /// The number of transactions that each of the latter keeps in progress.
    pub under_way: u64,
    /// The incarnation of the database, counted in crashes. It makes ids and processes distinct.
    pub incarnation: u64,
    /// The number of transactions issued in earlier incarnations.
    pub issued_before: u64,
}

impl Settings {
    /// Returns settings for two processors and a short run.
    pub fn new(workload: Workload, seed: u64, transactions: u64) -> Settings {
        Settings {
            workload,
            seed,
            transactions,
            waiting_threads: 3,
            pipelining_threads: 2,
            under_way: 6,
            incarnation: 0,
            issued_before: 0,
        }
    }
}

/// Number of ids of transactions and processes for each incarnation; the next incarnation's follow.
const PER_INCARNATION: u64 = 1_000_000;

/// Records events. Each thread has a sink of its own, so that recording does not synchronize
/// threads.
pub trait Sink: Send {
    /// Records one event before it returns.
    fn record(&mut self, event: &Event);
}

impl Sink for Vec<Event> {
    fn record(&mut self, event: &Event) {
        self.push(event.clone());
    }
}

/// The state that the threads of a run share.
struct Shared<'a> {
    store: &'a dyn Store,
    settings: &'a Settings,
    issued: AtomicU64,
    /// Set after an unexpected failure, so that all threads stop.
    stop: AtomicBool,
    failure: Mutex<Option<Error>>,
}

impl Shared<'_> {
    /// Returns the number of the next transaction, if there is one.
    fn next(&self) -> Option<u64> {
        // Relaxed: a counter, and a flag that threads may see late.
        let next = self.issued.fetch_add(1, Ordering::Relaxed);
        let go_on = next < self.settings.transactions && !self.stop.load(Ordering::Relaxed);
        go_on.then_some(next)
    }

    /// Notes an error, unless it is one that a transaction of a healthy database can meet.
    fn note(&self, error: &Error) {
        if !matches!(error, Error::Aborted { .. }) && !error.is_retryable() {
            self.failure.lock().get_or_insert_with(|| error.clone());
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// Runs a workload and then reads everything. `sink` makes a sink for each thread, and `collect`
/// gets it back.
///
/// # Errors
/// The first error of a transaction that is neither a conflict nor a planned rollback. The events
/// are complete in that case, too.
pub fn run_with<S: Sink>(
    store: &dyn Store,
    settings: &Settings,
    sink: &(dyn Fn() -> S + Sync),
    collect: &(dyn Fn(S) + Sync),
) -> Result<()> {
    let shared = Shared {
        store,
        settings,
        issued: AtomicU64::new(0),
        stop: AtomicBool::new(false),
        failure: Mutex::new(None),
    };
    agents::run(&shared, sink, collect);
    shared.failure.into_inner().map_or(Ok(()), Err)
}

/// Runs a workload and keeps its events in memory. Returns the history, and the error that ended
/// the run, if any.
pub fn run(store: &dyn Store, settings: &Settings) -> (History, Result<()>) {
    let events = Mutex::new(Vec::new());
    let collect = |sink: Vec<Event>| events.lock().extend(sink);
    let result = run_with(store, settings, &Vec::new, &collect);
    let mut history = History {
        workload: settings.workload.name().to_owned(),
        seed: settings.seed,
        events: events.into_inner(),
        crashes: Vec::new(),
    };
    history.sort();
    (history, result)
}

/// The number at `at`; 0 if the bytes end before.
fn number(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
    u64::from_be_bytes(bytes.unwrap_or_default())
}
