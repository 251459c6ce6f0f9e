//! The values of the parameters of queries, as far as the program passes them in an array.

use crate::{
    flow::{
        access::{Connection, QueryCall},
        graph::NodeIndex,
        place::{Place, Root},
        reaching::DefinitionIndex,
    },
    ir::ExpressionKind,
    legality::Context,
    units::UnitQuery,
};

/// A query with the call that runs it.
pub(crate) struct Call<'c, 'a> {
    pub(crate) query: &'c UnitQuery,
    /// The call, if the node itself has it.
    pub(super) call: Option<&'c QueryCall<'a>>,
    pub(crate) node: NodeIndex,
    pub(super) line: usize,
}

/// The answer to the question whether two values are equal.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Same {
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
                let line = range.line(context.text);
                found.push(Call { query, call: is_own.then_some(call), node, line });
                break;
            }
        }
    }
    found
}

/// A value: what a pointer leads to, with the writes that may have made it.
type Made = Vec<(Place, Vec<DefinitionIndex>)>;

/// Compares a parameter of one query with a parameter of another.
pub(super) fn same(
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

/// A variable whose value a format writes into the SQL: the conversion, the variable, and the
/// writes that may have made its value.
type Variable = (String, Place, Vec<DefinitionIndex>);

fn written(context: &Context<'_, '_, '_>, call: &Call<'_, '_>, number: usize) -> Option<Variable> {
    let query = call.call.filter(|query| query.model.parameters.is_none())?;
    let given = context.flow.given(query, call.node, &call.query.text, number)?;
    let [value] = &given.values[..] else { return None };
    let ExpressionKind::Variable(variable) = value.value.kind else { return None };
    let place = Place::whole(Root::Variable(variable));
    let reaching = context.flow.reaching(value.node, &place);
    Some((value.conversion.clone(), place, reaching))
}

/// Returns the memory that the pointer to a parameter leads to; `None` if that is not known.
pub(super) fn places(
    context: &Context<'_, '_, '_>,
    call: &Call<'_, '_>,
    number: usize,
) -> Option<Vec<Place>> {
    context.flow.parameter_places(call.call?, call.node, number)
}
