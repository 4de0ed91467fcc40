//! The drawing in the making: where lanes and rows are, what is written where, and the frame around it.

use super::margins;
use super::style::STYLE;
use crate::chart::{Chart, LaneEnd, wrap};
use std::fmt::Write;

/// Pixels from one lane to the next.
pub(super) const LANE: usize = 270;
/// Pixels left of the first lane.
const LEFT: usize = 60;
/// Pixels above the first row.
const TOP: usize = 64;
/// Pixels of a row with one line of text.
pub(super) const ROW: usize = 42;
/// Pixels of a further line of text.
const LINE: usize = 15;
/// Characters of text in a line.
const CHARACTERS: usize = 34;

pub(super) struct Page<'a> {
    pub(super) chart: &'a Chart,
    /// Where each lane is.
    pub(super) lanes: Vec<usize>,
    /// The middle of each row.
    pub(super) rows: Vec<usize>,
    /// Below the last row.
    pub(super) bottom: usize,
    /// Below everything.
    pub(super) height: usize,
    /// The areas of text that is placed already.
    pub(super) taken: Vec<Area>,
    pub(super) out: String,
}

/// A line of text, and its class.
type TextLine = (String, &'static str);

/// The lines of text next to a row.
fn lines_of(chart: &Chart, row: usize) -> Vec<TextLine> {
    let row = &chart.rows[row];
    let arrives = row.arrives.map(|arrow| &chart.arrows[arrow]).filter(|arrow| arrow.is_loop());
    let text = match arrives {
        Some(arrow) if row.text.is_empty() => format!("own {}", arrow.label),
        Some(arrow) => format!("own {}, {}", arrow.label, row.text),
        None => row.text.clone(),
    };
    let mut lines = classed(&text, "halo");
    if let Some(wrong) = &row.wrong {
        let wrong = if wrong.is_empty() { "HERE".to_owned() } else { format!("HERE: {wrong}") };
        lines.extend(classed(&wrong, "halo wrong"));
    }
    lines.extend(row.late.iter().flat_map(|late| classed(late, "halo late")));
    lines
}

/// The lines of text at the end of a lane.
fn lines_at(end: &LaneEnd) -> Vec<TextLine> {
    let mut lines = classed(&end.text, "halo wrong");
    lines.extend(end.late.iter().flat_map(|late| classed(late, "halo late")));
    lines
}

fn classed(text: &str, class: &'static str) -> Vec<TextLine> {
    wrap(text, CHARACTERS).into_iter().map(|line| (line, class)).collect()
}

/// Where the text of a row stands, so that no arrow that begins or ends there runs through it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextPlacement {
    /// Arrows leave downwards.
    Above,
    /// An arrow comes from above, from the side where the text is.
    Below,
    /// The last lane has no arrows at its right.
    Beside,
}

fn placement_of(chart: &Chart, row: usize) -> TextPlacement {
    let row = &chart.rows[row];
    if row.lane + 1 == chart.lanes.len() {
        TextPlacement::Beside
    } else if row.arrives.is_some_and(|arrow| chart.arrows[arrow].from > row.lane) {
        TextPlacement::Below
    } else {
        TextPlacement::Above
    }
}

/// Part of the drawing: left, right, upper and lower edge.
#[derive(Clone, Copy, Debug)]
pub(super) struct Area(pub(super) [f64; 4]);

impl Area {
    /// Around a line of text that begins at `x` on the base line `y`.
    pub(super) fn of(text: &str, x: usize, y: usize) -> Self {
        let (x, y) = (x as f64, y as f64);
        Self([x - 3.0, x + 3.0 + length(text), y - 13.0, y + 5.0])
    }

    pub(super) fn holds(self, x: f64, y: f64) -> bool {
        let Self([left, right, top, bottom]) = self;
        left <= x && x <= right && top <= y && y <= bottom
    }
}

/// Pixels that a line of text takes, roughly.
pub(super) fn length(text: &str) -> f64 {
    7.3 * text.chars().count() as f64
}

impl<'a> Page<'a> {
    pub(super) fn new(chart: &'a Chart) -> Self {
        let mut rows = Vec::with_capacity(chart.rows.len());
        let mut y = TOP;
        for row in 0..chart.rows.len() {
            let more = LINE * lines_of(chart, row).len().saturating_sub(1);
            let above = placement_of(chart, row) == TextPlacement::Above;
            y += if above { more } else { 0 };
            rows.push(y);
            y += ROW + if above { 0 } else { more };
        }
        let bottom = y;
        let ends = chart.ends.iter().map(|end| lines_at(end).len()).max().unwrap_or(0);
        let height = bottom + ROW / 2 + ends * LINE;
        let mut lanes = Vec::with_capacity(chart.lanes.len());
        let mut x = LEFT;
        for lane in 0..chart.lanes.len() {
            x += margins::margin(chart, lane);
            lanes.push(x);
            x += LANE;
        }
        let mut page = Self { chart, lanes, rows, bottom, height, taken: Vec::new(), out: String::new() };
        for row in 0..chart.rows.len() {
            let (x, first) = page.text_at(row);
            let lines = lines_of(chart, row).into_iter().enumerate();
            page.taken.extend(lines.map(|(line, (text, _))| Area::of(&text, x, first + line * LINE)));
        }
        page
    }

