//! Writes that may both reach a read keep their order, and so do all writes of what is read behind
//! the transaction (the paper's WAW, §4.1).
//!
//! **Safe because** of the three conditions in [`values`](super::values), of which this is the
//! second. Behind the transaction stand barriers, which read what they read; what the caller may
//! see, memory behind pointers and global variables, is read by the end of the function.

use super::{Context, Found, Rule, values};
use crate::flow::{
    access::AccessKind,
    place::{Place, Root},
};

pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    for read in found.reads(context).iter() {
        for pair in read.writers.windows(2) {
            let reason = format!("both write {}", values::name(context, &read.place));
            found.before(pair[0], pair[1], Rule::WriteAfterWrite, reason);
        }
    }
    for (first, later) in context.pairs() {
        if let Some(place) = shared(context, first, later) {
            let reason = format!("both write {}", values::name(context, place));
            found.before(first, later, Rule::WriteAfterWrite, reason);
        }
    }
}

/// Returns a place that two units write and that the caller may see.
fn shared<'c>(context: &'c Context<'_, '_, '_>, first: usize, later: usize) -> Option<&'c Place> {
    let writes = |unit: usize| {
        let nodes = context.units.units[unit].continuing_nodes();
        nodes
            .flat_map(|node| &context.flow.effects[node].accesses)
            .filter(|access| access.kind != AccessKind::Read && is_seen(context, &access.place))
            .map(|access| &access.place)
    };
    writes(first).find(|a| writes(later).any(|b| context.flow.may_share(a, b)))
}

pub(super) fn is_seen(context: &Context<'_, '_, '_>, place: &Place) -> bool {
    match &place.root {
        Root::Pointee(_) | Root::Behind(_) | Root::Unknown | Root::Bound(_) => true,
        Root::Variable(variable) => context.flow.may_be_seen_by_caller(*variable),
        Root::Object(_) | Root::Last | Root::LastWrite | Root::Outside => false,
    }
}
