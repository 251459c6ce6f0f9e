//! `verify` on hand-written pairs of programs: equal ones pass, and each kind of mistake is found.
//!
//! The tests need gcc and `libpq-fe.h`. Without them they say SKIPPED; if `CLEARWAY_REQUIRE_LIBPQ`
//! is set, they fail.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use clearway_reorder::{
    ir::{
        Function, Language, Program, Record, Scope, Statement, StatementKind, Type, Variable,
        VariableIndex,
    },
    source::Range,
    sql::{Columns, Query, QueryKind, TableAccess, Value},
    verify::{Difference, Input, LIBPQ, Options, Report, Verdict, VerifyError, verify},
};

fn scalar(name: &str) -> Type {
    Type::Scalar(name.to_owned())
}

fn text(length: u64) -> Type {
    Type::Array { of: Box::new(scalar("char")), length: Some(length) }
}

fn parameter(name: &str, record: &str) -> Variable {
    let to = Box::new(Type::Record(record.to_owned()));
    Variable {
        name: name.to_owned(),
        scope: Scope::Parameter,
        ty: Type::Pointer { to, constant: false },
        constant: false,
        volatile: false,
        hidden: false,
        owner: None,
        initial: None,
    }
}

/// Returns the IR of `payment.h` and the function, without its body, which `verify` does not need.
fn program() -> Program {
    let field = |name: &str, ty: Type| (name.to_owned(), ty);
    let payment = Record {
        name: "struct payment".to_owned(),
        union: false,
        fields: vec![
            field("warehouse", scalar("int")),
            field("customer", scalar("int")),
            field("amount", text(12)),
            field("name", text(24)),
            field("balance", scalar("int")),
        ],
    };
    let function = Function {
        method: false,
        replaceable: None,
        hidden: Default::default(),
        name: "payment".to_owned(),
        range: Range::new(0, 0),
        result: scalar("int"),
        parameters: vec![VariableIndex(0), VariableIndex(1)],
        body: Statement { range: Range::new(0, 0), kind: StatementKind::Block(Vec::new()) },
    };
    Program {
        path: "original.c".to_owned(),
        language: Language::C,
        variables: vec![parameter("conn", "struct pg_conn"), parameter("p", "struct payment")],
        records: vec![payment],
        functions: vec![function],
        macros: Vec::new(),
        directives: Vec::new(),
        enumerators: Default::default(),
        sizes: Default::default(),
        left_out: Default::default(),
    }
}

/// Returns what the four queries of the transaction do.
fn analyze(sql: &str) -> Option<Query> {
    let columns = |names: &[&str]| {
        Columns::Some(names.iter().map(|&name| name.to_owned()).collect::<BTreeSet<_>>())
    };
    let (table, key, column) = match sql {
        _ if sql.contains("w_ytd") => ("warehouse", "w_id", "w_ytd"),
        _ if sql.contains("w_name") => ("warehouse", "w_id", "w_name"),
        _ if sql.contains("c_balance") => ("customer", "c_id", "c_balance"),
        _ => return None,
    };
    let update = sql.starts_with("UPDATE");
    let access = TableAccess {
        reads: columns(&[key, column]),
        writes: if update { columns(&[column]) } else { Columns::default() },
        equal: BTreeMap::from([(key.to_owned(), Value::Parameter(usize::from(update)))]),
        ..TableAccess::default()
    };
    Some(Query {
        kind: if update { QueryKind::Write } else { QueryKind::Read },
        tables: BTreeMap::from([(table.to_owned(), access)]),
        ..Query::default()
    })
}

fn key(table: &str) -> Vec<String> {
    vec![format!("{}_id", &table[..1])]
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify").join(format!("{name}.c"))
}

/// Compares the original with a variant; `None` if the tests cannot run here.
fn compare_with(variant: &str, change: impl FnOnce(&mut Options)) -> Option<Report> {
    let mut options = Options::new(&LIBPQ, &analyze, &key);
    options.seeds = 4;
    // Programs without sanitizers are built and run in half of the time.
    options.sanitize = false;
    options.flags = ["-std=c99", "-Wall", "-Wextra", "-lpq"].map(str::to_owned).to_vec();
    change(&mut options);
    match verify(&source("original"), &source(variant), &program(), "payment", &options) {
        Err(error @ (VerifyError::Header { .. } | VerifyError::Start { .. })) => {
            assert!(std::env::var_os("CLEARWAY_REQUIRE_LIBPQ").is_none(), "{error}");
            eprintln!("SKIPPED: {error}");
            None
        }
        other => Some(other.unwrap()),
    }
}

