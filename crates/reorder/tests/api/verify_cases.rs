//! `verify` on small functions, each for one rule of the comparison or one option.
//!
//! The tests need gcc and `libpq-fe.h`. Without them they say SKIPPED; if `CLEARWAY_REQUIRE_LIBPQ`
//! is set, they fail.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use clearway_reorder::{
    ir::{
        Function, Language, Program, Scope, Statement, StatementKind, Type, Variable, VariableIndex,
    },
    source::Range,
    sql::{Columns, Query, QueryKind, TableAccess},
    verify::{Difference, LIBPQ, Options, Report, Verdict, VerifyError, verify},
};

/// Returns the IR of `cases.c`, with one of its functions.
fn program(function: &str) -> Program {
    let to = Box::new(Type::Record("struct pg_conn".to_owned()));
    let connection = Variable {
        name: "conn".to_owned(),
        scope: Scope::Parameter,
        ty: Type::Pointer { to, constant: false },
        constant: false,
        volatile: false,
        hidden: false,
        owner: None,
        initial: None,
    };
    let function = Function {
        method: false,
        replaceable: None,
        hidden: Default::default(),
        name: function.to_owned(),
        range: Range::new(0, 0),
        result: Type::Scalar("int".to_owned()),
        parameters: vec![VariableIndex(0)],
        body: Statement { range: Range::new(0, 0), kind: StatementKind::Block(Vec::new()) },
    };
    Program {
        path: "cases.c".to_owned(),
        language: Language::C,
        variables: vec![connection],
        records: Vec::new(),
        functions: vec![function],
        macros: Vec::new(),
        directives: Vec::new(),
        enumerators: Default::default(),
        sizes: Default::default(),
        left_out: Default::default(),
    }
}

/// Returns what the queries do: each reads or writes the column `x` of one table.
fn analyze(sql: &str) -> Option<Query> {
    let words: Vec<&str> = sql.split_whitespace().collect();
    let update = words[0] == "UPDATE";
    let table = if update { words[1] } else { words[words.len() - 1] };
    let column = || Columns::Some(BTreeSet::from(["x".to_owned()]));
    let access = TableAccess {
        reads: if update { Columns::default() } else { column() },
        writes: if update { column() } else { Columns::default() },
        ..TableAccess::default()
    };
    Some(Query {
        kind: if update { QueryKind::Write } else { QueryKind::Read },
        tables: BTreeMap::from([(table.to_owned(), access)]),
        ..Query::default()
    })
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify").join(name)
}

/// Compares a function before and after; `None` if the tests cannot run here.
fn compared(function: &str, change: impl FnOnce(&mut Options)) -> Option<Report> {
    let mut options = Options::new(&LIBPQ, &analyze, &|_| Vec::new());
    options.seeds = 3;
    // The programs that break here do so by themselves.
    options.sanitize = false;
    change(&mut options);
    let files = ["cases.c", "cases_rewritten.c"].map(source);
    match verify(&files[0], &files[1], &program(function), function, &options) {
        Err(error @ (VerifyError::Header { .. } | VerifyError::Start { .. })) => {
            assert!(std::env::var_os("CLEARWAY_REQUIRE_LIBPQ").is_none(), "{error}");
            eprintln!("SKIPPED: {error}");
            None
        }
        other => Some(other.unwrap_or_else(|error| panic!("{error}"))),
    }
}

/// Returns the differences of the first case that differs.
fn differences(report: &Report) -> &[Difference] {
    assert_eq!(report.verdict(), Verdict::Different, "{report}");
    &report.divergences[0].differences
}

#[test]
fn end_of_the_program_within_the_call_is_found() {
    let Some(report) = compared("leaves", |_| {}) else { return };
    let found = differences(&report).iter().any(|difference| {
        matches!(difference, Difference::Ending { original, rewritten }
            if original == "the call returns" && rewritten.contains("exits with 3"))
    });
    assert!(found, "{report}");
}

#[test]
fn other_level_of_isolation_is_found() {
    let Some(report) = compared("isolates", |_| {}) else { return };
    let [Difference::Bounds { original, rewritten }] = differences(&report) else {
        panic!("{report}")
    };
    assert_eq!(original[0], "BEGIN ISOLATION LEVEL SERIALIZABLE");
    assert_eq!(rewritten, &["BEGIN", "COMMIT"]);
}

#[test]
fn line_on_standard_error_is_found() {
    let Some(report) = compared("warns", |_| {}) else { return };
    assert!(
        matches!(differences(&report), [Difference::Printed { stream, rewritten, .. }]
            if *stream == "standard error" && rewritten == "warning\\n"),
        "{report}"
    );
}

