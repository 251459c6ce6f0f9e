//! Code that may only run if an exit was not taken stays behind it: a unit that uses a variable
//! that the condition of the exit tests, directly or by way of another variable.
//!
//! **Safe because** all exits of a transaction roll back, so that a query that ran before an exit
//! or did not run leaves no trace, and an exit may change places with a query or with another exit:
//! which of several failures is reported may change, but not that one is. What is left is code that
//! would fail if the exit did not protect it: a division by a value that the exit tests for zero,
//! the use of a pointer that it tests for null. Such code uses what the condition uses.
//!
//! A condition around a query guards nothing if the exit behind it is taken only because the query
//! failed, or because of what it returned: the query would have to be known to do that. A function
//! of the program that runs a query may also leave because of what it gets; then its call tests
//! that ([`inputs`](crate::flow::inputs)).
//!
//! A query that may violate a constraint, such as an insert of a key, stays behind an exit that is
//! taken because of what a query returned: the program reports that, and not the violation. So does
//! a query that the content of a row may make fail: by a sum that is out of range, a division by
//! zero, a null or a text that does not fit (`sql::failing` says which).
//!
//! An exit that does not end an object stays outside of its life ([`lost_objects`]).

mod first_report;
mod lost_objects;
mod unchecked;

use std::collections::BTreeSet;

use super::{Context, Found, Rule};
use crate::{
    flow::{
        graph::{NodeIndex, NodeKind},
        inputs::is_result,
        place::{Place, Root},
        reaching::DefinitionIndex,
    },
    schema::{Event, Schema, Table},
    solve::UnitIndex,
    sql::TableAccess,
    units::Exit,
};

pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    unchecked::find(context, found);
    lost_objects::find(context, found);
    let units = 0..context.units.units.len();
    let errors: Vec<Option<String>> = units.clone().map(|one| may_raise(context, one)).collect();
    let tested: Vec<Vec<Value>> = units.clone().map(|one| tested(context, one)).collect();
    let read: Vec<Vec<Value>> = units.map(|one| read(context, one)).collect();
    for (first, later) in context.pairs() {
        if let Some(error) = errors[later].as_ref().filter(|_| answers(context, first)) {
            let reason = format!(
                "it leaves the transaction depending on what a query returned, and {error}"
            );
            found.before(first, later, Rule::Exit, reason);
        }
        if let Some(place) = guarding(context, &tested[first], &read[later]) {
            let name = super::values::name(context, place);
            let reason = format!("it leaves the transaction depending on {name}");
            found.before(first, later, Rule::Exit, reason);
        }
    }
}

/// Returns true if an exit of a unit is taken for another reason than that a query has failed.
fn answers(context: &Context<'_, '_, '_>, unit: UnitIndex) -> bool {
    context.units.units[unit].exits().any(|exit| !exit.on_failure)
}

/// Returns an error that a query of a unit may raise because of the rows that it meets, as a
/// clause.
fn may_raise(context: &Context<'_, '_, '_>, unit: UnitIndex) -> Option<String> {
    let schema = context.schema;
    context.units.units[unit].queries().find_map(|query| {
        let tables = query.query.tables.iter();
        let mut violated = tables.filter(|(name, access)| may_violate(schema, name, access));
        let violation = violated.next().map(|(name, _)| format!("`{name}` may refuse the change"));
        let locked = || {
            let mut locked = query.query.tables.iter().filter(|(_, access)| access.fails_locked);
            locked.next().map(|(name, _)| format!("rows of `{name}` may be locked"))
        };
        violation.or_else(locked).or_else(|| query.query.fails.clone())
    })
}

/// Returns true if an access to a table may fail because of the schema.
fn may_violate(schema: &Schema, name: &str, access: &TableAccess) -> bool {
    let changes = access.changes();
    if schema.is_view(name) {
        return changes;
    }
    access.deletes && schema.is_referred(name)
        || changes && raises(schema, name, access)
        || schema.family_tables(name).iter().any(|table| violates(table, access))
}

/// Returns true if an access may violate a constraint of a table.
fn violates(table: &Table, access: &TableAccess) -> bool {
    // A key whose number the server chooses is a new one.
    let is_new = |column: &String| access.gets_number(table, column);
    let keys = table.primary_key.iter().chain(&table.unique);
    let inserts = table.checks > 0
        || !table.foreign_keys.is_empty()
        || keys.clone().any(|key| !key.columns.iter().any(is_new));
    let foreign = table.foreign_keys.iter().flat_map(|key| &key.columns);
    let has_expression = keys.clone().any(|key| key.partial);
    let columns = keys.flat_map(|key| &key.columns).chain(foreign);
    let mut columns = columns.chain(&table.partitioned_by);
    // What the server computes from the row may not fit into its column.
    let computes = table.columns.iter().any(|column| column.computed);
    access.inserts && (inserts || computes || !table.partitioned_by.is_empty())
        || !access.writes.is_empty() && computes
        || !access.writes.is_empty() && (table.checks > 0 || has_expression)
        || columns.any(|column| access.writes.contains(column))
}

