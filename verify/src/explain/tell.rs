//! One step in words: who, what, and what came of it.

use super::names::{Names, list};
use super::walk::{Beat, FlightId, Sent, Walk};
use crate::action::{Action, Choice};
use crate::network::{Flight, Reading, What};
use crate::program::{Act, Ordinal};
use crate::report::StepReport;
use carrousel_rank::{Handle, LineId, Packet};

/// Tells steps.
pub(super) struct Teller<'a> {
    pub(super) names: &'a Names<'a>,
    pub(super) walk: &'a Walk,
}

impl Teller<'_> {
    /// A step, with its sentence.
    pub(super) fn step(&self, beat: &Beat) -> StepReport {
        let what = match beat.action {
            Action::Step { rank, choice } => {
                self.own_step(beat, rank, usize::from(beat.pc.unwrap_or_default()), choice)
            }
            Action::Announce { rank, receive } => {
                let to = beat.sent.first().map(|id| self.walk.flights[*id].route.at);
                let to = to.map_or(String::new(), |to| format!(" to rank {to}"));
                format!("rank {rank} announces its {}{to}: RTR", self.names.request(rank, receive))
            }
            Action::Land(_) | Action::Overtake { .. } => self.arrival(beat),
        };
        self.fields(beat, what)
    }

    /// Something in flight.
    pub(super) fn in_flight(&self, sent: &Sent) -> String {
        let at = sent.route.at;
        let data =
            || sent.message.map_or("data".to_owned(), |it| format!("the data of {}", self.names.send_of(it)));
        match sent.flight {
            Flight::Packet(packet, _) | Flight::Notice(packet) => {
                format!("{} to rank {at}", self.packet(sent, &packet))
            }
            Flight::Data(..) => format!("{} into memory of rank {at}", data()),
            Flight::Read(reading, _) => {
                format!("{} to rank {at}'s {}", data(), self.own(at, reading.request))
            }
            Flight::Completion(request) => match sent.route.what {
                What::Read(_) => format!("the report to rank {at} that {} is there", data()),
                _ => format!("the report to rank {at} that its {} is written", self.own(at, request)),
            },
        }
    }

    fn own_step(&self, beat: &Beat, rank: u16, pc: usize, choice: Choice) -> String {
        let values = self.names.values(rank, pc).map_or(String::new(), |values| format!(" ({values})"));
        let statement = format!("`{}`{values}", self.names.statement(rank, pc));
        let mut deeds = self.deeds(beat);
        match self.names.act(rank, pc) {
            Some(Act::Start(ordinal)) => {
                if let Some((_, message)) = beat.matched.filter(|(receive, _)| receive == ordinal) {
                    deeds.insert(0, format!("takes {}", self.names.message(message)));
                }
                if choice == Choice::Decline {
                    deeds.insert(0, "declines to write into the announced receive".to_owned());
                }
                if deeds.is_empty() && self.names.statement(rank, pc + 1) == self.names.statement(rank, pc) {
                    deeds.push("begins".to_owned());
                }
            }
            Some(Act::Wait(_)) => deeds.push("returns".to_owned()),
            Some(Act::Test(_)) => {
                deeds.push(if choice == Choice::Fail { "says `not yet`" } else { "succeeds" }.to_owned());
            }
            Some(Act::Probe { .. }) => deeds.push("finds a message".to_owned()),
            Some(Act::Claim(_)) => deeds.push("claims a message".to_owned()),
            Some(Act::ReceiveClaimed(_) | Act::Discard(_)) => {}
            Some(Act::Cancel(_) | Act::Touch { .. } | Act::Compute(_)) | None => {}
        }
        if let (Some(last), false) = (deeds.last_mut(), beat.learnt.is_empty()) {
            let known = beat.learnt.iter().map(|message| self.names.message_known(rank, *message));
            last.push_str(&format!(" ({})", known.collect::<Vec<_>>().join(", ")));
        }
        if deeds.is_empty() { statement } else { format!("{statement}: {}", list(&deeds)) }
    }

    fn arrival(&self, beat: &Beat) -> String {
        let Some(landed) = beat.landed else { return "something arrives".to_owned() };
        let flight = &self.walk.flights[landed];
        let at = beat.at;
        let mut deeds = self.deeds(beat);
        // How the deeds follow: `which ...` where the rank is named last, its name where it is not.
        let (subject, link) = match flight.flight {
            Flight::Read(reading, notice) => {
                let own = self.own(at, reading.request);
                let data = flight.message.map_or("data".to_owned(), |message| {
                    format!("the data of {}", self.names.send_of(message))
                });
                match notice {
                    Some(packet) => {
                        // It is sent by nobody at the rank.
                        deeds.clear();
                        let what =
                            format!("{data} is read into rank {at}'s {own}, {} behind it", packet.name());
                        (what, String::new())
                    }
                    None => {
                        deeds.insert(0, format!("has read {data} into its {own}"));
                        (String::new(), format!("rank {at} "))
                    }
                }
            }
            Flight::Completion(request) => {
                let own = self.own(at, request);
                deeds.insert(
                    0,
                    match flight.route.what {
                        What::Read(_) => format!("sees that the data is in its {own}"),
                        _ => format!("has written the data of its {own}"),
                    },
                );
                (String::new(), format!("rank {at} "))
            }
            Flight::Data(data, notice) => {
                let into = self.walk.ordinal(at, data.receive);
                let into = into.map_or("memory".to_owned(), |receive| self.names.request(at, receive));
                let notice = notice.map_or(String::new(), |packet| format!(", {} behind it", packet.name()));
                let data = self.names.send_of(data.message);
                (
                    format!("the data of {data} is written into rank {at}'s {into}{notice}"),
                    format!(": rank {at} "),
                )
            }
            Flight::Packet(packet, _) | Flight::Notice(packet) => {
                let late =
                    if matches!(beat.action, Action::Overtake { .. }) { " before older packets" } else { "" };
                (format!("{}{late} reaches rank {at}", self.packet(flight, &packet)), ", which ".to_owned())
            }
        };
        if let Some(crossed) = self.crossed(landed) {
            deeds.push(format!("has sent the RTS of its {crossed} meanwhile"));
        }
        if deeds.is_empty() { subject } else { format!("{subject}{link}{}", list(&deeds)) }
    }

    /// A request of a rank, as it calls it itself.
    fn own(&self, at: u16, request: Handle) -> String {
        let request = self.walk.ordinal(at, request);
        request.map_or("request".to_owned(), |request| self.names.request(at, request))
    }

    /// The request that the arrival of a step is about.
    fn concerned(&self, beat: &Beat) -> Option<Ordinal> {
        let sent = &self.walk.flights[beat.landed?];
        match sent.flight {
            Flight::Completion(request) | Flight::Read(Reading { request, .. }, _) => {
                self.walk.ordinal(beat.at, request)
            }
            Flight::Data(data, _) => self.walk.ordinal(beat.at, data.receive),
            Flight::Packet(Packet::Filled { receive }, _) => self.walk.ordinal(beat.at, receive),
            Flight::Packet(Packet::Done { .. }, _) => sent.message.map(|message| message.send),
            Flight::Packet(..) | Flight::Notice(_) => None,
        }
    }

    /// A packet, by what it is about: `RTS of rank 0's send (line 4)`.
    fn packet(&self, sent: &Sent, packet: &Packet) -> String {
        let name = packet.name();
        let (at, peer) = (sent.route.at, sent.route.peer);
        if sent.route.context.is_collective() {
            return format!("rank {peer}'s {} message{}", self.names.collective(peer), in_brackets(packet));
        }
        let receive_of = |rank: u16, line: LineId| {
            let receive = self.walk.ordinal(rank, line.receive);
            receive.map_or(format!("rank {rank}"), |receive| self.names.request_of(rank, receive))
        };
        match *packet {
            Packet::Rtr(rtr) => match self.walk.ordinal(peer, rtr.receive) {
                Some(receive) => format!("RTR of {}", self.names.request_of(peer, receive)),
                None => format!("RTR of rank {peer}"),
            },
            Packet::Cancel { line } => format!("{name} of {}", receive_of(peer, line)),
            Packet::CancelAck { line } => format!("{name} for {}", receive_of(at, line)),
            Packet::Filled { receive } => match self.walk.ordinal(at, receive) {
                Some(receive) => format!("{name} for {}", self.names.request_of(at, receive)),
                None => format!("{name} of rank {peer}"),
            },
            Packet::Done { .. } | Packet::RtsAck { .. } | Packet::Clear { .. } => match sent.message {
                Some(message) => format!("{name} for {}", self.names.send_of(message)),
                None => format!("{name} of rank {peer}"),
            },
            _ => match sent.message {
                Some(message) => format!("{name} of {}", self.names.send_of(message)),
                None => format!("{name} of rank {peer}"),
            },
        }
    }

    /// Of an RTR that has come out: a send of that rank whose RTS is under way to the RTR's rank.
    fn crossed(&self, landed: FlightId) -> Option<String> {
        let rtr = &self.walk.flights[landed];
        let Flight::Packet(Packet::Rtr(announced), _) = rtr.flight else { return None };
        let now = rtr.landed?;
        self.walk.flights.iter().find_map(|other| {
            let Flight::Packet(Packet::Rts { tag, .. }, Some(message)) = other.flight else { return None };
            let opposite = other.route.at == rtr.route.peer && other.route.peer == rtr.route.at;
            let meets = other.launched < now && other.landed.is_none_or(|landed| landed > rtr.launched);
            (opposite && meets && announced.tag.matches(tag))
                .then(|| self.names.request(message.from, message.send))
        })
    }

    /// What a step did, as verbs of its rank.
    fn deeds(&self, beat: &Beat) -> Vec<String> {
        let at = beat.at;
        let mut deeds: Vec<String> = beat.sent.iter().filter_map(|id| self.sending(beat, *id)).collect();
        let subject = match beat.pc.and_then(|pc| self.names.act(at, usize::from(pc))) {
            Some(Act::Start(ordinal)) => Some(*ordinal),
            _ => None,
        };
        for ordinal in &beat.completed {
            if subject == Some(*ordinal) {
                deeds.push("is complete at once".to_owned());
            } else if self.concerned(beat) == Some(*ordinal) {
                deeds.push("completes it".to_owned());
            } else {
                deeds.push(format!("completes its {}", self.names.request(at, *ordinal)));
            }
        }
        let waits = |flight: &Sent| matches!(flight.flight, Flight::Packet(Packet::RtrAck { .. }, _));
        if let Some((receive, _)) = beat.matched
            && beat.landed.is_some_and(|landed| waits(&self.walk.flights[landed]))
        {
            deeds.push(format!("expects the data in its {}", self.names.request(at, receive)));
        }
        if let Some(message) = beat.kept {
            deeds.push(
                if message.from == at { "waits for its receive" } else { "has no receive for it yet" }
                    .to_owned(),
            );
        }
        deeds
    }

    fn sending(&self, beat: &Beat, id: FlightId) -> Option<String> {
        let sent = &self.walk.flights[id];
        let to = sent.route.at;
        let deed = match sent.flight {
            Flight::Completion(_) => return None,
            Flight::Read(Reading { request, .. }, _) => {
                let receive = self.walk.ordinal(beat.at, request)?;
                if beat.pc.is_some() {
                    "reads its data".to_owned()
                } else {
                    format!("reads the data into its {}", self.names.request(beat.at, receive))
                }
            }
            Flight::Data(data, notice) => {
                let into = self.walk.ordinal(to, data.receive);
                let into = into.map_or(format!("rank {to}"), |receive| self.names.request_of(to, receive));
                let notice = notice.map_or(String::new(), |packet| format!(", {} behind it,", packet.name()));
                format!("writes the data into {into}{notice}").trim_end_matches(',').to_owned()
            }
            Flight::Packet(packet, _) | Flight::Notice(packet) => match packet {
                _ if sent.route.context.is_collective() => {
                    let name = self.names.collective(beat.at);
                    format!("sends its {name} message to rank {to}{}", in_brackets(&packet))
                }
                Packet::Eager { .. } => format!("sends the data to rank {to} (EAGER)"),
                Packet::Clear { .. } => match beat.matched {
                    Some((receive, _)) => {
                        format!("answers CTS for its {}", self.names.request(beat.at, receive))
                    }
                    None => "answers CTS".to_owned(),
                },
                Packet::Done { .. } | Packet::RtsAck { .. } | Packet::CancelAck { .. } => {
                    format!("answers {}", packet.name())
                }
                _ => format!("sends {} to rank {to}", packet.name()),
            },
        };
        Some(deed)
    }
}

/// ` (RTS)`; of a message with its data nothing has to be said.
fn in_brackets(packet: &Packet) -> String {
    match packet {
        Packet::Eager { .. } => String::new(),
        _ => format!(" ({})", packet.name()),
    }
}
