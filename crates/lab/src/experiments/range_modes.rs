//! The effect of orthogonal key-range modes: "Efficient Locking Techniques for Databases on Modern
//! Hardware", section 6.3, figure 3.
//!
//! As in the paper: each transaction does four range searches in a small teller table and then
//! updates one teller; P of 100 searches start and end at existing keys, the others between keys; 6
//! threads. The three protocols are those of `clearway_variants::txn::RangeProtocol`.
//!
//! Limits of figure 3: a search that begins between keys locks the gap it begins in, and only the
//! orthogonal modes leave the key beside that gap free for updates. At P = 100 all searches begin
//! at keys, and orthogonal and Lomet's modes are the same. Next-key locking differs from Lomet's
//! modes only if one transaction locks only a key and another only the gap beside it. An update of
//! a key never meets such a lock in figure 3, so there the two conflict alike. The paper's factor
//! of 4 to 5 for the original Shore-MT has, as the paper says, other causes as well (page layout).
//! The second grid therefore replaces updates by inserts: four point searches, and a new row
//! directly after a teller.
//!
//! Differences: the paper's machine ran the six threads on as many processors; here there are often
//! only two. Locks conflict only if they are held while other threads run. So commits are blocking,
//! locks are kept until the commit is durable (early release off, as before the paper's section 5),
//! and the log's device takes the time of the paper's SSD. Besides throughput, waits and deadlocks
//! of each transaction are counted: they depend less on the machine.

mod tellers;

use std::time::Duration;

use clap::Args;
use clearway::Options as DatabaseOptions;
use clearway_disk::MemoryDisk;
use clearway_testkit::disk::DelayedDisk;
use clearway_variants::txn::{EarlyRelease, RangeProtocol, TxnVariant, TxnVariants};
use clearway_workloads::{ClearwayStore, Commit};

use super::runs::Driven;
use crate::{
    experiment::{About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen},
    machine,
    variants::{Samples, greatest, least},
};
use tellers::{Tellers, Write};

#[derive(Args, Debug)]
pub(super) struct RangeModes {
    /// Tellers; each number is tried
    #[arg(long, value_delimiter = ',', default_values_t = [50, 200],
          value_parser = clap::value_parser!(u32).range(2..=100_000))]
    tellers: Vec<u32>,
    /// Percentage of searches that start and end at existing keys; each number is tried
    #[arg(long, value_name = "P", value_delimiter = ',', default_values_t = [0, 25, 50, 75, 100],
          value_parser = clap::value_parser!(u32).range(0..=100))]
    hits: Vec<u32>,
    /// Maximum number of gaps that a search passes; each number up to it is equally likely
    #[arg(long, default_value_t = 2)]
    span: u32,
    /// Threads
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    threads: u32,
    /// Minimum time of a log flush, in microseconds
    #[arg(long, value_name = "US", default_value_t = 50)]
    flush: u64,
}

const PROTOCOLS: [(&str, RangeProtocol); 3] = [
    ("Lomet", RangeProtocol::Lomet),
    ("orthogonal", RangeProtocol::Orthogonal),
    ("next key", RangeProtocol::NextKey),
];
const LOMET: usize = 0;
const ORTHOGONAL: usize = 1;
const NEXT_KEY: usize = 2;

/// The tolerance of a median ratio where the protocols do not differ, as at P = 100.
const NOISE: f64 = 0.05;
/// The same tolerance for waits.
const SAME_WAITS: f64 = 0.05;

/// One point of a grid.
#[derive(Clone, Copy)]
pub(super) struct Point {
    tellers: u32,
    hits: u32,
    span: u32,
    write: Write,
}

impl RangeModes {
    /// Returns a point for each size of the table, the smallest first.
    fn with(&self, hits: u32, span: u32, write: Write) -> Vec<(String, Point)> {
        let mut sizes = self.tellers.clone();
        sizes.sort_unstable();
        let point = |tellers| {
            (format!("P={hits} of {tellers} tellers"), Point { tellers, hits, span, write })
        };
        sizes.into_iter().map(point).collect()
    }

    /// Returns the points of the figure.
    fn searches(&self) -> Vec<(String, Point)> {
        let of_hits = |&hits: &u32| self.with(hits, self.span, Write::Update);
        self.hits.iter().flat_map(of_hits).collect()
    }

