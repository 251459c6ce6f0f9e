//! Benchmark workloads over a small [`Store`] trait, so that the same workload code runs on
//! Clearway and on other transactional engines.
//!
//! - [`Store`], [`Operations`], [`Outstanding`]: the interface that a workload needs, and
//!   [`ClearwayStore`], the implementation over this project's engine.
//! - [`Tpcb`]: the TPC-B transaction, its loader and the consistency check of its data.
//! - [`Tpcc`]: TPC-C in full, its loader and the specification's twelve consistency conditions.
//! - [`Tatp`]: the seven transactions of TATP on a mobile network's subscribers, its loader and the
//!   check of its data.
//! - [`drive`]: runs a [`Workload`] with many clients over few threads, pipelined or blocking,
//!   and measures throughput and latency.
//! - [`Skew`], [`Histogram`], [`Usage`]: distributions over the test kit's random numbers, latency
//!   histograms, and operating system counters of a run.
//!
//! ```
//! use std::time::Duration;
//! use clearway_workloads::{ClearwayStore, Commit, Plan, Skew, Tpcb, TpcbScale, drive};
//!
//! let db = clearway::Options::in_memory().cache_size(16 << 20).open("bench")?;
//! let store = ClearwayStore::new(db);
//! let scale = TpcbScale { branches: 2, accounts_per_branch: 100 };
//! let bank = Tpcb::prepare(&store, scale, Skew::Uniform, 1, &|_rows| true)?;
//! let plan = Plan { clients: 4, threads: Some(1), commit: Commit::Pipelined,
//!                   duration: Duration::from_millis(50), seed: 1 };
//! let outcome = drive(&store, &bank, &plan, &mut |_tick| true)?;
//! assert!(outcome.commits > 0);
//! assert!(bank.check(&store, 1)?.is_consistent());
//! # Ok::<(), clearway::Error>(())
//! ```

mod skew;
mod usage;

mod clearway_store;
mod store;

mod driver;
mod loading;
mod tatp;
mod tpcb;
mod tpcc;

pub use clearway::Histogram;
pub use clearway_store::{ClearwayStore, ClearwayTransaction};
pub use clearway_testkit::program::{KeyBounds, Operations, ProgramError, ScanOrder};
pub use driver::{Commit, Outcome, Plan, Tick, TypeOutcome, Workload, drive};
pub use skew::{Sampler, Skew};
pub use store::{Outstanding, Store};
pub use tatp::{Tatp, TatpAudit, TatpClient, TatpScale, TatpTransaction};
pub use tpcb::{Tpcb, TpcbBalance, TpcbClient, TpcbOrder, TpcbScale};
pub use tpcc::{Tpcc, TpccClient, TpccMix, TpccReport, TpccScale, TpccThink, TpccTransaction};
pub use usage::Usage;
