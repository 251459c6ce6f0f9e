//! A part of a statement's body, as a piece of its own.

use std::collections::BTreeSet;

use super::{Refusal, SplitRule};
use crate::{
    api::Role,
    flow::graph::NodeIndex,
    ir::Statement,
    legality::Context,
    source::Range,
    sql,
    units::{Piece, UnitQuery},
};

/// Statements that follow each other in a body.
pub(super) struct Part<'a> {
    /// The statements.
    pub(super) statements: &'a [Statement],
    /// Their nodes, queries and exits.
    pub(super) piece: Piece<'a>,
    /// Their nodes, as a set.
    pub(super) nodes: BTreeSet<NodeIndex>,
}

impl<'a> Part<'a> {
    /// Returns the part of a piece that some statements of its body are.
    pub(super) fn of(
        context: &Context<'_, 'a, '_>,
        whole: &Piece<'a>,
        statements: &'a [Statement],
    ) -> Result<Part<'a>, Refusal> {
        let range = range(statements);
        let within = |one: &'a Statement| context.flow.graph.within(one.range).collect::<Vec<_>>();
        let nodes: BTreeSet<NodeIndex> = statements.iter().flat_map(within).collect();
        let mut queries = Vec::new();
        for &node in &nodes {
            queries.extend(queries_of(context, whole, node)?);
        }
        let exits = whole.exits.iter().filter(|exit| nodes.contains(&exit.node));
        let piece = Piece {
            statement: whole.statement,
            range,
            nodes: nodes.iter().copied().collect(),
            leaving: whole.leaving.intersection(&nodes).copied().collect(),
            only_ended: whole.only_ended.clone(),
            queries,
            exits: exits.cloned().collect(),
            checks: Vec::new(),
            barriers: Vec::new(),
            asks: None,
        };
        Ok(Part { statements, piece, nodes })
    }

    /// Returns the nodes behind which control may go on to another part.
    pub(super) fn continuing(&self) -> impl Iterator<Item = NodeIndex> + '_ {
        self.nodes.difference(&self.piece.leaving).copied()
    }
}

/// Returns the range of statements that follow each other.
pub(super) fn range(statements: &[Statement]) -> Range {
    match (statements.first(), statements.last()) {
        (Some(first), Some(last)) => Range::new(first.range.start, last.range.end),
        _ => Range::new(0, 0),
    }
}

/// Returns the places at which a list can be split, those between the same queries together: the
/// numbers of statements before the place.
pub(super) fn places(context: &Context<'_, '_, '_>, list: &[Statement]) -> Vec<Vec<usize>> {
    let queries: Vec<usize> =
        (0..list.len()).filter(|&at| has_query(context, list[at].range)).collect();
    queries.windows(2).map(|pair| (pair[0] + 1..=pair[1]).collect()).collect()
}

/// Returns true if a statement runs a query.
pub(super) fn has_query(context: &Context<'_, '_, '_>, range: Range) -> bool {
    context.flow.graph.within(range).any(|node| {
        let mut queries = context.flow.effects[node].queries.iter();
        queries.any(|query| {
            let role = context.flow.role_of(query, node);
            !matches!(role, Role::Rollback | Role::Prepare)
        })
    })
}

/// Returns the queries of a node of a piece, for each text that it may run.
fn queries_of(
    context: &Context<'_, '_, '_>,
    whole: &Piece<'_>,
    node: NodeIndex,
) -> Result<Vec<UnitQuery>, Refusal> {
    let flow = context.flow;
    let refused = |reason: String| {
        let line = flow.graph.nodes[node].range.line(context.text);
        Refusal { rule: SplitRule::Barrier, line, reason }
    };
    let mut found = Vec::new();
    for call in &flow.effects[node].queries {
        match flow.role_of(call, node) {
            Role::Prepare | Role::Rollback => continue,
            Role::Begin => return Err(refused("it begins the transaction".to_string())),
            Role::Commit => return Err(refused("it ends the transaction".to_string())),
            _ => {}
        }
        for text in flow.sql_of(call, node).map_err(refused)? {
            let known = whole.queries.iter().find(|one| one.text == text);
            let query = match known {
                Some(known) => Ok(known.query.clone()),
                None => sql::analyze(&text, context.server, context.schema),
            };
            let query = query.map_err(|bad| refused(format!("`{text}`: {bad}")))?;
            found.push(UnitQuery { range: call.expression.range, text, query });
        }
    }
    Ok(found)
}
