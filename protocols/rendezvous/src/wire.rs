//! Packets as bytes.
//!
//! A frame is the [`Header`] that all protocols share, a body of fixed size for each kind of packet, and behind an EAGER
//! its data. What few packets have, the 8 bytes that travel with a message and the mask of an RTR, is a word behind
//! the body, of which the kind says that it is there. All numbers are little-endian; nothing is aligned. Every packet has
//! exactly one encoding: what is not used is zero, and [`decode`] refuses anything else, so that an extension can give it a
//! meaning.
//!
//! An EAGER is as long as its frame: its body is the tag alone. So of most packets header and body are a half word and
//! a word, which a transport may carry without a copy, and a driver may read by itself: [`eager`], [`is_eager`].

use crate::{Hint, Memory, Packet, Rtr, RtrId};
use carrousel_matching::{Context, Handle, Tag, TagSelector};
use carrousel_wire::{BODY_MAX, Direction, Head, Header, HeaderError, Protocol};
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A frame, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// The communicator.
    pub context: Context,
    /// The packet.
    pub packet: Packet,
    /// The data of an EAGER; empty behind all others.
    pub data: &'a [u8],
}

/// Why bytes are not a packet. The peer is to blame, or the forger of the bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// It is shorter than its head.
    #[error("it ends after {got} bytes of {needed}")]
    Short {
        /// Bytes that are there.
        got: usize,
        /// Bytes of a head of this kind, of the header if the kind is not there.
        needed: usize,
    },
    /// Its header cannot be read.
    #[error(transparent)]
    Header(HeaderError),
    /// There is no such packet.
    #[error("there is no packet of kind {kind} {direction}")]
    Kind {
        /// The kind that it says it has.
        kind: u8,
        /// In which direction it travels.
        direction: Direction,
    },
    /// There are bytes behind a packet that has no data.
    #[error("it has {got} bytes of data, and its kind has none")]
    Data {
        /// Bytes that are there.
        got: usize,
    },
    /// A mask that ignores nothing, or a tag with bits that its mask ignores: the packet has another encoding.
    #[error("its tag {tag:#x} and its mask {ignore:#x} have another encoding")]
    Mask {
        /// The tag.
        tag: u64,
        /// The bits that it says are ignored.
        ignore: u64,
    },
    /// There is no such hint.
    #[error("there is no hint {0}")]
    Hint(u8),
    /// Bytes that mean nothing are not zero.
    #[error("bytes that mean nothing are not zero")]
    Unused,
}

macro_rules! body {
    ($($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* $(,)? })*) => {
        $($(#[$doc])*
        #[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
        #[repr(C)]
        struct $name { $($field: $type),* })*
        // The longest one, with a word behind it.
        const _: () = { $(assert!(size_of::<$name>() + size_of::<U64>() <= BODY_MAX, "transports have room for it");)* };
    };
}

body! {
    Request { index: U32, generation: U32 }
    Region { address: U64, key: U32 }
    RtrName { receive: Request, index: U16, unused: U16 }
    EagerBody { tag: U64 }
    RtsBody { tag: U64, len: U64, send: Request, memory: Region, hint: u8, unused: [u8; 3] }
    /// FIN and RTR-ACK.
    WrittenBody { rtr: RtrName, tag: U64, len: U64 }
    /// ATP, ATS and RTS-ACK.
    RequestBody { request: Request }
    /// CANCEL and CANCEL-ACK.
    CancelBody { rtr: RtrName }
    RtrBody { tag: U64, seen: U32, ahead: U16, unused: U16, receive: Request, len: U64, memory: Region }
    CtsBody { send: Request, receive: Request, len: U64, memory: Region }
    AckBody { seen: U32, taken: U64 }
}

/// The kind of a packet and its direction, which its header has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Kind(Direction, u8);

impl Kind {
    const EAGER: Self = Self(Direction::ToReceiver, 1);
    const RTS: Self = Self(Direction::ToReceiver, 2);
    const FIN: Self = Self(Direction::ToReceiver, 3);
    const RTR_ACK: Self = Self(Direction::ToReceiver, 4);
    const ATP: Self = Self(Direction::ToReceiver, 5);
    const CANCEL_ACK: Self = Self(Direction::ToReceiver, 6);
    const RTR: Self = Self(Direction::ToSender, 1);
    const ATS: Self = Self(Direction::ToSender, 2);
    const RTS_ACK: Self = Self(Direction::ToSender, 3);
    const CTS: Self = Self(Direction::ToSender, 4);
    const CANCEL: Self = Self(Direction::ToSender, 5);
    const ACK: Self = Self(Direction::ToSender, 6);
    /// Added to the kind: a word is behind the body. That of an RTR is its mask, that of a message its 8 bytes.
    const WITH_WORD: u8 = Header::KIND_FLAG;

