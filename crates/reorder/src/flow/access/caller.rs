//! The places of a called function, as places of its caller.

use super::Evaluation;
use crate::{
    flow::{
        place::{Behind, Place, Root, Step, pointer_type, target_type, type_behind},
        pointers::with_texts,
        summary::Summary,
    },
    ir::{Expression, Type},
};

impl<'a> Evaluation<'a, '_> {
    /// Returns the places that places of a called function may be here.
    pub(super) fn all_for_caller(
        &mut self,
        places: &[Place],
        arguments: &'a [Expression],
        summary: &Summary<'a>,
    ) -> Vec<Place> {
        places.iter().flat_map(|place| self.for_caller(place, arguments, summary)).collect()
    }

    /// Returns the places that a place of a called function may be here.
    pub(super) fn for_caller(
        &mut self,
        place: &Place,
        arguments: &'a [Expression],
        summary: &Summary<'a>,
    ) -> Vec<Place> {
        let parameter = |variable| summary.parameters.iter().position(|&one| one == variable);
        let bases = match &place.root {
            Root::Pointee(variable) => match parameter(*variable) {
                Some(argument) => self.led_to_by_parameter(arguments, argument, summary),
                None => return vec![place.clone()],
            },
            Root::Behind(behind) => {
                let handle = behind.pointer.variable().and_then(parameter);
                match handle.filter(|_| behind.pointer.path.is_empty()) {
                    Some(argument) => self.led_to_by_parameter(arguments, argument, summary),
                    None => self.behind_for_caller(behind, arguments, summary),
                }
            }
            _ => return vec![place.clone()],
        };
        bases.iter().map(|base| self.extended(base, place)).collect()
    }

    /// Returns a place of a called function, here behind the place that its pointer leads to.
    fn extended(&self, base: &Place, place: &Place) -> Place {
        let around = self.around;
        let append = |base: &Place, rest: &[Step]| {
            let mut place = base.clone();
            place.path.extend_from_slice(rest);
            place
        };
        let begins = base.path.is_empty() && base.variable().is_none();
        match place.path.split_first() {
            Some((step @ Step::Field(record, _), rest)) => {
                append(&around.field(base, record, step.clone()), rest)
            }
            Some((step @ Step::Element(index), rest)) if !begins => {
                let pointee = target_type(around.program, &place.root);
                let own = type_behind(around.program, base);
                let is_reference = pointer_type(around.program, &place.root)
                    .is_some_and(|ty| matches!(ty, Type::Reference { .. }));
                let is_whole = matches!(pointee, Some(Type::Array { .. }))
                    && !matches!(base.path.last(), Some(Step::Element(_)));
                match (own, pointee) {
                    _ if is_reference => append(base, &place.path),
                    (Some(Type::Array { of, .. }), Some(pointee)) if **of == *pointee => {
                        append(&base.part(step.clone()), rest)
                    }
                    // It is what the pointer leads to.
                    (Some(own), Some(pointee))
                        if own == pointee && (is_whole || *index == Some(0)) =>
                    {
                        append(base, rest)
                    }
                    _ => append(&around.element(base, step, pointee), rest),
                }
            }
            _ => append(base, &place.path),
        }
    }

    /// Returns what a pointer leads to here that a called function follows.
    fn behind_for_caller(
        &mut self,
        behind: &Behind,
        arguments: &'a [Expression],
        summary: &Summary<'a>,
    ) -> Vec<Place> {
        let pointers = self.for_caller(&behind.pointer, arguments, summary);
        let led_to = pointers.iter().flat_map(|pointer| {
            let led_to = self.around.led_to(pointer, self.pointers);
            led_to
                .into_iter()
                .map(|led| with_texts(led, pointer, &behind.texts))
                .collect::<Vec<_>>()
        });
        led_to.collect()
    }

    /// Returns the places that a parameter of a called function leads to here.
    fn led_to_by_parameter(
        &mut self,
        arguments: &'a [Expression],
        number: usize,
        summary: &Summary<'a>,
    ) -> Vec<Place> {
        match (arguments.get(number), summary.method && number == 0) {
            (Some(object), true) => self.around.denoted(object, self.pointers, self.node),
            (Some(_), false) => self.led_to_by_copy(arguments, number),
            // A default argument is not written.
            (None, _) => vec![Place::whole(Root::Unknown)],
        }
    }

    /// Returns the places that an argument leads to, or its pointers if it is a structure.
    fn led_to_by_copy(&mut self, arguments: &'a [Expression], argument: usize) -> Vec<Place> {
        let copied = arguments
            .get(argument)
            .and_then(|one| self.around.targets_of_copy(one, self.pointers, self.node));
        copied.unwrap_or_else(|| self.led_to_by(arguments, argument))
    }
}
