//! Tests that the report has the documented fields and lines.

use std::time::Duration;

use clap::Parser;
use clearway_workloads::{
    Commit, Histogram, Outcome as Run, TatpAudit, TpcbBalance, TpccReport, TypeOutcome, Usage,
};
use serde_json::Value;

use super::{
    report::Report,
    run::{Load, plan},
    work::Work,
    *,
};
use crate::args::{Args, BenchOf, Command};

fn workload(line: &str) -> BenchWorkload {
    let Command::Bench(bench) = Args::parse_from(line.split(' ')).command else {
        panic!("not bench")
    };
    bench.workload
}

/// Returns a run of ten commits with these types.
fn a_run(types: Vec<TypeOutcome>) -> Run {
    Run {
        commits: 10,
        rollbacks: types.iter().map(|kind| kind.rollbacks).sum(),
        aborts: 1,
        failures: 0,
        elapsed: Duration::from_secs(2),
        latency: Histogram::new(),
        types,
        threads: 2,
        interrupted: false,
    }
}

fn of_type(name: &'static str, commits: u64, rollbacks: u64) -> TypeOutcome {
    TypeOutcome { name, commits, rollbacks, failures: 0, latency: Histogram::new() }
}

/// Returns a report as text and as JSON.
fn report<B: Bench>(
    bench: &BenchOf<B>,
    run: &Run,
    figures: Vec<Figure>,
    check: CheckResult,
) -> (String, Value) {
    let BenchOf { workload: bench, run: args } = bench;
    let plan = plan(args);
    assert_eq!(plan.commit, Commit::Pipelined);
    let load = Load { rows: 5, took: Duration::from_secs(1) };
    let stats = clearway::Options::in_memory().cache_size(8 << 20).open("t").unwrap().stats();
    let (work, usage) = (Work::between(&stats, &stats), Usage::now());
    assert!(usage.memory_max_bytes > 0);
    let report = Report {
        workload: B::NAME,
        options: bench.options(),
        thinks: bench.thinks(),
        args,
        plan: &plan,
        load: &load,
        run,
        work: &work,
        usage: &usage,
        probe: None,
        figures,
        check,
    };
    (report.to_text(), report.to_json())
}

fn assert_has_the_documented_fields(json: &Value) {
    for field in ["tps", "aborts", "flushes", "log_bytes", "context_switches"] {
        assert!(json[field].is_number(), "{field}");
    }
    for field in ["p50", "p99", "max"] {
        assert!(json["latency_us"][field].is_number(), "{field}");
    }
    for field in ["tables", "types", "hot_keys", "deadlocks"] {
        assert!(json["contention"][field].is_array(), "{field}");
    }
    for field in ["clients", "threads", "log_delay_us", "cache_bytes", "seed"] {
        assert!(json["options"][field].is_number(), "{field}");
    }
    assert_eq!(json["load"]["rows"], 5);
}

#[test]
fn the_report_of_tpcb_has_the_documented_fields() {
    let line = "clearway bench tpcb --memory --json --order branch-first";
    let BenchWorkload::Tpcb(args) = workload(line) else { panic!("not TPC-B") };
    let run = a_run(vec![of_type("tpcb", 10, 0)]);
    let balance = TpcbBalance { history_rows: 13, ..TpcbBalance::default() };
    let (text, json) = report(&args, &run, Vec::new(), tpcb::check_result(&balance, 3, 10));
    assert_has_the_documented_fields(&json);
    assert_eq!((&json["workload"], &json["tps"]), (&"tpcb".into(), &5.0.into()));
    assert_eq!(
        (&json["options"]["branches"], &json["options"]["skew"]),
        (&20.into(), &"uniform".into())
    );
    assert_eq!(json["options"]["order"], "branch-first");
    assert_eq!(json["balance"]["history_rows"], 13);
    assert_eq!(json["consistent"], Value::Bool(true));
    assert!(text.contains("\nconsistent        yes (13 history rows)\n"), "{text}");
    // There is only one type, which the rest of the report describes.
    assert!(json["types"].is_null() && !text.contains("by type  "), "{text}");

    // A run with one acknowledged transaction that has no history row is not consistent.
    let (text, json) = report(&args, &run, Vec::new(), tpcb::check_result(&balance, 4, 10));
    assert_eq!(json["consistent"], Value::Bool(false));
    assert!(text.contains("\nconsistent        NO: 0 branches off, "), "{text}");
    assert!(text.contains("9 history rows for 10 commits"), "{text}");
}

