//! The reads of all units, each with the writes that it may see: what the three rules on values
//! share.
//!
//! A read sees the value of the last write before it. So an order gives each read the same value
//! as the source if
//! 1. the writes that may reach it stand before it ([`read_after_write`](super::read_after_write)),
//! 2. in the same order among each other ([`write_after_write`](super::write_after_write)),
//! 3. and no other write of the place stands between the first of them and the read
//!    ([`write_after_read`](super::write_after_read)).
//!
//! The end of the transaction reads everything that code behind it may read. If an exit leads to
//! that code as well, the exit reads for itself: a write whose value comes there by way of an exit
//! only is none that the code behind the end sees.
//!
//! A variable that has the same constant value between all units (a pointer that each unit sets
//! back to `NULL`) has it in each order, so that reads of it between units demand nothing. Nor do
//! reads of the connection's error where all queries are checked ([`no_error`]), nor reads behind
//! the last unit of a variable that each unit leaves at the same number ([`left_number`]).

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
};

use super::{Context, left_number, no_error};
use crate::{
    flow::{
        access::AccessKind,
        graph::NodeIndex,
        place::{Place, Root, Step},
        reaching::Definition,
    },
    ir::{ExpressionKind, StatementKind},
    solve::UnitIndex,
    units::{Barrier, Unit, exposed},
};

/// A read of a unit.
pub(crate) struct Read {
    /// The unit.
    pub(crate) unit: UnitIndex,
    /// The place.
    pub(crate) place: Place,
    /// The units with a write that may reach the read, in the order of the source; the read's own
    /// unit among them if a loop leads from the write to the read.
    pub(crate) writers: Vec<UnitIndex>,
    /// True if a value from before the transaction may reach the read.
    pub(crate) from_before: bool,
}

/// Returns the reads of all units, without those of barriers among barriers.
pub(crate) fn reads(context: &Context<'_, '_, '_>) -> Vec<Read> {
    let mut reads = Vec::new();
    let constant = Constant::default();
    let without_error = no_error::units(context);
    for (unit, one) in context.units.units.iter().enumerate() {
        // What stands behind a `return` is reached by exits only, which read what it reads.
        let returned = context.units.units[..unit].iter().flat_map(|earlier| &earlier.pieces);
        let mut returned = returned.map(|piece| &piece.statement.kind);
        if returned.any(|kind| matches!(kind, StatementKind::Return(_))) {
            break;
        }
        for piece in &one.pieces {
            for (node, place) in exposed(context.flow, piece) {
                let finds_none = without_error[unit].is_some() && *place == Place::error();
                if place.root == Root::Outside || finds_none {
                    continue;
                }
                let read = read(context, unit, node, place);
                let is_constant = || constant.is_seen_by(context, &read, node);
                if !is_constant() && !left_number::is_seen_by(context, &read) {
                    reads.push(read);
                }
            }
        }
    }
    reads
}

fn read(context: &Context<'_, '_, '_>, unit: UnitIndex, node: NodeIndex, place: &Place) -> Read {
    let flow = context.flow;
    let (mut writers, mut from_before) = (BTreeSet::new(), false);
    for definition in flow.reaching_by(node, place, |from, to| !is_exit(context, from, to)) {
        match context.units.of_node(flow.definitions.all[definition].node) {
            Some(writer) => {
                writers.insert(writer);
            }
            None => from_before = true,
        }
    }
    // A value from before a loop around the whole transaction is one from before it.
    from_before |= writers.iter().any(|&writer| writer > unit);
    writers.retain(|&writer| writer <= unit);
    Read { unit, place: place.clone(), writers: writers.into_iter().collect(), from_before }
}

/// Returns true for a step of control that leaves the transaction by an exit, to code behind it.
fn is_exit(context: &Context<'_, '_, '_>, from: NodeIndex, to: NodeIndex) -> bool {
    let units = &context.units.units;
    let Some(unit) = context.units.of_node(from).filter(|&unit| !units[unit].is_barrier()) else {
        return false;
    };
    let next = units[unit + 1..].iter().find_map(|unit| unit.nodes().next());
    to > from && context.units.of_node(to) != Some(unit) && Some(to) != next
}

/// The places that have the same constant value between all units, as far as they were asked for.
#[derive(Default)]
struct Constant {
    values: RefCell<BTreeMap<Place, Option<String>>>,
}

impl Constant {
    /// Returns true if a read sees nothing but the value that a place has between all units.
    fn is_seen_by(&self, context: &Context<'_, '_, '_>, read: &Read, node: NodeIndex) -> bool {
        if read.writers.contains(&read.unit) {
            return false;
        }
        let known = self.values.borrow().get(&read.place).cloned();
        let value = known.unwrap_or_else(|| {
            let value = between_units(context, &read.place);
            self.values.borrow_mut().insert(read.place.clone(), value.clone());
            value
        });
        value.is_some() && value == only_value(context, node, &read.place)
    }
}

