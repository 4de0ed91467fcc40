//! From a walk to a chart.

use super::names::Names;
use super::stuck::Deadlock;
use super::verdict::Verdict;
use super::walk::{Beat, FlightId, Sent, Walk};
use crate::action::{Action, Choice};
use crate::chart::{Arrow, Chart, End, Kind, Row};
use crate::network::{Flight, Message, What};
use crate::program::{Act, Ordinal};
use carrousel_rank::Packet;
use std::collections::{BTreeSet, HashMap};

/// Ranks that are drawn.
const LANES_MAX: usize = 16;
/// Steps that are drawn: the last ones.
const ROWS_MAX: usize = 200;

/// Draws the beats that are kept; `deadlock` at the end, or else `verdict`.
pub(super) fn chart(
    names: &Names<'_>,
    walk: &Walk,
    keep: &[bool],
    verdict: &Verdict,
    deadlock: Option<&Deadlock>,
) -> Chart {
    let kept: Vec<&Beat> =
        walk.beats.iter().zip(keep).filter(|(_, keep)| **keep).map(|(beat, _)| beat).collect();
    let skipped = kept.len().saturating_sub(ROWS_MAX);
    let drawn = &kept[skipped..];
    let stuck = deadlock.map_or(Vec::new(), Deadlock::ranks);
    let first = verdict.ranks.iter().copied().chain(stuck);
    let acting = drawn.iter().map(|beat| beat.at);
    let addressed = drawn.iter().flat_map(|beat| &beat.sent).map(|sent| walk.flights[*sent].route.at);
    let (lanes, left_out) = lanes(first.chain(acting).chain(addressed));
    let mut pen = Pen { names, walk, keep, lanes: &lanes, arrows: HashMap::new(), chart: Chart::default() };
    for (step, beat) in drawn.iter().enumerate() {
        pen.row((skipped + step) as u32 + 1, beat);
    }
    pen.ends(verdict, deadlock);
    let mut chart = pen.chart;
    chart.skipped = skipped as u32;
    chart.lanes = lanes.iter().map(|rank| u32::from(*rank)).collect();
    chart.left_out = left_out.iter().map(|rank| u32::from(*rank)).collect();
    chart
}

/// The ranks that are drawn, those that come first if there are too many, and the others.
fn lanes(ranks: impl Iterator<Item = u16>) -> (Vec<u16>, Vec<u16>) {
    let (mut drawn, mut left_out) = (BTreeSet::new(), BTreeSet::new());
    for rank in ranks {
        if drawn.len() < LANES_MAX || drawn.contains(&rank) {
            drawn.insert(rank);
        } else {
            left_out.insert(rank);
        }
    }
    (drawn.into_iter().collect(), left_out.into_iter().collect())
}

struct Pen<'a> {
    names: &'a Names<'a>,
    walk: &'a Walk,
    /// Which beats are told.
    keep: &'a [bool],
    lanes: &'a [u16],
    /// Which arrow each flight is.
    arrows: HashMap<FlightId, usize>,
    chart: Chart,
}