    /// Claims figure 3: by waits, which the machine's noise does not affect, and by throughput as
    /// in the paper; each P over all tables.
    fn claims_of_figure(&self, grid: &Samples, found: &mut Findings) {
        let points = self.searches();
        let ratio = |hits, measure| {
            let of_hits = |at: &usize| points[*at].1.hits == hits;
            let at: Vec<usize> = (0..points.len()).filter(of_hits).collect();
            grid.ratio(&at, ORTHOGONAL, LOMET, measure).median
        };
        let all = |measure| self.hits.iter().map(move |&hits| (hits, measure));
        let most_waits = greatest(all("waits/tx").map(|(hits, measure)| ratio(hits, measure)));
        let least_tps = least(all("tps").map(|(hits, measure)| ratio(hits, measure)));
        let fewest = self.hits.iter().copied().min().unwrap_or(0);
        let what = "orthogonal over Lomet in";
        let here = format!("where searches hit least, P={fewest}");
        found.at_most(format!("{what} waits, each P"), 1.0 + SAME_WAITS, most_waits);
        found.at_most(format!("{what} waits, {here}"), 0.8, ratio(fewest, "waits/tx"));
        found.at_least(format!("{what} tps, each P"), 1.0 - NOISE, least_tps);
        let what = format!("{what} tps, {here} (the paper: up to 1.15)");
        found.at_least(what, 1.05, ratio(fewest, "tps"));
    }
}

impl Experiment for RangeModes {
    const ABOUT: About = About {
        name: "range_modes",
        source: "\"Efficient Locking Techniques for Databases on Modern Hardware\", 6.3, figure 3",
        shows: "orthogonal key-range modes wait least, most clearly where searches miss existing \
                keys",
        seconds: 0.3,
        repetitions: 9,
    };
    type Point = Point;
    type Variant = RangeProtocol;

    fn plan(&self, _lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        let delay = Duration::from_micros(self.flush);
        let flush = machine::flush_p50_us(&DelayedDisk::new(MemoryDisk::new(), delay))?;
        found.setting("threads", self.threads);
        let commits = "blocking; locks are kept until durable (the paper's base, no ELR)";
        found.setting("commits", commits);
        found.setting("median flush in µs (the paper's SSD: 20 to 50)", flush.round());
        let gaps = format!("0 to {}, each as likely", self.span);
        found.setting("gaps that a search passes", gaps);
        let figure = "figure 3: four range searches, then an update";
        let inserting = "four point searches, then an insert behind a teller";
        let inserts = self.with(100, 0, Write::Insert);
        Ok(vec![
            Grid::new(figure, "tps", self.searches(), PROTOCOLS).over(LOMET),
            Grid::new(inserting, "tps", inserts, PROTOCOLS).over(NEXT_KEY),
        ])
    }

    /// Performs one run, on a new database.
    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let db = DatabaseOptions::new()
            .on_disk(DelayedDisk::in_memory(Duration::from_micros(self.flush)))
            .cache_size(32 << 20)
            .log_capacity(256 << 20)
            .txn_variant(TxnVariant { protocol: *run.variant, early_release: EarlyRelease::None })
            .open("lab")?;
        let store = ClearwayStore::new(db);
        let Point { tellers, hits, span, write } = *run.point;
        let workload = Tellers::load(&store, tellers, hits, span, write)?;
        let plan = run.plan(self.threads, None, Commit::Blocking);
        let driven = Driven::run(&store, &workload, &plan)?;
        Ok(vec![driven.tps(), driven.waits(), driven.wait_us(), driven.deadlocks()])
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        self.claims_of_figure(&seen.grids[0], found);
        claims_of_inserts(&seen.grids[1], found);
    }
}

/// Claims the advantage over next-key locking, in the smallest table, which is the first point.
fn claims_of_inserts(grid: &Samples, found: &mut Findings) {
    let waits = |variant| grid.median(0, variant, "waits/tx");
    found.at_most("waits of an insert, orthogonal", 0.01, waits(ORTHOGONAL));
    found.at_least("waits of an insert, next key", 0.1, waits(NEXT_KEY));
    let over_next_key = |variant| grid.over(0, variant, NEXT_KEY);
    found.at_least("orthogonal over next key in tps, inserts", 1.05, over_next_key(ORTHOGONAL));
    found.at_least("Lomet over next key in tps, inserts", 1.05, over_next_key(LOMET));
}
