//! Workloads that make histories: threads that run planned transactions on a store at once, and
//! write down what they asked and were told.
//!
//! | workload | what it does |
//! | --- | --- |
//! | append | appends to lists, reads of lists and of ranges of lists |
//! | register | reads, blind writes, read-modify-writes, compare-and-set |
//! | range | rows inserted, replaced and removed under range reads in both directions |
//! | sum | transfers between rows, insertions and removals under sums over ranges |
//! | mixed | all of them, in the same transactions |
//!
//! Half of the threads run one transaction after the other. The other half keep several under way
//! and leave the waiting to a thread of its own. A quarter of the transactions only read; some
//! roll back to savepoints, some change their mind at the end; few keys are in use at a time. Keys
//! follow a pattern of the test kit, and many transactions write in another one (`patterned`).

mod agents;
mod patterned;
mod perform;
mod plan;
mod store;

use clearway::{Error, Result};
use clearway_sync::{
    Mutex,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

pub use patterned::pattern;
pub use store::{Access, Body, EngineStore, How, Place, Store, Ticket};

use crate::history::{Event, History};

/// What kind of transactions.
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
    /// All.
    Mixed,
}

impl Workload {
    /// All of them.
    pub const ALL: [Workload; 5] =
        [Workload::Append, Workload::Register, Workload::Range, Workload::Sum, Workload::Mixed];

    /// Its name.
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

/// How a workload is run.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What kind of transactions.
    pub workload: Workload,
    /// The plans depend on it alone; what threads make of them does not repeat.
    pub seed: u64,
    /// Transactions, besides the last reads.
    pub transactions: u64,
    /// Threads that wait for each of their transactions.
    pub waiting_threads: u64,
    /// Threads that do not.
    pub pipelining_threads: u64,
    /// Transactions that one of those keeps under way.
    pub under_way: u64,
    /// Which life of the database this is, if it crashed before. Ids and processes differ by it.
    pub life: u64,
    /// Transactions that were issued in earlier lives.
    pub issued_before: u64,
}

impl Settings {
    /// Settings for two processors and a short run.
    pub fn new(workload: Workload, seed: u64, transactions: u64) -> Settings {
        Settings {
            workload,
            seed,
            transactions,
            waiting_threads: 3,
            pipelining_threads: 2,
            under_way: 6,
            life: 0,
            issued_before: 0,
        }
    }
}

/// Transactions and processes of one life; the next life's follow.
const PER_LIFE: u64 = 1_000_000;

/// Takes down events. Each thread has its own, so that recording orders nobody.
pub trait Sink: Send {
    /// Takes down one event, before this returns.
    fn record(&mut self, event: &Event);
}

impl Sink for Vec<Event> {
    fn record(&mut self, event: &Event) {
        self.push(event.clone());
    }
}

/// What the threads of a run share.
struct Shared<'a> {
    store: &'a dyn Store,
    settings: &'a Settings,
    issued: AtomicU64,
    /// Set when something failed that should not, so that all stop.
    stop: AtomicBool,
    failure: Mutex<Option<Error>>,
}

impl Shared<'_> {
    /// The number of the next transaction, if there is one.
    fn next(&self) -> Option<u64> {
        // Relaxed: a counter, and a flag that may be seen late.
        let next = self.issued.fetch_add(1, Ordering::Relaxed);
        let go_on = next < self.settings.transactions && !self.stop.load(Ordering::Relaxed);
        go_on.then_some(next)
    }

    /// Whether an error is what can happen to a transaction of a healthy database.
    fn note(&self, error: &Error) {
        if !matches!(error, Error::Aborted { .. }) && !error.is_retryable() {
            self.failure.lock().get_or_insert_with(|| error.clone());
            self.stop.store(true, Ordering::Relaxed);
        }
    }
}

/// Runs a workload and then reads everything; `sink` makes a sink for each thread and `collect`
/// gets it back.
///
/// # Errors
/// The first error of a transaction that is no conflict and no planned rollback. The events are
/// complete then, too.
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

/// Runs a workload in memory of this process: its history, and the error that ended it, if any.
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

/// The number that stands at `at`; 0 if the bytes end before.
fn number(bytes: &[u8], at: usize) -> u64 {
    let bytes = bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok());
    u64::from_be_bytes(bytes.unwrap_or_default())
}
