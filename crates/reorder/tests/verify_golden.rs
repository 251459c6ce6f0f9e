//! The golden cases that move, compared with their rewritten sources on the mocks.
//!
//! It takes minutes, so it runs only if it is asked for:
//! `cargo test -p clearway-reorder --test verify_golden -- --ignored`. `GOLDEN` selects cases.
//! Cases that may differ are listed with the reason.

#[path = "golden/case.rs"]
#[allow(dead_code)]
mod case;

use std::{fs, path::Path};

use clearway_reorder::{
    api::Server,
    clang::FrontEnd,
    ir::{Function, Program, Record, Statement, StatementKind, Type},
    source::Range,
    transaction,
    verify::{self, Interface, Knowledge, LIBPQ, MYSQL, Report, SQLITE, Verdict, verify},
};

use self::case::{Case, Expected};

/// The cases that `verify` shows to differ, with the reason why they are right.
const EXCEPTIONS: &[(&str, &[&str])] = &[
    (
        "an update without a check fails, PostgreSQL refuses the commit, and the number that the \
         next query's call returned is returned or printed: an output of a run that rolled back",
        &[
            "declaration/moves_with_query.c",
            "function/aggregate_reads_nothing.c",
            "function/current_number.c",
            "function/pure.c",
            "outside_effect/file.c",
            "read_after_write/array_constants.c",
            "read_after_write/other_field.c",
            "read_after_write/other_variable.c",
            "read_order/locked_row_serializable.c",
            "read_order/relaxed.c",
            "read_order/update_is_not_read_later.c",
            "read_order/update_shows_nothing.c",
            "renaming/declared_among_others.c",
            "renaming/declared_by_query.c",
            "renaming/inner_declaration.c",
            "renaming/loop_carries.c",
            "renaming/macro_argument.c",
            "renaming/name_is_taken.c",
            "renaming/number.c",
            "same_table/cast_to_integer.c",
            "same_table/keys_differ_by_condition.c",
            "same_table/other_key.c",
            "same_table/read_of_other_column.c",
            "same_table/rounded_to_a_hundredth.c",
            "same_table/view_of_other_table.c",
            "trigger/body_touches_other_table.c",
            "write_after_read/bit_fields.c",
        ],
    ),
    (
        "the program does not check BEGIN, and goes on without a transaction",
        &["exit/guard_in_database.c", "exit/in_loop.c"],
    ),
    (
        "the caller begins the transaction, which this test does not do with the functions of \
         shop.h: each query runs alone",
        &["barrier/markers.c", "exit/named_function_without_begin.c"],
    ),
    (
        "`verify` takes COMMIT AND CHAIN for the end: each query behind it is a transaction",
        &["exit/commit_and_chain.c"],
    ),
    (
        "the inputs have equal elements in the array whose elements the case states to differ",
        &[
            "keys/element.c",
            "keys/field_of_element.c",
            "keys/stored_value.c",
            "keys/text_of_number.c",
            "keys/two_writes.c",
            "keys/variable.c",
        ],
    ),
    (
        "the statement lasts, and is reset in front of its next run",
        &["exit/statement_is_reset_first.c"],
    ),
    ("shop_mock.c does not know the number of MySQL's parameters", &["expansion/status.c"]),
    (
        "`verify` takes each update of a parent for one of the key that the cascade follows",
        &["trigger/cascade_of_other_column.c"],
    ),
];

fn is_exception(name: &str) -> bool {
    EXCEPTIONS.iter().any(|(_, names)| names.contains(&name))
}

fn interface(case: &Case) -> &'static Interface {
    match case.models.server().unwrap() {
        Server::Postgresql => &LIBPQ,
        Server::Mysql => &MYSQL,
        Server::Sqlite => &SQLITE,
    }
}

fn uses_shop(text: &str) -> bool {
    text.contains("\"shop.h\"")
}

