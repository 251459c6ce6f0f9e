//! Live variables and places: those that a node, or one that may come behind it, may still read.

use std::collections::BTreeSet;

use super::{
    Flow,
    access::AccessKind,
    graph::NodeIndex,
    place::{Place, Root},
};
use crate::ir::VariableIndex;

/// The variables that are live in front of each node.
pub(super) type Live = Vec<BTreeSet<VariableIndex>>;

impl Flow<'_, '_> {
    /// Returns the variables that are live in front of each node, as far as they are read by their
    /// names.
    pub(super) fn live(&self) -> Live {
        let mut live = vec![BTreeSet::new(); self.graph.nodes.len()];
        let mut open: Vec<NodeIndex> = (0..live.len()).collect();
        while let Some(node) = open.pop() {
            let before = self.live_before(node, &live);
            if before != live[node] {
                live[node] = before;
                open.extend(self.definitions.before(node));
            }
        }
        live
    }

    /// Returns, of each node, true if the value that a place has at its begin may be read: at the
    /// node, or behind it before something overwrites the place.
    pub(crate) fn live_at(&self, place: &Place) -> Vec<bool> {
        let reads = |node: &NodeIndex| self.exposed_reads(*node).contains(&place);
        let shares = |other: &Place| self.may_share(other, place);
        self.definitions.live_at(place, shares, (0..self.graph.nodes.len()).filter(reads))
    }

    fn live_before(&self, node: NodeIndex, live: &Live) -> BTreeSet<VariableIndex> {
        let behind = self.graph.nodes[node].successors.iter().flat_map(|&next| &live[next]);
        let mut before: BTreeSet<VariableIndex> = behind.copied().collect();
        for access in self.effects[node].accesses.iter().rev() {
            let Root::Variable(variable) = access.place.root else { continue };
            match access.kind {
                AccessKind::Read => {
                    before.insert(variable);
                }
                AccessKind::Write if access.place == Place::whole(Root::Variable(variable)) => {
                    before.remove(&variable);
                }
                _ => {}
            }
        }
        before
    }
}
