//! Compares the checker with a brute-force checker that tries all orders.
//!
//! Thousands of small random histories, some of executions that were serial, some of sloppy ones.
//! A history is valid if some order of its transactions, with any of the unknown ones left out,
//! explains every read and agrees with real time.

mod generate;
mod orders;

use clearway_check::{Level, check_level, format, history::History};
use clearway_testkit::Random;

/// Number of histories of each kind.
const HISTORIES: u64 = 4_000;

fn compare(seed: u64, workload: generate::Mix, counts: &mut [u64; 2]) {
    let history = generate::history(&mut Random::stream(seed, workload as u64), workload);
    for level in [Level::StrictSerializable, Level::Serializable] {
        let expected = orders::is_valid(&history, level);
        let report = check_level(&history, level).unwrap();
        assert_eq!(report.undecided, 0);
        counts[usize::from(expected)] += 1;
        if report.is_valid() != expected {
            panic!(
                "seed {seed}, {workload:?}, {level:?}: valid is {expected}, the checker says\n\
                 {report}\n{}",
                text(&history)
            );
        }
    }
}

fn text(history: &History) -> String {
    let mut text = Vec::new();
    format::write(history, &mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn run(workload: generate::Mix) {
    let mut counts = [0; 2];
    for seed in 0..HISTORIES {
        compare(seed, workload, &mut counts);
    }
    let [invalid, valid] = counts;
    println!("{workload:?}: {valid} valid and {invalid} invalid histories, all distinguished");
    assert!(valid > HISTORIES / 10 && invalid > HISTORIES / 10, "{valid} valid, {invalid} invalid");
}

#[test]
fn lists_are_judged_as_all_orders_judge_them() {
    run(generate::Mix::Lists);
}

#[test]
fn registers_are_judged_as_all_orders_judge_them() {
    run(generate::Mix::Registers);
}

#[test]
fn rows_are_judged_as_all_orders_judge_them() {
    run(generate::Mix::Rows);
}

#[test]
fn sums_are_judged_as_all_orders_judge_them() {
    run(generate::Mix::Sums);
}

#[test]
fn mixtures_are_judged_as_all_orders_judge_them() {
    run(generate::Mix::All);
}
