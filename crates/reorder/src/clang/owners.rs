//! Local variables of the class `std::unique_ptr`, which end the object that they own where their
//! scope ends.
//!
//! In the IR such a variable is a pointer with an [`Owner`], if
//! 1. it is constructed from a call, where it is declared;
//! 2. the function that ends its object is known: the one that the constructor gets, or the only
//!    one that the `operator()` of the deleter calls, with its parameter;
//! 3. the function uses it by `get()` and as a truth value alone, so that it owns the same object
//!    until its scope ends. Each of its tokens must be such a use, also one that is the name of
//!    something else.
//!
//! Any other one is an object of the class, with the reason. Whether the function does no more than
//! to end the object the models say.

use std::collections::HashMap;

use clang::{Entity, EntityKind, EntityVisitResult, Type, TypeKind};

use super::{
    expanded::Span,
    lowering::{Lowering, operands},
    types,
};
use crate::ir::{Owner, Scope, VariableIndex};

/// The class.
const CLASS: &str = "std::unique_ptr";

/// A variable that owns an object.
#[derive(Clone, Debug)]
pub(super) struct Owned<'tu> {
    /// The type of the object.
    pub(super) object: Type<'tu>,
    /// The call that makes it.
    pub(super) made: Entity<'tu>,
    /// The name of the function that ends it.
    ends: String,
}

/// The variables of a function that are of the class; of those that are not understood, the reason.
pub(super) type Owners<'tu> = HashMap<Entity<'tu>, Result<Owned<'tu>, String>>;

impl<'tu> Lowering<'tu, '_> {
    /// Finds the variables of a function that are of the class.
    pub(super) fn owners_of(&self, function: Entity<'tu>, span: Span) -> Owners<'tu> {
        let mut declared = Vec::new();
        function.visit_children(|entity, _| {
            if entity.get_kind() == EntityKind::VarDecl
                && is_of_class(entity)
                && types::scope(entity) == Scope::Local
            {
                declared.push(entity);
            }
            EntityVisitResult::Recurse
        });
        let all = declared.into_iter();
        all.map(|one| (one.get_canonical_entity(), self.owned(one, function, span))).collect()
    }

    /// Returns the owner of a variable's object, for the IR.
    pub(super) fn owner(&self, declaration: Entity<'tu>) -> Option<Owner> {
        Some(match self.owners.get(&declaration.get_canonical_entity())? {
            Ok(owned) => Owner::Ends(owned.ends.clone()),
            Err(reason) => Owner::Unknown(reason.clone()),
        })
    }

    /// Returns what a variable owns, if that is understood.
    pub(super) fn owned_by(&self, declaration: Entity<'tu>) -> Option<Owned<'tu>> {
        self.owners.get(&declaration.get_canonical_entity())?.as_ref().ok().cloned()
    }

    /// Returns the variable whose object a method of the class returns, or asks for.
    pub(super) fn owner_asked(
        &mut self,
        member: Entity<'tu>,
        method: Entity<'tu>,
    ) -> Option<VariableIndex> {
        let declaration = asked(self, member, method)?;
        self.owned_by(declaration)?;
        Some(self.variable(declaration))
    }

    fn owned(
        &self,
        declaration: Entity<'tu>,
        function: Entity<'tu>,
        span: Span,
    ) -> Result<Owned<'tu>, String> {
        let name = declaration.get_name().unwrap_or_default();
        let missing = |fact: &str| format!("`{name}`, a `{CLASS}`: {fact}");
        let ty = declaration.get_type().map(|ty| ty.get_canonical_type());
        let arguments = ty.and_then(|ty| ty.get_template_argument_types()).unwrap_or_default();
        let &[Some(object), Some(deleter)] = arguments.as_slice() else {
            return Err(missing("its template arguments are not known"));
        };
        if object.get_element_type().is_some() {
            return Err(missing("it owns an array"));
        }
        let constructed = self.initializer(declaration).map(|value| self.strip(value));
        let given = constructed.filter(|&one| is_constructed(one)).and_then(|c| c.get_arguments());
        let given = given.unwrap_or_default();
        let made = given.first().map(|&first| self.strip(first));
        let made = made.filter(|&one| is_call(one) && is_pointer(one));
        let Some(made) = made else {
            return Err(missing("it is not constructed from the call that makes its object"));
        };
        let ends = match deleter.get_canonical_type().get_kind() {
            TypeKind::Pointer => given.get(1).and_then(|&one| self.function_named(one)),
            _ => self.called_by_deleter(deleter),
        };
        let Some(ends) = ends else {
            let deleter = deleter.get_display_name();
            let fact = format!("the function with which its deleter `{deleter}` ends its object");
            return Err(missing(&format!("{fact} is not known")));
        };
        match self.other_use(declaration, function, span, &name) {
            Some(line) => Err(missing(&format!("line {line} uses it other than by `get()`"))),
            None => Ok(Owned { object, made, ends }),
        }
    }

    /// Returns the function that an expression names: `PQclear` or `&PQclear`.
    fn function_named(&self, expression: Entity<'tu>) -> Option<String> {
        let mut named = self.strip(expression);
        if named.get_kind() == EntityKind::UnaryOperator {
            named = self.strip(*operands(named).first()?);
        }
        let function = named.get_reference().filter(|_| is_reference(named))?;
        (function.get_kind() == EntityKind::FunctionDecl).then(|| self.called_name(function))
    }

    /// Returns the function that a class of deleters calls with the pointer, if it does nothing
    /// else: its `operator()` consists of the call, and it has no other members.
    fn called_by_deleter(&self, deleter: Type<'tu>) -> Option<String> {
        let class = deleter.get_canonical_type().get_declaration()?.get_definition()?;
        if types::qualified_name(class).starts_with("std::") {
            return None;
        }
        let mut members = class.get_children();
        members.retain(|one| one.get_kind() != EntityKind::AccessSpecifier);
        let &[method] = members.as_slice() else { return None };
        let is_operator = method.get_kind() == EntityKind::Method
            && method.get_name().as_deref() == Some("operator()")
            && !method.is_static_method();
        let definition = method.get_definition().filter(|_| is_operator)?;
        let &[parameter] = definition.get_arguments()?.as_slice() else { return None };
        let block = definition.get_children().into_iter().rfind(|one| one.is_statement())?;
        let &[statement] = block.get_children().as_slice() else { return None };
        let is_block = block.get_kind() == EntityKind::CompoundStmt;
        let call = Some(self.strip(statement)).filter(|&one| is_block && is_call(one))?;
        let &[argument] = call.get_arguments()?.as_slice() else { return None };
        let argument = self.strip(argument);
        let is_its = is_reference(argument) && argument.get_reference() == Some(parameter);
        let called = call.get_reference().filter(|_| is_its)?;
        (called.get_kind() == EntityKind::FunctionDecl).then(|| self.called_name(called))
    }

    /// Returns the line of a token with the name of a variable that is no known use of it, or of a
    /// use that does not stand in the text: a macro may hide one.
    fn other_use(
        &self,
        declaration: Entity<'tu>,
        function: Entity<'tu>,
        span: Span,
        name: &str,
    ) -> Option<usize> {
        let (known, uses) = self.uses_of(declaration, function);
        let Some(own) = self.span(declaration) else { return Some(0) };
        // Behind a sign of access stands a member.
        let is_member = |place: usize| {
            let before = place.checked_sub(1).map(|before| self.source.token(before));
            matches!(before, Some("." | "->"))
        };
        let is_name = |&place: &usize| self.source.token(place) == name && !is_member(place);
        let declared = (own.first..=own.last).find(is_name);
        let named = (span.first..=span.last).filter(is_name);
        let mut all = named.map(Some).chain(uses).filter(|&one| one.is_none() || one != declared);
        let other = all.find(|one| one.is_none_or(|place| !known.contains(&place)))?;
        let first = other.unwrap_or(own.first);
        let range = self.source.outer_range(Span { first, last: first });
        Some(range.map_or(0, |range| range.line(self.source.text)))
    }

    /// Returns the tokens of the known uses of a variable, and those of all uses; `None` for one
    /// that does not stand in the text.
    fn uses_of(
        &self,
        declaration: Entity<'tu>,
        function: Entity<'tu>,
    ) -> (Vec<usize>, Vec<Option<usize>>) {
        let (mut known, mut uses) = (Vec::new(), Vec::new());
        let place = |one: Entity<'tu>| self.span(one).map(|span| span.first);
        function.visit_children(|entity, _| {
            let referenced = entity.get_reference();
            let member = operands(entity).first().map(|&callee| self.strip(callee));
            if let (Some(method), Some(member)) = (referenced.filter(|_| is_call(entity)), member)
                && asked(self, member, method) == Some(declaration)
            {
                let object = operands(member).first().map(|&object| self.strip(object));
                known.extend(object.and_then(place));
            }
            if is_reference(entity) && referenced == Some(declaration) {
                uses.push(place(entity));
            }
            EntityVisitResult::Recurse
        });
        (known, uses)
    }
}