#[test]
fn the_report_of_tatp_has_a_line_for_each_type() {
    let line = "clearway bench tatp --memory --json --subscribers 7";
    let BenchWorkload::Tatp(args) = workload(line) else { panic!("not TATP") };
    let run = a_run(vec![
        of_type("get-subscriber-data", 0, 0),
        of_type("get-access-data", 6, 0),
        of_type("insert-call-forwarding", 4, 10),
    ]);
    let figure =
        Figure { label: "share", text: "half".into(), field: "a_share", value: 0.5.into() };
    let audit = TatpAudit { call_forwarding_rows: 3, ..TatpAudit::default() };
    let (text, json) = report(&args, &run, vec![figure], tatp::check_result(&audit, 3));
    assert_has_the_documented_fields(&json);
    assert_eq!((&json["workload"], &json["options"]["subscribers"]), (&"tatp".into(), &7.into()));
    assert_eq!((&json["rollbacks"], &json["a_share"]), (&10.into(), &0.5.into()));
    let insert = &json["types"][2];
    assert_eq!(
        (&insert["name"], &insert["commits"]),
        (&"insert-call-forwarding".into(), &4.into())
    );
    assert_eq!((&insert["rollbacks"], &insert["tps"]), (&10.into(), &2.0.into()));
    assert_eq!(insert["share"], 0.7);
    assert!(insert["latency_us"]["p99"].is_number());
    assert_eq!(json["consistent"], Value::Bool(true));
    assert!(
        text.contains("\nshare             half\nby type           get-access-data "),
        "{text}"
    );
    assert!(!text.contains("get-subscriber-data"), "none of them ran: {text}");
    assert!(text.contains("10 rolled back  70.00 %, p50"), "{text}");

    // An acknowledged insert without its row, and a table that is inconsistent in itself.
    for (audit, expected) in [(&audit, 4), (&TatpAudit { index_off: 1, ..audit.clone() }, 3)] {
        let (text, json) = report(&args, &run, Vec::new(), tatp::check_result(audit, expected));
        assert_eq!(json["consistent"], Value::Bool(false));
        assert!(text.contains("\nconsistent        NO: "), "{text}");
    }
}

#[test]
fn the_report_of_tpcc_counts_orders_and_payments() {
    let BenchWorkload::Tpcc(args) = workload("clearway bench tpcc --memory --only payment") else {
        panic!("not TPC-C")
    };
    let names = clearway_workloads::TpccTransaction::ALL.map(|kind| kind.name());
    let types = names.into_iter().zip([7, 2, 1, 0, 0]);
    let run = a_run(types.map(|(name, commits)| of_type(name, commits, 0)).collect());
    let earlier = tpcc::Done { orders: 3, payments: 1 };
    assert_eq!(earlier.after(&run), tpcc::Done { orders: 10, payments: 3 });

    let figures = args.workload.throughput(args.run.clients, &run);
    let found = |orders| {
        let mut report = TpccReport::default();
        (report.orders, report.payments) = (orders, 3);
        report
    };
    let (text, json) =
        report(&args, &run, figures, tpcc::check_result(&found(10), earlier.after(&run)));
    assert_has_the_documented_fields(&json);
    // Seven new orders in two seconds.
    assert_eq!((&json["workload"], &json["tpmc"]), (&"tpcc".into(), &210.0.into()));
    assert_eq!((&json["options"]["only"], &json["consistent"]), (&"payment".into(), &true.into()));
    assert_eq!((&json["audit"]["orders"], &json["audit"]["payments"]), (&10.into(), &3.into()));
    assert!(text.contains("\ntpmC              210 new orders a minute, without think"), "{text}");
    assert!(text.contains("64 in flight on") && json["tpmc_share"].is_null(), "{text}");
    assert_eq!(json["options"]["think"], "none");

    // An acknowledged order that is missing.
    let check = tpcc::check_result(&found(9), earlier.after(&run));
    let (text, json) = report(&args, &run, Vec::new(), check);
    assert_eq!(json["consistent"], Value::Bool(false));
    assert!(text.contains("NO: 9 orders and 3 payments for 10 and 3 commits; "), "{text}");
}

#[test]
fn the_share_of_the_maximum_is_reported_if_all_terminals_think() {
    let names = clearway_workloads::TpccTransaction::ALL.map(|kind| kind.name());
    let types = names.into_iter().zip([3, 4, 1, 1, 1]);
    let run = a_run(types.map(|(name, commits)| of_type(name, commits, 0)).collect());
    let reported = |more: &str| {
        let line = format!("clearway bench tpcc --memory --warehouses 7 {more}");
        let BenchWorkload::Tpcc(args) = workload(&line) else { panic!("not TPC-C") };
        let check = tpcc::check_result(&TpccReport::default(), tpcc::Done::default());
        let figures = args.workload.throughput(args.run.clients, &run);
        report(&args, &run, figures, check)
    };
    // Three new orders in two seconds; the maximum is seven times 12.86.
    let (text, json) = reported("--think spec --clients 70");
    assert_eq!(json["options"]["think"], "spec");
    assert!((json["tpmc_share"].as_f64().unwrap() - 90.0 / 90.02).abs() < 1e-9, "{json}");
    assert!(text.contains("70 clients that think on 2 threads"), "{text}");
    let lines = "\ntpmC              90 new orders a minute, with think times\n\
                 tpmC share        100.0 % of 12.86 a warehouse, the most there can be\n";
    assert!(text.contains(lines), "{text}");

    for more in [
        "--clients 70",
        "--think none --clients 70",
        "--think spec --clients 69",
        "--think spec --clients 70 --only new-order",
    ] {
        let (text, json) = reported(more);
        assert!(json["tpmc_share"].is_null() && !text.contains("tpmC share"), "{more}: {text}");
        assert_eq!(text.contains("with think times"), more.contains("spec"), "{more}: {text}");
    }
}

#[test]
fn forwardings_are_those_inserted_without_those_that_deletes_have_found() {
    let names = clearway_workloads::TatpTransaction::NAMES;
    let mut types: Vec<_> = names.into_iter().map(|name| of_type(name, 100, 0)).collect();
    types[5] = of_type(names[5], 20, 30);
    types[6] = of_type(names[6], 15, 0);
    assert_eq!(tatp::forwardings(40, &a_run(types), &[1, 2, 3, 0, 0, 0, 9]), 40 + 20 - (15 - 9));
}
