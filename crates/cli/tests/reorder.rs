//! `clearway reorder` as its users run it, on the example payment transaction.
//!
//! The tests need libclang, gcc and `libpq-fe.h`. Without them they say SKIPPED; if
//! `CLEARWAY_REQUIRE_LIBCLANG` or `CLEARWAY_REQUIRE_LIBPQ` is set, they fail.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output},
};

fn examples() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../reorder/examples")
}

fn example(name: &str) -> String {
    examples().join("tpcc").join(name).display().to_string()
}

fn clearway(line: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_clearway")).arg("reorder").args(line).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs a subcommand on a source over libpq, with the example's schema and flags.
fn on_source(command: &str, source: &str, options: &[&str]) -> Output {
    let (schema, tpcc) = (example("schema.sql"), format!("-I{}", example("")));
    let mut line = vec![command, source, "--api", "libpq"];
    if command != "instrument" {
        line.extend(["--schema", &schema]);
    }
    line.extend(options);
    if !options.contains(&"-p") {
        line.extend(["--", "-I/usr/include/postgresql", &tpcc]);
    }
    clearway(&line)
}

/// Returns false with a message if the tests cannot run here.
fn can_run() -> bool {
    let skip = |variable: &str, reason: &str| {
        assert!(std::env::var_os(variable).is_none(), "{reason}");
        eprintln!("SKIPPED: {reason}");
        false
    };
    if !Path::new("/usr/include/postgresql/libpq-fe.h").exists() {
        return skip("CLEARWAY_REQUIRE_LIBPQ", "libpq-fe.h is missing");
    }
    if Command::new("gcc").arg("--version").output().is_err() {
        return skip("CLEARWAY_REQUIRE_LIBPQ", "gcc is missing");
    }
    let explained = on_source("explain", &example("payment_params.c"), &[]);
    if text(&explained.stderr).contains("libclang, which reads C and C++, is not found") {
        return skip("CLEARWAY_REQUIRE_LIBCLANG", "libclang is missing");
    }
    true
}

fn assert_success(output: &Output) {
    let (out, errors) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{out}\n{errors}");
}

#[test]
fn reordered_payment_is_verified() {
    if !can_run() {
        return;
    }
    let output = on_source("verify", &example("payment_params.c"), &["--seeds", "2"]);
    assert_success(&output);
    let report = text(&output.stdout);
    assert!(report.starts_with("payment: ") && report.contains("no difference"), "{report}");
}

#[test]
fn wrong_order_ends_with_exit_code_1_and_both_runs() {
    if !can_run() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let wrong = place.path().join("wrong.c");
    let source = fs::read_to_string(example("order_status.c")).unwrap();
    // The balance is shown with the wrong sign.
    let changed = source.replace("out->c_balance = atof(", "out->c_balance = -atof(");
    assert_ne!(changed, source);
    fs::write(&wrong, changed).unwrap();
    let against = ["--seeds", "2", "--against", wrong.to_str().unwrap()];
    let output = on_source("verify", &example("order_status.c"), &against);
    let (report, errors) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{report}\n{errors}");
    assert!(report.contains("* output out.c_balance"), "{report}");
    assert!(errors.contains("the reordered `order_status` differs"), "{errors}");
}

#[test]
fn query_that_never_runs_ends_with_exit_code_4() {
    if !can_run() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let source = place.path().join("close.c");
    // No input is even and odd.
    let text = r#"#include <libpq-fe.h>

int close_district(PGconn *conn, int number)
{
    PGresult *res;

    PQclear(PQexec(conn, "BEGIN"));
    res = PQexec(conn, "UPDATE district SET d_tax = 0 WHERE d_w_id = 1 AND d_id = 1");
    if (PQresultStatus(res) != PGRES_COMMAND_OK) {
        PQclear(res);
        PQclear(PQexec(conn, "ROLLBACK"));
        return -1;
    }
    PQclear(res);
    if (number % 2 == 0 && number % 2 != 0)
        PQclear(PQexec(conn, "DELETE FROM history"));
    PQclear(PQexec(conn, "COMMIT"));
    return 0;
}
"#;
    fs::write(&source, text).unwrap();
    let source = source.to_str().unwrap();
    let output = on_source("verify", source, &["--seeds", "2", "--against", source]);
    let (report, errors) = (self::text(&output.stdout), self::text(&output.stderr));
    assert_eq!(output.status.code(), Some(4), "{report}\n{errors}");
    assert!(report.contains("never ran") && report.contains("16"), "{report}");
}

#[test]
fn interface_without_a_mock_is_not_verified() {
    let line = ["verify", "x.c", "--api", "odbc", "--schema", "x.sql"];
    let output = clearway(&line);
    assert_eq!(output.status.code(), Some(3));
    let errors = text(&output.stderr);
    assert!(
        errors.contains("there is no mock of `odbc`, only of libpq, mysql, sqlite"),
        "{errors}"
    );
}

#[test]
fn linear_program_of_a_transaction_is_written() {
    if !can_run() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let lp = place.path().join("payment.lp");
    let options = ["--lp", lp.to_str().unwrap(), "--objective", "position"];
    assert_success(&on_source("explain", &example("payment_params.c"), &options));
    let lp = fs::read_to_string(lp).unwrap();
    assert!(lp.contains("Maximize") || lp.contains("Minimize"), "{lp}");
    assert!(lp.contains("Subject To") && lp.ends_with("End\n"), "{lp}");
}

#[test]
fn both_orders_are_drawn_and_the_lock_order_is_priced() {
    if !can_run() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let page = place.path().join("payment.html");
    let options = ["--html", page.to_str().unwrap(), "--lock-order"];
    let output = on_source("explain", &example("payment_params.c"), &options);
    assert_success(&output);
    let report = text(&output.stdout);
    assert!(report.contains("--lock-order: expected cost 553 without it, 553 with"), "{report}");
    let page = fs::read_to_string(page).unwrap();
    assert_eq!(page.matches("<svg ").count(), 2);
    assert!(page.contains("<h2>payment</h2>") && page.ends_with("</html>\n"), "{page}");
    let nowhere = ["--html", "/nonexistent/payment.html"];
    let output = on_source("explain", &example("payment_params.c"), &nowhere);
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("cannot write /nonexistent/payment.html"));
}

