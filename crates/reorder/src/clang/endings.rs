//! Code that runs where an object ends: its destructor, which no token shows.
//!
//! The type decides: a class has such code if it, a base class or a member, also as the element of
//! an array or of a container, has a destructor that is not defaulted. The classes of `std` that
//! only hold values have none but that of the values.

use std::collections::HashSet;

use clang::{Entity, EntityKind, Type, TypeKind};

use super::{
    lowering::{Lowering, operands},
    types,
};
use crate::ir::{Expression, ExpressionKind, Owner};

/// The classes of `std` that do nothing else at their end than to end the values that they hold.
const HOLDERS: &[&str] = &[
    "std::allocator",
    "std::array",
    "std::basic_string",
    "std::basic_string_view",
    "std::char_traits",
    "std::complex",
    "std::deque",
    "std::equal_to",
    "std::forward_list",
    "std::hash",
    "std::less",
    "std::list",
    "std::map",
    "std::multimap",
    "std::multiset",
    "std::optional",
    "std::pair",
    "std::set",
    "std::tuple",
    "std::unordered_map",
    "std::unordered_set",
    "std::variant",
    "std::vector",
];

/// Where the destructor stands that runs at the end of an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Ending {
    /// There is none that does anything.
    Nothing,
    /// In a header. The model of the call that makes the object counts for its end as well.
    Header,
    /// In the file.
    File,
}

impl<'tu> Lowering<'tu, '_> {
    /// Returns where the destructor stands that runs at the end of an object of a type.
    pub(super) fn ending(&self, ty: Type<'tu>) -> Ending {
        self.ending_of(ty, &mut HashSet::new())
    }

    fn ending_of(&self, ty: Type<'tu>, seen: &mut HashSet<Entity<'tu>>) -> Ending {
        let ty = element(ty);
        if !is_class(ty) || ty.is_pod() {
            return Ending::Nothing;
        }
        let Some(class) = ty.get_declaration() else { return Ending::File };
        let class = class.get_definition().unwrap_or(class);
        if !seen.insert(class) {
            return Ending::Nothing;
        }
        let is_holder = is_holder(class);
        let inner = if is_holder {
            ty.get_template_argument_types().unwrap_or_default().into_iter().flatten().collect()
        } else {
            fields_and_bases(ty, class)
        };
        let inner = inner.into_iter().map(|ty| self.ending_of(ty, seen)).max();
        let own = if is_holder { Ending::Nothing } else { self.own_ending(class) };
        own.max(inner.unwrap_or(Ending::Nothing))
    }

    /// Returns where the destructor of a class itself stands.
    fn own_ending(&self, class: Entity<'tu>) -> Ending {
        let is_own = |one: &&Entity<'tu>| match one.get_kind() {
            EntityKind::Destructor => !one.is_defaulted(),
            // Which class it is depends on the arguments of a template.
            EntityKind::BaseSpecifier => one.get_type().map(element).is_none_or(|ty| !is_class(ty)),
            _ => false,
        };
        match members(class).iter().find(is_own) {
            Some(own) if self.span(*own).is_some() => Ending::File,
            Some(_) => Ending::Header,
            None if types::qualified_name(class).starts_with("std::") => Ending::Header,
            None => Ending::Nothing,
        }
    }

    /// Returns the reason why an expression is not represented: it makes an object that ends with
    /// the statement or later, by a destructor that no model describes.
    pub(super) fn ends_unseen(&self, entity: Entity<'tu>) -> Option<String> {
        let least = match entity.get_kind() {
            EntityKind::CallExpr if self.makes_object(entity) => Ending::File,
            EntityKind::InitListExpr => Ending::Header,
            _ => return None,
        };
        let ty = entity.get_type()?;
        (self.ending(ty) >= least).then(|| {
            let class = types::record_name_of(element(ty));
            format!("an object of `{class}`, whose destructor runs where it ends")
        })
    }

    /// Returns the reason why a declared object is not represented: its destructor runs where its
    /// scope ends.
    pub(super) fn ends_with_scope(
        &self,
        declaration: Entity<'tu>,
        initial: Option<&Expression>,
    ) -> Option<String> {
        let least = match initial.map(|one| &one.kind) {
            // Behind a constructor without a model, nothing moves anyway; see `unknown_owner`.
            Some(ExpressionKind::Construct(..)) => return None,
            Some(ExpressionKind::Call { .. }) => Ending::File,
            _ => Ending::Header,
        };
        let is_meant = self.ending(declaration.get_type()?) >= least;
        is_meant.then(|| "an object whose destructor runs where its scope ends".to_owned())
    }

    /// Returns the owner of a local variable whose destructor the file has: what it ends is not
    /// known.
    pub(super) fn unknown_owner(&self, declaration: Entity<'tu>) -> Option<Owner> {
        let ty = declaration.get_type().filter(|&ty| self.ending(ty) == Ending::File)?;
        let class = types::record_name_of(element(ty));
        Some(Owner::Unknown(format!("the destructor of `{class}` runs where its scope ends")))
    }

    /// Returns true if a call returns an object, and no reference to one.
    fn makes_object(&self, call: Entity<'tu>) -> bool {
        let result = match call.get_reference() {
            Some(function) if function.get_kind() == EntityKind::Constructor => return true,
            Some(function) => function.get_result_type(),
            None => None,
        };
        let through_pointer = || {
            let callee = operands(call).first()?.get_type()?.get_canonical_type();
            let function = callee.get_pointee_type().unwrap_or(callee).get_canonical_type();
            function.get_result_type()
        };
        let result = result.or_else(through_pointer).map(|ty| ty.get_canonical_type().get_kind());
        !matches!(result, Some(TypeKind::LValueReference | TypeKind::RValueReference))
    }
}

/// Returns true for a class of `std` that only holds values.
pub(super) fn is_holder(class: Entity<'_>) -> bool {
    HOLDERS.contains(&types::qualified_name(class).as_str())
}

fn is_class(ty: Type<'_>) -> bool {
    ty.get_kind() == TypeKind::Record
}

/// Returns the types of the fields and base classes of a class.
pub(super) fn fields_and_bases<'tu>(ty: Type<'tu>, class: Entity<'tu>) -> Vec<Type<'tu>> {
    let bases = members(class).into_iter();
    let bases = bases.filter(|one| one.get_kind() == EntityKind::BaseSpecifier);
    let fields = ty.get_fields().unwrap_or_default();
    fields.into_iter().chain(bases).filter_map(|one| one.get_type()).collect()
}

/// Returns the type of the elements of an array, and any other type itself.
pub(super) fn element(ty: Type<'_>) -> Type<'_> {
    let mut ty = ty.get_canonical_type();
    while let Some(inner) = ty.get_element_type() {
        ty = inner.get_canonical_type();
    }
    ty
}

/// Returns what a class declares; for one that the compiler makes of a template, the template.
pub(super) fn members<'tu>(class: Entity<'tu>) -> Vec<Entity<'tu>> {
    let own = class.get_children();
    match class.get_template().filter(|_| own.is_empty()) {
        Some(template) => template.get_children(),
        None => own,
    }
}
