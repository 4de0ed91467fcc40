//! The drawing: a lane for each rank, arrows between lanes, time to the right.

use super::text::{Places, escape, size, width};
use super::{Interval, Message, State};
use crate::{Late, Report, Statement};
use std::fmt::Write;

/// The most ranks that are drawn; a drawing of more is of no use.
const LANES_MAX: usize = 64;
/// The most messages, and the most statements of a lane, that are drawn.
const MARKS_MAX: usize = 5_000;

/// The least width, the greatest, and what a statement asks for.
const WIDTH_MIN: f64 = 1280.0;
const WIDTH_MAX: f64 = 16_000.0;
const WIDTH_EACH: f64 = 40.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 24.0;
const TOP: f64 = 84.0;
/// The distance from one lane's band to the next.
const PITCH: f64 = 124.0;
const BAND: f64 = 20.0;
/// The strip below the band that shows transfers.
const STRIP: f64 = 6.0;

/// The strip below it that shows who is waited for.
const LATE: f64 = 4.0;

/// The legend's words and the classes of the style sheet below.
const LEGEND: [(&str, &str); 4] =
    [("c", "computing"), ("l", "in the library"), ("w", "waiting in the library"), ("t", "transferring")];
const ARROWS: [(&str, &str); 3] =
    [("d", "data"), ("a", "announced receive (RTR)"), ("k", "other control packets")];

const STYLE: &str = "text{font:11px sans-serif;fill:#222}.h{font-size:15px;font-weight:bold}.s{fill:#666}\
.o{paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}.e{text-anchor:end}.m{text-anchor:middle}\
.g{stroke:#ddd;stroke-width:1}.n{stroke:#555;stroke-width:.7}\
.b{fill:#c51b7d}text.b{font-weight:bold}.c{fill:#9ecae1}.l{fill:#e6550d}.w{fill:#fdd0a2}.t{fill:#31a354}\
line.d,path.d{stroke:#31a354;stroke-width:1.8}line.a,path.a{stroke:#756bb1;stroke-width:1.2}\
line.k,path.k{stroke:#555;stroke-width:1}path{fill:none}.fd{fill:#31a354}.fa{fill:#756bb1}.fk{fill:#555}.p{fill:#fff}\
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.s{fill:#9198a1}.p{fill:#0d1117}.o{stroke:#0d1117}.g{stroke:#30363d}\
.n,line.k{stroke:#9198a1}.fk{fill:#9198a1}line.a{stroke:#a79fe0}.fa{fill:#a79fe0}}";

fn class(message: &Message) -> &'static str {
    match message.kind {
        _ if message.moves_data => "d",
        "RTR" => "a",
        _ => "k",
    }
}

/// Maps a report onto the page.
struct Page<'a> {
    report: &'a Report,
    lanes: usize,
    width: f64,
    end_ns: f64,
    out: String,
    places: Places,
}

/// The timeline of a run as an SVG image. If the run was not recorded, it shows the labels of statements only.
pub fn svg(report: &Report) -> String {
    let statements = report.statements.iter().map(|s| s.rank as usize + 1).max().unwrap_or(1);
    let lanes = report.timeline.lanes.len().max(statements);
    let most = (0..lanes.min(LANES_MAX) as u32)
        .map(|rank| report.statements.iter().filter(|s| s.rank == rank && s.op != "compute").count())
        .max();
    let mut page = Page {
        report,
        lanes: lanes.min(LANES_MAX),
        width: (most.unwrap_or_default() as f64 * WIDTH_EACH).clamp(WIDTH_MIN, WIDTH_MAX),
        end_ns: (report.makespan_us * 1000.0).max(1.0),
        out: String::new(),
        places: Places::default(),
    };
    let (width, height) = (page.width, TOP + PITCH * page.lanes as f64 + 24.0);
    let title = escape(&report.scenario);
    page.line(format_args!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\">\n<title>{title}: timeline</title>\n<style>{STYLE}</style>"
    ));
    page.line(format_args!("<rect class=\"p\" width=\"{width}\" height=\"{height}\"/>"));
    page.heads();
    page.head(lanes);
    page.axis();
    for rank in 0..page.lanes as u32 {
        page.lane(rank);
    }
    page.arrows();
    page.late();
    page.statements();
    page.names();
    page.line(format_args!("</svg>"));
    page.out
}

