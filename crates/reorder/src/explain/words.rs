//! Numbers and names as the texts print them.

use crate::{api::Server, legality::Isolation, rewrite::UnitReport, weights::Scale};

pub(super) fn server(server: Server) -> &'static str {
    match server {
        Server::Postgresql => "PostgreSQL",
        Server::Mysql => "MySQL or MariaDB",
        Server::Sqlite => "SQLite",
    }
}

pub(super) fn isolation(isolation: Isolation) -> &'static str {
    match isolation {
        Isolation::ReadCommitted => "read committed",
        Isolation::RepeatableRead => "repeatable read",
        Isolation::Serializable => "serializable",
    }
}

/// Returns `line 5` or `lines 5-8`.
pub(super) fn lines((first, last): (usize, usize)) -> String {
    if first == last { format!("line {first}") } else { format!("lines {first}-{last}") }
}

/// Returns the lines of a unit, and the tables that it uses.
pub(super) fn place(unit: &UnitReport) -> String {
    match unit.tables.len() {
        0 => lines(unit.lines),
        _ => format!("{} ({})", lines(unit.lines), unit.tables.join(", ")),
    }
}

/// Returns a cost with its unit.
pub(super) fn cost(cost: u128, scale: Scale) -> String {
    match scale {
        Scale::Estimated => cost.to_string(),
        Scale::Position => format!("{} ms", decimal(cost as f64 / 1e6)),
        Scale::Hold => format!("{} ms²", decimal(cost as f64 / 1e12)),
    }
}

/// Returns a weight, without its unit if it has none.
pub(super) fn weight(weight: u64, scale: Scale) -> String {
    match scale {
        Scale::Estimated => weight.to_string(),
        Scale::Position | Scale::Hold => format!("{} ms", decimal(weight as f64 / 1e6)),
    }
}

/// Returns a hold, without its unit if it is a number of queries.
pub(super) fn hold(hold: u128, scale: Scale) -> String {
    match scale {
        Scale::Estimated | Scale::Position => hold.to_string(),
        Scale::Hold => format!("{} ms", decimal(hold as f64 / 1e6)),
    }
}

/// Returns the change from one cost to another.
pub(super) fn percent(before: u128, after: u128) -> String {
    if before == 0 {
        return "±0 %".to_owned();
    }
    let change = (after as f64 / before as f64 - 1.0) * 100.0;
    match change.round() {
        rounded if rounded < 0.0 => format!("−{} %", -rounded),
        rounded if rounded > 0.0 => format!("+{rounded} %"),
        _ => "±0 %".to_owned(),
    }
}

fn decimal(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => format!("{value:.0}"),
        large if large >= 10.0 => format!("{value:.1}"),
        _ => format!("{value:.3}"),
    }
}

/// Returns a text in one line of limited length. The columns of a long `SELECT` are left out first.
pub(super) fn shortened(text: &str) -> String {
    const LENGTH_MAX: usize = 64;
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut text = words.join(" ");
    let is_long = |text: &str| text.chars().count() > LENGTH_MAX;
    let from = words.iter().position(|word| word.eq_ignore_ascii_case("from"));
    if let (true, Some(from)) = (is_long(&text), from)
        && words[0].eq_ignore_ascii_case("select")
    {
        text = format!("{} … {}", words[0], words[from..].join(" "));
    }
    match text.char_indices().nth(LENGTH_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text,
    }
}
