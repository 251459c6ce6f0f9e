//! Runs every experiment for a short time and checks its JSON report.

use std::{
    path::Path,
    process::{Command, Output},
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use serde_json::Value;

fn lab(line: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_clearway-lab")).args(line).output().unwrap()
}

/// Returns the names that the program lists.
fn names() -> Vec<String> {
    let listed = lab(&["list"]);
    assert!(listed.status.success());
    let text = String::from_utf8(listed.stdout).unwrap();
    let lines = text.lines().filter(|line| !line.starts_with(' '));
    lines.map(String::from).collect()
}

/// The experiments that start database servers, which takes minutes. Unit tests cover their plans
/// and their claims.
const WITH_SERVERS: [&str; 7] = [
    "reorder_aborts",
    "reorder_breakdown",
    "reorder_buffer_pool",
    "reorder_clients",
    "reorder_contention",
    "reorder_stored_procedure",
    "reorder_worst_order",
];
/// The experiment that needs libclang.
const WITH_LIBCLANG: &str = "reorder_solver";

/// Returns the options that make slow experiments small: few clients whose last transactions are
/// awaited, few rows.
fn smaller(name: &str) -> &'static str {
    match name {
        "early_release_reads" => "--in-flight=10 --flush=1000,50",
        "elr_skew_latency" => "--clients=8 --flush=0,100,10000 --zipf=0,2",
        "elr_tpcb_self_similar" => "--clients=8 --branches=100",
        "lock_wait_from_io" => "--part=50 --clients=2",
        "staging_cache" => "--part=50 --cache=30,80",
        "staging_concurrency" => "--part=50 --clients=1,2",
        "staging_cpu" => "--part=50 --clients=2",
        "staging_memory" => "--part=50",
        "staging_mis_prefetch" => "--part=50 --clients=2",
        "staging_pipeline" => "--cache=4",
        "staging_speed" => "--part=50 --accounts=20000",
        "elr_tpcc" => "--warehouses=2 --clients=4 --items=100 --customers=10 --orders=200",
        "reorder_solver" => "--limit=0.1",
        "tatp_components" => "--subscribers=1000",
        _ => "",
    }
}

fn check_spread(spread: &Value) {
    let part = |name: &str| spread[name].as_f64();
    // A ratio to zero is infinite, which JSON writes as null.
    if let (Some(min), Some(median), Some(max)) = (part("min"), part("median"), part("max")) {
        assert!(min <= median && median <= max, "{spread}");
    }
}

fn check_grid(grid: &Value, repetitions: usize) {
    let baseline = &grid["baseline"];
    let runs = grid["runs"].as_array().expect("runs");
    assert!(runs.iter().any(|run| run["variant"] == *baseline), "{grid}");
    for run in runs {
        check_spread(&run["ratio"]);
        assert!(run["point"].is_string(), "{run}");
        if run["variant"] == *baseline {
            assert_eq!(run["ratio"]["median"], 1.0, "{run}");
        }
        let measures = run["measures"].as_object().expect("measures");
        assert!(measures.contains_key(grid["ratio_of"].as_str().unwrap()), "{run}");
        for measure in measures.values() {
            check_spread(&measure["spread"]);
            assert_eq!(measure["values"].as_array().unwrap().len(), repetitions, "{run}");
        }
    }
}

