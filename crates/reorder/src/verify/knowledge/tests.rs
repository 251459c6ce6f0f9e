use std::collections::BTreeMap;

use super::*;
use crate::schema;

const DDL: &str = "
CREATE TABLE parent (id integer PRIMARY KEY, name text, total integer);
CREATE TABLE child (id integer PRIMARY KEY, parent_id integer REFERENCES parent (id), note text);
CREATE TABLE owned (id integer PRIMARY KEY,
    parent_id integer REFERENCES parent (id) ON DELETE CASCADE);
CREATE TABLE badge (id integer PRIMARY KEY, code text NOT NULL UNIQUE);
CREATE TABLE audit (at timestamp, what text);
CREATE TABLE wild (id integer PRIMARY KEY);
CREATE VIEW names AS SELECT id, name FROM parent;
CREATE FUNCTION note_badge() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN INSERT INTO audit VALUES (now(), 'badge'); RETURN NEW; END $$;
CREATE TRIGGER badge_noted AFTER INSERT ON badge FOR EACH ROW EXECUTE FUNCTION note_badge();
CREATE FUNCTION anything() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN EXECUTE 'DELETE FROM ' || TG_ARGV[0]; RETURN NEW; END $$;
CREATE TRIGGER wild_anything AFTER UPDATE ON wild FOR EACH ROW EXECUTE FUNCTION anything();
";

fn schema() -> Schema {
    schema::parse(DDL, Server::Postgresql).unwrap()
}

fn analyzed(text: &str) -> Option<BTreeMap<String, TableAccess>> {
    let schema = schema();
    Knowledge::new(&schema, Server::Postgresql).analyze(text).map(|query| query.tables)
}

fn tables(text: &str) -> Vec<String> {
    analyzed(text).unwrap().into_keys().collect()
}

#[test]
fn rows_of_a_view_are_those_of_its_tables() {
    let tables = analyzed("SELECT name FROM names WHERE id = $1").unwrap();
    assert_eq!(tables.keys().collect::<Vec<_>>(), ["parent"]);
    assert_eq!(tables["parent"].reads, Columns::All);
    assert!(tables["parent"].equal.is_empty());
    let tables = analyzed("UPDATE names SET name = $1 WHERE id = $2").unwrap();
    assert_eq!(tables["parent"].writes, Columns::All, "a view may rename columns");
}

#[test]
fn new_reference_reads_the_key_of_the_parent() {
    let tables = analyzed("INSERT INTO child (id, parent_id) VALUES ($1, $2)").unwrap();
    assert_eq!(tables.keys().collect::<Vec<_>>(), ["child", "parent"]);
    assert_eq!(tables["parent"].reads, reading(&["id".to_owned()]).reads);
    assert!(tables["parent"].writes.is_empty());
    assert_eq!(self::tables("UPDATE child SET parent_id = $1 WHERE id = $2"), ["child", "parent"]);
}

#[test]
fn columns_outside_of_the_reference_look_up_no_parent() {
    assert_eq!(tables("UPDATE child SET note = $1 WHERE id = $2"), ["child"]);
    assert_eq!(tables("DELETE FROM child WHERE id = $1"), ["child"]);
    assert_eq!(tables("UPDATE parent SET total = $1 WHERE id = $2"), ["parent"]);
}

#[test]
fn parent_that_goes_looks_up_its_children_and_removes_those_of_a_cascade() {
    let tables = analyzed("DELETE FROM parent WHERE id = $1").unwrap();
    assert_eq!(tables.keys().collect::<Vec<_>>(), ["child", "owned", "parent"]);
    assert!(!tables["child"].deletes && tables["owned"].deletes, "{tables:?}");
    assert!(!tables["parent"].equal.is_empty(), "the row is still known");
}

#[test]
fn trigger_touches_its_tables_and_one_without_known_tables_touches_all() {
    let tables = analyzed("INSERT INTO badge (id, code) VALUES ($1, $2)").unwrap();
    assert!(tables["audit"].inserts, "{tables:?}");
    assert_eq!(analyzed("UPDATE wild SET id = $1"), None);
    assert!(analyzed("SELECT id FROM wild").is_some());
}

#[test]
fn unknown_function_touches_all_tables() {
    assert_eq!(analyzed("SELECT mystery(id) FROM wild"), None);
    assert_eq!(tables("SELECT upper(name) FROM parent"), ["parent"]);
    assert_eq!(tables("SELECT random()"), [STATE]);
    assert_eq!(tables("SELECT current_timestamp"), [""; 0]);
    assert_eq!(analyzed("SELEC"), None);
}

#[test]
fn unique_key_keeps_the_deletion_of_its_value_before_the_insertion() {
    let schema = schema();
    let knowledge = Knowledge::new(&schema, Server::Postgresql);
    let name = unique_name("badge", 0);
    assert_eq!(knowledge.key(&name), ["code"]);
    let freed = analyzed("DELETE FROM badge WHERE id = 1").unwrap();
    let taken = analyzed("INSERT INTO badge (id, code) VALUES (2, 'x')").unwrap();
    assert!(freed[&name].writes.overlap(&taken[&name].reads), "{freed:?} {taken:?}");
    assert!(taken[&name].writes.is_empty() && taken[&name].equal.contains_key("code"));
}

#[test]
fn key_and_columns_are_those_of_the_schema() {
    let schema = schema();
    let knowledge = Knowledge::new(&schema, Server::Postgresql);
    assert_eq!(knowledge.key("child"), ["id"]);
    assert_eq!(knowledge.key("audit"), [""; 0]);
    let columns = knowledge.columns();
    let column = |table: &str, name: &str, ty: &str| {
        columns.contains(&(table.to_owned(), name.to_owned(), ty.to_owned()))
    };
    assert!(column("parent", "total", "integer") && column("audit", "at", "timestamp"));
}
