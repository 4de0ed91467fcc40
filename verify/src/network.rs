//! The network: packets, data and completions in flight, and the order in which they can come out.

use crate::hashed::Hashed;
use crate::program::Ordinal;
use carrousel_rank::epoch::{self, GrantWord, OperationId};
use carrousel_rank::{Context, Direction, Handle, Packet};
use smallvec::SmallVec;

/// A message, named by its sender's rank and the ordinal of its send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Message {
    /// The sender.
    pub from: u16,
    /// Its request.
    pub send: Ordinal,
}

/// A first-in-first-out channel of the network. Nothing is ordered between two channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Channel {
    /// The rank at which items come out.
    pub at: u16,
    /// The rank at the other end.
    pub peer: u16,
    /// The communicator.
    pub context: Context,
    /// The kind of items in it.
    pub kind: ChannelKind,
}

/// The kind of items in a channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ChannelKind {
    /// Packets from the peer as a sender of messages.
    Forward,
    /// Packets from the peer as a receiver of messages.
    Back,
    /// Completions of this rank's writes to the peer.
    Written,
    /// Data, then completion, of this rank's read from the peer, on behalf of the request at this position.
    Read(u32),
    /// Data and packets of the peer in this window, in the order in which it has posted them.
    Lane(u16),
    /// What the atomics of this rank fetch from the peer in this window.
    Fetch(u16),
    /// What this rank reads from the peer in this window without atomics.
    Get(u16),
    /// Completions of this rank's transfers to the peer in this window.
    Moved(u16),
    /// Grant words of this window that the peer writes.
    Grants(u16),
}

impl Channel {
    /// The rank that has begun the transfers of a window in it: what is fetched comes out where it began.
    pub fn origin(&self) -> u16 {
        match self.kind {
            ChannelKind::Get(_) | ChannelKind::Fetch(_) => self.at,
            _ => self.peer,
        }
    }
}

impl Channel {
    /// The window whose memory the transfers in it concern, and the rank of that memory.
    pub(crate) fn memory(&self) -> Option<(u16, u16)> {
        match self.kind {
            ChannelKind::Lane(window) => Some((window, self.at)),
            ChannelKind::Get(window) | ChannelKind::Fetch(window) => Some((window, self.peer)),
            _ => None,
        }
    }
}

impl From<Direction> for ChannelKind {
    fn from(direction: Direction) -> Self {
        match direction {
            Direction::ToReceiver => Self::Forward,
            Direction::ToSender => Self::Back,
        }
    }
}

/// An item in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InFlight {
    /// A packet, with the message that it brings if it is one that receives are matched with.
    Packet(Packet, Option<Message>),
    /// Data on its way into a receive's memory, and the packet directly behind it.
    Data(Data, Option<Packet>),
    /// Data that a rank reads, and the packet directly behind it.
    Read(Reading, Option<Packet>),
    /// The packet behind a read, in the channel of its packets. When the data lands is not known, so packets behind
    /// it may overtake it.
    Notice(Packet),
    /// A completion of this request.
    Completion(Handle),
    /// A transfer of a window: in a lane until it is in the target's memory, or until what it fetches is at the origin.
    Transfer(Moving),
    /// The completion of a transfer.
    Moved(OperationId),
    /// A packet of a window.
    OfEpoch {
        /// The packet.
        packet: epoch::Packet,
        /// It leaves when all that its sender fetches from the receiver has come.
        fenced: bool,
    },
    /// A grant word has this value now.
    Granted(GrantWord, u64),
}

/// A transfer of a window under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Moving {
    /// Its name in the library.
    pub operation: OperationId,
    /// Its name in the program of its origin.
    pub access: u16,
    /// Its operand is in a staging buffer of the target when it is there: the target's processor applies it.
    pub is_staged: bool,
}