/// Returns the value that a variable has between all units, if it is the same constant.
fn between_units(context: &Context<'_, '_, '_>, place: &Place) -> Option<String> {
    place.variable().filter(|_| place.path.is_empty())?;
    let units = &context.units.units;
    let is_inside = |unit: &&Unit<'_>| unit.barriers().all(|one| *one != Barrier::Outside);
    let begin = units.iter().find(is_inside)?.nodes().next()?;
    let value = only_value(context, begin, place)?;
    let leaves_it = |&unit: &UnitIndex| {
        let next = units[unit + 1..].iter().find_map(|unit| unit.nodes().next());
        let own = |node| context.units.of_node(node) == Some(unit);
        next.is_some_and(|next| {
            let left = stored(context, next, place, &own);
            left.iter().all(|left| *left == Some(&value))
        })
    };
    writers(context, place).iter().all(leaves_it).then_some(value)
}

/// Returns the constant that all definitions of a place store that reach a node; `None` if one of
/// them stores something else.
fn only_value(context: &Context<'_, '_, '_>, node: NodeIndex, place: &Place) -> Option<String> {
    let values = stored(context, node, place, &|_| true);
    let first = (*values.first()?)?;
    values.iter().all(|value| *value == Some(first)).then(|| first.clone())
}

/// Returns the constants that definitions of exactly this place store that reach a node and stand
/// where `counts` says; `None` for one that stores something else.
fn stored<'c>(
    context: &'c Context<'_, '_, '_>,
    node: NodeIndex,
    place: &Place,
    counts: &dyn Fn(NodeIndex) -> bool,
) -> Vec<Option<&'c String>> {
    let flow = context.flow;
    let reaching = flow.reaching(node, place).into_iter().map(|one| &flow.definitions.all[one]);
    let constant = |definition: &'c Definition<'_>| match definition.value.map(|one| &one.kind) {
        Some(ExpressionKind::Constant(value)) if definition.place == *place => Some(value),
        _ => None,
    };
    reaching.filter(|one| counts(one.node)).map(constant).collect()
}

/// Returns the units that write what shares bytes with a place.
pub(crate) fn writers(context: &Context<'_, '_, '_>, place: &Place) -> Vec<UnitIndex> {
    let writes = |unit: &UnitIndex| {
        let mut written = context.units.written(*unit).iter();
        written.any(|one| context.flow.may_share(one, place))
    };
    (0..context.units.units.len()).filter(writes).collect()
}

/// Returns the reason of a constraint on a unit that writes a place which another one reads. If
/// the write is one by way of another pointer, that pointer is named.
pub(super) fn written(context: &Context<'_, '_, '_>, writer: UnitIndex, read: &Place) -> String {
    let flow = context.flow;
    let mut nodes = context.units.units[writer].continuing_nodes();
    let through = nodes.find_map(|node| {
        let accesses = flow.effects[node].accesses.iter();
        let mut writes = accesses.filter(|one| one.kind != AccessKind::Read);
        let write = writes.find(|one| flow.may_share(&one.place, read))?;
        Some((write.place.clone(), node))
    });
    let reason = format!("it writes {}", name(context, read));
    match through {
        Some((Place { root: Root::Pointee(pointer), .. }, node))
            if read.root != Root::Pointee(pointer) && matches!(read.root, Root::Pointee(_)) =>
        {
            let pointer = &context.program.variable(pointer).name;
            let line = flow.graph.nodes[node].range.line(context.text);
            format!("{reason}, if `{pointer}` leads there as well (line {line})")
        }
        Some((bound @ Place { root: Root::Bound(_), .. }, _)) if bound != *read => {
            format!("{reason}, if that is {}", name(context, &bound))
        }
        _ => reason,
    }
}

/// Returns a name for a place, for a message.
pub(super) fn name(context: &Context<'_, '_, '_>, place: &Place) -> String {
    match &place.root {
        Root::Variable(variable) => format!("`{}`", context.program.variable(*variable).name),
        Root::Pointee(variable) => {
            format!("what `{}` leads to", context.program.variable(*variable).name)
        }
        Root::Object(_) => "the result of a query".to_string(),
        Root::Behind(behind) if place.root.is_object() => {
            format!("the statement `{}`", behind.texts.join("`, `"))
        }
        Root::Behind(behind) => format!("memory behind {}", name(context, &behind.pointer)),
        Root::LastWrite => "what the last write left on the connection".to_string(),
        Root::Last => "the state of the connection".to_string(),
        Root::Unknown => "memory that is not known".to_string(),
        Root::Bound(statement) => match place.path.first() {
            Some(Step::Field(record, field)) => {
                format!("`{field}` of `{record}`, which another function binds to {statement}")
            }
            _ => format!(
                "memory that may be bound to {statement}: not every path of the function binds it \
                 all before it runs; bind it there"
            ),
        },
        Root::Outside => "something outside of the program".to_string(),
    }
}
