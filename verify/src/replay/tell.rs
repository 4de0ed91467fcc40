//! A trace's records in words.

use super::numbers::Numbers;
use crate::network::ChannelKind;
use carrousel_rank::{
    Arrived, Call, Context, Direction, Event, Failure, Handle, Memory, Packet, Pattern, RankId, Rtr, Source,
    Status, Tag, TagSelector, mpi,
};
use carrousel_trace::tag_text;

/// The communicator of an endpoint that has the messages with tags.
pub(super) const TAGGED: u16 = 1;

fn bytes(len: u64) -> String {
    if len == 1 { "1 byte".to_owned() } else { format!("{len} bytes") }
}

/// The 8 bytes that travel with a message, if it has them.
fn beside(data: Option<u64>) -> String {
    data.map_or_else(String::new, |data| format!(", with data {data:#x}"))
}

/// ` of communicator 3`, unless it is that of all ranks.
pub(super) fn among(number: u16) -> String {
    if number == 0 { String::new() } else { format!(" of communicator {number}") }
}

/// A direction of the network, as part of a sentence about its sender.
pub(super) fn direction(packet: &Packet, context: Context) -> String {
    let direction = match packet.direction() {
        Direction::ToReceiver => "the forward direction",
        Direction::ToSender => "the back direction",
    };
    let collective = if context.is_collective() { " of collectives" } else { "" };
    format!("{direction}{collective}{}", among(context.0 / 2))
}

/// An operation whose completion is reported.
pub(super) fn operation(kind: ChannelKind) -> &'static str {
    match kind {
        ChannelKind::Written => "write",
        ChannelKind::Read(_) => "read",
        ChannelKind::Lane(_) | ChannelKind::Get(_) | ChannelKind::Fetch(_) | ChannelKind::Moved(_) => {
            "transfer"
        }
        ChannelKind::Grants(_) => "grant",
        ChannelKind::Forward | ChannelKind::Back => "packet",
    }
}

/// A tag as MPI has it.
fn plain(tag: TagSelector) -> String {
    match tag {
        mpi::ANY_TAG => "any tag".to_owned(),
        _ if tag.is_exact() => format!("tag {}", tag.tag().0),
        _ => format!("tag {}, of which it ignores {:#x}", tag.tag().0, tag.ignore()),
    }
}

/// In the numbers of the whole trace, and in the words of the library of the process.
impl Numbers {
    /// A peer.
    pub(super) fn peer(&self, peer: RankId) -> String {
        match (self.of(peer), self.endpoint()) {
            (Some(rank), _) => RankId(rank.into()).to_string(),
            (None, None) => peer.to_string(),
            (None, Some(_)) => format!("its unknown peer {}", peer.0),
        }
    }

    /// The tags that a receive accepts.
    pub(super) fn selector(&self, tag: TagSelector, communicator: u16) -> String {
        match self.endpoint() {
            // The others have the endpoint's own tags.
            Some(endpoint) if communicator == TAGGED => tag_text(endpoint.library, tag),
            _ => plain(tag),
        }
    }

    fn tag(&self, Tag(tag): Tag, communicator: u16) -> String {
        self.selector(TagSelector::exact(Tag(tag)), communicator)
    }

    fn source(&self, from: Source) -> String {
        match from {
            Source::Rank(rank) => self.peer(rank),
            Source::Any => "any rank".to_owned(),
        }
    }

    /// A call, as an application sees it.
    pub(super) fn call(&self, call: &Call) -> String {
        match call {
            Call::Send(send) => {
                let name = if send.synchronous { "a synchronous send" } else { "a send" };
                let (len, beside) = (bytes(send.len), beside(send.data));
                let of = send.communicator.index();
                let (to, tag) = (self.peer(send.to), self.tag(send.tag, of));
                format!("{name} to {to} {tag}, {len}{beside}{}", among(of))
            }
            Call::Receive(receive) => {
                let of = receive.communicator.index();
                let (from, tag) = (self.source(receive.from), self.selector(receive.tag, of));
                format!("a receive from {from}, {tag}, {}{}", bytes(receive.len), among(of))
            }
            Call::Collective(call) => {
                format!("{}, {}{}", call.kind.name(), bytes(call.len), among(call.communicator.index()))
            }
            Call::ReceiveClaimed(receive) => {
                format!("a receive of the claimed {}, {}", receive.message, bytes(receive.len))
            }
            Call::Discard(request) => format!("discarding {request}"),
            Call::Cancel(request) => format!("cancelling {request}"),
        }
    }

