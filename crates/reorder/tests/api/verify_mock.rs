//! The mocks, each used by a C program that checks the answers. gcc and clang compile them without
//! a warning.
//!
//! The tests need gcc and the interface's header. Without them they say SKIPPED; if
//! `CLEARWAY_REQUIRE_LIBPQ`, `CLEARWAY_REQUIRE_MYSQL` or `CLEARWAY_REQUIRE_SQLITE` is set, they
//! fail.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
    sync::OnceLock,
};

use tempfile::TempDir;

/// A mock with the program that uses it.
struct Mock {
    /// The part of the names of its C files.
    name: &'static str,
    program: &'static str,
    header: &'static str,
    directories: &'static [&'static str],
    required: &'static str,
    built: OnceLock<Result<TempDir, String>>,
}

static LIBPQ: Mock = Mock {
    name: "libpq",
    program: "mock.c",
    header: "libpq-fe.h",
    directories: &["/usr/include/postgresql", "/usr/include"],
    required: "CLEARWAY_REQUIRE_LIBPQ",
    built: OnceLock::new(),
};

static MYSQL: Mock = Mock {
    name: "mysql",
    program: "mock_mysql.c",
    header: "mysql.h",
    directories: &["/usr/include/mariadb", "/usr/include/mysql"],
    required: "CLEARWAY_REQUIRE_MYSQL",
    built: OnceLock::new(),
};

static SQLITE: Mock = Mock {
    name: "sqlite",
    program: "mock_sqlite.c",
    header: "sqlite3.h",
    directories: &["/usr/include"],
    required: "CLEARWAY_REQUIRE_SQLITE",
    built: OnceLock::new(),
};

impl Mock {
    /// Returns the directory with the compiled program `mock`, unless it cannot be compiled here.
    fn built(&self) -> Option<&Path> {
        match self.built.get_or_init(|| self.build("gcc")) {
            Ok(directory) => Some(directory.path()),
            Err(reason) => {
                assert!(std::env::var_os(self.required).is_none(), "{reason}");
                eprintln!("SKIPPED: {reason}");
                None
            }
        }
    }

    /// Returns the C files: those of the core, and those of the interface.
    fn files(&self) -> Vec<PathBuf> {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime");
        let others = [&LIBPQ, &MYSQL, &SQLITE].map(|mock| mock.name);
        let belongs = |file: &PathBuf| {
            let name = file.file_name().unwrap().to_str().unwrap();
            let foreign = |other: &&str| *other != self.name && name.contains(*other);
            name.starts_with("mock_") && name.ends_with(".c") && !others.iter().any(foreign)
        };
        let all = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        all.filter(belongs).collect()
    }

    fn build(&self, compiler: &str) -> Result<TempDir, String> {
        let has_header = |directory: &&&str| Path::new(directory).join(self.header).is_file();
        let missing = format!("{} is not found", self.header);
        let include = self.directories.iter().find(has_header).ok_or(missing)?;
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let directory = tempfile::tempdir().unwrap();
        let output = Command::new(compiler)
            .args(["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-isystem", include])
            .arg("-I")
            .arg(root.join("runtime"))
            .arg(root.join("tests/verify").join(self.program))
            .args(self.files())
            .arg("-o")
            .arg(directory.path().join("mock"))
            .output()
            .map_err(|error| format!("{compiler}: {error}"))?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Ok(directory)
    }
}

/// Runs a part of the program, with a name for its log.
fn run(directory: &Path, part: &str, log: &str, failure: Option<&str>) -> Output {
    run_with_seed(directory, part, log, failure, 1)
}

fn run_with_seed(
    directory: &Path,
    part: &str,
    log: &str,
    failure: Option<&str>,
    seed: u64,
) -> Output {
    let [columns, keys] = ["columns", "keys"].map(|kind| directory.join(format!("{log}.{kind}")));
    let types = "item i_price numeric(5,2)\nitem i_name varchar(5) not null\n\
                 item i_count integer not null\nitem i_kind text not null\n";
    fs::write(&columns, types).unwrap();
    fs::write(&keys, "item i_id\n").unwrap();
    let log = directory.join(log);
    let _ = fs::remove_file(&log);
    let mut command = Command::new(directory.join("mock"));
    command.arg(part).env("MOCKDB_COLUMNS", columns).env("MOCKDB_LOG", log);
    command.env("MOCKDB_SEED", seed.to_string()).env("MOCKDB_KEYS", keys);
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
    let Some(directory) = LIBPQ.built() else { return };
    assert_passes(&run(directory, "columns", "columns.log", None));
}

