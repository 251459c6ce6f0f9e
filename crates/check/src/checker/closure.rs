//! Reachability in a graph without cycles.

use super::graph::Graph;

/// The transitive closure, as a row of bits for each node: one for each transaction.
#[derive(Clone)]
pub(super) struct Closure {
    words: usize,
    bits: Vec<u64>,
}

impl Closure {
    /// The size in bytes of the closure of `graph`.
    pub(super) fn bytes(graph: &Graph) -> usize {
        graph.node_count() * graph.transactions.div_ceil(64) * 8
    }

    /// Computes the closure of `graph`. `order` lists its nodes in topological order.
    pub(super) fn new(graph: &Graph, order: &[usize]) -> Closure {
        let words = graph.transactions.div_ceil(64);
        let mut bits = vec![0u64; graph.node_count() * words];
        let mut row = vec![0u64; words];
        for &node in order.iter().rev() {
            row.fill(0);
            for edge in graph.edges(node) {
                let target = edge.to;
                if target < graph.transactions {
                    if row[target / 64] >> (target % 64) & 1 == 1 {
                        continue; // all that it reaches is here already
                    }
                    row[target / 64] |= 1 << (target % 64);
                }
                let from = &bits[target * words..(target + 1) * words];
                row.iter_mut().zip(from).for_each(|(word, other)| *word |= other);
            }
            bits[node * words..(node + 1) * words].copy_from_slice(&row);
        }
        Closure { words, bits }
    }

    /// Whether there is a path of at least one edge between two transactions.
    pub(super) fn reaches(&self, from: usize, to: usize) -> bool {
        self.bits[from * self.words + to / 64] >> (to % 64) & 1 == 1
    }

    /// Adds an edge between two transactions that closes no cycle.
    pub(super) fn insert(&mut self, from: usize, to: usize) {
        if self.reaches(from, to) {
            return;
        }
        let words = self.words;
        let mut row = self.bits[to * words..(to + 1) * words].to_vec();
        row[to / 64] |= 1 << (to % 64);
        for node in 0..self.bits.len() / words {
            // A node that already reaches `to` reaches all that `to` does.
            if (node == from || self.reaches(node, from)) && !self.reaches(node, to) {
                let bits = &mut self.bits[node * words..(node + 1) * words];
                bits.iter_mut().zip(&row).for_each(|(word, other)| *word |= other);
            }
        }
    }
}
