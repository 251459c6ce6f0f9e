//! Units in which a call that reads the error of the connection finds none, unless a call of the
//! unit itself has left one. Such a read demands no order but that of 3.
//!
//! Between two barriers they are the units from one on, in front of which the connection has no
//! error, if
//! 1. each unit between the barriers leaves none: behind each call that may leave an error stands,
//!    on each path out of the unit that is no exit, a condition whose outcome shows that the call
//!    has succeeded;
//! 2. so does what stands before them, up to the last call that may leave an error;
//! 3. they stay behind the units before them, such as the check of the begin.
//!
//! **Safe because** a query that has succeeded leaves no error, so that the connection has none
//! between any two of these units, in each order. In SQLite a success leaves one of several texts,
//! so no unit is such a unit. A call that only gives back what a query holds fails only if the
//! connection is lost; then all later queries fail as well, and which of two failures is reported
//! may change.

use std::{collections::BTreeSet, ops::Range};

use super::{Context, Found, Rule};
use crate::{
    api::Server,
    flow::{
        access::AccessKind,
        graph::{NodeIndex, NodeKind},
        place::{Place, Root},
    },
    solve::UnitIndex,
    units::exposed,
};

/// Adds that the reads of such units stay behind the units that show that there is no error.
pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    let error = Place::error();
    for (later, behind) in units(context).into_iter().enumerate() {
        let unit = &context.units.units[later];
        let mut reads = unit.pieces.iter().flat_map(|piece| exposed(context.flow, piece));
        let is_of_others = |node: NodeIndex| {
            let left = context.flow.reaching(node, &error);
            let by = left.iter().map(|&one| context.flow.definitions.all[one].node);
            by.map(|node| context.units.of_node(node)).any(|unit| unit != Some(later))
        };
        if reads.any(|(node, place)| *place == error && is_of_others(node)) {
            for first in behind.unwrap_or_default() {
                let reason = "it shows that the connection has no error".to_string();
                found.before(first, later, Rule::ReadAfterWrite, reason);
            }
        }
    }
}

/// Returns, for each unit that is such a unit, the units behind which it stays.
pub(super) fn units(context: &Context<'_, '_, '_>) -> Vec<Option<Range<UnitIndex>>> {
    let units = &context.units.units;
    let mut found = vec![None; units.len()];
    if context.server == Server::Sqlite || !is_read(context) {
        return found;
    }
    let mut begin = 0;
    while begin < units.len() {
        let length = units[begin..].iter().take_while(|unit| !unit.is_barrier()).count();
        let end = begin + length;
        if (begin..end).all(|unit| leaves_no_error(context, unit))
            && let Some(from) = (begin..end).find(|&unit| has_no_error_before(context, unit))
        {
            // The barrier behind them finds none either.
            found[from..units.len().min(end + 1)].fill(Some(begin..from));
        }
        begin = end + 1;
    }
    found
}

/// Returns true if the function reads the error of a connection.
fn is_read(context: &Context<'_, '_, '_>) -> bool {
    let error = Place::error();
    let mut all = context.flow.effects.iter().flat_map(|one| &one.accesses);
    all.any(|one| one.place == error && one.kind == AccessKind::Read)
}

/// Returns true if the connection has no error in front of a unit.
fn has_no_error_before(context: &Context<'_, '_, '_>, unit: UnitIndex) -> bool {
    let (flow, units) = (context.flow, &context.units.units);
    let Some(node) = units[unit..].iter().find_map(|one| one.nodes().next()) else { return true };
    let left = flow.reaching(node, &Place::error());
    let by: Option<Vec<(UnitIndex, NodeIndex)>> = left
        .iter()
        .map(|&one| flow.definitions.all[one].node)
        .map(|node| context.units.of_node(node).map(|unit| (unit, node)))
        .collect();
    let Some(by) = by else { return false };
    // A unit that begins the transaction ends before the check.
    let is_before = |&(earlier, node): &(UnitIndex, NodeIndex)| {
        earlier < unit && is_checked(context, earlier..unit, node)
    };
    // A call that may do anything may leave an error.
    let is_known = |node: NodeIndex| {
        flow.effects[node].barriers.is_empty() && !flow.effects[node].writes_anything
    };
    let first = by.iter().map(|one| one.0).min();
    by.iter().all(is_before)
        && first.is_some_and(|first| {
            units[first..unit].iter().flat_map(|unit| unit.nodes()).all(is_known)
        })
}

/// Returns true if the connection has no error behind a unit that had none before it.
fn leaves_no_error(context: &Context<'_, '_, '_>, unit: UnitIndex) -> bool {
    let leaves = |node: &NodeIndex| {
        let mut accesses = context.flow.effects[*node].accesses.iter();
        accesses.any(|one| one.place.root == Root::Last && one.kind != AccessKind::Read)
    };
    let mut nodes = context.units.units[unit].continuing_nodes().filter(leaves);
    nodes.all(|node| is_checked(context, unit..unit + 1, node))
}

/// Returns true if each path from a node out of some units that is no exit shows that the call of
/// the node has succeeded.
pub(crate) fn is_checked(
    context: &Context<'_, '_, '_>,
    units: Range<UnitIndex>,
    node: NodeIndex,
) -> bool {
    let flow = context.flow;
    let Some(calls) = flow.fallible_calls(node) else { return false };
    let call = match &calls[..] {
        [] => return true,
        [call] => call,
        _ => return false,
    };
    let units = &context.units.units[units];
    let own: BTreeSet<NodeIndex> = units.iter().flat_map(|unit| unit.nodes()).collect();
    let continuing: BTreeSet<NodeIndex> =
        units.iter().flat_map(|unit| unit.continuing_nodes()).collect();
    let (mut open, mut seen) = (flow.graph.nodes[node].successors.clone(), BTreeSet::from([node]));
    while let Some(next) = open.pop() {
        if !own.contains(&next) {
            return false;
        }
        let shows = match flow.graph.nodes[next].kind {
            NodeKind::Outcome { condition, holds, .. } => flow.succeeds(condition, holds, call),
            _ => false,
        };
        if !shows && continuing.contains(&next) && seen.insert(next) {
            open.extend(&flow.graph.nodes[next].successors);
        }
    }
    true
}
