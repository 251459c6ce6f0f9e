//! Code and SQL that are not understood may ask for what queries have left on the connection: an
//! insert id, a number of rows, warnings, a result that is not fetched yet. So some queries before
//! them keep their order.
//! 1. In MySQL and MariaDB, the last query before the question stays the last. If it does not run
//!    on each path to the question, or names no table and so may leave the warnings as they were,
//!    the queries before it keep their order as well, up to one that does. An insert, or a query
//!    that calls `LAST_INSERT_ID`, keeps its order with all writes: it leaves an id, which the
//!    client library forgets at the next write. Queries that find rows keep their order with each
//!    other: `FOUND_ROWS` gives the number of the last of them.
//! 2. With an interface that a model of the user describes, all queries keep their order.
//! 3. In SQLite the writes. It keeps what they have left over the commit as well: there code counts
//!    that stands behind the end of the transaction, up to a `return`.
//! 4. PostgreSQL and libpq leave nothing that depends on the order of queries which succeed, but
//!    numbers of sequences (rule `functions`).
//!
//! Code behind a query of its own unit that has failed finds what that one has left. In all cases
//! the code reads the error of the connection, which is a matter of the rules on values.
//!
//! **Safe because** each thing that the question may read was left by the last query of its kind,
//! which is the last one of its kind in the new order too.

use super::super::{
    Context, Found, Rule,
    same_row::{self, Call},
};
use crate::{
    api::Server,
    flow::{access::AccessKind, graph::NodeIndex, place::Root},
    ir::StatementKind,
    schema::Tables,
    solve::UnitIndex,
    sql::QueryKind,
    units::{Asks, Barrier, UnitQuery},
};

/// Keeps the order of the queries before units that may ask for what these have left.
pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    let calls = same_row::calls(context);
    for asking in 0..end_of_questions(context) {
        let Some(reason) = question(context, asking) else { continue };
        let reason = format!("it may ask for what the last query before it has left: {reason}");
        let leaving: Vec<UnitIndex> = (0..asking).filter(|&unit| leaves(context, unit)).collect();
        let lasts = last_units(context, &calls, &leaving, asking);
        for (at, &later) in leaving.iter().enumerate() {
            for &first in &leaving[..at] {
                if lasts.contains(&later) || leave_alike(context, first, later) {
                    found.before(first, later, Rule::Barrier, reason.clone());
                }
            }
        }
    }
}

/// Returns those of the units whose queries may be the last ones before a question.
fn last_units<'l>(
    context: &Context<'_, '_, '_>,
    calls: &[Call<'_, '_>],
    leaving: &'l [UnitIndex],
    asking: UnitIndex,
) -> &'l [UnitIndex] {
    if context.server != Server::Mysql || context.flow.has_own_interface() {
        return leaving;
    }
    let node = context.units.units[asking].nodes().next();
    let runs_before = |unit: UnitIndex| {
        let mut own = calls.iter().filter(|call| context.units.of_node(call.node) == Some(unit));
        own.any(|call| {
            !call.query.query.tables.is_empty()
                && node.is_some_and(|node| same_row::runs_before(context, call, node))
        })
    };
    let first = leaving.iter().rposition(|&unit| runs_before(unit));
    &leaving[first.unwrap_or(0)..]
}

/// Returns true if two units leave something that only queries like theirs change.
fn leave_alike(context: &Context<'_, '_, '_>, first: UnitIndex, later: UnitIndex) -> bool {
    let any = |unit: UnitIndex, is: &dyn Fn(&UnitQuery) -> bool| {
        context.units.units[unit].queries().any(is)
    };
    let leaves_id = |query: &UnitQuery| {
        let mut tables = query.query.tables.values();
        tables.any(|access| access.inserts) || query.query.functions.contains("last_insert_id")
    };
    let writes = |query: &UnitQuery| query.query.kind == QueryKind::Write || leaves_id(query);
    let finds = |query: &UnitQuery| finds_rows(context, query);
    any(first, &leaves_id) && any(later, &writes)
        || any(first, &writes) && any(later, &leaves_id)
        || any(first, &finds) && any(later, &finds)
}

/// Returns true if a query finds rows, in a subquery, a function or a trigger too.
fn finds_rows(context: &Context<'_, '_, '_>, query: &UnitQuery) -> bool {
    let reads_by_trigger = |(name, access): (&String, &_)| {
        context.schema.effects_of_access(name, access).reads != Tables::none()
    };
    query.query.observes()
        || !query.query.functions.is_empty()
        || query.query.tables.iter().any(reads_by_trigger)
}

/// Returns why code behind a unit may ask for what its queries have left, if it may.
pub(in super::super) fn asked_behind(
    context: &Context<'_, '_, '_>,
    unit: UnitIndex,
) -> Option<String> {
    let (last, reason) = asking(context)?;
    let asks = || format!("code behind it may ask for what its last query has left: {reason}");
    (unit < last && leaves(context, unit)).then(asks)
}

/// Returns the last unit that may ask for what queries have left, and why it may.
fn asking<'c>(context: &'c Context<'_, '_, '_>) -> Option<(UnitIndex, &'c str)> {
    let units = 0..end_of_questions(context);
    units.rev().find_map(|unit| Some((unit, question(context, unit)?)))
}

/// Returns the unit behind which nothing asks for what the queries of the transaction have left.
fn end_of_questions(context: &Context<'_, '_, '_>) -> UnitIndex {
    let units = &context.units.units;
    let lasts = context.server == Server::Sqlite;
    let ends = |unit: &UnitIndex| {
        let is_return = |kind: &StatementKind| matches!(kind, StatementKind::Return(_));
        units[*unit].pieces.iter().any(|piece| is_return(&piece.statement.kind))
            || !lasts && units[*unit].barriers().any(|one| *one == Barrier::Ends)
    };
    (0..units.len()).find(ends).map_or(units.len(), |end| end + 1)
}

/// Returns why a unit may ask for what earlier queries have left.
fn question<'c>(context: &'c Context<'_, '_, '_>, unit: UnitIndex) -> Option<&'c str> {
    let is_postgresql = context.server == Server::Postgresql;
    let mut asks = context.units.units[unit].pieces.iter().filter_map(|piece| piece.asks.as_ref());
    asks.find_map(|asks| match asks {
        Asks::Code(reason) => {
            (!is_postgresql || context.flow.has_own_interface()).then_some(reason.as_str())
        }
        Asks::Sql(reason) => (!is_postgresql).then_some(reason.as_str()),
    })
}

/// Returns true if a unit changes what such a unit may ask for.
fn leaves(context: &Context<'_, '_, '_>, unit: UnitIndex) -> bool {
    let unit = &context.units.units[unit];
    if context.server == Server::Sqlite && !context.flow.has_own_interface() {
        return unit.queries().any(|query| query.query.kind == QueryKind::Write);
    }
    let writes = |node: NodeIndex| {
        let mut accesses = context.flow.effects[node].accesses.iter();
        accesses.any(|one| {
            matches!(one.place.root, Root::Last | Root::LastWrite) && one.kind != AccessKind::Read
        })
    };
    unit.queries().next().is_some() || unit.continuing_nodes().any(writes)
}
