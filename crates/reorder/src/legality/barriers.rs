//! Code and SQL that the tool does not understand stay in their place, and nothing moves across
//! them. Of the queries before one that may ask for what they have left on the connection, some
//! keep their order: see [`questions`].
//!
//! **Safe because** every unit before a barrier is executed before it, and every unit behind it
//! after it, as in the source, and the connection and the session are in the state of the source
//! if they may be asked for it.

mod questions;

pub(super) use self::questions::asked_behind;
use super::{Context, Found, Rule};

pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    for (first, later) in context.pairs() {
        let units = &context.units.units;
        let reason = units[first].barriers().next().or_else(|| units[later].barriers().next());
        if let Some(reason) = reason {
            found.before(first, later, Rule::Barrier, reason.to_string());
        }
    }
    questions::find(context, found);
}
