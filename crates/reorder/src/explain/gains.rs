//! The gain that each dependency stands in the way of: the problem is solved again without it.
//!
//! A dependency is a set of constraints: those of one rule on one pair of units, all on the pair,
//! or all of one rule with one reason (one variable, one table). A precedence that follows from
//! others is no candidate alone, because nothing changes without it. The search has a limit: the
//! more units, the fewer candidates, the most promising first, each with a shorter search. So a
//! gain is one that is possible, perhaps not the greatest.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write,
};

use super::{
    held::is_implied,
    words::{cost, percent, place},
};
use crate::{
    legality::{Constraint, Demand, Rule},
    rewrite::Report,
    solve::{Before, Limits, Outside, Problem, UnitIndex, reach::Reach},
};

/// The number of gains that are reported.
const GAINS_MAX: usize = 10;

/// The limits of one solution.
const LIMITS: Limits = Limits { states: 2_000, branches: 50 };

/// A dependency, and the cost without it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Gain {
    /// The constraints, by their places in [`Report::constraints`].
    pub constraints: Vec<usize>,
    /// The cost of an order that obeys the other constraints.
    pub cost: u128,
}

/// Returns the dependencies whose removal would make the transaction cheaper, the best first.
pub fn gains(report: &Report) -> Vec<Gain> {
    let problem = report.problem();
    let mut candidates = candidates(report, &problem);
    candidates.sort_by_key(|(promise, set)| (std::cmp::Reverse(*promise), set.len()));
    candidates.truncate(solutions_max(report.units.len()));
    let mut found: Vec<Gain> = Vec::new();
    for (_, set) in candidates {
        let without = without(report, &set);
        let Ok(solution) = without.solve_from(&report.solution.order, LIMITS) else { continue };
        if solution.cost < report.solution.cost {
            let constraints = set.into_iter().collect();
            found.push(Gain { constraints, cost: solution.cost });
        }
    }
    found.sort_by_key(|gain| (gain.cost, gain.constraints.len()));
    let mut best: Vec<Gain> = Vec::new();
    for gain in found {
        let is_contained = |other: &Gain| {
            other.cost <= gain.cost
                && other.constraints.iter().all(|one| gain.constraints.contains(one))
        };
        if best.len() < GAINS_MAX && !best.iter().any(is_contained) {
            best.push(gain);
        }
    }
    best
}

/// Returns the number of problems that are solved for a number of units.
fn solutions_max(units: usize) -> usize {
    (60_000 / (units * units).max(1)).clamp(16, 200)
}

fn without(report: &Report, removed: &BTreeSet<usize>) -> Problem {
    let kept = report.constraints.iter().enumerate().filter(|(at, _)| !removed.contains(at));
    let kept: Vec<Constraint> = kept.map(|(_, constraint)| constraint.clone()).collect();
    let mut problem = crate::legality::problem(report.units.len(), &kept);
    problem.before.extend(&report.lock_order);
    problem.units = report.units.iter().map(|unit| unit.cost).collect();
    problem
}

/// The demand, the rule or the reason that the constraints of a dependency have in common.
type Dependency<'r> = (Option<Demand>, Option<Rule>, Option<&'r str>);

