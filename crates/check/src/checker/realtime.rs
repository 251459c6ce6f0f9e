//! Real-time edges, in a number linear in the transactions.
//!
//! Of *n* transactions about *n²/2* pairs do not overlap. Instead of an edge for each, every
//! acknowledgement is a point in time; the points form a chain; a transaction leads to the point
//! of its own acknowledgement, and the last point before an invocation leads to that transaction.
//! One transaction reaches another over points exactly if it was acknowledged before the other was
//! invoked.

use crate::history::Transaction;

use super::graph::Graph;

/// Adds points and edges for the transactions that took effect.
pub(super) fn connect(transactions: &[Transaction], happened: &[bool], graph: &mut Graph) {
    let mut ends: Vec<(u64, usize)> = transactions
        .iter()
        .enumerate()
        .filter_map(|(index, transaction)| Some((transaction.acknowledged?, index)))
        .collect();
    ends.sort_unstable();
    let first = graph.node_count();
    for (at, &(_, transaction)) in ends.iter().enumerate() {
        let point = graph.add_point();
        graph.add_time(transaction, point);
        if at > 0 {
            graph.add_time(point - 1, point);
        }
    }
    for (index, transaction) in transactions.iter().enumerate() {
        let before = ends.partition_point(|&(end, _)| end < transaction.invoked);
        if before > 0 && happened[index] {
            graph.add_time(first + before - 1, index);
        }
    }
}