impl InFlight {
    /// The message that it brings, or whose data it is.
    pub fn message(&self) -> Option<Message> {
        match *self {
            Self::Packet(_, message) => message,
            Self::Data(data, _) => Some(data.message),
            Self::Read(..)
            | Self::Notice(_)
            | Self::Completion(_)
            | Self::Transfer(_)
            | Self::Moved(_)
            | Self::OfEpoch { .. }
            | Self::Granted(..) => None,
        }
    }

    /// The packet that is reported when it comes out.
    pub fn packet(&self) -> Option<Packet> {
        match *self {
            Self::Packet(packet, _) | Self::Data(_, Some(packet)) | Self::Notice(packet) => Some(packet),
            Self::Data(_, None)
            | Self::Read(..)
            | Self::Completion(_)
            | Self::Transfer(_)
            | Self::Moved(_)
            | Self::OfEpoch { .. }
            | Self::Granted(..) => None,
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

/// An item in flight, with its channel.
pub type Item = Hashed<(Channel, InFlight)>;

/// The items in flight: sorted by channel, and within a channel in the order in which they were sent.
///
/// They are in parts that states share, each for some ranks at which items come out: a step changes as many parts as it has
/// peers at most, and a state of very many ranks has very many items.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Network {
    /// Of [`PART`] ranks each; the last one, and any other that is there, has items.
    parts: SmallVec<[Option<Hashed<Part>>; 1]>,
}

/// Ranks of a part.
const PART: usize = 8;

/// Items to some ranks.
type Part = Vec<Item>;

fn part_of(rank: u16) -> usize {
    usize::from(rank) / PART
}

impl Network {
    /// All items.
    pub fn iter(&self) -> impl Iterator<Item = &(Channel, InFlight)> {
        self.parts().flatten().map(|item| &**item)
    }

    /// The items of each part.
    fn parts(&self) -> impl Iterator<Item = &[Item]> {
        self.parts.iter().flatten().map(|part| part.as_slice())
    }

    /// The items of the part that a rank is in.
    fn part(&self, rank: u16) -> &[Item] {
        self.parts.get(part_of(rank)).and_then(Option::as_ref).map_or(&[], |part| part.as_slice())
    }

    /// Replaces the items of the part that a rank is in.
    fn set_part(&mut self, rank: u16, items: Part) {
        let at = part_of(rank);
        if self.parts.len() <= at {
            self.parts.resize(at + 1, None);
        }
        self.parts[at] = (!items.is_empty()).then(|| Hashed::new(items));
        let last = self.parts.iter().rposition(Option::is_some);
        self.parts.truncate(last.map_or(0, |last| last + 1));
    }

    /// The number of items.
    pub fn len(&self) -> usize {
        self.parts().map(<[Item]>::len).sum()
    }

    /// Whether no item is in flight.
    pub fn is_empty(&self) -> bool {
        self.parts.is_empty()
    }

    /// The items of each channel that is not empty, the oldest first.
    pub fn channels(&self) -> impl Iterator<Item = &[Item]> {
        self.parts().flat_map(|part| part.chunk_by(|a, b| a.0 == b.0))
    }

    /// Whether a channel has an item.
    pub fn has(&self, channel: Channel) -> bool {
        self.part(channel.at).binary_search_by(|item| item.0.cmp(&channel)).is_ok()
    }

    /// Drops all items of some channels.
    pub fn lose(&mut self, is_lost: impl Fn(&Channel) -> bool) {
        let kept: Vec<Item> = self.parts().flatten().filter(|item| !is_lost(&item.0)).cloned().collect();
        self.parts.clear();
        for part in kept.chunk_by(|a, b| part_of(a.0.at) == part_of(b.0.at)) {
            self.set_part(part[0].0.at, part.to_vec());
        }
    }

    /// Whether a peer is reading the data of a rank's send, and has not got it yet.
    pub fn is_being_read(&self, rank: u16, send: Handle) -> bool {
        self.iter().any(|item| is_reading(item, rank, send))
    }

    /// The transfers of a window to or from the memory of a rank, with the ranks that have begun them.
    pub fn transfers(&self, window: u16, target: u16) -> impl Iterator<Item = (u16, Moving)> {
        self.iter().filter_map(move |item| transfer(item, window, target))
    }

    /// Whether the oldest item of a channel can come out: a fenced packet stays until all that its sender fetches from
    /// the receiver has come.
    pub fn is_free(&self, channel: Channel, item: &InFlight) -> bool {
        match (item, channel.kind) {
            (InFlight::OfEpoch { fenced: true, .. }, ChannelKind::Lane(window)) => {
                let back = |kind| Channel { at: channel.peer, peer: channel.at, kind, ..channel };
                !self.has(back(ChannelKind::Get(window))) && !self.has(back(ChannelKind::Fetch(window)))
            }
            _ => true,
        }
    }

    /// Takes an item out of a channel: the oldest one is at `place` 0. Real connections give only that.
    pub fn land(&mut self, channel: Channel, place: usize) -> Option<InFlight> {
        self.take(channel, place).map(|item| item.1)
    }

    /// The same, as the item that states share.
    pub(crate) fn take(&mut self, channel: Channel, place: usize) -> Option<Item> {
        let at = self.position(channel, place)?;
        let part = self.part(channel.at);
        let (before, after) = (&part[..at], &part[at + 1..]);
        let (taken, left) = (part[at].clone(), [before, after].concat());
        self.set_part(channel.at, left);
        Some(taken)
    }

    /// The item of a channel that has `place` older ones before it.
    fn item(&self, channel: Channel, place: usize) -> Option<&Item> {
        Some(&self.part(channel.at)[self.position(channel, place)?])
    }

    /// Where that item is in its part.
    fn position(&self, channel: Channel, place: usize) -> Option<usize> {
        let part = self.part(channel.at);
        let at = part.partition_point(|other| other.0 < channel) + place;
        (part.get(at)?.0 == channel).then_some(at)
    }

    /// Takes the oldest item out of a channel if `is_it`. Data without a notice is taken out before, because no rank
    /// is told of it, and notices of reads may come later than the items behind them.
    pub fn land_if(&mut self, channel: Channel, is_it: impl Fn(&InFlight) -> bool) -> Option<InFlight> {
        let mut place = 0;
        loop {
            let first = self.item(channel, place)?.1;
            if is_it(&first) {
                return self.land(channel, place);
            }
            match first {
                InFlight::Data(_, None) => {
                    self.land(channel, place);
                }
                InFlight::Notice(_) => place += 1,
                _ => return None,
            }
        }
    }

    /// The oldest item of a channel that the items behind it cannot overtake.
    pub fn next_on(&self, channel: Channel) -> Option<&InFlight> {
        (0..)
            .map_while(|place| Some(&self.item(channel, place)?.1))
            .find(|item| !matches!(item, InFlight::Notice(_)))
    }

    /// The oldest thing on each channel that is not empty.
    pub fn heads(&self) -> impl Iterator<Item = &(Channel, InFlight)> {
        self.parts().flat_map(heads)
    }

    /// The oldest item of each channel to a rank that is not empty.
    pub fn heads_at(&self, rank: u16) -> impl Iterator<Item = &(Channel, InFlight)> {
        heads(self.all_to(rank))
    }

    /// All items to a rank.
    pub(crate) fn iter_to(&self, rank: u16) -> impl Iterator<Item = &(Channel, InFlight)> {
        self.all_to(rank).iter().map(|item| &**item)
    }

    fn all_to(&self, rank: u16) -> &[Item] {
        let part = self.part(rank);
        let begin = part.partition_point(|item| item.0.at < rank);
        let end = part.partition_point(|item| item.0.at <= rank);
        &part[begin..end]
    }
}

/// What items are put into: the network, or what leaves in a step.
pub trait Launch {
    /// Puts an item in flight.
    fn launch_item(&mut self, item: Item);

    /// Puts an item in a channel.
    fn launch(&mut self, channel: Channel, item: InFlight) {
        self.launch_item(Hashed::new((channel, item)));
    }

    /// Puts a packet in flight, with the message that it brings.
    fn send(&mut self, from: u16, to: u16, context: Context, packet: Packet, brings: Option<Message>) {
        let kind = packet.direction().into();
        self.launch(Channel { at: to, peer: from, context, kind }, InFlight::Packet(packet, brings));
    }

    /// Puts a write in flight: the data, with a packet directly behind it, and the completion for the writer.
    fn write(
        &mut self,
        (from, to): (u16, u16),
        context: Context,
        data: Data,
        notice: Option<Packet>,
        request: Handle,
    ) {
        let channel = Channel { at: to, peer: from, context, kind: ChannelKind::Forward };
        self.launch(channel, InFlight::Data(data, notice));
        self.written(from, to, context, request);
    }

    /// Puts the completion of a write in flight.
    fn written(&mut self, from: u16, to: u16, context: Context, request: Handle) {
        let channel = Channel { at: from, peer: to, context, kind: ChannelKind::Written };
        self.launch(channel, InFlight::Completion(request));
    }

    /// Puts a read in flight. When the data lands, the packet directly behind it leaves; later the reader is told
    /// that the request is complete.
    fn read(&mut self, (from, of): (u16, u16), context: Context, reading: Reading, notice: Option<Packet>) {
        let channel = Channel { at: from, peer: of, context, kind: ChannelKind::Read(reading.request.index) };
        self.launch(channel, InFlight::Read(reading, notice));
    }

    /// The data of a read has landed: the packet behind it leaves, and the completion is on its way.
    fn landed(&mut self, channel: Channel, reading: Reading, notice: Packet) {
        self.send(channel.at, channel.peer, channel.context, notice, None);
        self.launch(channel, InFlight::Completion(reading.request));
    }

    /// As [`Network::read`], for a replay, whose trace says when the notice arrived and not when the data did: the
    /// notice stays behind packets that were sent before the read, and packets that are sent later may overtake it.
    fn read_some_time(
        &mut self,
        (from, of): (u16, u16),
        context: Context,
        request: Handle,
        notice: Option<Packet>,
    ) {
        let channel = Channel { at: from, peer: of, context, kind: ChannelKind::Read(request.index) };
        self.launch(channel, InFlight::Completion(request));
        if let Some(packet) = notice {
            let kind = packet.direction().into();
            self.launch(Channel { at: of, peer: from, context, kind }, InFlight::Notice(packet));
        }
    }
}

impl Launch for Network {
    fn launch_item(&mut self, item: Item) {
        let part = self.part(item.0.at);
        let (before, after) = part.split_at(part.partition_point(|other| other.0 <= item.0));
        let items = [before, std::slice::from_ref(&item), after].concat();
        self.set_part(item.0.at, items);
    }
}

/// What leaves in a step, in order.
pub type Leaving = SmallVec<[Item; 2]>;

impl Launch for Leaving {
    fn launch_item(&mut self, item: Item) {
        self.push(item);
    }
}

/// Whether an item reads the data of a rank's send.
pub(crate) fn is_reading((channel, item): &(Channel, InFlight), rank: u16, send: Handle) -> bool {
    channel.peer == rank && matches!(item, InFlight::Read(reading, _) if reading.send == send)
}

/// The transfer that an item is, if it is one of a window to or from the memory of a rank, with the rank that has begun it.
pub(crate) fn transfer(
    (channel, item): &(Channel, InFlight),
    window: u16,
    target: u16,
) -> Option<(u16, Moving)> {
    let InFlight::Transfer(moving) = item else { return None };
    (channel.memory() == Some((window, target))).then(|| (channel.origin(), *moving))
}

/// The oldest thing on each channel.
fn heads(items: &[Item]) -> impl Iterator<Item = &(Channel, InFlight)> {
    items.chunk_by(|a, b| a.0 == b.0).filter_map(|channel| channel.first().map(|item| &**item))
}
