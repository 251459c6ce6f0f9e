//! The models of the interfaces against their C headers, where these are installed.

use std::collections::{BTreeMap, BTreeSet};

use crate::api::{Call, Memory, Models, Returns};

use super::function;

/// The functions that a header declares, with the parameters of each.
type Declared = BTreeMap<String, Vec<String>>;

/// Reads the first of some headers that is there. Prints why the test is skipped if none is.
fn header(paths: &[&str], package: &str) -> Option<String> {
    let text = paths.iter().find_map(|path| std::fs::read_to_string(path).ok());
    if text.is_none() {
        println!("SKIPPED: there is no {} (package {package})", paths.join(" or "));
    }
    text
}

fn without_comments(header: &str) -> String {
    let (mut code, mut rest) = (String::new(), header);
    while let Some((before, comment)) = rest.split_once("/*") {
        code.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, behind)| behind);
    }
    code + rest
}

/// Returns the declarations `… name(parameters)…` of a header: of each piece that ends with `;`,
/// the last.
fn declared(header: &str, prefixes: &[&str]) -> Declared {
    let code = without_comments(header);
    let lines = code.lines().filter(|line| !line.trim_start().starts_with('#'));
    let code = lines.collect::<Vec<_>>().join(" ");
    let mut declared = Declared::new();
    for piece in code.split([';', '{', '}']) {
        let Some((before, parameters)) = piece.split_once('(') else { continue };
        let name = before.trim_end().rsplit([' ', '*', '\t']).next().unwrap_or_default();
        if prefixes.iter().any(|prefix| name.starts_with(prefix)) && !before.contains("typedef") {
            declared.insert(name.to_owned(), split(parameters));
        }
    }
    declared
}

/// Returns the parameters that stand before the closing parenthesis.
fn split(parameters: &str) -> Vec<String> {
    let (mut all, mut depth) = (vec![String::new()], 0);
    for character in parameters.chars() {
        match character {
            ')' if depth == 0 => break,
            ',' if depth == 0 => {
                all.push(String::new());
                continue;
            }
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        all.last_mut().expect("there is one").push(character);
    }
    all.iter().map(|one| one.trim().to_owned()).filter(|one| one != "void").collect()
}

/// Checks that each argument that a call names is there, that what it reads and writes through are
/// pointers or arrays, and that it writes through no `const` one.
fn check_parameters(name: &str, call: &Call, parameters: &[String]) {
    let is_pointer = |parameter: &str| parameter.contains(['*', '[']) || parameter.contains("func");
    let at = |argument: usize| {
        parameters.get(argument).unwrap_or_else(|| panic!("{name} has no argument {argument}"))
    };
    let is_more = |memory: &Memory| memory.rest && at(memory.argument) == "...";
    for memory in call.reads.iter().filter(|memory| !is_more(memory)) {
        assert!(is_pointer(at(memory.argument)), "{name} reads {}", at(memory.argument));
    }
    for memory in call.writes.iter().filter(|memory| !is_more(memory)) {
        let parameter = at(memory.argument);
        let may_write = !parameter.starts_with("const ") || parameter.contains("**");
        assert!(is_pointer(parameter) && may_write, "{name} writes {parameter}");
    }
    let numbers = call.reads.iter().chain(&call.writes).flat_map(|one| [one.count, one.bytes]);
    let counted = call.parameters.map(|parameters| parameters.count);
    for number in numbers.flatten().chain(counted).chain(call.binds_number) {
        assert!(!is_pointer(at(number)), "{name} counts with {}", at(number));
    }
    if let Some(sql) = call.sql {
        assert!(at(sql).contains("char"), "{name} has the SQL in {}", at(sql));
    }
    let borrowed = match call.returns {
        Returns::Borrowed(argument) => Some(argument),
        _ => None,
    };
    let bound = call.binds_parameters.iter().chain(&call.binds_results).map(|one| one.argument);
    let others = [call.connection, borrowed].into_iter().flatten().chain(bound);
    let functions = call.callbacks.iter().chain(&call.hooks).copied();
    for argument in others.chain(call.ends.iter().copied()).chain(functions) {
        let is_function = ["PQnotice", "PGEventProc"].iter().any(|ty| at(argument).starts_with(ty));
        assert!(is_pointer(at(argument)) || is_function, "{name}: {} is no pointer", at(argument));
    }
}

/// Compares a model with a header; returns the names of the header that the model lacks.
fn compare(model: &str, declared: &Declared) -> BTreeSet<String> {
    let models = Models::new(&[model], &[]).unwrap();
    let (mut missing, mut compared) = (BTreeSet::new(), 0);
    for (name, parameters) in declared {
        match models.call(&function(name)) {
            Some(call) => check_parameters(name, call, parameters),
            None => drop(missing.insert(name.clone())),
        }
        compared += 1;
    }
    assert!(compared > 80, "{compared} functions");
    missing
}

#[test]
fn model_of_libpq_covers_its_header() {
    let paths = ["/usr/include/postgresql/libpq-fe.h", "/usr/include/libpq-fe.h"];
    let Some(header) = header(&paths, "libpq-dev") else { return };
    let missing = compare("libpq", &declared(&header, &["PQ", "lo_", "pg_"]));
    assert!(missing.is_empty(), "without a model: {missing:?}");
}

#[test]
fn model_of_mysql_agrees_with_its_header() {
    let paths = ["/usr/include/mariadb/mysql.h", "/usr/include/mysql/mysql.h"];
    let Some(mut header) = header(&paths, "libmariadb-dev") else { return };
    header += &std::fs::read_to_string("/usr/include/mariadb/mariadb_stmt.h").unwrap_or_default();
    let missing = compare("mysql", &declared(&header, &["mysql_", "mariadb_stmt"]));
    let unknown: Vec<_> = missing.iter().filter(|name| name.starts_with("mysql_stmt_")).collect();
    let waits = |name: &str| !name.ends_with("_start") && !name.ends_with("_cont");
    assert!(unknown.iter().all(|name| !waits(name)), "without a model: {unknown:?}");
}

#[test]
fn model_of_sqlite_agrees_with_its_header() {
    let Some(header) = header(&["/usr/include/sqlite3.h"], "libsqlite3-dev") else { return };
    let missing = compare("sqlite", &declared(&header, &["sqlite3_"]));
    assert!(!missing.contains("sqlite3_step") && !missing.contains("sqlite3_exec"), "{missing:?}");
}
