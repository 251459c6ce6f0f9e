//! Columns that line up: the first column to the left, the others to the right.

use std::fmt::Write as _;

/// Lines of cells.
pub(crate) struct Table {
    lines: Vec<Vec<String>>,
    left: usize,
}

impl Table {
    /// With these headings; the first `left` columns are aligned to the left.
    pub(crate) fn new<S: Into<String>>(left: usize, headings: Vec<S>) -> Table {
        Table { lines: vec![headings.into_iter().map(Into::into).collect()], left }
    }

    /// Adds a line.
    pub(crate) fn line(&mut self, cells: Vec<String>) {
        self.lines.push(cells);
    }

    /// The text, two spaces between columns, none at the end of a line.
    pub(crate) fn text(&self) -> String {
        let columns = self.lines.iter().map(Vec::len).max().unwrap_or(0);
        let length = |line: &Vec<String>, at: usize| line.get(at).map_or(0, |c| c.chars().count());
        let widths: Vec<usize> = (0..columns)
            .map(|at| self.lines.iter().map(|line| length(line, at)).max().unwrap_or(0))
            .collect();
        let mut out = String::new();
        for line in &self.lines {
            let mut text = String::new();
            for (at, (cell, width)) in line.iter().zip(&widths).enumerate() {
                let gap = if at == 0 { "" } else { "  " };
                // Writing to a string does not fail.
                let _ = if at < self.left {
                    write!(text, "{gap}{cell:<width$}")
                } else {
                    write!(text, "{gap}{cell:>width$}")
                };
            }
            out.push_str(text.trim_end());
            out.push('\n');
        }
        out
    }
}

/// A number with about three digits that matter, thousands apart.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return if value.is_nan() { "–".into() } else { "∞".into() };
    }
    if size >= 1000.0 {
        let digits = format!("{:.0}", size);
        let mut text = String::new();
        for (at, digit) in digits.chars().enumerate() {
            if at > 0 && (digits.len() - at).is_multiple_of(3) {
                text.push(',');
            }
            text.push(digit);
        }
        return if value < 0.0 { format!("-{text}") } else { text };
    }
    match size {
        0.0 => "0".into(),
        size if size >= 100.0 => format!("{value:.0}"),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new(1, vec!["name", "n"]);
        table.line(vec!["a".into(), "1000".into()]);
        table.line(vec!["a – b".into(), "1".into()]);
        assert_eq!(table.text(), "name      n\na      1000\na – b     1\n");
    }

    #[test]
    fn numbers_have_three_digits_that_matter() {
        let texts = [1_234_567.8, -1000.0, 123.4, 12.34, 1.234, 0.0123, 0.0, f64::INFINITY];
        let texts = texts.map(number);
        assert_eq!(texts, ["1,234,568", "-1,000", "123", "12.3", "1.23", "0.0123", "0", "∞"]);
    }
}
