//! The nodes on which depends what a transaction writes in the database, or decides.
//!
//! They are found backwards: from each query that writes, and each condition, to the nodes that
//! have written what it reads, and on from those. A condition that shows whether a query has failed
//! decides nothing, since an exit behind a failure depends on no row.
//!
//! What a program only returns or prints is not among it.

use std::collections::BTreeSet;

use super::{super::Context, changes_rows};
use crate::{
    flow::{
        graph::{NodeIndex, NodeKind},
        place::Root,
    },
    schema::Tables,
    solve::UnitIndex,
    sql::Query,
    units::Barrier,
};

pub(super) struct Influence {
    nodes: BTreeSet<NodeIndex>,
}

impl Influence {
    pub(super) fn of(context: &Context<'_, '_, '_>) -> Influence {
        let flow = context.flow;
        let all = 0..flow.graph.nodes.len();
        let mut open: Vec<NodeIndex> =
            all.filter(|&node| writes(context, node) || decides(context, node)).collect();
        let runs = |node: NodeIndex| !flow.effects[node].queries.is_empty();
        let mut nodes: BTreeSet<NodeIndex> =
            open.iter().copied().filter(|&one| runs(one) && decides(context, one)).collect();
        while let Some(node) = open.pop() {
            // A query reads the state of the connection only as far as the server does.
            let reads = flow.exposed_reads(node).into_iter().filter(|place| match place.root {
                Root::Outside => false,
                Root::Last | Root::LastWrite => !runs(node),
                _ => true,
            });
            for place in reads {
                for made in flow.reaching(node, place) {
                    let maker = flow.definitions.all[made].node;
                    if nodes.insert(maker) {
                        open.push(maker);
                    }
                }
            }
        }
        Influence { nodes }
    }

    /// Returns true if something depends on what the queries of a unit return.
    pub(super) fn is_of(&self, context: &Context<'_, '_, '_>, unit: UnitIndex) -> bool {
        let flow = context.flow;
        let own: BTreeSet<NodeIndex> = context.units.units[unit].nodes().collect();
        let runs = |node: &NodeIndex| !flow.effects[*node].queries.is_empty();
        let mut open: Vec<NodeIndex> = own.iter().copied().filter(runs).collect();
        let mut seen = BTreeSet::new();
        while let Some(node) = open.pop() {
            if own.contains(&node) && seen.insert(node) {
                open.extend(&flow.graph.nodes[node].successors);
            }
        }
        !seen.is_disjoint(&self.nodes)
    }
}

/// Returns true if a node runs a query of a unit that changes rows, or one that is not known.
fn writes(context: &Context<'_, '_, '_>, node: NodeIndex) -> bool {
    let Some(unit) = context.units.of_node(node) else { return false };
    let unit = &context.units.units[unit];
    let changes = |query: &Query| {
        changes_rows(query) || context.schema.changed_by_functions(query) != Tables::none()
    };
    let mut queries = unit.queries().peekable();
    !context.flow.effects[node].queries.is_empty()
        && (queries.peek().is_none() || queries.any(|one| changes(&one.query)))
}

/// Returns true for a condition that does not only show whether a query has failed.
fn decides(context: &Context<'_, '_, '_>, node: NodeIndex) -> bool {
    let flow = context.flow;
    let point = &flow.graph.nodes[node];
    let Some(unit) = context.units.of_node(node).filter(|_| point.successors.len() > 1) else {
        return false;
    };
    let unit = &context.units.units[unit];
    let shows_failure = match point.kind {
        NodeKind::Evaluate(condition) => {
            flow.fails(condition, true) || flow.fails(condition, false)
        }
        _ => false,
    };
    let leaves = |one: &NodeIndex| unit.pieces.iter().any(|piece| piece.leaving.contains(one));
    let leaves_on_failure = unit.exits().all(|exit| exit.on_failure)
        && unit.exits().next().is_some()
        && point.successors.iter().any(leaves);
    let is_outside = unit.barriers().any(|one| *one == Barrier::Outside);
    !shows_failure && !leaves_on_failure && !is_outside
}
