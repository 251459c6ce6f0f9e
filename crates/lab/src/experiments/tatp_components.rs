//! The effect of each component of a log, added one after the other: "Aether", section 6.4, figure
//! 9.
//!
//! As in the paper: TATP's update-location, a very short transaction on rows that no other
//! transaction uses, by number of clients. The baseline has a thread for each client, which waits
//! for its commits while it holds its locks, and a log buffer under one mutex. Then locks are
//! released early, then commits are pipelined, then the buffer is the paper's hybrid one (groups of
//! threads, fills in parallel), or the lock-free one that is this engine's default.
//!
//! Differences:
//! - There are fewer subscribers, so that each run can begin with a copy of the same data.
//! - With pipelined commits, a client may have a fixed number of transactions in flight, and a
//!   thread for each processor serves all clients. The paper's threads also run other transactions
//!   while the log is flushed.
//! - A log buffer becomes a bottleneck if many processors contend for it. With few processors the
//!   experiment can only show that the better buffers cost nothing.

use std::{cell::OnceCell, time::Duration};

use clap::Args;
use clearway_variants::log::{LogVariants, Strategy};
use clearway_workloads::{Tatp, TatpScale, TatpTransaction};

use super::runs::{self, Driven, EARLY, Image, KEPT, PIPELINED, Way};
use crate::experiment::{
    About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen,
};

#[derive(Args)]
pub(super) struct TatpComponents {
    /// Clients; each number is tried
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [4, 16, 64],
          value_parser = clap::value_parser!(u32).range(1..=1_000))]
    clients: Vec<u32>,
    /// Maximum number of transactions that a client has in flight, unless it waits for each
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    in_flight: u32,
    /// Minimum time of a log flush, in microseconds
    #[arg(long, value_name = "US", default_value_t = 100)]
    flush: u64,
    /// Subscribers
    #[arg(long, default_value_t = 20_000,
          value_parser = clap::value_parser!(u32).range(1_000..=1_000_000))]
    subscribers: u32,
    /// The data that each run begins with.
    #[arg(skip)]
    image: OnceCell<Image>,
}

/// The variants, each named for the component that it adds.
const VARIANTS: [(&str, (Way, Strategy)); 5] = [
    ("baseline", (KEPT, Strategy::Mutex)),
    ("+ early release", (EARLY, Strategy::Mutex)),
    ("+ pipelining", (PIPELINED, Strategy::Mutex)),
    ("+ hybrid buffer", (PIPELINED, Strategy::Hybrid)),
    ("+ lock-free buffer", (PIPELINED, Strategy::LockFree)),
];
const BASELINE: usize = 0;
const RELEASED: usize = 1;
const PIPELINED_AT: usize = 2;
const HYBRID: usize = 3;
const LOCK_FREE: usize = 4;

/// The least ratio for a component that brings no gain.
const FREE: f64 = 0.97;
/// The paper's speedup by early release and pipelining together.
const SPEEDUP: f64 = 1.68;

/// The bytes of a cache that holds all the data.
const CACHE: u64 = 512 << 20;

impl Experiment for TatpComponents {
    const ABOUT: About = About {
        name: "tatp_components",
        source: "\"Aether: A Scalable Approach to Logging\", 6.4, figure 9",
        shows: "of the components of a log, pipelined commits are worth most, and none costs \
                anything",
        seconds: 0.7,
        repetitions: 7,
    };
    type Point = u32;
    type Variant = (Way, Strategy);

    fn plan(&self, _lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        let in_flight = format!("{}, blocking: 1", self.in_flight);
        found.setting("in flight for each client", in_flight);
        found.setting("subscribers", self.subscribers);
        found.flush_setting(Duration::from_micros(self.flush))?;
        let paper = "64 hardware threads, 100,000 subscribers; pipelining is worth 68 %, the \
                     hybrid buffer another 7 %";
        found.setting("the paper's setting", paper);
        let points = self.clients.iter().map(|&clients| (format!("{clients} clients"), clients));
        Ok(vec![Grid::new("TATP's update-location, by clients", "tps", points, VARIANTS)])
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let (way, strategy) = run.variant;
        let scale = TatpScale { subscribers: self.subscribers };
        let image = runs::get_or_load(&self.image, || {
            Image::load(KEPT.options().cache_size(CACHE), |store| {
                Tatp::prepare(store, scale, None, 2, &|_| true).map(drop)
            })
        })?;
        let database = way.options().cache_size(CACHE);
        let store =
            image.open(database.log_strategy(*strategy), Duration::from_micros(self.flush))?;
        let only = Some(TatpTransaction::UpdateLocation);
        let tatp = Tatp::prepare(&store, scale, only, 1, &|_| true)?;
        let plan = way.plan_in_flight(run, *run.point, self.in_flight);
        Ok(Driven::run(&store, &tatp, &plan)?.sample())
    }

    /// Claims ratios over the repetitions of all points, and the speedup at the greatest number of
    /// clients.
    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        let grid = &seen.grids[0];
        let points: Vec<usize> = (0..grid.points.len()).collect();
        let last = points.len().saturating_sub(1);
        let what = format!("with pipelining over baseline, {} (paper: 1.68)", grid.points[last]);
        let speedup = grid.over(last, PIPELINED_AT, BASELINE);
        let free = |found: &mut Findings, what: &str, variant, without| {
            found.at_least(what, FREE, grid.ratio(&points, variant, without, "tps").median);
        };
        free(found, "early release over baseline", RELEASED, BASELINE);
        found.at_least(what, SPEEDUP, speedup);
        free(found, "hybrid buffer over mutex (paper: 1.07)", HYBRID, PIPELINED_AT);
        free(found, "lock-free buffer over mutex", LOCK_FREE, PIPELINED_AT);
    }
}
