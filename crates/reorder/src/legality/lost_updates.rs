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
//!   assigns no column that is read. Its triggers, rules, actions of foreign keys and functions
//!   count ([`written`]), and what is not known may write every table;
//! - of which nothing depends that the transaction writes or decides ([`Influence`]), such as a
//!   read of what an increment then adds to;
//! - that holds its rows itself (`FOR UPDATE`), in each place in which the query names the table,
//!   and waits for those that others have locked. It does not hold the rows that come to those of
//!   its condition later: the transaction must insert none of them (of two that find no row, the
//!   second one could not insert it), and assign none of the columns by which it chooses, other
//!   than those of a key. In MySQL at repeatable read, it locks the gaps. `FOR SHARE` is enough for
//!   rows that are not updated: two transactions that both hold a row would wait for each other to
//!   write it;
//! - of a row that another query before it has surely locked, which then stays before it
//!   ([`keeper`]).
//!
//! A trigger, rule or policy that reads what the transaction writes is such a read of the query
//! that starts it.
//!
//! A query that does not wait for locked rows (`NOWAIT`, `SKIP LOCKED`) stays behind each lock,
//! whatever is written: before it, it meets rows that another transaction holds.
//!
//! A deletion, or an update by a condition that names no key, is such a read, if the transaction
//! also inserts into the table, or assigns a column by which it chooses, be it itself, or if a
//! trigger or the like changes the table: behind a wait for a row it does not find the rows that
//! the other transaction has added meanwhile. So is an update by a key whose row the transaction
//! may insert, or with a further condition on a column that another query assigns, or that it
//! assigns itself if the program does not ask for the number of rows: if the condition fails, it
//! holds no lock, and the transaction goes on. MySQL at repeatable read finds them, but there each
//! of the two may lock the gap into which the other one inserts, which is a deadlock.
//!
//! PostgreSQL's repeatable read needs no such order: the update of a row fails that another
//! transaction has changed since the snapshot. In MySQL and MariaDB the first plain read takes the
//! snapshot of all later ones, so that the query stays before that one as well.
//!
//! **Safe because** each read that a write depends on then sees, as in the source, what every
//! transaction has committed that held one of the locks before. A transaction that writes nothing
//! of what it reads may find a state in which another one has committed or not, as two queries of
//! the source may as well.

mod dangers;
mod influence;
mod keeper;
mod written;

use std::cell::OnceCell;

use self::{
    dangers::{Danger, dangers},
    influence::Influence,
    keeper::keeper,
    written::{Written, written},
};
use super::{
    Context, Found, Isolation, Rule, conversions, read_order::with_results_read, same_row::calls,
};
use crate::{
    api::Server,
    schema::{Table, Tables},
    solve::UnitIndex,
    sql::{Query, QueryKind, TableAccess},
    units::UnitQuery,
};

pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    if context.relaxed_reads {
        return;
    }
    let units = &context.units.units;
    let locking: Vec<UnitIndex> = (0..units.len())
        .filter(|&unit| units[unit].queries().any(|one| waits(context, one)))
        .collect();
    let Some(&first) = locking.first() else { return };
    let written = written(context);
    let counted = with_results_read(context);
    let (influence, calls) = (OnceCell::new(), OnceCell::new());
    for (later, unit) in units.iter().enumerate().skip(first + 1) {
        for query in unit.queries() {
            let influence = || influence.get_or_init(|| Influence::of(context));
            let is_counted = counted.contains(&later);
            for danger in dangers(context, &written, query, is_counted) {
                if danger.needs_influence()
                    && !changes_rows(&query.query)
                    && !influence().is_of(context, later)
                {
                    continue;
                }
                let calls = calls.get_or_init(|| self::calls(context));
                let keeper = keeper(context, calls, &written, query, &danger);
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

/// Returns true if a read may see a state without the changes of a transaction that has held a lock
/// for which this one has waited.
fn may_be_old(context: &Context<'_, '_, '_>) -> bool {
    match context.isolation {
        Isolation::ReadCommitted => true,
        Isolation::RepeatableRead => context.server != Server::Postgresql,
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

/// Returns true if a query may wait for a lock of the same transaction of another process. An
/// insert of a row whose keys the server numbers waits for none, if nothing else happens then (a
/// trigger may lock any row), and if no other query locks a parent of the row or, in MySQL, a gap
/// in the table.
fn waits(context: &Context<'_, '_, '_>, query: &UnitQuery) -> bool {
    let may_meet = |table: &Table, access: &TableAccess| {
        table.keys().any(|key| !key.columns.iter().any(|one| access.gets_number(table, one)))
    };
    let waits = |(name, access): (&String, &TableAccess)| {
        let schema = context.schema;
        let acts = || {
            let mut all = schema.consequences_of_access(name, access).into_iter();
            all.any(|tables| tables != Tables::none())
        };
        let met = || schema.family_tables(name).iter().any(|table| may_meet(table, access));
        access.deletes
            || access.locks
            || !access.writes.is_empty()
            || access.inserts
                && (schema.is_view(name) || met() || acts() || meets_locks(context, query, name))
    };
    query.query.kind == QueryKind::Write && query.query.tables.iter().any(waits)
}

/// Returns true if another query of the transaction locks a parent of the rows that one inserts
/// into a table, or in MySQL rows of the table that no key names, and so the gaps between them.
fn meets_locks(context: &Context<'_, '_, '_>, query: &UnitQuery, name: &str) -> bool {
    let schema = context.schema;
    let keys = schema.family_tables(name).into_iter().flat_map(|table| &table.foreign_keys);
    let parents: Vec<&String> = keys.map(|key| &key.table).collect();
    let locks_gap = |(table, access): (&String, &TableAccess)| {
        let finds = access.locks || access.deletes || !access.writes.is_empty() && !access.inserts;
        let columns = access.equal.keys().cloned().collect();
        context.server == Server::Mysql
            && finds
            && !schema.is_key(table, &columns)
            && !schema.base_tables(table).is_disjoint(&schema.base_tables(name))
    };
    let all = context.units.units.iter().flat_map(|unit| unit.queries());
    let mut others = all.filter(|other| !std::ptr::eq(*other, query));
    others.any(|other| {
        let locked = conversions::locked_exclusively(context, other);
        parents.iter().any(|parent| !schema.base_tables(parent).is_disjoint(&locked))
            || other.query.tables.iter().any(locks_gap)
    })
}

/// Returns true if a query changes rows, and does not only lock them.
fn changes_rows(query: &Query) -> bool {
    query.kind == QueryKind::Write && query.tables.values().any(TableAccess::changes)
}
