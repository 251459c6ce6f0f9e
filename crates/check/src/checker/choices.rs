//! Choices that the reads leave open, and a search for a combination without a cycle.
//!
//! A choice is a list of alternatives, each of which is a set of edges; one of the alternatives
//! must hold. An alternative that would close a cycle is ruled out. If one alternative is left, its
//! edges are added, which may rule out others; this repeats until nothing changes. Real time leaves
//! few choices open after that. For the rest, the search computes an order of the graph and decides
//! choices as that order suggests; it branches only where no alternative agrees with the order.
//!
//! The closure takes a quarter of a byte for each pair of transactions, 64 MiB for 16,000, and each
//! state to backtrack to has one. What exceeds the budget is left undecided: choices that were not
//! even recorded, or the whole search.

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

/// Average overhead of the allocator for each allocation, rounding included.
const ALLOCATION_BYTES: usize = 16;

/// The choices found so far, within the budget.
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
        // Twice: the search works on a copy.
        if self.budget.take(2 * choice.bytes()) {
            self.choices.push(choice);
        } else {
            self.left_out += 1;
        }
    }

    /// Returns the choices, and the number of choices that were left out.
    pub(super) fn finish(self) -> (Vec<Choice>, usize) {
        (self.choices, self.left_out)
    }
}

/// The result of the search.
pub(super) enum Outcome {
    /// Some combination of alternatives has no cycle.
    Possible,
    /// The search gave up with this many choices open.
    Undecided(usize),
    /// Every combination has a cycle; holds a graph with one.
    Impossible(Box<Graph>),
}

/// Decides the choices in `open` on `graph`, which has no cycle. The budget already covers `open`
/// and a copy of it.
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
    // The first alternative usually works, and then no state to backtrack to is needed.
    let copy = Closure::bytes(graph) + graph.bytes();
    if budget.take(copy) {
        let bold = Search { transactions, budget, branches: 0, bold: true }.decide(state.clone());
        budget.give(copy);
        if matches!(bold, Outcome::Possible) {
            return Outcome::Possible;
        }
    }
    Search { transactions, budget, branches: 0, bold: false }.decide(state)
}

/// A graph without cycles, its transitive closure, and the open choices.
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
    /// Tries only one alternative of each choice; a failure then proves nothing.
    bold: bool,
}

impl Search<'_> {
    fn decide(&mut self, mut state: State) -> Outcome {
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
                true => self.decide(tried),
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

/// The result of one round of ruling out alternatives.
enum Round {
    Changed,
    Stable,
    Cycle,
}

impl State {
    /// The size of a copy in bytes.
    fn bytes(&self) -> usize {
        let choices: usize = self.open.iter().map(Choice::bytes).sum();
        Closure::bytes(&self.graph) + self.graph.bytes() + choices
    }

    /// Takes the state and leaves an empty one.
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

    /// Adds edges. Returns false if they close a cycle; all of them are in the graph then.
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

    /// Runs one round: drops alternatives that close a cycle, and decides choices with one
    /// alternative left.
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

    /// Measures how much is wrong with an alternative. The least wrong one shows best what
    /// happened, which is most often that a read missed something.
    fn wrongness(&self, edges: &[Edge]) -> (usize, usize) {
        let wrong = edges.iter().filter(|edge| self.closes(edge));
        let read = |edge: &&Edge| edge.kind == EdgeKind::WriteRead;
        (wrong.clone().count(), wrong.filter(read).count())
    }
}
