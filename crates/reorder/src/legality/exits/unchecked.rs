//! Queries whose failure no exit reports.
//!
//! An exit reports it if no path goes on behind the unit though the query has failed: a helper that
//! returns the same number for a failure and a success checks nothing, nor does a loop that drops
//! the status of one of its queries.
//!
//! Where a failed query makes all later ones fail (PostgreSQL), a check of one query also checks
//! those before it that have no check of their own. They keep their order with it; and so do
//! queries without a check if the program
//! - keeps the status of one of them, or passes it on;
//! - uses what one of them returned: after a failure that is nothing, and the value of a column a
//!   null pointer;
//! - leaves the transaction depending on the number that one of them returned;
//! - asks the connection about one of them: for a message, or for a number of rows.
//!
//! In SQLite a query that fails leaves the number of the last row and of changed rows as they were.
//! A question for them behind a query without a check keeps its order with all other writes.
//!
//! In MySQL, MariaDB and SQLite some failures (a deadlock, a full disk) roll the transaction back
//! while the program goes on: what stood before the query is lost, and what stands behind it is
//! committed by itself. If the transaction checks a write, a query without a check that may fail so
//! keeps its order with all writes. If a later unit checks the query, writes keep out of what
//! stands between the two. A transaction that checks no write keeps none of this order: it reports
//! nothing that could be wrong.
//!
//! **Safe because** a program that does not look at a query does not see whether it has failed, and
//! one that looks finds what the same queries before it have left. A failure that rolls back undoes
//! the same writes as in the source, and leaves the same ones to be committed.

use std::collections::BTreeSet;

use super::{
    super::{Context, Found, Isolation, Rule},
    first_report,
};
use crate::{
    api::Server,
    flow::{
        access::AccessKind,
        graph::NodeKind,
        place::{Place, Root},
        reaching::DefinitionIndex,
    },
    ir::{Callee, ExpressionKind},
    solve::{Outside, UnitIndex},
    sql::QueryKind,
};

pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    let units = 0..context.units.units.len();
    let leaves = |&unit: &UnitIndex| {
        context.units.units[unit].exits().next().is_some()
            && !context.units.hides_failure(context.flow, unit)
    };
    let leaving: BTreeSet<UnitIndex> = units.clone().filter(leaves).collect();
    let checking: BTreeSet<UnitIndex> =
        leaving.iter().copied().filter(|&unit| asks_status(context, unit)).collect();
    let is_unchecked = |unit: &UnitIndex| {
        context.units.units[*unit].queries().next().is_some() && !checking.contains(unit)
    };
    let unchecked: BTreeSet<UnitIndex> = units.filter(is_unchecked).collect();
    if context.flow.failure_aborts() {
        let deciding = deciding(context, &unchecked);
        let shows = |unit: UnitIndex| {
            checking.contains(&unit)
                || keeps_status(context, unit)
                || unchecked.contains(&unit) && uses_result(context, unit)
                || deciding.contains(&unit)
                || asks(context, unit, &[Root::Last, Root::LastWrite], &unchecked)
        };
        for (first, later) in context.pairs() {
            let (one, other) = (unchecked.contains(&first), unchecked.contains(&later));
            if one && shows(later) || other && shows(first) {
                let reason = "later code sees that a query without a check has failed".to_string();
                found.before(first, later, Rule::Exit, reason);
            }
        }
        first_report::find(context, &unchecked, &checking, found);
    }
    if context.server != Server::Postgresql && !context.flow.failure_aborts() {
        keep_rolled_back(context, &leaving, found);
    }
    if context.server == Server::Sqlite {
        let asks = |unit: UnitIndex| asks(context, unit, &[Root::LastWrite], &unchecked);
        for (first, later) in context.pairs() {
            if asks(later) && writes_last(context, first)
                || asks(first) && writes_last(context, later)
            {
                let reason = "if a query without a check fails, the program asks for what an \
                              earlier one left"
                    .to_string();
                found.before(first, later, Rule::Exit, reason);
            }
        }
    }
}

/// Keeps the writes that a failure of a query without a check undoes, and those that it leaves.
/// `leaving` are the units with an exit, behind which no path goes on though a query of the unit
/// has failed.
fn keep_rolled_back(
    context: &Context<'_, '_, '_>,
    leaving: &BTreeSet<UnitIndex>,
    found: &mut Found,
) {
    let all = &context.units.units;
    let writes = |unit: UnitIndex| {
        let mut tables = all[unit].queries().flat_map(|one| one.query.tables.values());
        tables.any(|one| one.changes())
    };
    let locks = |unit: UnitIndex| {
        let is_locking =
            |kind| kind == QueryKind::Write || context.isolation == Isolation::Serializable;
        context.server == Server::Mysql && all[unit].queries().any(|one| is_locking(one.query.kind))
    };
    let is_checked = |unit: UnitIndex| {
        let leaves_on_failure = || all[unit].exits().any(|exit| exit.on_failure);
        leaving.contains(&unit) && (asks_status(context, unit) || leaves_on_failure())
    };
    let check_of: Vec<Option<UnitIndex>> = (0..all.len())
        .map(|unit| if is_checked(unit) { Some(unit) } else { late_check(context, unit) })
        .collect();
    if !(0..all.len()).any(|unit| writes(unit) && check_of[unit].is_some()) {
        return;
    }
    let reason = || {
        "if a query without a check fails, the server may roll back what stands before it, and \
         the program goes on"
            .to_string()
    };
    let may_fail = |unit: UnitIndex| locks(unit) || writes(unit);
    let may_roll_back = |unit: UnitIndex| check_of[unit].is_none() && may_fail(unit);
    for (first, later) in context.pairs() {
        if may_roll_back(first) && writes(later) || writes(first) && may_roll_back(later) {
            found.before(first, later, Rule::Exit, reason());
        }
    }
    for query in (0..all.len()).filter(|&unit| may_fail(unit)) {
        let Some(check) = check_of[query].filter(|&check| check != query) else { continue };
        found.before(query, check, Rule::Exit, reason());
        for write in (0..all.len()).filter(|&unit| writes(unit) && unit != query && unit != check) {
            if query < write && write < check {
                found.before(query, write, Rule::Exit, reason());
                found.before(write, check, Rule::Exit, reason());
            } else {
                let outside = Outside { unit: write, from: query, to: check };
                found.outside(outside, Rule::Exit, reason());
            }
        }
    }
}

