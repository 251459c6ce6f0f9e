//! Tests that run the program as its users do.

use std::{
    io::{BufRead, BufReader},
    process::{Command, Output, Stdio},
};

use serde_json::Value;

fn clearway(line: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_clearway")).args(line).output().unwrap()
}

fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}", String::from_utf8_lossy(&output.stdout));
    })
}

const SMALL: [&str; 10] = [
    "--branches",
    "2",
    "--accounts",
    "500",
    "--seconds",
    "0.3",
    "--clients",
    "8",
    "--cache",
    "16MiB",
];

#[test]
fn a_bank_is_benchmarked_verified_dumped_and_copied() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (bank, copy) = (place.path().join("bank"), place.path().join("copy"));
    let (bank, copy) = (bank.to_str().unwrap(), copy.to_str().unwrap());

    let bench = ["bench", "tpcb", "--dir", bank, "--json", "--log-capacity", "64MiB"];
    let first = clearway(&[&bench[..], &SMALL].concat());
    assert!(first.status.success(), "{}", String::from_utf8_lossy(&first.stderr));
    let first = json(&first);
    assert_eq!(first["consistent"], Value::Bool(true));
    assert!(first["tps"].as_f64().unwrap() > 0.0);
    assert_eq!(first["load"]["rows"], 1_022);

    // The second run reuses the existing bank, and its history continues.
    let second = json(&clearway(&[&bench[..], &SMALL, &["--commit", "blocking"]].concat()));
    assert_eq!(second["load"]["rows"], 0);
    assert_eq!(second["consistent"], Value::Bool(true));
    let rows = |report: &Value, field: &str| report["balance"][field].as_u64().unwrap();
    let commits = second["commits"].as_u64().unwrap();
    assert_eq!(rows(&second, "history_rows"), rows(&first, "history_rows") + commits);

    let verified = clearway(&["verify", bank, "--json"]);
    assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    let verified = json(&verified);
    let accounts = verified["tables"].as_array().unwrap().iter().find(|t| t["name"] == "account");
    assert_eq!(accounts.unwrap()["entries"], 1_000);
    let leaves = &accounts.unwrap()["shape"][0];
    let fill = leaves["fill"].as_f64().unwrap();
    assert!(fill > 0.3 && fill <= 1.0 && leaves["nodes"].as_u64().unwrap() > 1, "{leaves}");
    assert!(leaves["foster_chain_max"].as_u64().unwrap() <= 2, "{leaves}");
    assert!(clearway(&["stats", bank]).status.success());

    let backup = clearway(&["backup", bank, copy]);
    assert!(backup.status.success(), "{}", String::from_utf8_lossy(&backup.stderr));
    assert_eq!(clearway(&["backup", bank, copy]).status.code(), Some(3));
    let dumps = [bank, copy].map(|dir| clearway(&["dump", dir, "--table", "branch"]));
    assert!(dumps[0].status.success());
    assert_eq!(dumps[0].stdout, dumps[1].stdout);
    let text = String::from_utf8(dumps[0].stdout.clone()).unwrap();
    assert!(text.starts_with("table branch\n\\x00") && text.ends_with("\nend\n"), "{text}");
    assert_eq!(text.lines().count(), 4);
}

