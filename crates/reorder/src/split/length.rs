//! The length of an array with an element for each iteration of a loop: a bound on the values of
//! the variable that counts.
//!
//! - Constants: `for (i = 0; i < 15; i++)`, and downwards.
//! - A subscript: each iteration reads or writes an element of an array of known length at `i`, or
//!   at `i` plus or minus a constant, before its earlier part ends. An index out of range would
//!   have no defined meaning in the source. An array of one element at the end of a structure may
//!   stand for one of any length, and proves nothing.

use super::{number, restore::Head, values::Values};
use crate::{
    flow::graph::{NodeIndex, NodeKind},
    ir::{
        Expression, ExpressionKind as Kind, Scope, Statement, StatementKind, Type, VariableIndex,
    },
};

/// A bound on the iterations.
pub(super) struct Iterations {
    /// The index of an iteration, as an expression of the source: not negative.
    pub(super) index: String,
    /// The length that the index is less than.
    pub(super) length: u64,
}

/// Finds a bound.
///
/// # Errors
/// The fact that is missing.
pub(super) fn of(values: &Values<'_, '_, '_>, head: Head<'_>) -> Result<Iterations, String> {
    let name = &values.context.program.variable(head.counter).name;
    let constant = counted(values, head).map(|length| Iterations { index: name.clone(), length });
    constant.or_else(|| subscript(values, head.counter)).ok_or_else(|| {
        format!(
            "neither a constant in the head of the loop nor a subscript of an array of known \
             length, executed in each iteration, bounds `{name}`"
        )
    })
}

/// Returns a bound by the constants of the head. A counter that wraps around may leave the range
/// between them: one of a short type, or without a sign and downwards.
fn counted(values: &Values<'_, '_, '_>, head: Head<'_>) -> Option<u64> {
    let Type::Scalar(ty) = &values.context.program.variable(head.counter).ty else { return None };
    let wraps_below = ty.starts_with("unsigned");
    if !["int", "long", "long long"].contains(&ty.trim_start_matches("unsigned ")) {
        return None;
    }
    let first = first_value(head.initial)?;
    let is_counter = |one: &Expression| matches!(one.kind, Kind::Variable(v) if v == head.counter);
    let Kind::Binary(operator, left, right) = &head.condition.kind else { return None };
    let (operator, limit) = match (is_counter(left), is_counter(right)) {
        (true, false) => (operator.as_str(), number(right)?),
        (false, true) => (mirrored(operator)?, number(left)?),
        _ => return None,
    };
    let least = match (rises(head.step)?, operator) {
        (true, "<") => return bound(first, limit),
        (true, "<=") => return bound(first, limit.checked_add(1)?),
        (false, _) if wraps_below => return None,
        (false, ">") => limit.checked_add(1)?,
        (false, ">=") => limit,
        _ => return None,
    };
    bound(least, first.checked_add(1)?)
}

/// Returns the number of values below `end`, if `least` is not negative.
fn bound(least: i64, end: i64) -> Option<u64> {
    (least >= 0 && end > least).then_some(end as u64)
}

fn mirrored(operator: &str) -> Option<&'static str> {
    Some(match operator {
        "<" => ">",
        "<=" => ">=",
        ">" => "<",
        ">=" => "<=",
        _ => return None,
    })
}

/// Returns the constant from which the loop counts.
fn first_value(initial: &Statement) -> Option<i64> {
    match &initial.kind {
        StatementKind::Declare(all) => number(all.first()?.initial.as_ref()?),
        StatementKind::Evaluate(expression) => match &expression.kind {
            Kind::Assign { operator: None, value, .. } => number(value),
            _ => None,
        },
        _ => None,
    }
}

/// Returns true if a step counts upwards, false if downwards.
fn rises(step: &Expression) -> Option<bool> {
    match &step.kind {
        Kind::Increment(operator, _) => Some(operator.starts_with('+')),
        Kind::Assign { operator: Some(operator), value, .. } => {
            Some((operator == "+") == (number(value)? > 0))
        }
        _ => None,
    }
}

fn number(expression: &Expression) -> Option<i64> {
    match &expression.kind {
        Kind::Constant(text) => text.parse().ok(),
        // A conversion to a small type may change the value.
        Kind::Cast(Type::Scalar(ty), inner) => {
            let is_wide = number::of_type(ty).is_some_and(|range| !range.is_small());
            number(inner).filter(|&value| is_wide && (0..1 << 31).contains(&value))
        }
        Kind::Unary(operator, inner) if operator == "-" => number(inner)?.checked_neg(),
        _ => None,
    }
}

