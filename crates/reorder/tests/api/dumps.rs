//! Schemas as the servers' own programs dump them are understood, with all that a query may start.
//!
//! `dumps/features-*.sql` creates objects of many kinds; `features-*.dump.sql` is the dump of a
//! database with them, made by `pg_dump --schema-only --no-owner --no-privileges` of PostgreSQL 15
//! and `mariadb-dump --no-data --routines --triggers --skip-lock-tables --databases` of MariaDB
//! 10.11. Both files give the same schema.

use std::{collections::BTreeSet, fs, path::Path};

use clearway_reorder::{
    api::Server,
    schema::{self, Event, Schema, Tables},
};

fn read(name: &str, server: Server) -> Schema {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/dumps").join(name);
    let ddl = fs::read_to_string(path).unwrap();
    schema::parse(&ddl, server).unwrap_or_else(|bad| panic!("{name}: {bad}"))
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn touched(schema: &Schema, table: &str, event: Event) -> BTreeSet<String> {
    match schema.consequences(table, event) {
        Tables::Some(tables) => tables,
        Tables::All => set(&["*"]),
    }
}

/// Checks what both files of PostgreSQL say.
fn check_postgresql(schema: &Schema) {
    let names: Vec<&String> = schema.tables.keys().collect();
    assert_eq!(names, ["log", "note", "region", "sale", "sale_new", "sale_old", "session", "shop"]);
    let region = &schema.tables["region"];
    assert_eq!(region.functions, set(&["public.total"]), "of the domain");
    assert_eq!(region.checks, 2, "one is the domain's");
    assert!(region.column("id").unwrap().numbered);
    assert!(region.column("twice").unwrap().computed);
    assert!(schema.is_key("region", &set(&["id"])));
    let shop = &schema.tables["shop"];
    assert_eq!(shop.functions, set(&["length", "lower"]), "of the indexes");
    assert!(shop.unique.iter().all(|key| key.partial) && shop.unique.len() == 2);
    assert_eq!(schema.base_tables("sale_new"), set(&["sale"]));
    assert_eq!(schema.family("sale"), set(&["sale", "sale_new", "sale_old"]));
    assert_eq!(schema.base_tables("totals"), set(&["region", "shop"]));
    assert!(schema.views["totals"].functions.contains("public.total"));
    assert_eq!(schema.functions["total"], Tables::Some(set(&["region"])));
    assert_eq!(schema.functions["public.plus_one"], Tables::Some(set(&[])));
    assert_eq!(schema.operators["=~="], set(&["public.near"]));
    assert!(schema.domains["share"].checks);
    let sold = touched(schema, "sale", Event::Insert);
    assert!(sold.is_superset(&set(&["log"])) && !sold.contains("region"), "{sold:?}");
    // The rule of the table, and the policy, which reads the region.
    let opened = touched(schema, "shop", Event::Insert);
    assert!(opened.is_superset(&set(&["log", "note", "region"])), "{opened:?}");
    assert!(touched(schema, "region", Event::Delete).contains("shop"));
    assert_eq!(schema.triggers_on("sale_new", Event::Update).len(), 1);
}

/// Checks what both files of MariaDB say.
fn check_mariadb(schema: &Schema) {
    let names: Vec<&String> = schema.tables.keys().collect();
    assert_eq!(names, ["audit", "cache", "region", "sale", "shop"]);
    let region = &schema.tables["region"];
    assert!(region.functions.contains("char_length"), "{:?}", region.functions);
    assert!(region.column("changed").unwrap().on_update);
    assert!(region.unique[0].partial);
    let outside = |name: &str| schema.tables[name].outside.clone().unwrap_or_default();
    assert!(outside("audit").contains("MyISAM") && outside("cache").contains("MEMORY"));
    assert_eq!(outside("sale"), "", "each partition is InnoDB");
    assert_eq!(schema.base_tables("totals"), set(&["region", "shop"]));
    assert!(schema.views["totals"].functions.contains("bonus"));
    assert_eq!(schema.functions["bonus"], Tables::Some(set(&["sale"])));
    assert_eq!(schema.functions["twice"], Tables::Some(set(&[])));
    assert!(schema.commits.contains_key("tidy") && !schema.commits.contains_key("note"));
    assert!(touched(schema, "sale", Event::Insert).is_superset(&set(&["audit", "region"])));
    assert_eq!(touched(schema, "cache", Event::Delete), set(&["*"]), "it sets a variable");
    assert_eq!(touched(schema, "region", Event::Delete), set(&["shop"]));
    assert_eq!(schema.tables["shop"].foreign_keys[0].table, "region");
}

#[test]
fn dump_of_postgresql_says_what_its_source_says() {
    check_postgresql(&read("features-postgresql.sql", Server::Postgresql));
    check_postgresql(&read("features-postgresql.dump.sql", Server::Postgresql));
}

#[test]
fn dump_of_mariadb_says_what_its_source_says() {
    check_mariadb(&read("features-mariadb.sql", Server::Mysql));
    check_mariadb(&read("features-mariadb.dump.sql", Server::Mysql));
}
