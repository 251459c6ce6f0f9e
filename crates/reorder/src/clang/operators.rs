//! Operators.
//!
//! libclang 14 does not tell them. The operator of an expression is the token between its operands,
//! or before or behind the only one; an expression with other tokens there becomes opaque.

use clang::{Entity, EntityKind};

use super::lowering::{Lowering, operands};
use super::types;
use crate::ir::{ExpressionKind as Kind, Type};

/// The operators with two operands and without an effect. A pointer to a member is not followed:
/// `.*` and `->*` are left out.
const BINARY: &[&str] = &[
    "+", "-", "*", "/", "%", "<<", ">>", "<", ">", "<=", ">=", "==", "!=", "&", "|", "^", "&&",
    "||",
];

impl<'tu> Lowering<'tu, '_> {
    /// Lowers an expression with one operand.
    pub(super) fn unary(&mut self, entity: Entity<'tu>) -> Kind {
        let unknown = || Kind::Opaque("an operator that libclang does not show".to_owned());
        let (Some(span), &[operand]) = (self.span(entity), operands(entity).as_slice()) else {
            return unknown();
        };
        let Some(inner) = self.span(operand) else { return unknown() };
        let place = if span.first + 1 == inner.first && span.last == inner.last {
            span.first
        } else if span.first == inner.first && inner.last + 1 == span.last {
            span.last
        } else {
            return unknown();
        };
        let operator = plain(self.source.token(place)).to_owned();
        let function = self.is_function(operand);
        let operand = Box::new(self.expression(operand));
        match operator.as_str() {
            "&" | "*" if function => operand.kind,
            "&" => Kind::Address(operand),
            "*" => Kind::Dereference(operand),
            "+" if place == span.first => operand.kind,
            "-" | "!" | "~" => Kind::Unary(operator, operand),
            "++" | "--" => Kind::Increment(operator, operand),
            _ => Kind::Opaque(format!("the operator `{operator}`")),
        }
    }

    /// Returns true for a function, and for a pointer to one.
    fn is_function(&self, entity: Entity<'tu>) -> bool {
        let ty = entity.get_type().map(types::lower);
        match ty {
            Some(Type::Function) => true,
            Some(Type::Pointer { to, .. }) => {
                *to == Type::Function && {
                    let core = self.strip(entity);
                    core.get_reference()
                        .is_some_and(|one| one.get_kind() == EntityKind::FunctionDecl)
                }
            }
            _ => false,
        }
    }

    /// Lowers an expression with two operands: an operation or an assignment.
    pub(super) fn binary(&mut self, entity: Entity<'tu>) -> Kind {
        let unknown = || Kind::Opaque("an operator that libclang does not show".to_owned());
        let &[left, right] = operands(entity).as_slice() else { return unknown() };
        let (Some(before), Some(behind)) = (self.span(left), self.span(right)) else {
            return unknown();
        };
        if before.last + 2 != behind.first {
            return unknown();
        }
        let operator = plain(self.source.token(before.last + 1)).to_owned();
        let (left, right) = (Box::new(self.expression(left)), Box::new(self.expression(right)));
        match operator.as_str() {
            "," => Kind::Comma(left, right),
            "=" => Kind::Assign { operator: None, target: left, value: right },
            known if BINARY.contains(&known) => Kind::Binary(operator, left, right),
            _ => match operator.strip_suffix('=').filter(|one| BINARY.contains(one)) {
                Some(one) => {
                    let operator = Some(one.to_owned());
                    Kind::Assign { operator, target: left, value: right }
                }
                None => Kind::Opaque(format!("the operator `{operator}`")),
            },
        }
    }
}

/// Returns the operator of one of C++'s words.
fn plain(operator: &str) -> &str {
    match operator {
        "and" => "&&",
        "or" => "||",
        "not" => "!",
        "not_eq" => "!=",
        "bitand" => "&",
        "bitor" => "|",
        "xor" => "^",
        "compl" => "~",
        "and_eq" => "&=",
        "or_eq" => "|=",
        "xor_eq" => "^=",
        other => other,
    }
}
