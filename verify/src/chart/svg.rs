//! Charts as SVG.

use super::{Arrow, ArrowKind, Chart, wrap};
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
.page{fill:#fff}.heading{font-weight:bold;font-size:15px}\
.step{fill:#6e7781;text-anchor:end}\
.lane{stroke:#afb8c1;stroke-width:1.5}\
.dot{fill:#57606a}\
.halo{paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}\
.label{text-anchor:middle}\
.control{stroke:#0969da;stroke-width:1.6;fill:none}.control-text{fill:#0550ae}.control-head{fill:#0969da}\
.data{stroke:#1a7f37;stroke-width:2.4;fill:none}.data-text{fill:#116329}.data-head{fill:#1a7f37}\
.open{stroke-dasharray:5 4}\
.wrong{fill:#cf222e;font-weight:bold}.cross{stroke:#cf222e;stroke-width:2.5;fill:none}\
.note{fill:#57606a}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.page{fill:#0d1117}.halo{stroke:#0d1117}\
.step,.note{fill:#9198a1}.lane{stroke:#484f58}.dot{fill:#9198a1}\
.control{stroke:#4493f8}.control-text{fill:#79c0ff}.control-head{fill:#4493f8}\
.data{stroke:#3fb950}.data-text{fill:#56d364}.data-head{fill:#3fb950}\
.wrong{fill:#ff7b72}.cross{stroke:#ff7b72}}";

impl Chart {
    /// The chart as an SVG document.
    pub fn svg(&self) -> String {
        render(self, None)
    }

    /// The chart as an SVG document that says what it shows.
    pub fn titled_svg(&self, title: &str) -> String {
        render(self, Some(title))
    }
}

/// The drawing, below `heading` where nothing else says what it shows.
fn render(chart: &Chart, heading: Option<&str>) -> String {
    let mut page = Page::new(chart);
    page.lanes();
    chart.arrows.iter().for_each(|arrow| page.arrow(arrow));
    chart.arrows.iter().for_each(|arrow| page.label(arrow));
    (0..chart.rows.len()).for_each(|row| page.row(row));
    page.ends();
    page.finish(heading)
}

struct Page<'a> {
    chart: &'a Chart,
    /// The middle of each row.
    rows: Vec<usize>,
    /// Below the last row.
    bottom: usize,
    /// Below everything.
    height: usize,
    /// The areas of text that is placed already.
    taken: Vec<Area>,
    out: String,
}

/// The lines of text next to a row, each with whether it tells the violation.
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
struct Area([f64; 4]);

impl Area {
    /// Around a line of text that begins at `x` on the base line `y`.
    fn of(text: &str, x: usize, y: usize) -> Self {
        let (x, y) = (x as f64, y as f64);
        Self([x - 3.0, x + 3.0 + length(text), y - 13.0, y + 5.0])
    }

    fn holds(self, x: f64, y: f64) -> bool {
        let Self([left, right, top, bottom]) = self;
        left <= x && x <= right && top <= y && y <= bottom
    }
}

/// Pixels that a line of text takes, roughly.
fn length(text: &str) -> f64 {
    7.3 * text.chars().count() as f64
}

impl<'a> Page<'a> {
    fn new(chart: &'a Chart) -> Self {
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
        let ends = chart.ends.iter().map(|end| wrap(&end.text, CHARACTERS).len()).max().unwrap_or(0);
        let height = bottom + ROW / 2 + ends * LINE;
        let mut page = Self { chart, rows, bottom, height, taken: Vec::new(), out: String::new() };
        for row in 0..chart.rows.len() {
            let (x, first) = page.text_at(row);
            let lines = lines_of(chart, row).into_iter().enumerate();
            page.taken.extend(lines.map(|(line, (text, _))| Area::of(&text, x, first + line * LINE)));
        }
        page
    }

    /// Where the text of a row begins: left end, and base line of its first line.
    fn text_at(&self, row: usize) -> (usize, usize) {
        let more = LINE * lines_of(self.chart, row).len().saturating_sub(1);
        let y = match placement_of(self.chart, row) {
            TextPlacement::Above => (self.rows[row] - 7).saturating_sub(more),
            TextPlacement::Below => self.rows[row] + 17,
            TextPlacement::Beside => self.rows[row] + 4,
        };
        (self.x(self.chart.rows[row].lane) + 11, y)
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

    /// Writes what an arrow is along it: above it and near its head, where arrows that cross are apart, unless
    /// other text stands there.
    fn label(&mut self, arrow: &Arrow) {
        const PLACES: u32 = 8;
        const OFF: f64 = 10.0;
        let [x1, y1, x2, y2] = self.ends_of(arrow);
        let note = if arrow.arrives.is_none() { ", on its way" } else { "" };
        let label = format!("{}{note}", arrow.label);
        let angle = ((y2 - y1) / (x2 - x1)).atan();
        // Text keeps off both ends, if it is shorter than the arrow.
        let margin = (length(&label) / 2.0 + 14.0) / (x2 - x1).hypot(y2 - y1).max(1.0);
        let (nearest, farthest) = if margin < 0.5 { ((1.0 - margin).min(0.74), margin) } else { (0.5, 0.5) };
        let places = [-OFF, OFF].into_iter().flat_map(|off| {
            (0..PLACES).map(move |place| {
                let along = nearest + (farthest - nearest) * f64::from(place) / f64::from(PLACES - 1);
                let (sin, cos) = angle.sin_cos();
                (x1 + (x2 - x1) * along - off * sin, y1 + (y2 - y1) * along + off * cos)
            })
        });
        let (x, y) = places.min_by_key(|at| self.hits(*at, angle, length(&label))).unwrap_or((x1, y1));
        let dots = points((x, y), angle, length(&label));
        self.taken.extend(dots.map(|(x, y)| Area([x - 6.0, x + 6.0, y - 6.0, y + 6.0])));
        let (class, label, angle) = (class(arrow), escape(&label), angle.to_degrees());
        self.put(format_args!(
            "<text class=\"halo label {class}-text\" transform=\"translate({x:.1} {y:.1}) rotate({angle:.1})\" \
             y=\"4\">{label}</text>"
        ));
    }

    /// How many points of a label would cover other text.
    fn hits(&self, at: (f64, f64), angle: f64, length: f64) -> usize {
        points(at, angle, length).filter(|(x, y)| self.taken.iter().any(|area| area.holds(*x, *y))).count()
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
        let (x, first) = self.text_at(index);
        for (line, (text, is_wrong)) in lines_of(self.chart, index).into_iter().enumerate() {
            let class = if is_wrong { "halo wrong" } else { "halo" };
            let (y, text) = (first + line * LINE, escape(&text));
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
    }

    fn finish(mut self, heading: Option<&str>) -> String {
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

/// Points along a label's text, from its middle to both sides, close enough that no other text fits between.
fn points((x, y): (f64, f64), angle: f64, length: f64) -> impl Iterator<Item = (f64, f64)> {
    const STEP: f64 = 8.0;
    let (sin, cos) = angle.sin_cos();
    let steps = (length / STEP) as u32;
    (0..=steps).map(move |step| {
        let along = STEP * f64::from(step) - length / 2.0;
        (x + along * cos, y + along * sin)
    })
}

fn class(arrow: &Arrow) -> &'static str {
    match arrow.kind {
        ArrowKind::Control => "control",
        ArrowKind::Data => "data",
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
