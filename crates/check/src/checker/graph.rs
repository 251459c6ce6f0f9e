//! The graph of transactions, with edges that mean "must come before".

use super::replay::Object;

/// The reason why one transaction comes before another.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) enum EdgeKind {
    /// The first wrote the version before the second's.
    WriteWrite,
    /// The first wrote what the second read.
    WriteRead,
    /// The first read what the second replaced.
    ReadWrite,
    /// The first read, or missed, in a range what the second replaced.
    PredicateReadWrite,
    /// The first was acknowledged before the second was invoked.
    RealTime,
}

impl EdgeKind {
    /// A distinct bit for each kind, for sets of kinds.
    pub(super) fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// An edge: its object and, for edges on values, the versions.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Edge {
    pub(super) from: usize,
    pub(super) to: usize,
    pub(super) kind: EdgeKind,
    pub(super) object: Option<Object>,
    /// The version written or read first; `None` is the initial one.
    pub(super) first: Option<u64>,
    /// The version written or read second.
    pub(super) second: Option<u64>,
}

/// A graph. Nodes below `transactions` are transactions, the others are points in time.
#[derive(Clone)]
pub(super) struct Graph {
    pub(super) transactions: usize,
    next: Vec<Vec<Edge>>,
}

impl Graph {
    pub(super) fn new(transactions: usize) -> Graph {
        Graph { transactions, next: vec![Vec::new(); transactions] }
    }

    pub(super) fn node_count(&self) -> usize {
        self.next.len()
    }

    pub(super) fn edge_count(&self) -> usize {
        self.next.iter().map(Vec::len).sum()
    }

    /// The size of a copy in bytes.
    pub(super) fn bytes(&self) -> usize {
        self.node_count() * size_of::<Vec<Edge>>() + self.edge_count() * size_of::<Edge>()
    }

    pub(super) fn add_point(&mut self) -> usize {
        self.next.push(Vec::new());
        self.next.len() - 1
    }

    /// Adds an edge; an edge from a node to itself is ignored.
    pub(super) fn add(&mut self, edge: Edge) {
        if edge.from != edge.to {
            self.next[edge.from].push(edge);
        }
    }

    pub(super) fn add_time(&mut self, from: usize, to: usize) {
        let kind = EdgeKind::RealTime;
        self.add(Edge { from, to, kind, object: None, first: None, second: None });
    }

    pub(super) fn edges(&self, node: usize) -> &[Edge] {
        &self.next[node]
    }

    /// The strongly connected components of two or more nodes, over edges whose kind is in `kinds`.
    /// (Tarjan, "Depth-First Search and Linear Graph Algorithms", 1972; without recursion.)
    pub(super) fn components(&self, kinds: u8) -> Vec<Vec<usize>> {
        let mut search = Tarjan::new(self, kinds);
        for root in 0..self.node_count() {
            search.visit(root);
        }
        search.found
    }

    /// Returns a topological order of the nodes, with the smallest `priority` first where there is
    /// a choice, or `None` if there is a cycle.
    pub(super) fn order(&self, priority: impl Fn(usize) -> u64) -> Option<Vec<usize>> {
        let mut waits_for = vec![0usize; self.node_count()];
        for edge in self.next.iter().flatten() {
            waits_for[edge.to] += 1;
        }
        let entry = |node: usize| std::cmp::Reverse((priority(node), node));
        let free = (0..self.node_count()).filter(|&node| waits_for[node] == 0);
        let mut free: std::collections::BinaryHeap<_> = free.map(entry).collect();
        let mut order = Vec::with_capacity(self.node_count());
        while let Some(std::cmp::Reverse((_, node))) = free.pop() {
            order.push(node);
            for edge in &self.next[node] {
                waits_for[edge.to] -= 1;
                if waits_for[edge.to] == 0 {
                    free.push(entry(edge.to));
                }
            }
        }
        (order.len() == self.node_count()).then_some(order)
    }
}

const UNSEEN: usize = usize::MAX;

struct Tarjan<'g> {
    graph: &'g Graph,
    kinds: u8,
    count: usize,
    number: Vec<usize>,
    low: Vec<usize>,
    on_stack: Vec<bool>,
    stack: Vec<usize>,
    found: Vec<Vec<usize>>,
}

impl<'g> Tarjan<'g> {
    fn new(graph: &'g Graph, kinds: u8) -> Tarjan<'g> {
        let nodes = graph.node_count();
        Tarjan {
            graph,
            kinds,
            count: 0,
            number: vec![UNSEEN; nodes],
            low: vec![0; nodes],
            on_stack: vec![false; nodes],
            stack: Vec::new(),
            found: Vec::new(),
        }
    }

    fn enter(&mut self, node: usize) {
        self.number[node] = self.count;
        self.low[node] = self.count;
        self.count += 1;
        self.stack.push(node);
        self.on_stack[node] = true;
    }

    fn visit(&mut self, root: usize) {
        if self.number[root] != UNSEEN {
            return;
        }
        self.enter(root);
        // A node, and the number of its edges followed so far.
        let mut path = vec![(root, 0)];
        while let Some(&(node, at)) = path.last() {
            let Some(edge) = self.graph.next[node].get(at) else {
                path.pop();
                self.leave(node, path.last().map(|&(parent, _)| parent));
                continue;
            };
            let last = path.len() - 1;
            path[last].1 += 1;
            if edge.kind.bit() & self.kinds == 0 {
                continue;
            }
            if self.number[edge.to] == UNSEEN {
                self.enter(edge.to);
                path.push((edge.to, 0));
            } else if self.on_stack[edge.to] {
                self.low[node] = self.low[node].min(self.number[edge.to]);
            }
        }
    }

    fn leave(&mut self, node: usize, parent: Option<usize>) {
        if self.low[node] == self.number[node] {
            let mut component = Vec::new();
            while let Some(member) = self.stack.pop() {
                self.on_stack[member] = false;
                component.push(member);
                if member == node {
                    break;
                }
            }
            if component.len() > 1 {
                self.found.push(component);
            }
        }
        if let Some(parent) = parent {
            self.low[parent] = self.low[parent].min(self.low[node]);
        }
    }
}
