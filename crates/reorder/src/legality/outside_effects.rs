//! Effects outside of the program and the database keep their order, and none changes places with
//! an exit.
//!
//! **Safe because** a run that commits shows the same effects in the same order, and a run that
//! takes an exit shows those that stood before the exit in the source.

use super::{Context, Found, Rule};
use crate::flow::place::Root;

pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    let units = &context.units.units;
    let has_effect = |unit: usize| {
        units[unit].continuing_nodes().any(|node| {
            let accesses = &context.flow.effects[node].accesses;
            accesses.iter().any(|access| access.place.root == Root::Outside)
        })
    };
    let leaves = |unit: usize| units[unit].exits().next().is_some();
    for (first, later) in context.pairs() {
        let (one, other) = (has_effect(first), has_effect(later));
        if one && (other || leaves(later)) || other && leaves(first) {
            let reason = "it has an effect outside, or depends on something there".to_string();
            found.before(first, later, Rule::OutsideEffect, reason);
        }
    }
}
