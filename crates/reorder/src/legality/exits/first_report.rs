//! The first report of a failure that no exit of its own reports.
//!
//! Where a failed query makes all later ones fail (PostgreSQL), the first query with a check behind
//! one without a check reports the failure of both. If the exits of the queries behind it report
//! other things than the first one, it stays the first of them.
//!
//! **Safe because** exits that end alike return the same: they jump to the same place, or return or
//! throw the same expression, and the numbers that are read there and behind have the same values.
//! What differs is at most a message.

use std::collections::BTreeSet;

use super::super::{Context, Found, Rule};
use crate::{
    flow::{
        graph::{NodeIndex, NodeKind},
        place::{Place, Root, type_of},
    },
    ir::{Expression, ExpressionKind, Type},
    solve::UnitIndex,
    units::Exit,
};

/// Demands the order of reports. `unchecked` are the units with a query without a check, `checking`
/// those with an exit for a failure.
pub(super) fn find(
    context: &Context<'_, '_, '_>,
    unchecked: &BTreeSet<UnitIndex>,
    checking: &BTreeSet<UnitIndex>,
    found: &mut Found,
) {
    let checking: Vec<UnitIndex> =
        checking.iter().copied().filter(|&unit| !context.units.units[unit].is_barrier()).collect();
    let firsts: BTreeSet<usize> = unchecked
        .iter()
        .map(|unit| checking.partition_point(|other| other <= unit))
        .filter(|&at| at < checking.len())
        .collect();
    for first in firsts {
        for &later in &checking[first + 1..] {
            if !end_alike(context, checking[first], later) {
                let reason = "it is the first to report that a query without a check has failed";
                found.before(checking[first], later, Rule::Exit, reason.to_string());
            }
        }
    }
}

/// Returns true if all exits of two units end alike.
fn end_alike(context: &Context<'_, '_, '_>, one: UnitIndex, other: UnitIndex) -> bool {
    let exits = |unit: UnitIndex| context.units.units[unit].exits();
    exits(one).all(|first| exits(other).all(|second| is_alike(context, first, second)))
}

fn is_alike(context: &Context<'_, '_, '_>, one: &Exit, other: &Exit) -> bool {
    let nodes = &context.flow.graph.nodes;
    let ends = match (&nodes[one.node].kind, &nodes[other.node].kind) {
        (NodeKind::Return(one), NodeKind::Return(other))
        | (NodeKind::Throw(one), NodeKind::Throw(other)) => is_same(context, *one, *other),
        _ => nodes[one.node].successors == nodes[other.node].successors,
    };
    let numbers = |exit: &Exit| {
        let read = context.flow.exposed_reads(exit.node).into_iter().chain(&exit.reads);
        read.filter(|place| is_number(context, place)).cloned().collect::<BTreeSet<Place>>()
    };
    let values = |node: NodeIndex, place: &Place| context.flow.reaching(node, place);
    let read = &numbers(one) | &numbers(other);
    ends && read.iter().all(|place| values(one.node, place) == values(other.node, place))
}

/// Returns true if two values are written alike. One of a macro has no text.
fn is_same(
    context: &Context<'_, '_, '_>,
    one: Option<&Expression>,
    other: Option<&Expression>,
) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return one.is_none() && other.is_none() };
    match (&one.kind, &other.kind, one.range, other.range) {
        (ExpressionKind::Constant(one), ExpressionKind::Constant(other), ..) => one == other,
        (.., Some(one), Some(other)) => one.of(context.text) == other.of(context.text),
        _ => false,
    }
}

/// Returns true unless a place is known to be no number: a result that is freed, or the text of an
/// error.
fn is_number(context: &Context<'_, '_, '_>, place: &Place) -> bool {
    let is_pointer = matches!(type_of(context.program, place), Some(Type::Pointer { .. }));
    let is_of_server = matches!(place.root, Root::Last | Root::LastWrite | Root::Outside);
    !is_pointer && !is_of_server && !place.root.is_object()
}
