//! Charts as SVG.

use super::{Arrow, Chart, Kind, wrap};
use std::fmt::Write;

/// Pixels from one lane to the next.
const LANE: usize = 270;
/// Pixels left of the first lane.
const LEFT: usize = 60;
/// Pixels above the first row.
const TOP: usize = 64;
/// Pixels of a row with one line of text.
const ROW: usize = 42;
/// Pixels of a further line of text.
const LINE: usize = 15;
/// Characters of text in a line.
const CHARACTERS: usize = 34;

const STYLE: &str = "\
text{font:12px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace;fill:#24292f}\
.rank{font-weight:bold;font-size:14px;text-anchor:middle}\
.step{fill:#8c959f;text-anchor:end}\
.lane{stroke:#afb8c1;stroke-width:1.5}\
.dot{fill:#57606a}\
.halo{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}\
.label{text-anchor:middle}\
.control{stroke:#0969da;stroke-width:1.6;fill:none}.control-text{fill:#0550ae}.control-head{fill:#0969da}\
.data{stroke:#1a7f37;stroke-width:2.4;fill:none}.data-text{fill:#116329}.data-head{fill:#1a7f37}\
.open{stroke-dasharray:5 4}\
.wrong{fill:#cf222e;font-weight:bold}.cross{stroke:#cf222e;stroke-width:2.5;fill:none}\
.note{fill:#57606a}";

pub(super) fn render(chart: &Chart) -> String {
    let mut page = Page::new(chart);
    page.lanes();
    chart.arrows.iter().for_each(|arrow| page.arrow(arrow));
    chart.arrows.iter().for_each(|arrow| page.label(arrow));
    (0..chart.rows.len()).for_each(|row| page.row(row));
    page.ends();
    page.finish()
}

struct Page<'a> {
    chart: &'a Chart,
    /// The middle of each row.
    rows: Vec<usize>,
    /// Below the last row.
    bottom: usize,
    /// Below everything.
    height: usize,
    out: String,
}

/// What stands beside a row, in lines; the flag says that it is what is wrong.
fn lines_of(chart: &Chart, row: usize) -> Vec<(String, bool)> {
    let row = &chart.rows[row];
    let mut lines: Vec<(String, bool)> =
        wrap(&row.text, CHARACTERS).into_iter().map(|line| (line, false)).collect();
    if let Some(wrong) = &row.wrong {
        let wrong = if wrong.is_empty() { "HERE".to_owned() } else { format!("HERE: {wrong}") };
        lines.extend(wrap(&wrong, CHARACTERS).into_iter().map(|line| (line, true)));
    }
    lines
}

/// Where the text of a row stands, so that no arrow that begins or ends there runs through it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Arrows leave downwards.
    Above,
    /// An arrow comes from above, from the side where the text is.
    Below,
    /// The last lane has no arrows at its right.
    Beside,
}

fn place_of(chart: &Chart, row: usize) -> Place {
    let row = &chart.rows[row];
    if row.lane + 1 == chart.lanes.len() {
        Place::Beside
    } else if row.arrives.is_some_and(|arrow| chart.arrows[arrow].from > row.lane) {
        Place::Below
    } else {
        Place::Above
    }
}

impl<'a> Page<'a> {
    fn new(chart: &'a Chart) -> Self {
        let mut rows = Vec::with_capacity(chart.rows.len());
        let mut y = TOP;
        for row in 0..chart.rows.len() {
            let more = LINE * lines_of(chart, row).len().saturating_sub(1);
            let above = place_of(chart, row) == Place::Above;
            y += if above { more } else { 0 };
            rows.push(y);
            y += ROW + if above { 0 } else { more };
        }
        let bottom = y;
        let ends = chart.ends.iter().map(|end| wrap(&end.text, CHARACTERS).len()).max().unwrap_or(0);
        let notes = chart.not_drawn().map_or(0, |_| LINE + 8);
        let height = bottom + ROW / 2 + ends * LINE + notes;
        Self { chart, rows, bottom, height, out: String::new() }
    }

    fn x(&self, lane: usize) -> usize {
        LEFT + lane * LANE
    }

    fn width(&self) -> usize {
        LEFT + self.chart.lanes.len().max(1) * LANE
    }

    fn put(&mut self, arguments: std::fmt::Arguments<'_>) {
        // Writing to a string does not fail.
        let _ = self.out.write_fmt(arguments);
        self.out.push('\n');
    }

    fn lanes(&mut self) {
        for (lane, rank) in self.chart.lanes.iter().enumerate() {
            let (x, bottom) = (self.x(lane), self.bottom);
            self.put(format_args!("<text class=\"rank\" x=\"{x}\" y=\"26\">rank {rank}</text>"));
            self.put(format_args!("<line class=\"lane\" x1=\"{x}\" y1=\"36\" x2=\"{x}\" y2=\"{bottom}\"/>"));
        }
    }

