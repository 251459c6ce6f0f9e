//! Calls of functions, methods, operators and constructors.

use clang::{Entity, EntityKind};

use super::{
    lowering::{Lowering, operands},
    types,
};
use crate::{
    ir::{Callee, Expression, ExpressionKind as Kind, Type},
    source::Range,
};

/// Functions that return twice or jump between functions.
const JUMPS: &[&str] = &[
    "setjmp",
    "_setjmp",
    "sigsetjmp",
    "__sigsetjmp",
    "longjmp",
    "_longjmp",
    "siglongjmp",
    "__builtin_setjmp",
    "__builtin_longjmp",
    "vfork",
    "getcontext",
    "setcontext",
    "swapcontext",
];

impl<'tu> Lowering<'tu, '_> {
    /// Lowers a call.
    pub(super) fn call(&mut self, entity: Entity<'tu>, range: Option<Range>) -> Expression {
        let with = |kind| Expression { range, kind };
        let referenced = entity.get_reference();
        match referenced.map(|one| (one.get_kind(), one)) {
            Some((EntityKind::FunctionDecl, function)) => {
                return self.call_of_function(entity, function, range);
            }
            Some((EntityKind::Constructor, constructor)) => {
                return with(self.construction(entity, constructor));
            }
            Some((
                EntityKind::Method | EntityKind::ConversionFunction | EntityKind::Destructor,
                method,
            )) => return with(self.call_of_method(entity, method)),
            _ => {}
        }
        let Some(&callee) = operands(entity).first() else {
            return with(Kind::Opaque("a call of an unknown function".to_owned()));
        };
        let arguments = entity.get_arguments().unwrap_or_default();
        let function = self.function_type(callee);
        let Some(function) = function else {
            return with(Kind::Opaque("a call of an unknown function".to_owned()));
        };
        let effect = "a call through a pointer that an expression with an effect yields";
        let callee = match self.pointer_callee(callee) {
            Some(callee) => callee,
            None => return with(Kind::Opaque(effect.to_owned())),
        };
        let arguments = self.arguments(&arguments, function.get_argument_types());
        let result = entity.get_type().map_or(Type::Void, types::lower);
        with(Kind::Call { callee, arguments, result })
    }

    /// Returns the type of the function that an expression designates or points to.
    fn function_type(&self, callee: Entity<'tu>) -> Option<clang::Type<'tu>> {
        let ty = callee.get_type()?.get_canonical_type();
        let ty = ty.get_pointee_type().map_or(ty, |to| to.get_canonical_type());
        ty.get_result_type().map(|_| ty)
    }

    /// Returns what a call through a pointer calls; `None` if finding the pointer has an effect,
    /// which the IR would lose.
    fn pointer_callee(&mut self, callee: Entity<'tu>) -> Option<Callee> {
        let mut pointer = self.expression(callee);
        while let Kind::Dereference(inner) = pointer.kind {
            pointer = *inner;
        }
        if pointer.has_effect() {
            return None;
        }
        Some(match pointer.kind {
            Kind::Field { record, name, .. } => Callee::Field(format!("{record}.{name}")),
            _ => Callee::Pointer,
        })
    }

    fn call_of_function(
        &mut self,
        entity: Entity<'tu>,
        function: Entity<'tu>,
        range: Option<Range>,
    ) -> Expression {
        let name = types::qualified_name(function);
        let arguments = entity.get_arguments().unwrap_or_default();
        if JUMPS.contains(&name.as_str()) {
            self.trouble.get_or_insert(format!("a call of `{name}`"));
        }
        // The second argument only says what to expect.
        if name == "__builtin_expect"
            && let Some(&value) = arguments.first()
        {
            let value = self.expression(value);
            return Expression { range: range.or(value.range), kind: value.kind };
        }
        let arguments = self.arguments_of(function, &arguments);
        let result = entity.get_type().map_or(Type::Void, types::lower);
        let callee = Callee::Function(self.called_name(function));
        Expression {
            range,
            kind: Kind::Call { callee, arguments, result: returned(function, result) },
        }
    }

    fn call_of_method(&mut self, entity: Entity<'tu>, method: Entity<'tu>) -> Kind {
        let arguments = entity.get_arguments().unwrap_or_default();
        let children = operands(entity);
        let member = children.first().map(|&callee| self.strip(callee));
        let member = member.filter(|callee| {
            callee.get_kind() == EntityKind::MemberRefExpr && callee.get_reference() == Some(method)
        });
        if let Some(owner) = member.and_then(|member| self.owner_asked(member, method)) {
            return Kind::Variable(owner);
        }
        let mut lowered = Vec::new();
        if let Some(member) = member {
            if !method.is_static_method() {
                match self.object(member) {
                    Some(object) => lowered.push(object),
                    None => return Kind::Opaque("a method of an unknown object".to_owned()),
                }
            }
            lowered.extend(self.arguments_of(method, &arguments));
        } else if method.is_static_method() {
            lowered = self.arguments_of(method, &arguments);
        } else if let Some((&object, rest)) = arguments.split_first() {
            // An operator: the object is its first operand.
            lowered.push(self.expression(object));
            lowered.extend(self.arguments_of(method, rest));
        } else {
            return Kind::Opaque("a method of an unknown object".to_owned());
        }
        let callee = Callee::Function(self.called_name(method));
        let result = entity.get_type().map_or(Type::Void, types::lower);
        Kind::Call { callee, arguments: lowered, result: returned(method, result) }
    }

    fn construction(&mut self, entity: Entity<'tu>, constructor: Entity<'tu>) -> Kind {
        let class = constructor.get_semantic_parent().map(types::qualified_name);
        let class = class.unwrap_or_default();
        let arguments = entity.get_arguments().unwrap_or_default();
        let arguments = self.arguments_of(constructor, &arguments);
        Kind::Construct(class, arguments)
    }

    /// Lowers the arguments of a function, with the default arguments that have an effect.
    fn arguments_of(
        &mut self,
        function: Entity<'tu>,
        arguments: &[Entity<'tu>],
    ) -> Vec<Expression> {
        let types = function.get_type().and_then(|ty| ty.get_argument_types());
        let mut lowered = self.arguments(arguments, types);
        lowered.extend(self.left_out_arguments(function, lowered.len()));
        lowered
    }

    /// Lowers arguments; those that are bound to references become addresses. Default arguments,
    /// which are not written, are left out here.
    fn arguments(
        &mut self,
        arguments: &[Entity<'tu>],
        types: Option<Vec<clang::Type<'tu>>>,
    ) -> Vec<Expression> {
        let types = types.unwrap_or_default();
        let mut lowered = Vec::new();
        for (place, &argument) in arguments.iter().enumerate() {
            if argument.get_children().is_empty() && self.span(argument).is_none() {
                continue;
            }
            let ty = types.get(place).copied().map(types::lower);
            let reference = matches!(ty, Some(Type::Reference { .. }));
            lowered.push(self.bound(argument, reference));
        }
        lowered
    }
}

/// Returns the type of a call's result; a call that returns a reference has the type of the
/// referenced object in libclang.
fn returned(function: Entity<'_>, result: Type) -> Type {
    match function.get_result_type().map(types::lower) {
        Some(reference @ Type::Reference { .. }) => reference,
        _ => result,
    }
}
