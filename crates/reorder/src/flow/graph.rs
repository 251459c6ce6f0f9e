//! The control flow of a function: one node for each expression that is evaluated as a whole.
//!
//! A node's successors are the nodes that may come next. A `return`, a `throw` and the end of the
//! function have none. A statement that the front end does not represent is a node with the reason.

use std::collections::BTreeSet;

use std::collections::BTreeMap;

use super::test::Test;
use crate::{
    ir::{Declaration, Expression, ExpressionKind, LoopForm, Program, Statement, StatementKind},
    source::Range,
};

/// A node, by its place in [`Graph::nodes`]; in the order of the source.
pub type NodeIndex = usize;

/// A point of the function.
#[derive(Debug)]
pub struct Node<'a> {
    /// The range of the statement that it belongs to.
    pub range: Range,
    /// The action of the node.
    pub kind: NodeKind<'a>,
    /// The nodes that may come next.
    pub successors: Vec<NodeIndex>,
}

/// The action of a node.
#[derive(Clone, Copy, Debug)]
pub enum NodeKind<'a> {
    /// The evaluation of an expression statement, or of a condition.
    Evaluate(&'a Expression),
    /// The declaration of one variable.
    Declare(&'a Declaration),
    /// The end of the function, with its value.
    Return(Option<&'a Expression>),
    /// An exception.
    Throw(Option<&'a Expression>),
    /// The point behind a condition, where its outcome is known.
    Outcome {
        /// The node of the condition.
        condition: NodeIndex,
        /// True if it holds.
        holds: bool,
        /// The test of a call that it is.
        test: Option<Test<'a>>,
    },
    /// Nothing: a label, a jump, an empty statement.
    Nothing,
    /// Something that the front end does not represent.
    Opaque(&'a str),
}

/// The control flow of a function.
#[derive(Debug)]
pub struct Graph<'a> {
    /// The nodes; the first is the entry.
    pub nodes: Vec<Node<'a>>,
}

impl<'a> Graph<'a> {
    /// Returns the control flow of the body of a function of a program.
    pub fn of(body: &'a Statement, program: &'a Program) -> Graph<'a> {
        let mut builder = Builder {
            program,
            nodes: Vec::new(),
            labels: BTreeMap::new(),
            gotos: Vec::new(),
            breaks: Vec::new(),
            continues: Vec::new(),
        };
        let entry = builder.node(body.range, NodeKind::Nothing, &[]);
        let open = builder.statement(body, vec![entry]);
        let end = Range::new(body.range.end, body.range.end);
        builder.node(end, NodeKind::Nothing, &open);
        builder.connect_jumps();
        Graph { nodes: builder.nodes }
    }

    /// Returns the nodes whose statements lie within a range.
    pub fn within(&self, range: Range) -> impl Iterator<Item = NodeIndex> + '_ {
        let inside = move |(_, node): &(usize, &Node)| range.contains(node.range);
        self.nodes.iter().enumerate().skip(1).filter(inside).map(|(index, _)| index)
    }

    /// Returns the test whose outcomes follow a node.
    pub(super) fn tested(&self, node: NodeIndex) -> Option<Test<'a>> {
        let next = *self.nodes[node].successors.first()?;
        match self.nodes[next].kind {
            NodeKind::Outcome { test, condition, .. } if condition == node => test,
            _ => None,
        }
    }

    /// Returns the nodes that control reaches from `from`, without `from` itself unless a loop
    /// leads back to it.
    pub fn reachable(&self, from: NodeIndex) -> Vec<bool> {
        let mut reached = vec![false; self.nodes.len()];
        let mut open = self.nodes[from].successors.clone();
        while let Some(node) = open.pop() {
            if !std::mem::replace(&mut reached[node], true) {
                open.extend(&self.nodes[node].successors);
            }
        }
        reached
    }

    /// Returns true if each path from a node to another one that does not come back to the first
    /// passes one of some others: from the condition of a loop, each path of the same iteration.
    pub(crate) fn passes(&self, from: NodeIndex, node: NodeIndex, others: &[NodeIndex]) -> bool {
        let (mut open, mut seen) = (self.nodes[from].successors.clone(), BTreeSet::new());
        while let Some(at) = open.pop() {
            if at == node {
                return false;
            }
            if at != from && !others.contains(&at) && seen.insert(at) {
                open.extend(&self.nodes[at].successors);
            }
        }
        true
    }
}

