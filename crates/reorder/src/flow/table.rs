//! Statements that a loop prepares, each in an element of an array, from a table of texts:
//!
//! ```c
//! for (int i = 0; i < N; i++)
//!     mysql_stmt_prepare(app->stmt[i], texts[i], strlen(texts[i]));
//! ```
//!
//! The element of each index gets the text of the same index, if both indexes are the same variable
//! with the same value, and if the table is constant. The value is the same if no way from the call
//! that makes the statement changes the variable before the handle is stored or the text is taken.

use std::collections::BTreeSet;

use super::{
    Flow,
    access::{AccessKind, QueryCall, Sql},
    graph::NodeIndex,
    place::{Place, Root},
    prepared::{Handle, stores},
};
use crate::ir::{Expression, ExpressionKind as Kind, VariableIndex};

/// Returns the statements that a query prepares from a table, each with its text; `None` if it
/// prepares one statement, or if the table is not known.
pub(super) fn texts<'a>(
    flow: &Flow<'a, '_>,
    query: &QueryCall<'a>,
    node: NodeIndex,
) -> Option<Vec<(Handle, String)>> {
    let Sql::Expression(sql) = &query.sql else { return None };
    let (table, index) = element(sql)?;
    let texts = list(flow, table)?;
    let mut found = Vec::new();
    for store in stores(flow, query, node) {
        if matches!(store.handle, Handle::Variable(_)) {
            continue;
        }
        let (_, other) = element(store.place)?;
        let Handle::Element(array, None) = store.handle else { return None };
        let is_direct = store.node == node;
        if other != index || writes(flow, node, index) {
            return None;
        }
        if !is_direct && !is_made_in_step(flow, query, index, [node, store.node]) {
            return None;
        }
        let elements = (0_u64..).zip(&texts);
        found.extend(
            elements.map(|(at, text)| (Handle::Element(array.clone(), Some(at)), text.clone())),
        );
    }
    (!found.is_empty()).then_some(found)
}

/// Returns the array and the index of an element whose index is a variable.
fn element(expression: &Expression) -> Option<(&Expression, VariableIndex)> {
    match &expression.kind {
        Kind::Element { base, index } => match index.kind {
            Kind::Variable(variable) => Some((base, variable)),
            _ => None,
        },
        Kind::Cast(_, operand) | Kind::Address(operand) => element(operand),
        _ => None,
    }
}

/// Returns true if a node may write a variable.
fn writes(flow: &Flow<'_, '_>, node: NodeIndex, variable: VariableIndex) -> bool {
    let place = Place::whole(Root::Variable(variable));
    let mut accesses = flow.effects[node].accesses.iter();
    accesses.any(|one| one.kind != AccessKind::Read && flow.may_share(&one.place, &place))
}

/// Returns true if each way from a call that makes the statement to two nodes leaves a variable as
/// it is.
fn is_made_in_step<'a>(
    flow: &Flow<'a, '_>,
    query: &QueryCall<'a>,
    index: VariableIndex,
    to: [NodeIndex; 2],
) -> bool {
    let Some(Sql::Expression(handle)) = query.name else { return false };
    let makers = flow.targets(handle, to[0]).into_iter().map(|place| match place.root {
        Root::Object(maker) => Some(maker),
        _ => None,
    });
    let Some(makers) = makers.collect::<Option<Vec<_>>>() else { return false };
    let is_changed = |&maker: &NodeIndex| {
        let mut seen = BTreeSet::new();
        let mut open = vec![(maker, false)];
        while let Some((node, changed)) = open.pop() {
            for &next in &flow.graph.nodes[node].successors {
                if changed && to.contains(&next) {
                    return true;
                }
                let changed = changed || writes(flow, next, index);
                if next != maker && seen.insert((next, changed)) {
                    open.push((next, changed));
                }
            }
        }
        false
    };
    !makers.is_empty() && !makers.iter().any(is_changed)
}

/// Returns the texts of a constant array.
fn list(flow: &Flow<'_, '_>, table: &Expression) -> Option<Vec<String>> {
    let Kind::Variable(variable) = table.kind else { return None };
    if flow.around.summaries.is_assigned(variable) {
        return None;
    }
    let Kind::List(values) = &flow.around.program.variable(variable).initial.as_ref()?.kind else {
        return None;
    };
    let text = |value: &Expression| match &value.kind {
        Kind::Text(text) => Some(text.clone()),
        _ => None,
    };
    values.iter().map(text).collect()
}
