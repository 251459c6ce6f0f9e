//! The three rules on values for the parts A and B of a loop: after the split, B of an iteration
//! runs behind A of all later iterations.
//!
//! **Safe because** each read sees the same write as in the source:
//! - A read of B that no write of A reaches sees a write of B, or one before the loop. If A writes
//!   the place at all, B overwrites it before the read, in the same iteration. All other reads of B
//!   are of values that B then begins with ([`restore`](super::restore)).
//! - A read of A that no write of B reaches sees a write of A, or one before the loop, in the same
//!   way.
//! - A read behind the loop sees the last write. If both parts write the place, B of the last
//!   iteration overwrites what A left, so that its write stays the last one.
//!
//! If a `continue` of A leaves out B in some iterations, the last one may be among them. A place
//! that B, or a statement that B begins with, may write must then not be read behind the loop with
//! a value of A.
//!
//! The code behind an exit reads at the exit. Elements of arrays that only the iteration with their
//! index uses ([`element`](super::element)) are places of their own in each iteration. A variable
//! that has the same constant value wherever a part begins (`res = NULL` ends each of them) has it
//! there after the split as well.

use std::collections::BTreeSet;

use super::{Refusal, SplitRule, element::Elements, part::Part, restore::Restored, skipped};
use crate::{
    flow::{
        access::AccessKind,
        graph::{NodeIndex, NodeKind},
        place::{Place, Root},
    },
    ir::{ExpressionKind, VariableIndex},
    legality::{Context, place_is_seen, place_name},
    units::exposed,
};

/// A loop whose parts are checked.
pub(super) struct Values<'c, 'a, 'p> {
    pub(super) context: &'c Context<'c, 'a, 'p>,
    /// The earlier part, and the later one.
    pub(super) parts: [&'c Part<'a>; 2],
    /// The node of the loop's condition.
    pub(super) test: NodeIndex,
    /// The elements that belong to one iteration.
    pub(super) elements: Elements<'c, 'a, 'p>,
}

