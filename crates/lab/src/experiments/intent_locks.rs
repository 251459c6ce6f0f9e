//! Compares lightweight intent locks with inherited ones and with intent locks in the lock table.
//!
//! After "Efficient Locking Techniques for Databases on Modern Hardware", section 6.3, figure 4:
//! transactions only take intent locks on the database and on the four tables of TPC-B, and release
//! them; half of them take IS, half IX. A given share of transactions takes absolute locks: X on
//! the tables with IX on the database, and 1 in 4 of these takes X on the database. The paper ran a
//! million transactions on 60 threads of a machine with 64 hardware threads, and plots the time
//! over the number of absolute locks. Here each variant runs for the same time on as many threads.
//!
//! If 60 threads share a few processors, they do not contend for a cache line but in the scheduler:
//! a thread that is preempted while it holds a lock delays all the others. The cost of the methods
//! themselves is counted in instructions, in turn on one thread, so the counts are exact. The
//! counted transactions are those of one owner, of sixty owners that hold their locks at the same
//! time, and of sixty owners one after the other with absolute locks in between.
//!
//! An owner that inherits IX and requests IS downgrades its lock, and one that inherits IS and
//! requests IX makes a new request: half of the transactions here. The points "all IX" avoid both,
//! and show inheritance at its best.

use std::{thread, time::Instant};

use clap::Args;
use clearway_base::Lsn;
use clearway_lock::{
    IntentMode::{self, IS, IX, X},
    LockOptions, LockOwner, LockTable, ResourceId, WaitLimit,
};
use clearway_sync::atomic::{AtomicBool, AtomicU64, Ordering};
use clearway_testkit::Random;
use clearway_variants::lock::{IntentMethod, LockVariants};

use crate::{
    callgrind::Case,
    experiment::{About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen},
};

#[derive(Args, Debug)]
pub(super) struct IntentLocks {
    /// Threads, each of which runs one transaction after the other
    #[arg(long, default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..1_000))]
    threads: u32,
}

const METHODS: [(&str, IntentMethod); 3] = [
    ("main table", IntentMethod::MainTable),
    ("inherited", IntentMethod::Inherited),
    ("lightweight", IntentMethod::Lightweight),
];
const MAIN_TABLE: usize = 0;
const INHERITED: usize = 1;
const LIGHTWEIGHT: usize = 2;

/// The numbers of transactions in a million that take absolute locks.
const ABSOLUTES: [u32; 5] = [0, 100, 1_000, 10_000, 100_000];
const MILLION: u64 = 1_000_000;
/// The number of tables of TPC-B.
const TABLES: u32 = 4;
/// The number of owners in the counted cases with several owners.
const OWNERS: usize = 60;
/// The number of counted transactions.
const ROUNDS: u64 = 10_000;
/// In the cases with absolute locks, one in this number of transactions takes them: 10,000 in a
/// million.
const ABSOLUTE_EVERY: u64 = 100;

/// The least ratio by which lightweight locks are ahead of inheritance in the paper.
const AHEAD: f64 = 3.0;

macro_rules! cases {
    ($($name:literal $does:ident $method:ident)*) => {
        &[$(Case {
            name: $name,
            rounds: ROUNDS,
            run: |rounds| $does(IntentMethod::$method, rounds),
        }),*]
    };
}

/// The counted cases: for each of the points, the methods in the order of [`METHODS`].
const CASES: &[Case] = cases! {
    "alone-main-table" alone MainTable
    "alone-inherited" alone Inherited
    "alone-lightweight" alone Lightweight
    "alone-ix-main-table" alone_in_ix MainTable
    "alone-ix-inherited" alone_in_ix Inherited
    "alone-ix-lightweight" alone_in_ix Lightweight
    "concurrent-main-table" concurrent MainTable
    "concurrent-inherited" concurrent Inherited
    "concurrent-lightweight" concurrent Lightweight
    "concurrent-ix-main-table" concurrent_in_ix MainTable
    "concurrent-ix-inherited" concurrent_in_ix Inherited
    "concurrent-ix-lightweight" concurrent_in_ix Lightweight
    "absolute-main-table" with_absolutes MainTable
    "absolute-inherited" with_absolutes Inherited
    "absolute-lightweight" with_absolutes Lightweight
};

/// The points of the counted cases.
const COUNTED: [&str; 5] = [
    "one owner",
    "one owner, all IX",
    "60 at a time",
    "60 at a time, all IX",
    "60 in turn, 1 of 100 absolute",
];
const COUNTED_ABSOLUTE: usize = 4;

/// The claimed order of the methods: for each pair the faster one, the slower one, and the least
/// ratio.
const ORDER: [(&str, usize, usize, f64); 2] = [
    ("lightweight over inherited", LIGHTWEIGHT, INHERITED, AHEAD),
    ("inherited over main table", INHERITED, MAIN_TABLE, 1.0),
];

impl Experiment for IntentLocks {
    const ABOUT: About = About {
        name: "intent_locks",
        source: "\"Efficient Locking Techniques for Databases on Modern Hardware\", figure 4",
        shows: "absolute locks do not slow lightweight intent locks, but end inheritance",
        seconds: 0.6,
        repetitions: 7,
    };
    const CASES: &'static [Case] = CASES;
    type Point = u32;
    type Variant = IntentMethod;

    fn counted(&self) -> Option<Grid<(), ()>> {
        let title = "instructions of a transaction (counted once)";
        let points = COUNTED.map(|point| (point, ()));
        let variants = METHODS.map(|(name, _)| (name, ()));
        Some(Grid::new(title, "instructions", points, variants).over(LIGHTWEIGHT))
    }