/// Nodes whose next node is not known yet.
type Open = Vec<NodeIndex>;

struct Builder<'a> {
    program: &'a Program,
    nodes: Vec<Node<'a>>,
    labels: BTreeMap<&'a str, NodeIndex>,
    gotos: Vec<(NodeIndex, &'a str)>,
    /// Of each loop and `switch` around the statement, innermost last: the jumps out of it.
    breaks: Vec<Open>,
    /// Of each loop around the statement: the jumps to its step.
    continues: Vec<Open>,
}

impl<'a> Builder<'a> {
    fn node(&mut self, range: Range, kind: NodeKind<'a>, before: &[NodeIndex]) -> NodeIndex {
        let index = self.nodes.len();
        self.nodes.push(Node { range, kind, successors: Vec::new() });
        for &earlier in before {
            self.connect(earlier, index);
        }
        index
    }

    fn connect(&mut self, from: NodeIndex, to: NodeIndex) {
        if !self.nodes[from].successors.contains(&to) {
            self.nodes[from].successors.push(to);
        }
    }

    fn connect_jumps(&mut self) {
        for (from, label) in std::mem::take(&mut self.gotos) {
            if let Some(&to) = self.labels.get(label) {
                self.connect(from, to);
            }
        }
    }

    fn statements(&mut self, statements: &'a [Statement], before: Open) -> Open {
        statements.iter().fold(before, |open, statement| self.statement(statement, open))
    }

    /// Adds a statement behind the nodes `before`, and returns those that lead out of it.
    fn statement(&mut self, statement: &'a Statement, before: Open) -> Open {
        let range = statement.range;
        match &statement.kind {
            StatementKind::Evaluate(expression) => {
                vec![self.node(range, NodeKind::Evaluate(expression), &before)]
            }
            StatementKind::Declare(declarations) => {
                declarations.iter().fold(before, |open, declaration| {
                    vec![self.node(range, NodeKind::Declare(declaration), &open)]
                })
            }
            StatementKind::Block(statements) | StatementKind::Expanded(statements) => {
                self.statements(statements, before)
            }
            StatementKind::If { condition, then, otherwise } => {
                let (yes, no) = self.condition(range, condition, before);
                let mut open = self.statement(then, yes);
                open.extend(match otherwise {
                    Some(otherwise) => self.statement(otherwise, no),
                    None => no,
                });
                open
            }
            StatementKind::Loop { .. } => self.loop_statement(statement, before),
            StatementKind::Switch { value, .. } => {
                let branch = self.node(range, NodeKind::Evaluate(value), &before);
                self.switch_body(statement, branch)
            }
            StatementKind::Label(name, inner) => {
                // Control that falls into the label comes by a node of its own: a jump to the label
                // from directly in front of it is another way.
                let entry = self.node(range, NodeKind::Nothing, &before);
                let label = self.node(range, NodeKind::Nothing, &[entry]);
                self.labels.insert(name, label);
                self.statement(inner, vec![label])
            }
            StatementKind::Empty => vec![self.node(range, NodeKind::Nothing, &before)],
            StatementKind::Opaque(reason) => {
                vec![self.node(range, NodeKind::Opaque(reason), &before)]
            }
            _ => self.jump(statement, &before),
        }
    }

