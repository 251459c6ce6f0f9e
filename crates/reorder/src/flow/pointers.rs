//! The places that pointers lead to, and the places that expressions denote.

use super::{
    place::{Behind, Place, Root, Step, type_behind},
    prepared,
    summary::Summaries,
};
use crate::{
    api::{Call, Models, Returns},
    ir::{Callee, Declaration, Expression, ExpressionKind as Kind, Language, Program, Scope, Type},
};

/// The class of `std::string_view`.
const VIEW: &str = "std::basic_string_view";

/// Where pointers lead.
pub(crate) trait Pointers<'a> {
    /// Returns the places that the pointers in `place` lead to.
    fn led_to(&self, place: &Place) -> Vec<Place>;

    /// Returns the texts of the statement that an expression names or holds; empty if they are not
    /// known.
    fn texts(&self, statement: &'a Expression) -> Vec<String>;
}

/// The parts that the evaluations of all nodes share.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a, 'p> {
    pub(crate) program: &'a Program,
    pub(crate) models: &'a Models,
    pub(crate) summaries: &'p Summaries<'a>,
}

impl<'a> Surroundings<'a, '_> {
    /// Returns true if the variable of a declaration has the value that the last call of the
    /// function has left: it is static, and may have been written.
    pub(super) fn is_kept(&self, declaration: &Declaration) -> bool {
        let variable = self.program.variable(declaration.variable);
        let is_fixed = declaration.initial.is_some()
            && matches!(variable.ty, Type::Scalar(_) | Type::Pointer { .. })
            && !self.summaries.is_assigned(declaration.variable);
        variable.scope == Scope::Static && !variable.constant && !is_fixed
    }

    /// Returns true if a declaration of a static variable evaluates its initializer when it is
    /// executed first, and then no more: that of C++, unless it is a constant.
    pub(super) fn is_initialized_once(&self, declaration: &Declaration) -> bool {
        let Some(initial) = &declaration.initial else { return false };
        let mut is_constant = true;
        initial.walk(&mut |inner| {
            is_constant &= matches!(
                inner.kind,
                Kind::Constant(_)
                    | Kind::Text(_)
                    | Kind::List(_)
                    | Kind::Cast(..)
                    | Kind::Unary(..)
                    | Kind::Binary(..)
            );
        });
        self.program.language == Language::Cpp
            && self.program.variable(declaration.variable).scope == Scope::Static
            && !is_constant
    }

    /// Returns the type of an expression, if it is known without evaluating operators.
    pub(crate) fn type_of(&self, expression: &'a Expression) -> Option<&'a Type> {
        match &expression.kind {
            Kind::Variable(variable) => Some(&self.program.variable(*variable).ty),
            Kind::Field { ty, .. } | Kind::Cast(ty, _) | Kind::Call { result: ty, .. } => Some(ty),
            Kind::Element { base, .. } | Kind::Dereference(base) => self.pointee_of(base),
            Kind::Assign { target, .. } | Kind::Increment(_, target) => self.type_of(target),
            Kind::Comma(_, last) => self.type_of(last),
            Kind::Conditional(_, yes, _) => self.type_of(yes),
            _ => None,
        }
    }

    /// Returns the type that a pointer, an array or a reference to one leads to, if it is known.
    fn pointee_of(&self, expression: &'a Expression) -> Option<&'a Type> {
        match &expression.kind {
            Kind::Address(operand) => self.type_of(operand),
            Kind::Binary(operator, left, right) if operator == "+" || operator == "-" => {
                self.pointee_of(if self.is_pointer(left) { left } else { right })
            }
            Kind::Comma(_, last) => self.pointee_of(last),
            Kind::Conditional(_, yes, no) => self.pointee_of(yes).or_else(|| self.pointee_of(no)),
            _ => match self.type_of(expression)? {
                Type::Reference { to, .. } => to.pointee(),
                ty => ty.pointee(),
            },
        }
    }

    pub(crate) fn is_array(&self, expression: &'a Expression) -> bool {
        matches!(self.type_of(expression), Some(Type::Array { .. }))
    }

    /// Returns true if the expression may be a pointer, an array or a reference.
    pub(crate) fn is_pointer(&self, expression: &'a Expression) -> bool {
        match &expression.kind {
            Kind::Constant(_) | Kind::Text(_) | Kind::Unary(..) => false,
            Kind::Address(_) => true,
            // All other operators make numbers.
            Kind::Binary(operator, left, right) => {
                (operator == "+" || operator == "-")
                    && (self.is_pointer(left) || self.is_pointer(right))
            }
            _ => !matches!(self.type_of(expression), Some(Type::Scalar(_))),
        }
    }

    /// Returns true for a cast to a pointer to a structure, of anything but such a pointer.
    fn changes_structure(&self, ty: &Type, operand: &'a Expression) -> bool {
        let Some(Type::Record(record)) = ty.pointee() else { return false };
        let same =
            |from: &Type| matches!(from.pointee(), Some(Type::Record(name)) if name == record);
        !self.type_of(operand).is_some_and(same)
    }

    /// Returns true for a cast of a number to a pointer.
    fn makes_pointer(&self, cast: &'a Expression) -> bool {
        let Kind::Cast(ty, operand) = &cast.kind else { return false };
        let is_number = matches!(self.type_of(operand), Some(Type::Scalar(_)));
        is_number && !matches!(ty, Type::Scalar(_))
    }

    /// Returns the places that the pointers in `place` lead to.
    pub(crate) fn led_to(&self, place: &Place, pointers: &dyn Pointers<'a>) -> Vec<Place> {
        if let (Root::Variable(variable), true) = (&place.root, place.path.is_empty()) {
            let variable_of = self.program.variable(*variable);
            let is_outer = matches!(variable_of.scope, Scope::Parameter | Scope::Global);
            if is_outer && !self.summaries.is_assigned(*variable) {
                return vec![Place::whole(Root::Pointee(*variable))];
            }
        }
        match place.root {
            Root::Variable(_) | Root::Object(_) | Root::Pointee(_) | Root::Behind(_) => {
                pointers.led_to(place)
            }
            _ => vec![Place::whole(Root::Unknown)],
        }
    }

    /// Returns the places that a pointer, array or reference may lead to.
    pub(crate) fn targets(
        &self,
        expression: &'a Expression,
        pointers: &dyn Pointers<'a>,
        node: usize,
    ) -> Vec<Place> {
        let all = |one: &'a Expression| self.targets(one, pointers, node);
        match &expression.kind {
            Kind::Constant(_) | Kind::Text(_) => Vec::new(),
            Kind::Address(operand) => self.denoted(operand, pointers, node),
            // The address in a number has escaped.
            Kind::Cast(..) if self.makes_pointer(expression) => vec![Place::whole(Root::Unknown)],
            // Its pointer may lead to the structure around what the operand leads to.
            Kind::Cast(ty, operand) if self.changes_structure(ty, operand) => {
                let around = |place: Place| match place.path.is_empty() {
                    true => place,
                    false => anywhere_in(place.root),
                };
                all(operand).into_iter().map(around).collect()
            }
            Kind::Cast(_, operand) => all(operand),
            Kind::Comma(_, last) => all(last),
            Kind::Assign { operator: None, value, .. } => all(value),
            Kind::Conditional(_, yes, no) => [all(yes), all(no)].concat(),
            Kind::List(values) => values.iter().flat_map(all).collect(),
            Kind::Binary(operator, left, right) if operator == "+" || operator == "-" => {
                let base = if self.is_pointer(left) { left } else { right };
                self.elements(base, &Step::Element(None), all(base))
            }
            Kind::Increment(_, pointer) | Kind::Assign { target: pointer, .. } => {
                self.elements(pointer, &Step::Element(None), all(pointer))
            }
            Kind::Variable(_)
            | Kind::Element { .. }
            | Kind::Field { .. }
            | Kind::Dereference(_) => {
                let places = self.denoted(expression, pointers, node);
                // A view of a text is a pointer to it.
                if matches!(self.type_of(expression), Some(Type::Class(name)) if name == VIEW) {
                    let texts = places.iter().flat_map(|place| self.led_to(place, pointers));
                    return places.iter().cloned().chain(texts).collect();
                }
                // An object of a class stands for what it owns.
                if self.is_array(expression)
                    || matches!(self.type_of(expression), Some(Type::Class(_) | Type::Record(_)))
                {
                    return places;
                }
                if self.is_reference_to_object(expression) {
                    return places;
                }
                let texts = prepared::known_texts(*self, expression).unwrap_or_default();
                let led_to = |place: &Place| {
                    let led_to = self.led_to(place, pointers);
                    led_to.into_iter().map(|led| with_texts(led, place, &texts)).collect::<Vec<_>>()
                };
                places.iter().flat_map(led_to).collect()
            }
            // A text that a call makes and returns is its own: no other pointer leads there.
            Kind::Construct(class, _) if self.models.construct(class).is_some_and(makes_text) => {
                Vec::new()
            }
            Kind::Call { callee, result: Type::Class(_), .. }
                if self.models.call(callee).is_some_and(makes_text) =>
            {
                Vec::new()
            }
            Kind::Call { callee, arguments, .. } => {
                let places = self.returned(callee, arguments, pointers, node);
                match self.type_of(expression) {
                    Some(Type::Reference { .. }) if !self.is_reference_to_object(expression) => {
                        places.iter().flat_map(|place| self.led_to(place, pointers)).collect()
                    }
                    _ => places,
                }
            }
            _ => vec![Place::whole(Root::Unknown)],
        }
    }

    /// Returns true for a reference to something other than a pointer.
    fn is_reference_to_object(&self, expression: &'a Expression) -> bool {
        matches!(self.type_of(expression), Some(Type::Reference { to, .. })
            if !matches!(**to, Type::Pointer { .. }))
    }

    /// Returns the places that the result of a call, a pointer or a reference, leads to.
    fn returned(
        &self,
        callee: &'a Callee,
        arguments: &'a [Expression],
        pointers: &dyn Pointers<'a>,
        node: usize,
    ) -> Vec<Place> {
        let all = |one: &'a Expression| self.targets(one, pointers, node);
        let unknown = || vec![Place::whole(Root::Unknown)];
        if let Some(model) = self.models.call(callee) {
            return match model.returns {
                Returns::New => vec![Place::whole(Root::Object(node))],
                Returns::Borrowed(argument) => arguments.get(argument).map_or_else(unknown, all),
                Returns::Value => unknown(),
            };
        }
        let Callee::Function(name) = callee else { return unknown() };
        let summary = self.summaries.of(name).and_then(|one| one.as_ref().ok());
        let Some(summary) = summary else { return unknown() };
        let led_to_by = |number: usize| match arguments.get(number) {
            // The object of a method is no pointer to it.
            Some(object) if summary.method && number == 0 => {
                Some(self.denoted(object, pointers, node))
            }
            argument => argument.map(all),
        };
        match (&summary.returns, summary.returns_part_of) {
            (Returns::New, _) => vec![Place::whole(Root::Object(node))],
            (Returns::Borrowed(argument), _) => led_to_by(*argument).unwrap_or_else(unknown),
            (Returns::Value, Some(argument)) => {
                let around = led_to_by(argument).unwrap_or_else(unknown);
                around.into_iter().map(|place| anywhere_in(place.root)).collect()
            }
            (Returns::Value, None) => unknown(),
        }
    }

    /// Returns the element with an index of the memory that a pointer leads to, whose places are
    /// given.
    pub(super) fn elements(
        &self,
        pointer: &'a Expression,
        step: &Step,
        places: Vec<Place>,
    ) -> Vec<Place> {
        let pointee = self.pointee_of(pointer);
        places.iter().map(|place| self.element(place, step, pointee)).collect()
    }

    /// Returns an element of the memory that a pointer to a type leads to.
    ///
    /// A pointer to an array may lead to any of its elements, unless it is a parameter or a pointer
    /// in the caller's memory, whose pointee begins where it points. A pointer to an element leads
    /// to the others as well.
    pub(super) fn element(&self, place: &Place, step: &Step, pointee: Option<&Type>) -> Place {
        if begins_there(place) {
            // Of a pointer to an array, `(*p)[1]` and `p[0][1]` are one place.
            let is_array = matches!(pointee, Some(Type::Array { .. }));
            return place.part(if is_array { Step::Element(None) } else { step.clone() });
        }
        let own = type_behind(self.program, place);
        if let (Some(Type::Array { of, .. }), Some(pointee)) = (own, pointee)
            && **of == *pointee
        {
            return rows(place, step).part(Step::Element(None));
        }
        let is_field = |step: &Step| matches!(step, Step::Field(..));
        let is_other = |(own, pointee): (&Type, &Type)| innermost(own) != innermost(pointee);
        let is_other = own.zip(pointee).is_some_and(is_other);
        // A field that is no array has no other elements; programs step to the next field.
        let is_one = place.path.last().is_some_and(is_field)
            && !matches!(own, None | Some(Type::Array { .. }))
            && *step != Step::Element(Some(0));
        if is_one || is_other && place.path.iter().any(is_field) {
            return anywhere_in(place.root.clone());
        }
        let mut all = place.clone();
        if matches!(all.path.last(), Some(Step::Element(_))) {
            all.path.pop();
        }
        rows(&all, step).part(Step::Element(None))
    }

    /// Returns a field of a structure that begins at a place. If the place holds something else, as
    /// behind a cast, the structure is around it.
    pub(super) fn field(&self, place: &Place, record: &str, step: Step) -> Place {
        let own = type_behind(self.program, place).map(innermost);
        let is_other = match own {
            Some(Type::Record(name)) => name != record,
            Some(Type::Scalar(_) | Type::Pointer { .. }) => true,
            _ => false,
        };
        match is_other && !place.path.is_empty() {
            true => anywhere_in(place.root.clone()).part(step),
            false => place.part(step),
        }
    }

    /// Returns the places that the pointers in a copy of a structure lead to; `None` for a value
    /// that is no structure.
    pub(crate) fn targets_of_copy(
        &self,
        value: &'a Expression,
        pointers: &dyn Pointers<'a>,
        node: usize,
    ) -> Option<Vec<Place>> {
        if !matches!(self.type_of(value), Some(Type::Record(_))) {
            return None;
        }
        let places = self.denoted(value, pointers, node);
        Some(places.iter().flat_map(|place| self.led_to(place, pointers)).collect())
    }

    /// Returns the places that an expression denotes.
    pub(crate) fn denoted(
        &self,
        expression: &'a Expression,
        pointers: &dyn Pointers<'a>,
        node: usize,
    ) -> Vec<Place> {
        match &expression.kind {
            Kind::Variable(variable) => {
                let place = Place::whole(Root::Variable(*variable));
                match self.program.variable(*variable).ty {
                    Type::Reference { .. } => self.led_to(&place, pointers),
                    _ => vec![place],
                }
            }
            Kind::Field { base, record, name, ty } => {
                let step = Step::Field(record.clone(), name.clone());
                let bases = self.denoted(base, pointers, node);
                let fields = bases.iter().map(|place| self.field(place, record, step.clone()));
                match ty {
                    Type::Reference { .. } => {
                        fields.flat_map(|place| self.led_to(&place, pointers)).collect()
                    }
                    _ => fields.collect(),
                }
            }
            Kind::Element { base, index } => {
                let step = Step::Element(self.program.index(index));
                let is_reference = matches!(self.type_of(base), Some(Type::Reference { to, .. })
                    if matches!(**to, Type::Array { .. }));
                match self.is_array(base) || is_reference {
                    true => {
                        let bases = self.denoted(base, pointers, node);
                        bases.iter().map(|place| place.part(step.clone())).collect()
                    }
                    false => self.elements(base, &step, self.targets(base, pointers, node)),
                }
            }
            Kind::Dereference(pointer) => self.dereferenced(pointer, pointers, node),
            // In C++ these are no copies, but the objects themselves.
            Kind::Conditional(_, yes, no) => {
                let denoted = |one| self.denoted(one, pointers, node);
                [denoted(yes), denoted(no)].concat()
            }
            Kind::Comma(_, place)
            | Kind::Assign { target: place, .. }
            | Kind::Increment(_, place) => self.denoted(place, pointers, node),
            Kind::Cast(_, operand) => self.denoted(operand, pointers, node),
            Kind::Text(_) | Kind::Constant(_) => Vec::new(),
            Kind::Call { callee, arguments, result: Type::Reference { .. } } => {
                self.returned(callee, arguments, pointers, node)
            }
            // The object of a compound literal has no name.
            Kind::List(_) => vec![Place::whole(Root::Unknown)],
            _ => self.targets(expression, pointers, node),
        }
    }

    /// Returns the places that `*pointer` denotes.
    fn dereferenced(
        &self,
        pointer: &'a Expression,
        pointers: &dyn Pointers<'a>,
        node: usize,
    ) -> Vec<Place> {
        if let Kind::Address(operand) = &pointer.kind {
            return self.denoted(operand, pointers, node);
        }
        let (first, places) = (Step::Element(Some(0)), self.targets(pointer, pointers, node));
        let ty = match self.type_of(pointer) {
            Some(Type::Reference { to, .. }) => Some(&**to),
            ty => ty,
        };
        if matches!(ty, Some(Type::Array { .. })) {
            return places.iter().map(|place| place.part(first.clone())).collect();
        }
        if matches!(self.pointee_of(pointer), Some(Type::Array { .. })) {
            return self.elements(pointer, &first, places);
        }
        // A pointer to an array leads to any of its elements.
        let is_array =
            |place: &Place| matches!(type_behind(self.program, place), Some(Type::Array { .. }));
        let element = |place: Place| match is_array(&place) {
            true => place.part(Step::Element(None)),
            false => place,
        };
        places.into_iter().map(element).collect()
    }
}

/// Returns true for a call whose result is a new text by value.
fn makes_text(model: &Call) -> bool {
    let makes = model.builds.as_ref().is_some_and(|builds| builds.to.is_none());
    makes && model.returns == Returns::Value
}

/// Returns what a pointer led to when the function was called, with the texts of the statement that
/// it is; anything else as it is.
pub(super) fn with_texts(led: Place, pointer: &Place, texts: &[String]) -> Place {
    let is_initial = match &led.root {
        Root::Behind(behind) => behind.pointer == *pointer,
        Root::Pointee(variable) => *pointer == Place::whole(Root::Variable(*variable)),
        _ => false,
    };
    if texts.is_empty() || !is_initial || !led.path.is_empty() {
        return led;
    }
    let behind = Behind { pointer: pointer.clone(), texts: texts.to_vec() };
    Place::whole(Root::Behind(Box::new(behind)))
}

/// Returns true for the memory that a pointer from outside of the function leads to.
fn begins_there(place: &Place) -> bool {
    matches!(place.root, Root::Pointee(_) | Root::Behind(_)) && place.path.is_empty()
}

/// Returns the rows of an array of arrays that an element may lie in which a pointer to the first
/// one of a row leads to: programs step from row to row. The first element lies in its own row.
fn rows(row: &Place, step: &Step) -> Place {
    let mut rows = row.clone();
    if *step != Step::Element(Some(0)) {
        let steps = rows.path.iter_mut().rev();
        let indexes = steps.take_while(|one| matches!(one, Step::Element(_)));
        indexes.for_each(|index| *index = Step::Element(None));
    }
    rows
}

/// Returns a part of an object that is not known: it shares bytes with all of its parts.
pub(super) fn anywhere_in(root: Root) -> Place {
    Place::whole(root).part(Step::Element(None))
}

/// Returns the type of the elements of an array, of arrays of them too; any other type as it is.
fn innermost(ty: &Type) -> &Type {
    match ty {
        Type::Array { of, .. } => innermost(of),
        _ => ty,
    }
}
