//! Asynchronous callers: the cost of a task where nothing waits, the throughput where every
//! transaction reads a page from the disk, and the time that a long chain of waiting sessions
//! needs.
//!
//! The bank is that of TPC-B, with accounts that are drawn uniformly. Where its data are ten times
//! the cache, a program without an engine (`bare`) does as many page reads, page writes and writes
//! of the log for each transaction as the engine has done, and syncs as often.

pub(super) mod bank;
mod bare;
mod sessions;

use std::time::Duration;

use clap::Args;
use clearway::Staging;

use crate::experiment::{
    About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen,
};
use bank::{Bank, Callers};
use bare::Work;

#[derive(Args, Debug)]
pub(super) struct AsyncCallers {
    /// Cache where the data exceed it, in MiB; the data are ten times as large
    #[arg(long, value_name = "MIB", default_value_t = 16,
          value_parser = clap::value_parser!(u64).range(4..=4096))]
    cache: u64,
    /// Sessions of the chain
    #[arg(long, default_value_t = 10_000,
          value_parser = clap::value_parser!(u64).range(2..=60_000))]
    sessions: u64,
}

/// The settings that are compared.
pub(super) enum Point {
    /// A bank that the cache holds.
    Cached,
    /// A bank that is ten times the cache, and the work of the disk for each of its transactions.
    Cold(Box<(Bank, Work)>),
    /// A chain of sessions, each of which waits for the one before.
    Sessions(u64),
}

/// The callers that are compared.
#[derive(Clone, Copy)]
pub(super) enum Variant {
    Engine(Callers),
    Bare,
    Sessions,
}

const AGENTS: usize = 2;
const CLOSURES: Callers = Callers {
    agents: AGENTS,
    clients: 64,
    is_async: false,
    staging: Staging::Automatic,
    branch_first: false,
};
const TASKS: Callers = Callers { is_async: true, ..CLOSURES };
const CACHED: [(&str, Variant); 2] =
    [("closures", Variant::Engine(CLOSURES)), ("async closures", Variant::Engine(TASKS))];
const COLD: [(&str, Variant); 5] = [
    ("bare", Variant::Bare),
    ("async, 64 clients", Variant::Engine(TASKS)),
    ("async, 1,024 clients", Variant::Engine(Callers { clients: 1_024, ..TASKS })),
    ("closures", Variant::Engine(CLOSURES)),
    ("closures, 8 agents", Variant::Engine(Callers { agents: 8, ..CLOSURES })),
];

/// The bounds of the claims.
const SHARE_CACHED: f64 = 0.97;
const SHARE_OF_BARE: f64 = 0.75;
const IN_FLIGHT: f64 = 32.0;
const KIB_FOR_EACH: f64 = 16.0;
const CHAIN_MS: f64 = 100.0;
const BUILD_MS: f64 = 2_000.0;

impl Experiment for AsyncCallers {
    const ABOUT: About = About {
        name: "async_callers",
        source: "nothing: a guarantee for programs with many clients and few threads",
        shows: "asynchronous closures cost little where nothing waits, keep the disk busy where \
                data exceed the cache, and thousands of waiting sessions need few threads",
        seconds: 3.0,
        repetitions: 5,
    };
    type Point = Point;
    type Variant = Variant;

    fn plan(&self, lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        let cold = Bank::load(self.cache << 20)?;
        // What a transaction costs the disk.
        let work = cold.run(TASKS, lab.time.max(Duration::from_secs(1)))?.work();
        found.setting("accounts, data ten times the cache", cold.accounts());
        found.setting("work of the disk for each transaction", work.to_string());
        let cached = [("in the cache", Point::Cached)];
        let cold = [("ten times the cache", Point::Cold(Box::new((cold, work))))];
        let chain = [(format!("{} sessions", self.sessions), Point::Sessions(self.sessions))];
        Ok(vec![
            Grid::new("TPC-B, in the cache", "tps", cached, CACHED),
            Grid::new("TPC-B, data ten times the cache", "tps", cold, COLD),
            Grid::new("a chain of sessions", "chain ms", chain, [("tasks", Variant::Sessions)]),
        ])
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let time = run.lab.time;
        match (run.point, run.variant) {
            (Point::Cached, Variant::Engine(callers)) => {
                Ok(Bank::in_memory()?.run(*callers, time)?.sample())
            }
            (Point::Cold(cold), Variant::Engine(callers)) => {
                Ok(cold.0.run(*callers, time)?.sample())
            }
            (Point::Cold(cold), Variant::Bare) => bare::run(cold.0.directory(), &cold.1, time),
            (Point::Sessions(count), _) => sessions::run(*count, AGENTS),
            (Point::Cached, _) | (Point::Cold(_), _) => unreachable!("not in the grid"),
        }
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        let [cached, cold, chain] = &seen.grids[..] else { return };
        found.at_least("async closures over closures", SHARE_CACHED, cached.over(0, 1, 0));
        found.at_least("64 clients over the bare program", SHARE_OF_BARE, cold.over(0, 1, 0));
        let in_flight = cold.median(0, 1, "in flight");
        found.at_least("page reads in flight, mean", IN_FLIGHT, in_flight);
        let memory = cold.median(0, 2, "KiB/client");
        found.at_most("KiB for each of 1,024 clients", KIB_FOR_EACH, memory);
        let first_to_last = chain.median(0, 0, "chain ms");
        found.at_most("ms from the first commit to the last grant", CHAIN_MS, first_to_last);
        found.at_most("ms to build the chain", BUILD_MS, chain.median(0, 0, "build ms"));
    }
}
