//! The nodes of some code that only clean up: what they end or reset was made elsewhere, and they
//! do the same whatever has become of it: `PQclear(rows)`, `sqlite3_finalize(statement)`,
//! `if (rows != NULL) mysql_free_result(rows)`.
//!
//! Such a node is
//! 1. a call by a model that is no query, whose result is not used, which writes nothing but
//!    objects and the error of the connection, and behind which the code does not ask for that
//!    error; or
//! 2. a test of a pointer against null, if only such calls with that pointer depend on it.

use std::collections::BTreeMap;

use super::{
    Flow,
    access::AccessKind,
    graph::{NodeIndex, NodeKind},
    place::{Place, Root},
    test::is_null,
};
use crate::{
    api::{Call, Role},
    ir::{Expression, ExpressionKind, VariableIndex},
};

/// The nodes that clean up.
pub(crate) struct Cleanup {
    /// Each node, and whether it is right for a null pointer as well.
    nodes: BTreeMap<NodeIndex, bool>,
}

impl Cleanup {
    /// Finds the nodes that clean up among those for which `behind` is true, which are all that
    /// control reaches from any of them.
    pub(crate) fn of(flow: &Flow<'_, '_>, behind: &[bool]) -> Cleanup {
        let all = (0..behind.len()).filter(|&node| behind[node]);
        let call = |node| Some((node, flow.cleanup_call(node)?.accepts_null));
        let mut nodes: BTreeMap<NodeIndex, bool> = all.clone().filter_map(call).collect();
        for test in all {
            if let Some(guarded) = flow.guarded(test, &nodes) {
                nodes.extend(guarded.into_iter().chain([test]).map(|node| (node, true)));
            }
        }
        Cleanup { nodes }
    }

    /// Returns true if a node cleans up.
    pub(crate) fn has(&self, node: NodeIndex) -> bool {
        self.nodes.contains_key(&node)
    }

    /// Returns true if a node cleans up, and is right for a null pointer as well.
    pub(crate) fn accepts_null(&self, node: NodeIndex) -> bool {
        self.nodes.get(&node).is_some_and(|&accepts| accepts)
    }
}

