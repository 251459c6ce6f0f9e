//! A query that would lock a row shared stays behind a query that locks rows of the same table
//! exclusively and that it stood behind.
//!
//! - In MySQL and MariaDB, a read at serializable locks rows shared, and at each level a write
//!   whose foreign key is checked. Each write locks exclusively.
//! - In PostgreSQL, the check of a foreign key locks the key of the parent's row shared. A
//!   `DELETE`, an update of columns of a key, and `SELECT … FOR UPDATE` lock it exclusively.
//!
//! **Safe because** no transaction then holds a row shared that it still has to lock exclusively,
//! unless it did so in the source. Two transactions that both do so wait for each other: the result
//! is right, but one of them is rolled back each time.

use std::collections::BTreeSet;

use super::{Context, Found, Isolation, Rule, same_table};
use crate::{
    api::Server,
    sql::{QueryKind, TableAccess},
    units::UnitQuery,
};

pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    let units = &context.units.units;
    for (first, later) in context.pairs() {
        for writer in units[first].queries() {
            let changed = locked_exclusively(context, writer);
            for other in units[later].queries() {
                if let Some(table) = locked_shared(context, other).intersection(&changed).next() {
                    let reason = format!("moved up, it would lock rows of `{table}` shared first");
                    found.before(first, later, Rule::Conversion, reason);
                }
            }
        }
    }
}

/// Returns the tables of which a query locks rows, or their keys, exclusively.
pub(super) fn locked_exclusively(
    context: &Context<'_, '_, '_>,
    query: &UnitQuery,
) -> BTreeSet<String> {
    match context.server {
        Server::Mysql => same_table::changed(context, query),
        Server::Sqlite => BTreeSet::new(),
        Server::Postgresql => {
            let locks_key = |name: &String, access: &TableAccess| {
                access.locks || access.deletes || writes_key(context, name, access)
            };
            let locked = query.query.tables.iter().filter(|(name, access)| locks_key(name, access));
            locked.flat_map(|(name, _)| context.schema.base_tables(name)).collect()
        }
    }
}

/// Returns true if a query may assign a column of a key.
fn writes_key(context: &Context<'_, '_, '_>, name: &str, access: &TableAccess) -> bool {
    let Some(table) = context.schema.table(name) else { return !access.writes.is_empty() };
    let keys = table.primary_key.iter().chain(&table.unique);
    keys.flat_map(|key| &key.columns).any(|column| access.writes.contains(column))
}

/// Returns the tables of which a query locks rows shared.
fn locked_shared(context: &Context<'_, '_, '_>, query: &UnitQuery) -> BTreeSet<String> {
    let names = query.query.tables.keys();
    if query.query.kind == QueryKind::Read {
        let locks = context.server == Server::Mysql && context.isolation == Isolation::Serializable;
        return names.filter(|_| locks).flat_map(|name| context.schema.base_tables(name)).collect();
    }
    let changed = same_table::changed(context, query);
    let mut locked = BTreeSet::new();
    for (name, access) in &query.query.tables {
        let table = context.schema.table(name);
        for key in table.into_iter().flat_map(|table| &table.foreign_keys) {
            if access.inserts || key.columns.iter().any(|column| access.writes.contains(column)) {
                locked.extend(context.schema.base_tables(&key.table));
            }
        }
    }
    locked.retain(|parent| !changed.contains(parent));
    locked
}
