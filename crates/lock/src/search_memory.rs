//! The memory that the searches of an owner use again and again (`deadlock`).

use crate::wait_record::WaitState;

/// An owner visited by the search.
#[derive(Clone, Copy)]
pub(crate) struct VisitedOwner {
    pub(crate) owner: u32,
    /// Its state when the search expanded it.
    pub(crate) state: WaitState,
    /// Index of the node that waits for it.
    pub(crate) parent: usize,
}

/// The working memory of searches, which is reused.
#[derive(Default)]
pub(crate) struct Graph {
    /// Nodes in breadth-first order; the first is the searcher.
    pub(crate) nodes: Vec<VisitedOwner>,
    /// Indices of `nodes`: the cycle from the searcher to the owner that waits for it.
    pub(crate) path: Vec<usize>,
    /// One bit for each owner that is in `nodes` (GRAPH-1).
    pub(crate) visited: Vec<u64>,
    pub(crate) blockers: Vec<u32>,
    /// Owners that the searcher has marked as victims and has not woken yet.
    pub(crate) marked: Vec<u32>,
}
