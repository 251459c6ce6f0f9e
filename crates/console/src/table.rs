//! Text tables with aligned columns.

use comfy_table::{CellAlignment, Table, presets};

/// Returns a table with these headings. The first `left` columns are aligned to the left, the
/// others to the right.
pub fn table<H: ToString>(left: usize, headings: impl IntoIterator<Item = H>) -> Table {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned() {
        let mut table = table(1, ["name", "n"]);
        table.add_row(["a", "1000"]).add_row(["a – b", "1"]);
        assert_eq!(table.trim_fmt(), "name      n\na      1000\na – b     1");
    }
}