    /// Where the text of a row begins: left end, and base line of its first line.
    pub(super) fn text_at(&self, row: usize) -> (usize, usize) {
        let more = LINE * lines_of(self.chart, row).len().saturating_sub(1);
        let y = match placement_of(self.chart, row) {
            TextPlacement::Above => (self.rows[row] - 7).saturating_sub(more),
            TextPlacement::Below => self.rows[row] + 17,
            TextPlacement::Beside => self.rows[row] + 4,
        };
        (self.x(self.chart.rows[row].lane) + 11, y)
    }

    pub(super) fn x(&self, lane: usize) -> usize {
        self.lanes[lane]
    }

    pub(super) fn width(&self) -> usize {
        self.lanes.last().copied().unwrap_or(LEFT) + LANE
    }

    pub(super) fn put(&mut self, arguments: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = self.out.write_fmt(arguments);
        self.out.push('\n');
    }

    pub(super) fn lanes(&mut self) {
        for (lane, rank) in self.chart.lanes.iter().enumerate() {
            let (x, bottom) = (self.x(lane), self.bottom);
            self.put(format_args!("<text class=\"rank\" x=\"{x}\" y=\"26\">rank {rank}</text>"));
            self.put(format_args!("<line class=\"lane\" x1=\"{x}\" y1=\"36\" x2=\"{x}\" y2=\"{bottom}\"/>"));
        }
    }

    pub(super) fn row(&mut self, index: usize) {
        let row = &self.chart.rows[index];
        let (x, y) = (self.x(row.lane), self.rows[index]);
        self.put(format_args!(
            "<text class=\"step\" x=\"{}\" y=\"{}\">{}</text>",
            LEFT - 26,
            y + 4,
            row.step
        ));
        if row.wrong.is_some() {
            self.cross(x, y);
        } else {
            self.put(format_args!("<circle class=\"dot\" cx=\"{x}\" cy=\"{y}\" r=\"3.5\"/>"));
        }
        for other in &row.others {
            let x = self.x(*other);
            self.put(format_args!("<circle class=\"dot\" cx=\"{x}\" cy=\"{y}\" r=\"3.5\"/>"));
        }
        let (x, first) = self.text_at(index);
        for (line, (text, class)) in lines_of(self.chart, index).into_iter().enumerate() {
            let (y, text) = (first + line * LINE, escape(&text));
            self.put(format_args!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{text}</text>"));
        }
    }

    pub(super) fn cross(&mut self, x: usize, y: usize) {
        let (left, right, top, bottom) = (x.saturating_sub(6), x + 6, y.saturating_sub(6), y + 6);
        self.put(format_args!(
            "<path class=\"cross\" d=\"M{left} {top}L{right} {bottom}M{right} {top}L{left} {bottom}\"/>"
        ));
    }

    pub(super) fn ends(&mut self) {
        for end in &self.chart.ends {
            let (x, y) = (self.x(end.lane), self.bottom);
            self.cross(x, y);
            for (line, (text, class)) in lines_at(end).into_iter().enumerate() {
                let (x, y, text) = (x + 11, y + 4 + line * LINE, escape(&text));
                self.put(format_args!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{text}</text>"));
            }
        }
    }

    pub(super) fn finish(mut self, heading: Option<&str>) -> String {
        // The heading and the note grow upwards from 0, above the lanes.
        let mut top: isize = 0;
        for (class, text) in [("note", self.chart.not_drawn().as_deref()), ("heading", heading)] {
            let Some(text) = text else { continue };
            self.put(format_args!(
                "<text class=\"{class}\" x=\"10\" y=\"{}\">{}</text>",
                top - 4,
                escape(text)
            ));
            top -= 26;
        }
        let ranks: Vec<String> = self.chart.lanes.iter().map(u32::to_string).collect();
        let label = format!("Message-sequence chart of ranks {}", ranks.join(", "));
        let title =
            heading.map_or_else(String::new, |heading| format!("<title>{}</title>\n", escape(heading)));
        let heading = heading.map_or(0.0, |heading| 20.0 + 1.3 * length(heading)) as usize;
        let (width, height, out) = (self.width().max(heading), self.height + top.unsigned_abs(), &self.out);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 {top} {width} {height}\" role=\"img\" aria-label=\"{label}\">\n{title}<style>{STYLE}</style>\n\
             <rect class=\"page\" y=\"{top}\" width=\"100%\" height=\"100%\"/>\n{out}</svg>\n"
        )
    }
}

/// Text as it has to stand in XML.
pub(in crate::chart) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            // XML knows no other control characters.
            '\t' | '\n' => out.push(character),
            _ if character.is_control() => out.push('\u{fffd}'),
            _ => out.push(character),
        }
    }
    out
}
