//! The cheapest order of the units of one block: dynamic programming over the sets of units that
//! may stand last (the ideals of the reversed order).
//!
//! The cost of placing a unit before a set that stands last depends on the unit and the set alone,
//! so of all orders of a set only the cheapest is kept. Sets of equal size form a layer; a layer
//! follows from the one before. A transaction's constraints form long chains, so there are few such
//! sets.
//!
//! If a layer exceeds the limit, only its most promising sets are kept. The result is then an order
//! and a lower bound.

use std::collections::HashMap;

use super::{Problem, UnitIndex};

/// The maximum number of units of a block that is searched.
const UNITS_MAX: usize = 256;

/// A set of units of a block, by their places in the block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
struct Set([u64; UNITS_MAX / 64]);

impl Set {
    fn contains(&self, unit: usize) -> bool {
        self.0[unit / 64] >> (unit % 64) & 1 == 1
    }

    fn with(mut self, unit: usize) -> Set {
        self.0[unit / 64] |= 1 << (unit % 64);
        self
    }

    fn contains_all(&self, other: &Set) -> bool {
        self.0.iter().zip(other.0).all(|(words, others)| others & !words == 0)
    }
}

/// The cheapest order found of a set.
#[derive(Clone, Copy)]
struct Found {
    cost: u128,
    /// The length of the set's units.
    length: u128,
    /// The weight of the units outside the set.
    weight_left: u128,
    /// The unit that stands first.
    first: usize,
    /// The place of the rest of the set in the layer before.
    rest: usize,
}

impl Found {
    /// Returns a lower bound on what the whole order costs, up to a constant of the block and the
    /// costs of the other units among themselves.
    fn promise(&self) -> u128 {
        self.cost + self.weight_left * self.length
    }
}

/// An order of a block's units, by their numbers in the problem.
pub(super) struct BlockOrder {
    pub(super) order: Vec<UnitIndex>,
    /// A lower bound on the cost of every order of the block alone; `None` if the order is the
    /// cheapest.
    pub(super) bound: Option<u128>,
}

/// Returns the cheapest order of the units of `block`, which are ascending.
pub(super) fn solve(problem: &Problem, block: &[UnitIndex], states: usize) -> BlockOrder {
    if block.len() > UNITS_MAX {
        return BlockOrder { order: block.to_vec(), bound: Some(bound(problem, block)) };
    }
    let states = states.max(1);
    let later = later(problem, block);
    let weight = block.iter().map(|&unit| u128::from(problem.units[unit].weight)).sum();
    let nothing = Found { cost: 0, length: 0, weight_left: weight, first: 0, rest: 0 };
    let mut layers = vec![vec![(Set::default(), nothing)]];
    let mut is_complete = true;
    for _ in block {
        let mut layer = next_layer(problem, block, &later, layers.last().expect("there is one"));
        if layer.len() > states {
            is_complete = false;
            layer.select_nth_unstable_by_key(states, |(set, found)| (found.promise(), *set));
            layer.truncate(states);
        }
        // The order of a hash table's entries differs from run to run.
        layer.sort_unstable_by_key(|(set, _)| *set);
        layers.push(layer);
    }
    let order = read_back(&layers).map(|unit| block[unit]).collect();
    BlockOrder { order, bound: (!is_complete).then(|| bound(problem, block)) }
}

/// Returns for each unit of the block those that must stand later.
fn later(problem: &Problem, block: &[UnitIndex]) -> Vec<Set> {
    let mut later = vec![Set::default(); block.len()];
    for before in &problem.before {
        let places = (block.binary_search(&before.first), block.binary_search(&before.later));
        if let (Ok(first), Ok(last)) = places {
            later[first] = later[first].with(last);
        }
    }
    later
}

/// Places each unit that may stand before a set of the last layer.
fn next_layer(
    problem: &Problem,
    block: &[UnitIndex],
    later: &[Set],
    last: &[(Set, Found)],
) -> Vec<(Set, Found)> {
    let mut next: HashMap<Set, Found> = HashMap::new();
    for (rest, (set, found)) in last.iter().enumerate() {
        for unit in 0..block.len() {
            if set.contains(unit) || !set.contains_all(&later[unit]) {
                continue;
            }
            let cost = problem.units[block[unit]];
            let length = found.length + u128::from(cost.length);
            let candidate = Found {
                cost: found.cost + u128::from(cost.weight) * length,
                length,
                weight_left: found.weight_left - u128::from(cost.weight),
                first: unit,
                rest,
            };
            let best = next.entry(set.with(unit)).or_insert(candidate);
            // Of equally cheap orders the one that is more like the source's.
            if (candidate.cost, unit) < (best.cost, best.first) {
                *best = candidate;
            }
        }
    }
    next.into_iter().collect()
}

/// Returns the order that ends in the only set of the last layer.
fn read_back(layers: &[Vec<(Set, Found)>]) -> impl Iterator<Item = usize> {
    let mut at = 0;
    layers.iter().skip(1).rev().map(move |layer| {
        let (_, found) = layer[at];
        at = found.rest;
        found.first
    })
}

/// Returns a lower bound on the cost of every order of a Sidney block.
///
/// With ρ the block's ratio of weight to length, no set that may stand last has a greater one. So
/// when units of length t stand last, a weight of at least W − ρ t stands before them, and the
/// cost, Σ lengths × (weight of the unit and of those before it), is at least ρ/2 × (L² + Σ l²).
fn bound(problem: &Problem, block: &[UnitIndex]) -> u128 {
    let lengths = || block.iter().map(|&unit| u128::from(problem.units[unit].length));
    let weight: u128 = block.iter().map(|&unit| u128::from(problem.units[unit].weight)).sum();
    let (length, squares): (u128, u128) = (lengths().sum(), lengths().map(|l| l * l).sum());
    match length {
        0 => 0,
        // ρ/2 × L² = W L / 2, exactly.
        _ => (weight * length) / 2 + weight / length * squares / 2,
    }
}