/// Runs an experiment and checks its report.
fn check_experiment(name: &str, place: &Path) {
    let file = place.join(name);
    let tiny = ["--seconds", "0.03", "--repetitions", "1", "--json", file.to_str().unwrap()];
    // Counting works the same for all experiments, so one of them covers it.
    let count: &[&str] = if name == "noise" { &[] } else { &["--no-count"] };
    let own: Vec<&str> = smaller(name).split_whitespace().collect();
    let output = lab(&[&[name], &tiny[..], count, &own[..]].concat());
    let messages = String::from_utf8_lossy(&output.stderr);
    if name == WITH_LIBCLANG && output.status.code() == Some(3) {
        println!("SKIPPED: {name}: {messages}");
        return;
    }
    // 0 or 1: the claims need not hold in such short runs.
    assert!(matches!(output.status.code(), Some(0 | 1)), "{name}: {messages}");
    let report: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    assert_eq!(report["experiment"], name);
    assert!(report["machine"]["cores"].as_u64() > Some(0));
    assert_eq!(report["repetitions"], 1);
    let grids = report["grids"].as_array().unwrap();
    assert!(!grids.is_empty(), "{name} measures nothing");
    grids.iter().for_each(|grid| check_grid(grid, 1));
    let claims = report["claims"].as_array().unwrap();
    assert!(!claims.is_empty(), "{name} shows nothing");
    let all_shown = claims.iter().all(|claim| claim["holds"] == true);
    assert_eq!(output.status.code() == Some(0), all_shown, "{name}");
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.matches("shown: ").count() + text.matches("NOT SHOWN: ").count();
    assert_eq!(lines, claims.len());
}

#[test]
fn every_experiment_runs_and_writes_its_report() {
    let mut names = names();
    assert!(WITH_SERVERS.iter().all(|name| names.iter().any(|known| known == name)));
    names.retain(|name| !WITH_SERVERS.contains(&name.as_str()));
    assert!(!names.is_empty());
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    // Two at a time: the runs are too short for measurements that another run could disturb.
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
            check_experiment(name, place.path());
        }
    };
    thread::scope(|scope| {
        scope.spawn(work);
        scope.spawn(work);
    });
}

#[test]
fn all_experiments_run_one_after_the_other_and_are_summed_up() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let dir = place.path().join("reports");
    let tiny = ["--seconds", "0.03", "--repetitions", "1", "--no-count"];
    let some = ["--only", "log_insert_slots,noise", "--json", dir.to_str().unwrap()];
    let output = lab(&[&["all"], &tiny[..], &some].concat());
    let names = ["noise", "log_insert_slots"];
    let reports = names.map(|name| {
        let text = std::fs::read(dir.join(name).with_extension("json")).unwrap();
        serde_json::from_slice::<Value>(&text).unwrap()
    });
    let claims: Vec<_> = reports.iter().flat_map(|r| r["claims"].as_array().unwrap()).collect();
    let not_shown = claims.iter().filter(|claim| claim["holds"] == false).count();
    assert_eq!(output.status.code(), Some(i32::from(not_shown > 0)));

    // The reports in the order of the list, then the summary with the failed claims repeated.
    let text = String::from_utf8(output.stdout).unwrap();
    let (reported, summary) = text.split_once("\nsummary ").unwrap();
    let at = names.map(|name| reported.find(&format!("{name}: ")).unwrap());
    assert!(at[0] < at[1], "{text}");
    for part in [reported, summary] {
        assert_eq!(part.matches("NOT SHOWN: ").count(), not_shown, "{text}");
    }
    let sum = [claims.len() - not_shown, not_shown].map(|n| n.to_string());
    let is_sum = |line: &str| line.split_whitespace().eq(["all", &sum[0], &sum[1]]);
    assert!(summary.lines().any(is_sum), "{text}");
}

#[test]
fn experiments_without_their_servers_cannot_run() {
    for name in WITH_SERVERS {
        let mut command = Command::new(env!("CARGO_BIN_EXE_clearway-lab"));
        // Without `make`, on any machine.
        let output = command.args([name, "--no-count"]).env("PATH", "").output().unwrap();
        let message = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(3), "{name}: {message}");
        assert!(message.contains("needs "), "{name}: {message}");
    }
}

#[test]
fn wrong_usage_is_refused() {
    for line in [
        &["nothing-such"][..],
        &["noise", "--seconds", "0"],
        &["noise", "--repetitions", "0"],
        &["all", "--only", "nothing-such"],
    ] {
        assert_eq!(lab(line).status.code(), Some(2), "{line:?}");
    }
}
