//! Parts of the experiments on `clearway reorder`: transactions of `crates/reorder/examples`,
//! written for other databases, before and after the reordering.
//!
//! - [`workload`]: the transactions, their data, and the settings that vary contention.
//! - [`server`]: a server of its own, started for the experiment and stopped at its end.
//! - [`guard`]: the process that cleans up if the lab is killed.
//! - [`proxy`]: the delay of each round trip.
//! - [`rewriting`]: the reordered sources.
//! - [`programs`]: building the driver and running it.
//! - [`site`]: one place with all of this.
//! - [`prepared`]: the programs of a workload, and the choice of order and delay.
//! - [`comparison`]: the runs of an experiment's grids.
//! - [`formulation`]: the paper's integer linear program.
//!
//! The experiments do nothing in the process of the lab but wait: servers, proxy and driver are
//! processes of their own.

pub(super) mod comparison;
pub(super) mod formulation;
mod guard;
pub(super) mod prepared;
pub(super) mod programs;
mod proxy;
pub(super) mod rewriting;
mod server;
pub(super) mod site;
pub(super) mod workload;
