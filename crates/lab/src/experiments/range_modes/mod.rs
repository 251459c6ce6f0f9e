//! What orthogonal key-range modes are worth: "Efficient Locking Techniques for Databases on Modern
//! Hardware", section 6.3, figure 3.
//!
//! As in the paper: each transaction does four range searches in a small teller table and then
//! updates one teller; P of 100 searches start and end at existing keys, the others between keys; 6
//! threads. The three protocols are those of `clearway::RangeProtocol`.
//!
//! What figure 3 can and cannot tell apart: a search that begins between keys locks the gap it
//! begins in; only the orthogonal modes leave the key beside that gap free for updates. At P = 100
//! all searches begin at keys, and orthogonal and Lomet's modes are the same. Next-key locking
//! differs from Lomet's modes where one transaction locks a key only and another the gap beside
//! it only: an update of a key never meets that in figure 3, so there the two conflict alike. The
//! paper's factor of 4 to 5 for the original Shore-MT has, as it says itself, other causes as well
//! (page layout). The second grid therefore puts inserts in the place of updates: four point
//! searches, and a new row right behind a teller.
//!
//! Differences: the paper's machine ran the six threads on as many processors; here two often must
//! do. Locks meet only if they are held while others run, so commits are blocking, locks are
//! kept until the commit is durable (early release off, as before the paper's section 5) and the
//! log's device takes the time of the paper's SSD. Beside throughput, waits and deadlocks of each
//! transaction are counted: they depend less on the machine.

mod tellers;

use std::time::Duration;

use clap::Args;
use clearway::{EarlyRelease, Options as DatabaseOptions, RangeProtocol};
use clearway_disk::MemoryDisk;
use clearway_testkit::disk::DelayedDisk;
use clearway_workloads::{ClearwayStore, Commit, Plan, drive};

use crate::{
    experiment::{Experiment, Lab, Outcome},
    machine,
    report::{Claim, Findings, Grid},
    variants::{Sample, Samples},
};
use tellers::{Tellers, Write};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "range_modes",
    source: "\"Efficient Locking Techniques for Databases on Modern Hardware\", 6.3, figure 3",
    shows: "orthogonal key-range modes wait least, most clearly where searches miss existing keys",
    seconds: 0.3,
    repetitions: 9,
    options: Options::augment_args,
    run,
    cases: &[],
};

#[derive(Args, Debug)]
struct Options {
    /// Tellers; each number is tried
    #[arg(long, value_delimiter = ',', default_values_t = [50, 200],
          value_parser = clap::value_parser!(u32).range(2..=100_000))]
    tellers: Vec<u32>,
    /// Searches of 100 that start and end at existing keys; each number is tried
    #[arg(long, value_name = "P", value_delimiter = ',', default_values_t = [0, 25, 50, 75, 100],
          value_parser = clap::value_parser!(u32).range(0..=100))]
    hits: Vec<u32>,
    /// How many gaps a search passes at most; each number up to it is as likely
    #[arg(long, default_value_t = 2)]
    span: u32,
    /// Threads
    #[arg(long, default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    threads: u32,
    /// What a log flush takes at least, in microseconds
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

/// What a median ratio may be off where nothing differs, as at P = 100.
const NOISE: f64 = 0.05;
/// The same for waits.
const SAME_WAITS: f64 = 0.05;

/// One point of a grid.
struct Point {
    tellers: u32,
    hits: u32,
    span: u32,
    write: Write,
}

fn run(lab: &Lab<'_>) -> Outcome<Findings> {
    let mut options: Options = lab.options()?;
    options.tellers.sort_unstable();
    let delay = Duration::from_micros(options.flush);
    let flush = machine::flush_p50_us(&DelayedDisk::new(MemoryDisk::new(), delay))?;
    let with = |hits: u32, span, write| {
        options.tellers.iter().map(move |&tellers| Point { tellers, hits, span, write })
    };
    let searches: Vec<Point> =
        options.hits.iter().flat_map(|&hits| with(hits, options.span, Write::Update)).collect();
    let inserts: Vec<Point> = with(100, 0, Write::Insert).collect();
    let figure = take(lab, &options, &searches)?;
    let inserting = take(lab, &options, &inserts)?;
    let mut claims = claims_of_figure(&figure, &searches);
    claims.extend(claims_of_inserts(&inserting));
    Ok(Findings {
        settings: vec![
            ("threads", options.threads.into()),
            ("commits", "blocking; locks are kept until durable (the paper's base, no ELR)".into()),
            ("median flush in µs (the paper's SSD: 20 to 50)", flush.round().into()),
            ("gaps that a search passes", format!("0 to {}, each as likely", options.span).into()),
        ],
        grids: vec![
            grid("figure 3: four range searches, then an update", figure, LOMET),
            grid("four point searches, then an insert behind a teller", inserting, NEXT_KEY),
        ],
        claims,
    })
}

