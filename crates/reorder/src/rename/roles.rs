//! The tokens of a statement that reads a variable and writes it: which of them read, and which
//! write.

use crate::{
    api::{Memory, Models},
    flow::{access::AccessKind, place::Root, summary::Summaries},
    ir::{Callee, Expression, ExpressionKind as Kind, VariableIndex},
    source::Range,
};

/// The part that a token has in a statement that reads and writes the variable.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Role {
    Reads,
    Writes,
    Both,
}

/// The roles of the tokens of a variable in an expression.
pub(super) struct Roles<'a, 'p> {
    pub(super) models: &'a Models,
    pub(super) summaries: &'p Summaries<'a>,
    pub(super) variable: VariableIndex,
    pub(super) found: Vec<(Option<Range>, Role)>,
}

impl Roles<'_, '_> {
    /// Visits an expression that is evaluated for its value.
    pub(super) fn visit(&mut self, expression: &Expression) {
        match &expression.kind {
            Kind::Variable(_) => self.note(expression, Role::Reads),
            Kind::Assign { operator, target, value } => {
                self.visit(value);
                let role = if operator.is_none() { Role::Writes } else { Role::Both };
                self.target(target, role);
            }
            Kind::Increment(_, target) => self.target(target, Role::Both),
            Kind::Call { callee, arguments, .. } => {
                for (at, argument) in arguments.iter().enumerate() {
                    let role = self.of_argument(callee, at);
                    self.argument(argument, role);
                }
            }
            Kind::Address(operand) => self.target(operand, Role::Both),
            Kind::Construct(..) => {
                expression.for_each_child(&mut |one| self.target(one, Role::Both))
            }
            _ => expression.for_each_child(&mut |one| self.visit(one)),
        }
    }

    /// Visits a place that is written, or whose address is taken.
    fn target(&mut self, place: &Expression, role: Role) {
        match &place.kind {
            Kind::Variable(_) => self.note(place, role),
            Kind::Element { base, index } => {
                self.target(base, role);
                self.visit(index);
            }
            Kind::Cast(_, base) | Kind::Field { base, .. } => self.target(base, role),
            _ => self.visit(place),
        }
    }

    /// Visits an argument; `role` is that of the memory that it leads to.
    fn argument(&mut self, argument: &Expression, role: Role) {
        match &argument.kind {
            Kind::Address(operand) => self.target(operand, role),
            // An array, or a number of which only the value is passed.
            Kind::Variable(_) => self.note(argument, role),
            Kind::Cast(_, operand) => self.argument(operand, role),
            Kind::Binary(_, left, right) => {
                self.argument(left, role);
                self.argument(right, role);
            }
            _ => self.visit(argument),
        }
    }

    fn note(&mut self, expression: &Expression, role: Role) {
        if matches!(expression.kind, Kind::Variable(variable) if variable == self.variable) {
            self.found.push((expression.range, role));
        }
    }

    /// Returns the role of the memory that an argument leads to.
    fn of_argument(&self, callee: &Callee, at: usize) -> Role {
        let (mut reads, mut writes) = (false, false);
        if let Some(model) = self.models.call(callee) {
            let has =
                |memory: &Memory| memory.argument == at || memory.rest && memory.argument < at;
            let parameters = model.parameters.as_ref().map(|one| one.array);
            let texts = [model.sql, model.statement, parameters, model.connection];
            reads = model.reads.iter().any(has) || texts.contains(&Some(at));
            writes = model.writes.iter().any(has);
            let is_known = model.binds_parameters.is_empty()
                && model.binds_results.is_empty()
                && model.callbacks.is_empty();
            writes |= !is_known;
            reads |= !is_known;
        } else if let Callee::Function(name) = callee
            && let Some(Ok(summary)) = self.summaries.of(name)
            && let Some(&parameter) = summary.parameters.get(at)
        {
            let parts = summary.parts.iter().flat_map(|part| &part.effects.accesses);
            for access in parts.filter(|one| one.place.root == Root::Pointee(parameter)) {
                let is_read = access.kind == AccessKind::Read;
                (reads, writes) = (reads || is_read, writes || !is_read);
            }
        } else {
            return Role::Both;
        }
        match (reads, writes) {
            (true, true) => Role::Both,
            (false, true) => Role::Writes,
            _ => Role::Reads,
        }
    }
}
