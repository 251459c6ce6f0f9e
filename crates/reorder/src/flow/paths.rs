//! The paths through a function, each with the values of its integer variables and what it shows
//! about the last query.
//!
//! A condition that a path decides is not taken the other way: behind `rc = -3`, `if (rc != 0)`
//! holds. A function of the file is taken with each of its outcomes: a number and what it shows.
//!
//! A path also shows whether the transaction was rolled back on it ([`transaction`]).
//!
//! A variable is followed if its address is nowhere taken and it is an `int`, a `long`, a truth
//! value or an enumeration. A node that writes it other than by the assignment that the node
//! consists of leaves it unknown. So a path leaves out only what no execution does.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use super::{
    Flow,
    access::AccessKind,
    graph::{NodeIndex, NodeKind},
    number::{self, Number},
    place::{Place, Root},
};
use crate::{
    api::Role,
    ir::{Expression, Scope, VariableIndex},
};

mod evaluate;
mod transaction;

use transaction::Progress;

/// The states after which the paths are too many.
const MOST_STATES: usize = 2000;

/// The answer of the last query that a path has run, as far as the path shows it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Answer {
    /// It has run none, and no status.
    None,
    /// Nothing.
    Open,
    /// The query has succeeded.
    Succeeded,
    /// A query has failed.
    Failed,
}

/// The knowledge that a path gives at a point.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct State {
    /// Shared by the paths that know the same.
    numbers: Arc<BTreeMap<VariableIndex, Number>>,
    /// The answer of the last query.
    pub(crate) answer: Answer,
    /// True if it has gone on behind a query without showing that the query has succeeded.
    pub(crate) passes_unchecked: bool,
    /// True if the success of the last query was a row.
    has_row: bool,
    /// True if the last query has failed and no condition could show it that the path has left
    /// open: the number that shows it is known, or nothing keeps it.
    failure_is_decided: bool,
    /// True if it has gone on to another query behind such a failure.
    passes_failure: bool,
    /// The node of the last query.
    pub(crate) query: Option<NodeIndex>,
    /// The begin, the rollbacks and the queries of the path.
    progress: Progress,
}

impl State {
    fn with(numbers: BTreeMap<VariableIndex, Number>) -> State {
        State {
            numbers: Arc::new(numbers),
            answer: Answer::None,
            has_row: false,
            passes_unchecked: false,
            failure_is_decided: false,
            passes_failure: false,
            query: None,
            progress: Progress::default(),
        }
    }

    /// Returns the state behind code that writes some variables.
    pub(crate) fn without(&self, written: &BTreeSet<VariableIndex>) -> State {
        let mut state = self.clone();
        state.keep(|one| !written.contains(&one));
        state
    }

    /// Forgets the numbers of all variables but those for which `is_kept` is true.
    fn keep(&mut self, is_kept: impl Fn(VariableIndex) -> bool) {
        if !self.numbers.keys().all(|&one| is_kept(one)) {
            Arc::make_mut(&mut self.numbers).retain(|&one, _| is_kept(one));
        }
    }

    /// Returns the state of which nothing is known.
    pub(crate) fn unknown() -> State {
        State::with(BTreeMap::new())
    }

    /// Returns the number that a variable certainly has.
    pub(crate) fn constant(&self, variable: VariableIndex) -> Option<i64> {
        match self.numbers.get(&variable)? {
            Number::Is(number) => Some(*number),
            _ => None,
        }
    }

    /// Returns true if a query of the path has certainly failed, though the path goes on.
    pub(crate) fn hides_failure(&self) -> bool {
        self.passes_failure || self.answer == Answer::Failed && self.failure_is_decided
    }

    /// Returns true if all queries of the path have certainly succeeded.
    pub(crate) fn has_succeeded(&self) -> bool {
        self.answer == Answer::Succeeded && !self.passes_unchecked
    }
}

/// A result of a function, with what it shows about the function's queries.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Outcome {
    number: Number,
    answer: Answer,
    has_row: bool,
    passes_unchecked: bool,
    passes_failure: bool,
    progress: Progress,
}

