//! Arrows, and the words along them.

use super::page::{Area, LANE, Page, ROW, escape, length};
use crate::chart::{Arrow, ArrowKind};

/// Pixels of a head.
const HEAD: f64 = 10.0;
/// How far the arrow to a rank itself swings out.
const SWING: f64 = 17.0;
/// Pixels between the ends of arrows that leave together and do not arrive.
const FAN: f64 = 17.0;

/// From where to where.
type Line = [f64; 4];

pub(super) fn class(kind: ArrowKind) -> &'static str {
    match kind {
        ArrowKind::Control => "control",
        ArrowKind::Data => "data",
        ArrowKind::Transfer | ArrowKind::Exchange => "transfer",
        ArrowKind::Synchronization => "sync",
    }
}

impl Page<'_> {
    /// The lines of an arrow: two if something goes to a target and comes back. One that does not arrive ends on the way.
    fn lines_of_arrow(&self, arrow: &Arrow) -> Vec<Line> {
        let (from, to) = (self.x(arrow.from) as f64, self.x(arrow.to) as f64);
        let y = self.rows[arrow.leaves] as f64;
        let comes_back = arrow.kind == ArrowKind::Exchange;
        match arrow.arrives {
            Some(row) if comes_back => {
                let end = self.rows[row] as f64;
                let middle = f64::midpoint(y, end);
                vec![[to, y, from, middle], [from, middle, to, end]]
            }
            Some(row) => vec![[from, y, to, self.rows[row] as f64]],
            None => {
                let (from, to) = if comes_back { (to, from) } else { (from, to) };
                let most = 0.7 * LANE as f64;
                let down = 0.45 * ROW as f64 + FAN * self.beside(arrow) as f64;
                let down = down.min(self.bottom as f64 - y);
                vec![[from, y, from + (to - from).clamp(-most, most), y + down]]
            }
        }
    }

    /// How many arrows before this one begin where it does, and go to the same side.
    fn beside(&self, arrow: &Arrow) -> usize {
        let way = |arrow: &Arrow| match arrow.kind {
            ArrowKind::Exchange => (arrow.to, arrow.from > arrow.to),
            _ => (arrow.from, arrow.to > arrow.from),
        };
        let begins =
            self.chart.arrows.iter().filter(|other| other.leaves == arrow.leaves && !other.is_loop());
        begins.take_while(|other| *other != arrow).filter(|other| way(other) == way(arrow)).count()
    }

    pub(super) fn arrow(&mut self, arrow: &Arrow) {
        if arrow.is_loop() {
            self.swing(arrow);
            return;
        }
        let is_open = arrow.arrives.is_none();
        for line in self.lines_of_arrow(arrow) {
            self.line_of(arrow.kind, is_open, line);
        }
    }

    /// A line with its head.
    pub(super) fn line_of(&mut self, kind: ArrowKind, is_open: bool, [x1, y1, x2, y2]: Line) {
        let class = class(kind);
        let open = if is_open { " open" } else { "" };
        let length = distance(x2 - x1, y2 - y1).max(1.0);
        let (ux, uy) = ((x2 - x1) / length, (y2 - y1) / length);
        // The head touches the dot at which it arrives.
        let (hx, hy) = (x2 - ux * 5.0, y2 - uy * 5.0);
        let (bx, by) = (hx - ux * HEAD, hy - uy * HEAD);
        for class in strokes(class) {
            self.put(format_args!(
                "<line class=\"{class}{open}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{bx:.1}\" y2=\"{by:.1}\"/>"
            ));
        }
        self.head(class, (hx, hy), (ux, uy));
    }

    /// A head with its tip at a point.
    fn head(&mut self, class: &str, (hx, hy): (f64, f64), (ux, uy): (f64, f64)) {
        let half = match class {
            "sync" => 3.2,
            "transfer" => 5.5,
            _ => 4.5,
        };
        let (bx, by) = (hx - ux * HEAD, hy - uy * HEAD);
        let (wx, wy) = (-uy * half, ux * half);
        let (left, right) = ((bx + wx, by + wy), (bx - wx, by - wy));
        self.put(format_args!(
            "<path class=\"{class}-head\" d=\"M{hx:.1} {hy:.1}L{:.1} {:.1}L{:.1} {:.1}Z\"/>",
            left.0, left.1, right.0, right.1
        ));
    }

    /// What a rank sends to itself swings out to the left of its lane, and is named where it arrives.
    fn swing(&mut self, arrow: &Arrow) {
        let class = class(arrow.kind);
        let (x, top) = (self.x(arrow.from) as f64, self.rows[arrow.leaves] as f64);
        let out = x - SWING;
        let (note, open, path, tip, way) = match arrow.arrives {
            Some(row) => {
                let bottom = self.rows[row] as f64;
                let bend = (0.25 * (bottom - top)).min(20.0);
                let (end, way) = ((x - 4.0, bottom - 5.0), (SWING - 4.0, bend - 3.0));
                let path = format!(
                    "M{x:.1} {top:.1}C{out:.1} {:.1} {out:.1} {:.1} {:.1} {:.1}",
                    top + bend,
                    bottom - bend,
                    end.0,
                    end.1
                );
                ("", "", path, (end.0 + 1.0, end.1 + 2.5), way)
            }
            None => {
                let side = x - 0.75 * SWING;
                let path = format!("M{x:.1} {top:.1}Q{side:.1} {:.1} {side:.1} {:.1}", top + 3.0, top + 16.0);
                (", on its way", " open", path, (side, top + 25.0), (0.0, 1.0))
            }
        };
        self.put(format_args!("<g><title>{} to itself{note}</title>", escape(&arrow.label)));
        for class in strokes(class) {
            self.put(format_args!("<path class=\"{class}{open}\" d=\"{path}\"/>"));
        }
        let length = distance(way.0, way.1).max(1.0);
        self.head(class, tip, (way.0 / length, way.1 / length));
        self.put(format_args!("</g>"));
    }

    /// Writes what an arrow is along it: above it and near its head, where arrows that cross are apart, unless
    /// other text stands there.
    pub(super) fn label(&mut self, arrow: &Arrow) {
        const PLACES: u32 = 8;
        const OFF: f64 = 10.0;
        if arrow.is_loop() {
            return;
        }
        let Some([x1, y1, x2, y2]) = self.lines_of_arrow(arrow).pop() else { return };
        let label = &arrow.label;
        let angle = ((y2 - y1) / (x2 - x1)).atan();
        // Text keeps off both ends, if it is shorter than the arrow.
        let margin = (length(label) / 2.0 + 14.0) / distance(x2 - x1, y2 - y1).max(1.0);
        let (nearest, farthest) = if margin < 0.5 { ((1.0 - margin).min(0.74), margin) } else { (0.5, 0.5) };
        let places = [-OFF, OFF].into_iter().flat_map(|off| {
            (0..PLACES).map(move |place| {
                let along = nearest + (farthest - nearest) * f64::from(place) / f64::from(PLACES - 1);
                let (sin, cos) = angle.sin_cos();
                (x1 + (x2 - x1) * along - off * sin, y1 + (y2 - y1) * along + off * cos)
            })
        });
        let (x, y) = places.min_by_key(|at| self.hits(*at, angle, length(label))).unwrap_or((x1, y1));
        let dots = points((x, y), angle, length(label));
        self.taken.extend(dots.map(|(x, y)| Area([x - 6.0, x + 6.0, y - 6.0, y + 6.0])));
        let (class, label, angle) = (class(arrow.kind), escape(label), angle.to_degrees());
        self.put(format_args!(
            "<text class=\"halo label {class}-text\" transform=\"translate({x:.1} {y:.1}) rotate({angle:.1})\" \
             y=\"4\">{label}</text>"
        ));
    }

    /// How many points of a label would cover other text.
    fn hits(&self, at: (f64, f64), angle: f64, length: f64) -> usize {
        points(at, angle, length).filter(|(x, y)| self.taken.iter().any(|area| area.holds(*x, *y))).count()
    }
}

/// How far it is. `hypot` has a new version in glibc 2.35, and a command that is built beside it would not run on older ones.
fn distance(x: f64, y: f64) -> f64 {
    (x * x + y * y).sqrt()
}

/// The strokes of a line, each over the one before: that of a transfer is hollow.
fn strokes(class: &'static str) -> impl Iterator<Item = &'static str> {
    [Some(class), (class == "transfer").then_some("hollow")].into_iter().flatten()
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
