//! Reads of a barrier that see the same number in each order of the units before it: the status
//! behind the label `out`, of which each unit `rc = run(query); if (rc < 0) goto out;` leaves 0.
//!
//! Such a read demands no order, if
//! 1. it stands in a barrier, and each value that it may see comes from the units in front of it,
//!    up to the barrier before them, or from a barrier that stands between them and the read;
//! 2. each of these units that writes the variable leaves it at the same number wherever control
//!    goes on behind the unit, whatever its value was before.
//!
//! **Safe because** all these units run before the read in each order, and the last of them that
//! writes the variable leaves that number. The barriers behind them do with it what they did in
//! the source. Where control leaves by an exit, the code behind it reads the variable for itself,
//! with the value that the unit of the exit has written.

use super::{
    Context,
    values::{self, Read},
};
use crate::{flow::paths::State, ir::VariableIndex, solve::UnitIndex};

/// Returns true if a read sees the same number in each order of the units before it.
pub(super) fn is_seen_by(context: &Context<'_, '_, '_>, read: &Read) -> bool {
    let units = &context.units.units;
    let Some(variable) = read.place.variable().filter(|_| read.place.path.is_empty()) else {
        return false;
    };
    if read.from_before || read.writers.is_empty() || !units[read.unit].is_barrier() {
        return false;
    }
    let Some(last) = units[..read.unit].iter().rposition(|unit| !unit.is_barrier()) else {
        return false;
    };
    let before = units[..last].iter().rposition(|unit| unit.is_barrier());
    let free = before.map_or(0, |before| before + 1)..=last;
    let all = values::writers(context, &read.place);
    if !read.writers.iter().all(|&writer| free.contains(&writer) || writer > last) {
        return false;
    }
    let own = all.into_iter().filter(|writer| free.contains(writer));
    let mut left = own.map(|writer| left(context, writer, variable));
    let Some(Some(number)) = left.next() else { return false };
    left.all(|other| other == Some(number))
}

/// Returns the number that a unit leaves a variable at, on each path behind which the transaction
/// goes on.
fn left(context: &Context<'_, '_, '_>, unit: UnitIndex, variable: VariableIndex) -> Option<i64> {
    let units = &context.units.units;
    let first = units[unit].nodes().next()?;
    let next = units[unit + 1..].iter().find_map(|unit| unit.nodes().next())?;
    let goes_on = |node, _: &State| context.units.of_node(node) == Some(unit);
    let states = context.flow.paths(vec![(first, State::unknown())], &goes_on)?;
    let mut left = states.get(&next)?.iter().map(|state| state.constant(variable));
    let number = left.next()??;
    left.all(|other| other == Some(number)).then_some(number)
}