    /// Where an arrow begins and where it ends; one that does not arrive ends on the way.
    fn ends_of(&self, arrow: &Arrow) -> [f64; 4] {
        let (x1, y1) = (self.x(arrow.from) as f64, self.rows[arrow.leaves] as f64);
        let x2 = self.x(arrow.to) as f64;
        match arrow.arrives {
            Some(row) => [x1, y1, x2, self.rows[row] as f64],
            None => {
                [x1, y1, x1 + (x2 - x1).clamp(-0.7 * LANE as f64, 0.7 * LANE as f64), y1 + 0.45 * ROW as f64]
            }
        }
    }

    fn arrow(&mut self, arrow: &Arrow) {
        let [x1, y1, x2, y2] = self.ends_of(arrow);
        let class = class(arrow);
        let open = if arrow.arrives.is_none() { " open" } else { "" };
        let length = (x2 - x1).hypot(y2 - y1).max(1.0);
        let (ux, uy) = ((x2 - x1) / length, (y2 - y1) / length);
        // The head touches the dot at which it arrives.
        let (hx, hy) = (x2 - ux * 5.0, y2 - uy * 5.0);
        let (bx, by) = (hx - ux * 10.0, hy - uy * 10.0);
        self.put(format_args!(
            "<line class=\"{class}{open}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{bx:.1}\" y2=\"{by:.1}\"/>"
        ));
        let (wx, wy) = (-uy * 4.5, ux * 4.5);
        let (left, right) = ((bx + wx, by + wy), (bx - wx, by - wy));
        self.put(format_args!(
            "<path class=\"{class}-head\" d=\"M{hx:.1} {hy:.1}L{:.1} {:.1}L{:.1} {:.1}Z\"/>",
            left.0, left.1, right.0, right.1
        ));
    }

    /// Writes what an arrow is along it, near its head, where arrows that cross are apart.
    fn label(&mut self, arrow: &Arrow) {
        let [x1, y1, x2, y2] = self.ends_of(arrow);
        let along = if arrow.arrives.is_some() { 0.74 } else { 0.55 };
        let (x, y) = (x1 + (x2 - x1) * along, y1 + (y2 - y1) * along);
        let angle = ((y2 - y1) / (x2 - x1)).atan().to_degrees();
        let note = if arrow.arrives.is_none() { ", on its way" } else { "" };
        let (class, label) = (class(arrow), escape(&arrow.label));
        self.put(format_args!(
            "<text class=\"halo label {class}-text\" transform=\"translate({x:.1} {y:.1}) rotate({angle:.1})\" \
             y=\"-6\">{label}{note}</text>"
        ));
    }

    fn row(&mut self, index: usize) {
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
        let lines = lines_of(self.chart, index);
        let first = match place_of(self.chart, index) {
            Place::Above => (y - 7).saturating_sub(LINE * lines.len().saturating_sub(1)),
            Place::Below => y + 17,
            Place::Beside => y + 4,
        };
        for (line, (text, is_wrong)) in lines.into_iter().enumerate() {
            let class = if is_wrong { "halo wrong" } else { "halo" };
            let (x, y, text) = (x + 11, first + line * LINE, escape(&text));
            self.put(format_args!("<text class=\"{class}\" x=\"{x}\" y=\"{y}\">{text}</text>"));
        }
    }

    fn cross(&mut self, x: usize, y: usize) {
        let (left, right, top, bottom) = (x.saturating_sub(6), x + 6, y.saturating_sub(6), y + 6);
        self.put(format_args!(
            "<path class=\"cross\" d=\"M{left} {top}L{right} {bottom}M{right} {top}L{left} {bottom}\"/>"
        ));
    }

    fn ends(&mut self) {
        for end in &self.chart.ends {
            let (x, y) = (self.x(end.lane), self.bottom);
            self.cross(x, y);
            for (line, text) in wrap(&end.text, CHARACTERS).into_iter().enumerate() {
                let (x, y, text) = (x + 11, y + 4 + line * LINE, escape(&text));
                self.put(format_args!("<text class=\"halo wrong\" x=\"{x}\" y=\"{y}\">{text}</text>"));
            }
        }
        if let Some(note) = self.chart.not_drawn() {
            let (y, note) = (self.height - 10, escape(&note));
            self.put(format_args!("<text class=\"note\" x=\"10\" y=\"{y}\">{note}</text>"));
        }
    }

    fn finish(self) -> String {
        let (width, height, out) = (self.width(), self.height, &self.out);
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
             viewBox=\"0 0 {width} {height}\">\n<style>{STYLE}</style>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n{out}</svg>\n"
        )
    }
}

fn class(arrow: &Arrow) -> &'static str {
    match arrow.kind {
        Kind::Control => "control",
        Kind::Data => "data",
    }
}

/// Text as it has to stand in XML.
pub(super) fn escape(text: &str) -> String {
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
