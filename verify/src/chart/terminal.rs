//! Charts for terminals.
//!
//! A packet is a number, which stands next to the step that sends it, and on the arrow in the row where it arrives.
//! With few lanes the text of a row stands next to its lane, with many at the right of all lanes. An epoch is a column of
//! characters left of its lane.

use super::canvas::{Ink, Line};
use super::{Arrow, ArrowKind, BarPart, Chart, EpochBar, number, wrap};

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
    /// The columns of the lanes.
    lanes: Vec<usize>,
    /// Columns left of everything that belongs to lanes.
    gutter: usize,
    /// Columns from one lane to the next, without the epochs of that.
    spacing: usize,
    /// The column of all text, and its width; none if text stands next to its lane.
    aside: Option<(usize, usize)>,
}

impl Layout {
    fn new(chart: &Chart, width: usize) -> Self {
        let digits = |number: u32| number.to_string().len();
        let lanes = chart.lanes.len().max(1);
        let gutter = chart.rows.last().map_or(1, |row| digits(row.step)) + 4;
        let margins: Vec<usize> = (0..lanes).map(|lane| margin(chart, lane)).collect();
        let room = width.saturating_sub(gutter + margins.iter().sum::<usize>());
        let place = |spacing: usize| {
            let mut at = gutter;
            let of = |margin: &usize| {
                at += margin;
                let lane = at;
                at += spacing;
                lane
            };
            margins.iter().map(of).collect::<Vec<usize>>()
        };
        if room / lanes >= WIDE_MIN {
            let spacing = (room / lanes).min(46);
            return Self { lanes: place(spacing), gutter, spacing, aside: None };
        }
        let least = chart.lanes.iter().map(|rank| digits(*rank) + 1).max().unwrap_or(1).max(3);
        let spacing = (room.saturating_sub(ASIDE_MIN) / lanes).clamp(least, NARROW_MAX.max(least));
        let lanes = place(spacing);
        let at = lanes.last().copied().unwrap_or(gutter) + 4;
        Self { lanes, gutter, spacing, aside: Some((at, width.saturating_sub(at).max(ASIDE_MIN))) }
    }

    fn lane(&self, lane: usize) -> usize {
        self.lanes[lane]
    }

    /// The column of an epoch: next to the lane is the place of an arrow's head.
    fn bar(&self, bar: &EpochBar) -> usize {
        self.lane(bar.lane) - 2 - bar.column
    }

    /// Where text of a lane stands, and how much of it in a line.
    fn text_of(&self, lane: usize) -> (usize, usize) {
        let last = usize::from(lane + 1 == self.lanes.len());
        self.aside.unwrap_or((self.lane(lane) + 2, (self.spacing + last).saturating_sub(3)))
    }
}

/// Columns that the epochs of a lane need at its left.
fn margin(chart: &Chart, lane: usize) -> usize {
    match chart.columns(lane) {
        0 => 0,
        columns => columns + 1,
    }
}

