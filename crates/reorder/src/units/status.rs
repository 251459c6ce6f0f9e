//! The success or failure of queries on the paths through pieces.
//!
//! A piece may only test a number that the query in front of it has left: `rc = run(query)`, then
//! `if (rc) goto fail`. The paths begin at that query.

use std::{cell::OnceCell, collections::BTreeSet};

use super::{Piece, Unit};
use crate::{
    flow::{
        Flow,
        graph::NodeIndex,
        paths::{Answer, State, States},
        place::Root,
    },
    ir::VariableIndex,
};

/// The paths from the query of a piece, or from that of a piece before it, through the piece.
pub(super) struct Paths<'f, 'a, 'p> {
    flow: &'f Flow<'a, 'p>,
    first: Option<NodeIndex>,
    own: BTreeSet<NodeIndex>,
    /// The code that the paths leave out.
    gap: Option<Gap>,
    states: OnceCell<Option<States>>,
}

/// Code between a query and a later check of it by a number.
struct Gap {
    /// Its first node.
    first: NodeIndex,
    /// The variables that it writes.
    written: BTreeSet<VariableIndex>,
    /// The first node of the check.
    check: NodeIndex,
}

impl<'f, 'a, 'p> Paths<'f, 'a, 'p> {
    /// Makes the paths through a piece.
    pub(super) fn through(flow: &'f Flow<'a, 'p>, pieces: &[Piece<'a>], at: usize) -> Self {
        let pieces = &pieces[query_before(pieces, at).unwrap_or(at)..=at];
        let own: BTreeSet<NodeIndex> =
            pieces.iter().flat_map(|piece| piece.nodes.iter().copied()).collect();
        let first = pieces[0].nodes.first().copied();
        Paths { flow, first, own, gap: None, states: OnceCell::new() }
    }

    /// Makes the paths from each query that a piece checks by a number though others stand between
    /// them, through the piece. They leave out what stands between.
    pub(super) fn of_late_checks(
        flow: &'f Flow<'a, 'p>,
        pieces: &[Piece<'a>],
        at: usize,
    ) -> Vec<Self> {
        let late = checked_late(flow, pieces, at).into_iter();
        late.filter_map(|query| Paths::over_gap(flow, pieces, query, at)).collect()
    }

    /// Makes the paths through a piece with a query and a later piece that may check it.
    fn over_gap(
        flow: &'f Flow<'a, 'p>,
        pieces: &[Piece<'a>],
        query: usize,
        at: usize,
    ) -> Option<Self> {
        let between = &pieces[query + 1..at];
        let nodes = || between.iter().flat_map(|piece| piece.nodes.iter().copied());
        let gap = Gap {
            first: nodes().next()?,
            written: nodes().flat_map(|node| flow.written_variables(node)).collect(),
            check: *pieces[at].nodes.first()?,
        };
        let own = [query, at].into_iter().flat_map(|one| pieces[one].nodes.iter().copied());
        let (first, own) = (pieces[query].nodes.first().copied(), own.collect());
        Some(Paths { flow, first, own, gap: Some(gap), states: OnceCell::new() })
    }

    /// Returns the states in front of each node that the paths reach; `None` if there are too many.
    fn states(&self) -> Option<&States> {
        let find = || {
            let first = self.first?;
            let goes_on = |node: NodeIndex, _: &State| self.own.contains(&node);
            let states = self.flow.paths(vec![(first, self.flow.state_at(first))], &goes_on)?;
            let Some(gap) = &self.gap else { return Some(states) };
            let at_gap = states.get(&gap.first).into_iter().flatten();
            let behind = at_gap.map(|state| (gap.check, state.without(&gap.written))).collect();
            self.flow.paths(behind, &goes_on)
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

    /// Returns true if the query of a piece has certainly succeeded behind another piece, and if
    /// that is not known in front of it.
    fn show_success(&self, pieces: &[Piece<'_>], query: usize, at: usize) -> bool {
        let next = pieces[at + 1..].iter().find_map(|piece| piece.nodes.first());
        let (Some(next), Some(own)) = (next, pieces[at].nodes.first()) else { return false };
        let Some(states) = self.states() else { return false };
        let succeeded = |node: &NodeIndex, is_its: &dyn Fn(&State) -> bool| {
            let states = states.get(node).filter(|states| !states.is_empty());
            states.is_some_and(|all| all.iter().all(|one| one.has_succeeded() && is_its(one)))
        };
        // The piece may prepare another query, and check that.
        let is_of_query =
            |state: &State| state.query.is_some_and(|one| pieces[query].nodes.contains(&one));
        succeeded(next, &is_of_query) && !succeeded(own, &|_| true)
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
        let goes_on = |_: NodeIndex, state: &State| !state.is_undone();
        let is_end = |node: NodeIndex| self.flow.graph.nodes[node].successors.is_empty();
        let ends_undone = |node: NodeIndex, state: &State| {
            let mut behind = self.flow.states_behind(node, state.clone()).into_iter();
            state.is_undone() || behind.all(|one| one.is_undone())
        };
        !from.is_empty()
            && self.flow.paths(from, &goes_on).is_some_and(|states| {
                let mut ends = states.into_iter().filter(|(node, _)| is_end(*node));
                ends.all(|(node, before)| before.iter().all(|one| ends_undone(node, one)))
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
            if next.is_empty() || self.flow.may_commit(node) {
                return false;
            }
            open.extend(next);
        }
        true
    }
}

/// Returns true if a path goes on from the pieces of a unit to a node behind them though a query of
/// the unit has failed on it, or if there are too many paths.
pub(super) fn hides_failure(flow: &Flow<'_, '_>, unit: &Unit<'_>, behind: NodeIndex) -> bool {
    let own: BTreeSet<NodeIndex> = unit.nodes().collect();
    let Some(first) = unit.nodes().next() else { return false };
    let goes_on = |node: NodeIndex, _: &State| own.contains(&node);
    let Some(states) = flow.paths(vec![(first, flow.state_at(first))], &goes_on) else {
        return true;
    };
    states.get(&behind).into_iter().flatten().any(State::hides_failure)
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
    Paths::through(flow, pieces, at).show_success(pieces, query, at).then_some(query)
}

/// Returns the pieces whose query a piece checks by a number, though other pieces stand between
/// them.
pub(super) fn checked_late_by_number(
    flow: &Flow<'_, '_>,
    pieces: &[Piece<'_>],
    at: usize,
) -> Vec<usize> {
    let shows = |query: &usize| {
        Paths::over_gap(flow, pieces, *query, at)
            .is_some_and(|paths| paths.show_success(pieces, *query, at))
    };
    if pieces[at].exits.is_empty() {
        return Vec::new();
    }
    checked_late(flow, pieces, at).into_iter().filter(shows).collect()
}

/// Returns the pieces with a query that a piece may check by a number, though others may stand
/// between them: the number comes from them.
fn checked_late(flow: &Flow<'_, '_>, pieces: &[Piece<'_>], at: usize) -> BTreeSet<usize> {
    let piece = &pieces[at];
    // What a call says about the last query, it does not say about an earlier one. A call on the
    // way to an exit, such as that of the rollback, decides nothing.
    let asks = |node: &NodeIndex| flow.effects[*node].status && !piece.leaving.contains(node);
    if !piece.queries.is_empty() || !piece.barriers.is_empty() || piece.nodes.iter().any(asks) {
        return BTreeSet::new();
    }
    let Some(last) = query_before(pieces, at) else { return BTreeSet::new() };
    let barrier = pieces[..at].iter().rposition(|piece| !piece.barriers.is_empty());
    let first = barrier.map_or(0, |barrier| barrier + 1);
    let reads = piece.nodes.iter().flat_map(|&node| {
        let places = flow.exposed_reads(node).into_iter();
        let numbers = places.filter(|place| matches!(place.root, Root::Variable(_)));
        numbers.flat_map(move |place| flow.reaching(node, place))
    });
    let from = reads.filter_map(|definition| {
        let node = flow.definitions.all[definition].node;
        (first..=last).find(|&one| pieces[one].nodes.contains(&node))
    });
    from.filter(|&one| !pieces[one].queries.is_empty()).collect()
}
