//! Effects outside of the program and the database keep their order, and none changes places with
//! an exit. A query that calls a function which is not known may have such an effect.
//!
//! **Safe because** a run that commits shows the same effects in the same order, and a run that
//! takes an exit shows those that stood before the exit in the source.

use super::{Context, Found, Rule, functions};
use crate::flow::place::Root;

pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    let units = &context.units.units;
    let has_effect = |unit: usize| {
        let by_query =
            units[unit].queries().any(|query| functions::lasting(context, query).is_some());
        let mut nodes = units[unit].continuing_nodes();
        by_query
            || nodes.any(|node| {
                let accesses = &context.flow.effects[node].accesses;
                accesses.iter().any(|access| access.place.root == Root::Outside)
            })
    };
    let effects: Vec<bool> = (0..units.len()).map(has_effect).collect();
    let leaves = |unit: usize| units[unit].exits().next().is_some();
    for (first, later) in context.pairs() {
        let (one, other) = (effects[first], effects[later]);
        if one && (other || leaves(later)) || other && leaves(first) {
            let reason = "it has an effect outside, or depends on something there".to_string();
            found.before(first, later, Rule::OutsideEffect, reason);
        }
    }
}