/// Returns the sets of constraints whose removal may change something, each with a number that is
/// the greater the more it promises.
fn candidates(report: &Report, problem: &Problem) -> Vec<(u128, BTreeSet<usize>)> {
    let promise = Promise::of(problem);
    let mut sets: BTreeMap<Dependency<'_>, BTreeSet<usize>> = BTreeMap::new();
    for (at, Constraint { demand, rule, reason }) in report.constraints.iter().enumerate() {
        if *rule == Rule::Barrier || promise.of_demand(*demand) == 0 {
            continue;
        }
        let keys = [
            (Some(*demand), Some(*rule), None),
            (Some(*demand), None, None),
            (None, Some(*rule), Some(reason.as_str())),
        ];
        for key in keys {
            sets.entry(key).or_default().insert(at);
        }
    }
    let unique: BTreeSet<BTreeSet<usize>> = sets.into_values().collect();
    let of_set = |set: &BTreeSet<usize>| {
        let demands: BTreeSet<Demand> =
            set.iter().map(|&at| report.constraints[at].demand).collect();
        let frees = |demand: &Demand| {
            let same = |(_, other): &(usize, &Constraint)| other.demand == *demand;
            report.constraints.iter().enumerate().filter(same).all(|(at, _)| set.contains(&at))
        };
        demands.iter().filter(|demand| frees(demand)).map(|one| promise.of_demand(*one)).sum()
    };
    let scored = unique.into_iter().map(|set| (of_set(&set), set));
    scored.filter(|(score, _): &(u128, _)| *score > 0).collect()
}

/// The weight before each unit and the length behind it: what could pass it.
struct Promise {
    reach: Reach,
    weight: Vec<u128>,
    length: Vec<u128>,
}

impl Promise {
    fn of(problem: &Problem) -> Promise {
        let reach = Reach::of(problem);
        let units = || 0..problem.units.len();
        let weight_before = |unit: UnitIndex| {
            let before = units().filter(|&other| other == unit || reach.leads(other, unit));
            before.map(|other| u128::from(problem.units[other].weight)).sum()
        };
        let length_behind = |unit: UnitIndex| {
            let behind = units().filter(|&other| other == unit || reach.leads(unit, other));
            behind.map(|other| u128::from(problem.units[other].length)).sum()
        };
        let weight = units().map(weight_before).collect();
        let length = units().map(length_behind).collect();
        Promise { reach, weight, length }
    }

    /// Returns 0 if nothing changes without a demand alone.
    fn of_demand(&self, demand: Demand) -> u128 {
        match demand {
            Demand::Before(Before { first, later })
                if is_implied(&self.reach, self.weight.len(), first, later) =>
            {
                0
            }
            Demand::Before(Before { first, later }) => self.weight[first] * self.length[later],
            Demand::Outside(Outside { unit, from, to }) => {
                self.weight[unit] * self.length[to] + self.weight[from] * self.length[unit]
            }
        }
    }
}

/// Writes the gains.
pub(super) fn write(out: &mut String, report: &Report) {
    let gains = gains(report);
    if !gains.is_empty() {
        out.push_str("\ncost without one dependency (the rest unchanged):\n");
    }
    for gain in gains {
        let change = percent(report.solution.cost, gain.cost);
        let _ = writeln!(
            out,
            "  {} ({change})  {}",
            cost(gain.cost, report.scale),
            dependency(report, &gain)
        );
    }
}

/// Returns a text for the constraints of a gain.
fn dependency(report: &Report, gain: &Gain) -> String {
    let constraints: Vec<&Constraint> =
        gain.constraints.iter().map(|&at| &report.constraints[at]).collect();
    let demands: BTreeSet<Demand> = constraints.iter().map(|one| one.demand).collect();
    let rules: BTreeSet<&str> = constraints.iter().map(|one| one.rule.name()).collect();
    let rules: Vec<&str> = rules.into_iter().collect();
    let unit = |unit: UnitIndex| place(&report.units[unit]);
    match (demands.first(), demands.len()) {
        (Some(Demand::Before(Before { first, later })), 1) => {
            format!("{} before {}: {}", unit(*first), unit(*later), rules.join(", "))
        }
        (Some(Demand::Outside(Outside { unit: one, from, to })), 1) => {
            let (from, to) = (unit(*from), unit(*to));
            format!("{} not between {from} and {to}: {}", unit(*one), rules.join(", "))
        }
        _ => {
            let switch = match constraints[0].rule {
                Rule::ReadOrder | Rule::LostUpdate => " (--relaxed-reads)",
                _ => "",
            };
            let (rule, reason) = (constraints[0].rule, &constraints[0].reason);
            format!("all of the rule {rule}: {reason}{switch}")
        }
    }
}