    /// Whether packets of this kind may have a word behind the body.
    const fn may_have_word(self) -> bool {
        matches!(self, Self::EAGER | Self::RTS | Self::FIN | Self::RTR_ACK | Self::RTR)
    }
}

impl From<Handle> for Request {
    fn from(handle: Handle) -> Self {
        Self { index: handle.index.into(), generation: handle.generation.into() }
    }
}

impl From<Request> for Handle {
    fn from(request: Request) -> Self {
        Self { index: request.index.get(), generation: request.generation.get() }
    }
}

impl From<Memory> for Region {
    fn from(memory: Memory) -> Self {
        Self { address: memory.address.into(), key: memory.key.into() }
    }
}

impl From<Region> for Memory {
    fn from(region: Region) -> Self {
        Self { address: region.address.get(), key: region.key.get() }
    }
}

impl From<RtrId> for RtrName {
    fn from(rtr: RtrId) -> Self {
        Self { receive: rtr.receive.into(), index: rtr.index.into(), unused: U16::ZERO }
    }
}

impl TryFrom<RtrName> for RtrId {
    type Error = WireError;

    fn try_from(rtr: RtrName) -> Result<Self, WireError> {
        zero(rtr.unused.get())?;
        Ok(Self { receive: rtr.receive.into(), index: rtr.index.get() })
    }
}

/// The header of an EAGER without 8 bytes beside its own. Its body is its tag, in 8 bytes.
#[inline]
pub const fn eager(context: Context) -> Header {
    const EAGER: Header = Header::new(Protocol::Messages, Kind::EAGER.0, Kind::EAGER.1, Context(0));
    EAGER.with_context(context)
}

/// Whether the header is that of an EAGER without 8 bytes beside its own, of any communicator.
#[inline]
pub const fn is_eager(header: Header) -> bool {
    header.is_like(eager(Context(0)))
}

/// The header of an EAGER with 8 bytes beside its own. Its body is its tag and these, 8 bytes each.
#[inline]
pub const fn eager_beside(context: Context) -> Header {
    const KIND: u8 = Kind::EAGER.1 | Kind::WITH_WORD;
    const EAGER: Header = Header::new(Protocol::Messages, Kind::EAGER.0, KIND, Context(0));
    EAGER.with_context(context)
}

/// Whether the header is that of an EAGER with 8 bytes beside its own, of any communicator.
#[inline]
pub const fn is_eager_beside(header: Header) -> bool {
    header.is_like(eager_beside(Context(0)))
}

/// The head of a packet. The data of an EAGER goes behind it.
#[inline]
pub fn encode(context: Context, packet: &Packet) -> Head {
    let word = word_of(packet);
    let flag = if word.is_some() { Kind::WITH_WORD } else { 0 };
    // Most packets have no word: without one, all lengths are known when this is compiled.
    let head = |Kind(direction, kind): Kind, body: &[u8]| {
        Head::new(Header::new(Protocol::Messages, direction, kind | flag, context), [body, &[]])
    };
    let request = |kind, request: Handle| head(kind, RequestBody { request: request.into() }.as_bytes());
    let cancel = |kind, rtr: RtrId| head(kind, CancelBody { rtr: rtr.into() }.as_bytes());
    let written = |kind, rtr: RtrId, tag: Tag, len: u64| {
        head(kind, WrittenBody { rtr: rtr.into(), tag: tag.0.into(), len: len.into() }.as_bytes())
    };
    let head = match *packet {
        Packet::Eager { tag, .. } => head(Kind::EAGER, EagerBody { tag: tag.0.into() }.as_bytes()),
        Packet::Rts { tag, len, send, memory, hint, .. } => {
            let hint = match hint {
                Hint::None => 0,
                Hint::StopRtr => 1,
                Hint::ResumeRtr => 2,
                Hint::Unused => 3,
            };
            let (tag, len) = (tag.0.into(), len.into());
            let body = RtsBody { tag, len, send: send.into(), memory: memory.into(), hint, unused: [0; 3] };
            head(Kind::RTS, body.as_bytes())
        }
        Packet::Fin { rtr, tag, len, .. } => written(Kind::FIN, rtr, tag, len),
        Packet::RtrAck { rtr, tag, len, .. } => written(Kind::RTR_ACK, rtr, tag, len),
        Packet::Atp { receive } => request(Kind::ATP, receive),
        Packet::CancelAck { rtr } => cancel(Kind::CANCEL_ACK, rtr),
        Packet::Rtr(rtr) => {
            let body = RtrBody {
                tag: rtr.tag.tag().0.into(),
                seen: rtr.seen.into(),
                ahead: rtr.ahead.into(),
                unused: U16::ZERO,
                receive: rtr.receive.into(),
                len: rtr.len.into(),
                memory: rtr.memory.into(),
            };
            head(Kind::RTR, body.as_bytes())
        }
        Packet::Ats { send } => request(Kind::ATS, send),
        Packet::RtsAck { send } => request(Kind::RTS_ACK, send),
        Packet::Cts { send, receive, len, memory } => {
            let (send, receive) = (send.into(), receive.into());
            head(Kind::CTS, CtsBody { send, receive, len: len.into(), memory: memory.into() }.as_bytes())
        }
        Packet::Cancel { rtr } => cancel(Kind::CANCEL, rtr),
        Packet::Ack { seen, taken } => {
            head(Kind::ACK, AckBody { seen: seen.into(), taken: taken.into() }.as_bytes())
        }
    };
    match word {
        None => head,
        Some(word) => head.with_word(word),
    }
}

