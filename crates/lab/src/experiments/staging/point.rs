//! One measured run at a place.

use std::{collections::BTreeMap, time::Duration};

use clearway::Staging;
use clearway_testkit::disk::ServerStats;
use clearway_workloads::{Commit, Outcome as DriverOutcome, Plan, TpcbOrder};

use super::{
    counters::Counters,
    observed::TypeRuns,
    site::{Place, Site, Sites},
};
use crate::experiment::{Experiment, Outcome, Run};

/// The parameters of a run.
#[derive(Clone, Copy)]
pub(in super::super) struct Load {
    pub(in super::super) policy: Staging,
    /// Clients, each with a thread, which waits for its commits.
    pub(in super::super) clients: u32,
    /// The time for which each run of a closure computes.
    pub(in super::super) computation: Duration,
    /// The order of the statements of TPC-B.
    pub(in super::super) order: TpcbOrder,
}

impl Load {
    /// Clients of a slow disk, whose transactions compute nothing.
    pub(in super::super) fn new(policy: Staging, clients: u32) -> Load {
        let (computation, order) = (Duration::ZERO, TpcbOrder::Standard);
        Load { policy, clients, computation, order }
    }
}

/// The measurements of a run.
pub(in super::super) struct Ran {
    pub(super) outcome: DriverOutcome,
    pub(super) types: BTreeMap<&'static str, TypeRuns>,
    pub(super) before: Counters,
    pub(super) after: Counters,
    pub(super) disk: ServerStats,
}

impl Sites {
    /// Runs `load` at a place.
    pub(in super::super) fn run<E: Experiment>(
        &self,
        run: &Run<'_, E>,
        place: Place,
        load: &Load,
    ) -> Outcome<Ran> {
        let plan = run.plan(load.clients, None, Commit::Blocking);
        let mut site = self.at(place, run.lab.time)?;
        site.begin(load);
        let before = site.counters();
        let outcome = site.timed(true, &plan)?;
        let (after, disk) = (site.counters(), site.servers.stats());
        Ok(Ran { outcome, types: site.store.types(), before, after, disk })
    }

    /// Runs `load` at a place where nothing is read, with as many threads as processors. Returns
    /// the transactions of each second.
    pub(in super::super) fn run_cached<E: Experiment>(
        &self,
        run: &Run<'_, E>,
        place: Place,
        load: &Load,
    ) -> Outcome<f64> {
        let plan = run.plan(load.clients, None, Commit::Pipelined);
        let mut site = self.at(place, run.lab.time)?;
        site.begin(load);
        Ok(site.timed(false, &plan)?.tps())
    }
}

impl Site {
    fn begin(&mut self, load: &Load) {
        self.set_policy(load.policy);
        self.set_order(load.order);
        self.store.begin(load.computation);
    }

    /// Runs transactions, whose reads take time if `reads_wait`.
    fn timed(&mut self, reads_wait: bool, plan: &Plan) -> Outcome<DriverOutcome> {
        self.servers.set_on(reads_wait);
        self.servers.reset_stats();
        let ran = self.drive(plan);
        self.servers.set_on(false);
        ran
    }
}
