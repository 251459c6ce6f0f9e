//! Inserts records into the log's buffer, and does nothing else. Shared by the experiments after
//! "Aether: A Scalable Approach to Logging".
//!
//! The log runs as in the engine, with its daemons, its checksums and its default buffer, over a
//! disk that discards all writes. No thread waits for durability. So the experiments measure the
//! insert into the buffer and the release of groups by the daemons, which share the processors with
//! the inserters. Log space is reserved for a batch of records at a time, as a transaction does.

use std::{hint::black_box, sync::Arc, sync::Barrier, thread, time::Instant};

use clearway_base::{Epoch, Lsn, TxnId};
use clearway_log::{HEADER_BYTES, Log, LogOptions, Record, record_bytes};
use clearway_sync::atomic::{AtomicBool, Ordering};
use clearway_variants::log::{LogVariants, Strategy};

use crate::{
    discard::DiscardingDisk,
    experiment::{Lab, Outcome},
    machine,
    report::Findings,
    variants::{Sample, Samples},
};

/// The strategies, with the letters that the paper has for them.
pub(super) const STRATEGIES: [(&str, Strategy); 6] = [
    ("mutex", Strategy::Mutex),
    ("consolidated (C)", Strategy::Consolidated),
    ("decoupled (D)", Strategy::Decoupled),
    ("hybrid (CD)", Strategy::Hybrid),
    ("delegated (CDME)", Strategy::Delegated),
    ("lock-free", Strategy::LockFree),
];
pub(super) const MUTEX: usize = 0;
pub(super) const CONSOLIDATED: usize = 1;
pub(super) const DECOUPLED: usize = 2;
pub(super) const HYBRID: usize = 3;
pub(super) const DELEGATED: usize = 4;
pub(super) const LOCK_FREE: usize = 5;

/// The measures: the bytes inserted per second, and the cost of an insert, in elapsed time and in
/// the inserters' processor time, which other programs on the machine lengthen less.
pub(super) const RATE: &str = "MB/s";
pub(super) const EACH_NS: &str = "ns each";
const EACH_CPU_NS: &str = "cpu ns each";

/// The relative deficit to the best variant that a variant claimed to be the best may have.
pub(super) const TOLERANCE: f64 = 0.1;

/// The length of the paper's average record.
pub(super) const RECORD: usize = 120;
/// The number of records for each log space reservation and each check of the stop flag: one
/// outlier among them.
const BATCH: u64 = 61;
/// More than an experiment can fill; segments that are not written cost nothing.
const SEGMENT_BYTES: u64 = 64 << 30;
const CAPACITY_BYTES: u64 = 1 << 50;
/// The bytes of thread-local memory that stay in the first-level cache, beside a record's source.
const LOCAL_BYTES: usize = 16 << 10;

/// The lengths of the records, headers included.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mix {
    pub(super) common: usize,
    /// The length of one record after each sixty common ones.
    pub(super) outlier: usize,
}

impl Mix {
    pub(super) fn of(bytes: usize) -> Mix {
        Mix { common: bytes, outlier: bytes }
    }

    pub(super) fn length(self, n: u64) -> usize {
        if n % BATCH == BATCH - 1 { self.outlier } else { self.common }
    }

    fn batch_bytes(self) -> u64 {
        (0..BATCH).map(|n| record_bytes(self.length(n) - HEADER_BYTES)).sum()
    }
}

/// The load of one run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) threads: usize,
    pub(super) mix: Mix,
}

/// The work of one thread.
struct Done {
    batches: u64,
    cpu_seconds: f64,
}

/// A variant: a strategy of the log, or a copy without a log.
#[derive(Clone, Copy)]
pub(super) enum Insert {
    Log(Strategy),
    /// Copies into as much memory as the log's buffer has, divided among the threads.
    CopyAsBuffer,
    /// Copies into memory that the first-level cache holds.
    CopyLocally,
}

impl Insert {
    pub(super) fn measure(self, lab: &Lab, load: Load) -> Outcome<Sample> {
        match self {
            Insert::Log(strategy) => insert(lab, options(strategy), load),
            Insert::CopyAsBuffer => {
                copy(lab, LogOptions::default().ring_bytes / load.threads, load)
            }
            Insert::CopyLocally => copy(lab, LOCAL_BYTES.max(load.mix.outlier), load),
        }
    }
}

/// Returns the strategies as variants.
pub(super) fn variants() -> Vec<(&'static str, Insert)> {
    STRATEGIES.map(|(name, strategy)| (name, Insert::Log(strategy))).to_vec()
}

impl Findings {
    /// Adds the paper's setting and the setting here.
    pub(super) fn log_settings(&mut self, paper: &str) {
        self.setting("the paper's setting", paper);
        let here = "the whole log with its daemons, checksums, log space reservations and the \
                    default buffer, over a disk that discards all writes; daemons and inserters \
                    share the processors";
        self.setting("here", here);
    }

    /// Claims that the default is as good as the best strategy at each point.
    pub(super) fn default_is_best(&mut self, grid: &Samples) {
        for (at, point) in grid.points.iter().enumerate() {
            let what = format!("the default over the best strategy, {point}");
            let seen = grid.over_best(at, default_strategy(), STRATEGIES.len());
            self.at_least(what, 1.0 - TOLERANCE, seen);
        }
    }
}

