//! The report has what its readers rely on.

use clap::Parser;
use clearway_workloads::{Commit, Outcome as Run, TpcbBalance};
use serde_json::Value;

use super::*;
use crate::args::{Args, Bench, Command};

fn args(line: &str) -> TpcbArgs {
    let Command::Bench(bench) = Args::parse_from(line.split(' ')).command else {
        panic!("not bench")
    };
    let Bench::Tpcb(args) = bench.workload;
    args
}

#[test]
fn the_json_report_has_the_promised_fields() {
    let args = args("clearway bench tpcb --memory --json");
    let plan = plan(&args);
    assert_eq!(plan.commit, Commit::Pipelined);
    let run = Run {
        commits: 10,
        rollbacks: 0,
        aborts: 1,
        failures: 0,
        elapsed: Duration::from_secs(1),
        latency: Histogram::new(),
        types: Vec::new(),
        threads: 2,
        interrupted: false,
    };
    let load = Load { rows: 5, history_rows: 0, took: Duration::from_secs(1) };
    let stats = clearway::Options::in_memory().cache_size(8 << 20).open("t").unwrap().stats();
    let work = Work::between(&stats, &stats);
    let usage = Usage::now();
    assert!(usage.memory_max_bytes > 0);
    let balance = TpcbBalance { history_rows: 10, ..TpcbBalance::default() };
    let report = Report::new(&args, &plan, &load, &run, &work, &usage, None, balance);
    let json = report.to_json();
    for field in ["tps", "aborts", "flushes", "log_bytes", "context_switches"] {
        assert!(json[field].is_number(), "{field}");
    }
    for field in ["p50", "p99", "max"] {
        assert!(json["latency_us"][field].is_number(), "{field}");
    }
    for field in ["tables", "types", "hot_keys", "deadlocks"] {
        assert!(json["contention"][field].is_array(), "{field}");
    }
    assert_eq!(json["consistent"], Value::Bool(true));

    // One acknowledged transaction without its history row is no consistent run.
    let balance = TpcbBalance { history_rows: 9, ..TpcbBalance::default() };
    let report = Report::new(&args, &plan, &load, &run, &work, &usage, None, balance);
    assert_eq!(report.to_json()["consistent"], Value::Bool(false));
}
