//! Two queries on one table, of which at least one writes, keep their order (the paper's first and
//! second dependency among rows, §4.1; a view stands for the tables that it reads).
//!
//! They may change places
//! - if one only reads, the other is an `UPDATE`, and the one reads no column that the other
//!   assigns: the read sees the same values before and after (not in SQLite, where the read may
//!   still be under way);
//! - if both name a key, in a column of it with constants that differ, or with parameters of which
//!   the caller of [`between`] knows that they differ: they touch different rows. If both write,
//!   the table has no other key: one could free the value that the other takes. A number of the row
//!   that no column shows is such a key of SQLite, for rows that are inserted and deleted.
//!
//! Two writes keep their order even if they assign different columns, so that the order of effects
//! on each row stays the same.
//!
//! **Safe because** each read of a row sees the same writes of the transaction as in the source,
//! and each row sees its writes in the same order.

use std::collections::{BTreeMap, BTreeSet};

use super::{Context, Found, Rule};
use crate::{
    api::Server,
    schema::{Key, Table},
    solve::UnitIndex,
    sql::{Query, QueryKind, TableAccess, Value, names},
    units::UnitQuery,
};

/// Facts about the parameters of queries.
pub(crate) trait Parameters {
    /// Returns true if the values that two queries require in a column certainly differ.
    fn differ(&self, table: &str, column: &str, one: Required<'_>, other: Required<'_>) -> bool;
}

/// A parameter that a column must be equal to in the rows that a query accesses.
#[derive(Clone, Copy)]
pub(crate) struct Required<'q> {
    pub(crate) query: &'q UnitQuery,
    /// The access to the table.
    pub(crate) access: &'q TableAccess,
    /// The number of the parameter.
    pub(crate) parameter: usize,
}

/// Nothing is known about parameters.
pub(crate) struct Unknown;

impl Parameters for Unknown {
    fn differ(&self, _: &str, _: &str, _: Required<'_>, _: Required<'_>) -> bool {
        false
    }
}

pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    for (first, later) in context.pairs() {
        if let Some(reason) = between(context, (first, later), &Unknown) {
            found.before(first, later, Rule::SameTable, reason);
        }
    }
}

/// Returns the reason why two units keep their order.
pub(crate) fn between(
    context: &Context<'_, '_, '_>,
    (first, later): (UnitIndex, UnitIndex),
    parameters: &dyn Parameters,
) -> Option<String> {
    let units = &context.units.units;
    let others = || units[later].queries();
    let mut pairs = units[first].queries().flat_map(|one| others().map(move |other| (one, other)));
    let table = pairs.find_map(|(one, other)| conflict(context, one, other, parameters))?;
    Some(format!("both use the table `{table}`"))
}

/// Returns a table on which two queries conflict.
fn conflict(
    context: &Context<'_, '_, '_>,
    unit_query: &UnitQuery,
    other_query: &UnitQuery,
    parameters: &dyn Parameters,
) -> Option<String> {
    let (one, other) = (&unit_query.query, &other_query.query);
    for (name, access) in &one.tables {
        for (other_name, other_access) in &other.tables {
            let tables = context.schema.base_tables(name);
            let shared =
                tables.intersection(&context.schema.base_tables(other_name)).next().cloned();
            let Some(table) = shared else { continue };
            let by_view = table != *name || table != *other_name;
            if !writes(one, access) && !writes(other, other_access) {
                continue;
            }
            let both = [(unit_query, access), (other_query, other_access)];
            if by_view || !are_independent(context, &table, both, parameters) {
                return Some(table);
            }
        }
    }
    None
}

/// Returns true if a query writes the rows of a table, or locks them against others.
fn writes(query: &Query, access: &TableAccess) -> bool {
    query.kind == QueryKind::Write && changes(access)
}

fn changes(access: &TableAccess) -> bool {
    access.locks || access.changes()
}

fn are_independent(
    context: &Context<'_, '_, '_>,
    table: &str,
    both: [(&UnitQuery, &TableAccess); 2],
    parameters: &dyn Parameters,
) -> bool {
    let [(_, one), (_, other)] = both;
    let only_updates = |access: &TableAccess| !access.inserts && !access.deletes && !access.locks;
    // An open statement of SQLite may see writes, or not, while it is stepped.
    let by_column = |reader: &TableAccess, writer: &TableAccess| {
        context.server != Server::Sqlite
            && !changes(reader)
            && only_updates(writer)
            && !reader.reads.overlap(&writer.writes)
    };
    by_column(one, other)
        || by_column(other, one)
        || are_different_rows(context, table, both, parameters)
}

