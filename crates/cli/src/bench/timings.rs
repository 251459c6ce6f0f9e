//! Lock hold times and waits for the log of each transaction type, as text and as JSON.

use std::fmt::{self, Write as _};

use clearway::{Histogram, TypeTimings};
use clearway_workloads::Outcome as Run;
use serde_json::{Value, json};

use crate::units::{micros, time};

/// Returns the types that belong to the run, without those of loading and checking.
fn of_run<'a>(run: &Run, timings: &'a [TypeTimings]) -> impl Iterator<Item = &'a TypeTimings> {
    let names: Vec<_> = run.types.iter().map(|kind| kind.name).collect();
    timings.iter().filter(move |timings| names.contains(&&*timings.name))
}

/// Writes a line for each type.
pub(crate) fn write(run: &Run, timings: &[TypeTimings], out: &mut String) -> fmt::Result {
    let both =
        |h: &Histogram| format!("p50 {}, p99 {}", time(h.quantile(0.5)), time(h.quantile(0.99)));
    for (at, of) in of_run(run, timings).enumerate() {
        let lead = if at == 0 { "locks held" } else { "" };
        writeln!(
            out,
            "{lead:<18}{}: {}; then flush {}, deviation {}",
            of.name,
            both(&of.lock_hold),
            both(&of.flush_wait),
            time(of.flush_wait.deviation() as u64),
        )?;
    }
    Ok(())
}

/// Returns a JSON object for each type, with its three histograms.
pub(crate) fn to_json(run: &Run, timings: &[TypeTimings]) -> Value {
    let histogram = |h: &Histogram| {
        json!({
            "count": h.count(),
            "mean": h.mean() / 1e3,
            "deviation": h.deviation() / 1e3,
            "p50": micros(h.quantile(0.5)),
            "p99": micros(h.quantile(0.99)),
            "max": micros(h.max()),
        })
    };
    let types = of_run(run, timings).map(|of| {
        json!({
            "name": of.name,
            "lock_hold": histogram(&of.lock_hold),
            "flush_wait": histogram(&of.flush_wait),
            "until_durable": histogram(&of.latency),
        })
    });
    types.collect()
}
