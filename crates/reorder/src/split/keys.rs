//! Iterations of a loop that name different rows by a key: a query of one and a query of another
//! may then change places though both use one table.
//!
//! Two queries name different rows in two iterations if both get, for one integer column of a key,
//! the same function of the variable that counts the iterations, and the function has another
//! value in each iteration:
//! - the variable itself, or plus or minus a constant;
//! - an element of an array, or a field of an element, with such an index, if the user states that
//!   the values differ (`--distinct`).
//!
//! **Safe because**
//! - the variable has another value in each iteration: the step adds a constant other than zero,
//!   nothing else writes the variable, its type has 32 bits or more, and a loop that came back to a
//!   value would not end;
//! - the array, the pointers that lead to it and all else in the expression but the variable are
//!   not written in the loop, so that all elements are those of one moment;
//! - the value goes to the query in the iteration that computes it: each path from the condition to
//!   the use of a variable passes the statement that gave it its text or number;
//! - no step on the way makes different values equal: conversions to types that have all values of
//!   the source, formats like `%lld` for exactly the type, no conversion in the SQL, a column of
//!   integers; in MySQL, which may store the nearest value, a column that has all values of the
//!   type if a row is inserted;
//! - so the two queries require different values in a column, and no row meets both.

use std::{cell::RefCell, collections::BTreeSet};

use super::number::{self, Range};
use crate::{
    api::Server,
    flow::{
        access::{AccessKind, QueryCall, Sql},
        graph::NodeIndex,
        parameter::{Given, Written},
        place::{Place, Root},
    },
    ir::{Expression, ExpressionKind as Kind, Type, VariableIndex},
    legality::{
        Context,
        same_table::{Parameters, Required},
    },
    sql::Value,
    units::UnitQuery,
};

/// The parameters of the queries in a loop.
pub(super) struct Keys<'c, 'a, 'p> {
    pub(super) context: &'c Context<'c, 'a, 'p>,
    /// The variable that counts.
    pub(super) counter: VariableIndex,
    /// The node of the loop's condition.
    pub(super) test: NodeIndex,
    /// The nodes of the loop's body.
    pub(super) nodes: BTreeSet<NodeIndex>,
    /// The arrays whose elements differ from one another, by name.
    pub(super) distinct: &'c [String],
    /// An element that has different values in the iterations that are compared.
    pub(super) sorted_by: Option<&'c Expression>,
    /// The name of an array whose elements would have to differ.
    pub(super) missing: RefCell<Option<String>>,
}

/// The words before a name that the user could state.
pub(super) const STATE: &str = "state --distinct";

/// The number of variables, at most, through which a value goes.
const VARIABLES_MAX: u32 = 8;

/// A value that is another one in each iteration.
struct Key<'a> {
    /// The counter plus this number is the value, or the index of the element.
    offset: i64,
    /// The element, if it is one.
    element: Option<&'a Expression>,
    /// The values of its type.
    range: Range,
}

impl Parameters for Keys<'_, '_, '_> {
    fn differ(&self, table: &str, column: &str, one: Required<'_>, other: Required<'_>) -> bool {
        let known = self.context.schema.table(table).and_then(|table| table.column(column));
        let Some(stored) = known.and_then(|column| number::of_column(&column.ty)) else {
            return false;
        };
        if self.range_of(self.counter).is_none_or(Range::is_small) {
            return false;
        }
        let inserts = one.access.inserts || other.access.inserts;
        let fits = |key: &Key<'_>| {
            !inserts || self.context.server != Server::Mysql || stored.contains(key.range)
        };
        let (Some(a), Some(b)) = (self.key(one), self.key(other)) else { return false };
        let mut pairs = a.iter().flat_map(|a| b.iter().map(move |b| (a, b)));
        pairs.all(|(a, b)| fits(a) && fits(b) && a.offset == b.offset && are_same(a, b))
            && a.iter().all(|key| self.is_distinct(key))
    }
}

/// Returns true if two values are the counter, or elements of one array.
fn are_same(a: &Key<'_>, b: &Key<'_>) -> bool {
    match (a.element, b.element) {
        (None, None) => true,
        (Some(a), Some(b)) => number::are_alike(a, b),
        _ => false,
    }
}

impl<'a> Keys<'_, 'a, '_> {
    /// Returns the fact that would make iterations independent, for a message.
    pub(super) fn missing(&self) -> Option<String> {
        let name = self.missing.borrow().clone()?;
        Some(format!("the elements of `{name}` might be equal: {STATE} {name}"))
    }

