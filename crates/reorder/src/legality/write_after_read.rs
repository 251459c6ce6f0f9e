//! No unit writes a place between a read of it and the writes whose value the read sees (the
//! paper's WAR, §4.1): it stands before the first of them, or behind the read. If the value may be
//! from before the transaction, it stands behind the read.
//!
//! **Safe because** of the three conditions in [`values`](super::values), of which this is the
//! third.

use std::collections::BTreeMap;

use super::{Context, Found, Rule, values};
use crate::{
    flow::place::Place,
    solve::{Outside, UnitIndex},
};

pub(super) fn find(context: &Context<'_, '_, '_>, found: &mut Found) {
    let mut writers: BTreeMap<&Place, Vec<UnitIndex>> = BTreeMap::new();
    for read in found.reads(context).iter() {
        let of_place = || values::writers(context, &read.place);
        for &unit in writers.entry(&read.place).or_insert_with(of_place).iter() {
            let reason = || values::written(context, unit, &read.place);
            if unit == read.unit || read.writers.contains(&unit) {
                continue;
            }
            match read.writers.first() {
                // Its value does not reach the read, and yet it stands in between: a case of which
                // only the order of the source is known to be right.
                Some(&from) if !read.from_before && from < unit && unit < read.unit => {
                    found.before(from, unit, Rule::WriteAfterRead, reason());
                    found.before(unit, read.unit, Rule::WriteAfterRead, reason());
                }
                Some(&from) if !read.from_before => {
                    if from != read.unit {
                        let outside = Outside { unit, from, to: read.unit };
                        found.outside(outside, Rule::WriteAfterRead, reason());
                    }
                }
                _ if unit > read.unit => {
                    found.before(read.unit, unit, Rule::WriteAfterRead, reason());
                }
                // Likewise.
                _ => found.before(unit, read.unit, Rule::WriteAfterRead, reason()),
            }
        }
    }
}
