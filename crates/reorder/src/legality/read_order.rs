//! Below serializable, queries whose results the transaction sees keep their order among each
//! other, unless the user allows another order (`--relaxed-reads`).
//!
//! **Safe because** at read committed each query sees a later state of the database than the query
//! before it. If two reads changed places, the transaction could see a state of the second row
//! that is older than that of the first, which the source never saw. A write whose result the
//! transaction does not see, such as `UPDATE t SET n = n + 1`, may change places with a read:
//! nothing in the transaction shows which of the two was first. What another transaction sees may
//! differ: `docs/reorder-isolation.md`.

use super::{Context, Found, Isolation, Rule};

pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    if context.isolation == Isolation::Serializable || context.relaxed_reads {
        return;
    }
    let units = &context.units.units;
    let observes = |unit: usize| units[unit].queries().any(|query| query.query.observes());
    for (first, later) in context.pairs() {
        if observes(first) && observes(later) {
            let reason = "both read, and the isolation level shows in which order".to_string();
            found.before(first, later, Rule::ReadOrder, reason);
        }
    }
}
