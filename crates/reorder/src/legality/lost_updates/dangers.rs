//! The reads of a query that find something else if the query moves before a lock.

use super::{
    super::Context,
    Written, changes_rows, has_snapshot, may_be_old,
    written::{Changes, inserts_one_of},
};
use crate::{
    schema::{Table, Tables},
    sql::{Columns, Held, QueryKind, TableAccess},
    units::UnitQuery,
};

/// A read that a lock may protect.
pub(super) struct Danger {
    /// The table that is read.
    pub(super) table: String,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The transaction writes what it reads.
    Written {
        /// True if the read can lock what it reads.
        locks_help: bool,
    },
    /// The read holds rows shared that the transaction then writes.
    Shared,
    /// A trigger, rule or policy reads what the transaction writes.
    ByTrigger,
    /// The read does not wait for rows that others have locked.
    NoWait,
}

impl Danger {
    /// Returns true if the danger is none as long as nothing depends on the read.
    pub(super) fn needs_influence(&self) -> bool {
        !matches!(self.kind, Kind::NoWait | Kind::Shared)
    }

    /// Returns the reason for a constraint.
    pub(super) fn reason(&self) -> String {
        let remedy = match self.kind {
            Kind::NoWait => {
                return format!(
                    "the lock may keep others from holding rows of `{}`, for which this query \
                     does not wait",
                    self.table
                );
            }
            Kind::Shared => {
                return format!(
                    "the lock may keep others from holding rows of `{}` shared, for which each \
                     would wait; read it FOR UPDATE",
                    self.table
                );
            }
            Kind::Written { locks_help: true } => {
                "read it FOR UPDATE, or use serializable or --relaxed-reads"
            }
            Kind::Written { locks_help: false } => {
                "use serializable, or --relaxed-reads if no lock protects it"
            }
            Kind::ByTrigger => {
                "a trigger, rule or policy reads it: use serializable, or --relaxed-reads if no \
                 lock protects it"
            }
        };
        format!(
            "the lock may keep others from writing `{}` between this read and what depends on it; \
             {remedy}",
            self.table
        )
    }
}

/// Returns the dangers of a query. `is_counted` is true if the program asks for the number of rows.
pub(super) fn dangers(
    context: &Context<'_, '_, '_>,
    written: &Written,
    query: &UnitQuery,
    is_counted: bool,
) -> Vec<Danger> {
    let mut found = Vec::new();
    for (name, access) in &query.query.tables {
        let stops = access.locks && (access.fails_locked || access.skips_locked);
        if stops {
            found.push(Danger { table: name.clone(), kind: Kind::NoWait });
        }
        if !may_be_old(context) {
            continue;
        }
        let kind = match access.changes() && access.occurrences < 2 {
            true => misses_rows(context, written, query, name, is_counted)
                .then_some(Kind::Written { locks_help: false }),
            false => overtaken(context, written, query, name),
        };
        found.extend(kind.map(|kind| Danger { table: name.clone(), kind }));
        let read = context.schema.effects_of_access(name, access).reads;
        found.extend(read_by_trigger(context, written, &read));
    }
    found
}

/// Returns the tables that triggers read and the transaction writes. A trigger that may read all
/// keeps its order with all queries.
fn read_by_trigger(context: &Context<'_, '_, '_>, written: &Written, read: &Tables) -> Vec<Danger> {
    let is_written = |name: &&String| !written.of(context, name).is_empty();
    let of_table = |table: &String| Danger { table: table.clone(), kind: Kind::ByTrigger };
    read.known().filter(is_written).map(of_table).collect()
}

