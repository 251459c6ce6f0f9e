//! The effect of early release of locks on TPC-C, on its mix and on each transaction alone: "Early
//! Lock Release", sections 5.1 and 5.2, figures 9 to 16.
//!
//! As in section 5.1: 10 warehouses and 10 clients for each, with a thread each, which wait for
//! their commits with or without their locks; a log as slow as the paper's disk. The third variant,
//! which the figures do not have, is early release with commits pipelined.
//!
//! Differences:
//! - There are fewer items, customers and orders, so that each run can begin with a copy of the
//!   same data. Transactions conflict on warehouses, districts and new orders. All orders are
//!   loaded as new, so that a run of deliveries alone does not exhaust them.
//! - The threads share this machine's processors; the paper had 64 hardware threads. With early
//!   release, deliveries, which are long, are limited by the processors; in the paper too.
//! - Two flushes may be in flight at a time.
//!
//! Order-status and stock-level only read and wait for no flush, so nothing is claimed of them.

use std::{cell::OnceCell, time::Duration};

use clap::Args;
use clearway_workloads::{Tpcc, TpccMix, TpccScale, TpccTransaction};

use super::runs::{self, BASELINE, Driven, Image, KEPT, RELEASED, RELEASES, Way};
use crate::experiment::{
    About, Experiment, Findings, Grid, Grids, Lab, Outcome, Run, Sample, Seen,
};

#[derive(Args)]
pub(super) struct ElrTpcc {
    /// Warehouses
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    warehouses: u32,
    /// Clients, each with a thread of its own unless commits are pipelined
    #[arg(long, default_value_t = 100, value_parser = clap::value_parser!(u32).range(1..=1_000))]
    clients: u32,
    /// Minimum time of a log flush, in microseconds
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
    /// The data that each run begins with.
    #[arg(skip)]
    image: OnceCell<Image>,
}

impl ElrTpcc {
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

/// A mix, and, if its speedup is claimed, the least value and the paper's.
struct Point {
    name: &'static str,
    mix: TpccMix,
    must: Option<(f64, &'static str)>,
}

/// Returns the points, the mix first.
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

/// The bytes of a cache that holds all the data.
const CACHE: u64 = 512 << 20;

impl Experiment for ElrTpcc {
    const ABOUT: About = About {
        name: "elr_tpcc",
        source: "\"Early Lock Release\", 5.1 and 5.2, figures 9 to 16",
        shows: "early release multiplies the throughput of TPC-C's mix, of payments and deliveries",
        seconds: 0.5,
        repetitions: 5,
    };
    type Point = TpccMix;
    type Variant = Way;

    fn plan(&self, _lab: &Lab, found: &mut Findings) -> Outcome<Grids<Self>> {
        found.setting("warehouses", self.warehouses);
        found.setting("clients", self.clients);
        found.setting("items", self.items);
        found.setting("customers of each district", self.customers);
        found.setting("orders of each district", self.orders);
        found.flush_setting(Duration::from_micros(self.flush))?;
        found.setting("the paper's setting", runs::PAPER_DISK);
        found.setting("the paper's new-orders", "1.31 times as many");
        let points = points().into_iter().map(|point| (point.name, point.mix));
        Ok(vec![Grid::new("TPC-C, by transaction", "tps", points, runs::variants(RELEASES))])
    }

    fn measure(&self, run: &Run<'_, Self>) -> Outcome<Sample> {
        let (way, mix) = (run.variant, *run.point);
        let image = runs::get_or_load(&self.image, || {
            Image::load(KEPT.options().cache_size(CACHE), |store| {
                Tpcc::prepare(store, self.scale(), TpccMix::Standard, 2, &|_| true).map(drop)
            })
        })?;
        let database = way.options().cache_size(CACHE);
        let store = image.open(database, Duration::from_micros(self.flush))?;
        let tpcc = Tpcc::prepare(&store, self.scale(), mix, 1, &|_| true)?;
        let driven = Driven::run(&store, &tpcc, &way.plan(run, self.clients))?;
        // A delivery delivers one order in each district of its warehouse.
        let orders = u64::from(self.warehouses) * u64::from(self.orders);
        if mix == TpccMix::Only(TpccTransaction::Delivery) && driven.commits() > orders * 9 / 10 {
            let problem = "nearly all orders were delivered: run shorter, or with more orders";
            return Err(problem.into());
        }
        Ok(driven.sample())
    }

    fn claims(&self, seen: &Seen<'_>, found: &mut Findings) {
        for (at, point) in points().iter().enumerate() {
            if let Some((bound, paper)) = point.must {
                let what = format!("early release, speedup of {} (paper: {paper})", point.name);
                found.at_least(what, bound, seen.grids[0].over(at, RELEASED, BASELINE));
            }
        }
    }
}