    fn plan(&self, _lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        found.setting("threads", self.threads);
        let paper = "60 threads on 64 hardware threads, where inheritance is 5 to 6 times as fast \
                     as the lock table and lightweight another 3 to 5 times. On few processors \
                     threads meet in the scheduler and not in cache lines, so throughput does not \
                     show that; and here all three methods use spin latches, not mutexes";
        found.setting("the paper's setting", paper);
        let points = ABSOLUTES.map(|n| (format!("{n} absolute in a million"), n));
        Ok(vec![Grid::new("throughput", "tps", points, METHODS).over(MAIN_TABLE)])
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        Ok(measure(run.lab, *run.variant, *run.point, self.threads))
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        if let Some(counted) = &seen.counted {
            for (name, above, below, bound) in ORDER {
                let what = format!("with absolute locks, instructions: {name}, inverted");
                found.at_least(what, bound, counted.over(COUNTED_ABSOLUTE, below, above));
            }
        }
        for (point, absolutes) in ABSOLUTES.iter().enumerate().filter(|(_, n)| **n > 0) {
            for (name, above, below, bound) in ORDER {
                let what = format!("{absolutes} absolute, throughput: {name}");
                found.at_least(what, bound, seen.grids[0].over(point, above, below));
            }
        }
    }
}

fn table(intent_locks: IntentMethod) -> LockTable {
    LockTable::new(LockOptions::default().lock_variant(intent_locks))
}

/// Draws the modes on the database and on the tables.
fn draw_modes(random: &mut Random, absolutes: u32) -> (IntentMode, IntentMode) {
    if random.below(MILLION) < u64::from(absolutes) {
        return (if random.one_in(4) { X } else { IX }, X);
    }
    if random.one_in(2) { (IS, IS) } else { (IX, IX) }
}

/// Takes the locks of a transaction, from the database down. This is a total order, so no deadlock
/// is possible.
fn lock(table: &LockTable, owner: &mut LockOwner, modes: (IntentMode, IntentMode)) {
    let mut take = |resource, mode| {
        let taken = table.acquire_intent(owner, resource, mode, WaitLimit::Forever);
        taken.expect("there is a total order");
    };
    take(ResourceId::DATABASE, modes.0);
    (1..=TABLES).for_each(|n| take(ResourceId(n), modes.1));
}

fn measure(lab: &Lab, method: IntentMethod, absolutes: u32, threads: u32) -> Sample {
    let (table, stop) = (table(method), AtomicBool::new(false));
    let done = AtomicU64::new(0);
    let work = |seed: u32| {
        let mut owner = table.owner();
        let mut random = Random::new(u64::from(seed));
        let mut count = 0;
        // Relaxed: only the number of rounds depends on when the thread sees the flag.
        while !stop.load(Ordering::Relaxed) {
            lock(&table, &mut owner, draw_modes(&mut random, absolutes));
            count += 1;
            table.release_all(&mut owner, Some(Lsn(count)));
        }
        done.fetch_add(count, Ordering::Relaxed);
    };
    let begun = Instant::now();
    thread::scope(|scope| {
        let work = &work;
        (0..threads).for_each(|seed| drop(scope.spawn(move || work(seed))));
        thread::sleep(lab.time);
        stop.store(true, Ordering::Relaxed);
    });
    let done = done.into_inner() as f64;
    let stats = table.stats();
    let per_million = |n: u64| n as f64 / done * MILLION as f64;
    vec![
        ("tps", done / begun.elapsed().as_secs_f64()),
        ("waits in a million", per_million(stats.intent_waits)),
        ("sleeps in a million", per_million(stats.parks)),
    ]
}

fn alone(method: IntentMethod, rounds: u64) -> Outcome<()> {
    let mut random = Random::new(1);
    turns(method, 1, rounds, |_| draw_modes(&mut random, 0))
}

fn alone_in_ix(method: IntentMethod, rounds: u64) -> Outcome<()> {
    turns(method, 1, rounds, |_| (IX, IX))
}

fn concurrent(method: IntentMethod, rounds: u64) -> Outcome<()> {
    let mut random = Random::new(1);
    at_a_time(method, rounds, || draw_modes(&mut random, 0))
}

fn concurrent_in_ix(method: IntentMethod, rounds: u64) -> Outcome<()> {
    at_a_time(method, rounds, || (IX, IX))
}

fn with_absolutes(method: IntentMethod, rounds: u64) -> Outcome<()> {
    let mut random = Random::new(1);
    turns(method, OWNERS, rounds, |round| {
        draw_modes(&mut random, if round % ABSOLUTE_EVERY == 0 { MILLION as u32 } else { 0 })
    })
}

/// Runs transactions of `owners` owners in turn, one after the other.
fn turns(
    method: IntentMethod,
    owners: usize,
    rounds: u64,
    mut modes: impl FnMut(u64) -> (IntentMode, IntentMode),
) -> Outcome<()> {
    let table = table(method);
    let mut owners: Vec<LockOwner> = (0..owners).map(|_| table.owner()).collect();
    let turn = owners.len();
    for round in 0..rounds {
        let owner = &mut owners[round as usize % turn];
        lock(&table, owner, modes(round));
        table.release_all(owner, Some(Lsn(round)));
    }
    Ok(())
}

/// Runs transactions of sixty owners in turn. Each transaction ends after the other fifty-nine
/// owners have begun another one.
fn at_a_time(
    method: IntentMethod,
    rounds: u64,
    mut modes: impl FnMut() -> (IntentMode, IntentMode),
) -> Outcome<()> {
    let table = table(method);
    let mut owners: Vec<LockOwner> = (0..OWNERS).map(|_| table.owner()).collect();
    for round in 0..rounds {
        let owner = &mut owners[round as usize % OWNERS];
        table.release_all(owner, Some(Lsn(round)));
        lock(&table, owner, modes());
    }
    Ok(())
}
