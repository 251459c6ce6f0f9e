//! The memory that calls bind to statements.

use super::Evaluation;
use crate::{
    api::{Bound as Binding, Call},
    flow::{
        effects::{Bound, BoundPart, Fetch},
        place::{Place, Step, type_of},
    },
    ir::{Expression, Type},
    sql::shape,
};

impl<'a> Evaluation<'a, '_> {
    /// Records what a call binds to a statement, and the fetches into bound memory.
    pub(super) fn bind(&mut self, arguments: &'a [Expression], model: &'a Call) {
        let Some(statement) = model.statement else { return };
        let number = model.binds_number.and_then(|number| arguments.get(number));
        let one = BoundPart::One(number.and_then(|number| self.around.program.index(number)));
        if model.binds_number.is_some() && model.binds_parameters.is_empty() {
            self.add_bound(arguments, statement, Vec::new(), (false, one));
        }
        let kinds = [(&model.binds_parameters, false), (&model.binds_results, true)];
        for (all, results) in kinds {
            for bound in all {
                let mut memory = self.led_to_by(arguments, bound.argument);
                if bound.through {
                    let counted = self.bound_structures(arguments, model, bound.argument);
                    let structures = counted.unwrap_or(memory);
                    let inner =
                        structures.iter().flat_map(|one| self.around.led_to(one, self.pointers));
                    memory = inner.collect();
                }
                let part = if bound.through { BoundPart::All } else { one };
                self.add_bound(arguments, statement, memory, (results, part));
            }
        }
        if model.writes_bound {
            let fetched = self.led_to_by(arguments, statement);
            let bound_before = self.effects.bound.len();
            let fetch = |statement| Fetch { statement, bound_before, is_bound: false };
            self.effects.fetched.extend(fetched.into_iter().map(fetch));
        }
    }

    fn add_bound(
        &mut self,
        arguments: &'a [Expression],
        statement: usize,
        memory: Vec<Place>,
        (results, part): (bool, BoundPart),
    ) {
        let statements = self.led_to_by(arguments, statement);
        let (handle, certain) = (arguments.get(statement), !self.conditional);
        let bound = Bound { statements, handle, memory, results, part, certain };
        self.effects.bound.push(bound);
    }

    /// Returns the structures of which a call that binds memory reads one for each parameter, or
    /// for each column, if their number is known: that of the statement's SQL.
    pub(super) fn bound_structures(
        &self,
        arguments: &'a [Expression],
        model: &'a Call,
        argument: usize,
    ) -> Option<Vec<Place>> {
        let is_its = |one: &&Binding| one.argument == argument && one.through;
        let parameters = model.binds_parameters.iter().any(|one| is_its(&one));
        if !parameters && !model.binds_results.iter().any(|one| is_its(&one)) {
            return None;
        }
        let texts = self.pointers.texts(arguments.get(model.statement?)?);
        let server = self.around.models.server()?;
        let count = |text: &String| match parameters {
            true => shape::parameter_count(text, server),
            false => Some(shape::selected_columns(text, server).len()).filter(|&one| one > 0),
        };
        let counts: Option<Vec<usize>> = texts.iter().map(count).collect();
        let count = counts?.into_iter().max()?;
        let array = arguments.get(argument)?;
        let [array] = &self.around.targets(array, self.pointers, self.node)[..] else {
            return None;
        };
        self.first_elements(array, count)
    }

    /// Returns a number of elements from a place on, which is an array of a variable or its
    /// element.
    fn first_elements(&self, place: &Place, count: usize) -> Option<Vec<Place>> {
        place.variable()?;
        let of_array = |array: &Place, first: u64| {
            let is_array = matches!(type_of(self.around.program, array), Some(Type::Array { .. }));
            let elements = (first..).take(count);
            is_array.then(|| elements.map(|index| array.part(Step::Element(Some(index)))).collect())
        };
        match place.path.split_last() {
            Some((Step::Element(Some(first)), path)) => {
                let array = Place { root: place.root.clone(), path: path.to_vec() };
                of_array(&array, *first)
            }
            _ if count == 1 && of_array(place, 0).is_none() => Some(vec![place.clone()]),
            _ => of_array(place, 0),
        }
    }
}
