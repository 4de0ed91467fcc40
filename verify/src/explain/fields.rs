//! One step in fields, for programs: what kind of step, at which rank, with whom, and what travels.

use super::tell::Teller;
use super::walk::{Beat, Sent};
use crate::action::Action;
use crate::network::Flight;
use crate::program::{Act, Ordinal, Sought, Start};
use crate::report::{SentReport, StatementReport, StepKind, StepReport};
use carrousel_rank::{Packet, Source};

/// What data is called that has no packet behind it.
const DATA: &str = "data";

impl Teller<'_> {
    /// A step as it is reported: `what` is its sentence, the rest comes from the walk.
    pub(super) fn fields(&self, beat: &Beat, what: String) -> StepReport {
        let landed = beat.landed.map(|id| &self.walk.flights[id]);
        let sends = self.sends(beat);
        let at = u32::from(beat.at);
        let first = sends.first().cloned();
        let (first_packet, first_to) = first.map(|sent| (sent.packet, sent.to)).unzip();
        let network = StepReport {
            kind: StepKind::Packet,
            rank: None,
            line: None,
            at,
            peer: landed.map(|flight| u32::from(flight.route.peer)).filter(|peer| *peer != at),
            packet: landed.and_then(|flight| carried(&flight.flight)),
            about: landed.and_then(|flight| self.about(flight)).and_then(|about| self.statement_of(about)),
            sends,
            what,
        };
        match beat.action {
            Action::Step { rank, .. } => {
                let pc = usize::from(beat.pc.unwrap_or_default());
                let returns = matches!(self.names.act(rank, pc), Some(Act::Wait(_)));
                StepReport {
                    kind: if returns { StepKind::Return } else { StepKind::Statement },
                    rank: Some(at),
                    line: self.names.line(rank, pc).filter(|_| self.names.has_lines()),
                    peer: self.peer(rank, pc).or(first_to),
                    packet: first_packet,
                    ..network
                }
            }
            Action::Announce { rank, receive } => StepReport {
                kind: StepKind::Announcement,
                peer: first_to,
                packet: first_packet,
                about: self.statement_of((rank, receive)),
                ..network
            },
            Action::Land(_) | Action::Overtake { .. } => {
                let kind = match landed.map(|flight| flight.flight) {
                    Some(Flight::Data(..)) => StepKind::Data,
                    Some(Flight::Read(..)) => StepKind::Read,
                    Some(Flight::Completion(_)) => StepKind::Completion,
                    Some(Flight::Packet(..) | Flight::Notice(_)) | None => StepKind::Packet,
                };
                StepReport { kind, ..network }
            }
        }
    }

    /// What leaves in a step. That the adapter of the rank begins to read is a matter of its own.
    fn sends(&self, beat: &Beat) -> Vec<SentReport> {
        let flights = beat.sent.iter().map(|id| &self.walk.flights[*id]);
        let leaves = |sent: &&Sent| !matches!(sent.flight, Flight::Completion(_) | Flight::Read(..));
        let report =
            |sent: &Sent| Some(SentReport { packet: carried(&sent.flight)?, to: u32::from(sent.route.at) });
        flights.filter(leaves).filter_map(report).collect()
    }

    /// The request that something in flight is about: the send whose message it is part of, or the receive that it
    /// speaks of.
    fn about(&self, sent: &Sent) -> Option<(u16, Ordinal)> {
        if sent.route.context.is_collective() {
            return None;
        }
        let (at, peer) = (sent.route.at, sent.route.peer);
        let receive = match sent.flight {
            Flight::Packet(packet, _) | Flight::Notice(packet) => match packet {
                Packet::Rtr(rtr) => Some((peer, rtr.receive)),
                Packet::Cancel { line } => Some((peer, line.receive)),
                Packet::CancelAck { line } => Some((at, line.receive)),
                Packet::Filled { receive } => Some((at, receive)),
                _ => None,
            },
            _ => None,
        };
        match receive {
            Some((rank, receive)) => Some((rank, self.walk.ordinal(rank, receive)?)),
            None => sent.message.map(|message| (message.from, message.send)),
        }
    }

    /// The statement that has started a request.
    fn statement_of(&self, (rank, request): (u16, Ordinal)) -> Option<StatementReport> {
        let pc = self.names.step_of(rank, request)?;
        let line = self.names.line(rank, pc).filter(|_| self.names.has_lines());
        Some(StatementReport { rank: u32::from(rank), line })
    }

    /// The other rank of the message that a statement is about, if it names one.
    fn peer(&self, rank: u16, pc: usize) -> Option<u32> {
        let of = |ordinal: Ordinal| match *self.names.start(rank, ordinal)? {
            Start::Send { to, .. } => Some(to),
            Start::Receive { from: Source::Rank(from), .. } => Some(from.0),
            _ => None,
        };
        match self.names.act(rank, pc)? {
            Act::Start(ordinal)
            | Act::Test(ordinal)
            | Act::Claim(ordinal)
            | Act::ReceiveClaimed(ordinal)
            | Act::Discard(ordinal)
            | Act::Cancel(ordinal) => of(*ordinal),
            Act::Wait(ordinals) => match ordinals[..] {
                [ordinal] => of(ordinal),
                _ => None,
            },
            Act::Probe { sought: Sought::Known(Source::Rank(from), _), .. } => Some(from.0),
            Act::Probe { .. } | Act::Compute(_) | Act::Touch { .. } => None,
        }
    }
}

/// What a flight carries: a packet by its name, or data.
fn carried(flight: &Flight) -> Option<&'static str> {
    match flight {
        Flight::Packet(packet, _) | Flight::Notice(packet) => Some(plain(packet)),
        Flight::Data(_, notice) | Flight::Read(_, notice) => Some(notice.as_ref().map_or(DATA, plain)),
        Flight::Completion(_) => None,
    }
}

/// The name of a packet, without its remark in brackets: an `RTS (stop-RTR)` is an `RTS`.
fn plain(packet: &Packet) -> &'static str {
    let name = packet.name();
    name.split_once(' ').map_or(name, |(plain, _)| plain)
}
