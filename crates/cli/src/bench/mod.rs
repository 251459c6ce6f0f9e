//! `clearway bench`: load data, run a workload on them, tell how it went, check the data.
//!
//! All that is common is in `run.rs` and `report.rs`; what a workload has of its own is behind
//! [`Bench`], in one file for each.

mod interrupt;
mod place;
mod probe;
mod progress;
mod work;

mod report;
mod run;
mod types;

mod tatp;
mod timings;
mod tpcb;
mod tpcc;

use clearway_workloads::{ClearwayStore, Outcome as Run, Workload};
use serde_json::{Map, Value};

use crate::{
    args::{BenchWorkload, RunArgs},
    failure::Outcome,
};
pub(crate) use tatp::TatpArgs;
pub(crate) use tpcb::TpcbArgs;
pub(crate) use tpcc::TpccArgs;

/// Runs the benchmark that the command line asks for.
pub(crate) fn run(workload: &BenchWorkload) -> Outcome {
    match workload {
        BenchWorkload::Tpcb(args) => run::run(args),
        BenchWorkload::Tatp(args) => run::run(args),
        BenchWorkload::Tpcc(args) => run::run(args),
    }
}

/// A benchmark: the options of a workload, which know how to make and how to judge it.
pub(crate) trait Bench {
    /// The workload, loaded.
    type Loaded: Workload<ClearwayStore>;
    /// What the check must know of the data as they were before the run.
    type Before;

    /// Its name on the command line and in the report.
    const NAME: &'static str;
    /// What is loaded, as in "cannot load the …".
    const DATA: &'static str;
    /// How it is told that the data are wrong.
    const UNSOUND: &'static str;

    /// The options that all benchmarks have.
    fn run_args(&self) -> &RunArgs;

    /// Rows that loading writes.
    fn rows(&self) -> u64;

    /// Opens the data, loading them first if they are not there. `progress` is told of new rows
    /// and answers whether to go on.
    fn prepare(
        &self,
        store: &ClearwayStore,
        threads: usize,
        progress: &(dyn Fn(u64) -> bool + Sync),
    ) -> clearway::Result<Self::Loaded>;

    /// Looks at the data before the run; `is_new` if they were loaded just now.
    fn before(
        &self,
        store: &ClearwayStore,
        loaded: &Self::Loaded,
        is_new: bool,
    ) -> Outcome<Self::Before>;

    /// Checks the data after the run, also for what the run was told to be committed.
    fn check(
        &self,
        store: &ClearwayStore,
        loaded: &Self::Loaded,
        before: &Self::Before,
        run: &Run,
        threads: usize,
    ) -> clearway::Result<Books>;

    /// What the report says of the run beyond what it says of every run.
    fn figures(&self, loaded: &Self::Loaded, run: &Run) -> Vec<Figure>;

    /// Whether clients pause between transactions, so that not all of them are in flight.
    fn thinks(&self) -> bool {
        false
    }

    /// Its own options, for the report.
    fn options(&self) -> Map<String, Value>;
}

/// A measured figure of one workload.
pub(crate) struct Figure {
    /// What it is, for people.
    pub(crate) label: &'static str,
    /// The figure, for people.
    pub(crate) text: String,
    /// What it is, for programs.
    pub(crate) field: &'static str,
    /// The figure, for programs.
    pub(crate) value: Value,
}

/// What a check found.
pub(crate) struct Books {
    /// Lines for people, each with its label.
    pub(crate) lines: Vec<(&'static str, String)>,
    /// The field and the object for programs.
    pub(crate) json: (&'static str, Value),
    /// Whether all is as it must be.
    pub(crate) is_consistent: bool,
    /// In a few words: how much was checked, or what is wrong.
    pub(crate) verdict: String,
}

#[cfg(test)]
mod tests;
