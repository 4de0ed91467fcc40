//! One step in fields, for programs: its kind, its rank, the peer, and the packets.

use super::execution::{ExecutedStep, Sent};
use super::narrator::Narrator;
use super::of_windows;
use crate::action::Action;
use crate::network::InFlight;
use crate::program::{Act, Ordinal, Sought, Start};
use crate::report::{SentReport, StatementReport, StepKind, StepReport};
use carrousel_rank::{Packet, Source};

/// The name of data without a packet behind it.
const DATA: &str = "data";

impl Narrator<'_> {
    /// A step as it is reported: `what` is its sentence, the rest comes from the execution.
    pub(super) fn fields(&self, step: &ExecutedStep, what: String) -> StepReport {
        let landed = step.landed.map(|id| &self.execution.sent[id]);
        let sends = self.sends(step);
        let at = u32::from(step.at);
        let first = sends.first().cloned();
        let (first_packet, first_to) = first.map(|sent| (sent.packet, sent.to)).unzip();
        let network = StepReport {
            kind: StepKind::Packet,
            rank: None,
            line: None,
            time: None,
            at,
            peer: landed.map(|sent| u32::from(sent.channel.peer)).filter(|peer| *peer != at),
            packet: landed.and_then(|sent| carried(&sent.item)),
            about: landed.and_then(|sent| self.about(sent)).and_then(|about| self.statement_of(about)),
            sends,
            what,
            matters: true,
            wrong: None,
        };
        match step.action {
            Action::Step { rank, .. } => {
                let pc = usize::from(step.pc.unwrap_or_default());
                let returns = matches!(self.names.act(rank, pc), Some(Act::Wait(_)));
                StepReport {
                    kind: if returns { StepKind::Return } else { StepKind::Statement },
                    rank: Some(at),
                    line: self.names.line(rank, pc).filter(|_| self.names.has_lines()),
                    time: self.names.time(rank, pc),
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
            Action::Lock(lock) => StepReport {
                kind: StepKind::Lock,
                peer: Some(u32::from(lock.host)).filter(|peer| *peer != at),
                ..network
            },
            Action::Land(_) | Action::Overtake { .. } => {
                let kind = match landed.map(|sent| sent.item) {
                    Some(InFlight::Data(..)) => StepKind::Data,
                    Some(InFlight::Read(..)) => StepKind::Read,
                    Some(InFlight::Transfer(_)) => StepKind::Data,
                    Some(InFlight::Completion(_) | InFlight::Moved(_)) => StepKind::Completion,
                    Some(
                        InFlight::Packet(..)
                        | InFlight::Notice(_)
                        | InFlight::OfEpoch { .. }
                        | InFlight::Granted(..),
                    )
                    | None => StepKind::Packet,
                };
                StepReport { kind, ..network }
            }
        }
    }

    /// The packets and data that leave in a step. A read that the adapter begins is not among them.
    fn sends(&self, step: &ExecutedStep) -> Vec<SentReport> {
        let all = step.sent.iter().map(|id| &self.execution.sent[*id]);
        let leaves = |sent: &&Sent| {
            !matches!(sent.item, InFlight::Completion(_) | InFlight::Moved(_) | InFlight::Read(..))
        };
        let report =
            |sent: &Sent| Some(SentReport { packet: carried(&sent.item)?, to: u32::from(sent.channel.at) });
        all.filter(leaves).filter_map(report).collect()
    }

    /// The request that something in flight is about: the send whose message it is part of, or the receive that it
    /// speaks of.
    fn about(&self, sent: &Sent) -> Option<(u16, Ordinal)> {
        if sent.channel.context.is_collective() {
            return None;
        }
        let (at, peer) = (sent.channel.at, sent.channel.peer);
        let receive = match sent.item {
            InFlight::Packet(packet, _) | InFlight::Notice(packet) => match packet {
                Packet::Rtr(rtr) => Some((peer, rtr.receive)),
                Packet::Cancel { rtr } => Some((peer, rtr.receive)),
                Packet::CancelAck { rtr } => Some((at, rtr.receive)),
                Packet::Atp { receive } => Some((at, receive)),
                _ => None,
            },
            _ => None,
        };
        match receive {
            Some((rank, receive)) => Some((rank, self.execution.ordinal(rank, receive)?)),
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
            Act::Probe { sought: Sought::Known(_, Source::Rank(from), _), .. } => Some(from.0),
            Act::Access(access) => {
                let access = self.names.program(rank)?.accesses.get(usize::from(*access))?;
                Some(access.transfer.target.0)
            }
            Act::Probe { .. }
            | Act::Compute(_)
            | Act::Touch { .. }
            | Act::TouchWindow(_)
            | Act::AwaitGrants(_)
            | Act::Define(_) => None,
        }
    }
}

/// The name of an item in flight: that of its packet, or `data`.
fn carried(item: &InFlight) -> Option<&'static str> {
    match item {
        InFlight::Packet(packet, _) | InFlight::Notice(packet) => Some(plain(packet)),
        InFlight::Data(_, notice) | InFlight::Read(_, notice) => Some(notice.as_ref().map_or(DATA, plain)),
        InFlight::Transfer(_) => Some(DATA),
        InFlight::OfEpoch { .. } | InFlight::Granted(..) => of_windows::packet_name(item),
        InFlight::Completion(_) | InFlight::Moved(_) => None,
    }
}

/// The name of a packet, without its remark in brackets: an `RTS (stop-RTR)` is an `RTS`.
fn plain(packet: &Packet) -> &'static str {
    let name = packet.name();
    name.split_once(' ').map_or(name, |(plain, _)| plain)
}
