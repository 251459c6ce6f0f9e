//! Code that the tool does not understand stays in its place, and nothing moves across it.
//!
//! **Safe because** every unit before a barrier is executed before it, and every unit behind it
//! after it, as in the source.

use super::{Context, Found, Rule};

pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    for (first, later) in context.pairs() {
        let units = &context.units.units;
        let reason = units[first].barriers().next().or_else(|| units[later].barriers().next());
        if let Some(reason) = reason {
            found.before(first, later, Rule::Barrier, reason.to_string());
        }
    }
}
