//! Columns that are as wide as they need to be.

use crate::style::{Paint, Style};
use comfy_table::{ColumnConstraint, ContentArrangement, presets};

pub(crate) use comfy_table::CellAlignment as Align;

/// Blanks between two columns.
const GAP: u16 = 2;

/// One cell.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cell {
    text: String,
    paint: Option<Paint>,
}

impl Cell {
    /// Text that is something.
    pub(crate) fn painted(text: impl Into<String>, paint: Paint) -> Self {
        Self { text: text.into(), paint: Some(paint) }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), paint: None }
    }
}

/// A table, two blanks between its columns.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    columns: Vec<Align>,
    /// The headings are the first of them, if there are any.
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// With a heading over each column.
    pub(crate) fn headed(columns: &[(&str, Align)]) -> Self {
        let headings = columns.iter().map(|(name, _)| Cell::painted(*name, Paint::Faint)).collect();
        Self { columns: columns.iter().map(|(_, align)| *align).collect(), rows: vec![headings] }
    }

    /// Without headings.
    pub(crate) fn plain(columns: &[Align]) -> Self {
        Self { columns: columns.to_vec(), rows: Vec::new() }
    }

    /// Appends a row; missing cells are empty.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let mut row: Vec<Cell> = cells.into_iter().collect();
        row.resize(self.columns.len(), Cell::default());
        self.rows.push(row);
    }

    /// The text, each line behind `indent` blanks. No line ends with a blank.
    pub(crate) fn render(&self, indent: usize, style: Style) -> String {
        let mut table = comfy_table::Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
        // A row is a line.
        table.add_rows(self.rows.iter().map(|row| row.iter().map(|cell| cell.text.replace('\n', " "))));
        for (column, align) in table.column_iter_mut().zip(&self.columns) {
            column.set_padding((0, GAP)).set_constraint(ColumnConstraint::ContentWidth);
            column.set_cell_alignment(*align);
        }
        let line = |(line, row): (String, &Vec<Cell>)| {
            format!("{}{}\n", " ".repeat(indent), painted(line.trim_end(), row, style))
        };
        table.lines().zip(&self.rows).map(line).collect()
    }
}

/// A line of a table with the cells' paint. It is laid out without, as escape sequences would count as characters.
fn painted(line: &str, row: &[Cell], style: Style) -> String {
    let (mut text, mut rest) = (String::with_capacity(line.len()), line);
    for Cell { text: cell, paint } in row {
        let Some((before, after)) = rest.split_once(cell.as_str()) else { break };
        text += before;
        match paint {
            Some(paint) if !cell.is_empty() => text += &style.paint(*paint, cell),
            _ => text += cell,
        }
        rest = after;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let mut table = Table::headed(&[("name", Align::Left), ("n", Align::Right), ("note", Align::Left)]);
        table.row(["a".into(), Cell::painted("12", Paint::Good), "".into()]);
        table.row(["long".into(), "3".into(), "yes".into()]);
        table
    }

    #[test]
    fn columns_are_aligned_and_no_line_ends_with_a_blank() {
        let plain = Style { color: false, terminal: false };
        assert_eq!(table().render(2, plain), "  name   n  note\n  a     12\n  long   3  yes\n");
    }

    #[test]
    fn paint_takes_no_room() {
        let style = Style { color: true, terminal: false };
        let text = table().render(0, style);
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1..], ["a     \u{1b}[32m12\u{1b}[0m", "long   3  yes"]);
    }
}
