//! What the reads leave open, and a search for a way to settle it without a cycle.
//!
//! A choice is a list of alternatives, each a set of edges; one of them must hold. An alternative
//! that would close a cycle is out; if one is left its edges are added, which may rule out others,
//! until nothing changes. Real time leaves little open after that. For the rest an order of the
//! graph is made and choices are settled as that order suggests; only where no alternative agrees
//! with it does the search branch.
//!
//! The closure takes a quarter of a byte for each two transactions, 64 MiB for 16,000, and each
//! state to come back to has one. What the budget has no room for is not looked into: choices that
//! were not even written down, or the whole search.

use crate::history::Transaction;

use super::{
    budget::Budget,
    closure::Closure,
    graph::{Edge, EdgeKind, Graph},
};

/// Branches that the search tries before it gives up.
const BRANCHES_MAX: usize = 400;

/// Alternatives, one of which must hold.
#[derive(Clone)]
pub(super) struct Choice {
    pub(super) alternatives: Vec<Vec<Edge>>,
}

impl Choice {
    fn bytes(&self) -> usize {
        let edges: usize = self.alternatives.iter().map(Vec::capacity).sum();
        let lists = size_of::<Choice>() + self.alternatives.capacity() * size_of::<Vec<Edge>>();
        lists + edges * size_of::<Edge>() + ALLOCATION_BYTES * (1 + self.alternatives.len())
    }
}

/// What the allocator keeps for itself of each piece of memory, and rounds up, on average.
const ALLOCATION_BYTES: usize = 16;

/// The choices that were met, as far as the budget goes.
pub(super) struct Open<'a> {
    budget: &'a mut Budget,
    choices: Vec<Choice>,
    left_out: usize,
}

impl<'a> Open<'a> {
    pub(super) fn new(budget: &'a mut Budget) -> Open<'a> {
        Open { budget, choices: Vec::new(), left_out: 0 }
    }

    /// Adds a choice, or counts it if there is no memory for it.
    pub(super) fn add(&mut self, choice: Choice) {
        // The search works on a copy.
        if self.budget.take(2 * choice.bytes()) {
            self.choices.push(choice);
        } else {
            self.left_out += 1;
        }
    }

    /// The choices, and the number of those that were left out.
    pub(super) fn finish(self) -> (Vec<Choice>, usize) {
        (self.choices, self.left_out)
    }
}

/// What came of the search.
pub(super) enum Outcome {
    /// Some alternatives have no cycle.
    Possible,
    /// The search gave up with this many choices open.
    Undecided(usize),
    /// Whatever is chosen there is a cycle; a graph with one.
    Impossible(Box<Graph>),
}

/// Settles `open` in `graph`, which has no cycle. The budget has paid for `open`, and for a copy.
pub(super) fn solve(
    graph: &Graph,
    open: Vec<Choice>,
    transactions: &[Transaction],
    budget: &mut Budget,
) -> Outcome {
    if open.is_empty() {
        return Outcome::Possible;
    }
    if !budget.take(Closure::bytes(graph) + graph.bytes()) {
        return Outcome::Undecided(open.len());
    }
    let Some(order) = graph.order(|_| 0) else {
        return Outcome::Impossible(Box::new(graph.clone()));
    };
    let state = State { graph: graph.clone(), closure: Closure::new(graph, &order), open };
    // Mostly the first alternative will do, and then nothing need be kept to come back to.
    let copy = Closure::bytes(graph) + graph.bytes();
    if budget.take(copy) {
        let bold = Search { transactions, budget, branches: 0, bold: true }.settle(state.clone());
        budget.give(copy);
        if matches!(bold, Outcome::Possible) {
            return Outcome::Possible;
        }
    }
    Search { transactions, budget, branches: 0, bold: false }.settle(state)
}

/// A graph without cycles, who reaches whom in it, and what is open.
#[derive(Clone)]
struct State {
    graph: Graph,
    closure: Closure,
    open: Vec<Choice>,
}

struct Search<'a> {
    transactions: &'a [Transaction],
    budget: &'a mut Budget,
    branches: usize,
    /// Tries one alternative of each choice only; finding no way means nothing then.
    bold: bool,
}

