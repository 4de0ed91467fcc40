//! The network: what is in flight, in which order it comes out, and what is not ordered.

use crate::program::Ordinal;
use carrousel_rank::{Context, Handle, Lane, Packet};

/// A message, named by who sent it: the sender's rank and the ordinal of its send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Message {
    /// The sender.
    pub from: u16,
    /// Its request.
    pub send: Ordinal,
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

impl From<Lane> for What {
    fn from(lane: Lane) -> Self {
        match lane {
            Lane::Forward => Self::Forward,
            Lane::Back => Self::Back,
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

/// What is in flight, sorted by route, within a route in the order in which it was sent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Network {
    flights: Vec<(Route, Flight)>,
}

impl Network {
    /// Everything in flight.
    pub fn iter(&self) -> impl Iterator<Item = &(Route, Flight)> {
        self.flights.iter()
    }

    /// How many things are in flight.
    pub fn len(&self) -> usize {
        self.flights.len()
    }

    /// Whether nothing is in flight.
    pub fn is_empty(&self) -> bool {
        self.flights.is_empty()
    }

    /// Everything in flight by route, the oldest thing on it first.
    pub fn routes(&self) -> impl Iterator<Item = &[(Route, Flight)]> {
        self.flights.chunk_by(|a, b| a.0 == b.0)
    }

    /// Whether something is on a route.
    pub fn has(&self, route: Route) -> bool {
        self.flights.binary_search_by(|(other, _)| other.cmp(&route)).is_ok()
    }

    /// Everything on these routes is lost.
    pub fn lose(&mut self, is_lost: impl Fn(&Route) -> bool) {
        self.flights.retain(|(route, _)| !is_lost(route));
    }

    /// A rank sends a packet, which may bring a message.
    pub fn send(&mut self, from: u16, to: u16, context: Context, packet: Packet, brings: Option<Message>) {
        let what = packet.lane().into();
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

    /// As [`Network::read`], for a replay, which is told when the notice came and not when the data did: the notice
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
            let what = packet.lane().into();
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

/// The oldest thing on each route.
fn heads(flights: &[(Route, Flight)]) -> impl Iterator<Item = &(Route, Flight)> {
    flights.chunk_by(|a, b| a.0 == b.0).filter_map(|route| route.first())
}
