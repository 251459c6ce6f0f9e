//! The inputs and outputs of functions with parameters of all shapes, in C and in C++.
//!
//! The tests need gcc and `libpq-fe.h`. Without them they say SKIPPED; if `CLEARWAY_REQUIRE_LIBPQ`
//! is set, they fail.

use std::path::{Path, PathBuf};

use clearway_reorder::{
    ir::{
        Function, Language, Program, Record, Scope, Statement, StatementKind, Type, Variable,
        VariableIndex,
    },
    source::Range,
    verify::{Difference, Input, LIBPQ, Options, Report, Verdict, VerifyError, verify},
};

fn scalar(name: &str) -> Type {
    Type::Scalar(name.to_owned())
}

fn record(name: &str) -> Type {
    Type::Record(name.to_owned())
}

fn string() -> Type {
    Type::Class("std::basic_string".to_owned())
}

fn pointer(to: Type, constant: bool) -> Type {
    Type::Pointer { to: Box::new(to), constant }
}

fn array(of: Type, length: u64) -> Type {
    Type::Array { of: Box::new(of), length: Some(length) }
}

fn reference(to: Type, constant: bool) -> Type {
    Type::Reference { to: Box::new(to), constant }
}

fn variable(name: &str, scope: Scope, ty: Type) -> Variable {
    let name = name.to_owned();
    let (constant, volatile, hidden) = (false, false, false);
    Variable { name, scope, ty, constant, volatile, hidden, owner: None, initial: None }
}

fn structure(name: &str, union: bool, fields: Vec<(&str, Type)>) -> Record {
    let fields = fields.into_iter().map(|(name, ty)| (name.to_owned(), ty)).collect();
    Record { name: name.to_owned(), union, fields }
}

/// Returns the IR of a file with one function, whose parameters come first in `variables`.
fn program(
    language: Language,
    name: &str,
    result: Type,
    parameters: usize,
    variables: Vec<Variable>,
    records: Vec<Record>,
) -> Program {
    let function = Function {
        method: false,
        replaceable: None,
        hidden: Default::default(),
        name: name.to_owned(),
        range: Range::new(0, 0),
        result,
        parameters: (0..parameters).map(VariableIndex).collect(),
        body: Statement { range: Range::new(0, 0), kind: StatementKind::Block(Vec::new()) },
    };
    Program {
        path: "shapes".to_owned(),
        language,
        variables,
        records,
        functions: vec![function],
        macros: Vec::new(),
        directives: Vec::new(),
        enumerators: Default::default(),
        sizes: Default::default(),
        left_out: Default::default(),
    }
}

/// Returns the IR of `shapes.c`.
fn shapes() -> Program {
    let connection = || pointer(record("struct pg_conn"), false);
    let line = structure(
        "line_t",
        false,
        vec![
            ("price", scalar("double")),
            ("code", array(scalar("char"), 8)),
            ("stock", array(scalar("short"), 2)),
        ],
    );
    let number = structure(
        "union number",
        true,
        vec![("whole", scalar("long")), ("real", scalar("double"))],
    );
    let order = structure(
        "struct order",
        false,
        vec![
            ("id", scalar("unsigned long")),
            ("color", scalar("enum color")),
            ("lines", array(record("line_t"), 3)),
            ("note", pointer(scalar("char"), true)),
            ("remark", pointer(scalar("char"), false)),
            ("first", pointer(record("line_t"), false)),
            ("next", pointer(record("struct order"), false)),
            ("connection", connection()),
            ("user_data", pointer(Type::Void, false)),
            ("number", record("union number")),
            ("state", scalar("unsigned char")),
        ],
    );
    let parameter = |name, ty| variable(name, Scope::Parameter, ty);
    let variables = vec![
        parameter("order", pointer(record("struct order"), true)),
        parameter("other", pointer(record("struct order"), false)),
        parameter("line", record("line_t")),
        parameter("rate", pointer(scalar("float"), false)),
        parameter("buffer", pointer(scalar("char"), false)),
        parameter("names", pointer(pointer(scalar("char"), true), true)),
        parameter("count", scalar("int")),
        parameter("stream", pointer(record("struct _IO_FILE"), false)),
        variable("shared", Scope::Global, connection()),
        variable("calls", Scope::Global, scalar("int")),
    ];
    let result = pointer(scalar("char"), true);
    program(Language::C, "shape", result, 8, variables, vec![line, number, order])
}