/// The word behind the body of a packet, if it has one.
#[inline]
fn word_of(packet: &Packet) -> Option<u64> {
    match *packet {
        Packet::Eager { data, .. }
        | Packet::Rts { data, .. }
        | Packet::Fin { data, .. }
        | Packet::RtrAck { data, .. } => data,
        Packet::Rtr(Rtr { tag, .. }) if !tag.is_exact() => Some(tag.ignore()),
        _ => None,
    }
}

/// Takes a frame apart.
///
/// # Errors
/// When the bytes are not exactly one frame.
pub fn decode(bytes: &[u8]) -> Result<Frame<'_>, WireError> {
    let Some((header, rest)) = bytes.split_first_chunk() else {
        return Err(WireError::Short { got: bytes.len(), needed: Header::LEN });
    };
    let header = Header::from_bytes(*header);
    let Decoded { packet, body } = decode_body(header, rest, rest.len())?;
    Ok(Frame { context: header.context(), packet, data: &rest[body..] })
}

/// A packet, and where its data begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoded {
    /// The packet.
    pub packet: Packet,
    /// Bytes of its body: the data of an EAGER begins behind them.
    pub body: usize,
}

/// Takes a frame apart that has `total` bytes behind its header and whose data lies elsewhere: of `bytes`, which are the
/// first ones, [`BODY_MAX`] are enough.
///
/// # Errors
/// When no frame of this length begins like that.
#[inline]
pub fn decode_body(header: Header, bytes: &[u8], total: usize) -> Result<Decoded, WireError> {
    let Protocol::Messages = header.protocol().map_err(WireError::Header)?;
    let (mut packet, rest) = packet(header, bytes)?;
    let body = bytes.len() - rest.len();
    let got = total.saturating_sub(body);
    match &mut packet {
        Packet::Eager { len, .. } => *len = got as u64,
        _ if got > 0 => return Err(WireError::Data { got }),
        _ => {}
    }
    Ok(Decoded { packet, body })
}