impl Page<'_> {
    fn line(&mut self, text: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.out.write_fmt(text);
        self.out.push('\n');
    }

    fn x(&self, ns: f64) -> f64 {
        LEFT + ns / self.end_ns * (self.width - LEFT - RIGHT)
    }

    /// The upper edge of a lane's band.
    fn y(rank: u32) -> f64 {
        TOP + 36.0 + PITCH * f64::from(rank)
    }

    /// Arrow heads.
    fn heads(&mut self) {
        self.line(format_args!("<defs>"));
        for (class, _) in ARROWS {
            self.line(format_args!(
                "<marker id=\"{class}\" markerUnits=\"userSpaceOnUse\" markerWidth=\"9\" markerHeight=\"8\" refX=\"8\" \
                 refY=\"4\" orient=\"auto\"><polygon class=\"f{class}\" points=\"0,0 9,4 0,8\"/></marker>"
            ));
        }
        self.line(format_args!("</defs>"));
    }

    /// Title and legend.
    fn head(&mut self, lanes: usize) {
        let (title, network) = (escape(&self.report.scenario), escape(&self.report.network));
        self.line(format_args!("<text class=\"h\" x=\"{LEFT}\" y=\"22\">{title}</text>"));
        let more =
            if lanes > self.lanes { format!("; {} of {lanes} ranks", self.lanes) } else { String::new() };
        let end = self.report.makespan_us;
        let right = self.width - RIGHT;
        self.line(format_args!(
            "<text class=\"s e\" x=\"{right}\" y=\"22\">network {network}, {end} us{more}</text>"
        ));
        let mut x = LEFT;
        let late = ("b", "waiting for a rank that is late");
        for (class, word) in LEGEND.into_iter().chain(Some(late).filter(|_| !self.report.late.is_empty())) {
            self.line(format_args!(
                "<rect class=\"{class}\" x=\"{x:.1}\" y=\"34\" width=\"18\" height=\"11\"/>"
            ));
            self.line(format_args!("<text x=\"{:.1}\" y=\"44\">{word}</text>", x + 23.0));
            x += 23.0 + width(word) + 22.0;
        }
        for (class, word) in ARROWS {
            let end = x + 26.0;
            self.line(format_args!(
                "<line class=\"{class}\" x1=\"{x:.1}\" y1=\"40\" x2=\"{end:.1}\" y2=\"40\" marker-end=\"url(#{class})\"/>"
            ));
            self.line(format_args!("<text x=\"{:.1}\" y=\"44\">{word}</text>", end + 5.0));
            x = end + 5.0 + width(word) + 22.0;
        }
    }

    fn axis(&mut self) {
        let span_us = self.end_ns / 1000.0;
        let raw = span_us / ((self.width - LEFT - RIGHT) / 120.0).floor();
        let power = 10f64.powf(raw.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= raw);
        let step = step.unwrap_or(raw);
        let bottom = TOP + PITCH * self.lanes as f64;
        let mut tick = 0u32;
        while f64::from(tick) * step <= span_us {
            let us = f64::from(tick) * step;
            let x = self.x(us * 1000.0);
            self.line(format_args!(
                "<line class=\"g\" x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\"/>",
                TOP - 8.0
            ));
            let digits = if step < 1.0 { 2 } else { 0 };
            self.line(format_args!(
                "<text class=\"m s\" x=\"{x:.1}\" y=\"{:.1}\">{us:.digits$}</text>",
                TOP - 13.0
            ));
            self.line(format_args!(
                "<text class=\"m s\" x=\"{x:.1}\" y=\"{:.1}\">{us:.digits$}</text>",
                bottom + 14.0
            ));
            tick += 1;
        }
        self.line(format_args!("<text class=\"s\" x=\"8\" y=\"{:.1}\">time, us</text>", TOP - 13.0));
        self.line(format_args!("<text class=\"s\" x=\"8\" y=\"{:.1}\">time, us</text>", bottom + 14.0));
    }

    /// One rank's band, and its strip of transfers.
    fn lane(&mut self, rank: u32) {
        let y = Self::y(rank);
        let report = self.report;
        self.line(format_args!("<text x=\"8\" y=\"{:.1}\">rank {rank}</text>", y + 14.0));
        let lane = report.timeline.lanes.get(rank as usize).into_iter().flatten();
        // The intervals of the library are short: they are drawn last, to be visible.
        let (long, short): (Vec<&Interval>, Vec<_>) =
            lane.partition(|interval| interval.state != State::Library);
        for interval in long.into_iter().chain(short) {
            let (start, end) = (interval.start_ns as f64, interval.end_ns as f64);
            let (class, word) = match interval.state {
                State::Computing => ("c", LEGEND[0].1),
                State::Library => ("l", LEGEND[1].1),
                State::Waiting => ("w", LEGEND[2].1),
            };
            self.bar(class, y, BAND, (start, end), word);
        }
        for transfer in report.timeline.transfers(rank) {
            let (start, end) = (transfer.start_ns as f64, transfer.end_ns as f64);
            self.bar("t", y + BAND + 1.0, STRIP, (start, end), transfer.kind);
        }
    }

    /// Below the lanes of those who wait: how long, why, and for whom.
    fn late(&mut self) {
        let (report, lanes) = (self.report, self.lanes);
        let drawn = report.late.iter().filter(|late| (late.rank as usize) < lanes);
        for Late { pattern, rank, by, from_us, to_us, .. } in drawn.take(MARKS_MAX) {
            let (start, end) = (from_us * 1000.0, to_us * 1000.0);
            let y = Self::y(*rank) + BAND + STRIP + 2.0;
            let name = format!("{pattern}: rank {by}");
            self.bar("b", y, LATE, (start, end), &name);
            let (x, y) = (self.left(self.x(start), &name), y + LATE + 11.0);
            if self.places.take(x, y, width(&name)) {
                self.line(format_args!("<text class=\"o b\" x=\"{x:.1}\" y=\"{y:.1}\">{name}</text>"));
            }
        }
    }

    fn bar(&mut self, class: &str, y: f64, height: f64, (start, end): (f64, f64), word: &str) {
        let x = self.x(start);
        let width = (self.x(end) - x).max(1.0);
        let (from, to) = (start / 1000.0, end / 1000.0);
        self.line(format_args!(
            "<rect class=\"{class}\" x=\"{x:.2}\" y=\"{y:.1}\" width=\"{width:.2}\" height=\"{height}\">\
             <title>{word}, {from} to {to} us</title></rect>"
        ));
    }

    /// Labels of statements above the bands, where there is room; labels from the file come first.
    fn statements(&mut self) {
        let report = self.report;
        // The colour of the band already shows a computation without a label.
        let drawn = report.statements.iter().filter(|s| (s.rank as usize) < self.lanes);
        let drawn = drawn.filter(|s| s.label.is_some() || s.op != "compute");
        let (labelled, others): (Vec<&Statement>, Vec<_>) = drawn.partition(|s| s.label.is_some());
        for statement in labelled.into_iter().chain(others).take(MARKS_MAX) {
            let name = statement.label.as_deref().unwrap_or(&statement.op);
            let (x, y) = (self.x(statement.begin_us * 1000.0), Self::y(statement.rank));
            let left = self.left(x + 2.5, name);
            // A row close to the band, and two above it.
            let row = [5.0, 17.0, 29.0].map(|up| y - up);
            let row = row.into_iter().find(|row| self.places.take(left, *row, width(name)));
            let Some(row) = row else { continue };
            let (from, to) = (statement.begin_us, statement.end_us);
            let (name, line) = (escape(name), statement.line);
            self.line(format_args!(
                "<line class=\"n\" x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{y:.1}\"/>",
                row - 7.0
            ));
            self.line(format_args!(
                "<text class=\"o\" x=\"{left:.1}\" y=\"{row:.1}\">{name}<title>line {line}: {}, {from} to {to} us</title></text>",
                statement.op
            ));
        }
    }

    /// The beginning of a text for `x`, so that the text stays on the page.
    fn left(&self, x: f64, text: &str) -> f64 {
        if x + width(text) < self.width { x } else { x - width(text) - 8.0 }
    }

    fn drawn_messages(&self) -> Vec<Message> {
        let drawn = |m: &&Message| (m.from as usize) < self.lanes && (m.to as usize) < self.lanes;
        self.report.timeline.messages.iter().filter(drawn).take(MARKS_MAX).copied().collect()
    }

    fn arrows(&mut self) {
        for message in self.drawn_messages() {
            self.arrow(&message);
        }
    }

    /// Data first: its arrows have more room, and it matters more.
    fn names(&mut self) {
        let (data, control): (Vec<_>, Vec<_>) = self.drawn_messages().into_iter().partition(|m| m.moves_data);
        for message in data.into_iter().chain(control) {
            self.name(&message);
        }
    }

    /// The points at which a message leaves its lane and enters the other.
    fn ends(&self, message: &Message) -> ((f64, f64), (f64, f64)) {
        let below = BAND + STRIP + 1.0;
        let (leaves, enters) = if message.from < message.to { (below, -1.0) } else { (-1.0, below) };
        let from = (self.x(message.start_ns as f64), Self::y(message.from) + leaves);
        (from, (self.x(message.end_ns as f64), Self::y(message.to) + enters))
    }

    fn arrow(&mut self, message: &Message) {
        let ((x1, y1), (x2, y2)) = self.ends(message);
        let (class, kind, bytes) = (class(message), message.kind, message.bytes);
        let (from, to) = (message.start_ns as f64 / 1000.0, message.end_ns as f64 / 1000.0);
        self.line(format_args!(
            "<line class=\"{class}\" x1=\"{x1:.2}\" y1=\"{y1:.1}\" x2=\"{x2:.2}\" y2=\"{y2:.1}\" \
             marker-end=\"url(#{class})\"><title>{kind} from {} to {}, {bytes} bytes, {from} to {to} us</title></line>",
            message.from, message.to
        ));
    }

    /// The name of a message next to its arrow, at the first free place along it.
    fn name(&mut self, message: &Message) {
        let ((x1, y1), (x2, y2)) = self.ends(message);
        let name = match (message.kind, message.bytes) {
            (kind, 0) => kind.to_owned(),
            (kind, bytes) => format!("{kind} {}", size(bytes)),
        };
        for along in [0.5, 0.35, 0.65, 0.2, 0.8] {
            let (x, y) = (x1 + (x2 - x1) * along + 4.0, y1 + (y2 - y1) * along + 4.0);
            let x = self.left(x, &name);
            // Not on a band or a strip.
            let on_band = (y - Self::y(0) + PITCH).rem_euclid(PITCH) < BAND + STRIP + 10.0;
            if !on_band && self.places.take(x, y, width(&name)) {
                let name = escape(&name);
                self.line(format_args!("<text class=\"o\" x=\"{x:.1}\" y=\"{y:.1}\">{name}</text>"));
                return;
            }
        }
    }
}