/// Returns the IR of `classes.cpp`.
fn classes() -> Program {
    let item = structure(
        "shop::Item",
        false,
        vec![
            ("number", scalar("int")),
            ("name", string()),
            ("label", pointer(scalar("char"), true)),
        ],
    );
    let parameter = |name, ty| variable(name, Scope::Parameter, ty);
    let variables = vec![
        parameter("connection", pointer(record("pg_conn"), false)),
        parameter("name", reference(string(), true)),
        parameter("item", reference(record("shop::Item"), false)),
        parameter("total", pointer(scalar("int"), false)),
        parameter("kind", scalar("shop::Kind")),
    ];
    program(Language::Cpp, "shop::rename", scalar("bool"), 5, variables, vec![item])
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify").join(name)
}

/// Compares two files; `None` if the tests cannot run here.
fn compared(files: [&str; 2], program: &Program) -> Option<Report> {
    let mut options = Options::new(&LIBPQ, &|_| None, &|_| Vec::new());
    options.seeds = 4;
    let names = Input { elements: Some(4), ..Input::default() };
    options.inputs.insert("names".to_owned(), names);
    let count = Input { range: Some((1, 4)), ..Input::default() };
    options.inputs.insert("count".to_owned(), count);
    let function = &program.functions[0].name;
    match verify(&source(files[0]), &source(files[1]), program, function, &options) {
        Err(error @ (VerifyError::Header { .. } | VerifyError::Start { .. })) => {
            assert!(std::env::var_os("CLEARWAY_REQUIRE_LIBPQ").is_none(), "{error}");
            eprintln!("SKIPPED: {error}");
            None
        }
        other => Some(other.unwrap_or_else(|error| panic!("{error}"))),
    }
}

#[test]
fn structures_arrays_and_pointers_are_filled_and_recorded() {
    let Some(report) = compared(["shapes.c", "shapes.c"], &shapes()) else { return };
    assert_eq!(report.verdict(), Verdict::Equal, "{report}");
    assert!(report.skipped.is_empty(), "{report}");
    let notes = report.notes.iter().filter(|note| note.contains(": order.user_data and "));
    assert_eq!(notes.count(), 1, "{report}");
}

/// Returns the outputs that differ in the first case, and `return` for the result, in order.
fn spoiled(report: &Report) -> Vec<&str> {
    let place = |difference: &'_ Difference| match difference {
        Difference::Output { .. } | Difference::Status { .. } => true,
        other => panic!("{other:?}"),
    };
    let differences = report.divergences[0].differences.iter().filter(|one| place(one));
    differences
        .map(|one| match one {
            Difference::Output { path, .. } => path,
            _ => "return",
        })
        .collect()
}

#[test]
fn each_output_that_differs_is_named_by_its_place() {
    let Some(report) = compared(["shapes.c", "shapes_spoiled.c"], &shapes()) else { return };
    let places = [
        "buffer",
        "calls",
        "other.lines[0].code",
        "other.lines[2].stock[1]",
        "other.next.*.first.*.price",
        "other.number.whole",
        "other.remark",
        "other.state",
        "rate",
        "return",
    ];
    assert_eq!(spoiled(&report), places, "{report}");
}

#[test]
fn references_and_strings_of_cpp_are_filled_and_recorded() {
    let Some(report) = compared(["classes.cpp", "classes.cpp"], &classes()) else { return };
    assert_eq!(report.verdict(), Verdict::Equal, "{report}");
    let Some(report) = compared(["classes.cpp", "classes_spoiled.cpp"], &classes()) else { return };
    assert_eq!(spoiled(&report), ["item.name", "return", "total"], "{report}");
}

#[test]
fn parameter_of_an_unknown_class_is_an_error_that_names_it() {
    let mut program = classes();
    program.variables[1].ty = Type::Class("shop::Name".to_owned());
    let options = Options::new(&LIBPQ, &|_| None, &|_| Vec::new());
    let path = source("classes.cpp");
    let error = verify(&path, &path, &program, "shop::rename", &options).unwrap_err();
    assert!(matches!(&error, VerifyError::Parameter { place, .. } if place == "name"), "{error}");
}