fn grid(title: &'static str, samples: Samples, baseline: usize) -> Grid {
    Grid { title, samples, measure: "tps", baseline }
}

fn take(lab: &Lab<'_>, options: &Options, points: &[Point]) -> Outcome<Samples> {
    let name = |point: &Point| format!("P={} of {} tellers", point.hits, point.tellers);
    let names = points.iter().map(name).collect();
    let variants = PROTOCOLS.map(|(name, _)| name.to_string()).to_vec();
    Samples::take(names, variants, lab.repetitions, |point, variant, repetition| {
        measure(lab, options, &points[point], PROTOCOLS[variant].1, repetition)
    })
}

/// One run, on a database of its own.
fn measure(
    lab: &Lab<'_>,
    options: &Options,
    point: &Point,
    protocol: RangeProtocol,
    repetition: u32,
) -> Outcome<Sample> {
    let db = DatabaseOptions::new()
        .on_disk(DelayedDisk::in_memory(Duration::from_micros(options.flush)))
        .cache_size(32 << 20)
        .log_capacity(256 << 20)
        .early_release(EarlyRelease::None)
        .range_protocol(protocol)
        .open("lab")?;
    let store = ClearwayStore::new(db.clone());
    let Point { tellers, hits, span, write } = *point;
    let workload = Tellers::load(&store, tellers, hits, span, write)?;
    let plan = Plan {
        clients: options.threads,
        threads: None,
        commit: Commit::Blocking,
        duration: lab.time,
        // The same draws for all protocols of a repetition.
        seed: u64::from(repetition),
    };
    let before = db.stats().engine.lock;
    let outcome = drive(&store, &workload, &plan, &mut |_| true)?;
    let after = db.stats().engine.lock;
    let each = |count: u64| count as f64 / outcome.commits.max(1) as f64;
    Ok(vec![
        ("tps", outcome.tps()),
        ("waits/tx", each(after.waits - before.waits)),
        ("wait µs/tx", each(after.wait_us - before.wait_us)),
        ("deadlocks/tx", each(after.deadlocks - before.deadlocks)),
    ])
}

/// Figure 3: by waits, which the machine's noise does not move, and by throughput as there; each P
/// over all tables.
fn claims_of_figure(samples: &Samples, points: &[Point]) -> Vec<Claim> {
    let ratio = |hits: u32, measure| {
        let at: Vec<usize> = (0..points.len()).filter(|&at| points[at].hits == hits).collect();
        samples.ratio_at(&at, ORTHOGONAL, LOMET, measure).median
    };
    let all = |measure| points.iter().map(move |point| ratio(point.hits, measure));
    let fewest = points.iter().map(|point| point.hits).min().unwrap_or(0);
    let least_tps = all("tps").fold(f64::INFINITY, f64::min);
    let most_waits = all("waits/tx").fold(0.0, f64::max);
    let (what, here) =
        ("orthogonal over Lomet in", format!("where searches hit least, P={fewest}"));
    vec![
        Claim::at_most(&format!("{what} waits, each P"), 1.0 + SAME_WAITS, most_waits),
        Claim::at_most(&format!("{what} waits, {here}"), 0.8, ratio(fewest, "waits/tx")),
        Claim::at_least(&format!("{what} tps, each P"), 1.0 - NOISE, least_tps),
        Claim::at_least(
            &format!("{what} tps, {here} (the paper: up to 1.15)"),
            1.05,
            ratio(fewest, "tps"),
        ),
    ]
}

/// Where next-key locking is set apart: in the smallest table, which comes with the first point.
fn claims_of_inserts(samples: &Samples) -> Vec<Claim> {
    let waits = |variant| samples.spread(0, variant, "waits/tx").median;
    let tps = |variant| samples.ratio(0, variant, NEXT_KEY, "tps").median;
    vec![
        Claim::at_most("waits of an insert, orthogonal", 0.01, waits(ORTHOGONAL)),
        Claim::at_least("waits of an insert, next key", 0.1, waits(NEXT_KEY)),
        Claim::at_least("orthogonal over next key in tps, inserts", 1.05, tps(ORTHOGONAL)),
        Claim::at_least("Lomet over next key in tps, inserts", 1.05, tps(LOMET)),
    ]
}