#[test]
fn subscribers_are_benchmarked_in_the_mix_and_with_one_transaction_type() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let network = place.path().join("network");
    let network = network.to_str().unwrap();
    let bench = ["bench", "tatp", "--dir", network, "--json", "--log-capacity", "64MiB"];
    let small = ["--subscribers", "300", "--seconds", "0.3", "--clients", "8", "--cache", "16MiB"];
    let run = |more: &[&str]| clearway(&[&bench[..], &small, more].concat());

    let mixed = run(&[]);
    assert!(mixed.status.success(), "{}", String::from_utf8_lossy(&mixed.stderr));
    let mixed = json(&mixed);
    assert_eq!(mixed["consistent"], Value::Bool(true));
    assert!(mixed["load"]["rows"].as_u64().unwrap() > 300 * 9);
    assert_eq!(mixed["audit"]["subscriber_rows"], 300);
    let types = mixed["types"].as_array().unwrap();
    let total = |field: &str| types.iter().map(|kind| kind[field].as_u64().unwrap()).sum::<u64>();
    assert_eq!(types.len(), 7);
    assert_eq!(total("commits"), mixed["commits"].as_u64().unwrap());
    assert_eq!(total("rollbacks"), mixed["rollbacks"].as_u64().unwrap());
    let successful = mixed["successful_share"].as_f64().unwrap();
    assert!((0.5..0.95).contains(&successful), "{successful}");

    // The existing subscribers are reused.
    let one = json(&run(&["--only", "update-location", "--commit", "blocking"]));
    assert_eq!((&one["load"]["rows"], &one["consistent"]), (&0.into(), &Value::Bool(true)));
    let of_type = |kind: &Value| kind["commits"].as_u64().unwrap() > 0;
    let ran: Vec<_> = one["types"].as_array().unwrap().iter().filter(|k| of_type(k)).collect();
    assert_eq!(ran.len(), 1);
    assert_eq!(ran[0]["name"], "update-location");
    assert_eq!((&one["rollbacks"], &one["successful_share"]), (&0.into(), &1.0.into()));

    // In two stages each of them has a fetch stage, and by themselves none.
    assert_eq!(
        (&one["fetch_stages"], &one["options"]["staging"]),
        (&0.into(), &"automatic".into())
    );
    let staged = json(&run(&["--staging", "two-stage", "--commit", "blocking"]));
    assert_eq!(staged["options"]["staging"], "two-stage");
    assert!(staged["fetch_stages"].as_u64() >= staged["commits"].as_u64(), "{staged}");
    assert_eq!((&staged["mis_prefetches"], &staged["consistent"]), (&0.into(), &true.into()));

    let other = clearway(&[&bench[..], &["--subscribers", "301"]].concat());
    assert_eq!(other.status.code(), Some(3));
    let message = String::from_utf8(other.stderr).unwrap();
    assert!(message.contains("cannot load the subscribers: "), "{message}");
}

#[test]
fn warehouses_are_benchmarked_and_the_work_of_earlier_runs_counts() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let supplier = place.path().join("supplier");
    let supplier = supplier.to_str().unwrap();
    let bench = ["bench", "tpcc", "--dir", supplier, "--json", "--log-capacity", "128MiB"];
    let small = ["--small", "--warehouses", "1", "--seconds", "0.3", "--clients", "4"];
    let run = |more: &[&str]| clearway(&[&bench[..], &small, &["--cache", "32MiB"], more].concat());

    let mixed = run(&[]);
    assert!(mixed.status.success(), "{}", String::from_utf8_lossy(&mixed.stderr));
    let mixed = json(&mixed);
    assert_eq!(mixed["consistent"], Value::Bool(true));
    assert!(mixed["load"]["rows"].as_u64().unwrap() > 10_000);
    assert_eq!(mixed["audit"]["orders"], mixed["types"][0]["commits"]);
    assert!(mixed["tpmc"].as_f64().unwrap() > 0.0);

    let payments = json(&run(&["--only", "payment", "--commit", "blocking"]));
    assert_eq!(payments["consistent"], Value::Bool(true));
    let count = |report: &Value| report["audit"]["payments"].as_u64().unwrap();
    let commits = payments["commits"].as_u64().unwrap();
    assert_eq!(payments["types"][1]["commits"], commits);
    assert_eq!(count(&payments), count(&mixed) + commits);
    assert_eq!((&payments["tpmc"], &payments["load"]["rows"]), (&0.0.into(), &0.into()));
    let timings = payments["timings_us"].as_array().unwrap();
    assert_eq!((timings.len(), &timings[0]["name"]), (1, &"payment".into()));
    assert!(timings[0]["flush_wait"]["count"].as_u64().unwrap() > 0);

    let lazy = json(&run(&["--commit", "lazy"]));
    assert_eq!(lazy["consistent"], Value::Bool(true));

    // Hardly any client starts a transaction in so short a time, and the run still ends.
    let think = ["--cache", "32MiB", "--think", "spec", "--clients", "10"];
    let thought = json(&clearway(&[&bench[..], &small[..5], &think].concat()));
    assert_eq!(
        (&thought["options"]["think"], &thought["consistent"]),
        (&"spec".into(), &true.into())
    );
    assert!(thought["tpmc_share"].is_number());
    // At most one for each client: after an acknowledgement a client thinks for seconds.
    assert!(thought["commits"].as_u64().unwrap() <= 10, "{thought}");
}

