//! `clearway bench`: load data, run a workload on them, check the data, report.
//!
//! All that is common is in `run.rs` and `report.rs`; what a workload has of its own is behind
//! [`Bench`], in one file for each.

mod counted;
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

use clap::Args;
use clearway_workloads::{ClearwayStore, Outcome as Run, Workload};
use serde_json::Value;

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
        BenchWorkload::Tpcb(bench) => run::run(bench),
        BenchWorkload::Tatp(bench) => run::run(bench),
        BenchWorkload::Tpcc(bench) => run::run(bench),
    }
}

/// A benchmark: the options of a workload, which know how to make and how to judge it.
pub(crate) trait Bench: Args {
    /// The workload, loaded.
    type Loaded: Workload<ClearwayStore>;
    /// What the check must know of the data as they were before the run.
    type Before;

    /// Its name on the command line and in the report.
    const NAME: &'static str;
    /// What is loaded, as in "cannot load the …".
    const DATA: &'static str;
    /// What the program reports if the data are wrong.
    const UNSOUND: &'static str;

    /// Rows that loading writes.
    fn rows(&self) -> u64;

    /// Opens the data, loading them first if they are not there. `progress` is called with the
    /// number of new rows and returns whether to go on.
    fn prepare(
        &self,
        store: &ClearwayStore,
        threads: usize,
        progress: &(dyn Fn(u64) -> bool + Sync),
    ) -> clearway::Result<Self::Loaded>;

    /// Looks at the data before the run; `is_new` if they were loaded just now.
    fn before(&self, data: &Data<'_, Self>, is_new: bool) -> clearway::Result<Self::Before>;

    /// Checks the data after the run, by themselves and against the commits that were counted.
    fn check(
        &self,
        data: &Data<'_, Self>,
        before: &Self::Before,
        run: &Run,
    ) -> clearway::Result<Books>;

    /// What the report says of the run beyond what it says of every run.
    fn figures(&self, _loaded: &Self::Loaded, _args: &RunArgs, _run: &Run) -> Vec<Figure> {
        Vec::new()
    }

    /// Whether clients pause between transactions, so that not all of them are in flight.
    fn thinks(&self) -> bool {
        false
    }

    /// Its own options, for the report: an object.
    fn options(&self) -> Value;
}

/// The data of a benchmark, and how many threads may read them at a time.
pub(crate) struct Data<'a, B: Bench> {
    pub(crate) store: &'a ClearwayStore,
    pub(crate) loaded: &'a B::Loaded,
    pub(crate) threads: usize,
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
    /// For people.
    pub(crate) text: String,
    /// The field and the object for programs.
    pub(crate) json: (&'static str, Value),
    /// In a few words: how much was checked, or what is wrong.
    pub(crate) verdict: Result<String, String>,
}

#[cfg(test)]
mod tests;
