//! One rank of a trace: its part, and the state machine that the part is fed to.

use super::Departure;
use super::tell;
use crate::state::{Data, Flight, Message, Route, State, What};
use carrousel_rank::{
    Call, Communicator, Context, Event, Handle, Job, Mirror, Options, Packet, Rank, RankId, Status, Work,
};
use carrousel_trace::{Answer, End, Part, Record, TraceError};
use std::collections::BTreeSet;

/// What has been replayed of one part.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) calls: u64,
    pub(super) events: u64,
    pub(super) answers: u64,
}

impl Counts {
    pub(super) fn all(&self) -> u64 {
        self.calls + self.events + self.answers
    }
}

/// Why a turn ends.
pub(super) enum Stop {
    /// The part is over, or the rank needs something that is not in flight yet.
    Over,
    /// Too much is in flight.
    Crowded,
    /// The model does not allow the next record.
    Departed(Departure),
}

/// One rank.
pub(super) struct Player {
    pub(super) me: u16,
    pub(super) counts: Counts,
    rank: Rank<Mirror>,
    ranks: u32,
    part: Option<Part>,
    /// A packet that has to come, but is not in flight yet.
    awaited: Option<(RankId, Context, Packet)>,
    /// Where the application said that it was.
    at: Option<u32>,
    /// Peers whose connection is lost.
    lost: BTreeSet<RankId>,
    work: Vec<Work>,
}

/// What a record says and what the model allows, where these differ.
struct Differs {
    happened: String,
    allowed: String,
}

fn differs<T>(happened: impl Into<String>, allowed: impl Into<String>) -> Result<T, Differs> {
    Err(Differs { happened: happened.into(), allowed: allowed.into() })
}

impl Player {
    pub(super) fn new(me: u16, job: &Job, options: &Options, part: Option<Part>) -> Self {
        Self {
            me,
            counts: Counts::default(),
            rank: Rank::new(RankId(me.into()), job, options),
            ranks: job.ranks,
            part,
            awaited: None,
            at: None,
            lost: BTreeSet::new(),
            work: Vec::new(),
        }
    }

    /// Goes on until something holds it up.
    pub(super) fn turn(&mut self, network: &mut State<Mirror>, most: usize) -> Result<Stop, TraceError> {
        loop {
            if network.flights.len() > most && self.awaited.is_none() {
                return Ok(Stop::Crowded);
            }
            let done = if let Some((from, context, packet)) = self.awaited.take() {
                self.packet(network, from, context, packet)
            } else {
                let Some(part) = &mut self.part else { return Ok(Stop::Over) };
                let Some(record) = part.next_record()? else { return Ok(Stop::Over) };
                self.record(network, record)
            };
            if let Err(Differs { happened, allowed }) = done {
                return Ok(Stop::Departed(self.departure(happened, allowed)));
            }
            if self.awaited.is_some() {
                return Ok(Stop::Over);
            }
        }
    }

    /// Whom it needs a packet of, if that is what holds it up.
    pub(super) fn needs(&self) -> Option<u16> {
        self.awaited.map(|(from, ..)| from.0 as u16)
    }

    /// How its part ends.
    pub(super) fn end(&self) -> Option<End> {
        self.part.as_ref().and_then(Part::end)
    }

    /// Bytes of its part that have been read.
    pub(super) fn read(&self) -> u64 {
        self.part.as_ref().map_or(0, Part::read)
    }

    /// The line of its part that was read last; `None` without a part.
    pub(super) fn line(&self) -> Option<u64> {
        self.part.as_ref().map(Part::line)
    }

    /// The last record that was replayed, as a gap has it.
    pub(super) fn replayed(&self) -> u64 {
        self.line().map_or(0, |line| line - u64::from(self.awaited.is_some()))
    }

    /// The packet that it needs is none that its sender has sent.
    pub(super) fn never_sent(&self) -> Departure {
        let (happened, allowed) = match self.awaited {
            Some((from, context, packet)) => {
                let lane = tell::lane(&packet, context);
                let allowed = format!("nothing: of what {from} has sent in {lane}, all has come before");
                (tell::arrival(from, context, &packet, false), allowed)
            }
            None => Default::default(),
        };
        self.departure(happened, allowed)
    }

