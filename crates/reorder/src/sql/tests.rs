//! Tests of the analysis of queries.

use super::*;
use crate::schema;

mod errors;
mod fails;
mod forms;
mod soup;
mod tpcc;
mod trade;

/// Tables of a shop, in the DDL of PostgreSQL; MySQL and SQLite read it as well.
const SHOP: &str = "
    CREATE TABLE stock (s_w integer NOT NULL, s_i integer NOT NULL, s_quantity integer NOT NULL,
                        s_data varchar(50), PRIMARY KEY (s_w, s_i));
    CREATE TABLE item (i_id integer NOT NULL PRIMARY KEY, i_price integer NOT NULL);
    CREATE VIEW cheap AS SELECT i_id FROM item WHERE i_price < 10;";

fn shop(server: Server) -> Schema {
    schema::parse(SHOP, server).expect("the shop's DDL is understood")
}

fn query(text: &str, server: Server) -> Query {
    analyze(text, server, &shop(server)).unwrap_or_else(|bad| panic!("{text}: {bad}"))
}

fn columns(names: &[&str]) -> Columns {
    Columns::Some(names.iter().map(|&name| name.to_owned()).collect())
}

fn parameters(pairs: &[(&str, usize)]) -> BTreeMap<String, Value> {
    pairs.iter().map(|&(name, number)| (name.to_owned(), Value::Parameter(number))).collect()
}

fn describe_columns(name: &str, columns: &Columns) -> String {
    match columns {
        Columns::All => format!(" {name} *"),
        Columns::Some(columns) if columns.is_empty() => String::new(),
        Columns::Some(columns) => {
            let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
            format!(" {name} {}", columns.join(","))
        }
    }
}

fn describe_access(table: &str, access: &TableAccess) -> String {
    let TableAccess { reads, writes, inserts, deletes, .. } = access;
    let TableAccess { locks, held, skips_locked, fails_locked, equal, occurrences, .. } = access;
    let only_locks = *locks && *held == Held::Not;
    let mut line = format!("    {table}:");
    let flags = [
        (inserts, " inserts"),
        (deletes, " deletes"),
        (locks, " locks"),
        (&only_locks, " without holding"),
        (&(*held == Held::Shared), " shared"),
        (skips_locked, " skips locked"),
        (fails_locked, " fails if locked"),
    ];
    for (flag, word) in flags {
        line += if *flag { word } else { "" };
    }
    line += &describe_columns("reads", reads);
    line += &describe_columns("writes", writes);
    let equal: Vec<String> = equal
        .iter()
        .map(|(column, value)| match value {
            Value::Parameter(number) => format!("{column}=#{number}"),
            Value::Constant(text) => format!("{column}={text}"),
        })
        .collect();
    line += &if equal.is_empty() { String::new() } else { format!(" equal {}", equal.join(",")) };
    line += &if *occurrences == 1 { String::new() } else { format!(" times {occurrences}") };
    line
}

/// Returns what a query does as text.
fn describe(query: &Query) -> String {
    let Query { kind, tables, functions, parameters, returns_rows, depends_on_rows, .. } = query;
    let mut line = format!("  {kind:?}, {parameters} parameters");
    line += if *returns_rows { ", returns rows" } else { "" };
    line += if *depends_on_rows { ", depends on rows" } else { "" };
    for function in functions {
        line += &format!(", {function}()");
    }
    let tables = tables.iter().map(|(table, access)| describe_access(table, access));
    std::iter::once(line).chain(tables).collect::<Vec<_>>().join("\n")
}

/// Returns the names of tables and views that are words of a text.
fn named<'s>(text: &str, schema: &'s Schema) -> BTreeSet<&'s String> {
    let words = text.split(|sign: char| !sign.is_alphanumeric() && sign != '_');
    let words: BTreeSet<&str> = words.collect();
    let known = schema.tables.keys().chain(schema.views.keys());
    known.filter(|name| words.contains(name.as_str())).collect()
}

#[test]
fn update_by_key_reads_its_condition_and_writes_its_assignments() {
    let found = query(
        "UPDATE stock SET s_quantity = s_quantity - $1 WHERE s_w = $2 AND s_i = $3;",
        Server::Postgresql,
    );
    assert_eq!(found.kind, QueryKind::Write);
    assert_eq!(found.parameters, 3);
    assert!(!found.observes());
    let stock = TableAccess {
        reads: columns(&["s_i", "s_quantity", "s_w"]),
        writes: columns(&["s_quantity"]),
        equal: parameters(&[("s_w", 1), ("s_i", 2)]),
        chosen_by: columns(&["s_i", "s_w"]),
        is_sure: true,
        occurrences: 1,
        ..TableAccess::default()
    };
    assert_eq!(found.tables, BTreeMap::from([("stock".to_owned(), stock)]));
}
