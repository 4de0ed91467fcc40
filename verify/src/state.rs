//! A state of the whole system: the ranks, and what the network has in flight.

use crate::program::{Ordinal, Start};
use carrousel_rank::{Context, Direction, Handle, Kept, Packet, Protocol, Rank};
use carrousel_scenario::{Check, Received, RequestId};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A message, named by who sent it: the sender's rank and the ordinal of its send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Message {
    /// The sender.
    pub from: u16,
    /// Its request.
    pub send: Ordinal,
}

/// A state of the job.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct State<P: Protocol> {
    /// Which of the model's jobs this is a state of.
    pub job: u32,
    /// The ranks.
    pub procs: Vec<Shared<Proc<P>>>,
    /// What is in flight, sorted by lane, within a lane in the order in which it was sent.
    pub flights: Vec<(Route, Flight)>,
    /// What ranks have started with values that only an execution has, by rank and ordinal.
    pub begun: Vec<(u16, Ordinal, Start)>,
    /// What the last step did wrong.
    pub wrong: SmallVec<[Wrong; 1]>,
}

/// A value that successor states share until it changes, with its hash.
#[derive(Clone, Debug)]
pub struct Shared<T> {
    hash: u64,
    value: Arc<T>,
}

impl<T: Hash + Clone> Shared<T> {
    /// Wraps a value.
    pub fn new(value: T) -> Self {
        Self { hash: hash_of(&value), value: Arc::new(value) }
    }

    /// Changes the value, a copy of it if it is shared.
    pub fn change<R>(&mut self, change: impl FnOnce(&mut T) -> R) -> R {
        let value = Arc::make_mut(&mut self.value);
        let result = change(value);
        self.hash = hash_of(value);
        result
    }
}

/// A hash that is the same in every run, so that state counts can be compared.
fn hash_of<T: Hash>(value: &T) -> u64 {
    ahash::RandomState::with_seeds(1, 2, 3, 4).hash_one(value)
}

impl<T> std::ops::Deref for Shared<T> {
    type Target = T;
    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: PartialEq> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        self.hash == other.hash && self.value == other.value
    }
}

impl<T: Eq> Eq for Shared<T> {}

impl<T> Hash for Shared<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// One rank, and what a person standing beside it knows.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Proc<P: Protocol> {
    /// The next step of its program.
    pub pc: u16,
    /// The library.
    pub rank: Rank<P>,
    /// Requests that the program has not released, by ordinal.
    pub open: SmallVec<[Open; 4]>,
    /// Receives without a message, in posting order, by MPI's rule and not by the library's word.
    pub waiting: SmallVec<[Ordinal; 4]>,
    /// Messages without a receive, in order of arrival, by MPI's rule.
    pub arrived: SmallVec<[Message; 4]>,
    /// Which message each piece of library memory holds.
    pub kept: SmallVec<[(Kept, Message); 2]>,
    /// The messages that names stand for, by name, as long as a statement may ask for them.
    pub received: SmallVec<[(RequestId, Received); 1]>,
}

/// A request that the program has not released.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Open {
    /// Its name here.
    pub ordinal: Ordinal,
    /// Its name in the library. A collective has none under the weakest MPI: of that MPI's rule is asked, not our
    /// schedule.
    pub handle: Option<Handle>,
    /// Of a receive: the message that MPI's rule gives it, until it is complete.
    pub message: Option<Message>,
    /// Of a send: its peer may read its buffer. Of a receive: its peer may have been told of its buffer.
    pub exposed: bool,
    /// The network is reading or writing its buffer on behalf of this rank.
    pub busy: bool,
}

impl<P: Protocol> Proc<P> {
    /// Whether the program has started this request and not released it.
    pub fn is_open(&self, ordinal: Ordinal) -> bool {
        self.open.iter().any(|open| open.ordinal == ordinal)
    }

    /// The open request with this ordinal.
    pub fn by_ordinal(&mut self, ordinal: Ordinal) -> Option<&mut Open> {
        self.open.iter_mut().find(|open| open.ordinal == ordinal)
    }

