//! Rewritten cases compile as the sources do: without warnings.

use std::{fs, path::Path, process::Command, thread};

use crate::case::{Case, Expected};

/// Returns what the compiler says about a file; empty if it has no complaint.
fn complaints(case: &Case, file: &Path) -> String {
    let compiler = if case.is_cpp() { "g++" } else { "gcc" };
    let mut command = Command::new(compiler);
    command.args(["-fsyntax-only", "-Wall", "-Wextra", "-Werror"]).args(case.flags()).arg(file);
    let output = command.output().unwrap_or_else(|error| panic!("{compiler}: {error}"));
    if output.status.success() {
        String::new()
    } else {
        String::from_utf8_lossy(&output.stderr).into()
    }
}

#[test]
fn sources_and_rewritten_sources_compile_without_warnings() {
    if crate::front_end().is_none() {
        return;
    }
    let cases = crate::cases();
    let check = |part: &[Case]| {
        let mut wrong = String::new();
        for case in part {
            wrong += &complaints(case, case.path());
            if case.expected == Expected::Moves && fs::exists(case.after()).unwrap() {
                wrong += &complaints(case, &case.after());
            }
        }
        wrong
    };
    let half = cases.len().div_ceil(2).max(1);
    let wrong: String = thread::scope(|scope| {
        let threads: Vec<_> = cases.chunks(half).map(|part| scope.spawn(|| check(part))).collect();
        threads.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(wrong.is_empty(), "{wrong}");
}
