//! The reasons of an order, as text.

use std::fmt::Write;

use crate::{
    legality::{Constraint, Demand},
    rewrite::{Report, UnitReport},
    solve::{Before, UnitIndex},
};

/// Returns a text that lists the units in their new order, and for each query that did not go
/// further to the end what holds it back.
pub fn explain(report: &Report) -> String {
    let mut out = String::new();
    let moved = (0..report.units.len()).any(|at| report.solution.order[at] != at);
    let _ = writeln!(
        out,
        "{}, line {}: {} units, {} with queries; {:?}, {:?}",
        report.function,
        report.line,
        report.units.iter().filter(|unit| !unit.outside).count(),
        report.units.iter().filter(|unit| !unit.queries.is_empty()).count(),
        report.server,
        report.isolation,
    );
    let _ = writeln!(
        out,
        "cost: {} before, {} after{}",
        report.cost_before,
        report.solution.cost,
        bound(report),
    );
    if !moved {
        let _ = writeln!(out, "nothing moves: the order of the source is the best legal one");
    }
    out.push_str("\nnew  old  lines      weight  unit\n");
    for (new, &old) in report.solution.order.iter().enumerate() {
        let unit = &report.units[old];
        if unit.outside {
            continue;
        }
        let lines = format!("{}-{}", unit.lines.0, unit.lines.1);
        let weight = unit.cost.weight;
        let _ = writeln!(out, "{new:>3}  {old:>3}  {lines:<9}  {weight:>6}  {}", summary(unit));
    }
    let is_barrier = |unit: &&UnitReport| !unit.outside && !unit.barriers.is_empty();
    let barriers: Vec<&UnitReport> = report.units.iter().filter(is_barrier).collect();
    if !barriers.is_empty() {
        out.push_str("\nnothing moves across:\n");
        for unit in barriers {
            let _ =
                writeln!(out, "  lines {}-{}: {}", unit.lines.0, unit.lines.1, unit.barriers[0]);
        }
    }
    held_back(&mut out, report);
    if !report.unmeasured.is_empty() {
        out.push_str("\nthe profile does not have, so that they cost nothing here:\n");
        for key in &report.unmeasured {
            let _ = writeln!(out, "  {}", shortened(&key.to_string()));
        }
    }
    out
}

fn bound(report: &Report) -> String {
    if report.solution.bound < report.solution.cost {
        format!(
            " (the search was cut short: the best order costs at least {})",
            report.solution.bound
        )
    } else {
        String::new()
    }
}

fn summary(unit: &UnitReport) -> String {
    match unit.queries.first() {
        Some(query) => {
            let more = match unit.queries.len() {
                1 => String::new(),
                count => format!(" (and {} more)", count - 1),
            };
            format!("{}{more}", shortened(query))
        }
        None if !unit.barriers.is_empty() => format!("({})", unit.barriers[0]),
        None => "-".to_string(),
    }
}

fn shortened(text: &str) -> String {
    let text: Vec<&str> = text.split_whitespace().collect();
    let text = text.join(" ");
    match text.char_indices().nth(72) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}

/// Lists, for each unit with a weight, the constraints to units with queries that stand behind it.
fn held_back(out: &mut String, report: &Report) {
    let mut place = vec![0; report.units.len()];
    report.solution.order.iter().enumerate().for_each(|(at, &unit)| place[unit] = at);
    let weighs = |unit: UnitIndex| report.units[unit].cost.weight > 0;
    let has_query = |unit: UnitIndex| !report.units[unit].queries.is_empty();
    let mut lines = Vec::new();
    for &unit in report.solution.order.iter().filter(|&&unit| weighs(unit)) {
        let holds = report.constraints.iter().filter_map(|constraint| match constraint.demand {
            Demand::Before(Before { first, later }) if first == unit && has_query(later) => {
                Some((later, constraint))
            }
            _ => None,
        });
        for (later, constraint) in holds {
            lines.push(held(report, unit, later, constraint));
        }
    }
    if !lines.is_empty() {
        out.push_str("\nheld back:\n");
        out.push_str(&lines.concat());
    }
}

fn held(report: &Report, unit: UnitIndex, later: UnitIndex, constraint: &Constraint) -> String {
    let (unit, later) = (&report.units[unit], &report.units[later]);
    format!(
        "  lines {}-{} stay before lines {}-{}: {} ({})\n",
        unit.lines.0,
        unit.lines.1,
        later.lines.0,
        later.lines.1,
        constraint.reason,
        constraint.rule
    )
}
