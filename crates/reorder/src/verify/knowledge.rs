//! The effects of a query on base tables, by a schema.
//!
//! The comparison looks for conflicts table by table. So everything that a query does in the
//! database becomes an access of a base table: the rows behind a view, the rows that a foreign key
//! checks, and what triggers, rules and cascades touch. Two things that are no tables get a name of
//! their own, with a space in it, which no table of the schema has: the state of functions such as
//! `nextval`, and each unique key besides the primary one.

use std::collections::{BTreeMap, BTreeSet, btree_map::Entry};

use crate::{
    api::Server,
    schema::{Event, ForeignKey, Schema, Table, Tables},
    sql::{self, Columns, Query, TableAccess, functions},
};

/// The name that stands for the state of functions whose value changes from call to call.
const STATE: &str = "state of functions";

/// The answers of a schema to the questions of a comparison about queries and tables.
#[derive(Clone, Copy, Debug)]
pub struct Knowledge<'a> {
    schema: &'a Schema,
    server: Server,
}

impl<'a> Knowledge<'a> {
    /// Returns the answers that a schema of a server gives.
    pub fn new(schema: &'a Schema, server: Server) -> Knowledge<'a> {
        Knowledge { schema, server }
    }

    /// Returns what a query does in base tables, with the rows that foreign keys check and what
    /// triggers, rules and cascades touch. `None` if it may touch anything: it is not understood,
    /// it calls a function that is not known, or it fires a trigger that may touch all tables.
    pub fn analyze(&self, text: &str) -> Option<Query> {
        let query = sql::analyze(text, self.server, self.schema).ok()?;
        if query.functions.iter().any(|name| !functions::uses_no_table(name, self.schema)) {
            return None;
        }
        let mut tables = BTreeMap::new();
        for (name, access) in &query.tables {
            self.add_rows(&mut tables, name, access);
            self.add_consequences(&mut tables, name, access)?;
            for base in self.schema.base_tables(name) {
                self.add_checks(&mut tables, &base, access);
                self.add_unique_keys(&mut tables, &base, access);
            }
        }
        if query.functions.iter().any(|name| functions::is_volatile(name, self.server)) {
            add(&mut tables, STATE, everything());
        }
        Some(Query { tables, ..query })
    }

    /// Returns the columns of a table's primary key.
    pub fn key(&self, table: &str) -> Vec<String> {
        if let Some(key) = self.unique_key(table) {
            return key;
        }
        let key = self.schema.table(table).and_then(|table| table.primary_key.as_ref());
        key.map_or(Vec::new(), |key| key.columns.clone())
    }

    /// Returns the keys of the tables: each with the table and the columns of which no two rows
    /// have the same values.
    pub fn keys(&self) -> Vec<(String, Vec<String>)> {
        let of_table = |(name, table): (&String, &Table)| {
            let unique = table.unique.iter().filter(|key| !key.partial).map(|key| &key.columns);
            let all = table.primary_key.iter().map(|key| &key.columns).chain(unique);
            all.map(|columns| (name.clone(), columns.clone())).collect::<Vec<_>>()
        };
        self.schema.tables.iter().flat_map(of_table).collect()
    }

    /// Returns the table, the name and the type of each column; the type of one that is never null
    /// ends with `not null`.
    pub fn columns(&self) -> Vec<(String, String, String)> {
        let of_table = |(name, table): (&String, &Table)| {
            let column = |column: &crate::schema::Column| {
                let fixed = column.not_null || self.key(name).contains(&column.name);
                let ty = format!("{}{}", column.ty, if fixed { " not null" } else { "" });
                (name.clone(), column.name.clone(), ty)
            };
            table.columns.iter().map(column).collect::<Vec<_>>()
        };
        let is_word = |name: &str| !name.is_empty() && !name.contains(char::is_whitespace);
        let all = self.schema.tables.iter().flat_map(of_table);
        all.filter(|(table, column, _)| is_word(table) && is_word(column)).collect()
    }

    /// Adds the rows that the query names, in the base tables.
    fn add_rows(&self, tables: &mut Accesses, name: &str, access: &TableAccess) {
        let is_view = self.schema.is_view(name);
        for base in self.schema.base_tables(name) {
            let access = if is_view { through_view(access) } else { access.clone() };
            add(tables, &base, access);
        }
    }

    /// Adds what triggers, rules and cascades touch; `None` if that may be any table.
    fn add_consequences(
        &self,
        tables: &mut Accesses,
        name: &str,
        access: &TableAccess,
    ) -> Option<()> {
        let events = [
            (true, Event::Select),
            (access.inserts, Event::Insert),
            (access.deletes, Event::Delete),
            (!access.writes.is_empty(), Event::Update),
        ];
        for (_, event) in events.into_iter().filter(|(happens, _)| *happens) {
            let Tables::Some(touched) = self.schema.consequences(name, event) else { return None };
            for base in touched.iter().flat_map(|table| self.schema.base_tables(table)) {
                add(tables, &base, everything());
            }
        }
        Some(())
    }

    /// Adds the rows that foreign keys look up: of the parent for a new reference, of the child for
    /// a parent that goes or changes its key.
    fn add_checks(&self, tables: &mut Accesses, table: &str, access: &TableAccess) {
        for (child, other) in &self.schema.tables {
            let children = self.schema.base_tables(child);
            for key in &other.foreign_keys {
                let parents = self.schema.base_tables(&key.table);
                let referred = self.referred(key);
                if children.contains(table) && (access.inserts || writes(access, &key.columns)) {
                    parents.iter().for_each(|parent| add(tables, parent, reading(&referred)));
                }
                if parents.contains(table) && (access.deletes || writes(access, &referred)) {
                    children.iter().for_each(|child| add(tables, child, reading(&key.columns)));
                }
            }
        }
    }

    /// Returns the columns that a foreign key refers to.
    fn referred(&self, key: &ForeignKey) -> Vec<String> {
        match key.referred.is_empty() {
            true => self.key(&key.table),
            false => key.referred.clone(),
        }
    }

    /// Adds the unique keys in which the query frees or takes a value.
    fn add_unique_keys(&self, tables: &mut Accesses, table: &str, access: &TableAccess) {
        let keys = self.schema.table(table).map_or(&[][..], |table| &table.unique);
        for (number, key) in keys.iter().enumerate() {
            let (frees, changes) = (access.deletes, key.partial || writes(access, &key.columns));
            let changes = changes && !access.writes.is_empty();
            if !(frees || changes || access.inserts) {
                continue;
            }
            let mut of_key = reading(&key.columns);
            if frees || changes {
                of_key.writes = of_key.reads.clone();
            }
            if access.inserts && !frees && !changes && !key.partial {
                of_key.equal.clone_from(&access.equal);
            }
            add(tables, &unique_name(table, number), of_key);
        }
    }

    /// Returns the columns of the unique key that a name stands for.
    fn unique_key(&self, name: &str) -> Option<Vec<String>> {
        let (table, number) = name.split_once(" unique ")?;
        let key = self.schema.table(table)?.unique.get(number.parse::<usize>().ok()?)?;
        Some(if key.partial { Vec::new() } else { key.columns.clone() })
    }
}

type Accesses = BTreeMap<String, TableAccess>;

fn unique_name(table: &str, number: usize) -> String {
    format!("{table} unique {number}")
}

/// Returns what a query may do in a table behind a view.
fn through_view(access: &TableAccess) -> TableAccess {
    let writes = if access.writes.is_empty() { Columns::default() } else { Columns::All };
    TableAccess { reads: Columns::All, writes, equal: BTreeMap::new(), ..access.clone() }
}

fn everything() -> TableAccess {
    TableAccess {
        reads: Columns::All,
        writes: Columns::All,
        inserts: true,
        deletes: true,
        ..TableAccess::default()
    }
}

fn reading(columns: &[String]) -> TableAccess {
    let reads = Columns::Some(columns.iter().cloned().collect::<BTreeSet<_>>());
    TableAccess { reads, occurrences: 1, ..TableAccess::default() }
}

fn writes(access: &TableAccess, columns: &[String]) -> bool {
    columns.iter().any(|column| access.writes.contains(column))
}

/// Adds an access to those of a table. Of two accesses, no column is known to be equal.
fn add(tables: &mut Accesses, table: &str, access: TableAccess) {
    match tables.entry(table.to_owned()) {
        Entry::Vacant(free) => drop(free.insert(access)),
        Entry::Occupied(mut held) => {
            let held = held.get_mut();
            held.reads = united(&held.reads, &access.reads);
            held.writes = united(&held.writes, &access.writes);
            held.inserts |= access.inserts;
            held.deletes |= access.deletes;
            held.locks |= access.locks;
            held.occurrences += access.occurrences;
            held.equal.clear();
        }
    }
}

fn united(one: &Columns, other: &Columns) -> Columns {
    match (one, other) {
        (Columns::Some(one), Columns::Some(other)) => {
            Columns::Some(one.union(other).cloned().collect())
        }
        _ => Columns::All,
    }
}

#[cfg(test)]
mod tests;
