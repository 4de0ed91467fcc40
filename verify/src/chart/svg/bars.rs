//! The bars of epochs.

use super::margins::{COLUMN, GAP, loops};
use super::page::{Area, Page, escape};
use crate::chart::{BarPart, EpochBar};
use carrousel_rank::epoch::EpochKind;

/// Pixels across a bar.
const WIDTH: usize = 15;
/// Pixels of a character.
const CHARACTER: f64 = 6.4;
/// Pixels above the first row in which a bar begins that is older.
const CUT: usize = 22;

/// A part of a bar by its edges: left, upper, and lower.
#[derive(Clone, Copy)]
struct Span {
    left: usize,
    top: usize,
    bottom: usize,
}

fn class(kind: EpochKind) -> &'static str {
    match kind {
        EpochKind::Access => "access",
        EpochKind::Exposure => "exposure",
        EpochKind::Fence => "fence",
        EpochKind::Lock | EpochKind::LockAll => "lock",
    }
}

impl Page<'_> {
    /// All of a bar.
    fn area_of(&self, bar: &EpochBar) -> Area {
        let Span { left, top, bottom } = self.span(bar);
        Area([left, left + WIDTH, top, bottom].map(|edge| edge as f64))
    }

    fn span(&self, bar: &EpochBar) -> Span {
        let right = self.x(bar.lane) - GAP - loops(self.chart, bar.lane) - bar.column * COLUMN;
        let top = self.rows.get(bar.begins()).copied().unwrap_or(self.bottom);
        let bottom = bar.completes.map_or(self.bottom, |row| self.bar_y(row));
        Span { left: right - WIDTH, top: if bar.is_cut { top - CUT } else { top }, bottom }
    }

    fn bar_y(&self, row: usize) -> usize {
        self.rows.get(row).copied().unwrap_or(self.bottom)
    }

    /// No label is written over a bar.
    pub(super) fn keep_clear_of_bars(&mut self) {
        let areas: Vec<Area> = self.chart.bars.iter().map(|bar| self.area_of(bar)).collect();
        self.taken.extend(areas);
    }

    pub(super) fn bars(&mut self) {
        let chart = self.chart;
        if !chart.bars.is_empty() {
            self.put(format_args!(
                "<defs><pattern id=\"deferred\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" \
                 patternTransform=\"rotate(45)\"><line class=\"hatch\" y2=\"6\"/></pattern></defs>"
            ));
        }
        chart.bars.iter().for_each(|bar| self.bar(bar));
    }

    fn bar(&mut self, bar: &EpochBar) {
        let kind = class(bar.kind);
        let whole = self.span(bar);
        let story = bar.story(|row| self.chart.rows.get(row).map(|row| row.step));
        self.put(format_args!("<g><title>{}</title>", escape(&story)));
        for (at, part) in bar.parts.iter().enumerate() {
            let top = if at == 0 { whole.top } else { self.bar_y(part.from) };
            let bottom = bar.parts.get(at + 1).map_or(whole.bottom, |next| self.bar_y(next.from));
            self.part(kind, *part, Span { top, bottom, ..whole });
        }
        let (left, right) = (whole.left, whole.left + WIDTH);
        if !bar.is_cut {
            self.put(format_args!("<path class=\"edge {kind}\" d=\"M{left} {}H{right}\"/>", whole.top));
        }
        if bar.completes.is_some() {
            self.put(format_args!("<path class=\"edge {kind}\" d=\"M{left} {}H{right}\"/>", whole.bottom));
        }
        self.inscription(bar, whole);
        self.put(format_args!("</g>"));
    }

    /// A stretch in which the epoch does not change.
    fn part(&mut self, kind: &str, part: BarPart, Span { left, top, bottom }: Span) {
        let (right, height) = (left + WIDTH, bottom.saturating_sub(top));
        let closed = if part.is_closed { " closed" } else { "" };
        if part.is_active {
            self.put(format_args!(
                "<rect class=\"{kind} bar{closed}\" x=\"{left}\" y=\"{top}\" width=\"{WIDTH}\" height=\"{height}\"/>"
            ));
        } else {
            self.put(format_args!(
                "<rect fill=\"url(#deferred)\" x=\"{left}\" y=\"{top}\" width=\"{WIDTH}\" height=\"{height}\"/>"
            ));
        }
        self.put(format_args!(
            "<path class=\"edge {kind}{closed}\" d=\"M{left} {top}V{bottom}M{right} {top}V{bottom}\"/>"
        ));
    }

    /// As much of what the epoch is as there is room for, from its top down.
    fn inscription(&mut self, bar: &EpochBar, Span { left, top, bottom }: Span) {
        let room = (bottom.saturating_sub(top) as f64 - 8.0) / CHARACTER;
        let fits = |text: &&str| text.chars().count() as f64 <= room;
        let Some(text) = [&*bar.label, bar.word(), bar.letter()].into_iter().find(fits) else { return };
        let (x, y) = (left + WIDTH / 2, top + 5);
        self.put(format_args!(
            "<text class=\"bar-text\" transform=\"translate({x} {y}) rotate(90)\" y=\"4\">{}</text>",
            escape(text)
        ));
    }

    /// Bars as the legend explains them, each with what it means.
    pub(super) fn bar_samples(&self) -> Vec<(BarPart, &'static str)> {
        let parts = || self.chart.bars.iter().flat_map(|bar| &bar.parts);
        let part = |is_active, is_closed| BarPart { from: 0, is_active, is_closed };
        let mut samples = Vec::new();
        if parts().any(|part| !part.is_active) {
            samples.push((part(false, false), "epoch, deferred"));
        }
        if parts().any(|part| part.is_active && !part.is_closed) {
            samples.push((part(true, false), "epoch, active"));
        }
        if parts().any(|part| part.is_closed) {
            samples.push((part(true, true), "epoch, closed and not complete"));
        }
        samples
    }

    /// A piece of a bar.
    pub(super) fn bar_sample(&mut self, part: BarPart, left: usize, top: usize) {
        let kind = self.chart.bars.first().map_or("access", |bar| class(bar.kind));
        self.part(kind, part, Span { left, top, bottom: top + WIDTH });
    }
}
