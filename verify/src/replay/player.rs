//! One rank of a trace: its part, and the state machine that the part is fed to.

use super::numbers::{Addresses, Numbers};
use super::report::Departure;
use super::tell::{self, TAGGED};
use super::usage::{CallSite, Usage};
use crate::network::{Channel, ChannelKind, Data, InFlight, Launch, Message, Network};
use carrousel_rank::{
    Arrived, Call, Communicator, Context, Envelope, Event, Explore, Handle, Job, Members, Mirror, Options,
    Packet, Pattern, Rank, RankId, Read, Receive, Send, Source, Status, TagSelector, Work, Write,
};
use carrousel_trace::{CallAnswer, Record, TraceEnd, TraceError, TracePart};
use std::collections::BTreeSet;
use std::path::Path;
use std::rc::Rc;

/// The number of records of one part that were replayed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RecordCounts {
    pub(super) calls: u64,
    pub(super) events: u64,
    pub(super) answers: u64,
}

impl RecordCounts {
    pub(super) fn all(&self) -> u64 {
        self.calls + self.events + self.answers
    }
}

/// Why a turn ends.
pub(super) enum Stop {
    /// The part is over, or the rank needs something that is not in flight yet.
    Over,
    /// Too many items are in flight, or too many streams of messages are kept.
    Crowded,
    /// The model does not allow the next record.
    Departed(Departure),
}

/// One rank.
pub(super) struct Player {
    pub(super) me: u16,
    pub(super) counts: RecordCounts,
    /// The ranks of its part, which are those of its state machine.
    numbers: Numbers,
    rank: Rank<Mirror>,
    part: Option<TracePart>,
    /// A packet that has to come, but is not in flight yet.
    awaited: Option<(RankId, Context, Packet)>,
    /// Where the application made its last call.
    at: CallSite,
    /// Peers whose connection is lost.
    lost: BTreeSet<RankId>,
    work: Vec<Work>,
}

/// The difference between a record and what the model allows.
struct Differs {
    happened: String,
    allowed: String,
}

/// The messages on their way, with their receivers and lengths.
pub(super) fn on_the_way(network: &Network) -> impl Iterator<Item = (RankId, Envelope, u64)> {
    network.iter().filter_map(|(channel, item)| {
        let (Packet::Eager { tag, len, .. } | Packet::Rts { tag, len, .. }) = item.packet()? else {
            return None;
        };
        let envelope = Envelope { source: RankId(channel.peer.into()), tag, context: channel.context };
        Some((RankId(channel.at.into()), envelope, len))
    })
}

fn differs<T>(happened: impl Into<String>, allowed: impl Into<String>) -> Result<T, Differs> {
    Err(Differs { happened: happened.into(), allowed: allowed.into() })
}

impl Player {
    pub(super) fn new(me: u16, ranks: u32, options: &Options, part: Option<TracePart>) -> Self {
        let numbers = Numbers::new(me, ranks, part.as_ref());
        let job = Job { ranks: numbers.count() };
        Self {
            me,
            counts: RecordCounts::default(),
            rank: Rank::new(numbers.me(), &job, options),
            numbers,
            part,
            awaited: None,
            at: CallSite::default(),
            lost: BTreeSet::new(),
            work: Vec::new(),
        }
    }

    /// Goes on until something holds it up.
    pub(super) fn turn(
        &mut self,
        network: &mut Network,
        (usage, addresses): (&mut Usage, &mut Addresses),
        most: usize,
    ) -> Result<Stop, TraceError> {
        loop {
            if (network.len() > most || usage.is_full()) && self.awaited.is_none() {
                return Ok(Stop::Crowded);
            }
            let done = if let Some((from, context, packet)) = self.awaited.take() {
                self.packet(network, from, context, packet)
            } else {
                let Some(part) = &mut self.part else { return Ok(Stop::Over) };
                let Some(record) = part.next_record()? else { return Ok(Stop::Over) };
                self.record(network, usage, addresses, record)
            };
            if let Err(Differs { happened, allowed }) = done {
                return Ok(Stop::Departed(self.departure(happened, allowed)));
            }
            if self.awaited.is_some() {
                return Ok(Stop::Over);
            }
        }
    }

    /// The peer of which it needs a packet, if that is what holds it up.
    pub(super) fn needs(&self) -> Option<u16> {
        self.awaited.and_then(|(from, ..)| self.numbers.of(from))
    }

