//! Cycles, and the anomaly that each one stands for.
//!
//! For each class, from the gravest on, the graph is reduced to the edges that the class may have.
//! Its strongly connected components hold all its cycles, and the shortest cycle of each component
//! is shown. Classes without real time come first, since a cycle that needs no real-time edge is
//! stronger evidence.

use std::collections::VecDeque;

use crate::history::Transaction;

use super::{
    explain,
    graph::{Edge, EdgeKind, Graph},
    report::{Class, Kind, Report},
};

/// Upper bound on the components searched for each class.
const COMPONENTS_MAX: usize = 3;
/// Upper bound on the nodes, or edges, of a component from which a search for a shortest cycle
/// starts.
const STARTS_MAX: usize = 256;

/// The kinds of dependency edges that cycles of a class may have.
fn kinds_of(class: Class) -> u8 {
    let writes = EdgeKind::WriteWrite.bit();
    let reads = writes | EdgeKind::WriteRead.bit();
    let items = reads | EdgeKind::ReadWrite.bit();
    match class {
        Class::G0 => writes,
        Class::G1c => reads,
        Class::G2Item => items,
        _ => items | EdgeKind::PredicateReadWrite.bit(),
    }
}

const CLASSES: [Class; 5] =
    [Class::G0, Class::G1c, Class::GSinglePredicate, Class::G2Item, Class::G2Predicate];

/// Adds the cycles of `graph` to the report.
pub(super) fn find(graph: &Graph, transactions: &[Transaction], report: &mut Report) {
    for realtime in [0, EdgeKind::RealTime.bit()] {
        for class in CLASSES {
            let kinds = kinds_of(class) | realtime;
            for component in graph.components(kinds).iter().take(COMPONENTS_MAX) {
                let search = Search::new(graph, component, kinds);
                let cycle = match class {
                    Class::GSinglePredicate => search.shortest_with_one_anti_dependency(),
                    _ => search.shortest(),
                };
                let Some(cycle) = cycle else { continue };
                let kind = kind_of(&cycle);
                // A wider class contains the narrower ones, which were shown already.
                let singular = matches!(class, Class::GSinglePredicate);
                if rank(class) == rank(class_in(kind)) || singular {
                    let ids = cycle.iter().map(|edge| transactions[edge.from].id).collect();
                    report.add(kind, ids, || explain::cycle(&cycle, transactions));
                }
            }
        }
    }
    if graph.components(u8::MAX).is_empty() || !report.anomalies.is_empty() {
        return;
    }
    // Any cycle is reported, even one that no class above covers.
    for component in graph.components(u8::MAX).iter().take(COMPONENTS_MAX) {
        if let Some(cycle) = Search::new(graph, component, u8::MAX).shortest() {
            let ids = cycle.iter().map(|edge| transactions[edge.from].id).collect();
            report.add(kind_of(&cycle), ids, || explain::cycle(&cycle, transactions));
        }
    }
}

fn rank(class: Class) -> Class {
    if class == Class::GSingle { Class::GSinglePredicate } else { class }
}

fn class_in(kind: Kind) -> Class {
    match kind {
        Kind::Cycle { class, .. } => class,
        _ => Class::G2Predicate,
    }
}

/// The class of a cycle, by its edges.
fn kind_of(cycle: &[Edge]) -> Kind {
    let count = |kind| cycle.iter().filter(|edge| edge.kind == kind).count();
    let (items, predicates) = (count(EdgeKind::ReadWrite), count(EdgeKind::PredicateReadWrite));
    let class = match (items, predicates) {
        (0, 0) if count(EdgeKind::WriteRead) == 0 => Class::G0,
        (0, 0) => Class::G1c,
        (1, 0) => Class::GSingle,
        (0, 1) => Class::GSinglePredicate,
        (_, 0) => Class::G2Item,
        _ => Class::G2Predicate,
    };
    Kind::Cycle { class, realtime: count(EdgeKind::RealTime) > 0 }
}

/// A search for cycles within a component.
struct Search<'g> {
    graph: &'g Graph,
    component: &'g [usize],
    member: Vec<bool>,
    kinds: u8,
}

impl<'g> Search<'g> {
    fn new(graph: &'g Graph, component: &'g [usize], kinds: u8) -> Search<'g> {
        let mut member = vec![false; graph.node_count()];
        component.iter().for_each(|&node| member[node] = true);
        Search { graph, component, member, kinds }
    }

    fn edges(&self, node: usize, kinds: u8) -> impl Iterator<Item = &'g Edge> + '_ {
        let edges = self.graph.edges(node).iter();
        edges.filter(move |edge| kinds & edge.kind.bit() != 0 && self.member[edge.to])
    }

    fn shortest(&self) -> Option<Vec<Edge>> {
        let transactions = self.component.iter().filter(|&&node| node < self.graph.transactions);
        let cycles = transactions.take(STARTS_MAX).filter_map(|&node| {
            let ends = |edge: &Edge| Some((*edge, self.path(edge.to, node, self.kinds)?));
            let cycles = self.edges(node, self.kinds).filter_map(ends);
            cycles.map(|(edge, path)| fold(self.graph, edge, path)).min_by_key(Vec::len)
        });
        cycles.min_by_key(Vec::len)
    }

    /// Returns the shortest cycle with exactly one rw edge, preferring an rw on an item.
    fn shortest_with_one_anti_dependency(&self) -> Option<Vec<Edge>> {
        let anti = EdgeKind::ReadWrite.bit() | EdgeKind::PredicateReadWrite.bit();
        let firsts = self.component.iter().flat_map(|&node| self.edges(node, self.kinds & anti));
        let cycles = firsts.take(STARTS_MAX).filter_map(|edge| {
            let path = self.path(edge.to, edge.from, self.kinds & !anti)?;
            Some(fold(self.graph, *edge, path))
        });
        cycles.min_by_key(|cycle| (cycle.len(), cycle[0].kind))
    }

    /// The edges of a shortest path; steps between points in time cost nothing.
    fn path(&self, from: usize, to: usize, kinds: u8) -> Option<Vec<Edge>> {
        let mut reached: Vec<Option<Edge>> = vec![None; self.graph.node_count()];
        let mut done = vec![false; self.graph.node_count()];
        let mut queue = VecDeque::from([from]);
        while let Some(node) = queue.pop_front() {
            if node == to {
                break;
            }
            if std::mem::replace(&mut done[node], true) {
                continue;
            }
            for edge in self.edges(node, kinds) {
                let free = node >= self.graph.transactions;
                if done[edge.to] || edge.to == from || (reached[edge.to].is_some() && !free) {
                    continue;
                }
                reached[edge.to] = Some(*edge);
                if free { queue.push_front(edge.to) } else { queue.push_back(edge.to) }
            }
        }
        let mut path = Vec::new();
        let mut node = to;
        while node != from {
            let edge = reached[node]?;
            path.push(edge);
            node = edge.from;
        }
        path.reverse();
        Some(path)
    }
}

/// Reduces a cycle to transactions: steps over points in time become one real-time edge.
fn fold(graph: &Graph, first: Edge, path: Vec<Edge>) -> Vec<Edge> {
    let mut cycle: Vec<Edge> = Vec::new();
    for edge in std::iter::once(first).chain(path) {
        match cycle.last_mut() {
            Some(last) if last.to >= graph.transactions => last.to = edge.to,
            _ => cycle.push(edge),
        }
    }
    cycle
}