    /// The open request with this name in the library.
    pub fn by_handle(&mut self, handle: Handle) -> Option<&mut Open> {
        self.open.iter_mut().find(|open| open.handle == Some(handle))
    }

    /// Whether `ordinal` is released, or complete by the library's word.
    pub fn is_over(&self, ordinal: Ordinal) -> bool {
        self.open.iter().find(|open| open.ordinal == ordinal).is_none_or(|open| self.is_complete(open))
    }

    /// Whether an open request is complete by the library's word.
    pub fn is_complete(&self, open: &Open) -> bool {
        open.handle.is_some_and(|handle| self.rank.is_complete(handle))
    }
}

/// A first-in-first-out part of the network. Between two of them nothing is ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Route {
    /// The rank at whose end things come out.
    pub at: u16,
    /// The rank at the other end.
    pub peer: u16,
    /// The communicator.
    pub context: Context,
    /// What travels here.
    pub what: What,
}

/// What travels on a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum What {
    /// Packets from the peer as a sender of messages.
    Forward,
    /// Packets from the peer as a receiver of messages.
    Back,
    /// Completions of this rank's writes to the peer.
    Written,
    /// Data, then completion, of this rank's read from the peer, on behalf of the request at this position.
    Read(u32),
}

impl From<Direction> for What {
    fn from(lane: Direction) -> Self {
        match lane {
            Direction::ToReceiver => Self::Forward,
            Direction::ToSender => Self::Back,
        }
    }
}

/// Something in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Flight {
    /// A packet; of a matching packet, the message that it brings.
    Packet(Packet, Option<Message>),
    /// Data on its way into a receive's memory, and the packet directly behind it.
    Data(Data, Option<Packet>),
    /// Data that a rank reads, and the packet directly behind it.
    Read(Reading, Option<Packet>),
    /// The packet behind a read, in its lane, of which is not known when the data lands: what follows it may be sooner.
    Notice(Packet),
    /// A completion of this request.
    Completion(Handle),
}

impl Flight {
    /// The message that it brings, or whose data it is.
    pub fn message(&self) -> Option<Message> {
        match *self {
            Self::Packet(_, message) => message,
            Self::Data(data, _) => Some(data.message),
            Self::Read(..) | Self::Notice(_) | Self::Completion(_) => None,
        }
    }

    /// The packet that is reported when it comes out.
    pub fn packet(&self) -> Option<Packet> {
        match *self {
            Self::Packet(packet, _) | Self::Data(_, Some(packet)) | Self::Notice(packet) => Some(packet),
            Self::Data(_, None) | Self::Read(..) | Self::Completion(_) => None,
        }
    }
}

/// The oldest thing on each route.
fn heads(flights: &[(Route, Flight)]) -> impl Iterator<Item = &(Route, Flight)> {
    flights.chunk_by(|a, b| a.0 == b.0).filter_map(|route| route.first())
}

/// Data on its way into a receive's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Data {
    /// The message.
    pub message: Message,
    /// The receive that it goes to.
    pub receive: Handle,
    /// Bytes.
    pub len: u64,
}

/// Data that a rank reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reading {
    /// The peer's request whose buffer it is in.
    pub send: Handle,
    /// The request that reads it.
    pub request: Handle,
}

impl<P: Protocol> State<P> {
    /// A rank sends a packet, which may bring a message.
    pub fn send(&mut self, from: u16, to: u16, context: Context, packet: Packet, brings: Option<Message>) {
        let what = packet.direction().into();
        self.launch(Route { at: to, peer: from, context, what }, Flight::Packet(packet, brings));
    }

    /// A rank writes, with a packet directly behind the data, and will be told that the request is complete.
    pub fn write(
        &mut self,
        (from, to): (u16, u16),
        context: Context,
        data: Data,
        notice: Option<Packet>,
        request: Handle,
    ) {
        let route = Route { at: to, peer: from, context, what: What::Forward };
        self.launch(route, Flight::Data(data, notice));
        self.written(from, to, context, request);
    }

