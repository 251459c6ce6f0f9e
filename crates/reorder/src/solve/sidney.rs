//! Sidney's decomposition (Sidney, 1975): the order of units in blocks.
//!
//! Read an order from its end, as a schedule of one machine. Of all sets of units that may come
//! first in a schedule, take one with the greatest ratio of weight to length; repeat with the rest.
//! *Some cheapest schedule keeps these blocks in this order*, so each block is solved alone. Every
//! schedule that keeps them costs at most twice the cheapest.
//!
//! A block's set is closed under "must stand later". For a ratio `w/p` it is the closed set that
//! maximizes Σ (weight × p − length × w); starting from the ratio of all units, each such set has a
//! greater ratio, until none has (Dinkelbach, 1967).

use super::{Problem, UnitIndex, closure::best_closed_set};

/// Weight and length of a set of units.
#[derive(Clone, Copy)]
struct Ratio {
    weight: i128,
    length: i128,
}

/// Returns the blocks in the order of a schedule that is read from its start: those with the
/// smallest ratio first. The units of each are in ascending order. Only precedences count.
pub(super) fn blocks(problem: &Problem) -> Vec<Vec<UnitIndex>> {
    let mut later: Vec<Vec<UnitIndex>> = vec![Vec::new(); problem.units.len()];
    problem.before.iter().for_each(|before| later[before.first].push(before.later));
    let mut rest: Vec<UnitIndex> = (0..problem.units.len()).collect();
    let mut blocks = Vec::new();
    while !rest.is_empty() {
        let last = last_block(problem, &later, &rest);
        rest.retain(|unit| last.binary_search(unit).is_err());
        blocks.push(last);
    }
    blocks.reverse();
    blocks
}

/// Returns the smallest set of units of `rest` that may stand last and has the greatest ratio.
fn last_block(problem: &Problem, later: &[Vec<UnitIndex>], rest: &[UnitIndex]) -> Vec<UnitIndex> {
    let number = |unit: &UnitIndex| rest.binary_search(unit).ok();
    let requires: Vec<Vec<usize>> =
        rest.iter().map(|&unit| later[unit].iter().filter_map(number).collect()).collect();
    let ratio = |units: &[UnitIndex]| Ratio {
        weight: units.iter().map(|&unit| i128::from(problem.units[unit].weight)).sum(),
        length: units.iter().map(|&unit| i128::from(problem.units[unit].length)).sum(),
    };
    let mut best = rest.to_vec();
    loop {
        let Ratio { weight, length } = ratio(&best);
        let value: Vec<i128> = rest
            .iter()
            .map(|&unit| {
                let cost = problem.units[unit];
                i128::from(cost.weight) * length - i128::from(cost.length) * weight
            })
            .collect();
        let chosen = best_closed_set(&value, &requires);
        let chosen: Vec<UnitIndex> =
            rest.iter().zip(chosen).filter_map(|(&unit, is_in)| is_in.then_some(unit)).collect();
        if chosen.is_empty() {
            return smallest(&best, rest, &value, &requires);
        }
        best = chosen;
    }
}

/// Returns a nonempty closed set of value 0, which is the greatest, that contains no other: units
/// that could be blocks of their own would otherwise share one. Of several, the one whose last unit
/// is the last in the source.
fn smallest(
    best: &[UnitIndex],
    rest: &[UnitIndex],
    value: &[i128],
    requires: &[Vec<usize>],
) -> Vec<UnitIndex> {
    // With a bonus of 1, which no difference of other values equals, a set with the unit is best.
    let scale = rest.len() as i128 + 1;
    let sets = best.iter().filter_map(|unit| rest.binary_search(unit).ok()).map(|unit| {
        let value: Vec<i128> =
            (0..rest.len()).map(|other| value[other] * scale + i128::from(other == unit)).collect();
        let chosen = best_closed_set(&value, requires);
        rest.iter().zip(chosen).filter_map(|(&unit, is_in)| is_in.then_some(unit)).collect()
    });
    let mut sets: Vec<Vec<UnitIndex>> = sets.filter(|set: &Vec<_>| !set.is_empty()).collect();
    sets.sort_by_key(|set| set.len());
    let mut minimal: Vec<Vec<UnitIndex>> = Vec::new();
    for set in sets {
        let contains =
            |other: &Vec<UnitIndex>| other.iter().all(|unit| set.binary_search(unit).is_ok());
        if !minimal.iter().any(contains) {
            minimal.push(set);
        }
    }
    let last = minimal.into_iter().max_by_key(|set| set.last().copied());
    last.unwrap_or_else(|| best.to_vec())
}
