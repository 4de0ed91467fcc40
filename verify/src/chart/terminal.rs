//! Charts for terminals.
//!
//! A packet is a number, which stands next to the step that sends it, and on the arrow in the row where it arrives.
//! With few lanes the text of a row stands next to its lane, with many at the right of all lanes.

use super::canvas::{Ink, Line};
use super::{Arrow, ArrowKind, Chart, number, wrap};

/// The least distance of lanes that have their text between them.
const WIDE_MIN: usize = 22;
/// The greatest distance of lanes that have their text at the right.
const NARROW_MAX: usize = 9;
/// Columns for text at the right, at least.
const ASIDE_MIN: usize = 24;

impl Chart {
    /// The chart for a terminal of `width` columns, with or without ANSI colours.
    pub fn text(&self, width: usize, colour: bool) -> String {
        let layout = Layout::new(self, width);
        let mut sheet = Sheet { chart: self, layout, colour, out: String::new() };
        sheet.header();
        for index in 0..self.rows.len() {
            sheet.row(index);
        }
        for (index, arrow) in self.arrows.iter().enumerate().filter(|(_, arrow)| arrow.arrives.is_none()) {
            sheet.on_its_way(index, arrow);
        }
        sheet.ends();
        sheet.legend(width);
        sheet.out
    }
}

/// Where things stand.
struct Layout {
    /// How many lanes there are.
    lanes: usize,
    /// Columns left of the first lane.
    gutter: usize,
    /// Columns from one lane to the next.
    spacing: usize,
    /// The column of all text, and its width; none if text stands next to its lane.
    aside: Option<(usize, usize)>,
}

impl Layout {
    fn new(chart: &Chart, width: usize) -> Self {
        let digits = |number: u32| number.to_string().len();
        let lanes = chart.lanes.len().max(1);
        let gutter = chart.rows.last().map_or(1, |row| digits(row.step)) + 4;
        let room = width.saturating_sub(gutter);
        if room / lanes >= WIDE_MIN {
            return Self { lanes, gutter, spacing: (room / lanes).min(46), aside: None };
        }
        let least = chart.lanes.iter().map(|rank| digits(*rank) + 1).max().unwrap_or(1).max(3);
        let spacing = (room.saturating_sub(ASIDE_MIN) / lanes).clamp(least, NARROW_MAX.max(least));
        let at = gutter + spacing * (lanes - 1) + 4;
        Self { lanes, gutter, spacing, aside: Some((at, width.saturating_sub(at).max(ASIDE_MIN))) }
    }

    fn lane(&self, lane: usize) -> usize {
        self.gutter + lane * self.spacing
    }

    /// Where text of a lane stands, and how much of it in a line.
    fn text_of(&self, lane: usize) -> (usize, usize) {
        let last = usize::from(lane + 1 == self.lanes);
        self.aside.unwrap_or((self.lane(lane) + 2, (self.spacing + last).saturating_sub(3)))
    }
}

struct Sheet<'a> {
    chart: &'a Chart,
    layout: Layout,
    colour: bool,
    out: String,
}