    /// Returns true if the value is another one in each iteration; notes the missing fact.
    fn is_distinct(&self, key: &Key<'a>) -> bool {
        let Some(element) = key.element else { return true };
        if self.sorted_by.is_some_and(|by| number::are_alike(by, element)) {
            return true;
        }
        let Some(name) = self.name(element) else { return false };
        let stated = self.distinct.contains(&name);
        if !stated {
            self.missing.borrow_mut().get_or_insert(name);
        }
        stated
    }

    /// Returns the elements whose values a query requires in a column of integers.
    pub(super) fn elements_of(&self, query: &UnitQuery) -> Vec<&'a Expression> {
        let mut found = Vec::new();
        for (table, access) in &query.query.tables {
            for (column, value) in &access.equal {
                let known = self.context.schema.table(table).and_then(|one| one.column(column));
                let is_integer = known.is_some_and(|one| number::of_column(&one.ty).is_some());
                let Value::Parameter(parameter) = *value else { continue };
                let keys = self.key(Required { query, access, parameter }).unwrap_or_default();
                if let [Key { element: Some(element), .. }] = keys[..]
                    && is_integer
                {
                    found.push(element);
                }
            }
        }
        found
    }

    /// Returns the values that a parameter may have, if each may be a key.
    fn key(&self, required: Required<'_>) -> Option<Vec<Key<'a>>> {
        let (call, node) = self.call(required.query)?;
        if converts(&required.query.text) || !self.has_plain_arguments(call) {
            return None;
        }
        let text = &required.query.text;
        let Given { values, sources } =
            self.context.flow.given(call, node, text, required.parameter)?;
        let is_used = |(at, _): &(NodeIndex, NodeIndex)| {
            let by: Vec<NodeIndex> =
                sources.iter().filter(|one| one.0 == *at).map(|one| one.1).collect();
            self.passes(*at, &by)
        };
        let keys = values.iter().map(|written| self.written(written));
        let keys = keys.collect::<Option<Vec<Key<'a>>>>()?;
        (sources.iter().all(is_used) && !keys.is_empty()).then_some(keys)
    }

    /// Returns the call of a query with its node, if it stands in the body.
    fn call(&self, query: &UnitQuery) -> Option<(&QueryCall<'a>, NodeIndex)> {
        let (flow, range) = (self.context.flow, query.range?);
        let calls = self
            .nodes
            .iter()
            .flat_map(|&node| flow.effects[node].queries.iter().map(move |call| (call, node)));
        let mut calls = calls.filter(|(call, _)| call.expression.range == Some(range));
        let (call, node) = calls.next()?;
        let is_own = flow.graph.nodes[node].range.contains(range);
        (is_own && calls.next().is_none()).then_some((call, node))
    }

    /// Returns true if a call with an array of parameters says nothing else about them, as about
    /// their types: all its other arguments are constants.
    fn has_plain_arguments(&self, call: &QueryCall<'a>) -> bool {
        let Some(parameters) = call.model.parameters else { return true };
        let Kind::Call { arguments, .. } = &call.expression.kind else { return false };
        let known = [call.model.connection, call.model.sql, Some(parameters.array)];
        let mut others = arguments.iter().enumerate().filter(|(at, _)| !known.contains(&Some(*at)));
        let is_prepared = matches!(call.sql, Sql::Statement(_) | Sql::Parameter { .. });
        !is_prepared && others.all(|(_, one)| is_constant(one))
    }

    /// Returns true if a node of the body is executed behind one of others in the same iteration.
    fn passes(&self, node: NodeIndex, others: &[NodeIndex]) -> bool {
        self.context.flow.graph.passes(self.test, node, others)
    }

    /// Returns the value that a format writes, if it writes all of it.
    fn written(&self, written: &Written<'a>) -> Option<Key<'a>> {
        let key = self.value(written.value, written.node, 0)?;
        let printed = number::of_conversion(&written.conversion)?;
        printed.contains(key.range).then_some(key)
    }

    /// Returns the key that an expression of a node is. `depth` counts the variables on the way.
    fn value(&self, expression: &'a Expression, node: NodeIndex, depth: u32) -> Option<Key<'a>> {
        let converted =
            |range: Range, key: Key<'a>| range.contains(key.range).then_some(Key { range, ..key });
        match &expression.kind {
            Kind::Cast(Type::Scalar(name), operand) => {
                converted(number::of_type(name)?, self.value(operand, node, depth)?)
            }
            Kind::Variable(variable) if *variable != self.counter && depth < VARIABLES_MAX => {
                let (value, by) = self.context.flow.value_of(*variable, node)?;
                let is_of_iteration = self.nodes.contains(&by) && self.passes(node, &[by]);
                let key = self.value(value, by, depth + 1).filter(|_| is_of_iteration)?;
                converted(self.range_of(*variable)?, key)
            }
            _ => match self.offset(expression) {
                Some(offset) => {
                    let range = self.range_of(self.counter)?;
                    Some(Key { offset, element: None, range })
                }
                None => self.element(expression, node),
            },
        }
    }

    /// Returns the values of a variable's type.
    fn range_of(&self, variable: VariableIndex) -> Option<Range> {
        match &self.context.program.variable(variable).ty {
            Type::Scalar(name) => number::of_type(name),
            _ => None,
        }
    }

    /// Returns the number that an expression adds to the counter; zero if the counter has no sign,
    /// so that a sum might begin again at 0.
    fn offset(&self, expression: &Expression) -> Option<i64> {
        let is_counter =
            |one: &Expression| matches!(one.kind, Kind::Variable(one) if one == self.counter);
        match &expression.kind {
            Kind::Variable(variable) => (*variable == self.counter).then_some(0),
            Kind::Binary(..) if !self.range_of(self.counter)?.is_signed() => None,
            Kind::Binary(operator, left, right) => match operator.as_str() {
                "+" if is_counter(left) => number::constant(right),
                "+" if is_counter(right) => number::constant(left),
                "-" if is_counter(left) => number::constant(right)?.checked_neg(),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns an element, or a field of one, whose index counts, and which the loop does not
    /// write.
    fn element(&self, expression: &'a Expression, node: NodeIndex) -> Option<Key<'a>> {
        let mut inner = expression;
        while let Kind::Field { base, .. } = &inner.kind {
            inner = base;
        }
        let Kind::Element { base, index } = &inner.kind else { return None };
        let mut has_effect = base.has_effect();
        base.walk(&mut |one| has_effect |= matches!(one.kind, Kind::Element { .. }));
        let Type::Scalar(name) = self.context.flow.type_of(expression)? else { return None };
        let key = Key {
            offset: self.offset(index)?,
            element: Some(expression),
            range: number::of_type(name)?,
        };
        (!has_effect && self.is_unchanged(expression, node)).then_some(key)
    }

    /// Returns true if the loop writes nothing that an expression reads, but its counter.
    fn is_unchanged(&self, expression: &'a Expression, node: NodeIndex) -> bool {
        let flow = self.context.flow;
        let counter = Place::whole(Root::Variable(self.counter));
        let is_written = |place: &Place| {
            let mut accesses = self.nodes.iter().flat_map(|&node| &flow.effects[node].accesses);
            accesses.any(|one| one.kind != AccessKind::Read && flow.may_share(&one.place, place))
        };
        flow.accesses_of(expression, node).iter().all(|access| {
            access.kind == AccessKind::Read
                && (access.place == counter || !is_written(&access.place))
        })
    }

    /// Returns the name by which the user states that elements differ: `trade_id`; `lines.item` for
    /// the field `item` of the elements of `lines`.
    fn name(&self, element: &Expression) -> Option<String> {
        match &element.kind {
            Kind::Field { base, name, .. } => Some(format!("{}.{name}", self.name(base)?)),
            Kind::Element { base, .. } => match &base.kind {
                Kind::Field { name, .. } => Some(name.clone()),
                Kind::Variable(array) => Some(self.context.program.variable(*array).name.clone()),
                _ => None,
            },
            _ => None,
        }
    }
}

/// Returns true for a number or a null pointer, with casts or without.
fn is_constant(expression: &Expression) -> bool {
    match &expression.kind {
        Kind::Constant(_) => true,
        Kind::Cast(_, operand) => is_constant(operand),
        _ => false,
    }
}

/// Returns true if a text may convert a value: two values may then become equal.
fn converts(text: &str) -> bool {
    let text = text.to_ascii_uppercase();
    ["CAST", "CONVERT", "::"].iter().any(|word| text.contains(word))
}
