//! Tables without lines between their cells.

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};
use std::ops::Range;

/// An empty table.
pub(crate) fn table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table
}

/// The text of a table whose columns `numbers` stand at the right. No line ends with a blank.
pub(crate) fn render(mut table: Table, numbers: Range<usize>) -> String {
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2)).set_constraint(ColumnConstraint::ContentWidth);
        if numbers.contains(&at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.lines().map(|line| line.trim_end().to_owned() + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_no_line_ends_with_a_blank() {
        let mut table = table();
        table.set_header(["name", "n", "note"]);
        table.add_row(["a", "12", ""]).add_row(["long", "3", "yes"]);
        assert_eq!(render(table, 1..2), "name   n  note\na     12\nlong   3  yes\n");
    }
}
