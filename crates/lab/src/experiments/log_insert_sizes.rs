//! The throughput of inserts into the log's buffer, by the length of records: from 48 bytes to 12
//! KiB, by each strategy; copied into as much memory as the buffer has; and copied into
//! thread-local memory that the first-level cache holds.
//!
//! After "Aether: A Scalable Approach to Logging", section 6.3.2, figure 8 (right). The last line
//! of the figure, where the hybrid reserves its place in the log but copies into thread-local
//! memory, has no counterpart: the log has no interface that redirects the copy. The two copies are
//! upper bounds: the throughput if everything but the copy cost nothing.

use clap::Args;

use super::log_insert::{
    self, DECOUPLED, HYBRID, Insert, LOCK_FREE, Load, MUTEX, Mix, RATE, STRATEGIES,
};
use crate::{
    experiment::{About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen},
    number::number,
};

#[derive(Args, Debug)]
pub(super) struct LogInsertSizes {
    /// Threads
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..1_000))]
    threads: u32,
}

const SIZES: [usize; 5] = [48, 120, 1 << 10, 4 << 10, 12 << 10];
const COPY_AS_BUFFER: usize = STRATEGIES.len();
/// The least ratio of the bytes per second of the longest records to those of the shortest, where
/// fills run in parallel; there are 256 times fewer of the longest.
const GROWTH: f64 = 2.0;

impl Experiment for LogInsertSizes {
    const ABOUT: About = About {
        name: "log_insert_sizes",
        source: "\"Aether: A Scalable Approach to Logging\", figure 8 (right)",
        shows: "the longer the records, the more bytes a second, up to what memory takes",
        seconds: 0.2,
        repetitions: 7,
    };
    type Point = usize;
    type Variant = Insert;

    fn plan(&self, _lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        found.setting("threads", self.threads);
        let paper = "64 threads on 64 hardware contexts. With few processors the short records' \
                     contention is not seen, the bound by memory is. A record's bytes are read \
                     twice here, once for its checksum, which the paper's log does not have";
        found.log_settings(paper);
        let points = SIZES.map(|size| (format!("{size} bytes"), size));
        let mut variants = log_insert::variants();
        variants.push(("copied, as much memory", Insert::CopyAsBuffer));
        variants.push(("copied, no log", Insert::CopyLocally));
        Ok(vec![Grid::new("inserts", RATE, points, variants).over(MUTEX)])
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let load = Load { threads: self.threads as usize, mix: Mix::of(*run.point) };
        run.variant.measure(run.lab, load)
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        let (grid, most) = (&seen.grids[0], SIZES.len() - 1);
        found.default_is_best(grid);
        for variant in [DECOUPLED, HYBRID, LOCK_FREE] {
            let what = format!("{}: longest records over shortest, MB/s", STRATEGIES[variant].0);
            found.at_least(what, GROWTH, grid.between(variant, most, 0).median);
        }
        let over_copy = grid.over(most, log_insert::default_strategy(), COPY_AS_BUFFER);
        let wanted = format!("0.6 of copying, at 12288 bytes; seen {}", number(over_copy));
        found.setting("wanted of the default", wanted);
    }
}
