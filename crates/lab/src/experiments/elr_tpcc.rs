//! What early release of locks is worth to TPC-C, its mix and each transaction by itself: "Early
//! Lock Release", sections 5.1 and 5.2, figures 9 to 16.
//!
//! As in section 5.1: 10 warehouses and as many as 10 clients for each, with a thread each, which
//! wait for their commits with or without their locks; a log as slow as the paper's disk. The third
//! variant, which the figures do not have, is early release with commits pipelined.
//!
//! Differences:
//! - There are fewer items, customers and orders, so that each run can begin with a copy of the
//!   same data: locks meet on warehouses, districts and new orders. All orders are loaded as new,
//!   so that deliveries alone do not come to an end of them.
//! - The threads share this machine's processors; the paper had 64 hardware threads. Deliveries,
//!   which are long, are bound by processors with early release, in the paper too.
//! - Two flushes may be under way at a time.
//!
//! Order-status and stock-level only read, and wait for no flush: of them nothing is claimed.

use std::time::Duration;

use clap::Args;
use clearway_workloads::{Tpcc, TpccMix, TpccScale, TpccTransaction};

use super::runs::{self, EARLY, Image, KEPT, PIPELINED, Way};
use crate::{
    experiment::{Experiment, Lab, Outcome},
    report::{Claim, Findings, Grid},
    variants::{Sample, Samples},
};

pub(super) const EXPERIMENT: Experiment = Experiment {
    name: "elr_tpcc",
    source: "\"Early Lock Release\", 5.1 and 5.2, figures 9 to 16",
    shows: "early release multiplies the throughput of TPC-C's mix, of payments and deliveries",
    seconds: 0.5,
    repetitions: 5,
    options: Options::augment_args,
    run,
    cases: &[],
};

#[derive(Args, Debug)]
struct Options {
    /// Warehouses
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    warehouses: u32,
    /// Clients, each with a thread of its own unless commits are pipelined
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    clients: u32,
    /// What a log flush takes at least, in microseconds
    #[arg(long, value_name = "US", default_value_t = runs::PAPER_DISK_US)]
    flush: u64,
    /// Items
    #[arg(long, default_value_t = 5_000,
          value_parser = clap::value_parser!(u32).range(100..=100_000))]
    items: u32,
    /// Customers of each district
    #[arg(long, default_value_t = 300,
          value_parser = clap::value_parser!(u32).range(10..=3_000))]
    customers: u32,
    /// Orders of each district
    #[arg(long, default_value_t = 500,
          value_parser = clap::value_parser!(u32).range(10..=100_000))]
    orders: u32,
}

impl Options {
    fn scale(&self) -> TpccScale {
        TpccScale {
            warehouses: self.warehouses,
            items: self.items,
            customers_per_district: self.customers,
            orders_per_district: self.orders,
            new_orders_per_district: self.orders,
        }
    }
}

const WAYS: [Way; 3] = [KEPT, EARLY, PIPELINED];
const BASELINE: usize = 0;
const RELEASED: usize = 1;

/// A mix, what early release must be worth to it, and what it is in the paper.
struct Point {
    name: &'static str,
    mix: TpccMix,
    must: Option<(f64, &'static str)>,
}

/// The points, the mix first.
fn points() -> Vec<Point> {
    let must = |kind| match kind {
        TpccTransaction::Payment => Some((2.0, "2")),
        TpccTransaction::Delivery => Some((3.0, "3")),
        _ => None,
    };
    let only = |kind: TpccTransaction| Point {
        name: kind.name(),
        mix: TpccMix::Only(kind),
        must: must(kind),
    };
    let must = Some((2.0, "1.3, with 100 warehouses 2"));
    let mut points = vec![Point { name: "mix", mix: TpccMix::Standard, must }];
    points.extend(TpccTransaction::ALL.map(only));
    points
}

/// Bytes of cache that the data fit into.
const CACHE: u64 = 512 << 20;

fn run(lab: &Lab<'_>) -> Outcome<Findings> {
    let options: Options = lab.options()?;
    let flush = runs::flush_in_truth(Duration::from_micros(options.flush))?;
    let settings = vec![
        ("warehouses", options.warehouses.into()),
        ("clients", options.clients.into()),
        ("items", options.items.into()),
        ("customers of each district", options.customers.into()),
        ("orders of each district", options.orders.into()),
        ("median flush in µs", flush.into()),
        ("the paper's setting", runs::PAPER_DISK.into()),
        ("the paper's new-orders", "1.31 times as many".into()),
    ];
    let image = Image::load(KEPT.options().cache_size(CACHE), |store| {
        Tpcc::prepare(store, options.scale(), TpccMix::Standard, 2, &|_| true).map(drop)
    })?;
    let points = points();
    let names = points.iter().map(|point| point.name.to_string()).collect();
    let variants = runs::names(&WAYS);
    let samples = Samples::take(names, variants, lab.repetitions, |point, variant, repetition| {
        measure(lab, &options, &image, points[point].mix, &WAYS[variant], repetition)
    })?;
    let claim = |(at, point): (usize, &Point)| {
        let (bound, paper) = point.must?;
        let what = format!("early release, speedup of {} (paper: {paper})", point.name);
        Some(Claim::at_least(&what, bound, samples.ratio(at, RELEASED, BASELINE, "tps").median))
    };
    let claims = points.iter().enumerate().filter_map(claim).collect();
    let title = "TPC-C, by transaction";
    let grid = Grid { title, samples, measure: "tps", baseline: BASELINE };
    Ok(Findings { settings, grids: vec![grid], claims })
}

fn measure(
    lab: &Lab<'_>,
    options: &Options,
    image: &Image,
    mix: TpccMix,
    way: &Way,
    repetition: u32,
) -> Outcome<Sample> {
    let database = way.options().cache_size(CACHE);
    let flush = Duration::from_micros(options.flush);
    let store = image.open(database, flush)?;
    let tpcc = Tpcc::prepare(&store, options.scale(), mix, 1, &|_| true)?;
    let (sample, commits) =
        runs::measure(&store, &tpcc, &way.plan(lab, options.clients, repetition))?;
    // A delivery takes an order of each of its warehouse's districts.
    let orders = u64::from(options.warehouses) * u64::from(options.orders);
    if mix == TpccMix::Only(TpccTransaction::Delivery) && commits > orders * 9 / 10 {
        return Err("nearly all orders were delivered: run shorter, or with more orders".into());
    }
    Ok(sample)
}
