//! Who can insert how much into the log's buffer, by threads: 120-byte records from 1 to 64
//! threads, by each strategy, and copied into thread-local memory, which is what it would be
//! without a log.
//!
//! After "Aether: A Scalable Approach to Logging", section 6.3.1, figure 8 (left). There 64 threads
//! ran on as many hardware contexts: the mutex saturates, consolidation costs something at first
//! and scales, decoupling is the other way round, and both together have the best of both.

use clap::Args;

use super::{
    log_insert::{
        self, CONSOLIDATED, DECOUPLED, EACH_NS, HYBRID, Load, MUTEX, Mix, RATE, RECORD, STRATEGIES,
    },
    log_read_back,
};
use crate::{
    callgrind::Case,
    experiment::{Experiment, Lab, Outcome},
    report::{Claim, Findings, Grid},
    table::number,
    variants::{Sample, Samples},
};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "log_insert_threads",
    source: "\"Aether: A Scalable Approach to Logging\", figure 8 (left)",
    shows: "the default strategy inserts as much as the best one, from 1 to 64 threads",
    seconds: 0.2,
    repetitions: 7,
    options: Options::augment_args,
    run,
    cases: &CASES,
};

#[derive(Args, Debug)]
struct Options {
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
const COPY: usize = STRATEGIES.len();
/// How far the default may be behind the best.
const TOLERANCE: f64 = 0.1;
/// How much more than without it an insert may take where consolidation has nothing to do.
const STARTUP: f64 = 0.05;

const CASES: [Case; 6] = [
    Case { name: "mutex", run: |rounds| log_insert::insert_alone(0, rounds) },
    Case { name: "consolidated", run: |rounds| log_insert::insert_alone(1, rounds) },
    Case { name: "decoupled", run: |rounds| log_insert::insert_alone(2, rounds) },
    Case { name: "hybrid", run: |rounds| log_insert::insert_alone(3, rounds) },
    Case { name: "delegated", run: |rounds| log_insert::insert_alone(4, rounds) },
    Case { name: "lock-free", run: |rounds| log_insert::insert_alone(5, rounds) },
];

fn run(lab: &Lab<'_>) -> Outcome<Findings> {
    let options: Options = lab.options()?;
    let (mut grids, mut claims) = (Vec::new(), claims_of_order()?);
    if let Some(samples) = log_insert::count(lab, "one thread", &CASES)? {
        claims.extend(claims_of_startup(&samples, "instructions"));
        let title = "instructions of an insert of 120 bytes (counted once)";
        grids.push(Grid { title, samples, measure: "instructions", baseline: MUTEX });
    }
    let points = LEVELS.map(|level| format!("{level} threads")).to_vec();
    let variants = [log_insert::names(), vec!["copied, no log".into()]].concat();
    let samples = Samples::take(points, variants, lab.repetitions, |point, variant, _| {
        measure(lab, Load { threads: LEVELS[point], mix: Mix::of(options.bytes) }, variant)
    })?;
    let default = log_insert::default_strategy();
    for (point, level) in LEVELS.iter().enumerate() {
        let what = format!("the default over the best strategy, {level} threads");
        let seen = log_insert::over_best(&samples, point, default, STRATEGIES.len());
        claims.push(Claim::at_least(&what, 1.0 - TOLERANCE, seen));
    }
    let targets = targets(&samples, default);
    grids.push(Grid { title: "inserts", samples, measure: RATE, baseline: default });
    let paper = "64 threads on 64 hardware contexts, at 0.14 GB/s with a mutex and 1.5 GB/s with \
                 CD. On few processors threads share them, so what many do to one cache line at a \
                 time cannot be seen here; what can is what a strategy costs by itself, and what \
                 becomes of the others when one loses its processor in the middle";
    Ok(Findings {
        settings: vec![
            ("bytes of a record", options.bytes.into()),
            ("the paper's setting", paper.into()),
            ("here", log_insert::SETTING.into()),
            ("wanted of the default", targets.into()),
        ],
        grids,
        claims,
    })
}

fn measure(lab: &Lab<'_>, load: Load, variant: usize) -> Outcome<Sample> {
    if variant == COPY {
        return log_insert::copy_locally(lab, load);
    }
    log_insert::insert(lab, log_insert::options(variant), load)
}

/// Every strategy keeps the log's promise. (Sizes that wrap in every way, and now and then a
/// record of a fourth of the buffer.)
fn claims_of_order() -> Outcome<Vec<Claim>> {
    let mix = Mix { common: RECORD, outlier: 16 << 10 };
    let claim = |(at, (name, _)): (usize, &(&str, _))| {
        let lost = log_read_back::lost(at, mix)?;
        Ok(Claim::at_most(&format!("{name}: records lost or out of order"), 0.0, lost as f64))
    };
    STRATEGIES.iter().enumerate().map(claim).collect()
}

/// Whoever is alone does not pay for consolidation.
fn claims_of_startup(samples: &Samples, measure: &str) -> Vec<Claim> {
    let pairs = [
        ("consolidated over mutex", CONSOLIDATED, MUTEX),
        ("hybrid over decoupled", HYBRID, DECOUPLED),
    ];
    let claim = |(name, above, below): (&str, usize, usize)| {
        let what = format!("{measure} of one thread: {name}");
        let seen = samples.ratio(0, above, below, measure).median;
        Claim::at_most(&what, 1.0 + STARTUP, seen)
    };
    Vec::from(pairs.map(claim))
}

/// What the default is wanted to do, beside what it did. No claims: they are about a quiet
/// machine of this year, and say nothing of the code elsewhere.
fn targets(samples: &Samples, strategy: usize) -> String {
    let median = |point: usize, measure| samples.spread(point, strategy, measure).median;
    let over_one = |point| number(log_insert::between(samples, strategy, point, 0));
    format!(
        "40 ns an insert of 120 bytes (3,000 MB/s) by one thread, seen {} ns ({} MB/s); 1.6 times \
         that rate by 2 threads, seen {}; 0.9 times by 64, seen {}",
        number(median(0, EACH_NS)),
        number(median(0, RATE)),
        over_one(1),
        over_one(LEVELS.len() - 1)
    )
}