/// Returns the least bound by a subscript of the earlier part.
fn subscript(values: &Values<'_, '_, '_>, counter: VariableIndex) -> Option<Iterations> {
    let mut found: Vec<(u64, String)> = Vec::new();
    let search = Search { values, counter };
    for &node in &values.parts[0].nodes {
        let expression = match values.context.flow.graph.nodes[node].kind {
            NodeKind::Evaluate(expression) => expression,
            NodeKind::Declare(declaration) => match &declaration.initial {
                Some(initial) => initial,
                None => continue,
            },
            _ => continue,
        };
        if !search.is_passed_always(node) {
            continue;
        }
        search.visit(expression, &mut found);
    }
    let (length, index) = found.into_iter().min()?;
    Some(Iterations { index, length })
}

struct Search<'s, 'c, 'a, 'p> {
    values: &'s Values<'c, 'a, 'p>,
    counter: VariableIndex,
}

impl Search<'_, '_, '_, '_> {
    /// Returns true if no path leads around a node from the begin of the earlier part to its end,
    /// or to the end of the iteration.
    fn is_passed_always(&self, avoided: NodeIndex) -> bool {
        let nodes = &self.values.parts[0].nodes;
        let Some(&first) = nodes.first() else { return false };
        let (mut open, mut seen) = (vec![first], vec![avoided]);
        while let Some(node) = open.pop() {
            let next = &self.values.context.flow.graph.nodes[node].successors;
            if node == self.values.split() || next.contains(&self.values.test) {
                return false;
            }
            if nodes.contains(&node) && !seen.contains(&node) {
                seen.push(node);
                open.extend(next);
            }
        }
        true
    }

    /// Collects the bounds by the subscripts that the evaluation of an expression executes.
    fn visit(&self, expression: &Expression, found: &mut Vec<(u64, String)>) {
        match &expression.kind {
            // The second operand may not be evaluated; an address is no access.
            Kind::Binary(operator, left, _) if operator == "&&" || operator == "||" => {
                self.visit(left, found);
            }
            Kind::Conditional(condition, ..) => self.visit(condition, found),
            Kind::Address(_) => {}
            Kind::Element { .. } | Kind::Field { .. } if !self.is_accessed(expression) => {}
            Kind::Element { base, index } => {
                self.note(base, index, found);
                self.inner(expression, found);
            }
            Kind::Field { .. } => self.inner(expression, found),
            _ => expression.for_each_child(&mut |child| self.visit(child, found)),
        }
    }

    /// Collects the bounds by the subscripts within a place that is accessed.
    fn inner(&self, place: &Expression, found: &mut Vec<(u64, String)>) {
        match &place.kind {
            Kind::Field { base, .. } => self.inner(base, found),
            Kind::Element { base, index } => {
                self.note(base, index, found);
                self.inner(base, found);
                self.visit(index, found);
            }
            Kind::Dereference(pointer) => self.visit(pointer, found),
            _ => {}
        }
    }

    fn note(&self, base: &Expression, index: &Expression, found: &mut Vec<(u64, String)>) {
        let Some(Type::Array { length: Some(length), .. }) = self.type_of(base) else { return };
        if let Some(index) = self.index(index)
            && *length > 1
        {
            found.push((*length, index));
        }
    }

    /// Returns the text of an index that is the counter, or differs from it by a constant.
    fn index(&self, index: &Expression) -> Option<String> {
        let name = |one: &Expression| match one.kind {
            Kind::Variable(variable) if variable == self.counter => {
                Some(self.values.context.program.variable(variable).name.clone())
            }
            _ => None,
        };
        match &index.kind {
            Kind::Binary(operator, left, right) if operator == "+" || operator == "-" => {
                Some(format!("{} {operator} {}", name(left)?, number(right)?))
            }
            _ => name(index),
        }
    }

    /// Returns true if a place is read or written where it is mentioned: an array is not.
    fn is_accessed(&self, place: &Expression) -> bool {
        matches!(self.type_of(place), Some(Type::Scalar(_) | Type::Pointer { .. }))
    }

    fn type_of<'e>(&'e self, expression: &'e Expression) -> Option<&'e Type> {
        match &expression.kind {
            Kind::Variable(variable) => {
                let variable = self.values.context.program.variable(*variable);
                (variable.scope != Scope::Parameter || !matches!(variable.ty, Type::Array { .. }))
                    .then_some(&variable.ty)
            }
            Kind::Field { ty, .. } => Some(ty),
            Kind::Element { base, .. } | Kind::Dereference(base) => self.type_of(base)?.pointee(),
            _ => None,
        }
    }
}