/// Returns the variable of the class that a method is called of, if the method is `get()` or the
/// conversion to a truth value.
fn asked<'tu>(
    lowering: &Lowering<'tu, '_>,
    member: Entity<'tu>,
    method: Entity<'tu>,
) -> Option<Entity<'tu>> {
    let is_known = match method.get_kind() {
        EntityKind::Method => method.get_name().as_deref() == Some("get"),
        EntityKind::ConversionFunction => true,
        _ => false,
    };
    let class = method.get_semantic_parent().map(types::qualified_name);
    if !is_known
        || class.as_deref() != Some(CLASS)
        || member.get_kind() != EntityKind::MemberRefExpr
    {
        return None;
    }
    let object = lowering.strip(*operands(member).first()?);
    let declaration = object.get_reference().filter(|_| is_reference(object))?;
    (declaration.get_kind() == EntityKind::VarDecl && is_of_class(declaration))
        .then_some(declaration)
}

fn is_of_class(declaration: Entity<'_>) -> bool {
    let ty = declaration.get_type().map(|ty| ty.get_canonical_type());
    let class = ty.and_then(|ty| ty.get_declaration());
    class.is_some_and(|class| types::qualified_name(class) == CLASS)
}

fn is_constructed(expression: Entity<'_>) -> bool {
    let constructor = expression.get_reference().filter(|_| is_call(expression));
    let constructor = constructor.filter(|one| one.get_kind() == EntityKind::Constructor);
    let class = constructor.and_then(|one| one.get_semantic_parent());
    class.is_some_and(|class| types::qualified_name(class) == CLASS)
}

fn is_call(expression: Entity<'_>) -> bool {
    expression.get_kind() == EntityKind::CallExpr
}

fn is_pointer(expression: Entity<'_>) -> bool {
    let ty = expression.get_type().map(|ty| ty.get_canonical_type());
    ty.is_some_and(|ty| ty.get_kind() == TypeKind::Pointer)
}

fn is_reference(expression: Entity<'_>) -> bool {
    expression.get_kind() == EntityKind::DeclRefExpr
}
