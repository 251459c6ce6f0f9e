//! The measurements of each transaction type, as text and as JSON.

use std::fmt::{self, Write as _};

use clearway_workloads::{Histogram, Outcome as Run, TypeOutcome};
use serde_json::{Value, json};

use crate::units::{grouped, micros, time};

/// Writes a line for each type that ran. Writes nothing if the workload has only one type, since
/// the rest of the report describes that type.
pub(crate) fn write(run: &Run, out: &mut String) -> fmt::Result {
    if run.types.len() < 2 {
        return Ok(());
    }
    let ran: Vec<_> = run.types.iter().filter(|kind| transactions(kind) > 0).collect();
    let width = ran.iter().map(|kind| kind.name.len()).max().unwrap_or(0);
    for (at, kind) in ran.into_iter().enumerate() {
        let (lead, latency) = (if at == 0 { "by type" } else { "" }, &kind.latency);
        writeln!(
            out,
            "{lead:<18}{:<width$} {:>12} commits {:>11} tps {:>11} rolled back {:>6.2} %, \
             p50 {}, p99 {}",
            kind.name,
            grouped(kind.commits),
            grouped(per_second(run, kind) as u64),
            grouped(kind.rollbacks),
            share(run, kind) * 100.0,
            time(latency.quantile(0.5)),
            time(latency.quantile(0.99)),
        )?;
    }
    Ok(())
}

/// Returns a JSON object for each type.
pub(crate) fn to_json(run: &Run) -> Value {
    let types = run.types.iter().map(|kind| {
        json!({
            "name": kind.name,
            "commits": kind.commits,
            "rollbacks": kind.rollbacks,
            "failures": kind.failures,
            "share": share(run, kind),
            "tps": per_second(run, kind),
            "latency_us": latency_json(&kind.latency),
        })
    });
    types.collect()
}

/// Returns a JSON object with the mean, the quantiles and the maximum, in microseconds.
pub(super) fn latency_json(latency: &Histogram) -> Value {
    json!({
        "mean": latency.mean() / 1e3,
        "p50": micros(latency.quantile(0.5)),
        "p90": micros(latency.quantile(0.9)),
        "p99": micros(latency.quantile(0.99)),
        "p999": micros(latency.quantile(0.999)),
        "max": micros(latency.max()),
    })
}

/// Returns the fraction of all transactions that were of this type, whatever their outcome.
fn share(run: &Run, kind: &TypeOutcome) -> f64 {
    let all = run.commits + run.rollbacks + run.failures;
    transactions(kind) as f64 / all.max(1) as f64
}

fn transactions(kind: &TypeOutcome) -> u64 {
    kind.commits + kind.rollbacks + kind.failures
}

fn per_second(run: &Run, kind: &TypeOutcome) -> f64 {
    kind.commits as f64 / run.elapsed.as_secs_f64().max(1e-9)
}