#[inline]
fn packet(header: Header, bytes: &[u8]) -> Result<(Packet, &[u8]), WireError> {
    let (direction, kind) = (header.direction(), header.kind());
    let own = Kind(direction, kind & !Kind::WITH_WORD);
    let has_word = own.1 != kind;
    let unknown = WireError::Kind { kind, direction };
    if has_word && !own.may_have_word() {
        return Err(unknown);
    }
    // The word behind a body, and what is behind that.
    let word = |rest, body: usize| {
        if !has_word {
            return Ok((None, rest));
        }
        let (word, rest) = take::<U64>(rest, Header::LEN + body)?;
        Ok((Some(word.get()), rest))
    };
    let request = || {
        let (body, data) = take::<RequestBody>(bytes, Header::LEN)?;
        Ok((Handle::from(body.request), data))
    };
    let cancel = || {
        let (body, data) = take::<CancelBody>(bytes, Header::LEN)?;
        Ok((RtrId::try_from(body.rtr)?, data))
    };
    let written = || {
        let (body, rest) = take::<WrittenBody>(bytes, Header::LEN)?;
        let (data, rest) = word(rest, size_of::<WrittenBody>())?;
        Ok((RtrId::try_from(body.rtr)?, Tag(body.tag.get()), data, body.len.get(), rest))
    };
    Ok(match own {
        Kind::EAGER => {
            let (body, rest) = take::<EagerBody>(bytes, Header::LEN)?;
            let (data, rest) = word(rest, size_of::<EagerBody>())?;
            // As long as its frame, which the caller knows.
            (Packet::Eager { tag: Tag(body.tag.get()), data, len: 0 }, rest)
        }
        Kind::RTS => {
            let (body, rest) = take::<RtsBody>(bytes, Header::LEN)?;
            body.unused.into_iter().try_for_each(|byte| zero(byte.into()))?;
            let hint = match body.hint {
                0 => Hint::None,
                1 => Hint::StopRtr,
                2 => Hint::ResumeRtr,
                3 => Hint::Unused,
                other => return Err(WireError::Hint(other)),
            };
            let (data, rest) = word(rest, size_of::<RtsBody>())?;
            let (send, memory) = (body.send.into(), body.memory.into());
            (Packet::Rts { tag: Tag(body.tag.get()), data, len: body.len.get(), send, memory, hint }, rest)
        }
        Kind::FIN => {
            let (rtr, tag, data, len, rest) = written()?;
            (Packet::Fin { rtr, tag, data, len }, rest)
        }
        Kind::RTR_ACK => {
            let (rtr, tag, data, len, rest) = written()?;
            (Packet::RtrAck { rtr, tag, data, len }, rest)
        }
        Kind::ATP => {
            let (receive, data) = request()?;
            (Packet::Atp { receive }, data)
        }
        Kind::CANCEL_ACK => {
            let (rtr, data) = cancel()?;
            (Packet::CancelAck { rtr }, data)
        }
        Kind::RTR => {
            let (body, rest) = take::<RtrBody>(bytes, Header::LEN)?;
            zero(body.unused.get())?;
            let (ignore, rest) = word(rest, size_of::<RtrBody>())?;
            let tag = selector(body.tag.get(), ignore)?;
            let rtr = Rtr {
                tag,
                seen: body.seen.get(),
                ahead: body.ahead.get(),
                receive: body.receive.into(),
                len: body.len.get(),
                memory: body.memory.into(),
            };
            (Packet::Rtr(rtr), rest)
        }
        Kind::ATS => {
            let (send, data) = request()?;
            (Packet::Ats { send }, data)
        }
        Kind::RTS_ACK => {
            let (send, data) = request()?;
            (Packet::RtsAck { send }, data)
        }
        Kind::CTS => {
            let (body, data) = take::<CtsBody>(bytes, Header::LEN)?;
            let (send, receive) = (body.send.into(), body.receive.into());
            let packet = Packet::Cts { send, receive, len: body.len.get(), memory: body.memory.into() };
            (packet, data)
        }
        Kind::CANCEL => {
            let (rtr, data) = cancel()?;
            (Packet::Cancel { rtr }, data)
        }
        Kind::ACK => {
            let (body, data) = take::<AckBody>(bytes, Header::LEN)?;
            (Packet::Ack { seen: body.seen.get(), taken: body.taken.get() }, data)
        }
        _ => return Err(unknown),
    })
}

/// The first `T` of `bytes`, which have `before` bytes of the frame before them.
fn take<T: FromBytes + Unaligned + KnownLayout + Immutable>(
    bytes: &[u8],
    before: usize,
) -> Result<(T, &[u8]), WireError> {
    let short = WireError::Short { got: before + bytes.len(), needed: before + size_of::<T>() };
    T::read_from_prefix(bytes).map_err(|_| short)
}

/// The tags of an RTR, with a mask if it has one.
fn selector(tag: u64, ignore: Option<u64>) -> Result<TagSelector, WireError> {
    match ignore {
        None => Ok(TagSelector::exact(Tag(tag))),
        Some(ignore) if ignore != 0 && tag & ignore == 0 => Ok(TagSelector::new(Tag(tag), ignore)),
        Some(ignore) => Err(WireError::Mask { tag, ignore }),
    }
}

fn zero(unused: u16) -> Result<(), WireError> {
    if unused == 0 { Ok(()) } else { Err(WireError::Unused) }
}

#[cfg(test)]
mod tests;
