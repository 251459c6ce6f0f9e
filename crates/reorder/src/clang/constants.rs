//! Literals and lists of initializers.

use std::collections::BTreeMap;

use clang::{Entity, EntityKind, EvaluationResult};

use super::{
    endings::members,
    lowering::{Lowering, operands},
    types,
};
use crate::ir::{Expression, ExpressionKind as Kind, Type};

impl<'tu> Lowering<'tu, '_> {
    /// Lowers a literal or a `sizeof`.
    pub(super) fn literal(&mut self, entity: Entity<'tu>) -> Kind {
        match entity.get_kind() {
            EntityKind::StringLiteral => match entity.get_name().as_deref().and_then(decoded) {
                Some(text) => Kind::Text(text),
                None => Kind::Opaque("a string literal that is not UTF-8".to_owned()),
            },
            EntityKind::GNUNullExpr | EntityKind::NullPtrLiteralExpr => {
                Kind::Constant("NULL".to_owned())
            }
            EntityKind::FloatingLiteral | EntityKind::UnaryExpr => {
                let written = self.file_range(entity).map(|range| range.of(self.source.text));
                let text = written.map_or_else(|| self.written(entity), str::to_owned);
                if text.starts_with("sizeof") {
                    if self.has_length_at_run_time(entity) {
                        return Kind::Opaque("the size of an array of variable length".to_owned());
                    }
                    let ty = self.size_operand(entity);
                    add(&mut self.sizes, text.clone(), ty);
                }
                Kind::Constant(text)
            }
            _ => match entity.evaluate() {
                Some(EvaluationResult::SignedInteger(value)) => Kind::Constant(value.to_string()),
                Some(EvaluationResult::UnsignedInteger(value)) => Kind::Constant(value.to_string()),
                _ => Kind::Constant(self.written(entity)),
            },
        }
    }

    /// Lowers an enumerator: its name. The program has its value.
    pub(super) fn enumerator(&mut self, entity: Entity<'tu>) -> Kind {
        let name = entity.get_name().unwrap_or_default();
        let value = entity.get_enum_constant_value().map(|(value, _)| value);
        add(&mut self.enumerators, name.clone(), value);
        Kind::Constant(name)
    }

    /// Returns true for a `sizeof` that evaluates its operand: the length of an array type. The
    /// size of a variable does not change.
    fn has_length_at_run_time(&self, entity: Entity<'tu>) -> bool {
        let Some(span) = self.span(entity) else { return false };
        let evaluates = (span.first..=span.last).any(|place| self.source.token(place) == "[");
        evaluates && entity.evaluate().is_none()
    }

    /// Returns the type whose size a `sizeof` is.
    fn size_operand(&self, entity: Entity<'tu>) -> Option<Type> {
        if let [operand] = operands(entity).as_slice() {
            return operand.get_type().map(types::lower);
        }
        // Of a type libclang shows the names within it: only of a name alone it is the type.
        let written = self.written(entity);
        let inner = written.strip_prefix("sizeof(")?.strip_suffix(')')?;
        let name = inner.strip_prefix("struct ").unwrap_or(inner);
        let is_name = name.chars().all(|c| c.is_alphanumeric() || c == '_');
        match entity.get_children().as_slice() {
            [only] if is_name && only.get_kind() == EntityKind::TypeRef => {
                only.get_type().map(types::lower)
            }
            _ => None,
        }
    }

    /// Lowers `{ … }`.
    pub(super) fn list(&mut self, entity: Entity<'tu>) -> Kind {
        let elements = operands(entity);
        let ty = entity.get_type();
        let fields = ty.and_then(|ty| ty.get_canonical_type().get_fields());
        let lowered = ty.map(types::lower);
        match (lowered, fields) {
            (Some(Type::Scalar(_) | Type::Pointer { .. } | Type::Reference { .. }), _)
                if elements.len() < 2 =>
            {
                let value = elements.first().map(|&one| self.expression(one).kind);
                value.unwrap_or_else(|| Kind::Constant("0".to_owned()))
            }
            // `char text[] = { "…" }`
            (Some(Type::Array { of, .. }), _)
                if elements.len() == 1
                    && matches!(*of, Type::Scalar(_))
                    && self.strip(elements[0]).get_kind() == EntityKind::StringLiteral =>
            {
                self.expression(elements[0]).kind
            }
            (Some(Type::Array { of, length }), _) => {
                let is_filled = length == Some(elements.len() as u64);
                if !is_filled && ty.is_some_and(|ty| self.runs_by_default(ty, 0)) {
                    let reason = "a list that leaves out elements whose defaults are no constants";
                    return Kind::Opaque(reason.to_owned());
                }
                self.array_list(&elements, &of)
            }
            (Some(Type::Record(_) | Type::Class(_)), Some(fields)) => {
                self.record_list(&elements, &fields, ty)
            }
            _ => Kind::Opaque("a list of initializers of an unknown type".to_owned()),
        }
    }

    /// Lowers the initializers of an array, in the order of its elements.
    fn array_list(&mut self, elements: &[Entity<'tu>], of: &Type) -> Kind {
        let mut values: Vec<Option<Expression>> = Vec::new();
        let mut place = 0;
        for &element in elements {
            let mut value = element;
            if self.designated(element).is_some() {
                let Some((index, inner)) = self.indexed(element) else {
                    return Kind::Opaque("a list with designated elements".to_owned());
                };
                (place, value) = (index, inner);
            }
            if !self.fits(value, of) {
                return Kind::Opaque("a list without its inner braces".to_owned());
            }
            if values.len() <= place {
                values.resize(place + 1, None);
            }
            values[place] = Some(self.expression(value));
            place += 1;
        }
        let zero = || Expression { range: None, kind: Kind::Constant("0".to_owned()) };
        Kind::List(values.into_iter().map(|value| value.unwrap_or_else(zero)).collect())
    }

    /// Reads `[index] = value`, with a small constant index.
    fn indexed(&self, element: Entity<'tu>) -> Option<(usize, Entity<'tu>)> {
        const MOST: i64 = 4096;
        let span = self.span(element)?;
        let close = (span.first..=span.last).find(|&place| self.source.token(place) == "]")?;
        let is_plain = self.source.token(span.first) == "["
            && self.source.token(close + 1) == "="
            && (span.first..close).all(|place| self.source.token(place) != "...");
        let &[index, value] = operands(element).as_slice() else { return None };
        let number = match index.evaluate()? {
            EvaluationResult::SignedInteger(number) => number,
            EvaluationResult::UnsignedInteger(number) => i64::try_from(number).ok()?,
            _ => return None,
        };
        let number = (0..MOST).contains(&number).then_some(number)?;
        is_plain.then_some((usize::try_from(number).ok()?, value))
    }

    /// Lowers the initializers of a structure, in the order of its fields.
    fn record_list(
        &mut self,
        elements: &[Entity<'tu>],
        fields: &[Entity<'tu>],
        ty: Option<clang::Type<'tu>>,
    ) -> Kind {
        let union = ty
            .and_then(|ty| ty.get_canonical_type().get_declaration())
            .is_some_and(|record| record.get_kind() == EntityKind::UnionDecl);
        if ty.is_some_and(|ty| self.has_base(ty)) {
            return Kind::Opaque("a list of initializers of a class with a base class".to_owned());
        }
        let mut values: Vec<Option<Expression>> = Vec::new();
        let mut place = 0;
        for &element in elements {
            let mut value = element;
            if let Some(designated) = self.designated(element) {
                let named = fields.iter().position(|field| {
                    field.get_name().is_some_and(|name| Some(name) == designated.field)
                });
                let (Some(named), Some(inner)) = (named, designated.value) else {
                    return Kind::Opaque("a list with nested designators".to_owned());
                };
                place = named;
                value = inner;
            }
            let field = fields.get(place).and_then(|field| field.get_type()).map(types::lower);
            let is_reference = matches!(field, Some(Type::Reference { .. }));
            if !field.is_some_and(|field| self.fits(value, &field)) || union && place > 0 {
                return Kind::Opaque("a list without its inner braces".to_owned());
            }
            if values.len() <= place {
                values.resize(place + 1, None);
            }
            values[place] = Some(self.bound(value, is_reference));
            place += 1;
        }
        if ty.is_some_and(|ty| ty.is_pod()) || union {
            let zero = || Expression { range: None, kind: Kind::Constant("0".to_owned()) };
            return Kind::List(values.into_iter().map(|one| one.unwrap_or_else(zero)).collect());
        }
        values.resize(fields.len(), None);
        let values = values.into_iter().zip(fields);
        Kind::List(
            values
                .map(|(value, &field)| value.unwrap_or_else(|| self.left_out_field(field)))
                .collect(),
        )
    }

    fn has_base(&self, ty: clang::Type<'tu>) -> bool {
        let class = ty.get_canonical_type().get_declaration().and_then(|one| one.get_definition());
        let is_base = |one: &Entity<'tu>| one.get_kind() == EntityKind::BaseSpecifier;
        class.is_some_and(|class| members(class).iter().any(is_base))
    }

    /// Returns true if an element initializes an object of the type alone: braces may be left out
    /// around the elements of an inner structure or array, which then stand in the outer list.
    fn fits(&self, element: Entity<'tu>, ty: &Type) -> bool {
        let core = self.strip(element);
        match ty {
            Type::Array { .. } => {
                matches!(core.get_kind(), EntityKind::InitListExpr | EntityKind::StringLiteral)
            }
            Type::Record(_) | Type::Class(_) => {
                core.get_kind() == EntityKind::InitListExpr
                    || core.get_type().is_some_and(|found| types::lower(found) == *ty)
            }
            _ => true,
        }
    }

    /// Reads `.field = value`; `None` for an element without a designator.
    fn designated(&self, element: Entity<'tu>) -> Option<Designated<'tu>> {
        let span = self.span(element)?;
        if !matches!(self.source.token(span.first), "." | "[")
            || element.get_kind() != EntityKind::UnexposedExpr
        {
            return None;
        }
        let members: Vec<Entity<'tu>> = element
            .get_children()
            .into_iter()
            .filter(|child| child.get_kind() == EntityKind::MemberRef)
            .collect();
        let simple =
            self.source.token(span.first) == "." && self.source.token(span.first + 2) == "=";
        match members.as_slice() {
            [member] if simple => {
                let value = operands(element).last().copied();
                Some(Designated { field: member.get_name(), value })
            }
            _ => Some(Designated { field: None, value: None }),
        }
    }
}

/// Adds a name with its meaning; a name with another meaning than before has none.
fn add<T: PartialEq>(all: &mut BTreeMap<String, Option<T>>, name: String, meaning: Option<T>) {
    let known = all.entry(name);
    known
        .and_modify(|known| *known = known.take().filter(|one| Some(one) == meaning.as_ref()))
        .or_insert(meaning);
}

/// A designated element of a list; without a field if it has more than one designator.
struct Designated<'tu> {
    field: Option<String>,
    value: Option<Entity<'tu>>,
}

/// Decodes a string literal as libclang writes it: with octal escapes, joined.
fn decoded(literal: &str) -> Option<String> {
    let open = literal.find('"')?;
    let body = literal[open + 1..].strip_suffix('"')?;
    let mut bytes = Vec::with_capacity(body.len());
    let mut rest = body.as_bytes().iter().copied().peekable();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        match rest.next()? {
            digit @ b'0'..=b'7' => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    let Some(next) = rest.next_if(|next| (b'0'..=b'7').contains(next)) else {
                        break;
                    };
                    value = value * 8 + u32::from(next - b'0');
                }
                bytes.push(u8::try_from(value).ok()?);
            }
            b'n' => bytes.push(b'\n'),
            b't' => bytes.push(b'\t'),
            b'r' => bytes.push(b'\r'),
            b'a' => bytes.push(7),
            b'b' => bytes.push(8),
            b'f' => bytes.push(12),
            b'v' => bytes.push(11),
            other @ (b'"' | b'\\' | b'\'' | b'?') => bytes.push(other),
            _ => return None,
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_are_decoded_to_their_bytes() {
        assert_eq!(decoded(r#""a\303\244\n\"\\""#).as_deref(), Some("aä\n\"\\"));
        assert_eq!(decoded(r#"u8"x\0001""#).as_deref(), Some("x\u{0}1"));
        assert_eq!(decoded(r#""\377""#), None);
        assert_eq!(decoded("x"), None);
    }
}