fn assert_equal(variant: &str) {
    let Some(report) = compare_with(variant, |_| {}) else { return };
    assert_eq!(report.verdict(), Verdict::Equal, "{report}");
    assert!(report.skipped.is_empty(), "{report}");
    assert!(report.committed >= 4 && report.rolled_back >= 20, "{report}");
}

/// Asserts that a difference of the wanted kind is found.
fn assert_differs(variant: &str, wanted: impl Fn(&Difference) -> bool) {
    let Some(report) = compare_with(variant, |_| {}) else { return };
    let mut found = report.divergences.iter().flat_map(|divergence| &divergence.differences);
    assert!(found.any(wanted), "{report}");
}

#[test]
fn program_is_equal_to_itself() {
    let Some(report) = compare_with("original", |options| options.sanitize = true) else { return };
    assert_eq!(report.verdict(), Verdict::Equal, "{report}");
    assert!(report.skipped.is_empty(), "{report}");
}

#[test]
fn updates_of_different_tables_may_change_places() {
    assert_equal("other_table_first");
}

#[test]
fn accesses_of_different_columns_may_change_places() {
    assert_equal("other_columns_first");
}

#[test]
fn swapped_read_and_write_of_a_row_is_found() {
    assert_differs("read_before_write", |difference| {
        matches!(difference, Difference::Order { first, second }
            if first.starts_with("UPDATE customer") && second.starts_with("SELECT c_balance"))
    });
}

#[test]
fn lost_output_is_found() {
    assert_differs(
        "lost_output",
        |difference| matches!(difference, Difference::Output { path, .. } if path == "p.name"),
    );
}

#[test]
fn different_status_is_found() {
    assert_differs("other_status", |difference| {
        matches!(difference, Difference::Status { original, rewritten }
            if original == "-4" && rewritten == "-2")
    });
}

#[test]
fn line_printed_before_a_failing_query_is_found() {
    assert_differs("early_print", |difference| {
        matches!(difference, Difference::Printed { original, rewritten, .. }
            if original.is_empty() && rewritten.starts_with("paid"))
    });
}

#[test]
fn missing_query_is_found() {
    assert_differs(
        "missing_query",
        |difference| matches!(difference, Difference::Missing(query) if query.contains("w_ytd")),
    );
}

#[test]
fn extra_query_is_found() {
    assert_differs(
        "extra_query",
        |difference| matches!(difference, Difference::Extra(query) if query.contains("w_ytd")),
    );
}

#[test]
fn commit_after_a_failed_query_is_found() {
    assert_differs("commits_after_failure", |difference| {
        matches!(difference, Difference::Outcomes { original, rewritten }
            if original == &["rolled back"] && rewritten[0].starts_with("commit refused"))
    });
}

#[test]
fn rollback_instead_of_a_commit_is_found() {
    assert_differs("rolls_back", |difference| {
        matches!(difference, Difference::Outcomes { original, rewritten }
            if original == &["committed"] && rewritten == &["rolled back"])
    });
}

#[test]
fn use_of_a_cleared_result_is_found() {
    assert_differs("used_after_clear", |difference| {
        matches!(difference, Difference::Misuse(what)
            if what.starts_with("PQntuples on a result"))
    });
}

#[test]
fn result_cleared_twice_is_found() {
    assert_differs(
        "cleared_twice",
        |difference| matches!(difference, Difference::Misuse(what) if what.contains("twice")),
    );
}

#[test]
fn leaked_result_is_found() {
    assert_differs("leaked_result", |difference| {
        matches!(difference, Difference::Misuse(what)
            if what.contains("not cleared") && what.contains("c_balance"))
    });
}