impl<'a> Flow<'a, '_> {
    /// Returns the model of the call that a node makes if it only cleans up.
    fn cleanup_call(&self, node: NodeIndex) -> Option<&'a Call> {
        let NodeKind::Evaluate(expression) = self.graph.nodes[node].kind else { return None };
        let ExpressionKind::Call { callee, arguments, .. } = &expression.without_casts().kind
        else {
            return None;
        };
        let model = self.around.models.call(callee)?;
        let is_simple = |argument: &Expression| {
            let kind = &argument.without_casts().kind;
            matches!(kind, ExpressionKind::Variable(_) | ExpressionKind::Constant(_))
        };
        let is_used = self.graph.nodes[node].successors.len() != 1;
        let is_call = model.role == Role::None && !is_used && arguments.iter().all(is_simple);
        (is_call && self.changes_objects_only(node)).then_some(model)
    }

    /// Returns true if a call changes nothing but objects and the error of the connection, for
    /// which no code behind it asks, and no caller. A query behind it replaces the error.
    fn changes_objects_only(&self, node: NodeIndex) -> bool {
        let effects = &self.effects[node];
        let is_last = |place: &Place| matches!(place.root, Root::Last | Root::LastWrite);
        let mut writes = effects.accesses.iter().filter(|one| one.kind != AccessKind::Read);
        let has_others = !effects.queries.is_empty()
            || !effects.barriers.is_empty()
            || !effects.asks_open.is_empty()
            || !effects.bound.is_empty()
            || !effects.fetched.is_empty()
            || effects.writes_anything
            || effects.asks_connection
            || effects.streams;
        let asks = |behind: NodeIndex| {
            let mut accesses = self.effects[behind].accesses.iter();
            accesses.any(|one| one.kind == AccessKind::Read && is_last(&one.place))
        };
        let is_asked = || {
            let reachable = self.graph.reachable(node);
            (0..reachable.len()).any(|one| reachable[one] && asks(one))
        };
        let sets_error = || effects.accesses.iter().any(|one| is_last(&one.place));
        !has_others
            && writes.all(|one| one.place.root.is_object() || is_last(&one.place))
            && !(sets_error() && (is_asked() || self.leaves_error(node)))
    }

    /// Returns true if a caller may find the error that a node sets.
    fn leaves_error(&self, node: NodeIndex) -> bool {
        let runs = |node: &NodeIndex| {
            let mut accesses = self.effects[*node].accesses.iter();
            let whole = Place::whole(Root::Last);
            accesses.any(|one| one.kind == AccessKind::Write && one.place == whole)
        };
        let nodes = 0..self.graph.nodes.len();
        let queries: Vec<NodeIndex> = nodes.clone().filter(runs).collect();
        let mut ends = nodes.filter(|&node| self.graph.nodes[node].successors.is_empty());
        ends.any(|end| !self.graph.passes(node, end, &queries)) && self.callers_read_error()
    }

    /// Returns the calls that depend on a test of a pointer against null, and do nothing if it is
    /// null, if nothing else depends on it but that the pointer becomes null.
    fn guarded(
        &self,
        test: NodeIndex,
        calls: &BTreeMap<NodeIndex, bool>,
    ) -> Option<Vec<NodeIndex>> {
        let NodeKind::Evaluate(condition) = self.graph.nodes[test].kind else { return None };
        let (variable, if_true) = null_test(condition)?;
        let outcome = |wanted: bool| {
            self.graph.nodes[test].successors.iter().copied().find(|&next| {
                matches!(self.graph.nodes[next].kind, NodeKind::Outcome { holds, condition, .. }
                    if holds == wanted && condition == test)
            })
        };
        let (mut at, skips) = (outcome(if_true)?, outcome(!if_true)?);
        let &[join] = &self.graph.nodes[skips].successors[..] else { return None };
        let mut guarded = Vec::new();
        while let &[next] = &self.graph.nodes[at].successors[..] {
            if next == join {
                return Some(guarded);
            }
            match self.graph.nodes[next].kind {
                // The source comes first: a jump back is no part of the test.
                _ if next <= at => return None,
                NodeKind::Evaluate(one) if calls.contains_key(&next) => {
                    let places = self.effects[next].accesses.iter().filter_map(|one| {
                        one.place.variable().filter(|_| one.kind == AccessKind::Read)
                    });
                    if places.into_iter().any(|one| one != variable) || passes(one, variable) != 1 {
                        return None;
                    }
                    guarded.push(next);
                }
                NodeKind::Evaluate(one) if becomes_null(one, variable) => {}
                NodeKind::Nothing => {}
                _ => return None,
            }
            at = next;
        }
        None
    }
}

/// Returns the variable that a condition compares with null, and its outcome if it is not null.
pub(crate) fn null_test(condition: &Expression) -> Option<(VariableIndex, bool)> {
    match &condition.kind {
        ExpressionKind::Variable(variable) => Some((*variable, true)),
        ExpressionKind::Cast(_, operand) => null_test(operand),
        ExpressionKind::Unary(operator, operand) if operator == "!" => {
            null_test(operand).map(|(variable, if_true)| (variable, !if_true))
        }
        ExpressionKind::Binary(operator, left, right) if operator == "!=" || operator == "==" => {
            let operand = match (is_null(left.without_casts()), is_null(right.without_casts())) {
                (false, true) => left,
                (true, false) => right,
                _ => return None,
            };
            match operand.without_casts().kind {
                ExpressionKind::Variable(variable) => Some((variable, operator == "!=")),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Returns true for an assignment of null to a variable.
fn becomes_null(expression: &Expression, variable: VariableIndex) -> bool {
    match &expression.kind {
        ExpressionKind::Assign { target, operator: None, value } => {
            matches!(target.kind, ExpressionKind::Variable(own) if own == variable)
                && is_null(value.without_casts())
        }
        _ => false,
    }
}

/// Returns how often a variable is an argument of a call.
fn passes(call: &Expression, variable: VariableIndex) -> usize {
    let ExpressionKind::Call { arguments, .. } = &call.without_casts().kind else { return 0 };
    let is_it = |one: &&Expression| {
        let kind = &one.without_casts().kind;
        matches!(kind, ExpressionKind::Variable(own) if *own == variable)
    };
    arguments.iter().filter(is_it).count()
}
