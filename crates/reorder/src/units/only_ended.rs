//! Objects that the code behind an exit only ends or resets: results and statements that a function
//! ends behind one label, for each way that leads there, or in front of each `return`. Its reads of
//! them demand no order.
//!
//! **Safe because** the code does the same for an object in each state. An object counts if
//! 1. all code behind the exit that uses it, or a variable that leads to it, only cleans up
//!    ([`Cleanup`]), and
//! 2. the transaction itself ends it nowhere, and no pointer is a copy of the one to it, so that no
//!    order ends it twice;
//!
//! and a variable that the transaction writes, if it leads to such objects only, and
//! 3. is null from its declaration on until its one object is made, and
//! 4. each call behind the exit that gets it is right for a null pointer too.

use std::collections::BTreeSet;

use super::Piece;
use crate::{
    flow::{
        Flow,
        access::{Access, AccessKind},
        cleanup::Cleanup,
        graph::NodeIndex,
        place::{Place, Root},
        test::is_null,
    },
    ir::{Expression, ExpressionKind, VariableIndex},
};

/// An exit and the code behind it.
pub(super) struct Behind<'m, 'a, 'p> {
    pub(super) flow: &'m Flow<'a, 'p>,
    /// The node from which control leaves.
    pub(super) exit: NodeIndex,
    /// Of each node, true if it stands behind the exit.
    pub(super) nodes: &'m [bool],
    /// The nodes of the transaction behind which it may go on.
    pub(super) transaction: &'m BTreeSet<NodeIndex>,
}

/// Returns the reads of the nodes of a piece that leave by an exit, as far as they demand no order
/// on any way to them.
pub(super) fn within(
    flow: &Flow<'_, '_>,
    piece: &Piece<'_>,
    transaction: &BTreeSet<NodeIndex>,
) -> BTreeSet<(NodeIndex, Place)> {
    let reads_of = |node: NodeIndex| {
        let exposed = flow.exposed_reads(node).into_iter();
        exposed.map(move |place| (node, place.clone())).collect::<Vec<_>>()
    };
    let mut free: BTreeSet<(NodeIndex, Place)> =
        piece.leaving.iter().flat_map(|&node| reads_of(node)).collect();
    let going_on = piece.nodes.iter().filter(|node| !piece.leaving.contains(node));
    for &exit in going_on {
        let successors = flow.graph.nodes[exit].successors.iter();
        for &target in successors.filter(|target| piece.leaving.contains(target)) {
            let mut nodes = flow.graph.reachable(target);
            nodes[target] = true;
            let behind = Behind { flow, exit, nodes: &nodes, transaction };
            let reads = free.iter().filter(|(node, _)| nodes[*node]).map(|(_, place)| place);
            let demanded = behind.demanded(&reads.cloned().collect());
            free.retain(|(node, place)| !nodes[*node] || !demanded.contains(place));
        }
    }
    free
}

impl Behind<'_, '_, '_> {
    /// Returns the places that the code reads and that demand an order: those of `reads` but for
    /// variables and objects that are only ended, and the objects that the other variables lead to.
    pub(super) fn demanded(&self, reads: &BTreeSet<Place>) -> BTreeSet<Place> {
        let cleanup = Cleanup::of(self.flow, self.nodes);
        let is_free = |place: &Place| match place.variable() {
            Some(variable) if place.path.is_empty() => self.only_cleans_up(variable, &cleanup),
            _ => self.is_only_ended(place, &cleanup),
        };
        let with_objects = |place: &Place| {
            let led_to = match place.variable() {
                Some(_) => self.flow.led_to_at(place, self.exit),
                None => Vec::new(),
            };
            led_to.into_iter().filter(|place| place.root.is_object()).chain([place.clone()])
        };
        reads.iter().filter(|place| !is_free(place)).flat_map(with_objects).collect()
    }

    /// Returns true for a variable whose value and objects the code only ends.
    fn only_cleans_up(&self, variable: VariableIndex, cleanup: &Cleanup) -> bool {
        let place = Place::whole(Root::Variable(variable));
        let is_read = |one: &Access<'_>| {
            one.kind == AccessKind::Read && self.flow.may_share(&one.place, &place)
        };
        let objects = match self.is_written(&place) {
            false => Some(self.flow.led_to_at(&place, self.exit)),
            true => self
                .only_object(variable)
                .filter(|_| self.behind_with(is_read).all(|node| cleanup.accepts_null(node)))
                .map(|object| vec![object]),
        };
        objects.is_some_and(|all| all.iter().all(|one| self.is_only_ended(one, cleanup)))
    }

    /// Returns the nodes behind the exit with an access of a kind.
    fn behind_with(&self, is_it: impl Fn(&Access<'_>) -> bool) -> impl Iterator<Item = NodeIndex> {
        let behind = (0..self.nodes.len()).filter(|&node| self.nodes[node]);
        behind.filter(move |&node| self.flow.effects[node].accesses.iter().any(&is_it))
    }

    /// Returns true if the transaction writes a variable.
    fn is_written(&self, place: &Place) -> bool {
        let mut written = self.flow.definitions.all.iter();
        written.any(|one| {
            self.transaction.contains(&one.node) && self.flow.may_share(&one.place, place)
        })
    }

    /// Returns the only object that a variable ever leads to, if it is null without it.
    fn only_object(&self, variable: VariableIndex) -> Option<Place> {
        let place = Place::whole(Root::Variable(variable));
        let all = self.flow.definitions.all.iter();
        let written = all.filter(|one| self.flow.may_share(&one.place, &place));
        let others = written.filter(|one| one.place != place || !one.value.is_some_and(is_null));
        let makers: BTreeSet<NodeIndex> = others.map(|one| one.node).collect();
        let maker = makers.first().copied().filter(|_| makers.len() == 1)?;
        let object = Place::whole(Root::Object(maker));
        (self.flow.led_to_at(&place, maker) == [object.clone()]).then_some(object)
    }

    /// Returns true if the code behind the exit only ends an object, and the transaction does not.
    fn is_only_ended(&self, object: &Place, cleanup: &Cleanup) -> bool {
        let is_used = |one: &Access<'_>| self.flow.may_share(&one.place, object);
        let ends = |node: NodeIndex| {
            let mut accesses = self.flow.effects[node].accesses.iter();
            accesses.any(|one| one.kind == AccessKind::End && is_used(one))
        };
        object.root.is_object()
            && self.behind_with(is_used).all(|node| cleanup.has(node))
            && !self.transaction.iter().any(|&node| ends(node))
            && !self.is_copied(object)
    }

    /// Returns true if a pointer to an object is a copy of another one.
    fn is_copied(&self, object: &Place) -> bool {
        self.flow.definitions.all.iter().any(|one| {
            one.value.is_some_and(|value| {
                may_copy(self.flow, value) && self.flow.targets(value, one.node).contains(object)
            })
        })
    }
}

/// Returns true if a value may be a copy of a pointer. That of a call is one if it may be an
/// argument: another type has what makes an object, or gives a part of it.
fn may_copy<'a>(flow: &Flow<'a, '_>, value: &'a Expression) -> bool {
    use ExpressionKind as Kind;
    match &value.kind {
        Kind::Constant(_) | Kind::Text(_) | Kind::Unary(..) => false,
        Kind::Cast(_, operand) => may_copy(flow, operand),
        Kind::Call { arguments, result, .. } => {
            arguments.iter().any(|argument| flow.type_of(argument) == Some(result))
        }
        _ => true,
    }
}
