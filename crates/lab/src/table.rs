//! Tables with aligned columns, and the format of the numbers in them.

use comfy_table::{CellAlignment, Table, presets};
use indicatif::HumanCount;

/// Returns a table with these headings. The first `left` columns are aligned to the left, the
/// others to the right.
pub(crate) fn table<H: ToString>(left: usize, headings: impl IntoIterator<Item = H>) -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_header(headings.into_iter().map(|h| h.to_string()));
    for (at, column) in table.column_iter_mut().enumerate() {
        // Two spaces between columns, and none at the beginning of a line.
        column.set_padding(if at == 0 { (0, 0) } else { (2, 0) });
        column.set_cell_alignment(if at < left {
            CellAlignment::Left
        } else {
            CellAlignment::Right
        });
    }
    table
}

/// Formats a number with about three significant digits and separators between the thousands.
pub(crate) fn number(value: f64) -> String {
    let size = value.abs();
    match size {
        _ if value.is_nan() => "–".into(),
        f64::INFINITY => "∞".into(),
        0.0 => "0".into(),
        1000.0.. => {
            let sign = if value < 0.0 { "-" } else { "" };
            format!("{sign}{}", HumanCount(size.round() as u64))
        }
        100.0.. => format!("{value:.0}"),
        10.0.. => format!("{value:.1}"),
        0.1.. => format!("{value:.2}"),
        _ => format!("{value:.4}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut table = table(1, ["name", "n"]);
        table.add_row(["a", "1000"]).add_row(["a – b", "1"]);
        assert_eq!(table.trim_fmt(), "name      n\na      1000\na – b     1");
    }

    #[test]
    fn numbers_have_three_significant_digits() {
        let texts = [1_234_567.8, -1000.0, 123.4, 12.34, 1.234, 0.0123, 0.0, f64::INFINITY];
        let texts = texts.map(number);
        assert_eq!(texts, ["1,234,568", "-1,000", "123", "12.3", "1.23", "0.0123", "0", "∞"]);
    }
}
