//! The begins and rollbacks on paths, and the queries that run behind a rollback.
//!
//! A call whose SQL may be one of several texts is taken with each of them, or with the one that a
//! condition chooses on the path. The SQL of a function's
//! parameter is known at the function's calls only: a path through the function notes that it has
//! run the parameter.

use std::collections::{BTreeMap, BTreeSet};

use super::{Outcome, State, evaluate::At};
use crate::{
    api::Role,
    flow::{
        Flow,
        access::{Effects, QueryCall, Sql, variable},
        graph::{NodeIndex, NodeKind},
        summary::Summary,
    },
    ir::{Expression, ExpressionKind as Kind, Scope, VariableIndex},
};

/// The last begin or rollback of a path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
enum Last {
    /// It has passed none.
    #[default]
    None,
    Begin,
    Rollback,
}

/// The knowledge that a path gives of the transaction.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(super) struct Progress {
    last: Last,
    /// True if it has run a query or a commit before any begin or rollback.
    runs: bool,
    /// True if it has run a query or a commit behind a rollback, without a begin in between.
    goes_on: bool,
    /// True if it has committed, or has run a text that is not known, before any rollback.
    may_have_committed: bool,
    /// The parameters of the function that it has run as SQL, or as a prepared statement if the
    /// second is true.
    parameters: BTreeSet<(VariableIndex, bool)>,
}

impl Progress {
    /// Records what a call does.
    fn pass(&mut self, role: Role) {
        match role {
            Role::Begin => self.last = Last::Begin,
            Role::Rollback => self.last = Last::Rollback,
            Role::Commit => {
                self.may_have_committed |= self.last != Last::Rollback;
                self.run();
            }
            Role::Query | Role::Barrier => self.run(),
            Role::Prepare | Role::None => {}
        }
    }

    /// Records that a query or a commit runs.
    fn run(&mut self) {
        match self.last {
            Last::None => self.runs = true,
            Last::Rollback => self.goes_on = true,
            Last::Begin => {}
        }
    }
}

impl State {
    /// Returns true if the path has rolled back, and has not begun a transaction since.
    fn has_rolled_back(&self) -> bool {
        self.progress.last == Last::Rollback
    }

    /// Returns true if the path has rolled back and nothing of the transaction is left: no text of
    /// it may have committed before.
    pub(crate) fn is_undone(&self) -> bool {
        let Progress { may_have_committed, parameters, .. } = &self.progress;
        self.has_rolled_back() && !may_have_committed && parameters.is_empty()
    }

    /// Returns the state behind a rollback.
    pub(super) fn rolled_back(mut self) -> State {
        self.progress.pass(Role::Rollback);
        self
    }
}