    /// The ranks of its part, and what they are told as.
    pub(super) fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    /// The path of its part.
    pub(super) fn path(&self) -> Option<&Path> {
        self.part.as_ref().map(TracePart::path)
    }

    /// How its part ends.
    pub(super) fn end(&self) -> Option<TraceEnd> {
        self.part.as_ref().and_then(TracePart::end)
    }

    /// Whether its part says all that it did.
    pub(super) fn is_whole(&self) -> bool {
        matches!(self.end(), Some(TraceEnd::Finalized | TraceEnd::Left))
    }

    /// Bytes of its part that have been read.
    pub(super) fn read(&self) -> u64 {
        self.part.as_ref().map_or(0, TracePart::read)
    }

    /// The line of its part that was read last; `None` without a part.
    pub(super) fn line(&self) -> Option<u64> {
        self.part.as_ref().map(TracePart::line)
    }

    /// The last record that was replayed, as a gap has it.
    pub(super) fn replayed(&self) -> u64 {
        self.line().map_or(0, |line| line - u64::from(self.awaited.is_some()))
    }

    /// The departure of a rank that needs a packet which its sender has not sent.
    pub(super) fn never_sent(&self) -> Departure {
        let (happened, allowed) = match self.awaited {
            Some((from, context, packet)) => {
                let direction = tell::direction(&packet, context);
                let sender = self.numbers.peer(from);
                let allowed =
                    format!("nothing: of what {sender} has sent in {direction}, all has come before");
                (self.numbers.arrival(from, context, &packet, false), allowed)
            }
            None => Default::default(),
        };
        self.departure(happened, allowed)
    }

    fn departure(&self, happened: String, allowed: String) -> Departure {
        let record = self.line().unwrap_or_default();
        Departure { rank: self.me.into(), record, place: self.at.clone(), happened, allowed }
    }

    /// Notes where the application makes a call, if the trace says so.
    fn is_at(&mut self, file: Option<&str>, line: Option<u32>) {
        if line.is_some() {
            self.at.line = line;
            if self.at.file.as_deref() != file {
                self.at.file = file.map(Rc::from);
            }
        }
    }

    /// The messages that it has not received although it has left its job, oldest first; and those that were still on
    /// their way then.
    pub(super) fn left_behind(&self, network: &Network) -> Vec<(RankId, Envelope, u64)> {
        if self.end() != Some(TraceEnd::Finalized) {
            return Vec::new();
        }
        let me = RankId(self.me.into());
        let first = |envelope: &Envelope| {
            let Envelope { source, tag, context } = *envelope;
            let pattern = Pattern { source: Source::Rank(source), tag: TagSelector::exact(tag), context };
            self.rank.probe(&pattern).map_or(0, |arrived| arrived.len)
        };
        let arrived = self.rank.unexpected().map(|envelope| (me, self.of_trace(envelope), first(envelope)));
        // Messages of a lost peer that have not arrived could not be received.
        let is_lost = |source: RankId| self.lost.iter().any(|lost| self.rank_of(*lost) == Some(source));
        let on_the_way =
            on_the_way(network).filter(|(to, envelope, _)| *to == me && !is_lost(envelope.source));
        // Of an endpoint, only the messages with tags are surely the application's: the others are those of the library
        // that uses it.
        let is_asked_for = |context: Context| match self.numbers.endpoint() {
            Some(_) => Communicator::new(TAGGED).is_some_and(|tagged| context == tagged.messages()),
            None => !context.is_collective(),
        };
        arrived.chain(on_the_way).filter(|(_, envelope, _)| is_asked_for(envelope.context)).collect()
    }

    /// The messages that have come and have not been received.
    pub(super) fn unexpected(&self) -> impl Iterator<Item = (RankId, Envelope)> {
        self.rank.unexpected().map(|envelope| (RankId(self.me.into()), self.of_trace(envelope)))
    }

    /// The rank in the trace of one in the part.
    fn rank_of(&self, rank: RankId) -> Option<RankId> {
        self.numbers.of(rank).map(|rank| RankId(rank.into()))
    }

    /// The envelope of a message, with the sender's rank in the trace: messages come from known ranks only.
    fn of_trace(&self, envelope: &Envelope) -> Envelope {
        Envelope { source: self.rank_of(envelope.source).unwrap_or(envelope.source), ..*envelope }
    }