/// For each benchmark, the options that make it small.
const SMALL_WORKLOADS: [&[&str]; 3] = [
    &["tpcb", "--branches", "2", "--accounts", "500"],
    &["tatp", "--subscribers", "300"],
    &["tpcc", "--small", "--warehouses", "1"],
];

#[test]
fn a_number_of_transactions_is_run_exactly() {
    for workload in SMALL_WORKLOADS {
        // Three clients of seven run one more than the others.
        let count = ["--count", "500", "--clients", "7", "--memory"];
        let limits = ["--cache", "64MiB", "--log-capacity", "128MiB"];
        for more in [&["--json"][..], &["--json", "--commit", "blocking", "--threads", "3"], &[]] {
            let output = clearway(&[&["bench"], workload, &count, &limits, more].concat());
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            if more.is_empty() {
                let text = String::from_utf8(output.stdout).unwrap();
                assert!(text.contains("\ntransactions      500 of 500\n"), "{text}");
                continue;
            }
            let report = json(&output);
            assert_eq!(
                (&report["transactions"], &report["options"]["count"]),
                (&500.into(), &500.into())
            );
            let all = ["commits", "failures"].map(|field| report[field].as_u64().unwrap());
            let rollbacks = report["rollbacks"].as_u64().unwrap_or(0);
            assert_eq!(all.iter().sum::<u64>() + rollbacks, 500, "{report}");
            assert_eq!(
                (&report["interrupted"], &report["consistent"]),
                (&false.into(), &true.into())
            );
            assert!(report["seconds"].as_f64().unwrap() > 0.0, "{report}");
        }
    }
}

#[test]
fn one_client_runs_the_same_transactions_each_time() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    for workload in SMALL_WORKLOADS {
        let run = |name: &str, seed: &str| {
            let dir = place.path().join(format!("{}-{name}", workload[0]));
            let dir = dir.to_str().unwrap();
            let line = ["--count", "400", "--clients", "1", "--seed", seed, "--json", "--dir", dir];
            let limits = ["--cache", "64MiB", "--log-capacity", "128MiB"];
            let output = clearway(&[&["bench"], workload, &line, &limits].concat());
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let types = json(&output)["types"].clone();
            let types: Vec<_> = types
                .as_array()
                .into_iter()
                .flatten()
                .map(|kind| ["name", "commits", "rollbacks"].map(|field| kind[field].clone()))
                .collect();
            // TPC-C's rows contain the time of day.
            let dump = clearway(&["dump", dir]).stdout;
            (types, (workload[0] != "tpcc").then_some(dump))
        };
        let (one, same, other) = (run("one", "3"), run("same", "3"), run("other", "4"));
        assert!(one == same && one != other, "{workload:?}");
    }
}

#[test]
fn failures_have_their_exit_codes_and_one_line() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let absent = place.path().join("absent");
    let absent = absent.to_str().unwrap();
    for command in ["verify", "stats", "dump"] {
        let output = clearway(&[command, absent]);
        assert_eq!(output.status.code(), Some(3), "{command}");
        assert!(output.stdout.is_empty(), "{command}");
        let message = String::from_utf8(output.stderr).unwrap();
        assert_eq!(message.lines().count(), 1, "{message}");
        assert!(message.starts_with("clearway: ") && message.contains(absent), "{message}");
    }
    assert_eq!(clearway(&["bench", "tpcb", "--skew", "hot"]).status.code(), Some(2));
    assert_eq!(clearway(&["nothing"]).status.code(), Some(2));
}

/// Creates a small bank in a directory.
fn bank(place: &tempfile::TempDir) -> String {
    let bank = place.path().join("bank").to_str().unwrap().to_string();
    let bench = ["bench", "tpcb", "--dir", &bank, "--log-capacity", "64MiB"];
    assert!(clearway(&[&bench[..], &SMALL].concat()).status.success());
    bank
}

