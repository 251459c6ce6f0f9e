//! The inputs that decide what a function returns, besides the outcome of its queries.
//!
//! `if (run(…)) goto fail;` leaves because a query has failed, whatever its parameters are. But a
//! function that runs a query may also test what it gets, and return before or behind the query for
//! that reason: then the exit at its call protects what stands behind it from such a value.
//!
//! A function tests an input if a value that its caller has given, or that exists outside, goes
//! into a condition behind which it may return without another query, or into its result, or into
//! a condition that decides which value the result has. A value that a query returns is none.

use std::collections::BTreeSet;

use super::{
    ENTRY, Flow,
    escape::plain_variable,
    graph::{NodeIndex, NodeKind},
    place::{Place, Root},
    reaching::DefinitionIndex,
};
use crate::ir::{Callee, Expression, ExpressionKind, Scope, VariableIndex};

impl<'a> Flow<'a, '_> {
    /// Returns true if the result of the function may depend on what the function gets, otherwise
    /// than by the outcome of queries.
    pub(super) fn tests_inputs(&self) -> bool {
        let deciding = (1..self.graph.nodes.len()).filter(|&node| self.decides_result(node));
        let mut open: Vec<DefinitionIndex> =
            deciding.flat_map(|node| self.definitions_read(node)).collect();
        let mut seen = BTreeSet::new();
        while let Some(definition) = open.pop() {
            let from = self.definitions.all[definition].node;
            if from == ENTRY {
                return true;
            }
            if seen.insert(definition) {
                open.extend(self.definitions_read(from));
                let conditions = self.controlling(from).into_iter();
                let conditions = conditions.filter(|&condition| !self.tests_query(condition));
                open.extend(conditions.flat_map(|condition| self.definitions_read(condition)));
            }
        }
        false
    }

    /// Returns the conditions that decide whether control comes to a node: behind one of their
    /// outcomes it always does.
    fn controlling(&self, node: NodeIndex) -> Vec<NodeIndex> {
        let nodes = &self.graph.nodes;
        let mut avoids = vec![false; nodes.len()];
        let mut open: Vec<NodeIndex> =
            (0..nodes.len()).filter(|&end| nodes[end].successors.is_empty()).collect();
        while let Some(one) = open.pop() {
            if one != node && !std::mem::replace(&mut avoids[one], true) {
                open.extend(self.definitions.before(one));
            }
        }
        let leads = |&one: &NodeIndex| nodes[one].successors.iter().any(|&next| !avoids[next]);
        (0..nodes.len()).filter(|&one| avoids[one]).filter(leads).collect()
    }

    /// Returns true for a node whose value is the outcome of a query.
    fn tests_query(&self, node: NodeIndex) -> bool {
        let effects = &self.effects[node];
        let runs = !effects.queries.is_empty() && !effects.tests_inputs;
        self.expression_of(node)
            .is_some_and(|value| (runs || self.uses_statements(value)) && self.is_one_call(value))
    }

    /// Returns true if a node is a result of the function, or a condition behind which it may
    /// return without another query. A condition on the outcome of a query is left out.
    fn decides_result(&self, node: NodeIndex) -> bool {
        let point = &self.graph.nodes[node];
        let decides = match point.kind {
            NodeKind::Return(Some(_)) => true,
            NodeKind::Evaluate(_) => point.successors.len() > 1 && self.returns_soon(node),
            _ => false,
        };
        decides && !self.tests_query(node)
    }

    /// Returns true if a path leads from a node to the end of the function without a query.
    fn returns_soon(&self, node: NodeIndex) -> bool {
        let (mut open, mut seen) = (self.graph.nodes[node].successors.clone(), BTreeSet::new());
        while let Some(node) = open.pop() {
            if !self.effects[node].queries.is_empty() || !seen.insert(node) {
                continue;
            }
            let next = &self.graph.nodes[node].successors;
            if next.is_empty() {
                return true;
            }
            open.extend(next);
        }
        false
    }

    /// Returns the definitions whose value a node may read outside of calls of the database.
    fn definitions_read(&self, node: NodeIndex) -> Vec<DefinitionIndex> {
        let places = self.read_outside(node).into_iter();
        places.flat_map(|place| self.reaching(node, place)).collect()
    }

    /// Returns the places that a node reads, without those of results and of what calls of the
    /// database interface get: these answer for the database.
    pub(crate) fn read_outside(&self, node: NodeIndex) -> Vec<&Place> {
        let Some(expression) = self.expression_of(node) else { return Vec::new() };
        let mut outside = Outside::default();
        self.add_outside(expression, &mut outside);
        let is_read = |place: &&Place| match place.root {
            Root::Variable(variable) => outside.variables.contains(&variable),
            _ => outside.memory && place.root != Root::Outside && !is_result(place),
        };
        self.exposed_reads(node).into_iter().filter(is_read).collect()
    }

    /// Returns true for a function of the file whose result may depend on what it gets, otherwise
    /// than by the outcome of queries.
    fn has_tests(&self, callee: &Callee) -> bool {
        let Callee::Function(name) = callee else { return false };
        let summary = self.around.summaries.of(name).and_then(|one| one.as_ref().ok());
        summary.is_some_and(|summary| summary.tests_inputs)
    }

    /// Returns true for the name of a parameter that is not written.
    fn is_fixed_parameter(&self, expression: &Expression) -> bool {
        plain_variable(expression).is_some_and(|variable| {
            self.around.program.variable(variable).scope == Scope::Parameter
                && !self.around.summaries.is_assigned(variable)
        })
    }

    /// Adds what an expression names outside of calls of the database interface.
    fn add_outside(&self, expression: &Expression, outside: &mut Outside) {
        match &expression.kind {
            ExpressionKind::Call { callee, .. }
                if self.is_of_database(callee) && !self.has_tests(callee) =>
            {
                return;
            }
            ExpressionKind::Variable(variable) => {
                outside.variables.insert(*variable);
            }
            // The place that it writes is no part of the value.
            ExpressionKind::Assign { operator: None, value, .. } => {
                return self.add_outside(value, outside);
            }
            // That a parameter leads to the memory says nothing about what is there.
            ExpressionKind::Dereference(pointer) if self.is_fixed_parameter(pointer) => {
                outside.memory = true;
                return;
            }
            ExpressionKind::Element { base, index } if self.is_fixed_parameter(base) => {
                outside.memory = true;
                return self.add_outside(index, outside);
            }
            ExpressionKind::Dereference(_)
            | ExpressionKind::Element { .. }
            | ExpressionKind::Field { .. }
            | ExpressionKind::Call { .. }
            | ExpressionKind::Construct(..)
            | ExpressionKind::Opaque(_) => outside.memory = true,
            _ => {}
        }
        expression.for_each_child(&mut |child| self.add_outside(child, outside));
    }

    /// Returns true if a condition only compares the results of calls of a database interface with
    /// constants.
    pub(crate) fn is_one_call(&self, condition: &Expression) -> bool {
        let inner = |one: &Expression| self.is_one_call(one);
        match &condition.kind {
            ExpressionKind::Call { callee, arguments, .. } => {
                self.is_of_database(callee) && arguments.iter().all(|argument| !has_call(argument))
            }
            ExpressionKind::Unary(operator, operand) => operator == "!" && inner(operand),
            ExpressionKind::Assign { operator: None, value, .. } => inner(value),
            ExpressionKind::Binary(operator, left, right) => match operator.as_str() {
                "&&" | "||" => inner(left) && inner(right),
                "==" | "!=" | "<" | "<=" | ">" | ">=" => {
                    inner(left) && is_constant(right) || is_constant(left) && inner(right)
                }
                _ => false,
            },
            _ => false,
        }
    }

    /// Returns true if each call of a condition is one on a prepared statement.
    pub(crate) fn uses_statements(&self, condition: &Expression) -> bool {
        let mut uses = true;
        condition.walk(&mut |inner| {
            if let ExpressionKind::Call { callee, .. } = &inner.kind {
                uses &= self.uses_statement(callee);
            }
        });
        uses
    }
}

/// The names in an expression outside of calls of the database interface.
#[derive(Default)]
struct Outside {
    variables: BTreeSet<VariableIndex>,
    /// True if it reads memory that is no variable.
    memory: bool,
}

/// Returns true for what a query returns, and what it leaves on the connection.
pub(crate) fn is_result(place: &Place) -> bool {
    place.root.is_object() || matches!(place.root, Root::Last | Root::LastWrite)
}

fn is_constant(expression: &Expression) -> bool {
    match &expression.kind {
        ExpressionKind::Constant(_) => true,
        ExpressionKind::Unary(operator, operand) => operator == "-" && is_constant(operand),
        _ => false,
    }
}

fn has_call(expression: &Expression) -> bool {
    let mut found = false;
    expression.walk(&mut |inner| found |= matches!(inner.kind, ExpressionKind::Call { .. }));
    found
}
