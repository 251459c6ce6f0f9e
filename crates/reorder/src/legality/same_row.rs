//! Queries that name the same row: by a key with equal constants, or with parameters of equal
//! values, as far as the program passes them in an array or formats them into the SQL.

use std::collections::BTreeSet;

use super::Context;
use crate::{
    flow::{
        access::{Connection, QueryCall},
        graph::NodeIndex,
        place::{Place, Root, Step},
        reaching::DefinitionIndex,
    },
    ir::ExpressionKind,
    sql::{Held, QueryKind, TableAccess, Value},
    units::UnitQuery,
};

/// A query with the call that runs it.
pub(crate) struct Call<'c, 'a> {
    pub(crate) query: &'c UnitQuery,
    /// The call, if the node itself has it.
    pub(crate) call: Option<&'c QueryCall<'a>>,
    pub(crate) node: NodeIndex,
    /// True if it certainly runs whenever the node does.
    pub(crate) certain: bool,
    pub(crate) line: usize,
}

/// The answer to the question whether two values are equal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Same {
    Yes,
    Unknown,
    No,
}

/// Returns the queries of a transaction in the order of the source.
pub(crate) fn calls<'c, 'a>(context: &Context<'c, 'a, '_>) -> Vec<Call<'c, 'a>> {
    let flow = context.flow;
    let mut found = Vec::new();
    for unit in &context.units.units {
        for query in unit.queries() {
            let Some(range) = query.range else { continue };
            for node in unit.nodes() {
                let mut calls = flow.effects[node].queries.iter();
                let Some(call) = calls.find(|call| call.expression.range == Some(range)) else {
                    continue;
                };
                // A call in a function that the node calls has arguments of that function.
                let is_own = flow.graph.nodes[node].range.contains(range)
                    && !matches!(call.connection, Connection::Parameter(_));
                let (certain, line) = (call.certain, range.line(context.text));
                found.push(Call { query, call: is_own.then_some(call), node, certain, line });
                break;
            }
        }
    }
    found
}

/// A value: what a pointer leads to, with the writes that may have made it.
type Made = Vec<(Place, Vec<DefinitionIndex>)>;

/// Compares a parameter of one query with a parameter of another.
pub(crate) fn same(
    context: &Context<'_, '_, '_>,
    (one, a): (&Call<'_, '_>, usize),
    (other, b): (&Call<'_, '_>, usize),
) -> Same {
    if let (Some(a), Some(b)) = (written(context, one, a), written(context, other, b))
        && a == b
    {
        return Same::Yes;
    }
    match (made(context, one, a), made(context, other, b)) {
        (Some(a), Some(b)) if a == b => Same::Yes,
        (Some(_), Some(_)) => Same::No,
        _ => Same::Unknown,
    }
}

fn made(context: &Context<'_, '_, '_>, call: &Call<'_, '_>, number: usize) -> Option<Made> {
    let places = places(context, call, number)?;
    let reaching = |place: Place| {
        let definitions = context.flow.reaching(call.node, &place);
        (place, definitions)
    };
    Some(places.into_iter().map(reaching).collect())
}

/// A variable or field whose value a format writes into the SQL: the conversion, the place, and the
/// writes that may have made its value.
type Variable = (String, Place, Vec<DefinitionIndex>);

fn written(context: &Context<'_, '_, '_>, call: &Call<'_, '_>, number: usize) -> Option<Variable> {
    let query = call.call.filter(|query| query.model.parameters.is_none())?;
    let given = context.flow.given(query, call.node, &call.query.text, number)?;
    let [value] = &given.values[..] else { return None };
    if !matches!(value.value.kind, ExpressionKind::Variable(_) | ExpressionKind::Field { .. }) {
        return None;
    }
    let places = context.flow.denoted(value.value, value.node);
    let [place] = &places[..] else { return None };
    if place.root == Root::Unknown || place.path.contains(&Step::Element(None)) {
        return None;
    }
    let reaching = context.flow.reaching(value.node, place);
    Some((value.conversion.clone(), place.clone(), reaching))
}

/// Returns the memory that the pointer to a parameter leads to; `None` if that is not known.
pub(crate) fn places(
    context: &Context<'_, '_, '_>,
    call: &Call<'_, '_>,
    number: usize,
) -> Option<Vec<Place>> {
    context.flow.parameter_places(call.call?, call.node, number)
}

/// Returns true if two queries certainly name one row of a table by a key.
pub(crate) fn is_same_row(
    context: &Context<'_, '_, '_>,
    table: &str,
    one: &Call<'_, '_>,
    other: &Call<'_, '_>,
) -> bool {
    let access = |call: &Call<'_, '_>| call.query.query.tables.get(table).cloned();
    let (Some(a), Some(b)) = (access(one), access(other)) else { return false };
    same_row(context, table, (one, &a), (other, &b)) == Some(Same::Yes)
}

/// Returns whether two accesses name one row by a key; `None` if they do not.
pub(crate) fn same_row(
    context: &Context<'_, '_, '_>,
    table: &str,
    (one, access): (&Call<'_, '_>, &TableAccess),
    (other, other_access): (&Call<'_, '_>, &TableAccess),
) -> Option<Same> {
    let columns: BTreeSet<String> = access
        .equal
        .keys()
        .filter(|name| other_access.equal.contains_key(*name))
        .cloned()
        .collect();
    if !context.schema.is_key(table, &columns) {
        return None;
    }
    let mut whole = Same::Yes;
    for column in &columns {
        let same = match (&access.equal[column], &other_access.equal[column]) {
            (Value::Constant(a), Value::Constant(b)) if a == b => Same::Yes,
            (Value::Parameter(a), Value::Parameter(b)) => same(context, (one, *a), (other, *b)),
            _ => Same::No,
        };
        whole = whole.max(same);
    }
    (whole != Same::No).then_some(whole)
}

/// Returns true if a query locks rows of a table exclusively and waits for them.
pub(crate) fn locks(call: &Call<'_, '_>, table: &str) -> bool {
    let query = &call.query.query;
    let reads = |access: &TableAccess| access.held == Held::Exclusive && !access.skips_locked;
    let access = query.tables.get(table).filter(|_| query.kind == QueryKind::Write);
    access.is_some_and(|one| !one.inserts && (!one.writes.is_empty() || reads(one)))
}

/// Returns true if a call runs no other text than that of its query.
pub(crate) fn is_only_text(calls: &[Call<'_, '_>], call: &Call<'_, '_>) -> bool {
    let is_its = |one: &&Call<'_, '_>| one.node == call.node && one.query.range == call.query.range;
    calls.iter().filter(is_its).count() == 1
}

/// Returns true if every path to a node runs a query before.
pub(crate) fn runs_before(
    context: &Context<'_, '_, '_>,
    call: &Call<'_, '_>,
    to: NodeIndex,
) -> bool {
    if !call.certain {
        return false;
    }
    let nodes = &context.flow.graph.nodes;
    let (mut open, mut seen) = (vec![0], vec![false; nodes.len()]);
    while let Some(at) = open.pop() {
        if at == to {
            return false;
        }
        if at != call.node && !std::mem::replace(&mut seen[at], true) {
            open.extend(&nodes[at].successors);
        }
    }
    true
}
