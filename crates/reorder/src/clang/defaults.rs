//! Initializers that stand elsewhere than the code that uses them: those of the fields that a list
//! leaves out, and default arguments.
//!
//! A constant is used as it is. Any other one is opaque where it is used, since no token of the
//! statement shows what it reads or calls.

use clang::{Entity, EntityKind, Type, TypeKind};

use super::{
    endings::{element, fields_and_bases, is_holder, members},
    lowering::{Lowering, operands},
    types,
};
use crate::ir::{Expression, ExpressionKind as Kind};

/// The deepest nesting of types that is looked into.
const MOST_TYPES: usize = 20;

impl<'tu> Lowering<'tu, '_> {
    /// Returns the value of a field that a list of initializers leaves out.
    pub(super) fn left_out_field(&mut self, field: Entity<'tu>) -> Expression {
        let name = types::field_name(field);
        let opaque = |what: &str| Expression {
            range: None,
            kind: Kind::Opaque(format!("{what} of the field `{name}`, which is not a constant")),
        };
        if let Some(initial) = self.default_initializer(field) {
            let value = self.expression(initial);
            return fixed(&value).unwrap_or_else(|| opaque("the default initializer"));
        }
        match field.get_type() {
            Some(ty) if self.runs_by_default(ty, 0) => opaque("the default value"),
            _ => Expression { range: None, kind: Kind::Constant("0".to_owned()) },
        }
    }

    /// Returns true if code may run where an object of a type is made without initializers.
    pub(super) fn runs_by_default(&mut self, ty: Type<'tu>, depth: usize) -> bool {
        let ty = element(ty);
        if ty.get_kind() != TypeKind::Record || ty.is_pod() {
            return false;
        }
        let Some(class) = ty.get_declaration().filter(|_| depth < MOST_TYPES) else { return true };
        let class = class.get_definition().unwrap_or(class);
        if is_holder(class) {
            return false;
        }
        let is_own = |one: &Entity<'tu>| match one.get_kind() {
            EntityKind::Constructor => one.is_default_constructor() && !one.is_defaulted(),
            // Which class it is depends on the arguments of a template.
            EntityKind::BaseSpecifier => {
                one.get_type().is_none_or(|ty| element(ty).get_kind() != TypeKind::Record)
            }
            _ => false,
        };
        if members(class).iter().any(is_own) {
            return true;
        }
        let initials = members(class).into_iter().filter(|one| {
            one.get_kind() == EntityKind::FieldDecl && self.default_initializer(*one).is_some()
        });
        let initials: Vec<_> = initials.collect();
        initials.into_iter().any(|field| {
            let initial = self.default_initializer(field).map(|one| self.expression(one));
            initial.is_some_and(|one| fixed(&one).is_none())
        }) || fields_and_bases(ty, class).into_iter().any(|ty| self.runs_by_default(ty, depth + 1))
    }

    /// Returns the initializer in the declaration of a field.
    fn default_initializer(&self, field: Entity<'tu>) -> Option<Entity<'tu>> {
        let last = operands(field).pop()?;
        let Some(span) = self.span(last) else {
            let is_array = field.get_type().is_some_and(|ty| ty.get_element_type().is_some());
            let is_number = last.get_kind() == EntityKind::IntegerLiteral;
            let has_none = field.is_bit_field() || is_array && is_number;
            return (!has_none).then_some(last);
        };
        let before = span.first.checked_sub(1).map(|place| self.source.token(place));
        self.initializer(field).filter(|_| before != Some(":"))
    }

    /// Returns the arguments that a call leaves out, unless all are constants, which need none.
    pub(super) fn left_out_arguments(
        &mut self,
        function: Entity<'tu>,
        given: usize,
    ) -> Vec<Expression> {
        let parameters = function.get_arguments().unwrap_or_default();
        // The defaults of a function of a header belong to its model.
        let is_here = |one: Entity<'tu>| self.span(one).is_some();
        let is_followed = is_here(function) || function.get_definition().is_some_and(is_here);
        if parameters.len() <= given || !is_followed {
            return Vec::new();
        }
        let values: Vec<Expression> =
            parameters[given..].iter().map(|&one| self.default_argument(one)).collect();
        let is_opaque =
            |one: &Expression| matches!(one.kind, Kind::Opaque(_) | Kind::Construct(..));
        if values.iter().any(is_opaque) { values } else { Vec::new() }
    }

    fn default_argument(&mut self, parameter: Entity<'tu>) -> Expression {
        let name = parameter.get_name().unwrap_or_default();
        let value = operands(parameter).pop().map(|initial| self.expression(initial));
        value.as_ref().and_then(fixed).unwrap_or_else(|| Expression {
            range: None,
            kind: Kind::Opaque(format!("the default argument `{name}`, which is not a constant")),
        })
    }
}

/// Returns a constant value without the places where it stands, also one that a constructor makes
/// of constants; `None` for any other value.
fn fixed(value: &Expression) -> Option<Expression> {
    let inner = |one: &Expression| fixed(one).map(Box::new);
    let kind = match &value.kind {
        Kind::Constant(text) if text.is_empty() => return None,
        kind @ (Kind::Constant(_) | Kind::Text(_)) => kind.clone(),
        Kind::Unary(operator, a) => Kind::Unary(operator.clone(), inner(a)?),
        Kind::Cast(ty, a) => Kind::Cast(ty.clone(), inner(a)?),
        Kind::Binary(operator, a, b) => Kind::Binary(operator.clone(), inner(a)?, inner(b)?),
        Kind::List(all) => Kind::List(all.iter().map(fixed).collect::<Option<_>>()?),
        Kind::Construct(class, all) => {
            Kind::Construct(class.clone(), all.iter().map(fixed).collect::<Option<_>>()?)
        }
        _ => return None,
    };
    Some(Expression { range: None, kind })
}
