//! A trace's records in words.

use crate::network::ChannelKind;
use carrousel_rank::{
    Arrived, Call, Context, Direction, Event, Failure, Handle, Memory, Packet, Pattern, RankId, Rtr, Source,
    Status, Tag, TagSelector, mpi,
};

fn bytes(len: u64) -> String {
    if len == 1 { "1 byte".to_owned() } else { format!("{len} bytes") }
}

/// The 8 bytes that travel with a message, if it has them.
fn beside(data: Option<u64>) -> String {
    data.map_or_else(String::new, |data| format!(", with data {data:#x}"))
}

fn selector(tag: TagSelector) -> String {
    match tag {
        mpi::ANY_TAG => "any tag".to_owned(),
        _ if tag.is_exact() => format!("tag {}", tag.tag().0),
        _ => format!("tag {}, of which it ignores {:#x}", tag.tag().0, tag.ignore()),
    }
}

fn source(from: Source) -> String {
    match from {
        Source::Rank(rank) => rank.to_string(),
        Source::Any => "any rank".to_owned(),
    }
}

/// ` of communicator 3`, unless it is that of all ranks.
fn among(number: u16) -> String {
    if number == 0 { String::new() } else { format!(" of communicator {number}") }
}

/// A call, as an application sees it.
pub(super) fn call(call: &Call) -> String {
    match call {
        Call::Send(send) => {
            let name = if send.synchronous { "a synchronous send" } else { "a send" };
            let (len, beside) = (bytes(send.len), beside(send.data));
            let among = among(send.communicator.index());
            format!("{name} to {} tag {}, {len}{beside}{among}", send.to, send.tag.0)
        }
        Call::Receive(receive) => {
            let (from, tag) = (source(receive.from), selector(receive.tag));
            format!(
                "a receive from {from}, {tag}, {}{}",
                bytes(receive.len),
                among(receive.communicator.index())
            )
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
pub(super) fn status(status: &Status) -> String {
    let len = bytes(status.len);
    let message = match status.message {
        Some((from, Tag(tag))) => format!("{len} from {from}, tag {tag}{}", beside(status.data)),
        None => len,
    };
    match status.failure {
        None => message,
        Some(Failure::Truncated { sent }) => format!("{message}, truncated from {sent}"),
        Some(Failure::Cancelled) => format!("{message}, cancelled"),
        Some(Failure::PeerLost(peer)) => format!("{message}, as {peer} is lost"),
    }
}

/// What a probe has found.
pub(super) fn found(found: Option<Arrived>) -> String {
    match found {
        Some(Arrived { envelope, data, len }) => {
            let (source, tag, len) = (envelope.source, envelope.tag.0, bytes(len));
            format!("a message of {len} from {source}, tag {tag}{}", beside(data))
        }
        None => "nothing".to_owned(),
    }
}

/// What a probe has looked for.
pub(super) fn pattern(pattern: &Pattern) -> String {
    format!("{}, {}{}", source(pattern.source), selector(pattern.tag), among(pattern.context.0 / 2))
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

/// A packet that comes; in `full`, with memory and all that is seldom of interest.
pub(super) fn arrival(from: RankId, context: Context, packet: &Packet, full: bool) -> String {
    let rest = if full { format!(" ({packet:?})") } else { String::new() };
    let of = among(context.0 / 2);
    format!("{}{}{of} of {from}{rest}", packet.name(), contents(packet))
}

fn contents(packet: &Packet) -> String {
    let message =
        |tag: Tag, data: Option<u64>, len: u64| format!(" tag {}, {}{},", tag.0, bytes(len), beside(data));
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
            format!(" {}, {}, {receive}", selector(tag), bytes(len))
        }
        Packet::Ats { send } | Packet::RtsAck { send } => of(send),
        Packet::Cts { send, receive, len, memory: Memory { .. } } => {
            format!("{}, {}, into {receive}", of(send), bytes(len))
        }
        Packet::Ack { seen, taken } => format!(" {seen}, {taken} bytes taken"),
    }
}

/// An operation whose completion is reported.
pub(super) fn operation(kind: ChannelKind) -> &'static str {
    match kind {
        ChannelKind::Written => "write",
        ChannelKind::Read(_) => "read",
        ChannelKind::Lane(_) | ChannelKind::Fetch(_) | ChannelKind::Moved(_) => "transfer",
        ChannelKind::Grants(_) => "grant",
        ChannelKind::Forward | ChannelKind::Back => "packet",
    }
}

/// An event.
pub(super) fn event(event: &Event) -> String {
    match event {
        Event::Packet { from, context, packet } => arrival(*from, *context, packet, false),
        Event::Written(request) => format!("the write of {request} was complete"),
        Event::Read(request) => format!("the read of {request} was complete"),
        Event::Fetched(request, value) => format!("the atomic of {request} was complete, and found {value}"),
        Event::Announce(request) => format!("{request} was announced"),
        Event::Lost(peer) => format!("the connection to {peer} was lost"),
    }
}