#[test]
fn output_that_cannot_be_written_is_no_panic() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let bank = bank(&place);
    for command in ["verify", "stats", "dump"] {
        let full = || std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let run = |stdout: Stdio, stderr: Stdio| {
            let mut program = Command::new(env!("CARGO_BIN_EXE_clearway"));
            program.args([command, &bank]).stdout(stdout).stderr(stderr).output().unwrap()
        };
        let output = run(full().into(), Stdio::piped());
        assert_eq!(output.status.code(), Some(3), "{command}");
        let message = String::from_utf8(output.stderr).unwrap();
        assert!(message.contains("No space left") && message.lines().count() == 1, "{message}");
        assert_eq!(run(full().into(), full().into()).status.code(), Some(3), "{command}");
        // A pipe whose reader is closed.
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        assert_eq!(run(writer.into(), Stdio::null()).status.code(), Some(0), "{command}");
    }
}

#[test]
fn options_that_cannot_work_are_wrong_usage_by_their_public_names() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let bank = bank(&place);
    let output = clearway(&["verify", &bank, "--cache", "0"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8(output.stderr).unwrap().contains("cache_size"));
}

#[test]
fn an_interrupted_loading_ends_without_a_result() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let bank = place.path().join("bank");
    let mut program = Command::new(env!("CARGO_BIN_EXE_clearway"));
    program.args(["bench", "tpcb", "--branches", "200", "--cache", "64MiB", "--dir"]).arg(bank);
    let mut child = program.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // The first line shows that signals are caught.
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().starts_with("database: "));
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    lines.for_each(drop);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    assert!(output.stdout.is_empty());
}

#[test]
fn a_damaged_database_is_exit_code_one() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let bank = place.path().join("bank");
    let dir = bank.to_str().unwrap();
    let bench = ["bench", "tpcb", "--dir", dir, "--log-capacity", "64MiB"];
    assert!(clearway(&[&bench[..], &SMALL].concat()).status.success());
    // The double-write area still has the latest pages and would repair them.
    let double_write = bank.join("doublewrite");
    let len = std::fs::metadata(&double_write).unwrap().len();
    std::fs::write(&double_write, vec![0; len as usize]).unwrap();
    // Flip a bit in the middle of every page after the first few, so that the damage hits the tree
    // whatever its shape.
    let file = bank.join("data");
    let mut bytes = std::fs::read(&file).unwrap();
    for page in bytes.chunks_mut(8192).skip(4).filter(|page| page.iter().any(|&b| b != 0)) {
        page[4_000] ^= 1;
    }
    std::fs::write(&file, bytes).unwrap();
    let output = clearway(&["verify", dir]);
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(String::from_utf8(output.stderr).unwrap().contains("damage"));
    for command in ["verify", "stats"] {
        let output = clearway(&[command, dir, "--json"]);
        assert_eq!(output.status.code(), Some(1), "{command}");
        let report = json(&output);
        assert_eq!(report["damaged"], Value::Bool(true), "{command}");
        assert!(report["detail"].as_str().unwrap().contains("checksum"), "{command}: {report}");
    }
}

#[test]
fn a_read_only_command_leaves_nothing_in_a_directory_without_a_database() {
    let place = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let (empty, foreign) = (place.path().join("empty"), place.path().join("foreign"));
    for dir in [&empty, &foreign] {
        std::fs::create_dir(dir).unwrap();
    }
    std::fs::write(foreign.join("diary.txt"), "dear").unwrap();
    let target = place.path().join("target");
    let target = target.to_str().unwrap();
    for dir in [&empty, &foreign] {
        let path = dir.to_str().unwrap();
        let before: Vec<_> = names(dir);
        for line in
            [&["verify", path][..], &["stats", path], &["dump", path], &["backup", path, target]]
        {
            let output = clearway(line);
            assert_eq!(output.status.code(), Some(3), "{line:?}");
            assert_eq!(names(dir), before, "{line:?}");
        }
    }
    // An empty directory that was left unchanged can still be the target of a copy.
    let bank = bank(&place);
    assert!(clearway(&["backup", &bank, empty.to_str().unwrap()]).status.success());
}

fn names(dir: &std::path::Path) -> Vec<std::ffi::OsString> {
    let mut names: Vec<_> =
        std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    names.sort();
    names
}
