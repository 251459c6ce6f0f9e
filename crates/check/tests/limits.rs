//! The program with too little memory for a check, and without a reader of its report.

use std::{
    io::pipe,
    path::Path,
    process::{Command, Output},
};

use clearway_check::{
    Level, Surrender, check_within, format,
    history::{Event, History, Op, Phase},
};
use clearway_testkit::Random;

const CLIENTS: u64 = 64;
const REGISTERS: u64 = 10;

/// A valid history of `CLIENTS` transactions at a time on few registers. Each writes one without
/// having read it; with `reads`, half of the operations are reads.
fn hot_registers(transactions: u64, reads: bool) -> History {
    let mut random = Random::new(7);
    let mut state = [None; REGISTERS as usize];
    let mut free = [0u64; CLIENTS as usize];
    let mut history = History::default();
    // Transaction `id` takes effect at `id × 1,000 + 500`, and is under way around it.
    for id in 0..transactions {
        let client = id % CLIENTS;
        let effect = (id + CLIENTS) * 1_000 + 500;
        let begin = (effect - random.below(CLIENTS * 500)).max(free[client as usize] + 1);
        let end = effect + 1 + random.below(CLIENTS * 400);
        free[client as usize] = end;
        let (mut asked, mut done) = (Vec::new(), Vec::new());
        for part in 0..2 {
            let key = random.below(REGISTERS);
            if reads && random.below(2) == 0 {
                asked.push(Op::Read { key, value: None });
                done.push(Op::Read { key, value: Some(state[key as usize]) });
            } else {
                let value = 2 * id + part;
                state[key as usize] = Some(value);
                asked.push(Op::Write { key, value });
                done.push(Op::Write { key, value });
            }
        }
        let event = |phase, time, ops| Event { id, process: client, phase, time, ops };
        history.events.push(event(Phase::Invoke, begin, asked));
        history.events.push(event(Phase::Ok, end, done));
    }
    history.sort();
    history
}

/// Runs the program with a limited address space.
fn program(history: &History, memory: &str, space_kib: u64) -> (Option<i32>, String) {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("history");
    format::write(history, std::fs::File::create(&file).unwrap()).unwrap();
    let limited = format!("ulimit -v {space_kib}; exec \"$0\" history \"$1\" --memory {memory}");
    let Output { status, stdout, stderr } = Command::new("sh")
        .args(["-c", &limited, env!("CARGO_BIN_EXE_clearway-check")])
        .arg(&file)
        .output()
        .unwrap();
    (status.code(), String::from_utf8([stdout, stderr].concat()).unwrap())
}

#[test]
fn blind_writes_to_hot_registers_are_decided_in_a_gibibyte() {
    let (code, text) = program(&hot_registers(16_000, false), "1GiB", 1 << 20);
    assert!(text.starts_with("strictly serializable: 16000 transactions"), "{text}");
    assert_eq!(code, Some(0));
}

#[test]
fn what_takes_more_memory_than_allowed_is_undecided() {
    for (history, memory, space_kib) in [
        (hot_registers(4_000, false), "16MiB", 128 << 10),
        (hot_registers(4_000, true), "100MiB", 200 << 10),
    ] {
        let (code, text) = program(&history, memory, space_kib);
        assert!(text.starts_with("undecided: 4000 transactions"), "{text}");
        assert!(text.contains("decided: the edges have no cycle; left open for want of"), "{text}");
        assert_eq!(code, Some(3), "{text}");
    }
}

#[test]
fn an_anomaly_is_found_with_the_least_memory() {
    let mut history = hot_registers(1_000, false);
    let time = history.events.last().unwrap().time + 10;
    let event = |phase, time, ops| Event { id: 5_000, process: 99, phase, time, ops };
    let early = Op::Read { key: 3, value: Some(None) };
    history.events.push(event(Phase::Invoke, time, vec![Op::Read { key: 3, value: None }]));
    history.events.push(event(Phase::Ok, time + 1, vec![early]));
    let report = check_within(&history, Level::StrictSerializable, 0).unwrap();
    assert!(!report.is_valid() && report.undecided == 0, "{report}");
    let valid = hot_registers(1_000, false);
    let report = check_within(&valid, Level::StrictSerializable, 0).unwrap();
    assert!(report.is_valid() && report.undecided == report.choices, "{report}");
    assert_eq!(report.surrender, Some(Surrender::Memory));
}

/// Runs the program with an output that has no reader.
fn without_reader(arguments: &[&str], directory: &Path) -> Output {
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let mut command = Command::new(env!("CARGO_BIN_EXE_clearway-check"));
    let child = command.args(arguments).current_dir(directory).stdout(writer);
    child.stderr(std::process::Stdio::piped()).spawn().unwrap().wait_with_output().unwrap()
}

#[test]
fn a_report_without_a_reader_is_no_panic() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("history");
    format::write(&hot_registers(100, false), std::fs::File::create(&file).unwrap()).unwrap();
    for arguments in
        [&["history", "history"][..], &["run", "--histories", "1", "--transactions", "50"]]
    {
        let Output { status, stderr, .. } = without_reader(arguments, place.path());
        let text = String::from_utf8(stderr).unwrap();
        assert!(status.code() == Some(0) && text.is_empty(), "{arguments:?}: {status}, {text}");
    }
}
