//! Code and SQL that the tool does not understand stay in their place, and nothing moves across
//! them. The queries before one that may ask for what they have left on the connection (an insert
//! id, a number of rows, warnings, a result that is not fetched yet) keep their order:
//! 1. In MySQL and MariaDB all of them, and so with an interface that a model of the user
//!    describes.
//! 2. In SQLite the writes. It keeps what they have left over the commit as well: there code counts
//!    that stands behind the end of the transaction, up to a `return`.
//! 3. PostgreSQL and libpq leave nothing that depends on the order of queries which succeed, but
//!    numbers of sequences (rule `functions`).
//!
//! Code behind a query of its own unit that has failed finds what that one has left. In all cases
//! the code reads the error of the connection, which is a matter of the rules on values.
//!
//! **Safe because** every unit before a barrier is executed before it, and every unit behind it
//! after it, as in the source; and if the queries before it run in the order of the source, the
//! connection and the session are in the state of the source.

use super::{Context, Found, Rule};
use crate::{
    api::Server,
    flow::{access::AccessKind, graph::NodeIndex, place::Root},
    ir::StatementKind,
    solve::UnitIndex,
    sql::QueryKind,
    units::{Asks, Barrier},
};

pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    for (first, later) in context.pairs() {
        let units = &context.units.units;
        let reason = units[first].barriers().next().or_else(|| units[later].barriers().next());
        if let Some(reason) = reason {
            found.before(first, later, Rule::Barrier, reason.to_string());
        }
    }
    keep_state(context, found);
}

/// Keeps the order of the queries before the last unit that may ask for what they have left.
fn keep_state(context: &Context<'_, '_, '_>, found: &mut Found) {
    let Some((last, reason)) = asking(context) else { return };
    let leaving: Vec<UnitIndex> = (0..last).filter(|&unit| leaves(context, unit)).collect();
    for (at, &first) in leaving.iter().enumerate() {
        for &later in &leaving[at + 1..] {
            let reason = format!("it may ask for what the last query before it has left: {reason}");
            found.before(first, later, Rule::Barrier, reason);
        }
    }
}

/// Returns why code behind a unit may ask for what its queries have left, if it may.
pub(super) fn asked_behind(context: &Context<'_, '_, '_>, unit: UnitIndex) -> Option<String> {
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
