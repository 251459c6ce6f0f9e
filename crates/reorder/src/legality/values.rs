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
//! The end of the transaction reads everything that code behind it may read.

use std::collections::BTreeSet;

use super::Context;
use crate::{
    flow::{
        access::AccessKind,
        graph::NodeIndex,
        place::{Place, Root},
    },
    ir::StatementKind,
    solve::UnitIndex,
    units::exposed,
};

/// A read of a unit.
pub(super) struct Read {
    /// The unit.
    pub(super) unit: UnitIndex,
    /// The place.
    pub(super) place: Place,
    /// The units with a write that may reach the read, in the order of the source; the read's own
    /// unit among them if a loop leads from the write to the read.
    pub(super) writers: Vec<UnitIndex>,
    /// True if a value from before the transaction may reach the read.
    pub(super) from_before: bool,
}

/// Returns the reads of all units, without those of barriers among barriers.
pub(super) fn reads(context: &Context<'_, '_, '_>) -> Vec<Read> {
    let mut reads = Vec::new();
    for (unit, one) in context.units.units.iter().enumerate() {
        // What stands behind a `return` is reached by exits only, which read what it reads.
        let returned = context.units.units[..unit].iter().flat_map(|earlier| &earlier.pieces);
        let mut returned = returned.map(|piece| &piece.statement.kind);
        if returned.any(|kind| matches!(kind, StatementKind::Return(_))) {
            break;
        }
        for piece in &one.pieces {
            for (node, place) in exposed(context.flow, piece) {
                if place.root != Root::Outside {
                    reads.push(read(context, unit, node, place));
                }
            }
        }
    }
    reads
}

fn read(context: &Context<'_, '_, '_>, unit: UnitIndex, node: NodeIndex, place: &Place) -> Read {
    let flow = context.flow;
    let (mut writers, mut from_before) = (BTreeSet::new(), false);
    for definition in flow.reaching(node, place) {
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

/// Returns the units that write what shares bytes with a place.
pub(super) fn writers(context: &Context<'_, '_, '_>, place: &Place) -> Vec<UnitIndex> {
    let flow = context.flow;
    let writes = |unit: &UnitIndex| {
        context.units.units[*unit].continuing_nodes().any(|node| {
            flow.effects[node].accesses.iter().any(|access| {
                access.kind != AccessKind::Read && flow.may_share(&access.place, place)
            })
        })
    };
    (0..context.units.units.len()).filter(writes).collect()
}

/// Returns a name for a place, for a message.
pub(super) fn name(context: &Context<'_, '_, '_>, place: &Place) -> String {
    match &place.root {
        Root::Variable(variable) => format!("`{}`", context.program.variable(*variable).name),
        Root::Pointee(variable) => {
            format!("what `{}` leads to", context.program.variable(*variable).name)
        }
        Root::Object(_) => "the result of a query".to_string(),
        Root::Last => "the state of the connection".to_string(),
        Root::Unknown => "memory that is not known".to_string(),
        Root::Outside => "something outside of the program".to_string(),
    }
}
