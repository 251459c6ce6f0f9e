//! The report of a run, as text and as JSON.

use std::fmt::{self, Write as _};

use clap::ValueEnum;
use clearway_workloads::{Outcome as Run, Plan, Usage};
use serde_json::{Value, json};

use super::{CheckResult, Figure, probe::Probe, run::Load, timings, types, work::Work};
use crate::{
    args::RunArgs,
    contention,
    units::{grouped, micros, size, time},
};

/// Everything that a run measured. Latencies are in nanoseconds.
pub(crate) struct Report<'a> {
    pub(crate) workload: &'static str,
    /// The workload's own options.
    pub(crate) options: Value,
    /// True if clients pause between transactions.
    pub(crate) thinks: bool,
    pub(crate) args: &'a RunArgs,
    pub(crate) plan: &'a Plan,
    pub(crate) load: &'a Load,
    pub(crate) run: &'a Run,
    pub(crate) work: &'a Work,
    pub(crate) usage: &'a Usage,
    pub(crate) probe: Option<Probe>,
    pub(crate) figures: Vec<Figure>,
    pub(crate) check: CheckResult,
}

impl Report<'_> {
    fn per_commit(&self, count: u64) -> f64 {
        count as f64 / self.run.commits.max(1) as f64
    }

    /// Returns the number of transactions that were run, whatever their outcome.
    fn transactions(&self) -> u64 {
        let run = self.run;
        run.commits + run.rollbacks + run.failures
    }

    /// Returns the report as text.
    pub(crate) fn to_text(&self) -> String {
        let mut text = String::from("\n");
        // Writing to a string does not fail.
        let _ = self.write_run(&mut text).and_then(|()| self.write_work(&mut text));
        let _ = self.write_check(&mut text);
        text
    }

    fn write_run(&self, out: &mut String) -> fmt::Result {
        let run = self.run;
        let latency = &run.latency;
        writeln!(out, "throughput        {} tps", grouped(run.tps() as u64))?;
        writeln!(
            out,
            "commits           {} in {:.2} s, {} {} on {} threads",
            grouped(run.commits),
            run.elapsed.as_secs_f64(),
            grouped(u64::from(self.args.clients)),
            if self.thinks { "clients that think" } else { "in flight" },
            run.threads
        )?;
        if let Some(count) = self.args.count {
            let (run, count) = (grouped(self.transactions()), grouped(count));
            writeln!(out, "transactions      {run} of {count}")?;
        }
        let quantiles = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];
        let quantiles = quantiles.map(|(name, q)| format!("{name} {}", time(latency.quantile(q))));
        writeln!(out, "latency           {}, max {}", quantiles.join(", "), time(latency.max()))?;
        if let Some(probe) = &self.probe {
            writeln!(
                out,
                "raw flush         p50 {}, p99 {} ({} each, one at a time)",
                time(probe.times.quantile(0.5)),
                time(probe.times.quantile(0.99)),
                size(probe.bytes)
            )?;
        }
        for Figure { label, text, .. } in &self.figures {
            writeln!(out, "{label:<18}{text}")?;
        }
        types::write(run, out)?;
        timings::write(run, &self.work.timings, out)
    }

    fn write_work(&self, out: &mut String) -> fmt::Result {
        let (run, work, usage) = (self.run, self.work, self.usage);
        writeln!(out, "aborts            {} run again, {} given up", run.aborts, run.failures)?;
        writeln!(
            out,
            "lock waits        {} ({:.4} a commit, {} each)",
            grouped(work.lock_waits),
            self.per_commit(work.lock_waits),
            time(work.lock_wait_us * 1_000 / work.lock_waits.max(1))
        )?;
        writeln!(out, "deadlocks         {}", grouped(work.deadlocks))?;
        out.push_str(&contention::to_text(&work.contention));
        writeln!(
            out,
            "flushes           {} ({:.1} commits and {} each)",
            grouped(work.flushes),
            run.commits as f64 / work.flushes.max(1) as f64,
            size(work.flush_bytes())
        )?;
        writeln!(
            out,
            "log               {}, {:.0} bytes a commit",
            size(work.log_bytes),
            self.per_commit(work.log_bytes)
        )?;
        writeln!(
            out,
            "pages             {} read, {} written, {} checkpoints",
            grouped(work.page_reads),
            grouped(work.page_writes),
            work.checkpoints
        )?;
        if work.fetches > 0 {
            writeln!(
                out,
                "fetch stages      {}, {} of them waited for pages; so did {} operate stages",
                grouped(work.fetches),
                grouped(work.fetches_with_reads),
                grouped(work.mis_prefetches)
            )?;
        }
        writeln!(
            out,
            "context switches  {} ({:.3} a commit), {} of them involuntary",
            grouped(usage.switches()),
            self.per_commit(usage.switches()),
            grouped(usage.switches_involuntary)
        )?;
        writeln!(
            out,
            "processor         {:.2} s user, {:.2} s system",
            usage.user_us as f64 / 1e6,
            usage.system_us as f64 / 1e6
        )?;
        writeln!(
            out,
            "memory            {} at most, {} of it pages now",
            size(usage.memory_max_bytes),
            size(work.resident_pages * 8192)
        )
    }

    fn write_check(&self, out: &mut String) -> fmt::Result {
        writeln!(out, "books             {}", self.check.text)?;
        if self.run.interrupted {
            let end = if self.args.count.is_some() { "all were run" } else { "its time was up" };
            writeln!(out, "interrupted       yes, before {end}")?;
        }
        match &self.check.verdict {
            Ok(checked) => writeln!(out, "consistent        yes ({checked})"),
            Err(problem) => writeln!(out, "consistent        NO: {problem}"),
        }
    }

    /// Returns the report as one JSON object.
    pub(crate) fn to_json(&self) -> Value {
        let mut report = self.common_json();
        if self.run.types.len() > 1 {
            report["rollbacks"] = self.run.rollbacks.into();
            report["types"] = types::to_json(self.run);
        }
        report["timings_us"] = timings::to_json(self.run, &self.work.timings);
        for Figure { field, value, .. } in &self.figures {
            report[*field] = value.clone();
        }
        let (field, check) = &self.check.json;
        report[*field] = check.clone();
        report["options"] = self.options_json();
        report
    }

    /// Returns the fields that all workloads have.
    fn common_json(&self) -> Value {
        let (run, work, usage) = (self.run, self.work, self.usage);
        json!({
            "workload": self.workload,
            "version": env!("CARGO_PKG_VERSION"),
            "tps": run.tps(),
            "commits": run.commits,
            "transactions": self.transactions(),
            "seconds": run.elapsed.as_secs_f64(),
            "latency_us": types::latency_json(&run.latency),
            "raw_flush_us": self.probe.as_ref().map(|probe| json!({
                "bytes": probe.bytes,
                "p50": micros(probe.times.quantile(0.5)),
                "p99": micros(probe.times.quantile(0.99)),
            })),
            "interrupted": run.interrupted,
            "aborts": run.aborts,
            "failures": run.failures,
            "lock_waits": work.lock_waits,
            "lock_wait_us": work.lock_wait_us,
            "deadlocks": work.deadlocks,
            "contention": contention::to_json(&work.contention),
            "flushes": work.flushes,
            "log_bytes": work.log_bytes,
            "log_bytes_per_commit": self.per_commit(work.log_bytes),
            "pages_read": work.page_reads,
            "pages_written": work.page_writes,
            "checkpoints": work.checkpoints,
            "fetch_stages": work.fetches,
            "fetch_stages_with_reads": work.fetches_with_reads,
            "mis_prefetches": work.mis_prefetches,
            "context_switches": usage.switches(),
            "context_switches_involuntary": usage.switches_involuntary,
            "user_us": usage.user_us,
            "system_us": usage.system_us,
            "memory_max_bytes": usage.memory_max_bytes,
            "load": {
                "rows": self.load.rows,
                "seconds": self.load.took.as_secs_f64(),
            },
            "consistent": self.check.verdict.is_ok(),
        })
    }

    fn options_json(&self) -> Value {
        let args = self.args;
        let mut options = json!({
            "clients": args.clients,
            "threads": self.plan.agents(),
            "count": args.count,
            "commit": format!("{:?}", args.commit).to_lowercase(),
            "log_delay_us": args.log_delay.as_micros() as u64,
            "group_commit_delay_us": args.group_commit_delay.as_micros() as u64,
            "cache_bytes": args.cache,
            "log_capacity_bytes": args.log_capacity,
            "staging": args.staging.to_possible_value().map(|value| value.get_name().to_owned()),
            "memory": args.memory,
            "seed": args.seed,
        });
        for (name, value) in self.options.as_object().into_iter().flatten() {
            options[name] = value.clone();
        }
        options
    }
}