    /// A rank will be told that a write is complete.
    pub fn written(&mut self, from: u16, to: u16, context: Context, request: Handle) {
        let route = Route { at: from, peer: to, context, what: What::Written };
        self.launch(route, Flight::Completion(request));
    }

    /// A rank reads. When the data lands, the packet directly behind it leaves; later the rank is told that the request
    /// is complete.
    pub fn read(
        &mut self,
        (from, of): (u16, u16),
        context: Context,
        reading: Reading,
        notice: Option<Packet>,
    ) {
        let route = Route { at: from, peer: of, context, what: What::Read(reading.request.index) };
        self.launch(route, Flight::Read(reading, notice));
    }

    /// The data of a read has landed: the packet behind it leaves, and the completion is on its way.
    pub fn landed(&mut self, route: Route, reading: Reading, notice: Packet) {
        self.send(route.at, route.peer, route.context, notice, None);
        self.launch(route, Flight::Completion(reading.request));
    }

    /// As [`State::read`], for a replay, which is told when the notice came and not when the data did: the notice
    /// keeps its place behind what was sent before the read, and what is sent later may pass it.
    pub fn read_some_time(
        &mut self,
        (from, of): (u16, u16),
        context: Context,
        request: Handle,
        notice: Option<Packet>,
    ) {
        let route = Route { at: from, peer: of, context, what: What::Read(request.index) };
        self.launch(route, Flight::Completion(request));
        if let Some(packet) = notice {
            let what = packet.direction().into();
            self.launch(Route { at: of, peer: from, context, what }, Flight::Notice(packet));
        }
    }

    /// Whether the data of a rank's send is being read: its peer has not got it yet.
    pub fn is_being_read(&self, rank: u16, send: Handle) -> bool {
        let is_it = |(route, flight): &(Route, Flight)| {
            route.peer == rank && matches!(flight, Flight::Read(reading, _) if reading.send == send)
        };
        self.flights.iter().any(is_it)
    }

    /// Puts something on a route.
    pub fn launch(&mut self, route: Route, flight: Flight) {
        let at = self.flights.partition_point(|(other, _)| *other <= route);
        self.flights.insert(at, (route, flight));
    }

    /// Takes something off a route: the oldest thing at `place` 0. No real connection gives another.
    pub fn land(&mut self, route: Route, place: usize) -> Option<Flight> {
        let at = self.flights.partition_point(|(other, _)| *other < route) + place;
        (self.flights.get(at)?.0 == route).then(|| self.flights.remove(at).1)
    }

    /// What is on a route, with so many older things before it.
    fn at(&self, route: Route, place: usize) -> Option<&Flight> {
        let at = self.flights.partition_point(|(other, _)| *other < route) + place;
        self.flights.get(at).filter(|(other, _)| *other == route).map(|(_, flight)| flight)
    }

    /// Takes the oldest thing off a route if `is_it`, after data without a notice, of which nobody is told. Notices of
    /// reads may be later than what is behind them.
    pub fn land_if(&mut self, route: Route, is_it: impl Fn(&Flight) -> bool) -> Option<Flight> {
        let mut place = 0;
        loop {
            let first = self.at(route, place)?;
            if is_it(first) {
                return self.land(route, place);
            }
            match first {
                Flight::Data(_, None) => {
                    self.land(route, place);
                }
                Flight::Notice(_) => place += 1,
                _ => return None,
            }
        }
    }

    /// What has to come out of a route before anything behind it does.
    pub fn next_on(&self, route: Route) -> Option<&Flight> {
        (0..).map_while(|place| self.at(route, place)).find(|flight| !matches!(flight, Flight::Notice(_)))
    }

    /// Whether a message is under way to where it will be matched, or has come and has no receive. One that
    /// is written into its receive is matched.
    pub fn is_unmatched(&self, message: Message, to: u16) -> bool {
        let brings = |flight: &Flight| matches!(flight, Flight::Packet(Packet::Eager { .. } | Packet::Rts { .. }, Some(it)) if *it == message);
        self.procs[usize::from(to)].arrived.contains(&message)
            || self.flights.iter().any(|(route, flight)| route.at == to && brings(flight))
    }