    /// How a request has ended.
    pub(super) fn status(&self, status: &Status) -> String {
        let len = bytes(status.len);
        let message = match status.message {
            Some((from, tag)) => {
                // Of which communicator it was is not in the status.
                let tag = self.tag(tag, 0);
                format!("{len} from {}, {tag}{}", self.peer(from), beside(status.data))
            }
            None => len,
        };
        match status.failure {
            None => message,
            Some(Failure::Truncated { sent }) => format!("{message}, truncated from {sent}"),
            Some(Failure::Cancelled) => format!("{message}, cancelled"),
            Some(Failure::PeerLost(peer)) => format!("{message}, as {} is lost", self.peer(peer)),
        }
    }

    /// What a probe has found.
    pub(super) fn found(&self, found: Option<Arrived>) -> String {
        match found {
            Some(Arrived { envelope, data, len }) => {
                let (source, len) = (self.peer(envelope.source), bytes(len));
                let tag = self.tag(envelope.tag, envelope.context.0 / 2);
                format!("a message of {len} from {source}, {tag}{}", beside(data))
            }
            None => "nothing".to_owned(),
        }
    }

    /// What a probe has looked for.
    pub(super) fn pattern(&self, pattern: &Pattern) -> String {
        let of = pattern.context.0 / 2;
        format!("{}, {}{}", self.source(pattern.source), self.selector(pattern.tag, of), among(of))
    }

    /// A packet that comes; in `full`, with memory and all that is seldom of interest.
    pub(super) fn arrival(&self, from: RankId, context: Context, packet: &Packet, full: bool) -> String {
        let rest = if full { format!(" ({packet:?})") } else { String::new() };
        let of = context.0 / 2;
        format!("{}{}{} of {}{rest}", packet.name(), self.contents(packet, of), among(of), self.peer(from))
    }

    fn contents(&self, packet: &Packet, communicator: u16) -> String {
        let message = |tag: Tag, data: Option<u64>, len: u64| {
            format!(" {}, {}{},", self.tag(tag, communicator), bytes(len), beside(data))
        };
        let of = |request: Handle| format!(" of {request}");
        match *packet {
            Packet::Eager { tag, data, len } => message(tag, data, len),
            Packet::Rts { tag, data, len, send, .. } => format!("{} {send}", message(tag, data, len)),
            Packet::Fin { rtr, tag, data, len } | Packet::RtrAck { rtr, tag, data, len } => {
                format!("{} into {}", message(tag, data, len), rtr.receive)
            }
            Packet::Atp { receive } => of(receive),
            Packet::CancelAck { rtr } | Packet::Cancel { rtr } => of(rtr.receive),
            Packet::Rtr(Rtr { tag, len, receive, .. }) => {
                format!(" {}, {}, {receive}", self.selector(tag, communicator), bytes(len))
            }
            Packet::Ats { send } | Packet::RtsAck { send } => of(send),
            Packet::Cts { send, receive, len, memory: Memory { .. } } => {
                format!("{}, {}, into {receive}", of(send), bytes(len))
            }
            Packet::Ack { seen, taken } => format!(" {seen}, {taken} bytes taken"),
        }
    }

    /// An event.
    pub(super) fn event(&self, event: &Event) -> String {
        match event {
            Event::Packet { from, context, packet } => self.arrival(*from, *context, packet, false),
            Event::Written(request) => format!("the write of {request} was complete"),
            Event::Read(request) => format!("the read of {request} was complete"),
            Event::Fetched(request, value) => {
                format!("the atomic of {request} was complete, and found {value}")
            }
            Event::Announce(request) => format!("{request} was announced"),
            Event::Lost(peer) => format!("the connection to {} was lost", self.peer(*peer)),
        }
    }
}
