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
//! 3. is null from the begin of the transaction on until its one object is made, and
//! 4. each call behind the exit that gets it is right for a null pointer too.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    rc::Rc,
};

use super::Piece;
use crate::{
    flow::{
        Flow,
        access::{Access, AccessKind},
        cleanup::Cleanup,
        graph::NodeIndex,
        place::{Place, Root},
        reaching::Definition,
        test::is_null,
    },
    ir::{Expression, ExpressionKind, VariableIndex},
};

/// The code behind the exits of a transaction, each found once.
pub(super) struct BehindExits<'m, 'a, 'p> {
    flow: &'m Flow<'a, 'p>,
    /// The nodes of the transaction behind which it may go on.
    transaction: BTreeSet<NodeIndex>,
    /// The places that the function reads, but for objects, each with the nodes at whose begin its
    /// value may still be read.
    live: Vec<(Place, Vec<bool>)>,
    /// The code, by its first node.
    known: RefCell<BTreeMap<NodeIndex, Rc<Code>>>,
}

/// Code behind an exit.
struct Code {
    /// Of each node, true if it is of the code.
    nodes: Vec<bool>,
    cleanup: Cleanup,
    /// The places, but for objects, that the code reads with a value from before it. In a loop
    /// around the transaction, the next one is a part of the code.
    reads: BTreeSet<Place>,
}

impl<'m, 'a, 'p> BehindExits<'m, 'a, 'p> {
    pub(super) fn of(flow: &'m Flow<'a, 'p>, transaction: BTreeSet<NodeIndex>) -> Self {
        let nodes = 0..flow.graph.nodes.len();
        let read: BTreeSet<&Place> = nodes.flat_map(|node| flow.exposed_reads(node)).collect();
        let counts = |place: &&Place| place.root != Root::Outside && !place.root.is_object();
        let read = read.into_iter().filter(counts);
        let live = read.map(|place| (place.clone(), flow.live_at(place))).collect();
        BehindExits { flow, transaction, live, known: RefCell::default() }
    }

    /// Returns what the code behind an exit reads that was written before the exit, and what the
    /// pointers among it lead to at the exit. The code begins at the node `target`.
    pub(super) fn reads(&self, exit: NodeIndex, target: NodeIndex) -> Vec<Place> {
        let code = self.code(target);
        self.at(exit, &code).demanded(&code.reads).into_iter().collect()
    }

    /// Returns the reads of the nodes of a piece that leave by an exit, as far as they demand no
    /// order on any way to them.
    pub(super) fn only_ended(&self, piece: &Piece<'_>) -> BTreeSet<(NodeIndex, Place)> {
        let reads_of = |node: NodeIndex| {
            let exposed = self.flow.exposed_reads(node).into_iter();
            exposed.map(move |place| (node, place.clone())).collect::<Vec<_>>()
        };
        let mut free: BTreeSet<(NodeIndex, Place)> =
            piece.leaving.iter().flat_map(|&node| reads_of(node)).collect();
        let going_on = piece.nodes.iter().filter(|node| !piece.leaving.contains(node));
        for &exit in going_on {
            let successors = self.flow.graph.nodes[exit].successors.iter();
            for &target in successors.filter(|target| piece.leaving.contains(target)) {
                let code = self.code(target);
                let reads = free.iter().filter(|(node, _)| code.nodes[*node]);
                let reads = reads.map(|(_, place)| place.clone()).collect();
                let demanded = self.at(exit, &code).demanded(&reads);
                free.retain(|(node, place)| !code.nodes[*node] || !demanded.contains(place));
            }
        }
        free
    }

    fn at<'b>(&'b self, exit: NodeIndex, code: &'b Code) -> Behind<'b, 'a, 'p> {
        let BehindExits { flow, transaction, .. } = self;
        Behind { flow, exit, code, transaction }
    }

    fn code(&self, target: NodeIndex) -> Rc<Code> {
        let mut known = self.known.borrow_mut();
        let code = known.entry(target).or_insert_with(|| {
            let live = self.live.iter().filter(|(_, live)| live[target]);
            Rc::new(Code::at(self.flow, target, live.map(|(place, _)| place.clone()).collect()))
        });
        Rc::clone(code)
    }
}

impl Code {
    /// Finds the code that begins at a node.
    fn at(flow: &Flow<'_, '_>, target: NodeIndex, reads: BTreeSet<Place>) -> Code {
        let mut nodes = flow.graph.reachable(target);
        nodes[target] = true;
        let cleanup = Cleanup::of(flow, &nodes);
        Code { nodes, cleanup, reads }
    }

    fn nodes(&self) -> impl Iterator<Item = NodeIndex> {
        (0..self.nodes.len()).filter(|&node| self.nodes[node])
    }
}

/// An exit and the code behind it.
struct Behind<'m, 'a, 'p> {
    flow: &'m Flow<'a, 'p>,
    /// The node from which control leaves.
    exit: NodeIndex,
    code: &'m Code,
    /// The nodes of the transaction behind which it may go on.
    transaction: &'m BTreeSet<NodeIndex>,
}

impl Behind<'_, '_, '_> {
    /// Returns the places that the code reads and that demand an order: those of `reads` but for
    /// variables and objects that are only ended, and the objects that the other variables lead to.
    fn demanded(&self, reads: &BTreeSet<Place>) -> BTreeSet<Place> {
        let cleanup = &self.code.cleanup;
        let is_free = |place: &Place| match place.variable() {
            Some(variable) if place.path.is_empty() => self.only_cleans_up(variable, cleanup),
            _ => self.is_only_ended(place, cleanup),
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
        self.code.nodes().filter(move |&node| self.flow.effects[node].accesses.iter().any(&is_it))
    }

    /// Returns true if the transaction writes a variable.
    fn is_written(&self, place: &Place) -> bool {
        let mut written = self.flow.definitions.all.iter();
        written.any(|one| {
            self.transaction.contains(&one.node) && self.flow.may_share(&one.place, place)
        })
    }

    /// Returns the only object that a variable ever leads to, if it is null without it: from the
    /// begin of the transaction on.
    fn only_object(&self, variable: VariableIndex) -> Option<Place> {
        let place = Place::whole(Root::Variable(variable));
        let all = &self.flow.definitions.all;
        let sets_null = |one: &Definition<'_>| one.place == place && one.value.is_some_and(is_null);
        let before = self.flow.reaching(*self.transaction.first()?, &place);
        if before.is_empty() || !before.iter().all(|&one| sets_null(&all[one])) {
            return None;
        }
        let written = all.iter().filter(|one| self.flow.may_share(&one.place, &place));
        let others = written.filter(|one| !sets_null(one));
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