    /// The ranks by their numbers, of which there may be as many as fit.
    pub fn ranks(&self) -> impl Iterator<Item = (u16, &Shared<Proc<P>>)> {
        (0..=u16::MAX).zip(&self.procs)
    }

    /// The oldest thing on each route that is not empty.
    pub fn heads(&self) -> impl Iterator<Item = &(Route, Flight)> {
        heads(&self.flights)
    }

    /// The oldest thing on each route to a rank that is not empty.
    pub fn heads_at(&self, rank: u16) -> impl Iterator<Item = &(Route, Flight)> {
        let begin = self.flights.partition_point(|(route, _)| route.at < rank);
        let end = self.flights.partition_point(|(route, _)| route.at <= rank);
        heads(&self.flights[begin..end])
    }
}

/// A violated check, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wrong {
    /// The check.
    pub check: Check,
    /// What happened.
    pub note: Note,
}

impl Wrong {
    /// Whether the library broke a promise, so that what follows means nothing and is not explored.
    pub fn is_fatal(&self) -> bool {
        matches!(
            self.note,
            Note::WrongReceive { .. }
                | Note::WrittenTooLate { .. }
                | Note::WrittenPastEnd { .. }
                | Note::CompleteTooEarly { .. }
                | Note::Impossible { .. }
                | Note::Abandoned { .. }
        )
    }
}

/// What went wrong, for the explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Note {
    /// A rank is stuck.
    Stuck,
    /// A rank cannot go on: a value in its next statement leaves its range.
    OutOfRange {
        /// This rank.
        at: u16,
    },
    /// A rank is stuck in a request that has its partner: the library has forgotten it.
    Abandoned {
        /// At this rank.
        at: u16,
        /// The request.
        request: Ordinal,
    },
    /// A message went to another receive than MPI's rule says.
    WrongReceive {
        /// At this rank.
        at: u16,
        /// The message.
        message: Message,
        /// The receive that should have it.
        should: Option<Ordinal>,
        /// The receive that got it.
        got: Option<Ordinal>,
    },
    /// Data was written into a receive that is over.
    WrittenTooLate {
        /// At this rank.
        at: u16,
        /// The message.
        message: Message,
        /// The receive, if the program has not released it.
        receive: Option<Ordinal>,
    },
    /// Data was written past the end of a receive.
    WrittenPastEnd {
        /// At this rank.
        at: u16,
        /// The message.
        message: Message,
        /// The receive.
        receive: Ordinal,
    },
    /// A request was complete while its buffer was still in use.
    CompleteTooEarly {
        /// At this rank.
        at: u16,
        /// The request.
        request: Ordinal,
    },
    /// The library called a packet impossible.
    Impossible {
        /// At this rank.
        at: u16,
        /// From this one.
        from: u16,
    },
    /// A message was longer than its receive.
    TooLong {
        /// At this rank.
        at: u16,
        /// The message.
        message: Message,
        /// The receive.
        receive: Ordinal,
    },
    /// A message of a collective was longer than what this rank expected: the ranks do not agree on its size.
    TooLongInCollective {
        /// At this rank.
        at: u16,
        /// Its collective.
        request: Ordinal,
    },
    /// The program used a buffer that a request was using.
    BufferInUse {
        /// At this rank.
        at: u16,
        /// The request that has it.
        request: Ordinal,
        /// It is being written, not read.
        written: bool,
    },
    /// A wildcard receive got another message than in another execution.
    OtherMatch {
        /// At this rank.
        at: u16,
        /// The receive.
        receive: Ordinal,
        /// Its message here.
        message: Message,
        /// Its message there.
        other: Message,
    },
    /// The program ended with an open request.
    Leak {
        /// At this rank.
        at: u16,
        /// The request.
        request: Ordinal,
    },
    /// The program ended with a message that nobody received.
    Unmatched {
        /// At this rank.
        at: u16,
        /// The message.
        message: Message,
    },
    /// The program ended with a message of a collective that this rank did not take part in as others did.
    UnmatchedOfCollective {
        /// At this rank.
        at: u16,
        /// Of this rank.
        from: u16,
    },
}
