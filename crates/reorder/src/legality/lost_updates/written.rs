//! The changes of tables by all that a transaction runs: its queries, their triggers, rules and
//! functions, and the actions of foreign keys.
//!
//! A text that is not known may change any table, and so may a function that is not.

use std::collections::{BTreeMap, BTreeSet};

use super::super::{Context, same_table::have_different_constants};
use crate::{
    api::Role,
    flow::{access::QueryCall, graph::NodeIndex},
    schema::Tables,
    sql::{self, Columns, Query, QueryKind, TableAccess, Value},
};

/// The changes of a table.
#[derive(Clone, Default)]
pub(super) struct Changes {
    /// The accesses that insert rows; `None` for one that is not known.
    inserted: Vec<Option<TableAccess>>,
    pub(super) deletes: bool,
    /// The columns that are assigned.
    pub(super) columns: Columns,
}

impl Changes {
    /// Returns the changes that are possible.
    fn all() -> Changes {
        Changes { inserted: vec![None], deletes: true, columns: Columns::All }
    }

    fn add(&mut self, access: &TableAccess) {
        self.inserted.extend(access.inserts.then(|| Some(access.clone())));
        self.deletes |= access.deletes;
        match &access.writes {
            Columns::All => self.columns = Columns::All,
            Columns::Some(columns) => columns.iter().for_each(|one| self.columns.add(one)),
        }
    }

    /// Returns true if rows are inserted.
    pub(super) fn inserts(&self) -> bool {
        !self.inserted.is_empty()
    }

    /// Returns true if an inserted row may have given values in a table.
    pub(super) fn inserts_one_of(
        &self,
        context: &Context<'_, '_, '_>,
        table: &str,
        values: &BTreeMap<String, Value>,
    ) -> bool {
        let is_one = |one: &TableAccess| inserts_one_of(context, table, one, values);
        self.inserted.iter().any(|one| one.as_ref().is_none_or(is_one))
    }
}

/// Returns true if a row that an access inserts may have given values in a table. One to which the
/// server gives its number is not the one that another transaction names by a number.
pub(super) fn inserts_one_of(
    context: &Context<'_, '_, '_>,
    table: &str,
    access: &TableAccess,
    values: &BTreeMap<String, Value>,
) -> bool {
    let known = context.schema.table(table);
    let gets_number = |column: &String| known.is_some_and(|one| access.gets_number(one, column));
    access.inserts
        && !values.keys().any(gets_number)
        && !have_different_constants(context, table, [&access.equal, values])
}

/// The changes of all tables.
#[derive(Default)]
pub(super) struct Written {
    tables: BTreeMap<String, Changes>,
    /// The tables that more than the queries themselves change.
    started: BTreeSet<String>,
    /// True if tables may be changed of which it is not known.
    all: bool,
}

impl Written {
    /// Returns the changes that may concern rows of a table or view, each with the name of the
    /// table or view.
    pub(super) fn of(&self, context: &Context<'_, '_, '_>, name: &str) -> Vec<(String, Changes)> {
        let bases = context.schema.base_tables(name);
        let meets = |(other, _): &(&String, &Changes)| {
            !context.schema.base_tables(other).is_disjoint(&bases)
        };
        let known = self.tables.iter().filter(meets);
        let known = known.map(|(other, changes)| (other.clone(), changes.clone()));
        let unknown = self.all.then(|| (name.to_owned(), Changes::all()));
        known.chain(unknown).collect()
    }

    /// Returns true if more than the queries themselves changes rows of a table or view.
    pub(super) fn starts(&self, context: &Context<'_, '_, '_>, name: &str) -> bool {
        let bases = context.schema.base_tables(name);
        let meets = |other: &String| !context.schema.base_tables(other).is_disjoint(&bases);
        self.all || self.started.iter().any(meets)
    }

    fn add(&mut self, context: &Context<'_, '_, '_>, query: &Query) {
        let schema = context.schema;
        for (name, access) in &query.tables {
            if access.changes() {
                self.tables.entry(name.clone()).or_default().add(access);
            }
            self.add_all(&schema.effects_of_access(name, access).changes);
        }
        self.add_all(&schema.changed_by_functions(query));
    }

    fn add_all(&mut self, tables: &Tables) {
        self.all |= *tables == Tables::All;
        for name in tables.known() {
            self.tables.insert(name.clone(), Changes::all());
            self.started.insert(name.clone());
        }
    }

    /// Adds the queries of a node that belongs to no query of a unit.
    fn add_node(&mut self, context: &Context<'_, '_, '_>, node: NodeIndex) {
        let flow = context.flow;
        let runs =
            |call: &&QueryCall<'_>| matches!(flow.role_of(call, node), Role::Query | Role::Barrier);
        for call in flow.effects[node].queries.iter().filter(runs) {
            let Ok(texts) = flow.sql_of(call, node) else {
                self.all = true;
                continue;
            };
            for text in texts {
                match sql::analyze(&text, context.server, context.schema) {
                    Ok(query) if query.kind == QueryKind::Other => self.all |= may_change(&text),
                    Ok(query) => self.add(context, &query),
                    Err(_) => self.all = true,
                }
            }
        }
    }
}

/// The words with which statements begin that change no rows, and are no queries.
const HARMLESS: &[&str] = &[
    "BEGIN",
    "COMMIT",
    "END",
    "LISTEN",
    "LOCK",
    "NOTIFY",
    "PRAGMA",
    "RELEASE",
    "RESET",
    "ROLLBACK",
    "SAVEPOINT",
    "SET",
    "SHOW",
    "START",
    "UNLISTEN",
    "UNLOCK",
    "USE",
];

/// Returns true if a statement that is no query may change rows.
fn may_change(text: &str) -> bool {
    let text = text.trim();
    let several = text.trim_end_matches(';').contains(';');
    let word: String = text.chars().take_while(char::is_ascii_alphabetic).collect();
    several || !HARMLESS.contains(&word.to_ascii_uppercase().as_str())
}

/// Returns the changes of each table. A unit of which only the nodes are known stands for all code
/// around others.
pub(super) fn written(context: &Context<'_, '_, '_>) -> Written {
    let mut found = Written::default();
    for unit in &context.units.units {
        unit.queries().for_each(|query| found.add(context, &query.query));
        if unit.queries().next().is_none() {
            unit.nodes().for_each(|node| found.add_node(context, node));
        }
    }
    found
}
