//! One step in words: the rank, what it does, and the effects.

use super::execution::{ExecutedStep, Execution, Sent, SentId};
use super::names::Names;
use super::wording::{list, ranks};
use super::{of_windows, weakest};
use crate::action::{Action, Choice};
use crate::network::{ChannelKind, InFlight, Reading};
use crate::program::{Act, Ordinal, Start};
use crate::report::StepReport;
use carrousel_rank::epoch::{self, GrantWord};
use carrousel_rank::{Handle, Packet, RtrId};

/// Tells steps.
pub(super) struct Narrator<'a> {
    pub(super) names: &'a Names<'a>,
    pub(super) execution: &'a Execution,
}

impl Narrator<'_> {
    /// A step, with its sentence.
    pub(super) fn step(&self, step: &ExecutedStep) -> StepReport {
        let what = match step.action {
            Action::Step { rank, choice } => {
                self.own_step(step, rank, usize::from(step.pc.unwrap_or_default()), choice)
            }
            Action::Announce { rank, receive } => {
                let to = step.sent.first().map(|id| self.execution.sent[*id].channel.at);
                let to = to.map_or(String::new(), |to| format!(" to rank {to}"));
                format!("rank {rank} announces its {}{to}: RTR", self.names.request(rank, receive))
            }
            Action::Lock(lock) => weakest::lock_step(self.names, lock),
            Action::Land(_) | Action::Overtake { .. } => self.arrival(step),
        };
        self.fields(step, what)
    }

    /// Something in flight.
    pub(super) fn in_flight(&self, sent: &Sent) -> String {
        let at = sent.channel.at;
        let data =
            || sent.message.map_or("data".to_owned(), |it| format!("the data of {}", self.names.send_of(it)));
        match sent.item {
            InFlight::Packet(packet, _) | InFlight::Notice(packet) => {
                format!("{} to rank {at}", self.packet(sent, &packet))
            }
            InFlight::Data(..) => format!("{} into memory of rank {at}", data()),
            InFlight::Read(reading, _) => {
                format!("{} to rank {at}'s {}", data(), self.own(at, reading.request))
            }
            InFlight::Completion(request) => match sent.channel.kind {
                ChannelKind::Read(_) => format!("the report to rank {at} that {} is there", data()),
                _ => format!("the report to rank {at} that its {} is written", self.own(at, request)),
            },
            InFlight::Transfer(_) | InFlight::Moved(_) | InFlight::OfEpoch { .. } | InFlight::Granted(..) => {
                format!("{} to rank {at}", of_windows::in_flight(self.names, sent))
            }
        }
    }

    fn own_step(&self, step: &ExecutedStep, rank: u16, pc: usize, choice: Choice) -> String {
        let values = self.names.values(rank, pc).map_or(String::new(), |values| format!(" ({values})"));
        let statement = format!("`{}`{values}", self.names.statement(rank, pc));
        let mut deeds = self.deeds(step);
        match self.names.act(rank, pc) {
            Some(Act::Start(ordinal)) => {
                if let Some((_, message)) = step.matched.filter(|(receive, _)| receive == ordinal) {
                    deeds.insert(0, format!("takes {}", self.names.message(message)));
                }
                if choice == Choice::Decline {
                    deeds.insert(0, "declines to write into the announced receive".to_owned());
                }
                if deeds.is_empty() && self.names.statement(rank, pc + 1) == self.names.statement(rank, pc) {
                    deeds.push("begins".to_owned());
                }
            }
            Some(Act::AwaitGrants(_)) if self.is_blocking(rank, pc) => {
                deeds.push("opens its epoch".to_owned())
            }
            Some(Act::Wait(_) | Act::AwaitGrants(_)) => deeds.push("returns".to_owned()),
            Some(Act::Test(_)) => {
                deeds.push(if choice == Choice::Fail { "says `not yet`" } else { "succeeds" }.to_owned());
            }
            Some(Act::Probe { .. }) => deeds.push("finds a message".to_owned()),
            Some(Act::Claim(_)) => deeds.push("claims a message".to_owned()),
            Some(Act::ReceiveClaimed(_) | Act::Discard(_)) => {}
            Some(Act::Define(_)) => deeds.push("has its communicator".to_owned()),
            Some(
                Act::Cancel(_) | Act::Access(_) | Act::TouchWindow(_) | Act::Touch { .. } | Act::Compute(_),
            )
            | None => {}
        }
        if let (Some(last), false) = (deeds.last_mut(), step.learnt.is_empty()) {
            let known = step.learnt.iter().map(|message| self.names.message_known(rank, *message));
            last.push_str(&format!(" ({})", known.collect::<Vec<_>>().join(", ")));
        }
        if deeds.is_empty() { statement } else { format!("{statement}: {}", list(&deeds)) }
    }

    fn arrival(&self, step: &ExecutedStep) -> String {
        let Some(landed) = step.landed else { return "something arrives".to_owned() };
        let sent = &self.execution.sent[landed];
        let at = step.at;
        let mut deeds = self.deeds(step);
        // The link to the verbs: `which ...` behind the name of the rank, otherwise the name itself.
        let (subject, link) = match sent.item {
            InFlight::Read(reading, notice) => {
                let own = self.own(at, reading.request);
                let data = sent.message.map_or("data".to_owned(), |message| {
                    format!("the data of {}", self.names.send_of(message))
                });
                match notice {
                    Some(packet) => {
                        // The adapter sends it, not the rank.
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
            InFlight::Completion(request) => {
                let own = self.own(at, request);
                deeds.insert(
                    0,
                    match sent.channel.kind {
                        ChannelKind::Read(_) => format!("sees that the data is in its {own}"),
                        _ => format!("has written the data of its {own}"),
                    },
                );
                (String::new(), format!("rank {at} "))
            }
            InFlight::Data(data, notice) => {
                let into = self.execution.ordinal(at, data.receive);
                let into = into.map_or("memory".to_owned(), |receive| self.names.request(at, receive));
                let notice = notice.map_or(String::new(), |packet| format!(", {} behind it", packet.name()));
                let data = self.names.send_of(data.message);
                (
                    format!("the data of {data} is written into rank {at}'s {into}{notice}"),
                    format!(": rank {at} "),
                )
            }
            InFlight::Moved(_) => {
                deeds.insert(0, format!("sees that a transfer to rank {} is complete", sent.channel.peer));
                (String::new(), format!("rank {at} "))
            }
            InFlight::Transfer(_) | InFlight::OfEpoch { .. } | InFlight::Granted(..) => {
                let what = of_windows::in_flight(self.names, sent);
                let memory =
                    if matches!(sent.channel.kind, ChannelKind::Lane(_)) { "memory of " } else { "" };
                let memory = if matches!(sent.item, InFlight::Transfer(_)) { memory } else { "" };
                (format!("{what} reaches {memory}rank {at}"), ", which ".to_owned())
            }
            InFlight::Packet(packet, _) | InFlight::Notice(packet) => {
                let late =
                    if matches!(step.action, Action::Overtake { .. }) { " before older packets" } else { "" };
                (format!("{}{late} reaches rank {at}", self.packet(sent, &packet)), ", which ".to_owned())
            }
        };
        if let Some(crossed) = self.crossed(landed) {
            deeds.push(format!("has sent the RTS of its {crossed} meanwhile"));
        }
        if deeds.is_empty() { subject } else { format!("{subject}{link}{}", list(&deeds)) }
    }

    /// A request of a rank, as it calls it itself.
    fn own(&self, at: u16, request: Handle) -> String {
        let request = self.execution.ordinal(at, request);
        request.map_or("request".to_owned(), |request| self.names.request(at, request))
    }

    /// The request that the arrival of a step is about.
    fn concerned(&self, step: &ExecutedStep) -> Option<Ordinal> {
        let sent = &self.execution.sent[step.landed?];
        match sent.item {
            InFlight::Completion(request) | InFlight::Read(Reading { request, .. }, _) => {
                self.execution.ordinal(step.at, request)
            }
            InFlight::Data(data, _) => self.execution.ordinal(step.at, data.receive),
            InFlight::Packet(Packet::Atp { receive }, _) => self.execution.ordinal(step.at, receive),
            InFlight::Packet(Packet::Ats { .. }, _) => sent.message.map(|message| message.send),
            InFlight::Packet(..)
            | InFlight::Notice(_)
            | InFlight::Transfer(_)
            | InFlight::Moved(_)
            | InFlight::OfEpoch { .. }
            | InFlight::Granted(..) => None,
        }
    }

    /// A packet, by what it is about: `RTS of rank 0's send (line 4)`.
    fn packet(&self, sent: &Sent, packet: &Packet) -> String {
        let name = packet.name();
        let (at, peer) = (sent.channel.at, sent.channel.peer);
        if sent.channel.context.is_collective() {
            let name = self.names.collective(peer, sent.channel.context.communicator());
            return format!("rank {peer}'s {name} message{}", in_brackets(packet));
        }
        let receive_of = |rank: u16, rtr: RtrId| {
            let receive = self.execution.ordinal(rank, rtr.receive);
            receive.map_or(format!("rank {rank}"), |receive| self.names.request_of(rank, receive))
        };
        match *packet {
            Packet::Rtr(rtr) => match self.execution.ordinal(peer, rtr.receive) {
                Some(receive) => format!("RTR of {}", self.names.request_of(peer, receive)),
                None => format!("RTR of rank {peer}"),
            },
            Packet::Cancel { rtr } => format!("{name} of {}", receive_of(peer, rtr)),
            Packet::CancelAck { rtr } => format!("{name} for {}", receive_of(at, rtr)),
            Packet::Atp { receive } => match self.execution.ordinal(at, receive) {
                Some(receive) => format!("{name} for {}", self.names.request_of(at, receive)),
                None => format!("{name} of rank {peer}"),
            },
            Packet::Ats { .. } | Packet::RtsAck { .. } | Packet::Cts { .. } => match sent.message {
                Some(message) => format!("{name} for {}", self.names.send_of(message)),
                None => format!("{name} of rank {peer}"),
            },
            _ => match sent.message {
                Some(message) => format!("{name} of {}", self.names.send_of(message)),
                None => format!("{name} of rank {peer}"),
            },
        }
    }

    /// Of an RTR that has arrived: a send of its receiver whose RTS is on its way to the sender of the RTR.
    fn crossed(&self, landed: SentId) -> Option<String> {
        let rtr = &self.execution.sent[landed];
        let InFlight::Packet(Packet::Rtr(announced), _) = rtr.item else { return None };
        let now = rtr.landed?;
        self.execution.sent.iter().find_map(|other| {
            let InFlight::Packet(Packet::Rts { tag, .. }, Some(message)) = other.item else { return None };
            let opposite = other.channel.at == rtr.channel.peer && other.channel.peer == rtr.channel.at;
            let meets = other.launched < now && other.landed.is_none_or(|landed| landed > rtr.launched);
            (opposite && meets && announced.tag.matches(tag))
                .then(|| self.names.request(message.from, message.send))
        })
    }

    /// The effects of a step, as verbs of its rank.
    fn deeds(&self, step: &ExecutedStep) -> Vec<String> {
        let at = step.at;
        let mut deeds = self.sendings(step);
        let subject = match step.pc.and_then(|pc| self.names.act(at, usize::from(pc))) {
            Some(Act::Start(ordinal)) => Some(*ordinal),
            _ => None,
        };
        for ordinal in &step.completed {
            if subject == Some(*ordinal) {
                // The program does not know yet, and its buffer is not its own.
                let returns = step.pc.is_some_and(|pc| self.is_blocking(at, usize::from(pc)));
                let is_send = matches!(self.names.start(at, *ordinal), Some(Start::Send { .. }));
                let done = match (returns, is_send && self.names.is_portable()) {
                    (true, false) => "is complete at once",
                    (false, false) => "is ready for its wait",
                    (true, true) => "may return before it is received",
                    (false, true) => "its wait may return before it is received",
                };
                deeds.push(done.to_owned());
            } else if self.concerned(step) == Some(*ordinal) {
                deeds.push("completes it".to_owned());
            } else {
                deeds.push(format!("completes its {}", self.names.request(at, *ordinal)));
            }
        }
        let waits = |sent: &Sent| matches!(sent.item, InFlight::Packet(Packet::RtrAck { .. }, _));
        if let Some((receive, _)) = step.matched
            && step.landed.is_some_and(|landed| waits(&self.execution.sent[landed]))
        {
            deeds.push(format!("expects the data in its {}", self.names.request(at, receive)));
        }
        if let Some(message) = step.kept {
            deeds.push(
                if message.from == at { "waits for its receive" } else { "has no receive for it yet" }
                    .to_owned(),
            );
        }
        deeds
    }

    /// Whether a statement blocks: it starts a request and waits for it. The step that starts it is given.
    fn is_blocking(&self, rank: u16, pc: usize) -> bool {
        let line = |pc: usize| self.names.line(rank, pc);
        let waits = |pc: &usize| matches!(self.names.act(rank, *pc), Some(Act::Wait(_)));
        // A `sendrecv` starts twice.
        line(pc).is_none() || (pc + 1..pc + 3).filter(waits).any(|wait| line(wait) == line(pc))
    }

    /// What a step sends; what it does to many ranks alike is said once.
    fn sendings(&self, step: &ExecutedStep) -> Vec<String> {
        let mut deeds: Vec<String> = Vec::new();
        // By deed, where the rank is left out: the place of its sentence, and the ranks.
        let mut alike: Vec<(String, usize, Vec<u16>)> = Vec::new();
        for id in &step.sent {
            let Some(deed) = self.sending(step, *id) else { continue };
            let to = self.execution.sent[*id].channel.at;
            let open = deed.replacen(&format!("rank {to}"), "%", 1);
            match alike.iter_mut().find(|(other, ..)| *other == open && open != deed) {
                Some((_, at, all)) => {
                    all.push(to);
                    let mut sorted = all.clone();
                    sorted.sort_unstable();
                    deeds[*at] = open.replacen('%', &ranks(&sorted), 1);
                }
                None => {
                    alike.push((open, deeds.len(), vec![to]));
                    deeds.push(deed);
                }
            }
        }
        deeds
    }

    fn sending(&self, step: &ExecutedStep, id: SentId) -> Option<String> {
        let sent = &self.execution.sent[id];
        let to = sent.channel.at;
        let deed = match sent.item {
            InFlight::Completion(_) | InFlight::Moved(_) => return None,
            InFlight::Transfer(moving) => match sent.channel.kind {
                ChannelKind::Get(_) | ChannelKind::Fetch(_) => {
                    format!("fetches the data of its {}", self.names.access(step.at, moving.access))
                }
                _ => format!(
                    "sends the data of its {} to rank {to}",
                    self.names.access(step.at, moving.access)
                ),
            },
            InFlight::Granted(word, _) => match word {
                GrantWord::Exposures => format!("grants access to rank {to}"),
                GrantWord::Locks => format!("grants the lock to rank {to}"),
            },
            InFlight::OfEpoch { packet, .. } => match packet {
                epoch::Packet::Done { .. } => format!("sends DONE to rank {to}"),
                epoch::Packet::LockRequest { .. } => format!("requests the lock of rank {to}"),
                epoch::Packet::LockRelease { .. } => format!("releases the lock of rank {to}"),
                epoch::Packet::StagingRequest => format!("asks rank {to} for a staging buffer"),
                epoch::Packet::StagingGrant => format!("gives a staging buffer to rank {to}"),
            },
            InFlight::Read(Reading { request, .. }, _) => {
                let receive = self.execution.ordinal(step.at, request)?;
                if step.pc.is_some() {
                    "reads its data".to_owned()
                } else {
                    format!("reads the data into its {}", self.names.request(step.at, receive))
                }
            }
            InFlight::Data(data, notice) => {
                let into = self.execution.ordinal(to, data.receive);
                let into = into.map_or(format!("rank {to}"), |receive| self.names.request_of(to, receive));
                let notice = notice.map_or(String::new(), |packet| format!(", {} behind it,", packet.name()));
                format!("writes the data into {into}{notice}").trim_end_matches(',').to_owned()
            }
            InFlight::Packet(packet, _) | InFlight::Notice(packet) => match packet {
                _ if sent.channel.context.is_collective() => {
                    let name = self.names.collective(step.at, sent.channel.context.communicator());
                    format!("sends its {name} message to rank {to}{}", in_brackets(&packet))
                }
                Packet::Eager { .. } => format!("sends the data to rank {to} (EAGER)"),
                Packet::Cts { .. } => match step.matched {
                    Some((receive, _)) => {
                        format!("answers CTS for its {}", self.names.request(step.at, receive))
                    }
                    None => "answers CTS".to_owned(),
                },
                Packet::Ats { .. } | Packet::RtsAck { .. } | Packet::CancelAck { .. } => {
                    format!("answers {}", packet.name())
                }
                _ => format!("sends {} to rank {to}", packet.name()),
            },
        };
        Some(deed)
    }
}

/// ` (RTS)`; nothing for a message with its data.
fn in_brackets(packet: &Packet) -> String {
    match packet {
        Packet::Eager { .. } => String::new(),
        _ => format!(" ({})", packet.name()),
    }
}
