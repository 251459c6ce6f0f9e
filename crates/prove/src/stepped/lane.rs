//! Many seeds, on some threads, until there are enough of them or the time is up.

use std::{
    io::{IsTerminal, Write},
    time::{Duration, Instant},
};

use clearway_sync::{
    Mutex,
    atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
};

use super::{Tally, catch_panics, run_seed};
use crate::oracles::Violation;

/// A seed that takes longer than this hangs.
const SEED_TIME_MAX: Duration = Duration::from_secs(60);
/// Failing seeds that are reported before the rest is given up.
const FAILURES_MAX: usize = if clearway_base::zoo::IS_OPEN { 1 } else { 10 };

/// Which seeds to run.
#[derive(Clone, Copy, Debug)]
pub struct Choice {
    /// The first.
    pub seed: u64,
    /// How many; without end if none is given and there is a time.
    pub seeds: Option<u64>,
    /// For how long.
    pub time: Option<Duration>,
    /// On how many threads.
    pub jobs: usize,
}

struct Lane {
    choice: Choice,
    next: AtomicU64,
    stopping: AtomicBool,
    tally: Mutex<Tally>,
    failures: Mutex<Vec<(u64, Violation)>>,
    /// What each thread is at, and since when.
    at: Vec<Mutex<Option<(u64, Instant)>>>,
}

/// Runs them, and prints what came of it. Answers whether all of them held.
pub fn run(choice: Choice) -> bool {
    catch_panics();
    let begun = Instant::now();
    let lane = Lane {
        next: AtomicU64::new(0),
        stopping: AtomicBool::new(false),
        tally: Mutex::default(),
        failures: Mutex::default(),
        at: (0..choice.jobs).map(|_| Mutex::new(None)).collect(),
        choice,
    };
    thread::scope(|scope| {
        let workers: Vec<_> =
            lane.at.iter().map(|at| scope.spawn(|| lane.work(at, begun))).collect();
        while !workers.iter().all(|worker| worker.is_finished()) {
            thread::sleep(Duration::from_millis(50));
            lane.watch(begun);
        }
    });
    lane.report(begun.elapsed())
}

impl Lane {
    fn work(&self, at: &Mutex<Option<(u64, Instant)>>, begun: Instant) {
        // Relaxed, here and below: counters that nothing else hangs on.
        while !self.stopping.load(Ordering::Relaxed) {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            let is_enough = self.choice.seeds.is_some_and(|seeds| number >= seeds)
                || self.choice.time.is_some_and(|time| begun.elapsed() >= time);
            if is_enough {
                break;
            }
            let seed = self.choice.seed.wrapping_add(number);
            *at.lock() = Some((seed, Instant::now()));
            let outcome = run_seed(seed);
            *at.lock() = None;
            *self.tally.lock() += outcome.tally;
            if let Err(violation) = outcome.verdict {
                self.fail(seed, violation);
            }
        }
    }

    fn fail(&self, seed: u64, violation: Violation) {
        clear_line();
        println!("{violation}");
        println!("{}", command(seed));
        let mut failures = self.failures.lock();
        failures.push((seed, violation));
        if failures.len() >= FAILURES_MAX {
            self.stopping.store(true, Ordering::Relaxed);
        }
    }

    /// Shows progress, and ends everything if a seed hangs.
    fn watch(&self, begun: Instant) {
        for at in &self.at {
            if let Some((seed, since)) = *at.lock()
                && since.elapsed() > SEED_TIME_MAX
            {
                clear_line();
                println!("Liveness: the seed does not end");
                println!("{}", command(seed));
                std::process::exit(2);
            }
        }
        if std::io::stderr().is_terminal() {
            let (tally, failures) = (*self.tally.lock(), self.failures.lock().len());
            let Tally { seeds, crashes, commits, .. } = tally;
            let seconds = begun.elapsed().as_secs();
            eprint!("\r{seconds} s: {seeds} seeds, {crashes} crashes, {commits} commits");
            eprint!(", {failures} failed ");
            let _ = std::io::stderr().flush();
        }
    }

    fn report(&self, took: Duration) -> bool {
        clear_line();
        let (tally, failures) = (*self.tally.lock(), self.failures.lock());
        println!("{tally}");
        let per_seed =
            took.as_secs_f64() * 1e3 * self.choice.jobs as f64 / tally.seeds.max(1) as f64;
        println!("per seed      {per_seed:>9.2} ms   in all {:.1} s", took.as_secs_f64());
        println!("failed        {:>12}", failures.len());
        failures.is_empty()
    }
}

/// How to run a seed again.
fn command(seed: u64) -> String {
    format!(
        "SEED={seed:#x} cargo run --profile prove -p clearway-prove -- \
         stepped --seed {seed:#x} --seeds 1"
    )
}

fn clear_line() {
    if std::io::stderr().is_terminal() {
        eprint!("\r\x1b[K");
    }
}