/// Returns true if a trigger or rule of a table, which may raise an error, runs for an access, or a
/// policy checks the new row.
fn raises(schema: &Schema, name: &str, access: &TableAccess) -> bool {
    let events = [
        (access.inserts, Event::Insert),
        (access.deletes, Event::Delete),
        (!access.writes.is_empty(), Event::Update),
    ];
    let checks = access.inserts || !access.writes.is_empty();
    let mut happening = events.into_iter().filter(|(happens, _)| *happens);
    checks && schema.has_rule(name, Event::Select)
        || happening.any(|(_, event)| {
            !schema.triggers_on(name, event).is_empty() || schema.has_rule(name, event)
        })
}

/// A read, with the definitions whose value it may see.
type Value = (Place, BTreeSet<DefinitionIndex>);

/// Returns a place on whose value the exits of a unit depend, by what they test, and which a later
/// unit reads with the same value.
fn guarding<'v>(
    context: &Context<'_, '_, '_>,
    tested: &'v [Value],
    read: &[Value],
) -> Option<&'v Place> {
    let same = |(a, from): &Value, (b, also): &Value| {
        context.flow.may_share(a, b) && from.intersection(also).next().is_some()
    };
    let guarding = tested.iter().find(|one| read.iter().any(|other| same(one, other)));
    guarding.map(|(place, _)| place)
}

/// Returns the reads of a unit.
fn read(context: &Context<'_, '_, '_>, unit: UnitIndex) -> Vec<Value> {
    context.units.units[unit].nodes().flat_map(|node| values(context, node)).collect()
}

/// Returns true if control takes an exit of a unit only because of what a query of the unit has
/// returned: the last conditions before the exit test nothing else.
fn is_answered(context: &Context<'_, '_, '_>, unit: UnitIndex, exit: &Exit) -> bool {
    let graph = &context.flow.graph;
    let own: BTreeSet<usize> = context.units.units[unit].nodes().collect();
    let (mut open, mut seen) = (vec![exit.node], BTreeSet::new());
    while let Some(node) = open.pop() {
        let condition = match graph.nodes[node].kind {
            NodeKind::Outcome { condition, .. } => Some(condition),
            _ => (graph.nodes[node].successors.len() > 1).then_some(node),
        };
        if let Some(condition) = condition {
            if !tests_result(context, unit, condition) {
                return false;
            }
            continue;
        }
        let leads = |one: &usize| graph.nodes[*one].successors.contains(&node);
        let before: Vec<usize> = own.iter().copied().filter(leads).collect();
        if before.is_empty() {
            return false;
        }
        if seen.insert(node) {
            open.extend(before);
        }
    }
    true
}

/// Returns true if all that a condition reads is what queries of a unit have returned.
fn tests_result(context: &Context<'_, '_, '_>, unit: UnitIndex, condition: usize) -> bool {
    let flow = context.flow;
    let read = values(context, condition);
    let is_returned = |definition: &DefinitionIndex| {
        let node = flow.definitions.all[*definition].node;
        context.units.of_node(node) == Some(unit) && is_answer(context, unit, node)
    };
    !read.is_empty()
        && read.iter().all(|(_, from)| !from.is_empty() && from.iter().all(is_returned))
}

