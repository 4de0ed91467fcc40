//! What bars and arrows mean, below the chart.

use super::page::{Page, length};
use crate::chart::{ArrowKind, BarPart};

/// Pixels of a line.
const LINE: usize = 22;
/// Pixels of a sample.
const SAMPLE: usize = 36;
/// Pixels left of the first entry.
const LEFT: usize = 10;
/// Pixels between two entries.
const GAP: usize = 18;

#[derive(Clone, Copy)]
enum Sample {
    Bar(BarPart),
    Arrow(ArrowKind, bool),
}

impl Page<'_> {
    /// Explains the bars and arrows that the chart has; packets and data alone need no words.
    pub(super) fn legend(&mut self) {
        let arrows = |kind: ArrowKind| self.chart.arrows.iter().any(|arrow| arrow.kind == kind);
        let is_open = self.chart.arrows.iter().any(|arrow| arrow.arrives.is_none());
        let words = [
            (ArrowKind::Transfer, "data of a put, get or accumulate"),
            (ArrowKind::Exchange, "fetch_op or cas, there and back"),
            (ArrowKind::Synchronization, "grant, or packet of a window"),
        ];
        let mut entries: Vec<(Sample, &str)> =
            self.bar_samples().into_iter().map(|(part, text)| (Sample::Bar(part), text)).collect();
        entries.extend(
            words
                .into_iter()
                .filter(|(kind, _)| arrows(*kind))
                .map(|(kind, text)| (Sample::Arrow(kind, false), text)),
        );
        if !entries.is_empty() {
            let messages =
                [(ArrowKind::Data, "data of a message"), (ArrowKind::Control, "packet of a message")];
            let drawn = messages.into_iter().filter(|(kind, _)| arrows(*kind));
            entries.extend(drawn.map(|(kind, text)| (Sample::Arrow(kind, false), text)));
        }
        if is_open {
            entries.push((Sample::Arrow(ArrowKind::Synchronization, true), "still on its way"));
        }
        if !entries.is_empty() {
            self.entries(&entries);
        }
    }

    fn entries(&mut self, entries: &[(Sample, &str)]) {
        let width = self.width();
        let (mut x, mut y) = (LEFT, self.height + LINE / 2);
        for (sample, text) in entries {
            let wide = SAMPLE + length(text) as usize + GAP;
            if x > LEFT && x + wide > width {
                (x, y) = (LEFT, y + LINE);
            }
            match *sample {
                Sample::Bar(part) => self.bar_sample(part, x + SAMPLE - 22, y - 8),
                Sample::Arrow(kind, is_open) => {
                    let (left, right, y) = (x as f64, (x + SAMPLE - 2) as f64, y as f64);
                    self.line_of(kind, is_open, [left, y, right, y]);
                }
            }
            self.put(format_args!("<text class=\"note\" x=\"{}\" y=\"{}\">{text}</text>", x + SAMPLE, y + 4));
            x += wide;
        }
        self.height = y + LINE;
    }
}
