//! Below serializable, a query that locks rows stays before a read of a table that the transaction
//! also writes, if a write or a decision depends on the read, unless the user allows another order
//! (`--relaxed-reads`).
//!
//! The lock may be what keeps the same transaction of another process out until the commit:
//! `UPDATE hot …; SELECT max(k) + 1 FROM log; INSERT INTO log …`. Behind the read, two transactions
//! find the same number, and both insert it.
//!
//! The lock does not matter to a read
//! - whose rows the transaction does not write: it inserts none into the table, deletes none, and
//!   assigns no column that is read;
//! - of which nothing depends that the transaction writes or decides ([`Influence`]), such as a
//!   read of what an increment then adds to;
//! - that locks its rows itself, and waits for those that others have locked (no `SKIP LOCKED`).
//!   Against inserts that helps only if it names a key, so that a
//!   unique key refuses the second row, and in MySQL at repeatable read, where it locks the gaps;
//! - of a row that another query before it has locked, which then stays before it.
//!
//! A deletion, or an update by a condition that names no key, is such a read, if the transaction
//! also inserts into the table, or assigns by another query a column that is read: behind a wait
//! for a row it does not find the rows that the other transaction has added meanwhile. (An insert
//! of the same key then fails.) MySQL at repeatable read finds them, but there each of the two may
//! lock the gap into which the other one inserts, which is a deadlock.
//!
//! PostgreSQL's repeatable read needs no such order: the update of a row fails that another
//! transaction has changed since the snapshot. In MySQL and MariaDB the first plain read takes the
//! snapshot of all later ones, so that the query stays before that one as well.
//!
//! **Safe because** each read that a write depends on then sees, as in the source, what every
//! transaction has committed that held one of the locks before. A transaction that writes nothing
//! of what it reads may find a state in which another one has committed or not, as two queries of
//! the source may as well.

mod influence;

use std::{
    cell::OnceCell,
    collections::{BTreeMap, BTreeSet},
};

use self::influence::Influence;
use super::{
    Context, Found, Isolation, Rule,
    same_row::{Call, calls, is_only_text, is_passed, is_same_row, locks},
};
use crate::{
    api::Server,
    schema::Table,
    solve::UnitIndex,
    sql::{self, Columns, Query, QueryKind, TableAccess},
    units::UnitQuery,
};

pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    if !applies(context) {
        return;
    }
    let units = &context.units.units;
    let locking: Vec<UnitIndex> = (0..units.len())
        .filter(|&unit| units[unit].queries().any(|one| waits(context, one)))
        .collect();
    let Some(&first) = locking.first() else { return };
    let written = written(context);
    let (influence, calls) = (OnceCell::new(), OnceCell::new());
    for (later, unit) in units.iter().enumerate().skip(first + 1) {
        for query in unit.queries() {
            let dangers = dangers(context, &written, query);
            let influence = || influence.get_or_init(|| Influence::of(context));
            if dangers.is_empty()
                || !changes_rows(&query.query) && !influence().is_of(context, later)
            {
                continue;
            }
            let calls = calls.get_or_init(|| self::calls(context));
            for danger in dangers {
                let keeper = keeper(context, calls, query, &danger.table);
                let stays = |first: &UnitIndex| keeper.is_none_or(|keeper| keeper == *first);
                let earlier = locking.iter().copied().take_while(|&one| one < later);
                keep_before(context, earlier.filter(stays), later, &danger, found);
            }
        }
    }
}

/// Keeps units that lock rows before a later one with a read, and before each one in between that
/// may take the snapshot.
fn keep_before(
    context: &Context<'_, '_, '_>,
    locking: impl Iterator<Item = UnitIndex>,
    later: UnitIndex,
    danger: &Danger,
    found: &mut Found,
) {
    for first in locking {
        for reader in snapshots(context, first, later).chain([later]) {
            found.before(first, reader, Rule::LostUpdate, danger.reason());
        }
    }
}