/// Returns the first unit behind which the query of an earlier unit has certainly succeeded, though
/// other queries stand between them.
fn late_check(context: &Context<'_, '_, '_>, query: UnitIndex) -> Option<UnitIndex> {
    let all = &context.units.units;
    let checks = |unit: &UnitIndex| {
        let mut nodes = all[*unit].pieces.iter().flat_map(|piece| &piece.checks);
        nodes.any(|&node| context.units.of_node(node) == Some(query))
    };
    (query + 1..all.len()).find(checks)
}

/// Returns true if a unit asks whether a query has failed.
fn asks_status(context: &Context<'_, '_, '_>, unit: UnitIndex) -> bool {
    context.units.units[unit].nodes().any(|node| context.flow.effects[node].status)
}

/// Returns true if a unit uses a query's status other than by calling for it.
fn keeps_status(context: &Context<'_, '_, '_>, unit: UnitIndex) -> bool {
    let flow = context.flow;
    context.units.units[unit].nodes().any(|node| {
        let point = &flow.graph.nodes[node];
        // The call of a function that is given a status uses it: of `printf`, say.
        let is_call = match point.kind {
            NodeKind::Evaluate(one) => match &one.kind {
                ExpressionKind::Call { callee, .. } => {
                    flow.is_status(callee) || is_own(context, callee)
                }
                _ => false,
            },
            _ => false,
        };
        let is_condition = point.successors.len() > 1;
        flow.effects[node].status && (!is_call || is_condition)
    })
}

/// Returns true if a unit reads what a query returned, other than to free it.
fn uses_result(context: &Context<'_, '_, '_>, unit: UnitIndex) -> bool {
    let effects = &context.flow.effects;
    let is_returned = |place: &Place| match place.root {
        Root::Object(maker) => !effects[maker].queries.is_empty(),
        _ => false,
    };
    context.units.units[unit].nodes().any(|node| {
        let mut accesses = effects[node].accesses.iter().filter(|one| is_returned(&one.place));
        accesses.clone().any(|access| access.kind == AccessKind::Read)
            && accesses.all(|access| access.kind != AccessKind::End)
    })
}

/// Returns the units among the given ones whose query returns a number on which an exit depends.
fn deciding(context: &Context<'_, '_, '_>, among: &BTreeSet<UnitIndex>) -> BTreeSet<UnitIndex> {
    let flow = context.flow;
    let asked = |definition: &DefinitionIndex| {
        let node = flow.definitions.all[*definition].node;
        let unit = context.units.of_node(node).filter(|one| among.contains(one))?;
        (!flow.effects[node].queries.is_empty()).then_some(unit)
    };
    let mut found: BTreeSet<UnitIndex> =
        among.iter().copied().filter(|&unit| super::answers(context, unit)).collect();
    for unit in 0..context.units.units.len() {
        let tested = super::tested(context, unit);
        found.extend(tested.iter().flat_map(|(_, from)| from.iter().filter_map(asked)));
    }
    found
}

/// Returns true for a function of the program.
fn is_own(context: &Context<'_, '_, '_>, callee: &Callee) -> bool {
    matches!(callee, Callee::Function(name) if context.program.function(name).is_some())
}

/// Returns true if a unit reads what a query of one of the given units may have left on the
/// connection.
fn asks(
    context: &Context<'_, '_, '_>,
    unit: UnitIndex,
    roots: &[Root],
    by: &BTreeSet<UnitIndex>,
) -> bool {
    let flow = context.flow;
    context.units.units[unit].nodes().any(|node| {
        // Another query reads it only as far as the server does.
        flow.effects[node].queries.is_empty()
            && flow.exposed_reads(node).into_iter().any(|place| {
                let reaching = || flow.reaching(node, place).into_iter();
                let units = || reaching().map(|one| flow.definitions.all[one].node);
                roots.contains(&place.root)
                    && units()
                        .filter_map(|one| context.units.of_node(one))
                        .any(|one| by.contains(&one))
            })
    })
}

/// Returns true if a unit changes what a write leaves on the connection.
fn writes_last(context: &Context<'_, '_, '_>, unit: UnitIndex) -> bool {
    context.units.units[unit].nodes().any(|node| {
        let mut accesses = context.flow.effects[node].accesses.iter();
        accesses.any(|one| one.kind != AccessKind::Read && one.place.root == Root::LastWrite)
    })
}
