//! Reaching definitions: for a node and a place, the writes whose value may still be there.
//!
//! A write reaches a node if there is a path from it to the node on which no other write overwrites
//! all of the place that is asked for. The entry of the function counts as a write of everything.

use std::{cell::RefCell, collections::HashMap, rc::Rc};

use super::{
    access::{AccessKind, Effects},
    graph::{Graph, NodeIndex},
    place::Place,
};
use crate::ir::Expression;

/// A definition, by its place in [`Definitions::all`].
pub type DefinitionIndex = usize;

/// A write.
#[derive(Clone, Debug)]
pub struct Definition<'a> {
    /// The node that writes.
    pub node: NodeIndex,
    /// The place.
    pub place: Place,
    /// The value, if it is the value of an expression.
    pub value: Option<&'a Expression>,
    /// True if the whole place is written whenever the node is executed.
    pub(super) strong: bool,
}

/// The definitions of a function.
#[derive(Debug)]
pub struct Definitions<'a> {
    /// The definitions, in the order of nodes and evaluation.
    pub all: Vec<Definition<'a>>,
    /// Of each node, its definitions.
    of_node: Vec<Vec<DefinitionIndex>>,
    /// Of each node, the nodes that may come before it.
    predecessors: Vec<Vec<NodeIndex>>,
    /// The facts of places: the rules ask for the same ones again.
    found: RefCell<HashMap<Place, Found>>,
}

/// The facts of a place.
#[derive(Debug)]
struct Found {
    /// Of each node, what of the place it writes.
    writes: Rc<[Writes]>,
    /// The definitions that reach each node, as far as they were asked for.
    at: HashMap<NodeIndex, Rc<[DefinitionIndex]>>,
}

/// The writes of a node that may share bytes with a place.
#[derive(Debug, Default)]
struct Writes {
    /// The definitions whose value may still be there behind the node.
    definitions: Vec<DefinitionIndex>,
    /// True if the node overwrites all of the place.
    overwrites: bool,
}

impl<'a> Definitions<'a> {
    /// Finds the definitions.
    pub fn of(graph: &Graph<'a>, effects: &[Effects<'a>]) -> Definitions<'a> {
        let mut all = Vec::new();
        let mut of_node = vec![Vec::new(); graph.nodes.len()];
        for (node, effects) in effects.iter().enumerate() {
            for access in effects.accesses.iter().filter(|access| access.kind != AccessKind::Read) {
                of_node[node].push(all.len());
                let strong = access.kind != AccessKind::WeakWrite;
                let (place, value) = (access.place.clone(), access.value);
                all.push(Definition { node, place, value, strong });
            }
        }
        let mut predecessors = vec![Vec::new(); graph.nodes.len()];
        for (node, point) in graph.nodes.iter().enumerate() {
            point.successors.iter().for_each(|&next| predecessors[next].push(node));
        }
        Definitions { all, of_node, predecessors, found: RefCell::default() }
    }

    /// Returns the nodes that may come right before a node.
    pub(super) fn before(&self, node: NodeIndex) -> &[NodeIndex] {
        &self.predecessors[node]
    }

    /// Returns, of each node, true if a path leads from its begin to one of some nodes on which
    /// nothing overwrites all of a place. `shares` says which places may share bytes with it.
    pub(super) fn live_at(
        &self,
        place: &Place,
        shares: impl Fn(&Place) -> bool,
        to: impl Iterator<Item = NodeIndex>,
    ) -> Vec<bool> {
        let writes = self.writes_of(place, shares);
        let mut live = vec![false; self.of_node.len()];
        let mut open: Vec<NodeIndex> = to.collect();
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut live[node], true) {
                let before = self.predecessors[node].iter().copied();
                open.extend(before.filter(|&before| !writes[before].overwrites));
            }
        }
        live
    }

    /// Returns the definitions of a place that reach the begin of a node along any steps of
    /// control, in order. `shares` says which places may share bytes with it: it is always the same
    /// function.
    pub(super) fn reaching_always(
        &self,
        node: NodeIndex,
        place: &Place,
        shares: impl Fn(&Place) -> bool,
    ) -> Rc<[DefinitionIndex]> {
        let known = self.found.borrow().get(place).and_then(|found| found.at.get(&node).cloned());
        known.unwrap_or_else(|| {
            let reaching: Rc<[_]> = self.reaching(node, place, shares, |_, _| true).into();
            let mut found = self.found.borrow_mut();
            if let Some(found) = found.get_mut(place) {
                found.at.insert(node, Rc::clone(&reaching));
            }
            reaching
        })
    }

    /// Returns the definitions of a place that reach the begin of a node, in order. `shares` says
    /// which places may share bytes with it: it is always the same function; and `follows` along
    /// which steps of control, from one node to the next, they come.
    pub fn reaching(
        &self,
        node: NodeIndex,
        place: &Place,
        shares: impl Fn(&Place) -> bool,
        follows: impl Fn(NodeIndex, NodeIndex) -> bool,
    ) -> Vec<DefinitionIndex> {
        let writes = self.writes_of(place, shares);
        let mut found = Vec::new();
        let mut seen = vec![false; self.of_node.len()];
        let before = |to: NodeIndex| {
            let follows = &follows;
            let all = self.predecessors[to].iter().copied();
            all.filter(move |&from| follows(from, to))
        };
        let mut open: Vec<NodeIndex> = before(node).collect();
        while let Some(node) = open.pop() {
            if std::mem::replace(&mut seen[node], true) {
                continue;
            }
            found.extend(&writes[node].definitions);
            if !writes[node].overwrites {
                open.extend(before(node));
            }
        }
        found.sort_unstable();
        found
    }

    /// Returns, of each node, what of a place it writes.
    fn writes_of(&self, place: &Place, shares: impl Fn(&Place) -> bool) -> Rc<[Writes]> {
        if let Some(found) = self.found.borrow().get(place) {
            return Rc::clone(&found.writes);
        }
        let of_node = |definitions: &Vec<DefinitionIndex>| {
            let mut writes = Writes::default();
            for &definition in definitions.iter().rev() {
                if writes.overwrites {
                    break;
                }
                let one = &self.all[definition];
                if shares(&one.place) {
                    writes.definitions.push(definition);
                }
                writes.overwrites = one.strong && one.place.covers(place);
            }
            writes
        };
        let writes: Rc<[Writes]> = self.of_node.iter().map(of_node).collect();
        let found = Found { writes: Rc::clone(&writes), at: HashMap::new() };
        self.found.borrow_mut().insert(place.clone(), found);
        writes
    }
}
