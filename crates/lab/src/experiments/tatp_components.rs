//! What each component of a log is worth, one added to the other: "Aether", section 6.4, figure 9.
//!
//! As in the paper: TATP's update-location, a very short transaction on rows that nobody else
//! wants, by number of clients. The baseline has a thread for each client, which waits for its
//! commits with its locks, and a log buffer under one mutex; then locks go early, then commits are
//! pipelined, then the buffer is the paper's hybrid one (groups of threads, fills in parallel), or
//! the lock-free one that is this engine's default.
//!
//! Differences:
//! - There are fewer subscribers, so that each run can begin with a copy of the same data.
//! - Where commits are pipelined, a client may have some number of transactions in flight, and a
//!   thread for each processor serves all of them: the paper's threads go on to other transactions
//!   while the log is flushed, too.
//! - A log buffer becomes a bottleneck where many processors meet at it. On few, all that can be
//!   seen is that the better ones cost nothing.

use std::time::Duration;

use clap::Args;
use clearway::LogStrategy;
use clearway_workloads::{Commit, Tatp, TatpScale, TatpTransaction};
use serde_json::Value;

use super::runs::{self, EARLY, Image, KEPT, PIPELINED, Way};
use crate::{
    experiment::{Experiment, Lab, Outcome},
    report::{Claim, Findings, Grid},
    variants::{Sample, Samples},
};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "tatp_components",
    source: "\"Aether: A Scalable Approach to Logging\", 6.4, figure 9",
    shows: "of the components of a log, pipelined commits are worth most, and none costs anything",
    seconds: 0.7,
    repetitions: 7,
    options: Options::augment_args,
    run,
    cases: &[],
};

#[derive(Args, Debug)]
struct Options {
    /// Clients; each number is tried
    #[arg(long, value_name = "N", value_delimiter = ',', default_values_t = [4, 16, 64],
          value_parser = clap::value_parser!(u32).range(1..=1_000))]
    clients: Vec<u32>,
    /// Transactions that a client has in flight at most, unless it waits for each
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    in_flight: u32,
    /// What a log flush takes at least, in microseconds
    #[arg(long, value_name = "US", default_value_t = 100)]
    flush: u64,
    /// Subscribers
    #[arg(long, default_value_t = 20_000,
          value_parser = clap::value_parser!(u32).range(1_000..=1_000_000))]
    subscribers: u32,
}

/// What was added, and with what that makes.
const VARIANTS: [(&str, Way, LogStrategy); 5] = [
    ("baseline", KEPT, LogStrategy::Mutex),
    ("+ early release", EARLY, LogStrategy::Mutex),
    ("+ pipelining", PIPELINED, LogStrategy::Mutex),
    ("+ hybrid buffer", PIPELINED, LogStrategy::Hybrid),
    ("+ lock-free buffer", PIPELINED, LogStrategy::LockFree),
];
const BASELINE: usize = 0;
const RELEASED: usize = 1;
const PIPELINED_AT: usize = 2;
const HYBRID: usize = 3;
const LOCK_FREE: usize = 4;

/// What a component may cost at most where it is worth nothing.
const FREE: f64 = 0.97;
/// The paper's speedup by early release and pipelining together.
const SPEEDUP: f64 = 1.68;

/// Bytes of cache that the data fit into.
const CACHE: u64 = 512 << 20;

fn run(lab: &Lab<'_>) -> Outcome<Findings> {
    let options: Options = lab.options()?;
    let scale = TatpScale { subscribers: options.subscribers };
    let flush = runs::flush_in_truth(Duration::from_micros(options.flush))?;
    let paper = "64 hardware threads, 100,000 subscribers; pipelining is worth 68 %, the hybrid \
                 buffer another 7 %";
    let settings: Vec<(&'static str, Value)> = vec![
        ("in flight for each client", format!("{}, blocking: 1", options.in_flight).into()),
        ("subscribers", options.subscribers.into()),
        ("median flush in µs", flush.into()),
        ("the paper's setting", paper.into()),
    ];
    let image = Image::load(KEPT.options().cache_size(CACHE), |store| {
        Tatp::prepare(store, scale, None, 2, &|_| true).map(drop)
    })?;
    let names = options.clients.iter().map(|clients| format!("{clients} clients")).collect();
    let variants = VARIANTS.map(|(name, ..)| name.to_string()).to_vec();
    let samples = Samples::take(names, variants, lab.repetitions, |point, variant, repetition| {
        measure(lab, &options, &image, options.clients[point], variant, repetition)
    })?;
    let claims = claims(&samples);
    let title = "TATP's update-location, by clients";
    let grid = Grid { title, samples, measure: "tps", baseline: BASELINE };
    Ok(Findings { settings, grids: vec![grid], claims })
}

fn measure(
    lab: &Lab<'_>,
    options: &Options,
    image: &Image,
    clients: u32,
    variant: usize,
    repetition: u32,
) -> Outcome<Sample> {
    let (_, way, strategy) = VARIANTS[variant];
    let database = way.options().cache_size(CACHE);
    let flush = Duration::from_micros(options.flush);
    let store = image.open(database.log_strategy(strategy), flush)?;
    let scale = TatpScale { subscribers: options.subscribers };
    let only = Some(TatpTransaction::UpdateLocation);
    let tatp = Tatp::prepare(&store, scale, only, 1, &|_| true)?;
    let each = if way.commit == Commit::Blocking { 1 } else { options.in_flight };
    let (sample, _) = runs::measure(&store, &tatp, &way.plan(lab, clients * each, repetition))?;
    Ok(sample)
}

/// Over the repetitions of all points; the speedup where there are most clients.
fn claims(samples: &Samples) -> Vec<Claim> {
    let points: Vec<usize> = (0..samples.points.len()).collect();
    let free = |what: &str, variant, without| {
        let ratio = samples.ratio_at(&points, variant, without, "tps").median;
        Claim::at_least(what, FREE, ratio)
    };
    let last = points.len().saturating_sub(1);
    let ratio = samples.ratio(last, PIPELINED_AT, BASELINE, "tps").median;
    let what = format!("with pipelining over baseline, {} (paper: 1.68)", samples.points[last]);
    vec![
        free("early release over baseline", RELEASED, BASELINE),
        Claim::at_least(&what, SPEEDUP, ratio),
        free("hybrid buffer over mutex (paper: 1.07)", HYBRID, PIPELINED_AT),
        free("lock-free buffer over mutex", LOCK_FREE, PIPELINED_AT),
    ]
}