/// Returns true if both accesses name the same key with values that differ.
fn are_different_rows(
    context: &Context<'_, '_, '_>,
    table: &str,
    both: [(&UnitQuery, &TableAccess); 2],
    parameters: &dyn Parameters,
) -> bool {
    let [(one_query, one), (other_query, other)] = both;
    let names = |access: &TableAccess| access.equal.keys().cloned().collect::<BTreeSet<String>>();
    let (a, b) = (names(one), names(other));
    let both: BTreeSet<String> = a.intersection(&b).cloned().collect();
    let differ = |column: &String| match (&one.equal[column], &other.equal[column]) {
        (Value::Constant(a), Value::Constant(b)) => {
            let known = context.schema.table(table).and_then(|table| table.column(column));
            known.is_some_and(|column| are_different(context.server, &column.ty, a, b))
        }
        (Value::Parameter(a), Value::Parameter(b)) => {
            let one = Required { query: one_query, access: one, parameter: *a };
            let other = Required { query: other_query, access: other, parameter: *b };
            parameters.differ(table, column, one, other)
        }
        _ => false,
    };
    let both_write = changes(one) && changes(other);
    // Rows of one key are the same row, whatever else differs.
    let keys = context.schema.table(table).into_iter().flat_map(Table::keys);
    let mut keys = keys.filter(|key| {
        let columns: BTreeSet<String> = key.columns.iter().cloned().collect();
        !key.partial && columns.is_subset(&both) && context.schema.is_key(table, &columns)
    });
    context.schema.is_key(table, &both)
        && !(both_write && has_other_key(context, table, &both))
        && !(both_write && may_take_number(context, table, [one, other]))
        && keys.any(|key| key.columns.iter().any(differ))
}

/// Returns true if two sets of values have different constants in a column of a table.
pub(in crate::legality) fn have_different_constants(
    context: &Context<'_, '_, '_>,
    table: &str,
    [one, other]: [&BTreeMap<String, Value>; 2],
) -> bool {
    one.iter().any(|(name, value)| {
        let column = context.schema.table(table).and_then(|table| table.column(name));
        match (column, value, other.get(name)) {
            (Some(column), Value::Constant(a), Some(Value::Constant(b))) => {
                are_different(context.server, &column.ty, a, b)
            }
            _ => false,
        }
    })
}

/// Returns true if a table has a key with a column that is not among those given.
fn has_other_key(context: &Context<'_, '_, '_>, table: &str, columns: &BTreeSet<String>) -> bool {
    let mut all = context.schema.family_tables(table).into_iter();
    let is_other = |key: &Key| !key.columns.iter().all(|column| columns.contains(column));
    // An expression may stand beside the columns of a key.
    all.any(|table| table.keys().any(|key| key.partial || is_other(key)))
}

/// Returns true if one of two writes may give a row the number that the other frees or gives, of a
/// table of SQLite whose rows have a number that no column shows.
fn may_take_number(context: &Context<'_, '_, '_>, table: &str, both: [&TableAccess; 2]) -> bool {
    let changes = |access: &TableAccess| {
        access.inserts
            || access.deletes
            || names::ROWID.iter().any(|one| access.writes.contains(one))
    };
    context.schema.table(table).is_some_and(|table| table.hidden_rowid)
        && both.into_iter().all(changes)
}

/// Returns true if two constants are different values of a column: two integers in their shortest
/// form that the server stores as they are. MySQL may store others as the nearest value that the
/// type has, and other types than integers may round both to one value.
fn are_different(server: Server, ty: &str, a: &str, b: &str) -> bool {
    let (Ok(a), Ok(b)) = (a.parse::<i64>(), b.parse::<i64>()) else { return false };
    let word = ty.split([' ', '(']).next().unwrap_or_default();
    let bits = match word {
        "tinyint" => 8,
        "smallint" | "int2" | "smallserial" | "serial2" => 16,
        "mediumint" => 24,
        "int" | "integer" | "int4" | "serial" | "serial4" => 32,
        "bigint" | "int8" | "bigserial" | "serial8" => 64,
        // A negative scale rounds to tens.
        "numeric" | "decimal" => return server != Server::Mysql && !ty.contains('-') && a != b,
        "text" | "varchar" | "character" | "char" => return server != Server::Mysql && a != b,
        _ => return server == Server::Sqlite && word.is_empty() && a != b,
    };
    let largest = i64::MAX >> (64 - bits);
    let smallest = if ty.contains("unsigned") { 0 } else { -largest };
    let fits = |value: i64| (smallest..=largest).contains(&value);
    a != b && (server != Server::Mysql || fits(a) && fits(b))
}

/// Returns the base tables that a query changes.
pub(super) fn changed(context: &Context<'_, '_, '_>, query: &UnitQuery) -> BTreeSet<String> {
    let changed = query.query.tables.iter().filter(|(_, access)| changes(access));
    changed.flat_map(|(name, _)| context.schema.base_tables(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_that_the_server_may_store_as_one_are_not_different() {
        use Server::{Mysql, Postgresql, Sqlite};
        assert!(are_different(Mysql, "int(11) unsigned", "1", "2"));
        assert!(are_different(Mysql, "bigint", "1", "3000000000"));
        assert!(!are_different(Mysql, "int", "3000000000", "4000000000"), "both are 2147483647");
        assert!(!are_different(Mysql, "tinyint unsigned", "-1", "-2"), "both are 0");
        assert!(!are_different(Mysql, "year", "1", "2001"));
        assert!(!are_different(Mysql, "varchar(1)", "12", "13"), "both are '1'");
        assert!(are_different(Postgresql, "integer", "3000000000", "1"));
        assert!(are_different(Postgresql, "character varying(9)", "1", "2"));
        assert!(are_different(Postgresql, "numeric(6,2)", "12", "13"));
        assert!(!are_different(Postgresql, "numeric(3,-1)", "12", "13"), "both are 10");
        assert!(!are_different(Postgresql, "real", "16777216", "16777217"));
        assert!(!are_different(Postgresql, "integer", "1", "01"));
        assert!(are_different(Sqlite, "", "1", "2"));
    }
}
