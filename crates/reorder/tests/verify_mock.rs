//! The mock of libpq, used by a C program that checks the answers. gcc compiles it without a
//! warning.
//!
//! The tests need gcc and `libpq-fe.h`. Without them they say SKIPPED; if `CLEARWAY_REQUIRE_LIBPQ`
//! is set, they fail.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

use tempfile::TempDir;

/// Returns the directory with the compiled program `mock`, unless it cannot be compiled here.
fn built() -> Option<&'static Path> {
    static BUILT: OnceLock<Result<TempDir, String>> = OnceLock::new();
    match BUILT.get_or_init(build) {
        Ok(directory) => Some(directory.path()),
        Err(reason) => {
            assert!(std::env::var_os("CLEARWAY_REQUIRE_LIBPQ").is_none(), "{reason}");
            eprintln!("SKIPPED: {reason}");
            None
        }
    }
}

fn build() -> Result<TempDir, String> {
    let output = Command::new("pg_config").arg("--includedir").output();
    let named = output.map_or(String::new(), |output| String::from_utf8(output.stdout).unwrap());
    let include = [named.trim(), "/usr/include/postgresql", "/usr/include"]
        .into_iter()
        .find(|directory| Path::new(directory).join("libpq-fe.h").is_file())
        .ok_or("libpq-fe.h is not found")?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files: Vec<PathBuf> =
        fs::read_dir(root.join("runtime")).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "c"));
    let directory = tempfile::tempdir().unwrap();
    let output = Command::new("gcc")
        .args(["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-O1", "-isystem"])
        .arg(include)
        .arg(root.join("tests/verify/mock.c"))
        .args(files)
        .arg("-o")
        .arg(directory.path().join("mock"))
        .output()
        .map_err(|error| format!("gcc: {error}"))?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(directory)
}

/// Runs a part of the program, with a name for its log.
fn run(directory: &Path, part: &str, log: &str, failure: Option<&str>) -> Output {
    let columns = directory.join(format!("{log}.columns"));
    fs::write(&columns, "item i_price numeric(5,2)\nitem i_name varchar(5) not null\n").unwrap();
    let log = directory.join(log);
    let _ = fs::remove_file(&log);
    let mut command = Command::new(directory.join("mock"));
    command.arg(part).env("MOCKDB_COLUMNS", columns).env("MOCKDB_LOG", log);
    command.env("MOCKDB_SEED", "1");
    if let Some(failure) = failure {
        command.env("MOCKDB_FAIL", failure);
    }
    command.output().unwrap()
}

fn assert_passes(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Returns the key of the first query in a log whose line contains a text.
fn key(directory: &Path, log: &str, text: &str) -> String {
    let log = fs::read_to_string(directory.join(log)).unwrap();
    let line = log.lines().find(|line| line.contains(text)).unwrap();
    let value: serde_json::Value = serde_json::from_str(line).unwrap();
    value["key"].as_str().unwrap().to_owned()
}

#[test]
fn columns_have_names_and_values_of_their_type() {
    let Some(directory) = built() else { return };
    assert_passes(&run(directory, "columns", "columns.log", None));
}

#[test]
fn texts_are_quoted_as_libpq_does() {
    let Some(directory) = built() else { return };
    assert_passes(&run(directory, "texts", "texts.log", None));
}

#[test]
fn failed_query_fails_the_transaction() {
    let Some(directory) = built() else { return };
    // Without a failure the program's checks do not hold, but the log has the key.
    assert_eq!(run(directory, "failure", "failure.log", None).status.code(), Some(1));
    let key = key(directory, "failure.log", "\"parameters\":[\"5\"]");
    assert_passes(&run(directory, "failure", "failure.log", Some(&format!("{key}:40001"))));
}

#[test]
fn lost_connection_stays_lost_until_it_is_reset() {
    let Some(directory) = built() else { return };
    assert_eq!(run(directory, "lost", "lost.log", None).status.code(), Some(1));
    let key = key(directory, "lost.log", "SELECT 1");
    assert_passes(&run(directory, "lost", "lost.log", Some(&format!("{key}:LOST"))));
}

#[test]
fn answers_depend_on_the_occurrence_and_not_on_the_place() {
    let Some(directory) = built() else { return };
    let first = run(directory, "first", "first.log", None);
    let later = run(directory, "later", "later.log", None);
    assert_passes(&first);
    assert_eq!(first.stdout, later.stdout);
    let answers = String::from_utf8(first.stdout).unwrap();
    let mut answers: Vec<&str> = answers.split_whitespace().collect();
    assert_eq!(answers.len(), 3);
    answers.dedup();
    assert!(answers.len() > 1, "{answers:?}");
}
