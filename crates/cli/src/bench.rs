//! `clearway bench`: loads data, runs a workload on them, checks the data and reports.
//!
//! `run.rs` and `report.rs` hold the parts that all workloads share. Each workload implements
//! [`Bench`] in a file of its own.

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

/// Runs the benchmark that the command line names.
pub(crate) fn run(workload: &BenchWorkload) -> Outcome {
    match workload {
        BenchWorkload::Tpcb(bench) => run::run(bench),
        BenchWorkload::Tatp(bench) => run::run(bench),
        BenchWorkload::Tpcc(bench) => run::run(bench),
    }
}

/// A benchmark: the options of a workload, with the functions that load, check and report it.
pub(crate) trait Bench: Args {
    /// The loaded workload.
    type Loaded: Workload<ClearwayStore>;
    /// The state of the data before the run, as far as the check needs it.
    type Before;

    /// The name on the command line and in the report.
    const NAME: &'static str;
    /// The name of the data, as in "cannot load the …".
    const DATA: &'static str;
    /// The error that the program reports if the data are inconsistent.
    const INCONSISTENT: &'static str;

    /// Returns the number of rows that loading writes.
    fn rows(&self) -> u64;

    /// Opens the data, and loads them first if they are absent. Calls `progress` with the number of
    /// new rows; loading continues while it returns true.
    fn prepare(
        &self,
        store: &ClearwayStore,
        threads: usize,
        progress: &(dyn Fn(u64) -> bool + Sync),
    ) -> clearway::Result<Self::Loaded>;

    /// Reads the state of the data before the run. `is_new` is true if the data were just loaded.
    fn before(&self, data: &Data<'_, Self>, is_new: bool) -> clearway::Result<Self::Before>;

    /// Checks the data after the run, both for consistency and against the counted commits.
    fn check(
        &self,
        data: &Data<'_, Self>,
        before: &Self::Before,
        run: &Run,
    ) -> clearway::Result<CheckResult>;

    /// Returns the workload's own figures, which the report adds to those of every run.
    fn figures(&self, _loaded: &Self::Loaded, _args: &RunArgs, _run: &Run) -> Vec<Figure> {
        Vec::new()
    }

    /// Returns true if clients pause between transactions, so that not all of them have a
    /// transaction in flight.
    fn thinks(&self) -> bool {
        false
    }

    /// Returns the workload's own options as a JSON object, for the report.
    fn options(&self) -> Value;
}

/// The data of a benchmark, and the number of threads that may read them at a time.
pub(crate) struct Data<'a, B: Bench> {
    pub(crate) store: &'a ClearwayStore,
    pub(crate) loaded: &'a B::Loaded,
    pub(crate) threads: usize,
}

/// A measured figure of one workload.
pub(crate) struct Figure {
    /// The label in the text.
    pub(crate) label: &'static str,
    /// The figure in the text.
    pub(crate) text: String,
    /// The field in the JSON object.
    pub(crate) field: &'static str,
    /// The value in the JSON object.
    pub(crate) value: Value,
}

/// The result of a check of the data.
pub(crate) struct CheckResult {
    /// A summary of the data, for the text.
    pub(crate) text: String,
    /// The field and its value in the JSON object.
    pub(crate) json: (&'static str, Value),
    /// A short description of what was checked, or of what is wrong.
    pub(crate) verdict: Result<String, String>,
}

#[cfg(test)]
mod tests;