    fn departure(&self, happened: String, allowed: String) -> Departure {
        let record = self.line().unwrap_or_default();
        Departure { rank: self.me.into(), record, line: self.at, happened, allowed }
    }

    fn record(&mut self, network: &mut State<Mirror>, record: Record) -> Result<(), Differs> {
        match record {
            Record::Call { call, answer, line, ignored } => {
                self.at = line.or(self.at);
                if let (Some(peer), true) = (ignored.first(), self.rank.needs_initial_progress(&call)) {
                    let happened =
                        format!("{} was made while something of rank {peer} had arrived", tell::call(&call));
                    return differs(
                        happened,
                        "first what had arrived: such a call finds it (initial progress)",
                    );
                }
                self.call(network, call, &answer)
            }
            Record::Define { communicator, members } => self.define(communicator, &members),
            Record::Forget { communicator } => self.forget(communicator),
            Record::Event(Event::Packet { from, context, packet }) => {
                self.packet(network, from, context, packet)
            }
            Record::Event(Event::Written(request)) => self.completion(network, request, What::Written),
            Record::Event(Event::Read(request)) => {
                self.completion(network, request, What::Read(request.index))
            }
            Record::Event(Event::Announce(request)) => self.announce(network, request),
            Record::Event(Event::Lost(peer)) => self.lost(network, peer),
            Record::Release { request, status } => self.release(request, status),
            Record::Probe { pattern, envelope, len } => {
                let found = self.rank.probe(&pattern);
                if found != Some((envelope, len)) {
                    let recorded = tell::found(Some((envelope, len)));
                    let happened = format!("a probe for {} found {recorded}", tell::pattern(&pattern));
                    return differs(happened, tell::found(found));
                }
                self.counts.answers += 1;
                Ok(())
            }
            // The part has taken it for its own.
            Record::End(_) => Ok(()),
        }
    }

    fn call(&mut self, network: &mut State<Mirror>, call: Call, answer: &Answer) -> Result<(), Differs> {
        let result = self.rank.call(call, &mut self.work);
        let what = tell::call(&call);
        match (result, answer) {
            (Ok(request), Answer::Request(recorded)) if request == *recorded => {}
            (Ok(request), Answer::Request(recorded)) => {
                return differs(format!("{what} got {recorded}"), format!("{request}"));
            }
            (Ok(request), Answer::Refused(why)) => {
                return differs(format!("{what} was refused: {why}"), format!("{request}"));
            }
            (Err(error), Answer::Request(recorded)) => {
                return differs(format!("{what} got {recorded}"), format!("no request: {error}"));
            }
            (Err(error), Answer::Refused(why)) if error.to_string() == *why => {}
            (Err(error), Answer::Refused(why)) => {
                return differs(format!("{what} was refused: {why}"), format!("another refusal: {error}"));
            }
        }
        self.counts.calls += 1;
        self.perform(network);
        Ok(())
    }

