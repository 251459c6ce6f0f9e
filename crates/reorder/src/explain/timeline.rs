//! An order of queries as a timeline: an SVG image.
//!
//! Time, or the number of queries, goes from left to right, and each unit with queries has a row.
//! The bar of a unit that locks rows (`class="hold …"`) begins where the unit begins and ends at
//! the commit: its width is the hold. The bar of a unit that locks nothing (`class="read …"`) is as
//! long as the unit. A color stands for a table; each row also has its text, so that nothing
//! depends on colors.

use std::fmt::Write;

use super::{
    holds,
    moved::{Moved, moved},
    source_order,
    words::{hold, lines, shortened, weight},
};
use crate::{
    rewrite::{Report, UnitReport},
    solve::UnitIndex,
};

/// The width of the part of the image with bars, the place where it begins, and the space behind
/// it, into which half of the word above the last line reaches.
const WIDTH: f64 = 640.0;
const LEFT: f64 = 250.0;
const RIGHT: f64 = 40.0;
const ROW: usize = 26;
const TOP: usize = 30;

/// The number of colors.
pub(super) const COLORS: usize = 8;

/// The order that a timeline shows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shown {
    /// The order of the source.
    Old,
    /// The new order.
    New,
}

/// Returns the timeline of an order. `id` begins the names of its parts, which must differ from
/// those of other images of a page.
pub fn timeline(report: &Report, shown: Shown, id: &str) -> String {
    let order = match shown {
        Shown::Old => source_order(report),
        Shown::New => report.solution.order.clone(),
    };
    let rows: Vec<UnitIndex> =
        order.iter().copied().filter(|&unit| !report.units[unit].queries.is_empty()).collect();
    let image = Image { report, holds: holds(report, &order), tables: tables(report) };
    let height = TOP + rows.len() * ROW + 10;
    let name = match shown {
        Shown::Old => "Order of the source",
        Shown::New => "New order",
    };
    let width = LEFT + WIDTH + RIGHT;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" viewBox=\"0 0 {width} {height}\" \
         aria-labelledby=\"{id}-title {id}-text\">\n\
         <title id=\"{id}-title\">{name} of {}</title>\n",
        escaped(&report.function)
    );
    let _ = writeln!(out, "<desc id=\"{id}-text\">{}</desc>", escaped(&image.description(&rows)));
    image.axis(&mut out, height);
    let moved = moved(&report.solution.order);
    for (row, &unit) in rows.iter().enumerate() {
        image.row(&mut out, row, unit, moved[unit]);
    }
    out.push_str("</svg>\n");
    out
}

/// Returns the tables of a transaction in the order of the source: the order of the colors.
pub(super) fn tables(report: &Report) -> Vec<String> {
    let mut tables: Vec<String> = Vec::new();
    for unit in report.units.iter().filter(|unit| !unit.queries.is_empty()) {
        if let Some(table) = main_table(unit)
            && !tables.contains(&table)
        {
            tables.push(table);
        }
    }
    tables
}

/// Returns the table that gives a unit its color: the first that it locks, or else that it uses.
fn main_table(unit: &UnitReport) -> Option<String> {
    unit.locks.first().map(|lock| &lock.table).or(unit.tables.first()).cloned()
}

struct Image<'r> {
    report: &'r Report,
    holds: Vec<u128>,
    tables: Vec<String>,
}

impl Image<'_> {
    /// Returns the length of all units.
    fn total(&self) -> u128 {
        self.holds.iter().copied().max().unwrap_or(0).max(1)
    }

    fn pixels(&self, length: u128) -> f64 {
        WIDTH * length as f64 / self.total() as f64
    }

    fn is_held(&self, unit: UnitIndex) -> bool {
        let unit = &self.report.units[unit];
        !unit.locks.is_empty() || unit.cost.weight > 0
    }

    /// Returns the order in words.
    fn description(&self, rows: &[UnitIndex]) -> String {
        let of_row = |&unit: &UnitIndex| {
            let one = &self.report.units[unit];
            let held = match self.is_held(unit) {
                true => format!(" is held for {}", self.hold(unit)),
                false => " locks nothing".to_owned(),
            };
            format!("{}, {}{held}", one.tables.join(", "), lines(one.lines))
        };
        rows.iter().map(of_row).collect::<Vec<_>>().join("; ")
    }

    fn hold(&self, unit: UnitIndex) -> String {
        let text = hold(self.holds[unit], self.report.scale);
        let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
        match text.as_str() {
            "1" => "1 query".to_owned(),
            _ if is_number => format!("{text} queries"),
            _ => text,
        }
    }

    /// Draws the line of the commit, and about the quarters of the whole, each at a whole number.
    fn axis(&self, out: &mut String, height: usize) {
        for quarter in 0..=4u128 {
            let length = self.total() * quarter / 4;
            let at = LEFT + self.pixels(length);
            let (class, text) = match quarter {
                4 => ("commit", "commit".to_owned()),
                _ => ("grid", hold(length, self.report.scale)),
            };
            let _ = writeln!(
                out,
                "<line class=\"{class}\" x1=\"{at}\" y1=\"{}\" x2=\"{at}\" y2=\"{}\"/>\
                 <text class=\"axis\" x=\"{at}\" y=\"14\">{text}</text>",
                TOP - 10,
                height - 6
            );
        }
    }

    fn row(&self, out: &mut String, row: usize, unit: UnitIndex, moved: Moved) {
        let one = &self.report.units[unit];
        let is_held = self.is_held(unit);
        let length = if is_held { self.holds[unit] } else { u128::from(one.cost.length) };
        let (top, start) = (TOP + row * ROW, self.pixels(self.total() - self.holds[unit]));
        let main = main_table(one);
        let color = self.tables.iter().position(|table| Some(table) == main.as_ref());
        let label = match main {
            Some(table) => format!("{} {table}, {}", moved.arrow(), lines(one.lines)),
            None => format!("{} {}", moved.arrow(), lines(one.lines)),
        };
        let _ = writeln!(
            out,
            "<text class=\"label\" x=\"0\" y=\"{}\">{}</text>\
             <rect class=\"{} c{}\" x=\"{:.2}\" y=\"{top}\" width=\"{:.2}\" height=\"{}\" rx=\"3\">\
             <title>{}</title></rect>",
            top + 15,
            escaped(label.trim()),
            if is_held { "hold" } else { "read" },
            color.map_or(COLORS, |color| color % COLORS),
            LEFT + start,
            self.pixels(length),
            ROW - 6,
            escaped(&self.tooltip(unit))
        );
    }

    fn tooltip(&self, unit: UnitIndex) -> String {
        let one = &self.report.units[unit];
        let queries: Vec<String> = one.queries.iter().map(|query| shortened(query)).collect();
        let held = match self.is_held(unit) {
            true => format!(
                "held for {}, weight {}",
                self.hold(unit),
                weight(one.cost.weight, self.report.scale)
            ),
            false => "locks nothing".to_owned(),
        };
        format!("{}: {held}\n{}", lines(one.lines), queries.join("\n"))
    }
}

/// Returns a text as the content of an element or of an attribute.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' | '\t' => out.push(character),
            // XML has no other control characters.
            _ if character.is_control() => out.push('\u{fffd}'),
            _ => out.push(character),
        }
    }
    out
}
