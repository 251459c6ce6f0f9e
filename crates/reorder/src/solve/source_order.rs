//! The order of the source where the cost leaves a choice.
//!
//! Two neighbours that stand in the reverse order of the source change places if that costs nothing
//! and no constraint is against it; this is repeated until there are none. Each exchange brings one
//! pair of units into the order of the source and no pair out of it, so this ends. No precedence is
//! between two such neighbours: the order of the source obeys all. So only ranges are checked.
//!
//! With `a` before `b`, exchanging neighbours changes the cost by weight(b) × length(a) −
//! weight(a) × length(b).

use super::{Outside, Problem, UnitIndex};

/// Brings neighbours into the order of the source as far as the order costs the same and is legal.
pub(super) fn restore(problem: &Problem, order: &mut [UnitIndex]) {
    let mut place = vec![0; order.len()];
    order.iter().enumerate().for_each(|(at, &unit)| place[unit] = at);
    let mut is_changed = true;
    while is_changed {
        is_changed = false;
        for at in 1..order.len() {
            let (first, later) = (order[at - 1], order[at]);
            if first < later {
                continue;
            }
            let (one, other) = (problem.units[first], problem.units[later]);
            let is_equal = u128::from(one.weight) * u128::from(other.length)
                == u128::from(other.weight) * u128::from(one.length);
            if !is_equal {
                continue;
            }
            exchange(order, &mut place, at);
            if breaks_range(problem, &place, first, later) {
                exchange(order, &mut place, at);
            } else {
                is_changed = true;
            }
        }
    }
}

fn exchange(order: &mut [UnitIndex], place: &mut [usize], at: usize) {
    order.swap(at - 1, at);
    place[order[at - 1]] = at - 1;
    place[order[at]] = at;
}

/// Returns true if an [`Outside`] constraint of both units is broken.
fn breaks_range(problem: &Problem, place: &[usize], one: UnitIndex, other: UnitIndex) -> bool {
    problem.outside.iter().any(|&Outside { unit, from, to }| {
        let concerns = |it| unit == it || from == it || to == it;
        concerns(one) && concerns(other) && place[from] <= place[unit] && place[unit] <= place[to]
    })
}