/// Returns the position of the engine's default among the strategies.
pub(super) fn default_strategy() -> usize {
    let is_default = |(_, strategy): &(&str, Strategy)| *strategy == Strategy::default();
    STRATEGIES.iter().position(is_default).unwrap_or(MUTEX)
}

pub(super) fn options(strategy: Strategy) -> LogOptions {
    let options = LogOptions {
        segment_bytes: SEGMENT_BYTES,
        capacity_bytes: CAPACITY_BYTES,
        ..LogOptions::default()
    };
    options.log_strategy(strategy)
}

fn start(options: LogOptions) -> Outcome<Arc<Log>> {
    let disk = Arc::new(DiscardingDisk);
    Ok(Log::start(disk, options, Lsn::ZERO, Epoch(1), Lsn::ZERO)?)
}

/// Inserts a batch, for which it reserves log space in advance.
fn insert_batch(log: &Log, txn: u64, mix: Mix, body: &[u8]) -> Outcome<()> {
    log.reserve_space(mix.batch_bytes())?;
    let mut prev = Lsn::ZERO;
    for n in 0..BATCH {
        let body = &[&body[..mix.length(n) - HEADER_BYTES]];
        prev = log.insert(&Record { kind: 1, txn: TxnId(txn), prev, body })?.start;
    }
    Ok(())
}

fn body_of(mix: Mix) -> Vec<u8> {
    vec![7; mix.common.max(mix.outlier)]
}

/// Runs threads that insert into one log for `lab.time`.
pub(super) fn insert(lab: &Lab, options: LogOptions, load: Load) -> Outcome<Sample> {
    let lap = options.ring_bytes as u64;
    let log = start(options)?;
    // The first lap touches the buffer's memory for the first time.
    let (longest, body) = (Mix::of(16 << 10), vec![7; 16 << 10]);
    while log.end().0 < lap {
        insert_batch(&log, 1, longest, &body)?;
    }
    log.wait_durable(log.end())?;
    let sample = run(lab, load, |thread| {
        let (log, body) = (&log, body_of(load.mix));
        move || insert_batch(log, thread, load.mix, &body)
    })?;
    log.close()?;
    Ok(sample)
}

/// Runs the same load without a log: each thread copies records into memory of its own, one after
/// the other until it is full, and then from its beginning.
fn copy(lab: &Lab, bytes: usize, load: Load) -> Outcome<Sample> {
    run(lab, load, |_| {
        let (body, mut memory, mut at) = (body_of(load.mix), vec![1; bytes], 0);
        move || {
            for n in 0..BATCH {
                let length = load.mix.length(n);
                at = if at + length <= memory.len() { at } else { 0 };
                memory[at..at + length].copy_from_slice(black_box(&body[..length]));
                at += length;
            }
            black_box(&mut memory);
            Ok(())
        }
    })
}

/// Runs batches on each thread for `lab.time`. `make` returns the batch of a thread.
fn run<B>(lab: &Lab, load: Load, make: impl Fn(u64) -> B + Sync) -> Outcome<Sample>
where
    B: FnMut() -> Outcome<()>,
{
    let (stop, ready) = (AtomicBool::new(false), Barrier::new(load.threads + 1));
    let work = |thread: usize| -> Outcome<Done> {
        let mut batch = make(thread as u64 + 1);
        let mut batches = 0;
        ready.wait();
        let cpu_before = machine::thread_cpu_seconds();
        // Relaxed: only the number of batches depends on when the thread sees the flag.
        while !stop.load(Ordering::Relaxed) {
            batch()?;
            batches += 1;
        }
        Ok(Done { batches, cpu_seconds: machine::thread_cpu_seconds() - cpu_before })
    };
    let (seconds, all) = thread::scope(|scope| {
        let work = &work;
        let spawn = |thread| scope.spawn(move || work(thread));
        let threads: Vec<_> = (0..load.threads).map(spawn).collect();
        ready.wait();
        let begun = Instant::now();
        thread::sleep(lab.time);
        stop.store(true, Ordering::Relaxed);
        let join = |thread: thread::ScopedJoinHandle<'_, _>| thread.join().expect("no panic");
        let all: Outcome<Vec<Done>> = threads.into_iter().map(join).collect();
        (begun.elapsed().as_secs_f64(), all)
    });
    let all = all?;
    let batches: u64 = all.iter().map(|done| done.batches).sum();
    let cpu: f64 = all.iter().map(|done| done.cpu_seconds).sum();
    let (records, bytes) = (batches * BATCH, batches * load.mix.batch_bytes());
    Ok(vec![
        (RATE, bytes as f64 / seconds / 1e6),
        (EACH_NS, seconds * 1e9 / records as f64),
        (EACH_CPU_NS, cpu * 1e9 / records as f64),
    ])
}

/// The number of counted records. The buffer holds twice as many, so that no group is among them.
pub(super) const COUNTED: u64 = 20_000;

/// Inserts records of [`RECORD`] bytes on one thread, for counting: with log space reserved in
/// advance, without daemons and without a group.
pub(super) fn insert_alone(strategy: Strategy, rounds: u64) -> Outcome<()> {
    let log = start(LogOptions { background: false, ..options(strategy) })?;
    let body = body_of(Mix::of(RECORD));
    log.reserve_space(rounds * RECORD as u64)?;
    let body: &[&[u8]] = &[&body[..RECORD - HEADER_BYTES]];
    for _ in 0..rounds {
        black_box(log.insert(&Record { kind: 1, txn: TxnId(1), prev: Lsn::ZERO, body })?);
    }
    Ok(())
}