/// The character of an epoch, below the row that begins it.
fn glyph(part: BarPart) -> &'static str {
    match part {
        BarPart { is_active: false, .. } => "┊",
        BarPart { is_closed: false, .. } => "┃",
        BarPart { .. } => "╏",
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

    /// A line with nothing but the lanes, and the epochs that there are below a row; `None` is above the first.
    fn blank(&self, below: Option<usize>) -> Line {
        let mut line = Line::default();
        for lane in 0..self.chart.lanes.len() {
            line.put(self.layout.lane(lane), "│", Ink::Faint);
        }
        for bar in &self.chart.bars {
            let part = match below {
                Some(row) => bar.part_at(row).filter(|_| bar.completes.is_none_or(|end| row < end)),
                None => bar.parts.first().copied().filter(|_| bar.is_cut),
            };
            if let Some(part) = part {
                line.put(self.layout.bar(bar), glyph(part), Ink::Epoch);
            }
        }
        line
    }

    /// The line of a row, with the lanes and the epochs.
    fn first_line(&self, row: usize) -> Line {
        let mut line = self.blank(Some(row));
        for bar in self.chart.bars.iter().filter(|bar| bar.covers(row)) {
            let begins = bar.begins() == row && !bar.is_cut;
            let mark =
                if begins { Some(bar.letter()) } else { (bar.completes == Some(row)).then_some("╹") };
            mark.into_iter().for_each(|mark| line.put(self.layout.bar(bar), mark, Ink::Epoch));
        }
        line
    }

    /// A line below all rows.
    fn last_line(&self) -> Line {
        self.blank(Some(self.chart.rows.len()))
    }

    fn header(&mut self) {
        let mut line = Line::default();
        for (lane, rank) in self.chart.lanes.iter().enumerate() {
            let long = format!("rank {rank}");
            let name = if self.layout.spacing > long.len() { long } else { rank.to_string() };
            line.put(self.layout.lane(lane).saturating_sub(name.len() / 2), &name, Ink::Bold);
        }
        self.finish(line);
        let blank = self.blank(None);
        self.finish(blank);
    }

    fn row(&mut self, index: usize) {
        let row = &self.chart.rows[index];
        let sent: Vec<String> = row.sends.iter().map(|arrow| number(*arrow)).collect();
        let mut text = format!("{} {}", row.text, sent.join(" ")).trim().to_owned();
        // The whole statement stands in the list of steps.
        if !row.brief.is_empty() && wrap(&text, self.layout.text_of(row.lane).1).len() > 1 {
            text = format!("{} {}", row.brief, sent.join(" ")).trim().to_owned();
        }
        let mut lines = vec![self.first_line(index)];
        let step = row.step.to_string();
        lines[0].put(self.layout.gutter - 4 - step.len().min(self.layout.gutter - 4), &step, Ink::Faint);
        // Text stands in the line of its arrow unless the arrow comes from that side.
        let mut below = 0;
        if let Some(arrow) = row.arrives {
            let Arrow { from, to, .. } = self.chart.arrows[arrow];
            if let Some(label) = self.arrow(&mut lines[0], arrow) {
                let colon = if row.text.is_empty() { "" } else { ":" };
                text = format!("{label}{colon} {text}");
            }
            below = usize::from(from > to && self.layout.aside.is_none());
        }
        let ink = if row.wrong.is_some() { Ink::Wrong } else { Ink::Plain };
        let mark = if row.wrong.is_some() { "✗" } else { "●" };
        lines[0].put(self.layout.lane(row.lane), mark, ink);
        row.others.iter().for_each(|lane| lines[0].put(self.layout.lane(*lane), "●", Ink::Plain));
        let wrong = row.wrong.as_ref().map(|wrong| format!("HERE: {wrong}"));
        let wrong = wrong.as_deref().map(|wrong| wrong.trim_end_matches([':', ' ']));
        let late = row.late.as_deref();
        for (text, ink) in [(Some(text.trim()), Ink::Plain), (wrong, Ink::Wrong), (late, Ink::Late)] {
            below += self.write(&mut lines, (below, Some(index)), row.lane, text.unwrap_or_default(), ink);
        }
        lines.into_iter().for_each(|line| self.finish(line));
    }

    /// Writes text of a lane from a line below a row on; returns how many lines it took.
    fn write(
        &self,
        lines: &mut Vec<Line>,
        (first, row): (usize, Option<usize>),
        lane: usize,
        text: &str,
        ink: Ink,
    ) -> usize {
        let (at, width) = self.layout.text_of(lane);
        let wrapped = wrap(text, width);
        for (offset, text) in wrapped.iter().enumerate() {
            while lines.len() <= first + offset {
                lines.push(row.map_or_else(|| self.last_line(), |row| self.blank(Some(row))));
            }
            lines[first + offset].put(at, text, ink);
        }
        wrapped.len()
    }

    /// Draws an arrow that arrives; returns the label if there is no room for it.
    fn arrow(&self, line: &mut Line, index: usize) -> Option<String> {
        let arrow = &self.chart.arrows[index];
        if arrow.is_loop() {
            return Some(format!("{} {}", number(index), arrow.label));
        }
        let (start, end) = (self.layout.lane(arrow.from), self.layout.lane(arrow.to));
        let (left, right) = (start.min(end) + 1, start.max(end));
        self.stroke(line, left, right, arrow, false);
        let [rightward, leftward] = heads(true);
        let (head, tail) = if start < end {
            ((rightward, right - 1), (leftward, left))
        } else {
            ((leftward, left), (rightward, right - 1))
        };
        if arrow.kind == ArrowKind::Exchange {
            line.put(tail.1, tail.0, ink(arrow));
        }
        self.inscribe(line, index, left, right, head)
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
    ) -> Option<String> {
        let arrow = &self.chart.arrows[index];
        let (ink, label) = (ink(arrow), &arrow.label);
        line.put(head.1, head.0, ink);
        let number = number(index);
        let width = number.chars().count();
        // Of what goes there and back, the other head stands where it begins.
        let tail = usize::from(arrow.kind == ArrowKind::Exchange && arrow.arrives.is_some());
        if right.saturating_sub(left) <= width + tail {
            return Some(format!("{number} {label}"));
        }
        let rightward = head.1 > left;
        let right_lane = arrow.from.max(arrow.to);
        // A long number would stand on the epochs of a lane at the right.
        let epochs = margin(self.chart, right_lane).saturating_sub(1);
        let aside = if width > 1 && right.saturating_sub(left) > width + tail + epochs { epochs } else { 0 };
        line.put(if rightward { left + tail } else { right - width - tail - aside }, &number, ink);
        let crossed = right.saturating_sub(1 + epochs).max(left);
        let (from, to) = if rightward {
            (left + width + tail, crossed)
        } else {
            (left + 1, crossed.min(right - width - tail - aside))
        };
        let fits = self.label(line, from, to, label, ink);
        (!fits).then(|| label.to_owned())
    }

    /// A horizontal line from column `left` to before `right`; it passes over lanes and epochs.
    fn stroke(&self, line: &mut Line, left: usize, right: usize, arrow: &Arrow, is_open: bool) {
        let is_heavy = is_heavy(arrow.kind);
        let with = match (is_open, is_heavy) {
            (false, false) => "─",
            (false, true) => "━",
            (true, false) => "╌",
            (true, true) => "╍",
        };
        for column in left..right {
            let crossing = match (line.at(column), is_heavy) {
                (Some('│' | '┊'), false) => "┼",
                (Some('│' | '┊'), true) => "┿",
                (Some('┃' | '╏'), false) => "╂",
                (Some('┃' | '╏'), true) => "╋",
                // Where an epoch begins or ends, that is seen.
                (Some(mark), _) if mark != ' ' => continue,
                _ => with,
            };
            line.put(column, crossing, ink(arrow));
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
        let mut lines = vec![self.last_line()];
        let below = usize::from(self.layout.aside.is_none());
        if arrow.is_loop() {
            let text = format!("{} {} to itself", number(index), arrow.label);
            self.write(&mut lines, (0, None), arrow.to, &text, Ink::Faint);
            lines.into_iter().for_each(|line| self.finish(line));
            return;
        }
        // Of what goes there and back, it is not known how far it is.
        let (from, to) = match arrow.kind {
            ArrowKind::Exchange => (arrow.to, arrow.from),
            _ => (arrow.from, arrow.to),
        };
        let (start, end) = (self.layout.lane(from), self.layout.lane(to));
        let gap = (self.layout.spacing / 4).max(1);
        let [rightward, leftward] = heads(false);
        let (left, right, head) = if start < end {
            let right = end.saturating_sub(gap + margin(self.chart, to)).max(start + 2);
            (start + 1, right, (rightward, right - 1))
        } else {
            let left = (end + gap).min(start.saturating_sub(2));
            (left, start, (leftward, left))
        };
        self.stroke(&mut lines[0], left, right, arrow, true);
        if let Some(rest) = self.inscribe(&mut lines[0], index, left, right, head) {
            self.write(&mut lines, (below, None), arrow.to.min(arrow.from), &rest, Ink::Faint);
        }
        lines.into_iter().for_each(|line| self.finish(line));
    }

    fn ends(&mut self) {
        let together = self.layout.aside.is_none();
        let mut lines: Vec<Line> = Vec::new();
        for end in &self.chart.ends {
            if !together || lines.is_empty() {
                std::mem::take(&mut lines).into_iter().for_each(|line| self.finish(line));
                lines.push(self.last_line());
            }
            lines[0].put(self.layout.lane(end.lane), "✗", Ink::Wrong);
            let below = self.write(&mut lines, (0, None), end.lane, &end.text, Ink::Wrong);
            self.write(
                &mut lines,
                (below, None),
                end.lane,
                end.late.as_deref().unwrap_or_default(),
                Ink::Late,
            );
        }
        lines.into_iter().for_each(|line| self.finish(line));
    }

    fn legend(&mut self, width: usize) {
        let mut notes = Vec::new();
        if !self.chart.arrows.is_empty() {
            notes.push(
                "A number as ① stands where a packet is sent, and where it arrives at the tail of its arrow."
                    .to_owned(),
            );
        }
        if self.chart.arrows.iter().any(|arrow| arrow.arrives.is_none()) {
            notes.push("Packets on dashed arrows are still on their way.".to_owned());
        }
        notes.extend(self.epochs());
        notes.extend(self.chart.not_drawn());
        for note in notes {
            for text in wrap(&note, width.max(ASIDE_MIN)) {
                let mut line = Line::default();
                line.put(0, &text, Ink::Faint);
                self.finish(line);
            }
        }
    }

    /// What the characters of epochs mean, of those that there are.
    fn epochs(&self) -> Option<String> {
        let bars = &self.chart.bars;
        let kinds = [("A", "access"), ("E", "exposure"), ("F", "fence"), ("L", "lock")];
        let kinds = kinds.into_iter().filter(|(letter, _)| bars.iter().any(|bar| bar.letter() == *letter));
        let mut words: Vec<String> = kinds.map(|(letter, word)| format!("{letter} {word}")).collect();
        let parts = [("┊", "deferred"), ("┃", "active"), ("╏", "closed and not complete")];
        let parts = parts
            .into_iter()
            .filter(|(sign, _)| bars.iter().flat_map(|bar| &bar.parts).any(|part| glyph(*part) == *sign));
        words.extend(parts.map(|(sign, word)| format!("{sign} {word}")));
        words.extend(bars.iter().any(|bar| bar.completes.is_some()).then(|| "╹ complete".to_owned()));
        (!bars.is_empty()).then(|| format!("Epochs, left of a lane: {}.", words.join(", ")))
    }
}

/// The heads of arrows to the right and to the left, which have arrived, or not.
fn heads(has_arrived: bool) -> [&'static str; 2] {
    if has_arrived { ["▶", "◀"] } else { ["▷", "◁"] }
}

/// Whether it is data of a window.
fn is_heavy(kind: ArrowKind) -> bool {
    matches!(kind, ArrowKind::Transfer | ArrowKind::Exchange)
}

fn ink(arrow: &Arrow) -> Ink {
    match arrow.kind {
        ArrowKind::Control => Ink::Control,
        ArrowKind::Data => Ink::Data,
        ArrowKind::Transfer | ArrowKind::Exchange => Ink::Transfer,
        ArrowKind::Synchronization => Ink::Faint,
    }
}
