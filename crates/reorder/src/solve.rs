//! The cheapest order of units within constraints: exact, without an external solver.
//!
//! ```text
//!   Problem ── project ──▶ units that matter ──▶ branch on violated `Outside` constraints
//!                                                  └─ precedences only:
//!                                                       Sidney blocks ─▶ a search of the ideals
//!                                                                        of each block
//! ```
//!
//! A unit's lock is held from the unit to the commit. With `w` the weight of a unit, and `p` the
//! length of each, an order costs the sum over all units of `w` × (the lengths of the unit and of
//! all units after it). Read from its end, an order is a schedule of one machine and the cost is
//! its weighted sum of completion times, `1 | prec | Σ w C`. Both objectives have this form:
//!
//! - *position*, the paper's: the weight is the contention index, and the length of each query is
//!   1. The paper maximizes Σ position × index, which is the same.
//! - *hold*: the weight is the probability of a conflict for each unit of time, and the length is
//!   the duration.

mod anew;
mod branch;
mod check;
mod closure;
mod ideals;
pub mod lp;
mod project;
pub(crate) mod reach;
mod sidney;
mod source_order;

pub use check::{Broken, check};

/// A unit of a transaction, by its number in the order of the source.
pub type UnitIndex = usize;

/// The cost of a unit in the objective.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct UnitCost {
    /// The cost of each unit of length for which the unit's lock is held; below 2⁴⁸.
    pub weight: u64,
    /// The length; below 2⁴⁸.
    pub length: u64,
}

/// One unit stands before another, in every legal order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Before {
    /// The unit that stands first.
    pub first: UnitIndex,
    /// The unit that stands later.
    pub later: UnitIndex,
}

/// A unit does not stand between two others: it writes a variable that the first of them defines
/// and the last of them uses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Outside {
    /// The unit that stands before `from` or after `to`.
    pub unit: UnitIndex,
    /// The first unit of the range; stands before `to`.
    pub from: UnitIndex,
    /// The last unit of the range.
    pub to: UnitIndex,
}

/// Units, and the constraints on their order.
///
/// The order of the source obeys all constraints.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Problem {
    /// The units, in the order of the source.
    pub units: Vec<UnitCost>,
    /// The precedences.
    pub before: Vec<Before>,
    /// The ranges that units stay out of.
    pub outside: Vec<Outside>,
}

/// An order of all units.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Solution {
    /// The units from first to last.
    pub order: Vec<UnitIndex>,
    /// The cost of the order.
    pub cost: u128,
    /// A lower bound on the cost of every legal order; equal to `cost` if the search was complete.
    pub bound: u128,
}

/// Limits of the search.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// The maximum number of sets of units that are kept for one block; at least 1
    /// is.
    pub states: usize,
    /// The maximum number of times that the search branches.
    pub branches: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { states: 1_000_000, branches: 10_000 }
    }
}

impl Problem {
    /// Returns the cost of an order, of all units or of some of them alone.
    pub fn cost(&self, order: &[UnitIndex]) -> u128 {
        let (mut held, mut cost) = (0u128, 0u128);
        for &unit in order.iter().rev() {
            let UnitCost { weight, length } = self.units[unit];
            held += u128::from(length);
            cost += u128::from(weight) * held;
        }
        cost
    }

    /// Returns the cheapest legal order. If no order is cheaper than that of the source, it is the
    /// order of the source; otherwise no two neighbours can be brought into the order of the source
    /// without breaking a constraint or costing more.
    ///
    /// # Errors
    /// The constraint that the order of the source breaks: then the constraints are not those of a
    /// program.
    pub fn solve(&self, limits: Limits) -> Result<Solution, Broken> {
        let source: Vec<UnitIndex> = (0..self.units.len()).collect();
        check(self, &source)?;
        let projection = project::Projection::of(self);
        let solved = branch::solve(&projection.problem, limits);
        let mut order = projection.complete(self, &solved.order);
        source_order::restore(self, &mut order);
        let cost = self.cost(&order);
        check(self, &order)?;
        Ok(Solution { order, cost, bound: solved.bound.min(cost) })
    }
}

#[cfg(test)]
mod tests;