fn applies(context: &Context<'_, '_, '_>) -> bool {
    let fails = context.server == Server::Postgresql;
    !context.relaxed_reads
        && match context.isolation {
            Isolation::ReadCommitted => true,
            Isolation::RepeatableRead => !fails,
            Isolation::Serializable => false,
        }
}

/// Returns true if plain reads see the state of the first plain read.
fn has_snapshot(context: &Context<'_, '_, '_>) -> bool {
    context.server == Server::Mysql && context.isolation == Isolation::RepeatableRead
}

/// Returns the units between two others that may take the snapshot.
fn snapshots(
    context: &Context<'_, '_, '_>,
    first: UnitIndex,
    later: UnitIndex,
) -> impl Iterator<Item = UnitIndex> {
    (first + 1..later).filter(move |&unit| has_snapshot(context) && reads_plainly(context, unit))
}

fn reads_plainly(context: &Context<'_, '_, '_>, unit: UnitIndex) -> bool {
    context.units.units[unit].queries().any(|query| query.query.kind == QueryKind::Read)
}

/// Returns true if a query may wait for a lock of the same query of another process. An insert of
/// a row whose keys the server numbers waits for none.
fn waits(context: &Context<'_, '_, '_>, query: &UnitQuery) -> bool {
    let is_numbered = |table: &Table, column: &String, access: &TableAccess| {
        let numbered = table.columns.iter().any(|one| one.name == *column && one.numbered);
        numbered && !access.equal.contains_key(column)
    };
    let may_meet = |table: &Table, access: &TableAccess| {
        table.keys().any(|key| !key.columns.iter().any(|one| is_numbered(table, one, access)))
    };
    let waits = |(name, access): (&String, &TableAccess)| {
        let schema = context.schema;
        let met = || schema.family_tables(name).iter().any(|table| may_meet(table, access));
        access.deletes
            || access.locks
            || !access.writes.is_empty()
            || access.inserts && (schema.is_view(name) || met())
    };
    query.query.kind == QueryKind::Write && query.query.tables.iter().any(waits)
}

/// Returns true if a query changes rows, and does not only lock them.
fn changes_rows(query: &Query) -> bool {
    query.kind == QueryKind::Write && query.tables.values().any(changes)
}

fn changes(access: &TableAccess) -> bool {
    access.inserts || access.deletes || !access.writes.is_empty()
}

/// The changes of a table by all queries of a transaction.
#[derive(Default)]
struct Changes {
    inserts: bool,
    deletes: bool,
    columns: Columns,
}

impl Changes {
    fn add(&mut self, access: &TableAccess) {
        self.inserts |= access.inserts;
        self.deletes |= access.deletes;
        match &access.writes {
            Columns::All => self.columns = Columns::All,
            Columns::Some(columns) => columns.iter().for_each(|one| self.columns.add(one)),
        }
    }
}

/// Returns the changes of each table. A unit of which only the nodes are known stands for all code
/// around others.
fn written(context: &Context<'_, '_, '_>) -> BTreeMap<String, Changes> {
    let (flow, schema) = (context.flow, context.schema);
    let mut found: BTreeMap<String, Changes> = BTreeMap::new();
    let mut add = |query: &Query| {
        let tables = query.tables.iter().filter(|(_, access)| changes(access));
        tables.for_each(|(name, access)| found.entry(name.clone()).or_default().add(access));
    };
    for unit in &context.units.units {
        unit.queries().for_each(|query| add(&query.query));
        if unit.queries().next().is_some() {
            continue;
        }
        for node in unit.nodes() {
            let calls = flow.effects[node].queries.iter();
            let texts = calls.flat_map(|call| flow.sql_of(call, node).unwrap_or_default());
            let queries = texts.filter_map(|one| sql::analyze(&one, context.server, schema).ok());
            queries.for_each(|query| add(&query));
        }
    }
    found
}

