//! The analysis of every query of the example programs.
//!
//! `tpcc.txt` holds the queries, each with what it does, one table a line. The test takes the
//! queries from the C files, so an author who changes one there describes it in `tpcc.txt`.

use std::{fs, path::PathBuf};

use super::*;

/// The directory of the examples, the DDL in it, the server, and the files with queries.
const PROGRAMS: &[(&str, Server, &[&str])] = &[
    (
        "schema.sql",
        Server::Postgresql,
        &[
            "check.c",
            "delivery.c",
            "new_order_params.c",
            "order_status.c",
            "payment_params.c",
            "payment_prepared.c",
            "payment_text.c",
            "stock_level.c",
        ],
    ),
    ("schema-mysql.sql", Server::Mysql, &["mariadb/payment_prepared.c", "mariadb/payment_text.c"]),
];

fn example(name: &str) -> String {
    let path: PathBuf = [env!("CARGO_MANIFEST_DIR"), "examples", "tpcc", name].iter().collect();
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the string literals of a C file, adjacent ones joined, that are statements of SQL. The
/// conversions of `snprintf` become constants.
fn queries(text: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    for (at, part) in text.split('"').enumerate() {
        let inside = at % 2 == 1;
        match found.last_mut() {
            Some(last) if inside => last.push_str(part),
            _ if !inside && part.trim().is_empty() => {}
            _ => found.push(String::new()),
        }
    }
    let begins = ["SELECT ", "INSERT ", "UPDATE ", "DELETE ", "BEGIN", "COMMIT", "ROLLBACK"];
    found.retain(|text| begins.iter().any(|begin| text.starts_with(begin)));
    found.iter().map(|text| text.replace("%.2f", "1.50").replace("%d", "7")).collect()
}

#[test]
fn queries_of_the_examples_are_analysed_exactly() {
    let mut found = BTreeMap::new();
    for (ddl, server, files) in PROGRAMS {
        let schema = schema::parse(&example(ddl), *server).expect("the DDL is understood");
        assert_eq!(schema.tables.len(), 9, "{ddl}");
        for file in *files {
            for text in queries(&example(file)) {
                let query = analyze(&text, *server, &schema)
                    .unwrap_or_else(|bad| panic!("{file}: {bad}: {text}"));
                let names = named(&text, &schema);
                assert_eq!(query.tables.keys().collect::<BTreeSet<_>>(), names, "{text}");
                found.insert(format!("{server:?} {text}"), describe(&query));
            }
        }
    }
    let found: Vec<String> = found.iter().map(|(text, does)| format!("{text}\n{does}\n")).collect();
    let found = found.join("\n");
    let expected = include_str!("tpcc.txt");
    let same = found.lines().zip(expected.lines()).take_while(|(one, two)| one == two).count();
    let (got, want) = (found.lines().nth(same), expected.lines().nth(same));
    assert!(found == expected, "line {}: {got:?}, not {want:?}", same + 1);
}
