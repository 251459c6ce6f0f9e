//! The throughput of inserts into the log's buffer, by threads: 120-byte records from 1 to 64
//! threads, by each strategy, and copied into thread-local memory, which is the throughput without
//! a log.
//!
//! After "Aether: A Scalable Approach to Logging", section 6.3.1, figure 8 (left). There 64 threads
//! ran on as many hardware contexts. The mutex saturates; consolidation has a cost at first and
//! scales; decoupling is the reverse; and both together combine their advantages.

use clap::Args;
use clearway_variants::log::Strategy;

use super::{
    log_insert::{
        self, CONSOLIDATED, COUNTED, DECOUPLED, EACH_NS, HYBRID, Insert, Load, MUTEX, Mix, RATE,
        RECORD, STRATEGIES,
    },
    log_read_back,
};
use crate::{
    callgrind::Case,
    experiment::{About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen},
    number::number,
    variants::Samples,
};

#[derive(Args, Debug)]
pub(super) struct LogInsertThreads {
    /// Length of a record, header included
    #[arg(long, default_value_t = RECORD, value_parser = parse_length)]
    bytes: usize,
}

pub(super) fn parse_length(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(bytes) if (48..=16 << 10).contains(&bytes) => Ok(bytes),
        _ => Err(format!("{text:?} is not a length from 48 to 16384")),
    }
}

const LEVELS: [usize; 7] = [1, 2, 4, 8, 16, 32, 64];
/// The maximum relative cost of consolidation for an insert by a thread that is alone.
const STARTUP: f64 = 0.05;

impl Experiment for LogInsertThreads {
    const ABOUT: About = About {
        name: "log_insert_threads",
        source: "\"Aether: A Scalable Approach to Logging\", figure 8 (left)",
        shows: "the default strategy inserts as much as the best one, from 1 to 64 threads",
        seconds: 0.2,
        repetitions: 7,
    };
    const CASES: &'static [Case] = &[
        case("mutex", |rounds| log_insert::insert_alone(Strategy::Mutex, rounds)),
        case("consolidated", |rounds| log_insert::insert_alone(Strategy::Consolidated, rounds)),
        case("decoupled", |rounds| log_insert::insert_alone(Strategy::Decoupled, rounds)),
        case("hybrid", |rounds| log_insert::insert_alone(Strategy::Hybrid, rounds)),
        case("delegated", |rounds| log_insert::insert_alone(Strategy::Delegated, rounds)),
        case("lock-free", |rounds| log_insert::insert_alone(Strategy::LockFree, rounds)),
    ];
    type Point = usize;
    type Variant = Insert;

    fn counted(&self) -> Option<Grid<(), ()>> {
        let title = "instructions of an insert of 120 bytes (counted once)";
        let variants = STRATEGIES.map(|(name, _)| (name, ()));
        Some(Grid::new(title, "instructions", [("one thread", ())], variants).over(MUTEX))
    }

    fn plan(&self, _lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        found.setting("bytes of a record", self.bytes);
        let paper = "64 threads on 64 hardware contexts, at 0.14 GB/s with a mutex and 1.5 GB/s \
                     with CD. On few processors threads share them, so the contention of many for \
                     one cache line cannot be measured here. The cost of a strategy by itself can, \
                     and the effect on the others of a thread that loses its processor during an \
                     insert";
        found.log_settings(paper);
        claim_order(found)?;
        let points = LEVELS.map(|level| (format!("{level} threads"), level));
        let mut variants = log_insert::variants();
        variants.push(("copied, no log", Insert::CopyLocally));
        let grid = Grid::new("inserts", RATE, points, variants);
        Ok(vec![grid.over(log_insert::default_strategy())])
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        run.variant.measure(run.lab, Load { threads: *run.point, mix: Mix::of(self.bytes) })
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        if let Some(counted) = &seen.counted {
            claim_startup(counted, found);
        }
        let grid = &seen.grids[0];
        found.default_is_best(grid);
        found.setting("wanted of the default", targets(grid, log_insert::default_strategy()));
    }
}

const fn case(name: &'static str, run: fn(u64) -> Outcome<()>) -> Case {
    Case { name, rounds: COUNTED, run }
}

/// Claims that no strategy loses, changes or reorders records. (The sizes wrap in every way, and
/// some records take a fourth of the buffer.)
fn claim_order(found: &mut Findings) -> Outcome<()> {
    let mix = Mix { common: RECORD, outlier: 16 << 10 };
    for (name, strategy) in STRATEGIES {
        let lost = log_read_back::lost(strategy, mix)?;
        found.at_most(format_args!("{name}: records lost or out of order"), 0.0, lost as f64);
    }
    Ok(())
}

/// Claims that a thread that is alone does not pay for consolidation.
fn claim_startup(counted: &Samples, found: &mut Findings) {
    for (name, above, below) in [
        ("consolidated over mutex", CONSOLIDATED, MUTEX),
        ("hybrid over decoupled", HYBRID, DECOUPLED),
    ] {
        let what = format!("instructions of one thread: {name}");
        found.at_most(what, 1.0 + STARTUP, counted.over(0, above, below));
    }
}

/// Returns the targets of the default beside the measured values. They are no claims: they are
/// about a quiet machine of this year, and do not apply to the code elsewhere.
fn targets(samples: &Samples, strategy: usize) -> String {
    let median = |point: usize, measure| samples.median(point, strategy, measure);
    let over_one = |point| number(samples.between(strategy, point, 0).median);
    format!(
        "40 ns an insert of 120 bytes (3,000 MB/s) by one thread, seen {} ns ({} MB/s); 1.6 times \
         that rate by 2 threads, seen {}; 0.9 times by 64, seen {}",
        number(median(0, EACH_NS)),
        number(median(0, RATE)),
        over_one(1),
        over_one(LEVELS.len() - 1)
    )
}
