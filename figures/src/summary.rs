//! All figures of a run, and the table for a person.

use crate::entry::{Entry, Points};
use crate::families::FAMILIES;
use crate::figure::{Figure, short};
use crate::measure::FigureError;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, presets};
use serde::Serialize;

/// The figures of a run: `figures.json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Reproduction {
    /// The version of this format.
    pub version: u32,
    /// In the order of [`FAMILIES`](crate::FAMILIES), without those that nobody asked for.
    pub families: Vec<FamilyDrawn>,
}

/// The figures of a family.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FamilyDrawn {
    /// What they are about.
    pub title: String,
    /// In order.
    pub figures: Vec<Figure>,
}

/// A figure in a table.
pub(crate) struct Row {
    pub(crate) held: usize,
    pub(crate) relations: usize,
    /// From the least to the greatest; `-` if the paper states no number.
    pub(crate) ratios: String,
}

impl Figure {
    pub(crate) fn row(&self) -> Row {
        let relations = self.relations.len();
        let ratios = self.ratios().fold(None, |range: Option<(f64, f64)>, ratio| {
            Some(range.map_or((ratio, ratio), |(least, most)| (least.min(ratio), most.max(ratio))))
        });
        let ratios = match ratios.map(|(least, most)| (two_places(least), two_places(most))) {
            None => "-".to_owned(),
            Some((least, most)) if least == most => least,
            Some((least, most)) => format!("{least} to {most}"),
        };
        Row { held: relations - self.broken().count(), relations, ratios }
    }
}

fn two_places(ratio: f64) -> String {
    if ratio.abs() < 0.1 { short(ratio) } else { format!("{ratio:.2}") }
}

impl Reproduction {
    /// Draws the figures that are asked for; `begins` is told each before it is drawn.
    ///
    /// # Errors
    /// If a figure's scenario does not run.
    pub fn draw(
        points: Points,
        is_asked: impl Fn(&Entry) -> bool,
        mut begins: impl FnMut(&Entry),
    ) -> Result<Self, FigureError> {
        let mut families = Vec::new();
        for family in FAMILIES {
            let mut figures = Vec::new();
            for entry in family.figures.iter().filter(|entry| is_asked(entry)) {
                begins(entry);
                figures.push((entry.draw)(points)?);
            }
            if !figures.is_empty() {
                families.push(FamilyDrawn { title: family.title.to_owned(), figures });
            }
        }
        Ok(Self { version: 1, families })
    }

    /// All figures.
    pub fn figures(&self) -> impl Iterator<Item = &Figure> {
        self.families.iter().flat_map(|family| &family.figures)
    }

    /// How many relations hold, and how many there are.
    pub fn relations(&self) -> (usize, usize) {
        let all = self.figures().map(|figure| figure.relations.len()).sum();
        let broken: usize = self.figures().map(|figure| figure.broken().count()).sum();
        (all - broken, all)
    }
}

/// A row for each figure, and a line for each relation that does not hold.
pub fn table(reproduction: &Reproduction) -> String {
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(["figure", "relations held", "here / paper", "what it shows"]);
    for figure in reproduction.figures() {
        let Row { held, relations, ratios } = figure.row();
        table.add_row([figure.id.clone(), format!("{held} of {relations}"), ratios, figure.title.clone()]);
    }
    for (at, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2)).set_constraint(ColumnConstraint::ContentWidth);
        if (1..3).contains(&at) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    let mut text: String = table.lines().map(|line| line.trim_end().to_owned() + "\n").collect();
    for figure in reproduction.figures() {
        for relation in figure.broken() {
            text += &format!("does not hold: {}: {} ({})\n", figure.id, relation.says, relation.by);
        }
    }
    let (held, all) = reproduction.relations();
    text += &format!("{held} of {all} relations hold\n");
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Comparison, Panel, Point, Scale};

    #[test]
    fn a_table_names_what_does_not_hold() {
        let mut figure = Figure::new("XX 1", "a figure", "");
        let mut panel = Panel::new("", "n", Scale::Names, "us");
        panel.series("ours", vec![Point::named("x", 3.0).paper(2.0), Point::named("y", 3.0).paper(4.0)]);
        figure.panels.push(panel);
        figure.says("it holds", [Comparison::near("x", 1.0, 1.0, 1.0)]);
        figure.says("it does not", [Comparison::near("x", 1.0, 2.0, 1.0)]);
        let family = FamilyDrawn { title: String::new(), figures: vec![figure] };
        let text = table(&Reproduction { version: 1, families: vec![family] });
        assert_eq!(
            text,
            "figure  relations held  here / paper  what it shows\n\
             XX 1            1 of 2  0.75 to 1.50  a figure\n\
             does not hold: XX 1: it does not (x: 1, expected 2 (± 1 %))\n\
             1 of 2 relations hold\n"
        );
    }
}
