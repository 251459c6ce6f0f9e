//! Updates that are increments.
//!
//! The value of a parameter is followed back: through buffers that `snprintf` fills with one value,
//! and through variables with a single write that reaches the use, to a read of the result of a
//! `SELECT`. The expressions on the way may add and subtract and convert; anything else ends the
//! search. The column is known by the constant number by which the result is read.

use super::{Advice, Call, Context, Same, same_row};
use crate::{
    flow::{
        access::AccessKind,
        graph::{NodeIndex, NodeKind},
        place::{Place, Root, Step},
        reaching::Definition,
    },
    ir::{Callee, Expression, ExpressionKind as Kind},
    legality::same_row::places,
    sql::shape,
};

/// The depth to which a value is followed.
const DEPTH: usize = 32;

/// Returns an advice if a column's new value is that of an earlier read plus or minus something.
pub(super) fn find(
    context: &Context<'_, '_, '_>,
    read: &Call<'_, '_>,
    update: &Call<'_, '_>,
) -> Option<Advice> {
    let (name, written) =
        update.query.query.tables.iter().find(|(_, one)| !one.writes.is_empty())?;
    let access = read.query.query.tables.get(name)?;
    if same_row(context, name, (read, access), (update, written))? != Same::Yes {
        return None;
    }
    let selected = shape::selected_columns(&read.query.text, context.server);
    let assigned = shape::assigned_parameters(&update.query.text, context.server);
    assigned.into_iter().find_map(|(column, number)| {
        let at = selected.iter().position(|one| one.as_ref() == Some(&column))?;
        let [place] = &places(context, update, number)?[..] else { return None };
        let search = Search { context, read: read.node, column: at };
        let found = search.of_place(place, update.node, DEPTH)?;
        let (line, read) = (update.line, read.line);
        (found == Found::Sum).then_some(Advice::Increment { line, column, read })
    })
}

/// A value that comes from the column.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Found {
    /// The value of the column.
    Column,
    /// The column plus or minus something.
    Sum,
}

struct Search<'s, 'c, 'a, 'p> {
    context: &'s Context<'c, 'a, 'p>,
    /// The node of the `SELECT`.
    read: NodeIndex,
    /// The number of the column in its result.
    column: usize,
}

impl<'a> Search<'_, '_, 'a, '_> {
    /// Follows the value of a place at a node.
    fn of_place(&self, place: &Place, node: NodeIndex, depth: usize) -> Option<Found> {
        let definition = self.only_definition(place, node)?;
        let node = definition.node;
        if let Some(value) = definition.value {
            return self.of_value(value, node, depth.checked_sub(1)?);
        }
        let NodeKind::Evaluate(expression) = self.context.flow.graph.nodes[node].kind else {
            return None;
        };
        match &stripped(expression).kind {
            Kind::Assign { operator: Some(operator), target, .. }
                if operator == "+" || operator == "-" =>
            {
                let place = self.place(target, node)?;
                self.of_place(&place, node, depth.checked_sub(1)?)?;
                Some(Found::Sum)
            }
            Kind::Call { callee: Callee::Function(name), arguments, .. } => {
                let value = match (name.as_str(), &arguments[..]) {
                    ("snprintf" | "std::snprintf", [_, _, _, value]) => value,
                    ("sprintf" | "std::sprintf", [_, _, value]) => value,
                    _ => return None,
                };
                self.of_value(value, node, depth.checked_sub(1)?)
            }
            _ => None,
        }
    }

    /// Follows the value of an expression of a node.
    fn of_value(&self, value: &'a Expression, node: NodeIndex, depth: usize) -> Option<Found> {
        let depth = depth.checked_sub(1)?;
        let value = stripped(value);
        match &value.kind {
            Kind::Binary(operator, left, right) if operator == "+" || operator == "-" => {
                // In `x - column` the column is not incremented.
                let right = (operator == "+").then_some(right);
                let from_right = || right.and_then(|right| self.of_value(right, node, depth));
                self.of_value(left, node, depth).or_else(from_right)?;
                Some(Found::Sum)
            }
            _ if self.fetches(value, node) => Some(Found::Column),
            _ => self.of_place(&self.place(value, node)?, node, depth),
        }
    }

    /// Returns the only write of a place that reaches a node.
    fn only_definition(&self, place: &Place, node: NodeIndex) -> Option<&Definition<'a>> {
        let flow = self.context.flow;
        let all = flow.reaching(node, place);
        // The declaration of a buffer gives it no value.
        let is_declaration = |one: &Definition<'a>| {
            matches!(flow.graph.nodes[one.node].kind, NodeKind::Declare(declared)
                if declared.initial.is_none())
        };
        let mut written =
            all.iter().map(|&one| &flow.definitions.all[one]).filter(|one| !is_declaration(one));
        let only = written.next()?;
        written.next().is_none().then_some(only)
    }

    /// Returns true if an expression reads the column from the result: calls, of which only one has
    /// a constant as its last argument, the number of the column.
    fn fetches(&self, value: &'a Expression, node: NodeIndex) -> bool {
        let (mut indexes, mut is_plain, mut from_read) = (Vec::new(), true, false);
        value.walk(&mut |inner| match &inner.kind {
            Kind::Call { arguments, .. } => {
                if let [object, .., last] = &arguments[..]
                    && let Kind::Constant(index) = &stripped(last).kind
                {
                    indexes.push(index.clone());
                    let made = self.context.flow.targets(object, node);
                    from_read |= made == [Place::whole(Root::Object(self.read))];
                }
            }
            Kind::Variable(_) | Kind::Constant(_) | Kind::Cast(..) => {}
            _ => is_plain = false,
        });
        is_plain && from_read && indexes == [self.column.to_string()]
    }

    /// Returns the place of a variable or a field that a node reads.
    fn place(&self, value: &Expression, node: NodeIndex) -> Option<Place> {
        let is_named = |place: &&Place| match &value.kind {
            Kind::Variable(variable) => **place == Place::whole(Root::Variable(*variable)),
            Kind::Field { name, .. } => {
                matches!(place.path.last(), Some(Step::Field(_, field)) if field == name)
            }
            _ => false,
        };
        let accesses = &self.context.flow.effects[node].accesses;
        let read = accesses.iter().filter(|access| access.kind == AccessKind::Read);
        let mut places: Vec<&Place> = read.map(|access| &access.place).filter(is_named).collect();
        places.dedup();
        let [place] = places[..] else { return None };
        Some(place.clone())
    }
}

/// Returns an expression without conversions.
fn stripped(mut expression: &Expression) -> &Expression {
    while let Kind::Cast(_, inner) = &expression.kind {
        expression = inner;
    }
    expression
}
