//! The units in their new order.

use std::fmt::Write;

use super::{
    holds,
    moved::{Moved, moved},
    source_order, summary,
    words::{hold, weight},
};
use crate::{rewrite::Report, solve::UnitIndex};

/// A row: the text of each column.
type Row = [String; 7];

const HEADS: [&str; 7] = ["", "new", "old", "lines", "weight", "hold", "query"];

/// Writes the units that have queries or moved. Places are counted within the transaction.
pub(super) fn write(out: &mut String, report: &Report) {
    let order = &report.solution.order;
    let moved = moved(order);
    let holds = [holds(report, &source_order(report)), holds(report, order)];
    let inside = order.iter().filter(|&&unit| !report.units[unit].outside).enumerate();
    let mut rows: Vec<Row> = vec![HEADS.map(str::to_owned)];
    for (new, &unit) in inside {
        let one = &report.units[unit];
        if !one.queries.is_empty() || moved[unit] != Moved::Not {
            rows.push(row(report, unit, new, moved[unit], [holds[0][unit], holds[1][unit]]));
        }
    }
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max();
    let widths: Vec<usize> = (0..HEADS.len()).map(|column| width(column).unwrap_or(0)).collect();
    out.push('\n');
    for row in &rows {
        let mut line = String::new();
        for (column, text) in row.iter().enumerate() {
            let width = widths[column];
            let _ = match column {
                0 => write!(line, "{text:>width$} "),
                3 => write!(line, "{text:<width$}  "),
                6 => write!(line, "{text}"),
                _ => write!(line, "{text:>width$}  "),
            };
        }
        let _ = writeln!(out, "{}", line.trim_end());
    }
}

fn row(report: &Report, unit: UnitIndex, new: usize, moved: Moved, holds: [u128; 2]) -> Row {
    let one = &report.units[unit];
    let before = report.units[..unit].iter().filter(|other| !other.outside).count();
    let (lines, scale) = (one.lines, report.scale);
    let held = match (one.cost.weight, holds[0] == holds[1]) {
        (0, _) => String::new(),
        (_, true) => hold(holds[0], scale),
        (_, false) => format!("{} → {}", hold(holds[0], scale), hold(holds[1], scale)),
    };
    let weight = match one.cost.weight {
        0 => String::new(),
        one => weight(one, scale),
    };
    [
        moved.arrow().to_string(),
        (new + 1).to_string(),
        (before + 1).to_string(),
        if lines.0 == lines.1 { lines.0.to_string() } else { format!("{}-{}", lines.0, lines.1) },
        weight,
        held,
        summary(one),
    ]
}