impl Values<'_, '_, '_> {
    /// Refuses a read of the earlier part that sees a write of the later one. Returns the reads of
    /// the later part that see a write of the earlier one, each with its node.
    pub(super) fn check_reads(&self) -> Result<Vec<(NodeIndex, Place)>, Refusal> {
        let [first, second] = self.parts;
        if let Some((node, place)) = self.connected(first, second).first() {
            let line = self.context.flow.graph.nodes[*node].range.line(self.context.text);
            let name = self.name(place);
            let reason =
                format!("it reads {name}, which the later part wrote in an earlier iteration");
            return Err(Refusal { rule: SplitRule::CarriedValue, line, reason });
        }
        Ok(self.connected(second, first))
    }

    /// Returns the first node of the later part.
    pub(super) fn split(&self) -> NodeIndex {
        self.parts[1].nodes.first().copied().unwrap_or(self.test)
    }

    /// Returns the place that a variable is.
    pub(super) fn whole(&self, variable: VariableIndex) -> Place {
        Place::whole(Root::Variable(variable))
    }

    /// Returns the reads of one part that a write of the other reaches: one for each place.
    fn connected(&self, reader: &Part<'_>, writer: &Part<'_>) -> Vec<(NodeIndex, Place)> {
        let flow = self.context.flow;
        let mut found: Vec<(NodeIndex, Place)> = Vec::new();
        for (node, place) in exposed(flow, &reader.piece) {
            if place.root == Root::Outside || found.iter().any(|(_, known)| known == place) {
                continue;
            }
            let mut reaching = flow.reaching(node, place).into_iter();
            if reaching.any(|one| self.is_definition_of(writer, one))
                && !self.elements.are_of_iteration(place)
                && !self.has_one_value(place)
            {
                found.push((node, place.clone()));
            }
        }
        found
    }

    /// Returns true if a variable has the same constant value at the begin of each part.
    fn has_one_value(&self, place: &Place) -> bool {
        let flow = self.context.flow;
        if place.variable().is_none() || !place.path.is_empty() {
            return false;
        }
        let mut values = BTreeSet::new();
        for node in [self.split(), self.test] {
            for one in flow.reaching(node, place) {
                let definition = &flow.definitions.all[one];
                match definition.value.map(|value| &value.kind) {
                    Some(ExpressionKind::Constant(value)) if definition.place == *place => {
                        values.insert(value.as_str());
                    }
                    _ => return false,
                }
            }
        }
        values.len() == 1
    }

    /// Returns true if a definition gives a value in a part. A declaration without initializer does
    /// not: each part that uses the variable gets one.
    fn is_definition_of(&self, part: &Part<'_>, definition: usize) -> bool {
        let flow = self.context.flow;
        let node = flow.definitions.all[definition].node;
        let gives = match flow.graph.nodes[node].kind {
            NodeKind::Declare(one) => one.initial.is_some(),
            _ => true,
        };
        part.nodes.contains(&node) && gives
    }

    /// Refuses a place that both parts write, if the earlier part may write it last and something
    /// behind the loop reads it.
    pub(super) fn check_last(&self, restored: &Restored) -> Result<(), Refusal> {
        let flow = self.context.flow;
        let [first, second] = self.parts;
        let written = |part: &Part<'_>| -> BTreeSet<Place> {
            let nodes = part.continuing().flat_map(|node| &flow.effects[node].accesses);
            let writes =
                nodes.filter(|one| one.kind != AccessKind::Read && one.place.root != Root::Outside);
            writes.map(|one| one.place.clone()).collect()
        };
        let later = written(second);
        let skips = skipped::are_in(self);
        for place in written(first) {
            // The last iteration may have no later part.
            let is_restored = !skips && restored.gives(&place);
            let both = later.iter().any(|other| flow.may_share(&place, other))
                || skips && restored.may_write(flow, &place);
            if both
                && self.is_last(&place, skips)
                && !is_restored
                && !self.elements.are_of_iteration(&place)
                && !self.has_one_value(&place)
            {
                let line = first.piece.range.line(self.context.text);
                let name = self.name(&place);
                let reason = format!("both parts write {name}, and code behind the loop reads it");
                return Err(Refusal { rule: SplitRule::LastValue, line, reason });
            }
        }
        Ok(())
    }

    /// Returns true if what the earlier part writes to a place may be read behind the loop.
    fn is_last(&self, place: &Place, skips: bool) -> bool {
        let flow = self.context.flow;
        let first = self.parts[0];
        let left: Vec<usize> = flow
            .reaching(self.test, place)
            .into_iter()
            .filter(|&one| self.is_definition_of(first, one))
            .collect();
        if left.is_empty() {
            return false;
        }
        place_is_seen(self.context, place)
            || self.behind(place, skips).into_iter().any(|node| {
                flow.exposed_reads(node).into_iter().any(|read| {
                    flow.may_share(read, place)
                        && flow.reaching(node, read).iter().any(|one| left.contains(one))
                })
            })
    }

    /// Returns the nodes outside of the body. If a `continue` leaves out later parts, what the
    /// earlier part left in the place reaches more of them: then it returns those that control
    /// reaches from the end of the loop before something overwrites the place, and all nodes if
    /// control may come back to the loop. An exit of the body reads at the exit; the reads of
    /// objects are not all known there.
    fn behind(&self, place: &Place, skips: bool) -> BTreeSet<NodeIndex> {
        let flow = self.context.flow;
        if !skips || place.root.is_object() {
            let is_inside =
                |node: &NodeIndex| self.parts.iter().any(|part| part.nodes.contains(node));
            return (0..flow.graph.nodes.len()).filter(|node| !is_inside(node)).collect();
        }
        let (mut open, mut seen) = (vec![self.test], BTreeSet::new());
        while let Some(node) = open.pop() {
            let is_inside = self.parts.iter().any(|part| part.nodes.contains(&node));
            if is_inside || !seen.insert(node) {
                continue;
            }
            if node != self.test && flow.graph.nodes[node].successors.contains(&self.test) {
                return (0..flow.graph.nodes.len()).collect();
            }
            let overwrites = flow.effects[node]
                .accesses
                .iter()
                .any(|one| one.kind == AccessKind::Write && one.place.covers(place));
            if !overwrites {
                open.extend(&flow.graph.nodes[node].successors);
            }
        }
        seen
    }

    /// Returns a name for a place, for a message.
    pub(super) fn name(&self, place: &Place) -> String {
        place_name(self.context, place)
    }
}
