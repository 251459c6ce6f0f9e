//! The memory that a call with a number of bytes reads or writes: `memcpy`, `strncpy`, `memset`.

use super::{Evaluation, constant};
use crate::{
    flow::{
        place::{Place, type_behind, type_of},
        pointers::anywhere_in,
    },
    ir::{Expression, ExpressionKind as Kind, Type},
};

impl<'a> Evaluation<'a, '_> {
    /// Returns true if a number of bytes is the `sizeof` of the only place.
    pub(super) fn is_size(&self, bytes: &Expression, places: &[Place]) -> bool {
        let (Kind::Constant(text), [place]) = (&bytes.kind, places) else { return false };
        let program = self.around.program;
        if let Some(Some(size)) = program.sizes.get(text)
            && !matches!(size, Type::Void | Type::Array { length: None, .. } | Type::Other(_))
            && type_of(program, place) == Some(size)
        {
            return true;
        }
        let Some(variable) = place.variable().filter(|_| place.path.is_empty()) else {
            return false;
        };
        let Some(operand) = text.strip_prefix("sizeof") else { return false };
        let operand = operand.trim().trim_start_matches('(').trim_end_matches(')').trim();
        operand == self.around.program.variable(variable).name
    }

    /// Returns the places with a number of bytes behind pointers. One that has fewer bytes is any
    /// part of the object around it: `memset(&order->count, 0, sizeof *order - offset)`.
    pub(super) fn within_bytes(
        &self,
        places: Vec<Place>,
        bytes: Option<&'a Expression>,
    ) -> Vec<Place> {
        let Some(bytes) = bytes else { return places };
        let around = |place: Place| match !place.path.is_empty() && self.exceeds(bytes, &place) {
            true => anywhere_in(place.root),
            false => place,
        };
        places.into_iter().map(around).collect()
    }

    /// Returns true if a number of bytes may be larger than a place: a constant, or one that has
    /// the size of a structure or of a longer text in it. Other numbers are taken to fit.
    fn exceeds(&self, bytes: &'a Expression, place: &Place) -> bool {
        let own = type_behind(self.around.program, place);
        let own_size = own.and_then(size_of_text);
        let is_larger = |bytes: u64| own_size.is_some_and(|size| bytes > size);
        if let Some(bytes) = constant(bytes) {
            return is_larger(bytes);
        }
        let mut exceeds = false;
        bytes.walk(&mut |inner| {
            let Kind::Constant(text) = &inner.kind else { return };
            let size = self.around.program.sizes.get(text);
            let is_other = |size: &Type| match size {
                Type::Record(_) => Some(size) != own,
                size => size_of_text(size).is_some_and(is_larger),
            };
            exceeds |= size.is_some_and(|size| size.as_ref().is_none_or(is_other));
        });
        exceeds
    }
}

/// Returns the number of bytes of a text, or of several.
fn size_of_text(ty: &Type) -> Option<u64> {
    match ty {
        Type::Array { of, length } => Some(size_of_text(of)? * (*length)?),
        Type::Scalar(name) if name.ends_with("char") => Some(1),
        _ => None,
    }
}
