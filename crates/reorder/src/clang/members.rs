//! Accesses to fields and elements.

use clang::{Entity, EntityKind};

use super::{
    lowering::{Lowering, operands},
    types,
};
use crate::{
    ir::{Expression, ExpressionKind as Kind, Type},
    source::Range,
};

impl<'tu> Lowering<'tu, '_> {
    /// Lowers `base.field` and `base->field`; in a method also `field`.
    pub(super) fn member(&mut self, entity: Entity<'tu>, range: Option<Range>) -> Expression {
        let with = |kind| Expression { range, kind };
        let referenced = entity.get_reference();
        let field = match referenced.map(|one| (one.get_kind(), one)) {
            Some((EntityKind::FieldDecl, field)) => field,
            Some((EntityKind::VarDecl, variable)) => {
                return with(Kind::Variable(self.variable(variable)));
            }
            Some((EntityKind::EnumConstantDecl, constant)) => {
                return with(self.enumerator(constant));
            }
            _ => return with(Kind::Opaque("a member that is no field".to_owned())),
        };
        let parent = field.get_semantic_parent().and_then(|record| record.get_type());
        let (Some(parent), Some(ty), Some(base)) = (parent, field.get_type(), self.object(entity))
        else {
            return with(Kind::Opaque("a member of an unknown object".to_owned()));
        };
        self.records.add(parent);
        let record = types::record_name_of(parent);
        let base = self.through_unnamed(entity, parent, base);
        let (name, ty) = (types::field_name(field), types::lower(ty));
        let known = field.get_type().and_then(|ty| ty.get_pointee_type());
        let known = known.and_then(|to| to.get_canonical_type().get_declaration());
        let is_known = known.is_none_or(|to| to.get_definition().is_some());
        if matches!(&ty, Type::Reference { to, .. } if !matches!(**to, Type::Class(_)) && is_known)
        {
            return with(Kind::Opaque("a field that is a reference".to_owned()));
        }
        with(Kind::Field { base: Box::new(base), record, name, ty })
    }

    /// Adds the unnamed structures and unions between an object and the record of the field that is
    /// accessed; libclang leaves them out.
    fn through_unnamed(
        &mut self,
        member: Entity<'tu>,
        target: clang::Type<'tu>,
        mut base: Expression,
    ) -> Expression {
        let object = match operands(member).first() {
            Some(base) => base.get_type().map(|ty| ty.get_canonical_type()),
            None => None,
        };
        let object = object.map(|ty| ty.get_pointee_type().unwrap_or(ty).get_canonical_type());
        let path = object.and_then(|object| {
            unnamed_path(object.get_declaration()?, target.get_declaration()?, 0)
        });
        for field in path.into_iter().flatten() {
            let parent = field.get_semantic_parent().and_then(|record| record.get_type());
            let (Some(parent), Some(ty)) = (parent, field.get_type()) else { continue };
            let kind = Kind::Field {
                base: Box::new(base),
                record: types::record_name_of(parent),
                name: String::new(),
                ty: types::lower(ty),
            };
            base = Expression { range: None, kind };
        }
        base
    }

    /// Returns the object of a member access: `*base` for `base->field`, `*this` for `field`.
    pub(super) fn object(&mut self, member: Entity<'tu>) -> Option<Expression> {
        let synthetic =
            |inner| Expression { range: None, kind: Kind::Dereference(Box::new(inner)) };
        let Some(&base) = operands(member).first() else {
            let this = Kind::Variable(self.this()?);
            return Some(synthetic(Expression { range: None, kind: this }));
        };
        let pointer = base.get_type()?.get_canonical_type().get_kind() == clang::TypeKind::Pointer;
        let base = self.expression(base);
        Some(if pointer { synthetic(base) } else { base })
    }

    /// Lowers `base[index]`.
    pub(super) fn element(&mut self, entity: Entity<'tu>) -> Kind {
        let &[left, right] = operands(entity).as_slice() else {
            return Kind::Opaque("an element of an unknown array".to_owned());
        };
        let reversed = self
            .strip(left)
            .get_type()
            .is_some_and(|ty| matches!(types::lower(ty), Type::Scalar(_)));
        let (base, index) = if reversed { (right, left) } else { (left, right) };
        Kind::Element {
            base: Box::new(self.expression(base)),
            index: Box::new(self.expression(index)),
        }
    }
}

/// Returns the unnamed fields that lead from a record to another one within it.
fn unnamed_path<'tu>(from: Entity<'tu>, to: Entity<'tu>, depth: usize) -> Option<Vec<Entity<'tu>>> {
    if from.get_canonical_entity() == to.get_canonical_entity() {
        return Some(Vec::new());
    }
    let fields = from.get_type()?.get_canonical_type().get_fields()?;
    fields.into_iter().filter(|_| depth < 20).find_map(|field| {
        let unnamed = types::field_name(field).is_empty();
        let inner = field.get_type()?.get_canonical_type().get_declaration()?;
        let mut path = unnamed.then(|| unnamed_path(inner, to, depth + 1))??;
        path.insert(0, field);
        Some(path)
    })
}