#[test]
fn either_of_two_reasons_to_give_up_may_come_first() {
    let Some(report) = compared("checks", |options| options.seeds = 16) else { return };
    assert_eq!(report.verdict(), Verdict::Equal, "{report}");
    assert!(report.committed > 0 && report.rolled_back > 0, "{report}");
}

#[test]
fn reason_that_only_a_failing_run_has_may_come_first() {
    let Some(report) = compared("asks_more", |options| options.seeds = 16) else { return };
    assert_eq!(report.verdict(), Verdict::Equal, "{report}");
}

#[test]
fn statement_that_only_the_original_has_prepared_breaks_the_rewritten_program() {
    let Some(report) = compared("unprepared", |options| options.setup = vec!["prepare".to_owned()])
    else {
        return;
    };
    assert!(
        matches!(differences(&report), [Difference::Breaks(reason)] if reason.contains("later")),
        "{report}"
    );
}

#[test]
fn original_with_an_unknown_statement_is_an_error_that_names_it() {
    let options = Options::new(&LIBPQ, &analyze, &|_| Vec::new());
    let file = source("cases.c");
    match verify(&file, &file, &program("unprepared"), "unprepared", &options) {
        Err(error @ (VerifyError::Header { .. } | VerifyError::Start { .. })) => {
            assert!(std::env::var_os("CLEARWAY_REQUIRE_LIBPQ").is_none(), "{error}");
            eprintln!("SKIPPED: {error}");
        }
        Err(VerifyError::Unsupported(what)) => assert!(what.contains("\"earlier\""), "{what}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn method_is_refused_with_a_way_to_compare_it() {
    let options = Options::new(&LIBPQ, &analyze, &|_| Vec::new());
    let mut program = program("Shop::pay");
    program.functions[0].method = true;
    let file = source("cases.c");
    let error = verify(&file, &file, &program, "Shop::pay", &options).unwrap_err();
    assert!(matches!(error, VerifyError::Method { .. }), "{error:?}");
    let message = error.to_string();
    assert!(message.contains("`Shop::pay` is a method"), "{message}");
    assert!(message.contains("--against"), "{message}");
}

#[test]
fn statements_prepared_elsewhere_are_known() {
    let sql = "UPDATE a SET x = 2".to_owned();
    let report = compared("unprepared", |options| {
        let names = ["earlier", "later"].map(|name| (name.to_owned(), sql.clone()));
        options.prepared = BTreeMap::from(names);
    });
    let Some(report) = report else { return };
    assert_eq!(report.verdict(), Verdict::Equal, "{report}");
}

#[test]
fn queries_outside_of_a_transaction_are_transactions_of_their_own() {
    let Some(report) = compared("step", |_| {}) else { return };
    assert!(
        matches!(differences(&report), [Difference::Missing(_), Difference::Extra(_), ..]),
        "{report}"
    );
}

#[test]
fn queries_of_the_callers_transaction_may_change_places() {
    let Some(report) = compared("step", |options| options.in_transaction = true) else { return };
    assert_eq!(report.verdict(), Verdict::Equal, "{report}");
}

#[test]
fn endless_queries_break_the_rewritten_program() {
    let Some(report) = compared("repeats", |options| options.divergences = 2) else { return };
    assert!(
        matches!(differences(&report), [Difference::Breaks(reason)] if reason.contains("10000")),
        "{report}"
    );
    assert_eq!(report.divergences.len(), 2);
}

#[test]
fn call_that_takes_too_long_breaks_the_rewritten_program() {
    let report = compared("hangs", |options| (options.limit, options.divergences) = (1, 1));
    let Some(report) = report else { return };
    assert!(
        matches!(differences(&report), [Difference::Breaks(reason)] if reason.contains("too long")),
        "{report}"
    );
}

#[test]
fn case_in_which_the_original_breaks_is_left_out() {
    let Some(report) = compared("breaks", |options| options.failures = 2) else { return };
    assert_eq!(report.verdict(), Verdict::Inconclusive, "{report}");
    // Of each seed, the second failure is that of the query; the last two are left out.
    assert_eq!((report.cases, report.rolled_back, report.skipped.len()), (3, 3, 6), "{report}");
    assert_eq!(report.left_out, 6, "{report}");
}

#[test]
fn columns_have_the_types_of_the_schema() {
    let date = vec![("A".to_owned(), "Day".to_owned(), "DATE".to_owned())];
    let report = compared("dates", |options| (options.seeds, options.columns) = (2, date));
    let Some(report) = report else { return };
    assert_eq!(report.verdict(), Verdict::Equal, "{report}");
}