/// A read of a table that the transaction writes.
struct Danger {
    table: String,
    /// True if the read can lock what it reads.
    locks_help: bool,
}

impl Danger {
    fn reason(&self) -> String {
        let remedy = match self.locks_help {
            true => "read it FOR UPDATE, or use serializable or --relaxed-reads",
            false => "use serializable, or --relaxed-reads if no lock protects it",
        };
        format!(
            "the lock may keep others from writing `{}` between this read and what depends on it; \
             {remedy}",
            self.table
        )
    }
}

/// Returns the tables of which a query reads rows that others may write meanwhile.
fn dangers(
    context: &Context<'_, '_, '_>,
    written: &BTreeMap<String, Changes>,
    query: &UnitQuery,
) -> Vec<Danger> {
    let schema = context.schema;
    let only_locks = query.query.kind == QueryKind::Write && !changes_rows(&query.query);
    let mut found = Vec::new();
    for (name, access) in &query.query.tables {
        let tables = schema.base_tables(name);
        let is_key = schema.is_key(name, &access.equal.keys().cloned().collect());
        if changes(access) && access.occurrences < 2 {
            if (!is_key || access.deletes) && misses_rows(context, query, &tables, access) {
                found.push(Danger { table: name.clone(), locks_help: false });
            }
            continue;
        }
        let is_locked = only_locks && access.locks && !access.skips_locked;
        let is_danger = |(other, write): &(&String, &Changes)| {
            let others = schema.base_tables(other);
            let by_view = !tables.contains(name) || !others.contains(*other);
            let overwrites = write.deletes || !write.columns.is_empty() && by_view;
            !tables.is_disjoint(&others)
                && (write.inserts && !(is_locked && (is_key || has_snapshot(context)))
                    || (overwrites || access.reads.overlap(&write.columns)) && !is_locked)
        };
        if let Some((_, write)) = written.iter().find(is_danger) {
            found.push(Danger { table: name.clone(), locks_help: !write.inserts || is_key });
        }
    }
    found
}

/// Returns true if an update or a deletion may miss rows which the same
/// transaction of another process has added to those of its condition.
fn misses_rows(
    context: &Context<'_, '_, '_>,
    query: &UnitQuery,
    tables: &BTreeSet<String>,
    access: &TableAccess,
) -> bool {
    if !access.deletes && access.writes.is_empty() {
        return false;
    }
    let all = context.units.units.iter().flat_map(|unit| unit.queries());
    let others = all.filter(|other| !std::ptr::eq(*other, query));
    let mut adding = others.flat_map(|other| &other.query.tables).filter(|(name, other)| {
        let adds = other.inserts || access.reads.overlap(&other.writes);
        adds && !context.schema.base_tables(name).is_disjoint(tables)
    });
    adding.next().is_some()
}

/// Returns the unit that has locked the row which a query reads: the first that reads it with a
/// lock, or else the last that updates it.
fn keeper(
    context: &Context<'_, '_, '_>,
    calls: &[Call<'_, '_>],
    query: &UnitQuery,
    table: &str,
) -> Option<UnitIndex> {
    let at = calls.iter().position(|call| std::ptr::eq(call.query, query))?;
    let read = &calls[at];
    let wanted = &query.query.tables.get(table)?.equal;
    let keeps = |call: &&Call<'_, '_>| {
        let named = call.query.query.tables.get(table);
        locks(call, table)
            && named.is_some_and(|one| one.equal.keys().all(|column| wanted.contains_key(column)))
            && is_only_text(calls, call)
            && is_same_row(context, table, call, read)
            && is_passed(context, call.node, read.node)
    };
    let mut locked = calls[..at].iter().filter(|call| !changes_rows(&call.query.query));
    let found = locked.find(keeps).or_else(|| calls[..at].iter().rfind(keeps))?;
    let unit = context.units.of_node(found.node)?;
    let is_late = has_snapshot(context) && (0..unit).any(|one| reads_plainly(context, one));
    (!is_late).then_some(unit)
}