impl<'a> Flow<'a, '_> {
    /// Returns true if a query of a node may roll back, or if the node may show that the server
    /// has.
    pub(crate) fn may_roll_back(&self, node: NodeIndex) -> bool {
        let Effects { queries, asks_open, .. } = &self.effects[node];
        !asks_open.is_empty()
            || queries.iter().any(|one| self.may_have_role(one, node, Role::Rollback))
    }

    /// Returns true if a query of a node may commit, as one whose text is not known.
    pub(crate) fn may_commit(&self, node: NodeIndex) -> bool {
        self.effects[node].queries.iter().any(|one| {
            let roles = self.roles_of(one, node);
            roles.is_empty() || roles.contains(&Role::Commit)
        })
    }

    /// Returns true if a node rolls back whenever control passes it.
    pub(crate) fn surely_rolls_back(&self, node: NodeIndex) -> bool {
        if !self.may_roll_back(node) {
            return false;
        }
        let start = State::with(BTreeMap::new());
        let states = match self.graph.nodes[node].kind {
            NodeKind::Outcome { condition, holds, .. } => match self.expression_of(condition) {
                Some(tested) => {
                    let truths = self.truths_at(condition, tested, start).into_iter();
                    truths.filter(|(truth, _)| *truth == holds).map(|(_, state)| state).collect()
                }
                None => Vec::new(),
            },
            _ => self.states_behind(node, start),
        };
        !states.is_empty() && states.iter().all(State::is_undone)
    }

    /// Returns true if a path from the first of some nodes may roll back, and then run a query or
    /// commit, at a node for which `counts` is true, without a begin in between.
    ///
    /// **Safe because** a path that has not rolled back is followed within the nodes, and one that
    /// has until it begins a transaction. A rollback that no path from the first node passes is
    /// taken as one behind which control goes on, as are all of too many paths.
    pub(crate) fn goes_on_behind_rollback(
        &self,
        own: &[NodeIndex],
        counts: &dyn Fn(NodeIndex) -> bool,
    ) -> bool {
        let mut rollbacks = own.iter().copied().filter(|&node| self.may_roll_back(node));
        // Most rollbacks stand at the end of the function.
        if !rollbacks.clone().any(|node| self.may_go_on_behind(node, counts)) {
            return false;
        }
        let follows =
            |node: NodeIndex, state: &State| own.contains(&node) || state.has_rolled_back();
        let Some(states) = self.paths(vec![(own[0], self.state_at(own[0]))], &follows) else {
            return true;
        };
        let is_followed = |node: NodeIndex| {
            let mut before = states.get(&node).into_iter().flatten();
            before.any(|one| {
                let behind = self.states_behind(node, one.clone());
                behind.iter().any(|state| state.progress.last != Last::None)
            })
        };
        if !rollbacks.all(is_followed) {
            return true;
        }
        let goes_on = |node: NodeIndex, state: &State| {
            let mut state = state.clone();
            state.progress.goes_on = false;
            self.states_behind(node, state).iter().any(|state| state.progress.goes_on)
        };
        states
            .iter()
            .any(|(&node, before)| counts(node) && before.iter().any(|state| goes_on(node, state)))
    }

    /// Returns true if a query or a commit may run with a rollback of a node or behind it, if
    /// each condition may hold or not.
    fn may_go_on_behind(&self, rollback: NodeIndex, counts: &dyn Fn(NodeIndex) -> bool) -> bool {
        let runs = |node: NodeIndex| {
            let mut queries = self.effects[node].queries.iter();
            counts(node) && queries.any(|one| self.role_of(one, node) != Role::Rollback)
        };
        let begins = |node: NodeIndex| {
            let mut queries = self.effects[node].queries.iter();
            queries.any(|one| self.role_of(one, node) == Role::Begin)
        };
        if runs(rollback) {
            return true;
        }
        let mut seen = vec![false; self.graph.nodes.len()];
        let mut open = self.graph.nodes[rollback].successors.clone();
        while let Some(node) = open.pop() {
            if std::mem::replace(&mut seen[node], true) || begins(node) {
                continue;
            }
            if runs(node) {
                return true;
            }
            open.extend(&self.graph.nodes[node].successors);
        }
        false
    }

    /// Returns the states behind the evaluation of a node.
    pub(crate) fn states_behind(&self, node: NodeIndex, state: State) -> Vec<State> {
        match self.graph.nodes[node].kind {
            NodeKind::Return(Some(value)) => {
                let values = self.values_at(node, value, state).into_iter();
                values.map(|(_, state)| state).collect()
            }
            NodeKind::Return(None) | NodeKind::Throw(_) => vec![state],
            _ => self.behind(node, state),
        }
    }

    /// Returns the roles of an argument that a function runs as SQL or as a prepared statement;
    /// none if they are not known.
    fn roles_of_argument(
        &self,
        argument: &'a Expression,
        statement: bool,
        node: NodeIndex,
    ) -> BTreeSet<Role> {
        let sql = if statement { Sql::Statement(argument) } else { Sql::Expression(argument) };
        let is_its = |query: &&QueryCall<'a>| match query.sql {
            Sql::Expression(one) | Sql::Statement(one) => std::ptr::eq(one, argument),
            _ => false,
        };
        let nodes = self.graph.nodes[node].successors.iter().chain([&node]);
        let mut queries = nodes.flat_map(|&node| &self.effects[node].queries);
        let own = queries.find(is_its).map_or(0..0, |query| query.own.clone());
        self.roles_of_texts(&sql, node, &own).into_iter().collect()
    }
}