    fn record(
        &mut self,
        network: &mut Network,
        usage: &mut Usage,
        addresses: &mut Addresses,
        record: Record,
    ) -> Result<(), Differs> {
        match record {
            Record::Peer { rank, address } => {
                if self.numbers.name(RankId(rank), address, addresses) {
                    return Ok(());
                }
                let allowed =
                    "no: only an endpoint numbers its peers, each once, and so many as its head says";
                differs(format!("a peer got the number {rank}"), allowed)
            }
            Record::Call { call, answer, file, line, ignored } => {
                self.is_at(file.as_deref(), line);
                if let (Some(peer), true) = (ignored.first(), self.rank.needs_initial_progress(&call)) {
                    let (what, peer) = (self.numbers.call(&call), self.numbers.peer(RankId(*peer)));
                    let happened = format!("{what} was made while something of {peer} had arrived");
                    return differs(
                        happened,
                        "first what had arrived: such a call finds it (initial progress)",
                    );
                }
                self.check_peer(&call)?;
                self.call(network, call, &answer)?;
                match (call, answer) {
                    (Call::Send(send), CallAnswer::Request(_)) => {
                        let to = self.rank_of(send.to).unwrap_or(send.to);
                        usage.send(self.me.into(), &Send { to, ..send }, &self.at);
                    }
                    (Call::Collective(call), CallAnswer::Request(_)) => {
                        usage.collective(self.me.into(), &call, &self.at);
                    }
                    _ => {}
                }
                Ok(())
            }
            Record::Define { communicator, members } => {
                self.define(communicator, &members, network)?;
                let members: Vec<u32> = members
                    .iter()
                    .map(|rank| self.rank_of(RankId(*rank)).map_or(*rank, |rank| rank.0))
                    .collect();
                usage.define(self.me.into(), communicator, &members);
                Ok(())
            }
            Record::Forget { communicator } => self.forget(communicator),
            Record::Event(Event::Packet { from, context, packet }) => {
                self.packet(network, from, context, packet)
            }
            Record::Event(Event::Written(request)) => self.completion(network, request, ChannelKind::Written),
            Record::Event(Event::Read(request)) => {
                self.completion(network, request, ChannelKind::Read(request.index))
            }
            Record::Event(event @ Event::Fetched(..)) => {
                differs(self.numbers.event(&event), "no such completion: no rank has posted an atomic")
            }
            Record::Event(Event::Announce(request)) => self.announce(network, request),
            Record::Event(Event::Lost(peer)) => self.lost(network, peer),
            Record::Release { request, status } => self.release(request, status),
            Record::Probe { pattern, envelope, data, len } => {
                let (found, recorded) = (self.rank.probe(&pattern), Some(Arrived { envelope, data, len }));
                if found != recorded {
                    let recorded = self.numbers.found(recorded);
                    let happened = format!("a probe for {} found {recorded}", self.numbers.pattern(&pattern));
                    return differs(happened, self.numbers.found(found));
                }
                self.counts.answers += 1;
                Ok(())
            }
            Record::Claim { request, pattern, envelope, data, len } => {
                let Pattern { source, tag, context } = pattern;
                let claimed = self.rank.claim(source, tag, context.communicator(), &mut self.work);
                let recorded = Some((request, Arrived { envelope, data, len }));
                if claimed != recorded {
                    let what = |claimed: Option<(Handle, Arrived)>| {
                        let request =
                            claimed.map_or_else(String::new, |(request, _)| format!(", as {request}"));
                        format!("{}{request}", self.numbers.found(claimed.map(|(_, arrived)| arrived)))
                    };
                    let happened =
                        format!("a claim for {} got {}", self.numbers.pattern(&pattern), what(recorded));
                    return differs(happened, what(claimed));
                }
                self.perform(network);
                self.counts.answers += 1;
                Ok(())
            }
            // The reader of the part has handled it.
            Record::End(_) => Ok(()),
        }
    }

    /// An endpoint calls for peers that it has numbered before.
    fn check_peer(&self, call: &Call) -> Result<(), Differs> {
        let peer = match call {
            Call::Send(send) => send.to,
            Call::Receive(Receive { from: Source::Rank(from), .. }) => *from,
            _ => return Ok(()),
        };
        if self.numbers.endpoint().is_none() || self.numbers.of(peer).is_some() {
            return Ok(());
        }
        differs(self.numbers.call(call), format!("none: it has not said where its peer {} is", peer.0))
    }

