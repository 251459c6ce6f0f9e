//! The constraints that keep a lock from being taken later.
//!
//! For each unit with a weight, the text names the next queries that it must stay before, with all
//! reasons. A pair of units that other pairs imply is left out. Where a query must stay behind
//! units without queries which depend on the lock, the text names each step.

use std::{collections::BTreeSet, fmt::Write};

use super::words::place;
use crate::{
    legality::{Constraint, Demand},
    rewrite::Report,
    solve::{Before, UnitIndex, reach::Reach},
};

/// Writes the constraints.
pub(super) fn write(out: &mut String, report: &Report) {
    let problem = report.problem();
    let reach = Reach::of(&problem);
    let count = report.units.len();
    let next: Vec<Vec<UnitIndex>> = (0..count)
        .map(|unit| {
            let later = problem.before.iter().filter(|one| one.first == unit);
            let later: BTreeSet<UnitIndex> = later.map(|one| one.later).collect();
            later.into_iter().filter(|&later| !is_implied(&reach, count, unit, later)).collect()
        })
        .collect();
    let mut seen = BTreeSet::new();
    let mut text = String::new();
    for &unit in &report.solution.order {
        if report.units[unit].cost.weight > 0 {
            for (first, later) in steps(report, &next, unit) {
                if seen.insert((first, later)) {
                    pair(&mut text, report, first, later);
                }
            }
        }
    }
    if !text.is_empty() {
        let _ = write!(out, "\nwhy not later:\n{text}");
    }
}

/// Returns true if a precedence follows from others.
pub(super) fn is_implied(reach: &Reach, count: usize, first: UnitIndex, later: UnitIndex) -> bool {
    (0..count).any(|middle| {
        middle != first
            && middle != later
            && reach.leads(first, middle)
            && reach.leads(middle, later)
    })
}

/// Returns the steps that lead from a unit to the next units with queries. The end of the
/// transaction does not count as one.
fn steps(report: &Report, next: &[Vec<UnitIndex>], unit: UnitIndex) -> Vec<(UnitIndex, UnitIndex)> {
    let mut found = Vec::new();
    for &later in &next[unit] {
        if !report.units[later].barriers.is_empty() {
            continue;
        }
        let behind = match report.units[later].queries.is_empty() {
            true => steps(report, next, later),
            false => Vec::new(),
        };
        if !behind.is_empty() || !report.units[later].queries.is_empty() {
            found.push((unit, later));
            found.extend(behind);
        }
    }
    found
}

/// The number of reasons of a pair above which those with one cause stand in one line.
const REASONS_MAX: usize = 6;

/// Lists reasons, with all rules that concern the same memory in one line.
fn by_cause(out: &mut String, all: &[&Constraint]) {
    let cause = |reason: &'_ str| -> String {
        let written = reason.strip_prefix("it writes ").or(reason.strip_prefix("both write "));
        written.unwrap_or(reason).to_owned()
    };
    let mut seen = BTreeSet::new();
    for constraint in all {
        let own = cause(&constraint.reason);
        if !seen.insert(own.clone()) {
            continue;
        }
        let same = all.iter().filter(|other| cause(&other.reason) == own);
        let rules: Vec<String> = same.map(|other| other.rule.to_string()).collect();
        let reason = if rules.len() > 1 { &own } else { &constraint.reason };
        let _ = writeln!(out, "      {}: {reason}", rules.join(", "));
    }
}

fn pair(out: &mut String, report: &Report, first: UnitIndex, later: UnitIndex) {
    let (one, other) = (&report.units[first], &report.units[later]);
    let _ = writeln!(out, "  {} before {}", place(one), place(other));
    let demand = Demand::Before(Before { first, later });
    let all = report.constraints.iter().filter(|constraint| constraint.demand == demand);
    let all: Vec<&Constraint> = all.collect();
    if all.len() > REASONS_MAX {
        by_cause(out, &all);
    } else {
        for Constraint { rule, reason, .. } in all {
            let _ = writeln!(out, "      {rule}: {reason}");
        }
    }
    if report.lock_order.contains(&Before { first, later }) {
        let _ = writeln!(out, "      --lock-order: all transactions lock in one order");
    }
}