impl Sheet<'_> {
    fn finish(&mut self, line: Line) {
        line.finish(self.colour, &mut self.out);
    }

    /// A line with nothing but the lanes.
    fn blank(&self) -> Line {
        let mut line = Line::default();
        for lane in 0..self.chart.lanes.len() {
            line.put(self.layout.lane(lane), "│", Ink::Faint);
        }
        line
    }

    fn header(&mut self) {
        let mut line = Line::default();
        for (lane, rank) in self.chart.lanes.iter().enumerate() {
            let long = format!("rank {rank}");
            let name = if self.layout.spacing > long.len() { long } else { rank.to_string() };
            line.put(self.layout.lane(lane).saturating_sub(name.len() / 2), &name, Ink::Bold);
        }
        self.finish(line);
        let blank = self.blank();
        self.finish(blank);
    }

    fn row(&mut self, index: usize) {
        let row = &self.chart.rows[index];
        let mut text = row.text.clone();
        for arrow in &row.sends {
            text.push(' ');
            text.push_str(&number(*arrow));
        }
        let mut lines = vec![self.blank()];
        let step = row.step.to_string();
        lines[0].put(self.layout.gutter - 4 - step.len().min(self.layout.gutter - 4), &step, Ink::Faint);
        // Text stands in the line of its arrow unless the arrow comes from that side.
        let mut below = 0;
        if let Some(arrow) = row.arrives {
            let Arrow { from, to, .. } = self.chart.arrows[arrow];
            if let Some(label) = self.arrow(&mut lines[0], arrow) {
                text = if text.is_empty() { label } else { format!("{label}: {text}") };
            }
            below = usize::from(from > to && self.layout.aside.is_none());
        }
        let ink = if row.wrong.is_some() { Ink::Wrong } else { Ink::Plain };
        let mark = if row.wrong.is_some() { "✗" } else { "●" };
        lines[0].put(self.layout.lane(row.lane), mark, ink);
        let written = self.write(&mut lines, below, row.lane, text.trim(), Ink::Plain);
        if let Some(wrong) = &row.wrong {
            let below = if written == 0 { below } else { below + written };
            self.write(
                &mut lines,
                below,
                row.lane,
                format!("HERE: {wrong}").trim_end_matches([':', ' ']),
                Ink::Wrong,
            );
        }
        lines.into_iter().for_each(|line| self.finish(line));
    }

    /// Writes text of a lane from line `first` on; returns how many lines it took.
    fn write(&self, lines: &mut Vec<Line>, first: usize, lane: usize, text: &str, ink: Ink) -> usize {
        let (at, width) = self.layout.text_of(lane);
        let wrapped = wrap(text, width);
        for (offset, text) in wrapped.iter().enumerate() {
            while lines.len() <= first + offset {
                lines.push(self.blank());
            }
            lines[first + offset].put(at, text, ink);
        }
        wrapped.len()
    }

    /// Draws an arrow that arrives; returns the label if there is no room for it.
    fn arrow(&self, line: &mut Line, index: usize) -> Option<String> {
        let arrow = &self.chart.arrows[index];
        let (start, end) = (self.layout.lane(arrow.from), self.layout.lane(arrow.to));
        let (left, right) = (start.min(end) + 1, start.max(end));
        self.stroke(line, left, right, "─", ink(arrow));
        let head = if start < end { ("▶", right - 1) } else { ("◀", left) };
        self.inscribe(line, index, left, right, head, &arrow.label)
    }

    /// Writes the number, the label and the head of an arrow over its stroke, which goes from column `left` to before
    /// `right`; returns the part that has no room.
    fn inscribe(
        &self,
        line: &mut Line,
        index: usize,
        left: usize,
        right: usize,
        head: (&str, usize),
        label: &str,
    ) -> Option<String> {
        let ink = ink(&self.chart.arrows[index]);
        line.put(head.1, head.0, ink);
        let number = number(index);
        let width = number.chars().count();
        if right.saturating_sub(left) <= width {
            return Some(format!("{number} {label}"));
        }
        let rightward = head.1 > left;
        line.put(if rightward { left } else { right - width }, &number, ink);
        let (from, to) = if rightward { (left + width, right - 1) } else { (left + 1, right - width) };
        let fits = self.label(line, from, to, label, ink);
        (!fits).then(|| label.to_owned())
    }

    /// A horizontal line from column `left` to before `right`; it passes over lanes.
    fn stroke(&self, line: &mut Line, left: usize, right: usize, with: &str, ink: Ink) {
        let lanes: Vec<usize> = (0..self.chart.lanes.len()).map(|lane| self.layout.lane(lane)).collect();
        for column in left..right {
            line.put(column, if lanes.contains(&column) { "┼" } else { with }, ink);
        }
    }

    /// Writes a label in the middle of columns `from` to before `to`, if it fits.
    fn label(&self, line: &mut Line, from: usize, to: usize, label: &str, ink: Ink) -> bool {
        let length = label.chars().count() + 2;
        let room = to.saturating_sub(from);
        // Beside text at the right a label would be read twice as far from what it means.
        if self.layout.aside.is_some() || length > room {
            return false;
        }
        line.put(from + (room - length) / 2, &format!(" {label} "), ink);
        true
    }

    /// Draws an arrow that has not arrived: it ends before its lane.
    fn on_its_way(&mut self, index: usize, arrow: &Arrow) {
        let (start, end) = (self.layout.lane(arrow.from), self.layout.lane(arrow.to));
        let gap = (self.layout.spacing / 4).max(1);
        let (left, right, head) = if start < end {
            let right = end.saturating_sub(gap).max(start + 2);
            (start + 1, right, ("▷", right - 1))
        } else {
            let left = (end + gap).min(start.saturating_sub(2));
            (left, start, ("◁", left))
        };
        let mut lines = vec![self.blank()];
        self.stroke(&mut lines[0], left, right, "╌", ink(arrow));
        if let Some(rest) = self.inscribe(&mut lines[0], index, left, right, head, &arrow.label) {
            let below = usize::from(self.layout.aside.is_none());
            self.write(&mut lines, below, arrow.to.min(arrow.from), &rest, Ink::Faint);
        }
        lines.into_iter().for_each(|line| self.finish(line));
    }

    fn ends(&mut self) {
        let together = self.layout.aside.is_none();
        let mut lines: Vec<Line> = Vec::new();
        for end in &self.chart.ends {
            if !together || lines.is_empty() {
                std::mem::take(&mut lines).into_iter().for_each(|line| self.finish(line));
                lines.push(self.blank());
            }
            lines[0].put(self.layout.lane(end.lane), "✗", Ink::Wrong);
            self.write(&mut lines, 0, end.lane, &end.text, Ink::Wrong);
        }
        lines.into_iter().for_each(|line| self.finish(line));
    }

    fn legend(&mut self, width: usize) {
        let mut notes = Vec::new();
        if !self.chart.arrows.is_empty() {
            notes.push("A packet's number, as ①, stands where it is sent and where it arrives.".to_owned());
        }
        if self.chart.arrows.iter().any(|arrow| arrow.arrives.is_none()) {
            notes.push("Packets on dashed arrows are still on their way.".to_owned());
        }
        notes.extend(self.chart.not_drawn());
        for note in notes {
            for text in wrap(&note, width.max(ASIDE_MIN)) {
                let mut line = Line::default();
                line.put(0, &text, Ink::Faint);
                self.finish(line);
            }
        }
    }
}

fn ink(arrow: &Arrow) -> Ink {
    match arrow.kind {
        ArrowKind::Control => Ink::Control,
        ArrowKind::Data => Ink::Data,
    }
}
