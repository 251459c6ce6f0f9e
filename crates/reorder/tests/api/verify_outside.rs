//! `verify` on functions that use line numbers, clocks and random numbers, or that try again.
//!
//! The tests need gcc and `libpq-fe.h`. Without them they say SKIPPED; if `CLEARWAY_REQUIRE_LIBPQ`
//! is set, they fail.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use clearway_reorder::{
    ir::{
        Function, Language, Program, Record, Scope, Statement, StatementKind, Type, Variable,
        VariableIndex,
    },
    source::Range,
    sql::{Columns, Query, QueryKind, TableAccess},
    verify::{Difference, LIBPQ, Options, Report, Verdict, VerifyError, verify},
};

/// Returns the IR of a file with one function, whose parameter is a connection.
fn program(function: &str, language: Language) -> Program {
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
        path: "outside".to_owned(),
        language,
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

/// Compares a function before and after; `None` if the tests cannot run here.
fn compared(file: &str, function: &str, change: impl FnOnce(&mut Options)) -> Option<Report> {
    let language = if file.ends_with(".c") { Language::C } else { Language::Cpp };
    compared_programs(file, &program(function, language), function, change)
}

fn compared_programs(
    file: &str,
    program: &Program,
    function: &str,
    change: impl FnOnce(&mut Options),
) -> Option<Report> {
    let mut options = Options::new(&LIBPQ, &analyze, &|_| Vec::new());
    options.seeds = 3;
    options.sanitize = false;
    change(&mut options);
    let original = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify").join(file);
    let text = fs::read_to_string(&original).unwrap();
    let place = tempfile::tempdir().unwrap();
    let rewritten = place.path().join(format!("after_{file}"));
    fs::write(&rewritten, text.replace("#define AFTER 0", "\n\n#define AFTER 1")).unwrap();
    match verify(&original, &rewritten, program, function, &options) {
        Err(error @ (VerifyError::Header { .. } | VerifyError::Start { .. })) => {
            assert!(std::env::var_os("CLEARWAY_REQUIRE_LIBPQ").is_none(), "{error}");
            eprintln!("SKIPPED: {error}");
            None
        }
        other => Some(other.unwrap_or_else(|error| panic!("{error}"))),
    }
}

fn assert_equal(file: &str, function: &str) {
    let Some(report) = compared(file, function, |_| {}) else { return };
    assert_eq!(report.verdict(), Verdict::Equal, "{report}");
    assert!(report.skipped.is_empty(), "{report}");
}

#[test]
fn number_of_a_line_is_no_difference() {
    assert_equal("outside.c", "lines");
}

#[test]
fn other_number_beside_that_of_a_line_is_a_difference() {
    let Some(report) = compared("outside.c", "numbers", |_| {}) else { return };
    let found = report.divergences.iter().flat_map(|divergence| &divergence.differences);
    let printed = |difference: &Difference| {
        matches!(difference, Difference::Printed { original, rewritten, .. }
            if original.contains("outside.c:43: 0") && rewritten.contains("outside.c:45: 1"))
    };
    assert!(found.into_iter().any(printed), "{report}");
}

#[test]
fn attempt_that_was_rolled_back_does_not_change_later_rows() {
    assert_equal("outside.c", "retries");
}

#[test]
fn clocks_and_random_numbers_are_the_same_for_both_programs() {
    assert_equal("outside.c", "stamps");
}

#[test]
fn other_order_of_times_is_a_difference() {
    let Some(report) = compared("outside.c", "times", |_| {}) else { return };
    assert_eq!(report.verdict(), Verdict::Different, "{report}");
}

#[test]
fn wait_takes_no_time() {
    assert_equal("outside.c", "waits");
}

#[test]
fn same_exception_is_no_difference() {
    assert_equal("outside.cpp", "throws");
}

#[test]
fn other_exception_is_a_difference() {
    let Some(report) = compared("outside.cpp", "throws_other", |_| {}) else { return };
    let found = report.divergences.iter().flat_map(|divergence| &divergence.differences);
    let thrown = |difference: &Difference| {
        matches!(difference, Difference::Status { original, rewritten }
            if original == "threw std::runtime_error: a" && rewritten.starts_with("threw int: "))
    };
    assert!(found.into_iter().any(thrown), "{report}");
    assert!(report.skipped.is_empty(), "{report}");
}

/// Compares `held`, whose parameter only the setup can make. It stands in another file, which is
/// read if `read` is true.
fn compared_with_setup(read: bool) -> Option<Report> {
    let (to, name) = (Box::new(Type::Record("struct holder".to_owned())), "held");
    let pointer = Type::Pointer { to, constant: false };
    let mut own = program(name, Language::C);
    own.variables[0].ty = pointer.clone();
    let fields = vec![("conn".to_owned(), Type::Function)];
    own.records = vec![Record { name: "struct holder".to_owned(), union: false, fields }];
    let mut other = program("make_holder", Language::C);
    other.functions[0].result = pointer;
    let place = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify");
    compared_programs("outside.c", &own, name, |options| {
        options.sources = vec![place.join("outside_setup.c")];
        options.setup = vec!["make_holder".to_owned()];
        options.others = if read { vec![other] } else { Vec::new() };
    })
}

#[test]
fn function_of_the_setup_may_stand_in_another_file() {
    let Some(report) = compared_with_setup(true) else { return };
    assert_eq!(report.verdict(), Verdict::Equal, "{report}");
    assert!(report.notes.is_empty(), "{report}");
}

#[test]
fn function_of_the_setup_that_is_not_found_is_noted() {
    let Some(report) = compared_with_setup(false) else { return };
    let noted = |text: &str| report.notes.iter().any(|note| note.starts_with(text));
    assert!(noted("--setup make_holder: neither the file nor"), "{report}");
    assert!(noted("zero or null in every run, since the tool makes no values of these types: "));
}

#[test]
fn function_of_the_setup_may_return_an_object_of_a_class() {
    let to = Box::new(Type::Class("Holder".to_owned()));
    let mut own = program("held", Language::Cpp);
    own.variables[0].ty = Type::Reference { to: to.clone(), constant: false };
    let mut maker = own.functions[0].clone();
    "make_holder".clone_into(&mut maker.name);
    maker.result = Type::Pointer { to, constant: false };
    own.functions.push(maker);
    let setup = |options: &mut Options| options.setup = vec!["make_holder".to_owned()];
    let Some(report) = compared_programs("outside.cpp", &own, "held", setup) else { return };
    assert_eq!(report.verdict(), Verdict::Equal, "{report}");
    assert!(report.notes.is_empty(), "{report}");
}

#[test]
fn memory_that_is_never_written_is_no_difference() {
    let mut own = program("answers", Language::C);
    let text = Type::Array { of: Box::new(Type::Scalar("char".to_owned())), length: Some(32) };
    let fields = vec![("code", Type::Scalar("int".to_owned())), ("text", text)];
    let fields = fields.into_iter().map(|(name, ty)| (name.to_owned(), ty)).collect();
    own.records = vec![Record { name: "struct answer".to_owned(), union: false, fields }];
    own.functions[0].result = Type::Record("struct answer".to_owned());
    let Some(report) = compared_programs("outside.c", &own, "answers", |_| {}) else { return };
    assert_eq!(report.verdict(), Verdict::Equal, "{report}");
    assert!(report.skipped.is_empty(), "{report}");
}