/// Adds the function that opens the connection of shop.h to the program.
fn with_connection(mut program: Program) -> Program {
    let name = "struct db".to_owned();
    for name in [name.clone(), "db".to_owned()] {
        if program.records.iter().all(|record| record.name != name) {
            program.records.push(Record { name, union: false, fields: Vec::new() });
        }
    }
    let cpp = program.language == clearway_reorder::ir::Language::Cpp;
    let db = Type::Record(if cpp { "db".to_owned() } else { name });
    program.functions.push(Function {
        method: false,
        replaceable: None,
        hidden: Default::default(),
        name: "shop_open".to_owned(),
        range: Range::new(0, 0),
        result: Type::Pointer { to: Box::new(db), constant: false },
        parameters: Vec::new(),
        body: Statement { range: Range::new(0, 0), kind: StatementKind::Block(Vec::new()) },
    });
    program
}

/// Compares a case with its rewritten source.
fn compared(case: &Case, front_end: &FrontEnd) -> Result<Vec<Report>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/verify");
    let program = case.parse(front_end, &case.text);
    let functions = transaction::functions(
        &program,
        &case.models,
        case.options.function.as_deref(),
        &case.text,
    )
    .map_err(|error| error.to_string())?;
    let server = case.models.server().unwrap();
    let knowledge = Knowledge::new(&case.schema, server);
    let analyze = |sql: &str| knowledge.analyze(sql);
    let key = |table: &str| knowledge.key(table);
    let mut options = verify::Options::new(interface(case), &analyze, &key);
    options.columns = knowledge.columns();
    options.keys = knowledge.keys();
    options.flags = case.flags();
    options.seeds = 8;
    options.sanitize = false;
    // The statements that cases prepare elsewhere.
    let names = ["grow_region", "visit_customer"].into_iter();
    options.prepared = names
        .filter_map(|name| Some((name.to_owned(), case.models.statement(name)?.to_owned())))
        .collect();
    let mut called = program.clone();
    if uses_shop(&case.text) {
        called = with_connection(program.clone());
        options.setup.push("shop_open".to_owned());
        let header = match server {
            Server::Postgresql => "libpq-fe.h".to_owned(),
            Server::Mysql => "mysql.h".to_owned(),
            Server::Sqlite => "sqlite3.h".to_owned(),
        };
        for header in [header, root.join("shop_open.h").display().to_string()] {
            options.flags.extend(["-include".to_owned(), header]);
        }
        options.sources.push(root.join("shop_mock.c"));
    }
    let mut reports = Vec::new();
    for (function, begins) in functions {
        options.in_transaction = !begins && !uses_shop(&case.text);
        options.sites = verify::sites(&program, &case.models, &case.text, &function);
        let report = verify(case.path(), &case.after(), &called, &function, &options);
        reports.push(report.map_err(|error| error.to_string())?);
    }
    Ok(reports)
}

#[test]
#[ignore = "takes minutes"]
fn moved_cases_are_equal() {
    let Ok(front_end) = FrontEnd::load() else {
        eprintln!("SKIPPED: libclang is missing");
        return;
    };
    let selected = std::env::var("GOLDEN").unwrap_or_default();
    let moves = |case: &Case| case.expected == Expected::Moves && case.name.contains(&selected);
    let (mut wrong, mut lines) = (Vec::new(), Vec::new());
    for case in case::all().into_iter().filter(moves) {
        if fs::metadata(case.after()).is_err() {
            continue;
        }
        match compared(&case, &front_end) {
            Err(error) => lines.push(format!("{}: not compared: {error}", case.name)),
            Ok(reports) => {
                for report in reports {
                    if report.verdict() == Verdict::Different && !is_exception(&case.name) {
                        wrong.push(format!("{}: {report}", case.name));
                    }
                    lines.push(format!("{}: {:?}: {report}", case.name, report.verdict()));
                }
            }
        }
    }
    eprintln!("{}", lines.join("\n"));
    assert!(wrong.is_empty(), "{} cases differ:\n{}", wrong.len(), wrong.join("\n"));
}
