//! The consequences of the precedences: which units stand before which in every order, and which
//! [`Outside`] constraints are obeyed by every order or leave one choice.

use super::{Before, Outside, Problem, UnitIndex};

/// The pairs of units between which a path of precedences leads.
pub(crate) struct Reach {
    /// For each unit, a bit for each that stands later.
    later: Vec<Vec<u64>>,
}

impl Reach {
    /// Follows the precedences of a problem.
    pub(crate) fn of(problem: &Problem) -> Reach {
        let count = problem.units.len();
        let mut later = vec![vec![0u64; count.div_ceil(64)]; count];
        for before in &problem.before {
            later[before.first][before.later / 64] |= 1 << (before.later % 64);
        }
        for middle in 0..count {
            let behind = later[middle].clone();
            for units in
                later.iter_mut().filter(|units| units[middle / 64] >> (middle % 64) & 1 == 1)
            {
                units.iter_mut().zip(&behind).for_each(|(word, more)| *word |= more);
            }
        }
        Reach { later }
    }

    /// Returns true if `first` stands before `later` in every order.
    pub(crate) fn leads(&self, first: UnitIndex, later: UnitIndex) -> bool {
        self.later[first][later / 64] >> (later % 64) & 1 == 1
    }

    /// Returns true if no order obeys all precedences.
    pub(super) fn has_cycle(&self) -> bool {
        (0..self.later.len()).any(|unit| self.leads(unit, unit))
    }
}

/// Replaces each [`Outside`] constraint of which the precedences leave one choice by this choice,
/// and removes those that every order obeys. Returns false if no order obeys all constraints; true
/// does not mean that one does.
pub(super) fn infer(problem: &mut Problem) -> bool {
    loop {
        let reach = Reach::of(problem);
        if reach.has_cycle() {
            return false;
        }
        let mut forced = Vec::new();
        problem.outside.retain(|&Outside { unit, from, to }| {
            let is_obeyed =
                reach.leads(unit, from) || reach.leads(to, unit) || reach.leads(to, from);
            let choice = match (reach.leads(from, unit), reach.leads(unit, to)) {
                _ if is_obeyed => return false,
                (true, _) => Before { first: to, later: unit },
                (_, true) => Before { first: unit, later: from },
                _ => return true,
            };
            forced.push(choice);
            false
        });
        if forced.is_empty() {
            return true;
        }
        problem.before.extend(forced);
    }
}