    fn define(&mut self, communicator: Communicator, members: &[u32]) -> Result<(), Differs> {
        let members: Vec<RankId> = members.iter().copied().map(RankId).collect();
        let number = communicator.index();
        match self.rank.define(communicator, &members) {
            Ok(()) => {
                self.counts.calls += 1;
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
        network: &mut State<Mirror>,
        from: RankId,
        context: Context,
        packet: Packet,
    ) -> Result<(), Differs> {
        if from.0 >= self.ranks {
            let happened = tell::arrival(from, context, &packet, false);
            return differs(happened, format!("nothing: there are {} ranks", self.ranks));
        }
        if self.lost.contains(&from) {
            let happened = tell::arrival(from, context, &packet, false);
            return differs(happened, format!("nothing: the connection to {from} is lost"));
        }
        let route = Route { at: self.me, peer: from.0 as u16, context, what: packet.lane().into() };
        // Between nodes an adapter has its own keys for the memory that a packet offers, which are all that the rank does
        // not say itself.
        let same = |sent: Packet| sent.with_key(0) == packet.with_key(0);
        if network.land_if(route, |flight| flight.packet().is_some_and(same)).is_some() {
            return self.event(network, Event::Packet { from, context, packet });
        }
        let Some(expected) = network.next_on(route).and_then(Flight::packet) else {
            self.awaited = Some((from, context, packet));
            return Ok(());
        };
        // They may differ in what is not told by default.
        let short = |packet: &Packet| tell::arrival(from, context, packet, false);
        let full = short(&packet) == short(&expected);
        let tell = |packet: &Packet| tell::arrival(from, context, packet, full);
        let lane = tell::lane(&packet, context);
        differs(tell(&packet), format!("{}, the next that it has sent in {lane}", tell(&expected)))
    }

    fn completion(
        &mut self,
        network: &mut State<Mirror>,
        request: Handle,
        what: What,
    ) -> Result<(), Differs> {
        let is_it =
            |(route, flight): &&(Route, Flight)| route.what == what && *flight == Flight::Completion(request);
        let route = network.heads_at(self.me).find(is_it).map(|(route, _)| *route);
        let Some(route) = route else {
            let name = tell::operation(what);
            let among = |(route, flight): &(Route, Flight)| match flight {
                Flight::Completion(other) if tell::operation(route.what) == name => Some(other.to_string()),
                _ => None,
            };
            let others: Vec<String> = network.heads_at(self.me).filter_map(among).collect();
            let allowed = match &others[..] {
                [] => format!("none: no {name} is under way"),
                others => format!("that of {}", others.join(", or ")),
            };
            return differs(format!("the {name} of {request} was complete"), allowed);
        };
        network.land(route, 0);
        let written = what == What::Written;
        self.event(network, if written { Event::Written(request) } else { Event::Read(request) })
    }

    fn announce(&mut self, network: &mut State<Mirror>, request: Handle) -> Result<(), Differs> {
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

    fn lost(&mut self, network: &mut State<Mirror>, peer: RankId) -> Result<(), Differs> {
        if peer.0 >= self.ranks || peer.0 == u32::from(self.me) || self.lost.contains(&peer) {
            let allowed = "no such loss: it is told of another rank, once";
            return differs(format!("the connection to {peer} was lost"), allowed);
        }
        // Packets that were delivered before stay delivered, none follows (the transport contract). What the rank
        // had posted itself is still reported as complete.
        let me = self.me;
        let never = |route: &Route| {
            (route.at, u32::from(route.peer)) == (me, peer.0)
                && matches!(route.what, What::Forward | What::Back)
        };
        network.flights.retain(|(route, _)| !never(route));
        self.event(network, Event::Lost(peer))?;
        self.lost.insert(peer);
        Ok(())
    }

    fn release(&mut self, request: Handle, status: Status) -> Result<(), Differs> {
        let happened = || format!("{request} was ended: {}", tell::status(&status));
        match self.rank.release(request) {
            Ok(Some(own)) if own == status => {
                self.counts.answers += 1;
                Ok(())
            }
            Ok(Some(own)) => differs(happened(), tell::status(&own)),
            Ok(None) => {
                let state = self.rank.progress_of(request).unwrap_or("not complete");
                differs(happened(), format!("nothing yet: it is {state}"))
            }
            Err(error) => differs(happened(), format!("nothing: {error}")),
        }
    }

    fn event(&mut self, network: &mut State<Mirror>, event: Event) -> Result<(), Differs> {
        if let Err(error) = self.rank.event(event, &mut self.work) {
            return differs(tell::event(&event), format!("nothing of the kind: {error}"));
        }
        self.counts.events += 1;
        self.perform(network);
        Ok(())
    }

    /// Puts into the network what the rank has asked for.
    fn perform(&mut self, network: &mut State<Mirror>) {
        let me = self.me;
        for work in self.work.drain(..) {
            match work {
                // Operations to a peer that was lost do nothing (the transport contract).
                Work::Send { to, .. } if self.lost.contains(&to) => {}
                Work::Send { to, context, packet, .. } => {
                    network.send(me, to.0 as u16, context, packet, None);
                }
                Work::Write { to, context, receive, len, notice, request, .. } => {
                    // Which message it is matters to the checker, which looks into memory.
                    let message = Message { from: me, send: 0 };
                    let data = Data { message, receive, len };
                    network.write((me, to.0 as u16), context, data, notice, request);
                }
                Work::Read { of, context, notice, request, .. } => {
                    network.read_some_time((me, of.0 as u16), context, request, notice);
                }
                Work::Place { .. }
                | Work::Keep { .. }
                | Work::Take { .. }
                | Work::Copy { .. }
                | Work::Combine { .. }
                | Work::Complete { .. } => {}
            }
        }
    }
}