/// Returns the danger, if others may write what a query reads of a table, so that it is old when
/// the transaction writes, or that they wait for each other.
fn overtaken(
    context: &Context<'_, '_, '_>,
    written: &Written,
    query: &UnitQuery,
    name: &str,
) -> Option<Kind> {
    let access = &query.query.tables[name];
    let only_locks = query.query.kind == QueryKind::Write && !changes_rows(&query.query);
    let held = if only_locks && !access.skips_locked { access.held } else { Held::Not };
    let all = written.of(context, name);
    let inserted = |write: &Changes| write.inserts_one_of(context, name, &access.equal);
    if held == Held::Not {
        let is_old = |(other, write): &&(String, Changes)| {
            inserted(write) || overwrites(context, (name, access), (other, write))
        };
        let (_, write) = all.iter().find(is_old)?;
        return Some(Kind::Written { locks_help: !inserted(write) });
    }
    let added = |(other, write): &&(String, Changes)| {
        !has_snapshot(context)
            && (inserted(write) || moves_in(context, (name, access), (other, write)))
    };
    let writes = |(_, write): &(String, Changes)| write.deletes || !write.columns.is_empty();
    if held == Held::Shared && all.iter().any(writes) {
        return Some(Kind::Shared);
    }
    all.iter().find(added).map(|_| Kind::Written { locks_help: false })
}

/// Returns true if an access names a row by a key.
fn is_key(context: &Context<'_, '_, '_>, name: &str, access: &TableAccess) -> bool {
    context.schema.is_key(name, &access.equal.keys().cloned().collect())
}

/// Returns true if two names of tables do not stand for the same columns: one is a view, or a part
/// of another table.
fn is_by_view(context: &Context<'_, '_, '_>, name: &str, other: &str) -> bool {
    let bases = |name: &str| context.schema.base_tables(name).contains(name);
    !bases(name) || !bases(other)
}

/// Returns true if changes remove rows, or assign what a query reads.
fn overwrites(
    context: &Context<'_, '_, '_>,
    (name, access): (&str, &TableAccess),
    (other, write): (&str, &Changes),
) -> bool {
    let by_view = is_by_view(context, name, other) && !write.columns.is_empty();
    write.deletes || by_view || access.reads.overlap(&write.columns)
}

/// Returns true if changes may move rows to those that a locking read finds, since it locks none of
/// them before: they assign a column by which it chooses, other than those of a key that it names.
fn moves_in(
    context: &Context<'_, '_, '_>,
    (name, access): (&str, &TableAccess),
    (other, write): (&str, &Changes),
) -> bool {
    let by_view = is_by_view(context, name, other) && !write.columns.is_empty();
    by_view || chosen_by(context, name, access).overlap(&write.columns)
}

/// Returns the columns by which an access chooses rows, other than those of a key that it names.
fn chosen_by(context: &Context<'_, '_, '_>, name: &str, access: &TableAccess) -> Columns {
    let Columns::Some(columns) = &access.chosen_by else { return Columns::All };
    let is_key = is_key(context, name, access);
    let keys = context.schema.table(name).into_iter().flat_map(Table::keys);
    let is_named = |column: &String| access.equal.contains_key(column);
    let named: Vec<&String> = keys
        .filter(|key| is_key && key.columns.iter().all(is_named))
        .flat_map(|key| &key.columns)
        .collect();
    Columns::Some(columns.iter().filter(|one| !named.contains(one)).cloned().collect())
}

/// Returns true if an update or a deletion may miss rows which the same transaction of another
/// process has added to those of its condition, by the same query too.
fn misses_rows(
    context: &Context<'_, '_, '_>,
    written: &Written,
    query: &UnitQuery,
    name: &str,
    is_counted: bool,
) -> bool {
    let access = &query.query.tables[name];
    if access.writes.is_empty() && !access.deletes {
        return false;
    }
    let is_key = !access.deletes && is_key(context, name, access);
    if !is_key && access.chosen_by.overlap(&access.writes) {
        return true;
    }
    if !is_counted && chosen_by(context, name, access).overlap(&access.writes) {
        return true;
    }
    let tables = context.schema.base_tables(name);
    let all = context.units.units.iter().flat_map(|unit| unit.queries());
    let others = all.filter(|other| !std::ptr::eq(*other, query));
    let mut adding = others.flat_map(|other| &other.query.tables).filter(|(table, other)| {
        let by_view = is_by_view(context, name, table) && !other.writes.is_empty();
        let moves_in = by_view || chosen_by(context, name, access).overlap(&other.writes);
        let inserts = inserts_one_of(context, name, other, &access.equal);
        (inserts || moves_in) && !context.schema.base_tables(table).is_disjoint(&tables)
    });
    adding.next().is_some() || !is_key && written.starts(context, name)
}
