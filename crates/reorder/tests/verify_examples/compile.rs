//! Reordered texts compile as the examples do: gcc and clang have no complaint.

use std::{
    fs,
    process::{Command, Stdio},
    sync::LazyLock,
};

use crate::example::{Example, skip};

/// gcc finds variables that may be used uninitialized only if it optimizes; clang warns before it
/// does.
const GCC: [&str; 4] = ["-O1", "-c", "-o", "/dev/null"];
const CLANG: [&str; 1] = ["-fsyntax-only"];

/// The program that is clang, if there is one.
static CLANG_PROGRAM: LazyLock<Option<String>> = LazyLock::new(|| {
    let versions = (14..=20).rev().map(|version| format!("clang-{version}"));
    let mut names = ["clang".to_owned()].into_iter().chain(versions);
    names.find(|name| runs(name))
});

fn runs(program: &str) -> bool {
    let mut command = Command::new(program);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Asserts that gcc and clang compile a text of an example without a warning.
pub(crate) fn assert_no_complaint(example: &Example, text: &str) {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("rewritten.c");
    fs::write(&file, text).unwrap();
    let mut compilers = Vec::new();
    match runs("gcc") {
        true => compilers.push(("gcc", &GCC[..])),
        false => skip("CLEARWAY_REQUIRE_LIBPQ", "gcc is missing"),
    }
    match CLANG_PROGRAM.as_deref() {
        Some(clang) => compilers.push((clang, &CLANG[..])),
        None => skip("CLEARWAY_REQUIRE_CLANG", "clang is missing"),
    }
    for (compiler, how) in compilers {
        let mut command = Command::new(compiler);
        command.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror"]).args(how);
        let output = command.args(example.flags()).arg(&file).output().unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{compiler}: {errors}\n{text}");
    }
}