#[test]
fn flags_come_from_the_compile_commands_of_a_build() {
    if !can_run() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let commands = serde_json::json!([{
        "directory": examples(), "file": "tpcc/payment_params.c",
        "command": "cc -Itpcc -I. -I /usr/include/postgresql -o x.o -c tpcc/payment_params.c",
    }]);
    fs::write(place.path().join("compile_commands.json"), commands.to_string()).unwrap();
    let build = ["-p", place.path().to_str().unwrap()];
    let output = on_source("explain", &example("payment_params.c"), &build);
    assert_success(&output);
    assert!(text(&output.stdout).starts_with("payment, line"), "{}", text(&output.stdout));
    let other = on_source("explain", &example("delivery.c"), &build);
    assert_eq!(other.status.code(), Some(3));
    assert!(text(&other.stderr).contains("is not compiled there"), "{}", text(&other.stderr));
}

#[test]
fn instrumented_source_compiles_and_its_profile_orders_the_queries() {
    if !can_run() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name).display().to_string();
    let (source, runtime) = (path("measured.c"), place.path().display().to_string());
    let options = ["-o", &source, "--runtime", &runtime];
    let output = on_source("instrument", &example("payment_params.c"), &options);
    assert_success(&output);
    assert!(text(&output.stderr).contains("calls are measured"), "{}", text(&output.stderr));
    let mut gcc = Command::new("gcc");
    gcc.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread", "-c", "measured.c"]);
    gcc.args(["clearway_profile.c", "-I/usr/include/postgresql", "-I."]);
    gcc.arg(format!("-I{}", example(""))).current_dir(place.path());
    assert_success(&gcc.output().unwrap());
    // Two runs of a program that has executed one of the queries.
    let run = |time: u64| {
        let query = "UPDATE warehouse SET w_ytd = w_ytd + $1 WHERE w_id = $2";
        serde_json::json!({ "version": 1, "queries": [{ "function": "payment", "sql": query,
            "ordinal": 0, "count": 1, "sum": time, "squares": time * time, "buckets": [[time, 1]],
        }] })
    };
    fs::write(path("1.json"), run(3).to_string()).unwrap();
    fs::write(path("2.json"), run(7).to_string()).unwrap();
    let merged = path("p.json");
    let files = [&path("1.json"), &path("2.json"), "--single", &path("1.json"), "-o", &merged];
    assert_success(&clearway(&[&["profile"], &files[..]].concat()));
    let options = ["--profile", &merged, "--weights", "wait", "--objective", "position"];
    let output = on_source("explain", &example("payment_params.c"), &options);
    assert_success(&output);
    let explained = text(&output.stdout);
    let line = explained.lines().find(|line| line.contains("UPDATE warehouse")).unwrap();
    // The only measured query has a weight, a time of some nanoseconds, and so goes to the end.
    let words: Vec<&str> = line.split_whitespace().collect();
    assert_eq!(words[..6], ["↓", "13", "4", "30-37", "0.000", "ms"], "{explained}");
    assert!(explained.contains("the profile does not have"), "{explained}");
}

