//! Memory whose address a prepared statement keeps: parameters that a query reads when it runs, and
//! buffers that a fetch writes.
//!
//! A call that binds memory says which statement keeps its address. From then on each query that
//! may run the statement reads the memory, and each call that fetches a row of it may write the
//! buffers.

use super::{
    Flow,
    access::{Access, AccessKind, Bound},
    graph::NodeIndex,
    place::Place,
};
use crate::api::Role;

/// Returns the accesses that nodes have by way of statements, each with its node.
pub(super) fn accesses<'a>(flow: &Flow<'a, '_>) -> Vec<(NodeIndex, Access<'a>)> {
    let mut found = Vec::new();
    for (node, effects) in flow.effects.iter().enumerate() {
        for bound in &effects.bound {
            let behind = flow.graph.reachable(node);
            for (other, point) in flow.effects.iter().enumerate() {
                if !behind[other] && other != node {
                    continue;
                }
                let kind = match bound.results {
                    false if runs(flow, other, bound) => AccessKind::Read,
                    true if point.fetched.iter().any(|one| keeps(flow, bound, one)) => {
                        AccessKind::WeakWrite
                    }
                    _ => continue,
                };
                let memory = bound.memory.iter().cloned();
                found.extend(memory.map(|place| (other, Access { place, kind, value: None })));
            }
        }
    }
    found
}

/// Returns true if a node runs a query of the statement that keeps bound memory.
fn runs(flow: &Flow<'_, '_>, node: NodeIndex, bound: &Bound) -> bool {
    flow.effects[node].queries.iter().any(|query| {
        query.model.role == Role::Query
            && query.statements.iter().any(|statement| keeps(flow, bound, statement))
    })
}

fn keeps(flow: &Flow<'_, '_>, bound: &Bound, statement: &Place) -> bool {
    bound.statements.iter().any(|one| flow.may_share(one, statement))
}
