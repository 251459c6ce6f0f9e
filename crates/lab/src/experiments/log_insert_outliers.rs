//! The effect of occasional long records on the others: 48-byte records, and one of at most 32 KiB,
//! the longest that the log takes, after each sixty of them.
//!
//! After "Aether: A Scalable Approach to Logging", appendix A.3, figure 11. In the paper, each
//! release of the hybrid waits for all earlier records, and the hybrid stops scaling at outliers of
//! 8 KiB; with delegated release no thread waits. The hybrid of this log marks its records as
//! complete and does not wait for other threads either, so delegation has no advantage to show. All
//! strategies that fill outside of the latch must continue to scale where the paper's hybrid stops.

use clap::Args;
use clearway_variants::log::Strategy;

use super::{
    log_insert::{
        self, DECOUPLED, DELEGATED, HYBRID, LOCK_FREE, Load, Mix, RATE, STRATEGIES, TOLERANCE,
    },
    log_insert_threads::parse_length,
};
use crate::experiment::{
    About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen,
};

#[derive(Args, Debug)]
pub(super) struct LogInsertOutliers {
    /// Length of the common records, header included
    #[arg(long, default_value_t = 48, value_parser = parse_length)]
    common: usize,
}

/// The length of outliers, and the number of inserting threads.
const POINTS: [(usize, usize); 6] =
    [(48, 2), (8 << 10, 2), (32 << 10, 2), (48, 16), (8 << 10, 16), (32 << 10, 16)];
/// For each number of threads, the point at which the paper's hybrid stops scaling, and the last
/// point.
const STOPS: [(usize, usize); 2] = [(1, 2), (4, 5)];

impl Experiment for LogInsertOutliers {
    const ABOUT: About = About {
        name: "log_insert_outliers",
        source: "\"Aether: A Scalable Approach to Logging\", figure 11",
        shows: "no thread waits for a long record: delegated release is no better than links",
        seconds: 0.2,
        repetitions: 7,
    };
    type Point = (usize, usize);
    type Variant = Strategy;

    fn plan(&self, _lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        found.setting("bytes of a common record", self.common);
        let paper = "60 common records of 48 bytes for each outlier of up to 64 KiB and more, on \
                     64 hardware contexts. A record of this log is at most 32 KiB long. With more \
                     threads than processors a thread may lose its processor in the middle of a \
                     copy, which delays the waiting threads more than any record length";
        found.log_settings(paper);
        let points = POINTS.map(|(outlier, threads)| {
            (format!("outliers of {outlier} bytes, {threads} threads"), (outlier, threads))
        });
        Ok(vec![Grid::new("inserts", RATE, points, STRATEGIES).over(HYBRID)])
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let (outlier, threads) = *run.point;
        let mix = Mix { common: self.common, outlier: outlier.max(self.common) };
        log_insert::insert(run.lab, log_insert::options(*run.variant), Load { threads, mix })
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        let grid = &seen.grids[0];
        for (stops, end) in STOPS {
            let threads = POINTS[end].1;
            for variant in [DECOUPLED, HYBRID, DELEGATED, LOCK_FREE] {
                let name = STRATEGIES[variant].0;
                let what = format!("{name}, {threads} threads, MB/s: 32 KiB outliers over 8 KiB");
                found.at_least(what, 1.0, grid.between(variant, end, stops).median);
            }
            let what = format!("delegated over hybrid, 32 KiB outliers, {threads} threads");
            found.at_most(what, 1.0 + TOLERANCE, grid.over(end, DELEGATED, HYBRID));
        }
    }
}