impl Pen<'_> {
    fn lane(&self, rank: u16) -> Option<usize> {
        self.lanes.binary_search(&rank).ok()
    }

    fn row(&mut self, step: u32, beat: &Beat) {
        let Some(lane) = self.lane(beat.at) else { return };
        let row = self.chart.rows.len();
        let arrives = beat.landed.and_then(|landed| self.arrows.get(&landed).copied());
        if let Some(arrow) = arrives {
            self.chart.arrows[arrow].arrives = Some(row);
        }
        let text = self.text(beat, arrives.is_some());
        let sends: Vec<usize> = beat.sent.iter().filter_map(|id| self.arrow(*id, row)).collect();
        self.chart.rows.push(Row { step, lane, text, arrives, sends, wrong: None });
    }

    /// Begins the arrow of something that is sent in `row`; none if it leads nowhere that is drawn.
    fn arrow(&mut self, id: FlightId, row: usize) -> Option<usize> {
        let sent = &self.walk.flights[id];
        // What is written, or read, comes with its data; that it is complete is a matter of its own rank.
        if matches!(sent.flight, Flight::Completion(_)) {
            return None;
        }
        // What arrives at a step that is left out is not on its way for ever.
        if sent.landed.is_some_and(|landed| !self.keep[landed]) {
            return None;
        }
        let (from, to) = (self.lane(sent.route.peer)?, self.lane(sent.route.at)?);
        let (label, kind) = self.label(sent);
        let arrow = self.chart.arrows.len();
        self.chart.arrows.push(Arrow { from, to, leaves: row, arrives: None, label, kind });
        self.arrows.insert(id, arrow);
        Some(arrow)
    }

    fn label(&self, sent: &Sent) -> (String, Kind) {
        let message = |message: Message| self.names.tag(message.from, message.send);
        match sent.flight {
            Flight::Data(data, notice) => {
                let notice = notice.map_or(String::new(), |packet| format!(" + {}", packet.name()));
                (format!("data {}{notice}", message(data.message)), Kind::Data)
            }
            Flight::Read(..) | Flight::Completion(_) => {
                (sent.message.map_or("data".to_owned(), |sent| format!("data {}", message(sent))), Kind::Data)
            }
            Flight::Packet(packet, _) | Flight::Notice(packet) if sent.route.context.is_collective() => {
                let name = self.names.collective(sent.route.peer);
                match packet {
                    Packet::Eager { len: 0, .. } => (name.to_owned(), Kind::Control),
                    Packet::Eager { .. } => (name.to_owned(), Kind::Data),
                    _ => (format!("{} {name}", packet.name()), Kind::Control),
                }
            }
            Flight::Packet(packet, _) | Flight::Notice(packet) => {
                let receive = match packet {
                    Packet::Rtr(rtr) => self.walk.ordinal(sent.route.peer, rtr.receive),
                    Packet::Cancel { line } => self.walk.ordinal(sent.route.peer, line.receive),
                    _ => None,
                };
                let about = receive.map(|receive| self.names.tag(sent.route.peer, receive));
                let about =
                    about.or(sent.message.map(message)).map_or(String::new(), |about| format!(" {about}"));
                let kind = if matches!(packet, Packet::Eager { .. }) { Kind::Data } else { Kind::Control };
                (format!("{}{about}", packet.name()), kind)
            }
        }
    }

    /// What a row says beside its arrow.
    fn text(&self, beat: &Beat, has_arrow: bool) -> String {
        let at = beat.at;
        let tag = |request: Ordinal| self.names.tag(at, request);
        match beat.action {
            Action::Announce { receive, .. } => format!("announces {}", tag(receive)),
            Action::Step { choice, .. } => {
                self.own_text(beat, usize::from(beat.pc.unwrap_or_default()), choice)
            }
            Action::Land(_) | Action::Overtake { .. } => {
                let mut parts = Vec::new();
                if let Some(landed) = beat.landed.filter(|_| !has_arrow) {
                    let sent = &self.walk.flights[landed];
                    parts.push(match (sent.flight, sent.route.what) {
                        (Flight::Completion(_), What::Written) => "write complete".to_owned(),
                        (Flight::Completion(_), _) => "read complete".to_owned(),
                        _ => format!("{} from rank {}", self.label(sent).0, sent.route.peer),
                    });
                }
                match (beat.kept, beat.matched) {
                    (Some(_), _) => parts.push("no receive yet".to_owned()),
                    (_, Some((receive, _))) if beat.completed.is_empty() => {
                        parts.push(format!("for {}", tag(receive)))
                    }
                    _ => {}
                }
                parts.extend(beat.completed.iter().map(|request| format!("{} complete", tag(*request))));
                parts.join(", ")
            }
        }
    }

    fn own_text(&self, beat: &Beat, pc: usize, choice: Choice) -> String {
        let line = self.names.line(beat.at, pc).filter(|_| self.names.has_lines());
        let line = line.map_or(String::new(), |line| format!("{line}: "));
        let outcome = match (self.names.act(beat.at, pc), choice) {
            (Some(Act::Test(_)), Choice::Fail) => ", not yet",
            (Some(Act::Test(_)), _) => ", done",
            (Some(Act::Wait(_)), _) => " returns",
            (Some(Act::Start(_)), Choice::Decline) => ", declines",
            _ => "",
        };
        let values = self.names.values(beat.at, pc).map_or(String::new(), |values| format!(" ({values})"));
        let statement = format!("{}{values}", self.names.statement(beat.at, pc));
        // The end of a blocking statement, whose beginning is drawn too, is told by its verb.
        let called = statement.split_once(" = ").map_or(&*statement, |(_, called)| called);
        let verb = called.split_whitespace().next().filter(|verb| *verb != "wait");
        let known = beat.learnt.iter().map(|message| self.names.message_known(beat.at, *message));
        let known = known.map(|known| format!(" ({known})")).collect::<String>();
        match (self.names.act(beat.at, pc), verb) {
            (Some(Act::Wait(_)), Some(verb)) => format!("{line}{verb}{outcome}{known}"),
            _ => format!("{line}{statement}{outcome}{known}"),
        }
    }

    fn ends(&mut self, verdict: &Verdict, deadlock: Option<&Deadlock>) {
        for waiting in deadlock.map_or(&[][..], |deadlock| &deadlock.waiting) {
            if let Some(lane) = self.lane(waiting.rank) {
                let statement = self.names.statement(waiting.rank, waiting.pc);
                let line = self.names.line(waiting.rank, waiting.pc).filter(|_| self.names.has_lines());
                let text = match line {
                    Some(line) => format!("stuck at line {line}: {statement}"),
                    None => format!("stuck: {statement}"),
                };
                self.chart.ends.push(End { lane, text });
            }
        }
        if deadlock.is_none()
            && !verdict.here.is_empty()
            && let Some(row) = self.chart.rows.last_mut()
        {
            row.wrong = Some(verdict.here.clone());
        }
    }
}