#[test]
fn pure_function_lets_queries_move_across_it() {
    if !can_run() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("noted.c");
    let source = fs::read_to_string(example("payment_params.c")).unwrap();
    let noted = source.replace("    /* The district. */", "    note(7);\n    /* The district. */");
    let noted = noted.replace("int payment(", "int note(int number);\n\nint payment(");
    fs::write(&path, noted).unwrap();
    let explained = |options: &[&str]| {
        let output = on_source("explain", path.to_str().unwrap(), options);
        assert_success(&output);
        text(&output.stdout)
    };
    let barrier = "calls `note`, which no model describes";
    assert!(explained(&[]).contains(barrier));
    let pure = explained(&["--pure", "note"]);
    assert!(!pure.contains(barrier), "{pure}");
}

/// Returns the message with which `explain` refuses a schema; its text if `schema` is no address.
fn refused_schema(schema: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("own.sql");
    fs::write(&path, schema).unwrap();
    let path = path.display().to_string();
    let schema = if schema.contains("://") { schema } else { &path };
    let (source, tpcc) = (example("payment_params.c"), format!("-I{}", example("")));
    let line = ["explain", &source, "--api", "libpq", "--schema", schema, "--"];
    let output = clearway(&[&line[..], &["-I/usr/include/postgresql", &tpcc]].concat());
    assert!(!output.status.success(), "{}", text(&output.stdout));
    text(&output.stderr)
}

#[test]
fn schema_that_says_nothing_is_refused() {
    if !can_run() {
        return;
    }
    let message = refused_schema("-- nothing\nSET x = 1;\n");
    assert!(message.contains("own.sql: it defines no table: pass the DDL"), "{message}");
    let message = refused_schema("CREATE TABLE t (a int);\nCRAETE TABLE u (a int);\n");
    assert!(message.contains("own.sql: schema, line 2: no statement of DDL begins"), "{message}");
    let message = refused_schema("CREATE TABLE t (a int,\n PRIMARY KEY (b));\n");
    assert!(message.contains("own.sql: schema, line 1: `t` has no column `b`"), "{message}");
}

#[test]
fn schema_of_a_server_that_cannot_be_read_is_refused() {
    if !can_run() {
        return;
    }
    let message = refused_schema("mysql://tpcc:secret@localhost/tpcc");
    assert!(message.contains("another server than the interface of --api"), "{message}");
    let message = refused_schema("postgresql://tpcc:secret@/tpcc?host=/nowhere");
    let is_named = message.contains("pg_dump failed: ") || message.contains("pg_dump is not found");
    assert!(is_named && !message.contains("secret"), "{message}");
}

#[test]
fn function_that_only_begins_a_transaction_is_named() {
    if !can_run() {
        return;
    }
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("open.c");
    let open = "#include <libpq-fe.h>\n\
                void open_transaction(PGconn *c) {\n\
                \x20   PQclear(PQexec(c, \"BEGIN\"));\n\
                \x20   PQclear(PQexec(c, \"UPDATE district SET d_ytd = d_ytd + 1\"));\n\
                }\n";
    let whole = "void whole(PGconn *c) {\n\
                 \x20   PQclear(PQexec(c, \"BEGIN\"));\n\
                 \x20   PQclear(PQexec(c, \"UPDATE district SET d_ytd = d_ytd + 1\"));\n\
                 \x20   PQclear(PQexec(c, \"COMMIT\"));\n\
                 }\n";
    let explained = |source: &str| {
        fs::write(&path, source).unwrap();
        on_source("explain", path.to_str().unwrap(), &[])
    };
    let alone = explained(open);
    assert_eq!(alone.status.code(), Some(3), "{}", text(&alone.stdout));
    let both = explained(&format!("{open}{whole}"));
    assert_success(&both);
    assert!(text(&both.stdout).starts_with("whole,"), "{}", text(&both.stdout));
    for output in [alone, both] {
        let errors = text(&output.stderr);
        assert!(errors.contains("`open_transaction` begins a transaction"), "{errors}");
    }
    assert!(!text(&explained(whole).stderr).contains("begins a transaction"));
}