impl Search<'_> {
    fn settle(&mut self, mut state: State) -> Outcome {
        loop {
            match state.rule_out() {
                Round::Changed => {}
                Round::Stable => break,
                Round::Cycle => return Outcome::Impossible(Box::new(state.graph)),
            }
        }
        let invoked = |node: usize| self.transactions.get(node).map_or(0, |t| t.invoked);
        let Some(order) = state.graph.order(invoked) else {
            return Outcome::Impossible(Box::new(state.graph));
        };
        let mut place = vec![0; state.graph.node_count()];
        order.iter().enumerate().for_each(|(at, &node)| place[node] = at);
        let agrees = |edges: &Vec<Edge>| edges.iter().all(|edge| place[edge.from] < place[edge.to]);
        let disputed = |choice: &Choice| !choice.alternatives.iter().any(agrees);
        let Some(at) = state.open.iter().position(disputed) else { return Outcome::Possible };
        let choice = state.open.swap_remove(at);
        self.branch(state, choice)
    }

    /// Tries each alternative of `choice`.
    fn branch(&mut self, mut state: State, mut choice: Choice) -> Outcome {
        while let Some(alternative) = choice.alternatives.pop() {
            self.branches += 1;
            let last = self.bold || choice.alternatives.is_empty();
            let copy = if last { 0 } else { state.bytes() };
            if self.branches > BRANCHES_MAX || !self.budget.take(copy) {
                return Outcome::Undecided(state.open.len() + 1);
            }
            let mut tried = if last { state.take() } else { state.clone() };
            let outcome = match tried.add(&alternative) {
                true => self.settle(tried),
                false => Outcome::Impossible(Box::new(tried.graph)),
            };
            self.budget.give(copy);
            if last || !matches!(outcome, Outcome::Impossible(_)) {
                return outcome;
            }
        }
        Outcome::Impossible(Box::new(state.graph))
    }
}

/// How a round of ruling out ended.
enum Round {
    Changed,
    Stable,
    Cycle,
}

impl State {
    /// What a copy takes.
    fn bytes(&self) -> usize {
        let choices: usize = self.open.iter().map(Choice::bytes).sum();
        Closure::bytes(&self.graph) + self.graph.bytes() + choices
    }

    /// Leaves an empty one behind.
    fn take(&mut self) -> State {
        let empty = Graph::new(0);
        let closure = Closure::new(&empty, &[]);
        std::mem::replace(self, State { graph: empty, closure, open: Vec::new() })
    }

    fn closes(&self, edge: &Edge) -> bool {
        edge.from == edge.to || self.closure.reaches(edge.to, edge.from)
    }

    fn holds(&self, edge: &Edge) -> bool {
        self.closure.reaches(edge.from, edge.to)
    }

    /// Adds edges; false, with all of them in the graph, if they close a cycle.
    fn add(&mut self, edges: &[Edge]) -> bool {
        let mut sound = true;
        for edge in edges {
            if self.closes(edge) {
                sound = false;
                self.graph.add(*edge);
            } else if !self.holds(edge) {
                self.graph.add(*edge);
                self.closure.insert(edge.from, edge.to);
            }
        }
        sound
    }

    /// One round: drops alternatives that close a cycle, and settles choices that have one left.
    fn rule_out(&mut self) -> Round {
        let mut changed = false;
        for mut choice in std::mem::take(&mut self.open) {
            let all = std::mem::take(&mut choice.alternatives);
            let (out, left): (Vec<_>, Vec<_>) =
                all.into_iter().partition(|edges| edges.iter().any(|edge| self.closes(edge)));
            match &left[..] {
                [] => {
                    let least = out.into_iter().rev().min_by_key(|edges| self.wrongness(edges));
                    self.add(&least.unwrap_or_default());
                    return Round::Cycle;
                }
                left if left.iter().any(|edges| edges.iter().all(|edge| self.holds(edge))) => {}
                [only] => {
                    changed = true;
                    if !self.add(only) {
                        return Round::Cycle;
                    }
                }
                _ => self.open.push(Choice { alternatives: left }),
            }
        }
        if changed { Round::Changed } else { Round::Stable }
    }

    /// How much is wrong with an alternative. The least wrong one shows best what happened: most
    /// often that a read missed something.
    fn wrongness(&self, edges: &[Edge]) -> (usize, usize) {
        let wrong = edges.iter().filter(|edge| self.closes(edge));
        let read = |edge: &&Edge| edge.kind == EdgeKind::WriteRead;
        (wrong.clone().count(), wrong.filter(read).count())
    }
}
