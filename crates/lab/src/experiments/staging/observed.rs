//! A store that measures the stages of its transactions, by type; not those that are submitted.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant},
};

use clearway::{Error, Pending, Result, Stage, Table};
use clearway_sync::{Mutex, thread};
use clearway_testkit::disk::ThreadReads;
use clearway_workloads::{ClearwayStore, ClearwayTransaction, Store};

/// Runs of closures in one stage.
#[derive(Clone, Copy, Default, Debug)]
pub(in super::super) struct StageRuns {
    pub(in super::super) runs: u64,
    /// The time of all runs.
    pub(in super::super) time: Duration,
    /// Runs that read.
    pub(in super::super) reading: u64,
    /// Runs that ended with an error.
    pub(in super::super) failed: u64,
}

/// Transactions of one type. Their reads are those of their own threads: not those for which they
/// waited because another transaction was reading the same page, and not those of read-ahead.
#[derive(Clone, Copy, Default, Debug)]
pub(in super::super) struct TypeRuns {
    pub(in super::super) transactions: u64,
    /// From the start to durability, summed over them.
    pub(in super::super) time: Duration,
    /// Transactions that read in any stage.
    pub(in super::super) reading: u64,
    /// Their reads, and the time of these.
    pub(in super::super) reads: ThreadReads,
    pub(in super::super) fetch: StageRuns,
    pub(in super::super) operate: StageRuns,
}

impl StageRuns {
    fn add(&mut self, other: StageRuns) {
        self.runs += other.runs;
        self.time += other.time;
        self.reading += other.reading;
        self.failed += other.failed;
    }
}

impl TypeRuns {
    pub(in super::super) fn add(&mut self, other: &TypeRuns) {
        self.transactions += other.transactions;
        self.time += other.time;
        self.reading += other.reading;
        self.reads.count += other.reads.count;
        self.reads.time += other.reads.time;
        self.fetch.add(other.fetch);
        self.operate.add(other.operate);
    }
}

/// See the module. Clones share the measurements.
#[derive(Clone)]
pub(super) struct ObservedStore {
    inner: ClearwayStore,
    seen: Arc<Mutex<Seen>>,
}

#[derive(Default)]
struct Seen {
    types: BTreeMap<&'static str, TypeRuns>,
    /// The time for which each closure computes at its end.
    computation: Duration,
}

impl ObservedStore {
    pub(super) fn new(inner: ClearwayStore) -> ObservedStore {
        ObservedStore { inner, seen: Arc::default() }
    }

    /// The store that is observed.
    pub(super) fn inner(&self) -> &ClearwayStore {
        &self.inner
    }

    /// Begins new measurements, with closures that compute for this time.
    pub(super) fn begin(&self, computation: Duration) {
        *self.seen.lock() = Seen { types: BTreeMap::new(), computation };
    }

    /// Returns the measurements.
    pub(super) fn types(&self) -> BTreeMap<&'static str, TypeRuns> {
        self.seen.lock().types.clone()
    }

    /// Runs a closure as one of its runs, and adds the run to `seen`.
    fn run_once<T>(
        tx: &mut ClearwayTransaction<'_>,
        seen: &mut TypeRuns,
        computation: Duration,
        body: impl FnOnce(&mut ClearwayTransaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let (started, before) = (Instant::now(), ThreadReads::now());
        let result = body(tx);
        // At the end: an optimistic run that has asked before is not converted.
        let stage = tx.stage();
        if !computation.is_zero() && result.is_ok() {
            thread::sleep(computation);
        }
        let runs = if stage == Stage::Fetch { &mut seen.fetch } else { &mut seen.operate };
        let has_read = ThreadReads::now().count > before.count;
        runs.add(StageRuns {
            runs: 1,
            time: started.elapsed(),
            reading: has_read.into(),
            failed: result.is_err().into(),
        });
        result
    }
}

impl Store for ObservedStore {
    type Table = Table;
    type Error = Error;
    type Tx<'a> = ClearwayTransaction<'a>;
    type Pending<T: Send> = Pending<T>;

    fn table(&self, name: &str) -> Result<Table> {
        self.inner.table(name)
    }

    fn run<T, F>(&self, name: &'static str, mut body: F) -> Result<T>
    where
        T: Send,
        F: for<'a> FnMut(&mut ClearwayTransaction<'a>) -> Result<T>,
    {
        let (started, before, mut seen) = (Instant::now(), ThreadReads::now(), TypeRuns::default());
        let computation = self.seen.lock().computation;
        let result = self
            .inner
            .run(name, |tx| ObservedStore::run_once(tx, &mut seen, computation, &mut body));
        seen.transactions = 1;
        seen.time = started.elapsed();
        seen.reads = ThreadReads::now() - before;
        seen.reading = (seen.reads.count > 0).into();
        self.seen.lock().types.entry(name).or_default().add(&seen);
        result
    }

    fn submit<T, F>(&self, name: &'static str, body: F) -> Result<Pending<T>>
    where
        T: Send,
        F: for<'a> FnMut(&mut ClearwayTransaction<'a>) -> Result<T>,
    {
        self.inner.submit(name, body)
    }

    fn aborts(&self) -> u64 {
        self.inner.aborts()
    }
}