    fn call(&mut self, network: &mut Network, call: Call, answer: &CallAnswer) -> Result<(), Differs> {
        let result = self.rank.call(call, &mut self.work);
        let what = self.numbers.call(&call);
        match (result, answer) {
            (Ok(request), CallAnswer::Request(recorded)) if request == *recorded => {}
            (Ok(request), CallAnswer::Request(recorded)) => {
                return differs(format!("{what} got {recorded}"), format!("{request}"));
            }
            (Ok(request), CallAnswer::Refused(why)) => {
                return differs(format!("{what} was refused: {why}"), format!("{request}"));
            }
            (Err(error), CallAnswer::Request(recorded)) => {
                return differs(format!("{what} got {recorded}"), format!("no request: {error}"));
            }
            (Err(error), CallAnswer::Refused(why)) if error.to_string() == *why => {}
            (Err(error), CallAnswer::Refused(why)) => {
                return differs(format!("{what} was refused: {why}"), format!("another refusal: {error}"));
            }
        }
        self.counts.calls += 1;
        self.perform(network);
        Ok(())
    }

    fn define(
        &mut self,
        communicator: Communicator,
        members: &[u32],
        network: &mut Network,
    ) -> Result<(), Differs> {
        let members: Vec<RankId> = members.iter().copied().map(RankId).collect();
        let number = communicator.index();
        let members = Members::new(&members, self.numbers.count());
        match members.and_then(|members| self.rank.define(communicator, members, &mut self.work)) {
            Ok(()) => {
                self.counts.calls += 1;
                self.perform(network);
                Ok(())
            }
            Err(error) => differs(format!("communicator {number} was defined"), format!("no: {error}")),
        }
    }

    fn forget(&mut self, communicator: Communicator) -> Result<(), Differs> {
        let number = communicator.index();
        match self.rank.forget(communicator) {
            Ok(()) => {
                self.counts.calls += 1;
                Ok(())
            }
            Err(error) => differs(format!("communicator {number} was forgotten"), format!("no: {error}")),
        }
    }

    fn packet(
        &mut self,
        network: &mut Network,
        from: RankId,
        context: Context,
        packet: Packet,
    ) -> Result<(), Differs> {
        let Some(peer) = self.numbers.of(from) else {
            let happened = self.numbers.arrival(from, context, &packet, false);
            let allowed = match self.numbers.endpoint() {
                None => format!("nothing: there are {} ranks", self.numbers.count()),
                Some(_) => format!("nothing: it has not said where its peer {} is", from.0),
            };
            return differs(happened, allowed);
        };
        if self.lost.contains(&from) {
            let happened = self.numbers.arrival(from, context, &packet, false);
            let peer = self.numbers.peer(from);
            return differs(happened, format!("nothing: the connection to {peer} is lost"));
        }
        let channel = Channel { at: self.me, peer, context, kind: packet.direction().into() };
        // Between nodes the adapter fills in the keys of memory that a packet offers; the rest of a packet comes from
        // the rank.
        let same = |sent: Packet| sent.with_key(0) == packet.with_key(0);
        if network.land_if(channel, |item| item.packet().is_some_and(same)).is_some() {
            return self.event(network, Event::Packet { from, context, packet });
        }
        let Some(expected) = network.next_on(channel).and_then(InFlight::packet) else {
            self.awaited = Some((from, context, packet));
            return Ok(());
        };
        // They may differ in fields that are not told by default.
        let short = |packet: &Packet| self.numbers.arrival(from, context, packet, false);
        let full = short(&packet) == short(&expected);
        let tell = |packet: &Packet| self.numbers.arrival(from, context, packet, full);
        let direction = tell::direction(&packet, context);
        differs(tell(&packet), format!("{}, the next that it has sent in {direction}", tell(&expected)))
    }

