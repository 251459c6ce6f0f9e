//! The three rules on values for the parts A and B of a loop: after the split, B of an iteration
//! runs behind A of all later iterations.
//!
//! **Safe because** each read sees the same write as in the source:
//! - A read of B that no write of A reaches sees a write of B, or one before the loop. If A writes
//!   the place at all, B overwrites it before the read, in the same iteration.
//! - A read of A that no write of B reaches sees a write of A, or one before the loop, in the same
//!   way.
//! - A read behind the loop sees the last write. If both parts write the place, B of the last
//!   iteration overwrites what A left, so that its write stays the last one.
//!
//! The code behind an exit reads at the exit. Elements of arrays that only the iteration with their
//! index uses ([`element`](super::element)) are places of their own in each iteration.

use std::collections::BTreeSet;

use super::{Refusal, SplitRule, element::Elements, part::Part};
use crate::{
    flow::{
        access::AccessKind,
        graph::{NodeIndex, NodeKind},
        place::{Place, Root},
    },
    ir::VariableIndex,
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
    /// The variables of which each part gets one.
    pub(super) copied: &'c BTreeSet<VariableIndex>,
    /// The elements that belong to one iteration.
    pub(super) elements: Elements<'c, 'a, 'p>,
}

impl Values<'_, '_, '_> {
    /// Checks the three rules.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        let [first, second] = self.parts;
        self.check_reads(second, first, SplitRule::OverwrittenValue, |name| {
            format!("it reads {name}, which the earlier part writes in each iteration")
        })?;
        self.check_reads(first, second, SplitRule::CarriedValue, |name| {
            format!("it reads {name}, which the later part wrote in an earlier iteration")
        })?;
        self.check_last()
    }

    /// Refuses a read of one part that a write of the other reaches.
    fn check_reads(
        &self,
        reader: &Part<'_>,
        writer: &Part<'_>,
        rule: SplitRule,
        reason: impl Fn(String) -> String,
    ) -> Result<(), Refusal> {
        let flow = self.context.flow;
        for (node, place) in exposed(flow, &reader.piece) {
            if place.root == Root::Outside {
                continue;
            }
            let mut reaching = flow.reaching(node, place).into_iter();
            let is_written = reaching.any(|one| self.is_definition_of(writer, one));
            if is_written && !self.elements.are_of_iteration(place) {
                let line = flow.graph.nodes[node].range.line(self.context.text);
                return Err(Refusal { rule, line, reason: reason(self.name(place)) });
            }
        }
        Ok(())
    }

    /// Returns true if a definition gives a value in a part. The declaration of a variable of which
    /// each part has one does not.
    fn is_definition_of(&self, part: &Part<'_>, definition: usize) -> bool {
        let flow = self.context.flow;
        let node = flow.definitions.all[definition].node;
        let is_copied = match flow.graph.nodes[node].kind {
            NodeKind::Declare(one) => one.initial.is_none() && self.copied.contains(&one.variable),
            _ => false,
        };
        part.nodes.contains(&node) && !is_copied
    }

    /// Refuses a place that both parts write, if the earlier part may write it last and something
    /// behind the loop reads it.
    fn check_last(&self) -> Result<(), Refusal> {
        let flow = self.context.flow;
        let [first, second] = self.parts;
        let written = |part: &Part<'_>| -> BTreeSet<Place> {
            let nodes = part.continuing().flat_map(|node| &flow.effects[node].accesses);
            let writes =
                nodes.filter(|one| one.kind != AccessKind::Read && one.place.root != Root::Outside);
            writes.map(|one| one.place.clone()).collect()
        };
        let later = written(second);
        for place in written(first) {
            let both = later.iter().any(|other| flow.may_share(&place, other));
            if both && self.is_last(&place) && !self.elements.are_of_iteration(&place) {
                let line = first.piece.range.line(self.context.text);
                let name = self.name(&place);
                let reason = format!("both parts write {name}, and code behind the loop reads it");
                return Err(Refusal { rule: SplitRule::LastValue, line, reason });
            }
        }
        Ok(())
    }

    /// Returns true if what the earlier part writes to a place may be read behind the loop.
    fn is_last(&self, place: &Place) -> bool {
        let flow = self.context.flow;
        let [first, second] = self.parts;
        let left: Vec<usize> = flow
            .reaching(self.test, place)
            .into_iter()
            .filter(|&one| self.is_definition_of(first, one))
            .collect();
        if left.is_empty() {
            return false;
        }
        let outside = (0..flow.graph.nodes.len())
            .filter(|node| !first.nodes.contains(node) && !second.nodes.contains(node));
        place_is_seen(self.context, place)
            || outside.into_iter().any(|node| {
                flow.exposed_reads(node).into_iter().any(|read| {
                    flow.may_share(read, place)
                        && flow.reaching(node, read).iter().any(|one| left.contains(one))
                })
            })
    }

    fn name(&self, place: &Place) -> String {
        place_name(self.context, place)
    }
}
