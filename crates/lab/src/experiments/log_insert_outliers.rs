//! What long records now and then do to the others: 48-byte records, and one of up to 32 KiB, the
//! longest that the log takes, after each sixty of them.
//!
//! After "Aether: A Scalable Approach to Logging", appendix A.3, figure 11. There the hybrid waits
//! with each release for all that stand before it, and stops to scale at outliers of 8 KiB; with
//! delegated release nobody waits. The hybrid of this log marks its records as complete and waits
//! for nobody either, so delegation has nothing to win; and all that fill outside of the latch must
//! go on where the paper's hybrid stops.

use clap::Args;

use super::{
    log_insert::{self, DECOUPLED, DELEGATED, HYBRID, LOCK_FREE, Load, Mix, RATE, STRATEGIES},
    log_insert_threads::parse_length,
};
use crate::{
    experiment::{Experiment, Lab, Outcome},
    report::{Claim, Findings, Grid},
    variants::Samples,
};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "log_insert_outliers",
    source: "\"Aether: A Scalable Approach to Logging\", figure 11",
    shows: "nobody waits for a long record: delegated release is no better than links",
    seconds: 0.2,
    repetitions: 7,
    options: Options::augment_args,
    run,
    cases: &[],
};

#[derive(Args, Debug)]
struct Options {
    /// Length of the common records, header included
    #[arg(long, default_value_t = 48, value_parser = parse_length)]
    common: usize,
}

/// The length of outliers, and how many threads insert.
const POINTS: [(usize, usize); 6] =
    [(48, 2), (8 << 10, 2), (32 << 10, 2), (48, 16), (8 << 10, 16), (32 << 10, 16)];
/// Where the paper's hybrid stops to scale, and the end, for each number of threads.
const STOPS: [(usize, usize); 2] = [(1, 2), (4, 5)];
/// How far ahead an equal may be.
const TOLERANCE: f64 = 0.1;

fn run(lab: &Lab<'_>) -> Outcome<Findings> {
    let options: Options = lab.options()?;
    let point = |(outlier, threads)| format!("outliers of {outlier} bytes, {threads} threads");
    let points = POINTS.map(point).to_vec();
    let variants = log_insert::names();
    let samples = Samples::take(points, variants, lab.repetitions, |point, variant, _| {
        let (outlier, threads) = POINTS[point];
        let mix = Mix { common: options.common, outlier: outlier.max(options.common) };
        log_insert::insert(lab, log_insert::options(variant), Load { threads, mix })
    })?;
    let claims = claims(&samples);
    let paper = "60 common records of 48 bytes for each outlier of up to 64 KiB and more, on 64 \
                 hardware contexts. A record of this log is at most 32 KiB long. With more threads \
                 than processors a thread may lose its processor in the middle of a copy, which is \
                 worse for those who wait for it than any length";
    Ok(Findings {
        settings: vec![
            ("bytes of a common record", options.common.into()),
            ("the paper's setting", paper.into()),
            ("here", log_insert::SETTING.into()),
        ],
        grids: vec![Grid { title: "inserts", samples, measure: RATE, baseline: HYBRID }],
        claims,
    })
}

fn claims(samples: &Samples) -> Vec<Claim> {
    let mut claims = Vec::new();
    for (stops, end) in STOPS {
        let threads = POINTS[end].1;
        for variant in [DECOUPLED, HYBRID, DELEGATED, LOCK_FREE] {
            let name = STRATEGIES[variant].0;
            let what = format!("{name}, {threads} threads, MB/s: 32 KiB outliers over 8 KiB");
            let seen = log_insert::between(samples, variant, end, stops);
            claims.push(Claim::at_least(&what, 1.0, seen));
        }
        let what = format!("delegated over hybrid, 32 KiB outliers, {threads} threads");
        let seen = samples.ratio(end, DELEGATED, HYBRID, RATE).median;
        claims.push(Claim::at_most(&what, 1.0 + TOLERANCE, seen));
    }
    claims
}