    fn completion(
        &mut self,
        network: &mut Network,
        request: Handle,
        kind: ChannelKind,
    ) -> Result<(), Differs> {
        let is_it = |(channel, item): &&(Channel, InFlight)| {
            channel.kind == kind && *item == InFlight::Completion(request)
        };
        let channel = network.heads_at(self.me).find(is_it).map(|(channel, _)| *channel);
        let Some(channel) = channel else {
            let name = tell::operation(kind);
            let among = |(channel, item): &(Channel, InFlight)| match item {
                InFlight::Completion(other) if tell::operation(channel.kind) == name => {
                    Some(other.to_string())
                }
                _ => None,
            };
            let others: Vec<String> = network.heads_at(self.me).filter_map(among).collect();
            let allowed = match &others[..] {
                [] => format!("none: no {name} is under way"),
                others => format!("that of {}", others.join(", or ")),
            };
            return differs(format!("the {name} of {request} was complete"), allowed);
        };
        network.land(channel, 0);
        let written = kind == ChannelKind::Written;
        self.event(network, if written { Event::Written(request) } else { Event::Read(request) })
    }

    fn announce(&mut self, network: &mut Network, request: Handle) -> Result<(), Differs> {
        if self.rank.announceable().any(|other| other == request) {
            return self.event(network, Event::Announce(request));
        }
        let others: Vec<String> = self.rank.announceable().map(|other| other.to_string()).collect();
        let allowed = match &others[..] {
            [] => "none: no receive may be announced".to_owned(),
            others => others.join(", or "),
        };
        differs(format!("{request} was announced"), allowed)
    }

    fn lost(&mut self, network: &mut Network, peer: RankId) -> Result<(), Differs> {
        let known = self.numbers.of(peer).filter(|_| peer != self.numbers.me() && !self.lost.contains(&peer));
        let Some(of_trace) = known else {
            let allowed = "no such loss: it is told of another rank, once";
            return differs(format!("the connection to {} was lost", self.numbers.peer(peer)), allowed);
        };
        // Packets that were delivered before stay delivered, none follows (the transport contract). What the rank
        // had posted itself is still reported as complete.
        let me = self.me;
        let is_lost = |channel: &Channel| {
            (channel.at, channel.peer) == (me, of_trace)
                && matches!(channel.kind, ChannelKind::Forward | ChannelKind::Back)
        };
        network.lose(is_lost);
        self.event(network, Event::Lost(peer))?;
        self.lost.insert(peer);
        Ok(())
    }

    fn release(&mut self, request: Handle, status: Status) -> Result<(), Differs> {
        let happened = || format!("{request} was ended: {}", self.numbers.status(&status));
        match self.rank.release(request) {
            Ok(Some(own)) if own == status => {
                self.counts.answers += 1;
                Ok(())
            }
            Ok(Some(own)) => differs(happened(), self.numbers.status(&own)),
            Ok(None) => {
                let state = self.rank.progress_of(request).unwrap_or("not complete");
                differs(happened(), format!("nothing yet: it is {state}"))
            }
            Err(error) => differs(happened(), format!("nothing: {error}")),
        }
    }

    fn event(&mut self, network: &mut Network, event: Event) -> Result<(), Differs> {
        if let Err(error) = self.rank.event(event, &mut self.work) {
            return differs(self.numbers.event(&event), format!("nothing of the kind: {error}"));
        }
        self.counts.events += 1;
        self.perform(network);
        Ok(())
    }

    /// Performs the work of the rank on the network.
    fn perform(&mut self, network: &mut Network) {
        let me = self.me;
        let numbers = &self.numbers;
        for work in self.work.drain(..) {
            match work {
                // Operations to a peer that was lost do nothing (the transport contract).
                Work::Send { to, .. } if self.lost.contains(&to) => {}
                Work::Send { to, context, packet, .. } => {
                    // Calls and packets of unknown peers have been refused.
                    if let Some(to) = numbers.of(to) {
                        network.send(me, to, context, packet, None);
                    }
                }
                Work::Write { context, write: Write { to, len, notice, request, .. }, receive } => {
                    // A replay does not look into memory, so any message will do.
                    let message = Message { from: me, send: 0 };
                    let data = Data { message, receive, len };
                    if let Some(to) = numbers.of(to) {
                        network.write((me, to), context, data, notice, request);
                    }
                }
                Work::Read { context, read: Read { of, notice, request, .. }, .. } => {
                    if let Some(of) = numbers.of(of) {
                        network.read_some_time((me, of), context, request, notice);
                    }
                }
                Work::Place { .. }
                | Work::Keep { .. }
                | Work::Take { .. }
                | Work::Copy { .. }
                | Work::Combine { .. }
                | Work::Window { .. }
                | Work::Complete { .. } => {}
            }
        }
    }
}