/// The states in front of nodes.
pub(crate) type States = BTreeMap<NodeIndex, BTreeSet<State>>;

impl<'a> Flow<'a, '_> {
    /// Returns the outcomes of the function; `None` if there are too many paths.
    pub(super) fn outcomes(&self) -> Option<BTreeSet<Outcome>> {
        // Paths that differ in a number that is not read again are one: there may be many.
        let live = self.live();
        let enter = |node: NodeIndex, mut state: State| {
            state.keep(|variable| live[node].contains(&variable));
            state
        };
        let states = self.explore(vec![(0, State::unknown())], &|_, _| true, &enter)?;
        let mut outcomes = BTreeSet::new();
        for (node, states) in states {
            let point = &self.graph.nodes[node];
            if !point.successors.is_empty() || matches!(point.kind, NodeKind::Throw(_)) {
                continue;
            }
            for state in states {
                let values = match point.kind {
                    NodeKind::Return(Some(value)) => self.values_at(node, value, state),
                    _ => vec![(Number::any(), state)],
                };
                outcomes.extend(values.into_iter().map(|(number, state)| Outcome {
                    number,
                    answer: state.answer,
                    has_row: state.has_row,
                    passes_unchecked: state.passes_unchecked,
                    passes_failure: state.passes_failure,
                    progress: state.progress,
                }));
            }
        }
        (outcomes.len() <= MOST_STATES).then_some(outcomes)
    }

    /// Returns the state in which control comes to a node: of the variables, what all writes that
    /// reach the node have stored.
    pub(crate) fn state_at(&self, node: NodeIndex) -> State {
        let written: BTreeSet<VariableIndex> =
            self.definitions.all.iter().filter_map(|one| one.place.variable()).collect();
        let known = written
            .into_iter()
            .filter(|&variable| self.follows(variable))
            .filter_map(|variable| Some((variable, self.stored_at(variable, node)?)));
        State::with(known.collect())
    }

    /// Returns the number that a variable has in front of a node, if it is known.
    fn stored_at(&self, variable: VariableIndex, node: NodeIndex) -> Option<Number> {
        let place = Place::whole(Root::Variable(variable));
        let reaching = self.reaching(node, &place);
        let stored = reaching.into_iter().map(|one| &self.definitions.all[one]);
        let constant = |value: &'a Expression| self.around.program.integer(value);
        let stored: Option<BTreeSet<i64>> = stored
            .map(|one| one.value.filter(|_| one.strong && one.place == place).and_then(constant))
            .collect();
        let ty = &self.around.program.variable(variable).ty;
        let number = match stored?.into_iter().collect::<Vec<_>>()[..] {
            [] => return None,
            [one] => Number::Is(one),
            ref all if all.iter().all(|&one| one != 0) => Number::not_zero(),
            _ => return None,
        };
        Some(number.converted(ty))
    }

    /// Follows the paths from some nodes, and returns the states in front of each node that they
    /// reach. They end at nodes and states for which `goes_on` is false. `None` if there are too
    /// many.
    pub(crate) fn paths(
        &self,
        from: Vec<(NodeIndex, State)>,
        goes_on: &dyn Fn(NodeIndex, &State) -> bool,
    ) -> Option<States> {
        self.explore(from, goes_on, &|_, state| state)
    }

    /// Follows the paths like [`Flow::paths`]. `enter` may take knowledge from the state in which a
    /// path comes to a node.
    fn explore(
        &self,
        from: Vec<(NodeIndex, State)>,
        goes_on: &dyn Fn(NodeIndex, &State) -> bool,
        enter: &dyn Fn(NodeIndex, State) -> State,
    ) -> Option<States> {
        let (mut open, mut states, mut count) = (from, States::new(), 0);
        while let Some((node, state)) = open.pop() {
            let state = enter(node, state);
            if !states.entry(node).or_default().insert(state.clone()) {
                continue;
            }
            count += 1;
            if count > MOST_STATES {
                return None;
            }
            if goes_on(node, &state) {
                open.extend(self.steps(node, state));
            }
        }
        Some(states)
    }

    /// Returns the nodes that may come behind a node in a state, each with the state then.
    pub(crate) fn steps(&self, node: NodeIndex, state: State) -> Vec<(NodeIndex, State)> {
        let successors = &self.graph.nodes[node].successors;
        let is_outcome = |&next: &NodeIndex| match self.graph.nodes[next].kind {
            NodeKind::Outcome { condition, .. } => condition == node,
            _ => false,
        };
        if let NodeKind::Evaluate(condition) = self.graph.nodes[node].kind
            && !successors.is_empty()
            && successors.iter().all(is_outcome)
        {
            let truths = self.truths_at(node, condition, state);
            let leads = |truth: bool| {
                successors.iter().copied().filter(move |&next| {
                    matches!(self.graph.nodes[next].kind,
                        NodeKind::Outcome { holds, .. } if holds == truth)
                })
            };
            let next = truths.into_iter().flat_map(|(truth, state)| {
                leads(truth).map(move |next| (next, state.clone())).collect::<Vec<_>>()
            });
            return next.collect();
        }
        let states = self.behind(node, state);
        let next = states
            .into_iter()
            .flat_map(|state| successors.iter().map(move |&next| (next, state.clone())));
        next.collect()
    }

    /// Returns the states behind a node that decides nothing.
    fn behind(&self, node: NodeIndex, mut state: State) -> Vec<State> {
        match self.graph.nodes[node].kind {
            NodeKind::Evaluate(expression) => {
                let values = self.values_of_statement(node, expression, state);
                values.into_iter().map(|(_, state)| state).collect()
            }
            NodeKind::Declare(declaration) => {
                let initial = declaration.initial.as_ref();
                let initial = initial.filter(|_| !self.around.is_kept(declaration));
                let Some(initial) = initial else {
                    state.keep(|one| one != declaration.variable);
                    return vec![state];
                };
                let before = state.answer;
                let values = self.values_at(node, initial, state);
                let stored = self.stored(declaration.variable, values, before);
                stored.into_iter().map(|(_, state)| state).collect()
            }
            NodeKind::Opaque(_) => {
                state.keep(|_| false);
                vec![state]
            }
            NodeKind::Return(_) | NodeKind::Throw(_) => Vec::new(),
            NodeKind::Outcome { .. } | NodeKind::Nothing => vec![state],
        }
    }

    fn set(&self, state: &mut State, variable: VariableIndex, number: Number) {
        let number = number.converted(&self.around.program.variable(variable).ty);
        if self.follows(variable) && number != Number::any() {
            Arc::make_mut(&mut state.numbers).insert(variable, number);
        } else {
            state.keep(|one| one != variable);
        }
    }

    /// Returns true if only assignments to a variable by its name change it.
    fn follows(&self, variable: VariableIndex) -> bool {
        let one = self.around.program.variable(variable);
        matches!(one.scope, Scope::Local | Scope::Parameter)
            && number::is_followed(&one.ty)
            && !one.volatile
            && !self.is_escaped(variable)
    }

    /// Returns true if all queries of a node roll back.
    pub(crate) fn rolls_back(&self, node: NodeIndex) -> bool {
        let queries = &self.effects[node].queries;
        !queries.is_empty() && queries.iter().all(|one| self.role_of(one, node) == Role::Rollback)
    }

    /// Returns the variables that a node writes.
    pub(crate) fn written_variables(
        &self,
        node: NodeIndex,
    ) -> impl Iterator<Item = VariableIndex> + '_ {
        let writes = self.effects[node].accesses.iter().filter(|one| one.kind != AccessKind::Read);
        writes.filter_map(|one| one.place.variable())
    }

    /// Returns the variables that a node writes, except the one that it declares.
    fn written(&self, node: NodeIndex) -> impl Iterator<Item = VariableIndex> + '_ {
        let declared = match self.graph.nodes[node].kind {
            NodeKind::Declare(declaration) => Some(declaration.variable),
            _ => None,
        };
        self.written_variables(node).filter(move |&one| Some(one) != declared)
    }
}
