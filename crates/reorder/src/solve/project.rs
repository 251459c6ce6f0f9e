//! The projection of a problem onto the units that matter (the paper's section 4.4).
//!
//! *Why this is exact.* A unit of weight 0 and length 0 adds nothing to the cost of any order,
//! wherever it stands. So the cheapest order of the other units is also that of the whole problem,
//! if each order of theirs that obeys the projected constraints can be completed. A precedence
//! between two units that matter follows from a path over units that do not; with these paths as
//! precedences, the graph of the projected order and all precedences has no cycle, and any
//! topological order of it completes the order. A unit that occurs in an [`Outside`] constraint is
//! kept: whether it can be placed does not follow from paths alone.

use std::collections::BTreeSet;

use super::{Before, Outside, Problem, UnitIndex};

/// A problem of the units that matter.
pub(super) struct Projection {
    pub(super) problem: Problem,
    /// The unit of the whole problem that each unit of the projected one is.
    pub(super) kept: Vec<UnitIndex>,
}

impl Projection {
    pub(super) fn of(whole: &Problem) -> Projection {
        let kept = kept(whole);
        let mut number = vec![None; whole.units.len()];
        kept.iter().enumerate().for_each(|(new, &old)| number[old] = Some(new));
        let number_of = |unit: UnitIndex| number[unit].expect("the unit is kept");
        let outside = whole.outside.iter().map(|outside| Outside {
            unit: number_of(outside.unit),
            from: number_of(outside.from),
            to: number_of(outside.to),
        });
        let problem = Problem {
            units: kept.iter().map(|&unit| whole.units[unit]).collect(),
            before: paths(whole, &number),
            outside: outside.collect(),
        };
        Projection { problem, kept }
    }

    /// Places the units that do not matter into an order of those that do: of the units that may
    /// stand next, the first in the source does.
    pub(super) fn complete(&self, whole: &Problem, order: &[UnitIndex]) -> Vec<UnitIndex> {
        let count = whole.units.len();
        let (mut later, mut earlier) = (vec![Vec::new(); count], vec![0usize; count]);
        let chain = order.windows(2).map(|pair| (self.kept[pair[0]], self.kept[pair[1]]));
        for (first, next) in whole.before.iter().map(|one| (one.first, one.later)).chain(chain) {
            later[first].push(next);
            earlier[next] += 1;
        }
        let mut free: BTreeSet<UnitIndex> = (0..count).filter(|&unit| earlier[unit] == 0).collect();
        let mut complete = Vec::with_capacity(count);
        while let Some(unit) = free.pop_first() {
            complete.push(unit);
            for &next in &later[unit] {
                earlier[next] -= 1;
                if earlier[next] == 0 {
                    free.insert(next);
                }
            }
        }
        complete
    }
}

/// Returns the units that matter, in ascending order.
fn kept(whole: &Problem) -> Vec<UnitIndex> {
    let mut matters: Vec<bool> =
        whole.units.iter().map(|unit| unit.weight > 0 || unit.length > 0).collect();
    for outside in &whole.outside {
        [outside.unit, outside.from, outside.to].into_iter().for_each(|unit| matters[unit] = true);
    }
    (0..matters.len()).filter(|&unit| matters[unit]).collect()
}

/// Returns a precedence for each pair of kept units between which a path leads over units that are
/// not kept.
fn paths(whole: &Problem, number: &[Option<UnitIndex>]) -> Vec<Before> {
    let mut later: Vec<Vec<UnitIndex>> = vec![Vec::new(); whole.units.len()];
    whole.before.iter().for_each(|before| later[before.first].push(before.later));
    let mut before = Vec::new();
    for (unit, first) in number.iter().enumerate() {
        let &Some(first) = first else { continue };
        let (mut reached, mut open) = (vec![false; whole.units.len()], vec![unit]);
        while let Some(at) = open.pop() {
            for &next in &later[at] {
                if std::mem::replace(&mut reached[next], true) {
                    continue;
                }
                match number[next] {
                    Some(later) => before.push(Before { first, later }),
                    None => open.push(next),
                }
            }
        }
    }
    before.sort_unstable();
    before
}