    /// Adds a condition, and returns the nodes behind which it holds, and those behind which it
    /// does not. The operands of `&&` and `||` are conditions of their own.
    fn condition(&mut self, range: Range, condition: &'a Expression, before: Open) -> (Open, Open) {
        match &condition.kind {
            ExpressionKind::Unary(operator, operand) if operator == "!" && has_branch(operand) => {
                let (yes, no) = self.condition(range, operand, before);
                (no, yes)
            }
            ExpressionKind::Binary(operator, left, right) if operator == "&&" => {
                let (yes, mut no) = self.condition(range, left, before);
                let (yes, more) = self.condition(range, right, yes);
                no.extend(more);
                (yes, no)
            }
            ExpressionKind::Binary(operator, left, right) if operator == "||" => {
                let (mut yes, no) = self.condition(range, left, before);
                let (more, no) = self.condition(range, right, no);
                yes.extend(more);
                (yes, no)
            }
            _ => {
                let branch = self.node(range, NodeKind::Evaluate(condition), &before);
                let test = Test::of(condition, self.program);
                let [yes, no] = [true, false].map(|holds| {
                    let outcome = NodeKind::Outcome { condition: branch, holds, test };
                    self.node(range, outcome, &[branch])
                });
                (vec![yes], vec![no])
            }
        }
    }

    fn jump(&mut self, statement: &'a Statement, before: &[NodeIndex]) -> Open {
        let range = statement.range;
        match &statement.kind {
            StatementKind::Return(value) => {
                self.node(range, NodeKind::Return(value.as_ref()), before);
            }
            StatementKind::Throw(value) => {
                self.node(range, NodeKind::Throw(value.as_ref()), before);
            }
            StatementKind::Goto(label) => {
                let from = self.node(range, NodeKind::Nothing, before);
                self.gotos.push((from, label));
            }
            StatementKind::Break => {
                let from = self.node(range, NodeKind::Nothing, before);
                self.breaks.last_mut().into_iter().for_each(|open| open.push(from));
            }
            StatementKind::Continue => {
                let from = self.node(range, NodeKind::Nothing, before);
                self.continues.last_mut().into_iter().for_each(|open| open.push(from));
            }
            _ => unreachable!("all other statements are handled by `statement`"),
        }
        Vec::new()
    }

    fn loop_statement(&mut self, statement: &'a Statement, before: Open) -> Open {
        let StatementKind::Loop { form, initial, condition, step, body } = &statement.kind else {
            unreachable!("the caller has matched a loop");
        };
        let range = statement.range;
        let open = match initial {
            Some(initial) => self.statement(initial, before),
            None => before,
        };
        let kind = condition.as_ref().map_or(NodeKind::Nothing, NodeKind::Evaluate);
        self.breaks.push(Vec::new());
        self.continues.push(Vec::new());
        let (head, test);
        if *form == LoopForm::DoWhile {
            head = self.node(range, NodeKind::Nothing, &open);
            let mut end = self.statement(body, vec![head]);
            end.extend(self.continues.pop().unwrap_or_default());
            test = self.node(range, kind, &end);
            if condition.as_ref().and_then(|one| self.program.integer(one)) != Some(0) {
                self.connect(test, head);
            }
        } else {
            test = self.node(range, kind, &open);
            let mut end = self.statement(body, vec![test]);
            end.extend(self.continues.pop().unwrap_or_default());
            if let Some(step) = step {
                end = vec![self.node(range, NodeKind::Evaluate(step), &end)];
            }
            end.iter().for_each(|&from| self.connect(from, test));
        }
        let mut open = self.breaks.pop().unwrap_or_default();
        if condition.is_some() {
            open.push(test);
        }
        open
    }

    fn switch_body(&mut self, statement: &'a Statement, branch: NodeIndex) -> Open {
        let StatementKind::Switch { body, labelled, has_default, .. } = &statement.kind else {
            unreachable!("the caller has matched a `switch`");
        };
        self.breaks.push(Vec::new());
        let mut open = Vec::new();
        for (at, statement) in body.iter().enumerate() {
            if labelled.contains(&at) {
                open.push(branch);
            }
            open = self.statement(statement, open);
        }
        if !has_default {
            open.push(branch);
        }
        open.extend(self.breaks.pop().unwrap_or_default());
        open
    }
}

/// Returns true if a condition consists of others.
fn has_branch(condition: &Expression) -> bool {
    match &condition.kind {
        ExpressionKind::Unary(operator, operand) => operator == "!" && has_branch(operand),
        ExpressionKind::Binary(operator, ..) => operator == "&&" || operator == "||",
        _ => false,
    }
}
