//! The texts that calls make of the texts of their arguments: `strcpy`, `std::string::operator+`.
//!
//! An argument is read before the call writes: `strcat` makes the text of what the buffer held
//! before it. A node that writes a variable several times is understood if its calls form one
//! chain, each with the result of the one before it: `sql.append(a).append(b)`.

use super::{HOLE, Reader, Texts, ends_quoted, joined};
use crate::{
    api::{Builds, Returns},
    flow::{
        access::{AccessKind, variable},
        graph::{NodeIndex, NodeKind},
        place::{Place, Root},
    },
    ir::{Expression, ExpressionKind as Kind, Type, VariableIndex},
};

impl<'a> Reader<'_, 'a, '_> {
    /// Returns the texts that a call makes of its arguments.
    pub(super) fn built(
        &mut self,
        builds: &Builds,
        arguments: &'a [Expression],
        node: NodeIndex,
    ) -> Texts {
        if builds.arguments.is_some() && arguments.is_empty() {
            return Ok(vec![String::new()]);
        }
        if builds.arguments.is_some_and(|count| count != arguments.len()) {
            return Err("the SQL text comes from a form of a call that no model describes".into());
        }
        let receiver = builds.to.and_then(|to| arguments.get(to)).and_then(variable);
        self.receivers.extend(receiver);
        let texts = self.joined_arguments(builds, arguments, node);
        if receiver.is_some() {
            self.receivers.pop();
        }
        texts
    }

    fn joined_arguments(
        &mut self,
        builds: &Builds,
        arguments: &'a [Expression],
        node: NodeIndex,
    ) -> Texts {
        let mut out = vec![String::new()];
        for (at, &from) in builds.from.iter().enumerate() {
            let argument = arguments.get(from).ok_or("the call lacks an argument")?;
            if builds.format && at + 1 == builds.from.len() {
                let formats = self.text(argument, node)?;
                let values = &arguments[from + 1..];
                let mut formatted = Vec::new();
                for format in &formats {
                    formatted.extend(self.formatted(out.clone(), format, values, node)?);
                }
                out = formatted;
                continue;
            }
            let texts = match self.is_number(argument) {
                true if builds.characters => character(argument).map(|one| vec![one]),
                true => Ok(vec![HOLE.to_string()]),
                false => self.text(argument, node),
            };
            let hole = |reason| {
                let quoted = out.iter().all(|before| ends_quoted(before));
                if quoted { Ok(vec![HOLE.to_string()]) } else { Err(reason) }
            };
            out = joined(&out, &texts.or_else(hole)?)?;
        }
        Ok(out)
    }

    /// Returns true for an expression whose value certainly is a number.
    fn is_number(&self, expression: &'a Expression) -> bool {
        match &expression.kind {
            Kind::Constant(_) => true,
            Kind::Unary(_, operand) | Kind::Increment(_, operand) => self.is_number(operand),
            Kind::Binary(_, left, right) | Kind::Conditional(_, left, right) => {
                self.is_number(left) && self.is_number(right)
            }
            _ => {
                let ty = self.flow.around.type_of(expression);
                let ty = match ty {
                    Some(Type::Reference { to, .. }) => Some(&**to),
                    ty => ty,
                };
                matches!(ty, Some(Type::Scalar(_)))
            }
        }
    }

    /// Returns the texts that the calls of a node write into a variable; `None` if they are not
    /// known.
    pub(super) fn of_write(&mut self, written: VariableIndex, node: NodeIndex) -> Option<Texts> {
        let (mut chain, mut begins, mut count) = (None, 0, 0);
        self.flow.expression_of(node)?.walk(&mut |inner| {
            if let Some((receiver, length)) = self.receiver(inner)
                && variable(receiver) == Some(written)
            {
                begins += usize::from(length == 1);
                // The outermost one comes first.
                if chain.is_none() {
                    (chain, count) = (Some(inner), length);
                }
            }
        });
        let chain = chain.filter(|_| begins == 1 && count == self.writes(written, node))?;
        let (Kind::Call { arguments, .. } | Kind::Construct(_, arguments)) = &chain.kind else {
            return None;
        };
        let builds = self.model_of(chain)?.builds.as_ref()?;
        Some(self.built(builds, arguments, node))
    }

    /// Returns what receives the text of a call, or of the chain of calls that it ends, and the
    /// number of these calls.
    fn receiver(&self, expression: &'a Expression) -> Option<(&'a Expression, usize)> {
        let Kind::Call { arguments, .. } = &expression.kind else { return None };
        let to = arguments.get(self.model_of(expression)?.builds.as_ref()?.to?)?;
        match self.receiver(to) {
            Some((receiver, length)) if self.returns_receiver(to) => Some((receiver, length + 1)),
            _ => Some((to, 1)),
        }
    }

    fn returns_receiver(&self, call: &'a Expression) -> bool {
        let model = self.model_of(call);
        model.is_some_and(|model| {
            let to = model.builds.as_ref().and_then(|builds| builds.to);
            to.is_some_and(|to| model.returns == Returns::Borrowed(to))
        })
    }

    /// Returns the number of times that a node may write a variable, without its declaration.
    fn writes(&self, variable: VariableIndex, node: NodeIndex) -> usize {
        let place = Place::whole(Root::Variable(variable));
        let accesses = self.flow.effects[node].accesses.iter();
        let writes = accesses
            .filter(|one| one.kind != AccessKind::Read && self.flow.may_share(&one.place, &place));
        let point = &self.flow.graph.nodes[node].kind;
        let declares = matches!(point, NodeKind::Declare(one) if one.variable == variable);
        writes.count() - usize::from(declares)
    }

    /// Returns true if a node reads the text of a variable before it writes the variable: a call
    /// that makes the new text reads the old one, and nothing else does.
    pub(super) fn is_read_first(&self, variable: VariableIndex, node: NodeIndex) -> bool {
        let place = Place::whole(Root::Variable(variable));
        self.receivers.contains(&variable)
            || !self.flow.writes_beside(node, &self.own(node), &place)
    }
}

/// Returns the text of a character that is a constant.
fn character(expression: &Expression) -> Result<String, String> {
    let code = match &expression.kind {
        Kind::Constant(text) => text.parse::<u8>().ok(),
        _ => None,
    };
    let code = code.map(char::from).filter(|code| matches!(code, ' '..='~' | '\n' | '\t'));
    code.map(String::from).ok_or_else(|| "a character that is not known is in the SQL text".into())
}
