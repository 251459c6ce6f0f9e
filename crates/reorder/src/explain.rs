//! The reasons of an order, as text and as timelines.
//!
//! The text of a transaction answers, in this order: what it costs before and after, which queries
//! moved and for how long each lock is held, what keeps a lock from being taken later, and which
//! changes of the code would help. Units without queries that did not move are not listed.

mod gains;
mod held;
mod html;
mod locks;
mod moved;
mod table;
mod timeline;
mod words;

use std::fmt::Write;

use self::words::{cost, isolation, lines, percent, server, shortened};
pub use self::{
    gains::{Gain, gains},
    html::html,
    timeline::{Shown, timeline},
};
use crate::{
    lock_order::{self, Imposed},
    rewrite::{Report, Rewritten, UnitReport},
    solve::UnitIndex,
    weights::Scale,
};

/// Returns the text of all transactions of a file, and of the order in which they lock tables.
pub fn explain_all(file: &str, rewritten: &Rewritten) -> String {
    let mut parts: Vec<String> = rewritten.transactions.iter().map(explain).collect();
    let whole = of_all(file, rewritten);
    parts.extend((!whole.is_empty()).then_some(whole));
    parts.join("\n")
}

/// Returns the text on all transactions together: the names of variables, the order of locks.
fn of_all(file: &str, rewritten: &Rewritten) -> String {
    let mut out = String::new();
    names(&mut out, rewritten);
    loops(&mut out, rewritten);
    if rewritten.transactions.len() > 1 {
        out.push_str(&locks::order(file, &lock_order::of(&rewritten.transactions)));
    }
    if let Some(imposed) = &rewritten.lock_order {
        let scale = rewritten.transactions.first().map(|report| report.scale).unwrap_or_default();
        out.push_str(&imposed_order(imposed, scale));
    }
    out
}

/// Lists the variables that got several names, and those that would need them.
fn names(out: &mut String, rewritten: &Rewritten) {
    if !rewritten.renamings.is_empty() {
        out.push_str("variables with several names:\n");
    }
    for renaming in &rewritten.renamings {
        let _ = writeln!(out, "  {renaming}");
    }
    if !rewritten.refusals.is_empty() {
        out.push_str("variables that need several names and cannot get them:\n");
    }
    for refusal in &rewritten.refusals {
        let _ = writeln!(out, "  {refusal}");
    }
}

/// Lists the loops that run in the order of a key, and those that do not.
fn loops(out: &mut String, rewritten: &Rewritten) {
    if !rewritten.sorted.is_empty() || !rewritten.unsorted.is_empty() {
        out.push_str("--sort-keys:\n");
    }
    for sorted in &rewritten.sorted {
        let _ = writeln!(out, "  {sorted}");
    }
    for unsorted in &rewritten.unsorted {
        let _ = writeln!(out, "  {unsorted}");
    }
}

/// Returns the text of a demand that all transactions lock tables in one order.
pub fn imposed_order(imposed: &Imposed, scale: Scale) -> String {
    match imposed {
        Imposed::Impossible => "--lock-order: no order of all tables was found that each \
                                transaction can obey; the orders are those without it\n"
            .to_owned(),
        Imposed::Order { cost_before, cost: after, is_best } => format!(
            "--lock-order: expected cost {} without it, {} with it{}\n",
            cost(*cost_before, scale),
            cost(*after, scale),
            if *is_best { "" } else { " (another order of the tables may cost less)" },
        ),
    }
}

/// Returns the text of a transaction.
pub fn explain(report: &Report) -> String {
    let mut out = String::new();
    header(&mut out, report);
    table::write(&mut out, report);
    barriers(&mut out, report);
    held::write(&mut out, report);
    gains::write(&mut out, report);
    advice(&mut out, report);
    locks::changed(&mut out, report);
    if !report.unmeasured.is_empty() {
        out.push_str("\nthe profile does not have, so that they cost nothing here:\n");
        for key in &report.unmeasured {
            let _ = writeln!(out, "  {}", shortened(&key.to_string()));
        }
    }
    out
}

fn header(out: &mut String, report: &Report) {
    let inside = || report.units.iter().filter(|unit| !unit.outside);
    let last = inside().map(|unit| unit.lines.1).max().unwrap_or(report.line);
    let first = inside().map(|unit| unit.lines.0).min().unwrap_or(report.line);
    let _ = writeln!(
        out,
        "{}, {}: {}, {}; {} units, {} with queries",
        report.function,
        lines((first, last)),
        server(report.server),
        isolation(report.isolation),
        inside().count(),
        inside().filter(|unit| !unit.queries.is_empty()).count(),
    );
    let (before, after) = (report.cost_before, report.solution.cost);
    let _ = writeln!(
        out,
        "expected cost: {} before, {} after ({}){}",
        cost(before, report.scale),
        cost(after, report.scale),
        percent(before, after),
        bound(report),
    );
    let _ = writeln!(
        out,
        "cost = Σ weight × hold; weight: {}; hold: {} from the lock to the commit",
        match report.scale {
            Scale::Estimated => "estimated contention",
            Scale::Position | Scale::Hold => "measured contention",
        },
        match report.scale {
            Scale::Hold => "expected time",
            Scale::Estimated | Scale::Position => "queries",
        },
    );
    if report.solution.order.is_sorted() {
        let _ = writeln!(out, "nothing moves: {}", why_nothing_moves(report));
    }
}

fn why_nothing_moves(report: &Report) -> String {
    let mut with_queries = report.units.iter().filter(|unit| !unit.queries.is_empty());
    match (with_queries.next(), with_queries.next()) {
        (Some(only), None) if only.queries.len() > 1 => format!(
            "all queries are in one unit ({}), which moves as a whole: put them into the list of \
             statements that has begin and commit (docs/reorder-sources.md)",
            lines(only.lines)
        ),
        _ => "the order of the source is the best legal one".to_owned(),
    }
}

fn bound(report: &Report) -> String {
    if report.solution.bound < report.solution.cost {
        let least = cost(report.solution.bound, report.scale);
        format!(" (the search was cut short: the best order costs at least {least})")
    } else {
        String::new()
    }
}

/// Lists the units across which nothing moves, but for the begin and the end of the transaction.
fn barriers(out: &mut String, report: &Report) {
    let is_reason = |reason: &&String| {
        *reason != "it begins the transaction" && *reason != "it ends the transaction"
    };
    let mut found = String::new();
    for unit in report.units.iter().filter(|unit| !unit.outside) {
        if let Some(reason) = unit.barriers.iter().find(is_reason) {
            let _ = writeln!(found, "  {}: {reason}", lines(unit.lines));
        }
    }
    if !found.is_empty() {
        let _ = write!(out, "\nnothing moves across:\n{found}");
    }
}

fn advice(out: &mut String, report: &Report) {
    if !report.advice.is_empty() {
        out.push_str("\nadvice:\n");
    }
    for advice in &report.advice {
        let _ = writeln!(out, "  {advice}");
    }
}

/// Returns for each unit the sum of the lengths from it to the end of an order.
fn holds(report: &Report, order: &[UnitIndex]) -> Vec<u128> {
    let mut holds = vec![0; report.units.len()];
    let mut held = 0u128;
    for &unit in order.iter().rev() {
        held += u128::from(report.units[unit].cost.length);
        holds[unit] = held;
    }
    holds
}

/// Returns the order of the source.
fn source_order(report: &Report) -> Vec<UnitIndex> {
    (0..report.units.len()).collect()
}

/// Returns a text for the queries of a unit.
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
        None => "(no query)".to_string(),
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
pub(crate) use self::tests::report_of;