#[test]
fn value_read_after_the_end_of_its_result_is_found_by_the_sanitizer() {
    let Some(report) = compare_with("value_after_clear", |options| options.sanitize = true) else {
        return;
    };
    if report.notes.iter().any(|note| note.contains("no sanitizers")) {
        eprintln!("SKIPPED: {}", report.notes.join("; "));
        return;
    }
    assert!(
        matches!(&report.divergences[0].differences[0], Difference::Breaks(reason)
            if reason.contains("heap-use-after-free")),
        "{report}"
    );
}

#[test]
fn value_read_after_the_end_of_its_result_is_found_without_a_sanitizer() {
    let Some(report) = compare_with("value_after_clear", |_| {}) else { return };
    assert!(
        matches!(&report.divergences[0].differences[0], Difference::Output { path, rewritten, .. }
            if path == "p.balance" && rewritten == "0"),
        "{report}"
    );
}

#[test]
fn query_that_is_not_understood_conflicts_with_all() {
    let nothing = |_: &str| None;
    let mut options = Options::new(&LIBPQ, &nothing, &key);
    options.seeds = 1;
    let report =
        verify(&source("original"), &source("other_table_first"), &program(), "payment", &options);
    match report {
        Err(error @ (VerifyError::Header { .. } | VerifyError::Start { .. })) => {
            assert!(std::env::var_os("CLEARWAY_REQUIRE_LIBPQ").is_none(), "{error}");
            eprintln!("SKIPPED: {error}");
        }
        report => assert_eq!(report.unwrap().verdict(), Verdict::Different),
    }
}

#[test]
fn report_shows_both_runs_side_by_side() {
    let Some(report) = compare_with("read_before_write", |options| options.seeds = 1) else {
        return;
    };
    let text = report.to_string();
    let line = text.lines().find(|line| line.starts_with("  >")).unwrap();
    let (left, right) = line.split_once(" | ").unwrap();
    assert!(left.contains("UPDATE customer") && right.contains("SELECT c_balance"), "{text}");
    assert!(text.contains("seed 0\n  p.warehouse = "), "{text}");
}

#[test]
fn inputs_stay_within_the_limits_of_the_user() {
    let input = |range, texts: &[&str]| Input {
        range,
        texts: texts.iter().map(|&text| text.to_owned()).collect(),
        ..Input::default()
    };
    let report = compare_with("lost_output", |options| {
        options.inputs.insert("p.warehouse".to_owned(), input(Some((70, 72)), &[]));
        options.inputs.insert("p.amount".to_owned(), input(None, &["1.50", "quote\""]));
    });
    let Some(report) = report else { return };
    let value = |path: &str| {
        let inputs = report.divergences.iter().flat_map(|divergence| &divergence.inputs);
        inputs.filter(|input| input.0 == path).map(|input| input.1.clone()).collect::<Vec<_>>()
    };
    let (warehouses, amounts) = (value("p.warehouse"), value("p.amount"));
    assert!(!warehouses.is_empty() && !amounts.is_empty());
    assert!(warehouses.iter().all(|one| ["70", "71", "72"].contains(&one.as_str())));
    assert!(amounts.iter().all(|one| ["1.50", "quote\""].contains(&one.as_str())));
}

#[test]
fn source_that_does_not_compile_is_an_error_that_quotes_the_compiler() {
    let options = Options::new(&LIBPQ, &analyze, &key);
    let bad = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/api/verify.rs");
    match verify(&source("original"), &bad, &program(), "payment", &options) {
        Err(error @ (VerifyError::Header { .. } | VerifyError::Start { .. })) => {
            assert!(std::env::var_os("CLEARWAY_REQUIRE_LIBPQ").is_none(), "{error}");
            eprintln!("SKIPPED: {error}");
        }
        Err(VerifyError::Compile { what, message }) => {
            assert!(what.starts_with("the rewritten program, /"), "{what}");
            assert!(message.contains("verify.rs"), "{message}");
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn unknown_function_is_an_error_that_names_the_file() {
    let options = Options::new(&LIBPQ, &analyze, &key);
    let error = verify(&source("original"), &source("original"), &program(), "refund", &options)
        .unwrap_err();
    assert!(error.to_string().starts_with("original.c: no function `refund`"), "{error}");
}
