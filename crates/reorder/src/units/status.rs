//! The success or failure of queries on the paths through pieces.
//!
//! A piece may only test a number that the query in front of it has left: `rc = run(query)`, then
//! `if (rc) goto fail`. The paths begin at that query.

use std::{cell::OnceCell, collections::BTreeSet};

use super::Piece;
use crate::flow::{
    Flow,
    graph::NodeIndex,
    paths::{Answer, State, States},
};

/// The paths from the query of a piece, or from that of a piece before it, through the piece.
pub(super) struct Paths<'f, 'a, 'p> {
    flow: &'f Flow<'a, 'p>,
    first: Option<NodeIndex>,
    own: BTreeSet<NodeIndex>,
    states: OnceCell<Option<States>>,
}

impl<'f, 'a, 'p> Paths<'f, 'a, 'p> {
    /// Makes the paths through a piece.
    pub(super) fn through(flow: &'f Flow<'a, 'p>, pieces: &[Piece<'a>], at: usize) -> Self {
        let pieces = &pieces[query_before(pieces, at).unwrap_or(at)..=at];
        let own: BTreeSet<NodeIndex> =
            pieces.iter().flat_map(|piece| piece.nodes.iter().copied()).collect();
        let first = pieces[0].nodes.first().copied();
        Paths { flow, first, own, states: OnceCell::new() }
    }

    /// Returns the states in front of each node that the paths reach; `None` if there are too many.
    fn states(&self) -> Option<&States> {
        let find = || {
            let first = self.first?;
            let start = vec![(first, self.flow.state_at(first))];
            self.flow.paths(start, &|node, _| self.own.contains(&node))
        };
        self.states.get_or_init(find).as_ref()
    }

    /// Returns the states in which control leaves from a node to another one, or from a `return`.
    fn leaving(&self, node: NodeIndex, target: NodeIndex) -> Option<Vec<State>> {
        let before = self.states()?.get(&node)?.iter().cloned();
        if node == target {
            return Some(before.collect());
        }
        let steps = before.flat_map(|state| self.flow.steps(node, state));
        Some(steps.filter(|(next, _)| *next == target).map(|(_, state)| state).collect())
    }

    /// Returns true if control leaves from a node to another one only behind a failed query.
    pub(super) fn leave_on_failure(&self, node: NodeIndex, target: NodeIndex) -> bool {
        let states = self.leaving(node, target).unwrap_or_default();
        !states.is_empty() && states.iter().all(|state| state.answer == Answer::Failed)
    }

    /// Returns true if each path on which control leaves from a node to another one rolls back.
    pub(super) fn leave_undone(&self, node: NodeIndex, target: NodeIndex) -> bool {
        let states = self.leaving(node, target).unwrap_or_default();
        !states.is_empty() && states.iter().all(State::is_undone)
    }

    /// Returns true if every path from an exit to the end of the function passes a rollback.
    pub(super) fn pass_rollback(
        &self,
        node: NodeIndex,
        target: NodeIndex,
        is_rollback: &dyn Fn(NodeIndex) -> bool,
    ) -> bool {
        if self.all_pass_rollback(target, is_rollback) {
            return true;
        }
        let Some(states) = self.leaving(node, target) else { return false };
        let from: Vec<(NodeIndex, State)> =
            states.into_iter().map(|state| (target, state)).collect();
        let goes_on = |node: NodeIndex, _: &State| !is_rollback(node);
        let is_end = |&node: &NodeIndex| self.flow.graph.nodes[node].successors.is_empty();
        !from.is_empty()
            && self.flow.paths(from, &goes_on).is_some_and(|states| {
                states.keys().filter(|node| is_end(node)).all(|&node| is_rollback(node))
            })
    }

    /// Returns true if even every path that conditions may rule out passes a rollback.
    fn all_pass_rollback(
        &self,
        target: NodeIndex,
        is_rollback: &dyn Fn(NodeIndex) -> bool,
    ) -> bool {
        let (mut open, mut seen) = (vec![target], BTreeSet::new());
        while let Some(node) = open.pop() {
            if is_rollback(node) || !seen.insert(node) {
                continue;
            }
            let next = &self.flow.graph.nodes[node].successors;
            if next.is_empty() {
                return false;
            }
            open.extend(next);
        }
        true
    }
}

/// Returns the piece with the query in front of a piece without one.
fn query_before(pieces: &[Piece<'_>], at: usize) -> Option<usize> {
    if !pieces[at].queries.is_empty() {
        return None;
    }
    let before = pieces[..at]
        .iter()
        .rposition(|piece| !piece.queries.is_empty() || !piece.barriers.is_empty())?;
    pieces[before].barriers.is_empty().then_some(before)
}

/// Returns the piece whose query a piece checks by a number: behind the piece, the query has
/// certainly succeeded, and in front of it, that is not known.
pub(super) fn checked_by_number(
    flow: &Flow<'_, '_>,
    pieces: &[Piece<'_>],
    at: usize,
) -> Option<usize> {
    let query = query_before(pieces, at).filter(|_| !pieces[at].exits.is_empty())?;
    let paths = Paths::through(flow, pieces, at);
    let next = pieces[at + 1..].iter().find_map(|piece| piece.nodes.first())?;
    let states = paths.states()?;
    let succeeded = |node: &NodeIndex| {
        let states = states.get(node).filter(|states| !states.is_empty());
        states.is_some_and(|states| states.iter().all(State::has_succeeded))
    };
    (succeeded(next) && !succeeded(pieces[at].nodes.first()?)).then_some(query)
}
