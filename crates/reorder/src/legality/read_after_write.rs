//! A unit that reads a value stands behind the units that may have written it (the paper's RAW,
//! §4.1).
//!
//! **Safe because** of the three conditions in [`values`](super::values), of which this is the
//! first.

use super::{Context, Found, Rule, no_error, values};

pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    for read in found.reads(context).iter() {
        for &writer in &read.writers {
            let reason = values::written(context, writer, &read.place);
            found.before(writer, read.unit, Rule::ReadAfterWrite, reason);
        }
    }
    no_error::find(context, found);
}