#[test]
fn texts_are_quoted_as_libpq_does() {
    let Some(directory) = LIBPQ.built() else { return };
    assert_passes(&run(directory, "texts", "texts.log", None));
}

#[test]
fn failed_query_fails_the_transaction() {
    let Some(directory) = LIBPQ.built() else { return };
    // Without a failure the program's checks do not hold, but the log has the key.
    assert_eq!(run(directory, "failure", "failure.log", None).status.code(), Some(1));
    let key = key(directory, "failure.log", "\"parameters\":[\"5\"]");
    assert_passes(&run(directory, "failure", "failure.log", Some(&format!("{key}:40001"))));
}

#[test]
fn lost_connection_stays_lost_until_it_is_reset() {
    let Some(directory) = LIBPQ.built() else { return };
    assert_eq!(run(directory, "lost", "lost.log", None).status.code(), Some(1));
    let key = key(directory, "lost.log", "SELECT 1");
    assert_passes(&run(directory, "lost", "lost.log", Some(&format!("{key}:LOST"))));
}

#[test]
fn answers_depend_on_the_occurrence_and_not_on_the_place() {
    let Some(directory) = LIBPQ.built() else { return };
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

#[test]
fn counts_are_those_that_the_query_can_have() {
    let Some(directory) = LIBPQ.built() else { return };
    assert_passes(&run_with_seed(directory, "counts", "counts.log", None, 2));
}

#[test]
fn numbers_at_which_a_program_branches_are_frequent() {
    let Some(directory) = LIBPQ.built() else { return };
    assert_passes(&run_with_seed(directory, "special", "special.log", None, 2));
}

#[test]
fn mock_of_mysql_answers_as_its_manual_says() {
    let Some(directory) = MYSQL.built() else { return };
    for part in ["rows", "sync", "buffers", "texts"] {
        assert_passes(&run(directory, part, &format!("{part}.log"), None));
    }
    let log = fs::read_to_string(directory.join("buffers.log")).unwrap();
    assert!(log.contains("\"parameters\":[\"5\",\"ab\"]"), "{log}");
}

#[test]
fn deadlock_in_mysql_ends_the_transaction() {
    let Some(directory) = MYSQL.built() else { return };
    assert_eq!(run(directory, "deadlock", "deadlock.log", None).status.code(), Some(1));
    let key = key(directory, "deadlock.log", "i_price = 7");
    let failure = format!("{key}:40001");
    assert_passes(&run(directory, "deadlock", "deadlock.log", Some(&failure)));
    let log = fs::read_to_string(directory.join("deadlock.log")).unwrap();
    let states: Vec<&str> =
        log.lines().filter_map(|line| line.split("\"state\":\"").nth(1)).collect();
    assert!(states[1].starts_with("idle"), "{log}");
}

#[test]
fn mock_of_sqlite_answers_as_its_manual_says() {
    let Some(directory) = SQLITE.built() else { return };
    for part in ["exec", "steps", "formats"] {
        assert_passes(&run(directory, part, &format!("{part}.log"), None));
    }
    let log = fs::read_to_string(directory.join("steps.log")).unwrap();
    assert!(log.contains("\"parameters\":[null,\"5\",\"later\"]"), "{log}");
    assert!(log.contains("a parameter is bound before sqlite3_reset"), "{log}");
}

#[test]
fn full_disk_in_sqlite_ends_the_transaction() {
    let Some(directory) = SQLITE.built() else { return };
    assert_eq!(run(directory, "failure", "failure.log", None).status.code(), Some(1));
    let key = key(directory, "failure.log", "\"kind\":\"query\",\"statement\":\"change\"");
    assert_passes(&run(directory, "failure", "failure.log", Some(&format!("{key}:SQLITE_FULL"))));
}

#[test]
fn clang_compiles_the_mocks_without_a_warning() {
    for compiler in ["clang", "clang-14"] {
        if Command::new(compiler).arg("--version").output().is_err() {
            continue;
        }
        for mock in [&LIBPQ, &MYSQL, &SQLITE] {
            if let Err(reason) = mock.build(compiler) {
                eprintln!("SKIPPED: {reason}");
            }
        }
        return;
    }
    eprintln!("SKIPPED: clang is not found");
}
