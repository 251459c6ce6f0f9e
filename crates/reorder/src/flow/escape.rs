//! Variables that may be reached through pointers that the analysis does not follow.
//!
//! The analysis follows pointers that local variables and their elements hold. An address escapes
//! when it is stored anywhere else, returned, or passed to a call that may keep it.

use std::collections::BTreeSet;

use super::{
    graph::{Graph, NodeKind},
    pointers::Surroundings,
    summary::Summaries,
};
use crate::{
    api::{Models, Returns},
    ir::{
        Callee, Expression, ExpressionKind as Kind, Language, Program, Scope, Type, Variable,
        VariableIndex,
    },
};

/// The facts about the addresses of variables; each list by the variable's index.
pub(crate) struct Addresses {
    /// True if the address escapes from the function.
    pub(crate) escaped: Vec<bool>,
    /// True if the value escapes, with the addresses in it.
    pub(crate) leaked: Vec<bool>,
    /// True if a local variable may hold the address.
    pub(crate) held: Vec<bool>,
    /// Pairs of parameters: the memory of the first may hold the value of the second.
    pub(crate) stores: Vec<(VariableIndex, VariableIndex)>,
}

/// Finds where the addresses of variables go.
pub(crate) fn addresses(
    program: &Program,
    graph: &Graph<'_>,
    models: &Models,
    summaries: &Summaries<'_>,
) -> Addresses {
    let mut search = Search {
        program,
        models,
        summaries,
        held: Vec::new(),
        away: hidden(program),
        leaked: BTreeSet::new(),
        stores: Vec::new(),
    };
    for node in &graph.nodes {
        match node.kind {
            NodeKind::Declare(declaration) => {
                if let Some(initial) = &declaration.initial {
                    search.stored(initial, Some(declaration.variable));
                    // A constructor that is not known may keep `this`.
                    if matches!(&initial.kind, Kind::Construct(class, _)
                        if models.construct(class).is_none())
                    {
                        search.away.insert(declaration.variable);
                    }
                    search.visit(initial);
                }
            }
            NodeKind::Evaluate(expression) => search.visit(expression),
            NodeKind::Return(Some(value)) | NodeKind::Throw(Some(value)) => {
                search.stored(value, None);
                search.visit(value);
            }
            _ => {}
        }
    }
    search.result()
}

/// Returns the variables whose address code without a representation may take.
fn hidden(program: &Program) -> BTreeSet<VariableIndex> {
    let all = program.variables.iter().enumerate();
    all.filter(|(_, variable)| variable.hidden).map(|(at, _)| VariableIndex(at)).collect()
}

/// A local variable that may hold an address.
struct Held {
    holder: VariableIndex,
    variable: VariableIndex,
    /// True if it is the variable's own address, false if it is the address that the variable
    /// holds.
    own: bool,
}

struct Search<'a> {
    program: &'a Program,
    models: &'a Models,
    summaries: &'a Summaries<'a>,
    /// The local variables that may hold the address of a variable, or a copy of its value.
    held: Vec<Held>,
    /// The variables whose own address escapes.
    away: BTreeSet<VariableIndex>,
    /// The variables whose value, and so the addresses that they hold, escapes.
    leaked: BTreeSet<VariableIndex>,
    /// The parameters whose value is stored in the memory of another one.
    stores: Vec<(VariableIndex, VariableIndex)>,
}

