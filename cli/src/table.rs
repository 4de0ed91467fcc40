//! Columns that are as wide as they need to be.

use crate::style::{Paint, Style};

/// Where the text of a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// One cell.
#[derive(Clone, Debug)]
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
    columns: Vec<(String, Align)>,
    rows: Vec<Vec<Cell>>,
    headed: bool,
}

impl Table {
    /// With a heading over each column.
    pub(crate) fn headed(columns: &[(&str, Align)]) -> Self {
        let columns = columns.iter().map(|(name, align)| ((*name).to_owned(), *align)).collect();
        Self { columns, rows: Vec::new(), headed: true }
    }

    /// Without headings.
    pub(crate) fn plain(columns: &[Align]) -> Self {
        let columns = columns.iter().map(|align| (String::new(), *align)).collect();
        Self { columns, rows: Vec::new(), headed: false }
    }

    /// Appends a row; missing cells are empty.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// The text, each line behind `indent` blanks.
    pub(crate) fn render(&self, indent: usize, style: Style) -> String {
        let widths: Vec<usize> = (0..self.columns.len()).map(|column| self.width(column)).collect();
        let mut text = String::new();
        if self.headed {
            let heading: Vec<Cell> =
                self.columns.iter().map(|(name, _)| Cell::painted(name.as_str(), Paint::Faint)).collect();
            self.line(&mut text, &heading, &widths, indent, style);
        }
        for row in &self.rows {
            self.line(&mut text, row, &widths, indent, style);
        }
        text
    }

    fn width(&self, column: usize) -> usize {
        let cells = self.rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.text.chars().count());
        cells.chain([self.columns[column].0.chars().count()]).max().unwrap_or(0)
    }

    fn line(&self, text: &mut String, row: &[Cell], widths: &[usize], indent: usize, style: Style) {
        let mut line = " ".repeat(indent);
        // Blanks are written when something follows them, so that no line ends with one.
        let mut due = 0;
        for (at, (cell, width)) in row.iter().zip(widths).enumerate() {
            if at > 0 {
                due += 2;
            }
            let padding = width - cell.text.chars().count();
            let right = self.columns[at].1 == Align::Right;
            if !cell.text.is_empty() {
                due += if right { padding } else { 0 };
                line.extend(std::iter::repeat_n(' ', due));
                line += &match cell.paint {
                    Some(paint) => style.paint(paint, &cell.text),
                    None => cell.text.clone(),
                };
                due = if right { 0 } else { padding };
            } else {
                due += width;
            }
        }
        text.push_str(&line);
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_and_no_line_ends_with_a_blank() {
        let mut table = Table::headed(&[("name", Align::Left), ("n", Align::Right), ("note", Align::Left)]);
        table.row(["a".into(), "12".into(), "".into()]);
        table.row(["long".into(), "3".into(), "yes".into()]);
        let plain = Style { color: false, terminal: false };
        assert_eq!(table.render(2, plain), "  name   n  note\n  a     12\n  long   3  yes\n");
    }
}