impl<'a> At<'_, 'a, '_> {
    /// Returns the states behind a call that a model describes.
    pub(super) fn behind_call(&self, call: &'a Expression, state: State) -> Vec<State> {
        let mut queries = self.flow.effects[self.node].queries.iter();
        let is_its = |query: &&QueryCall<'a>| std::ptr::eq(query.expression, call);
        let Some(query) = queries.find(is_its) else { return vec![state] };
        let (sql, statement) = match query.sql {
            Sql::Expression(sql) if query.model.role == Role::Query => {
                return self.behind_text(sql, false, state);
            }
            Sql::Expression(sql) => (Some(sql), false),
            Sql::Statement(sql) => (Some(sql), true),
            _ => (None, false),
        };
        let roles: BTreeSet<Role> = self.flow.roles_of(query, self.node).into_iter().collect();
        self.behind_roles(&roles, sql, statement, state)
    }

    /// Returns the states behind a query that an expression has the text or the statement of: the
    /// one that a condition without an effect chooses.
    fn behind_text(&self, sql: &'a Expression, statement: bool, state: State) -> Vec<State> {
        match &sql.kind {
            Kind::Conditional(condition, yes, no) if !has_effect(condition) => {
                let truths = self.truths(condition, state).into_iter();
                let behind = truths.flat_map(|(truth, state)| {
                    self.behind_text(if truth { yes } else { no }, statement, state)
                });
                behind.collect()
            }
            _ => {
                let roles = self.flow.roles_of_argument(sql, statement, self.node);
                self.behind_roles(&roles, Some(sql), statement, state)
            }
        }
    }

    /// Returns the states behind a query that has one of some roles. If they are not known, and it
    /// runs a parameter, the function's callers know them.
    fn behind_roles(
        &self,
        roles: &BTreeSet<Role>,
        sql: Option<&'a Expression>,
        statement: bool,
        mut state: State,
    ) -> Vec<State> {
        if roles.is_empty() {
            let text = sql.and_then(|sql| variable(sql).or_else(|| self.flow.copied(sql)));
            let parameter = text
                .filter(|&one| self.flow.around.program.variable(one).scope == Scope::Parameter);
            match (parameter, state.progress.last) {
                (Some(parameter), last) => {
                    state.progress.parameters.insert((parameter, statement));
                    state.progress.goes_on |= last == Last::Rollback;
                }
                (None, last) => {
                    state.progress.may_have_committed |= last != Last::Rollback;
                    state.progress.run();
                }
            }
            return vec![state];
        }
        let behind = roles.iter().map(|&role| {
            let mut state = state.clone();
            state.progress.pass(role);
            state
        });
        behind.collect()
    }

    /// Returns the states behind a call of a function that ends with an outcome.
    pub(super) fn behind_function(
        &self,
        summary: &Summary<'a>,
        outcome: &Outcome,
        arguments: &'a [Expression],
        mut state: State,
    ) -> Vec<State> {
        let inner = &outcome.progress;
        if inner.runs {
            state.progress.run();
        }
        state.progress.goes_on |= inner.goes_on;
        state.progress.may_have_committed |= inner.may_have_committed && !state.has_rolled_back();
        let start = vec![state];
        let run = inner.parameters.iter().fold(start, |states, &(parameter, statement)| {
            let number = summary.parameters.iter().position(|&one| one == parameter);
            let argument = number.and_then(|number| arguments.get(number));
            let behind = |one: State| match argument {
                Some(argument) => self.behind_text(argument, statement, one),
                None => self.behind_roles(&BTreeSet::new(), None, statement, one),
            };
            states.into_iter().flat_map(behind).collect()
        });
        let mut run: Vec<State> = run;
        for state in &mut run {
            // Whether the parameter ran before or behind is not known: a rollback counts.
            if inner.last == Last::Rollback || inner.last == Last::Begin && !state.has_rolled_back()
            {
                state.progress.last = inner.last;
            }
        }
        run
    }

    /// Returns the states behind a call of a function with too many paths.
    pub(super) fn behind_unknown_paths(&self, state: State) -> Vec<State> {
        let mut states = vec![state.clone()];
        if self.flow.may_roll_back(self.node) {
            let mut undone = state;
            undone.progress.pass(Role::Rollback);
            undone.progress.goes_on = true;
            states.push(undone);
        }
        states
    }
}

/// Returns true if the evaluation of an expression may change something.
fn has_effect(expression: &Expression) -> bool {
    let mut found = false;
    expression.walk(&mut |inner| {
        found |= matches!(
            inner.kind,
            Kind::Call { .. }
                | Kind::Construct(..)
                | Kind::Assign { .. }
                | Kind::Increment(..)
                | Kind::Opaque(_)
        );
    });
    found
}