impl Search<'_> {
    /// Finds the stores and calls within an expression.
    fn visit(&mut self, expression: &Expression) {
        expression.walk(&mut |inner| match &inner.kind {
            Kind::Assign { target, value, .. } => {
                let holder = self.local_root(target);
                self.stored_in(value, holder, parameter_root(target));
            }
            Kind::Call { callee, arguments, .. } => self.passed(callee, arguments),
            Kind::Construct(_, arguments) => {
                arguments.iter().for_each(|argument| self.stored(argument, None));
            }
            // An address in a number is not followed.
            Kind::Cast(Type::Scalar(_), operand) if !self.is_number(operand) => {
                self.stored(operand, None);
            }
            _ => {}
        });
    }

    fn is_number(&self, expression: &Expression) -> bool {
        match &expression.kind {
            Kind::Variable(variable) => {
                matches!(self.program.variable(*variable).ty, Type::Scalar(_))
            }
            Kind::Field { ty, .. } | Kind::Cast(ty, _) | Kind::Call { result: ty, .. } => {
                matches!(ty, Type::Scalar(_))
            }
            Kind::Dereference(base) | Kind::Element { base, .. } => match &base.kind {
                Kind::Variable(variable) => {
                    let of = self.program.variable(*variable).ty.pointee();
                    matches!(of, Some(Type::Scalar(_)))
                }
                _ => false,
            },
            Kind::Address(_) | Kind::Text(_) => false,
            Kind::Binary(operator, left, right) => {
                operator == "-" && self.is_pointer(left) && self.is_pointer(right)
                    || self.is_number(left) && self.is_number(right)
            }
            _ => true,
        }
    }

    /// Returns true for a pointer or an array: the difference of two is a number.
    fn is_pointer(&self, expression: &Expression) -> bool {
        matches!(
            self.surroundings().type_of(expression),
            Some(Type::Pointer { .. } | Type::Array { .. })
        )
    }

    /// Returns true if the first argument of a call may be the object of a method.
    fn may_be_object(&self, argument: &Expression) -> bool {
        let ty = self.surroundings().type_of(argument);
        self.program.language == Language::Cpp
            && matches!(ty, Some(Type::Class(_) | Type::Record(_)))
    }

    fn surroundings(&self) -> Surroundings<'_, '_> {
        let Search { program, models, summaries, .. } = *self;
        Surroundings { program, models, summaries }
    }

    /// Notes the addresses that are passed to a function that may keep them.
    fn passed(&mut self, callee: &Callee, arguments: &[Expression]) {
        if self.models.call(callee).is_some() {
            return;
        }
        let summaries = self.summaries;
        let summary = match callee {
            Callee::Function(name) => summaries.of(name).and_then(|one| one.as_ref().ok()),
            _ => None,
        };
        for (at, argument) in arguments.iter().enumerate() {
            if summary.is_none_or(|one| one.keeps.get(at).copied().unwrap_or(true)) {
                self.stored(argument, None);
                let may_be_object =
                    summary.map_or_else(|| self.may_be_object(argument), |one| one.method);
                if at == 0 && may_be_object {
                    self.address_of(argument, None);
                }
            }
        }
        for &(into, value) in summary.iter().flat_map(|one| &one.stores) {
            let is_object = |number| number == 0 && summary.is_some_and(|one| one.method);
            if let (Some(place), Some(stored)) = (arguments.get(into), arguments.get(value)) {
                let place = if is_object(into) { Some(place) } else { address_root(place) };
                let holder = place.and_then(|place| self.local_root(place));
                match is_object(value) {
                    true => self.address_of(stored, holder),
                    false => self.stored_in(stored, holder, place.and_then(parameter_root)),
                }
            }
        }
    }

    /// Notes that a value is stored in a local variable, in memory of a parameter, or elsewhere.
    fn stored_in(
        &mut self,
        value: &Expression,
        holder: Option<VariableIndex>,
        into: Option<VariableIndex>,
    ) {
        let is_parameter =
            |one: VariableIndex| self.program.variable(one).scope == Scope::Parameter;
        let fixed = |one: &VariableIndex| is_parameter(*one) && !self.summaries.is_assigned(*one);
        match (holder, into.filter(fixed), plain_variable(value).filter(fixed)) {
            (None, Some(into), Some(value)) => self.stores.push((into, value)),
            _ => self.stored(value, holder),
        }
    }

    /// Returns the local variable that a store writes, if it writes one directly.
    fn local_root(&self, target: &Expression) -> Option<VariableIndex> {
        match &target.kind {
            Kind::Variable(variable) => {
                let Variable { scope, ty, .. } = self.program.variable(*variable);
                let is_own = matches!(scope, Scope::Local | Scope::Parameter);
                (is_own && !matches!(ty, Type::Reference { .. })).then_some(*variable)
            }
            Kind::Element { base, .. } => {
                let root = self.local_root(base)?;
                let ty = &self.program.variable(root).ty;
                matches!(ty, Type::Array { .. }).then_some(root)
            }
            Kind::Field { base, .. } if !matches!(base.kind, Kind::Dereference(_)) => {
                self.local_root(base)
            }
            _ => None,
        }
    }

    /// Notes that the value of an expression is stored in a local variable, or elsewhere.
    ///
    /// A number is left out. **Safe because** an address becomes a number by a conversion only,
    /// which lets it escape at once.
    fn stored(&mut self, value: &Expression, holder: Option<VariableIndex>) {
        if matches!(self.surroundings().type_of(value), Some(Type::Scalar(_))) {
            return;
        }
        match &value.kind {
            Kind::Address(operand) => self.address_of(operand, holder),
            Kind::Variable(variable) => {
                let ty = &self.program.variable(*variable).ty;
                self.note(*variable, holder, matches!(ty, Type::Array { .. }));
            }
            Kind::Element { .. } | Kind::Field { .. } | Kind::Dereference(_) => {
                self.address_of(value, holder);
            }
            Kind::Cast(_, operand) => self.stored(operand, holder),
            Kind::Comma(_, last) => self.stored(last, holder),
            Kind::Assign { value, .. } => self.stored(value, holder),
            Kind::Conditional(_, yes, no) => {
                self.stored(yes, holder);
                self.stored(no, holder);
            }
            Kind::Binary(_, left, right) => {
                self.stored(left, holder);
                self.stored(right, holder);
            }
            Kind::List(values) => values.iter().for_each(|value| self.stored(value, holder)),
            Kind::Call { callee, arguments, .. } => {
                if let Some(Returns::Borrowed(argument)) =
                    self.models.call(callee).map(|model| &model.returns)
                    && let Some(argument) = arguments.get(*argument)
                {
                    self.stored(argument, holder);
                }
            }
            _ => {}
        }
    }

    fn address_of(&mut self, place: &Expression, holder: Option<VariableIndex>) {
        match &place.kind {
            Kind::Variable(variable) => self.note(*variable, holder, true),
            Kind::Element { base, .. } => match &base.kind {
                Kind::Variable(_) => self.stored(base, holder),
                _ => self.address_of(base, holder),
            },
            Kind::Field { base, .. } | Kind::Cast(_, base) => self.address_of(base, holder),
            Kind::Dereference(pointer) => self.stored(pointer, holder),
            Kind::Conditional(_, yes, no) => {
                self.address_of(yes, holder);
                self.address_of(no, holder);
            }
            Kind::Comma(_, place)
            | Kind::Assign { target: place, .. }
            | Kind::Increment(_, place) => self.address_of(place, holder),
            _ => self.within(place),
        }
    }

    /// Lets all addresses within an expression escape that is not followed.
    fn within(&mut self, expression: &Expression) {
        expression.walk(&mut |inner| match &inner.kind {
            Kind::Variable(variable) => {
                let ty = &self.program.variable(*variable).ty;
                self.note(*variable, None, matches!(ty, Type::Array { .. }));
            }
            Kind::Address(operand) => {
                if let Kind::Variable(variable) = operand.kind {
                    self.note(variable, None, true);
                }
            }
            _ => {}
        });
    }

    fn note(&mut self, variable: VariableIndex, holder: Option<VariableIndex>, own: bool) {
        match holder {
            Some(holder) => self.held.push(Held { holder, variable, own }),
            None if own => {
                self.away.insert(variable);
            }
            None => {
                self.leaked.insert(variable);
            }
        }
    }

    fn result(mut self) -> Addresses {
        loop {
            let before = (self.away.len(), self.leaked.len());
            for held in &self.held {
                if self.away.contains(&held.holder) || self.leaked.contains(&held.holder) {
                    let to = if held.own { &mut self.away } else { &mut self.leaked };
                    to.insert(held.variable);
                }
            }
            if (self.away.len(), self.leaked.len()) == before {
                break;
            }
        }
        let mut escaped = vec![false; self.program.variables.len()];
        let mut held = escaped.clone();
        let mut leaked = escaped.clone();
        self.away.iter().for_each(|variable| escaped[variable.0] = true);
        self.leaked.iter().for_each(|variable| leaked[variable.0] = true);
        self.held.iter().filter(|one| one.own).for_each(|one| held[one.variable.0] = true);
        Addresses { escaped, leaked, held, stores: self.stores }
    }
}

/// Returns the variable that an expression consists of, perhaps with another type.
pub(super) fn plain_variable(expression: &Expression) -> Option<VariableIndex> {
    match &expression.kind {
        Kind::Variable(variable) => Some(*variable),
        Kind::Cast(_, operand) => plain_variable(operand),
        _ => None,
    }
}

/// Returns the place whose address an argument is: the operand of `&`, or an array.
fn address_root(argument: &Expression) -> Option<&Expression> {
    match &argument.kind {
        Kind::Address(operand) => Some(operand),
        Kind::Cast(_, operand) => address_root(operand),
        Kind::Variable(_) => Some(argument),
        _ => None,
    }
}

/// Returns the pointer variable in whose memory a place lies.
fn parameter_root(place: &Expression) -> Option<VariableIndex> {
    match &place.kind {
        Kind::Dereference(pointer) => plain_variable(pointer),
        Kind::Element { base, .. } => plain_variable(base).or_else(|| parameter_root(base)),
        Kind::Field { base, .. } => parameter_root(base),
        _ => None,
    }
}
