//! Who can insert how much into the log's buffer, by the length of records: from 48 bytes to 12
//! KiB, by each strategy; copied into as much memory as the buffer has; and copied into
//! thread-local memory that the first cache holds.
//!
//! After "Aether: A Scalable Approach to Logging", section 6.3.2, figure 8 (right). Its last line,
//! where the hybrid takes its turn in the log but copies into thread-local memory, has no
//! counterpart: the log has no door through which bytes could go elsewhere. The two copies are
//! bounds from above: what there is to gain if all but the copying cost nothing.

use clap::Args;

use super::log_insert::{self, DECOUPLED, HYBRID, LOCK_FREE, Load, MUTEX, Mix, RATE, STRATEGIES};
use crate::{
    experiment::{Experiment, Lab, Outcome},
    report::{Claim, Findings, Grid},
    table::number,
    variants::{Sample, Samples},
};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "log_insert_sizes",
    source: "\"Aether: A Scalable Approach to Logging\", figure 8 (right)",
    shows: "the longer the records, the more bytes a second, up to what memory takes",
    seconds: 0.2,
    repetitions: 7,
    options: Options::augment_args,
    run,
    cases: &[],
};

#[derive(Args, Debug)]
struct Options {
    /// Threads
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..1_000))]
    threads: u32,
}

const SIZES: [usize; 5] = [48, 120, 1 << 10, 4 << 10, 12 << 10];
const COPY_AS_BUFFER: usize = STRATEGIES.len();
const COPY: usize = COPY_AS_BUFFER + 1;
/// How far the default may be behind the best.
const TOLERANCE: f64 = 0.1;
/// How many times as many bytes a second the longest records must bring as the shortest, where
/// fills run in parallel: there are 256 times fewer of them.
const GROWTH: f64 = 2.0;

fn run(lab: &Lab<'_>) -> Outcome<Findings> {
    let options: Options = lab.options()?;
    let points = SIZES.map(|size| format!("{size} bytes")).to_vec();
    let copies = ["copied, as much memory", "copied, no log"].map(String::from);
    let variants = [log_insert::names(), copies.to_vec()].concat();
    let samples = Samples::take(points, variants, lab.repetitions, |point, variant, _| {
        let load = Load { threads: options.threads as usize, mix: Mix::of(SIZES[point]) };
        measure(lab, load, variant)
    })?;
    let default = log_insert::default_strategy();
    let most = SIZES.len() - 1;
    let mut claims = Vec::new();
    for (point, size) in SIZES.iter().enumerate() {
        let what = format!("the default over the best strategy, {size} bytes");
        let seen = log_insert::over_best(&samples, point, default, STRATEGIES.len());
        claims.push(Claim::at_least(&what, 1.0 - TOLERANCE, seen));
    }
    for variant in [DECOUPLED, HYBRID, LOCK_FREE] {
        let what = format!("{}: longest records over shortest, MB/s", STRATEGIES[variant].0);
        let seen = log_insert::between(&samples, variant, most, 0);
        claims.push(Claim::at_least(&what, GROWTH, seen));
    }
    let over_copy = samples.ratio(most, default, COPY_AS_BUFFER, RATE).median;
    let wanted = format!("0.6 of copying, at 12288 bytes; seen {}", number(over_copy));
    let paper = "64 threads on 64 hardware contexts. With few processors the short records' \
                 contention is not seen, the bound by memory is. A record's bytes are read twice \
                 here, once for its checksum, which the paper's log does not have";
    Ok(Findings {
        settings: vec![
            ("threads", options.threads.into()),
            ("the paper's setting", paper.into()),
            ("here", log_insert::SETTING.into()),
            ("wanted of the default", wanted.into()),
        ],
        grids: vec![Grid { title: "inserts", samples, measure: RATE, baseline: MUTEX }],
        claims,
    })
}

fn measure(lab: &Lab<'_>, load: Load, variant: usize) -> Outcome<Sample> {
    match variant {
        COPY_AS_BUFFER => log_insert::copy_as_buffer(lab, load),
        COPY => log_insert::copy_locally(lab, load),
        _ => log_insert::insert(lab, log_insert::options(variant), load),
    }
}