/// Returns what the conditions of a unit with exits test, and what the tested values come from;
/// nothing for a unit without exits.
fn tested(context: &Context<'_, '_, '_>, index: UnitIndex) -> Vec<Value> {
    let (flow, unit) = (context.flow, &context.units.units[index]);
    if unit.exits().next().is_none() {
        return Vec::new();
    }
    let is_condition = |&node: &usize| {
        let node = &flow.graph.nodes[node];
        node.successors.len() > 1 && matches!(node.kind, NodeKind::Evaluate(_))
    };
    // That a query fails is no reason for what its parameters come from. That a call like
    // `mysql_stmt_bind_param` fails is none for what the handle of the statement comes from.
    let tests_query = |node: usize| match flow.graph.nodes[node].kind {
        NodeKind::Evaluate(condition) => {
            (is_query(context, index, node) || flow.uses_statements(condition))
                && flow.is_one_call(condition)
        }
        _ => false,
    };
    // Behind the question whether the server has rolled back, control leaves in any case.
    let asks = |node: usize| {
        let leaves = unit.pieces.iter().any(|piece| piece.leaving.contains(&node));
        leaves && !flow.effects[node].asks_open.is_empty()
    };
    let conditions = unit.nodes().filter(|&node| {
        is_condition(&node) && !tests_query(node) && !asks(node) && decides(context, index, node)
    });
    let mut open: Vec<Value> = conditions.flat_map(|node| values(context, node)).collect();
    let mut tested: Vec<Value> = Vec::new();
    while let Some(value) = open.pop() {
        if tested.contains(&value) {
            continue;
        }
        for &definition in &value.1 {
            let from = flow.definitions.all[definition].node;
            if context.units.of_node(from).is_none() {
                continue;
            }
            // Beside a query, as in `rc = n ? run(…) : -1`, other values may decide.
            if is_query(context, index, from) {
                let places = flow.read_outside(from).into_iter();
                open.extend(places.map(|place| value_of(context, from, place)));
            } else if !is_answer(context, index, from) {
                open.extend(values(context, from));
            }
        }
        tested.push(value);
    }
    tested
}

/// Returns true if a node calls a function that tests what it gets
/// ([`inputs`](crate::flow::inputs)), and an exit of the unit may be taken because of that.
fn tests_inputs(context: &Context<'_, '_, '_>, unit: UnitIndex, node: NodeIndex) -> bool {
    let by_failure = || context.units.units[unit].exits().all(|exit| exit.on_failure);
    context.flow.effects[node].tests_inputs && !by_failure()
}

/// Returns true for a node that runs a query, and leaves for no other reason than its outcome.
fn is_query(context: &Context<'_, '_, '_>, unit: UnitIndex, node: NodeIndex) -> bool {
    !context.flow.effects[node].queries.is_empty() && !tests_inputs(context, unit, node)
}

/// Returns true for a node whose values are those of a query: it runs one, or reads what one has
/// returned.
fn is_answer(context: &Context<'_, '_, '_>, unit: UnitIndex, node: NodeIndex) -> bool {
    let effects = &context.flow.effects[node];
    let is_of_query = !effects.queries.is_empty()
        || effects.accesses.iter().any(|access| is_result(&access.place));
    is_of_query && !tests_inputs(context, unit, node)
}

/// Returns true if an exit of a unit may be taken because of what a condition tests. It is not if
/// every path from the condition to an exit runs a query, and the exit is taken only because the
/// query fails, or because of what it returns: such a condition decides on the query.
fn decides(context: &Context<'_, '_, '_>, index: UnitIndex, condition: NodeIndex) -> bool {
    let unit = &context.units.units[index];
    let runs_query = |node: NodeIndex| !context.flow.effects[node].queries.is_empty();
    let (all, direct) = (
        reached(context, index, condition, &|_| false),
        reached(context, index, condition, &runs_query),
    );
    let is_by_query = |exit: &Exit| exit.on_failure || is_answered(context, index, exit);
    unit.exits()
        .any(|exit| direct.contains(&exit.node) || all.contains(&exit.node) && !is_by_query(exit))
}

/// Returns the nodes of a unit that control reaches from a node of it, that one included, without
/// passing a node at which it `stops`.
fn reached(
    context: &Context<'_, '_, '_>,
    unit: UnitIndex,
    from: NodeIndex,
    stops: &dyn Fn(NodeIndex) -> bool,
) -> BTreeSet<NodeIndex> {
    let is_own = |node: NodeIndex| context.units.of_node(node) == Some(unit);
    let (mut open, mut reached) = (vec![from], BTreeSet::new());
    while let Some(node) = open.pop() {
        if is_own(node) && !stops(node) && reached.insert(node) {
            open.extend(&context.flow.graph.nodes[node].successors);
        }
    }
    reached
}

/// Returns the reads of a node, without those of what queries return.
fn values(context: &Context<'_, '_, '_>, node: usize) -> Vec<Value> {
    let flow = context.flow;
    let own = flow.exposed_reads(node).into_iter();
    own.filter(|place| !is_result(place) && place.root != Root::Outside)
        .map(|place| value_of(context, node, place))
        .collect()
}

fn value_of(context: &Context<'_, '_, '_>, node: NodeIndex, place: &Place) -> Value {
    (place.clone(), context.flow.reaching(node, place).into_iter().collect())
}
