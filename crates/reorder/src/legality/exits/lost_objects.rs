//! No exit moves between the place where an object is made and the place where it is ended, unless
//! the code behind the exit ends it as well.
//!
//! **Safe because** each exit then leaves the objects that it left in the source: results,
//! statements and memory that the transaction ends itself.

use std::collections::BTreeMap;

use super::super::{Context, Found, Rule};
use crate::{
    flow::{access::AccessKind, graph::NodeIndex, place::Root},
    solve::{Outside, UnitIndex},
};

/// An object that the transaction makes and ends, by the node that makes it.
struct Life {
    maker: NodeIndex,
    /// The unit that makes it, and the last one that ends it.
    from: UnitIndex,
    to: UnitIndex,
}

pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    for life in lives(context) {
        let Life { maker, from, to } = life;
        let units = (0..context.units.units.len()).filter(|unit| !(from..=to).contains(unit));
        for unit in units.filter(|&unit| loses(context, unit, maker)) {
            let reason = "it leaves without ending what is made here".to_string();
            found.outside(Outside { unit, from, to }, Rule::Exit, reason);
        }
    }
}

/// Returns the lives of objects that span several units.
fn lives(context: &Context<'_, '_, '_>) -> Vec<Life> {
    let units = &context.units.units;
    let of_node: BTreeMap<NodeIndex, UnitIndex> = (0..units.len())
        .flat_map(|unit| units[unit].continuing_nodes().map(move |node| (node, unit)))
        .collect();
    let mut ends: BTreeMap<NodeIndex, UnitIndex> = BTreeMap::new();
    for (&node, &unit) in &of_node {
        for maker in ended_by(context, node) {
            let end = ends.entry(maker).or_insert(unit);
            *end = unit.max(*end);
        }
    }
    let life = |(maker, to)| Some(Life { maker, from: *of_node.get(&maker)?, to });
    ends.into_iter().filter_map(life).filter(|life| life.from < life.to).collect()
}

/// Returns the nodes that made the objects which a node ends.
fn ended_by(context: &Context<'_, '_, '_>, node: NodeIndex) -> impl Iterator<Item = NodeIndex> {
    let accesses = context.flow.effects[node].accesses.iter();
    let ended = accesses.filter(|access| access.kind == AccessKind::End);
    ended.filter_map(|access| match access.place.root {
        Root::Object(maker) => Some(maker),
        _ => None,
    })
}

/// Returns true if a unit has an exit behind which an object is not ended.
fn loses(context: &Context<'_, '_, '_>, unit: UnitIndex, maker: NodeIndex) -> bool {
    context.units.units[unit].exits().any(|exit| {
        let behind = context.flow.graph.reachable(exit.node);
        let mut behind = (0..behind.len()).filter(|&node| behind[node]);
        !behind.any(|node| ended_by(context, node).any(|one| one == maker))
    })
}
