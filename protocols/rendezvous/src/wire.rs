//! Packets as bytes.
//!
//! A frame is a prefix of four bytes, a body of fixed size for each kind of packet, and behind an EAGER its
//! data. What few packets have, the 8 bytes that travel with a message and the mask of an RTR, is a word behind
//! the body, of which the kind says that it is there. All numbers are little-endian; nothing is aligned. Every packet has exactly one encoding: what is
//! not used is zero, and [`decode`] refuses anything else, so that an extension can give it a meaning.

use crate::{Hint, LineId, Memory, Packet, Rtr};
use carrousel_matching::{Context, Handle, Tag, TagSelector};
use core::mem::offset_of;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The version of this format, the first byte of every frame.
pub const VERSION: u8 = 3;

/// Bytes of the longest head, data aside.
pub const HEAD_MAX: usize = size_of::<Prefix>() + size_of::<RtrBody>() + size_of::<U64>();

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

/// Why bytes are no frame. The peer is to blame, or whoever forged it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum WireError {
    /// It is shorter than its head.
    #[error("it ends after {got} bytes of {needed}")]
    Short {
        /// Bytes that are there.
        got: usize,
        /// Bytes of a head of this kind, of the prefix if the kind is not there.
        needed: usize,
    },
    /// Another version of the format.
    #[error("it has version {0} of the format, not {VERSION}")]
    Version(u8),
    /// There is no such packet.
    #[error("there is no packet of kind {0}")]
    Kind(u8),
    /// The data behind it is not as long as it says.
    #[error("it has {got} bytes of data, and says {said}")]
    Data {
        /// What the head says; 0 for packets that have none.
        said: u64,
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
    };
}

body! {
    Prefix { version: u8, kind: u8, context: U16 }
    Request { index: U32, generation: U32 }
    Region { address: U64, key: U32 }
    Line { receive: Request, index: U16, unused: U16 }
    EagerBody { tag: U64, len: U64 }
    RtsBody { tag: U64, len: U64, send: Request, memory: Region, hint: u8, unused: [u8; 3] }
    /// FIN and RTR-ACK.
    WrittenBody { line: Line, tag: U64, len: U64 }
    /// FILLED, DONE and RTS-ACK.
    RequestBody { request: Request }
    /// CANCEL and CANCEL-ACK.
    LineBody { line: Line }
    RtrBody { tag: U64, seen: U32, ahead: U16, unused: U16, receive: Request, len: U64, memory: Region }
    ClearBody { send: Request, receive: Request, len: U64, memory: Region }
    SeenBody { seen: U32, taken: U64 }
}

/// The second byte of a frame.
mod kind {
    pub(super) const EAGER: u8 = 1;
    pub(super) const RTS: u8 = 2;
    pub(super) const FIN: u8 = 3;
    pub(super) const RTR_ACK: u8 = 4;
    pub(super) const FILLED: u8 = 5;
    pub(super) const CANCEL_ACK: u8 = 6;
    pub(super) const RTR: u8 = 7;
    pub(super) const DONE: u8 = 8;
    pub(super) const RTS_ACK: u8 = 9;
    pub(super) const CLEAR: u8 = 10;
    pub(super) const CANCEL: u8 = 11;
    pub(super) const SEEN: u8 = 12;
    /// Added to the kind: a word is behind the body. That of an RTR is its mask, that of a message its 8 bytes.
    pub(super) const WITH_WORD: u8 = 0x80;

    /// Whether packets of this kind may have a word behind the body.
    pub(super) const fn may_have_word(kind: u8) -> bool {
        matches!(kind, EAGER | RTS | FIN | RTR_ACK | RTR)
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

impl From<LineId> for Line {
    fn from(line: LineId) -> Self {
        Self { receive: line.receive.into(), index: line.index.into(), unused: U16::ZERO }
    }
}

impl TryFrom<Line> for LineId {
    type Error = WireError;

    fn try_from(line: Line) -> Result<Self, WireError> {
        zero(line.unused.get())?;
        Ok(Self { receive: line.receive.into(), index: line.index.get() })
    }
}

/// The head of a packet, into `head`; returns how many bytes it has. The data of an EAGER goes behind it.
pub fn encode(context: Context, packet: &Packet, head: &mut [u8; HEAD_MAX]) -> usize {
    let len = encode_body(context, packet, head);
    match word_of(packet) {
        None => len,
        Some(word) => append(word, len, head),
    }
}

/// Puts the word behind the body of a head of `len` bytes. Returns how many it has then.
#[cold]
fn append(word: u64, len: usize, head: &mut [u8; HEAD_MAX]) -> usize {
    let end = len + size_of::<U64>();
    head[offset_of!(Prefix, kind)] |= kind::WITH_WORD;
    head[len..end].copy_from_slice(U64::new(word).as_bytes());
    end
}

#[inline]
fn encode_body(context: Context, packet: &Packet, head: &mut [u8; HEAD_MAX]) -> usize {
    let mut put = |kind: u8, body: &[u8]| {
        let prefix = Prefix { version: VERSION, kind, context: context.0.into() };
        let (front, rest) = head.split_at_mut(size_of::<Prefix>());
        front.copy_from_slice(prefix.as_bytes());
        rest[..body.len()].copy_from_slice(body);
        size_of::<Prefix>() + body.len()
    };
    let written = |line: LineId, tag: Tag, len: u64| WrittenBody {
        line: line.into(),
        tag: tag.0.into(),
        len: len.into(),
    };
    match *packet {
        Packet::Eager { tag, len, .. } => {
            put(kind::EAGER, EagerBody { tag: tag.0.into(), len: len.into() }.as_bytes())
        }
        Packet::Rts { tag, len, send, memory, hint, .. } => {
            let hint = match hint {
                Hint::None => 0,
                Hint::StopRtr => 1,
                Hint::ResumeRtr => 2,
                Hint::Unused => 3,
            };
            let (tag, len) = (tag.0.into(), len.into());
            let body = RtsBody { tag, len, send: send.into(), memory: memory.into(), hint, unused: [0; 3] };
            put(kind::RTS, body.as_bytes())
        }
        Packet::Fin { line, tag, len, .. } => put(kind::FIN, written(line, tag, len).as_bytes()),
        Packet::RtrAck { line, tag, len, .. } => put(kind::RTR_ACK, written(line, tag, len).as_bytes()),
        Packet::Filled { receive } => put(kind::FILLED, RequestBody { request: receive.into() }.as_bytes()),
        Packet::CancelAck { line } => put(kind::CANCEL_ACK, LineBody { line: line.into() }.as_bytes()),
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
            put(kind::RTR, body.as_bytes())
        }
        Packet::Done { send } => put(kind::DONE, RequestBody { request: send.into() }.as_bytes()),
        Packet::RtsAck { send } => put(kind::RTS_ACK, RequestBody { request: send.into() }.as_bytes()),
        Packet::Clear { send, receive, len, memory } => {
            let (send, receive) = (send.into(), receive.into());
            put(kind::CLEAR, ClearBody { send, receive, len: len.into(), memory: memory.into() }.as_bytes())
        }
        Packet::Cancel { line } => put(kind::CANCEL, LineBody { line: line.into() }.as_bytes()),
        Packet::Seen { seen, taken } => {
            put(kind::SEEN, SeenBody { seen: seen.into(), taken: taken.into() }.as_bytes())
        }
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
    let Head { context, packet, len } = decode_head(bytes, bytes.len())?;
    Ok(Frame { context, packet, data: &bytes[len..] })
}

/// The head of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The communicator.
    pub context: Context,
    /// The packet.
    pub packet: Packet,
    /// Bytes of the head: the data of an EAGER begins behind them.
    pub len: usize,
}

/// Takes the head of a frame of `total` bytes apart, whose data lies elsewhere: of `bytes`, which are its
/// first ones, [`HEAD_MAX`] are enough.
///
/// # Errors
/// When no frame of this length begins like that.
#[inline]
pub fn decode_head(bytes: &[u8], total: usize) -> Result<Head, WireError> {
    let (prefix, rest) = take::<Prefix>(bytes, 0)?;
    if prefix.version != VERSION {
        return Err(WireError::Version(prefix.version));
    }
    let (packet, rest) = packet(prefix.kind, rest)?;
    let len = bytes.len() - rest.len();
    let said = if let Packet::Eager { len, .. } = packet { len } else { 0 };
    let got = total.saturating_sub(len);
    if said != got as u64 {
        return Err(WireError::Data { said, got });
    }
    Ok(Head { context: Context(prefix.context.get()), packet, len })
}

#[inline]
fn packet(kind: u8, bytes: &[u8]) -> Result<(Packet, &[u8]), WireError> {
    let own = kind & !kind::WITH_WORD;
    let has_word = own != kind;
    if has_word && !kind::may_have_word(own) {
        return Err(WireError::Kind(kind));
    }
    // The word behind a body, and what is behind that.
    let word = |rest, body: usize| {
        if !has_word {
            return Ok((None, rest));
        }
        let (word, rest) = take::<U64>(rest, size_of::<Prefix>() + body)?;
        Ok((Some(word.get()), rest))
    };
    let request = || {
        let (body, data) = take::<RequestBody>(bytes, size_of::<Prefix>())?;
        Ok((Handle::from(body.request), data))
    };
    let line = || {
        let (body, data) = take::<LineBody>(bytes, size_of::<Prefix>())?;
        Ok((LineId::try_from(body.line)?, data))
    };
    let written = || {
        let (body, rest) = take::<WrittenBody>(bytes, size_of::<Prefix>())?;
        let (data, rest) = word(rest, size_of::<WrittenBody>())?;
        Ok((LineId::try_from(body.line)?, Tag(body.tag.get()), data, body.len.get(), rest))
    };
    Ok(match own {
        kind::EAGER => {
            let (body, rest) = take::<EagerBody>(bytes, size_of::<Prefix>())?;
            let (data, rest) = word(rest, size_of::<EagerBody>())?;
            (Packet::Eager { tag: Tag(body.tag.get()), data, len: body.len.get() }, rest)
        }
        kind::RTS => {
            let (body, rest) = take::<RtsBody>(bytes, size_of::<Prefix>())?;
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
        kind::FIN => {
            let (line, tag, data, len, rest) = written()?;
            (Packet::Fin { line, tag, data, len }, rest)
        }
        kind::RTR_ACK => {
            let (line, tag, data, len, rest) = written()?;
            (Packet::RtrAck { line, tag, data, len }, rest)
        }
        kind::FILLED => {
            let (receive, data) = request()?;
            (Packet::Filled { receive }, data)
        }
        kind::CANCEL_ACK => {
            let (line, data) = line()?;
            (Packet::CancelAck { line }, data)
        }
        kind::RTR => {
            let (body, rest) = take::<RtrBody>(bytes, size_of::<Prefix>())?;
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
        kind::DONE => {
            let (send, data) = request()?;
            (Packet::Done { send }, data)
        }
        kind::RTS_ACK => {
            let (send, data) = request()?;
            (Packet::RtsAck { send }, data)
        }
        kind::CLEAR => {
            let (body, data) = take::<ClearBody>(bytes, size_of::<Prefix>())?;
            let (send, receive) = (body.send.into(), body.receive.into());
            let packet = Packet::Clear { send, receive, len: body.len.get(), memory: body.memory.into() };
            (packet, data)
        }
        kind::CANCEL => {
            let (line, data) = line()?;
            (Packet::Cancel { line }, data)
        }
        kind::SEEN => {
            let (body, data) = take::<SeenBody>(bytes, size_of::<Prefix>())?;
            (Packet::Seen { seen: body.seen.get(), taken: body.taken.get() }, data)
        }
        _ => return Err(WireError::Kind(kind)),
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
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    fn handle() -> impl Strategy<Value = Handle> {
        any::<(u32, u32)>().prop_map(|(index, generation)| Handle { index, generation })
    }

    fn memory() -> impl Strategy<Value = Memory> {
        any::<(u64, u32)>().prop_map(|(address, key)| Memory { address, key })
    }

    fn line() -> impl Strategy<Value = LineId> {
        (handle(), any::<u16>()).prop_map(|(receive, index)| LineId { receive, index })
    }

    fn a_tag() -> impl Strategy<Value = Tag> {
        any::<u64>().prop_map(Tag)
    }

    fn rtr() -> impl Strategy<Value = Rtr> {
        let ignore = prop_oneof![Just(0), any::<u64>()];
        let tag = (a_tag(), ignore).prop_map(|(tag, ignore)| TagSelector::new(tag, ignore));
        (tag, any::<(u32, u16, u64)>(), handle(), memory()).prop_map(|(tag, rest, receive, memory)| {
            let (seen, ahead, len) = rest;
            Rtr { tag, seen, ahead, receive, len, memory }
        })
    }

    fn a_packet() -> impl Strategy<Value = Packet> {
        let hint = prop::sample::select(&[Hint::None, Hint::StopRtr, Hint::ResumeRtr, Hint::Unused][..]);
        let written = || (line(), a_tag(), any::<Option<u64>>(), any::<u64>());
        prop_oneof![
            (a_tag(), any::<Option<u64>>(), 0..100_u64).prop_map(|(tag, data, len)| Packet::Eager {
                tag,
                data,
                len
            }),
            (a_tag(), any::<Option<u64>>(), any::<u64>(), handle(), memory(), hint).prop_map(
                |(tag, data, len, send, memory, hint)| Packet::Rts { tag, data, len, send, memory, hint }
            ),
            written().prop_map(|(line, tag, data, len)| Packet::Fin { line, tag, data, len }),
            written().prop_map(|(line, tag, data, len)| Packet::RtrAck { line, tag, data, len }),
            handle().prop_map(|receive| Packet::Filled { receive }),
            line().prop_map(|line| Packet::CancelAck { line }),
            rtr().prop_map(Packet::Rtr),
            handle().prop_map(|send| Packet::Done { send }),
            handle().prop_map(|send| Packet::RtsAck { send }),
            (handle(), handle(), any::<u64>(), memory())
                .prop_map(|(send, receive, len, memory)| Packet::Clear { send, receive, len, memory }),
            line().prop_map(|line| Packet::Cancel { line }),
            (any::<u32>(), any::<u64>()).prop_map(|(seen, taken)| Packet::Seen { seen, taken }),
        ]
    }

    fn kinds() -> impl Strategy<Value = u8> {
        let with_word =
            prop::sample::select(&[kind::EAGER, kind::RTS, kind::FIN, kind::RTR_ACK, kind::RTR][..]);
        prop_oneof![12 => 1..13_u8, 5 => with_word.prop_map(|kind| kind | kind::WITH_WORD)]
    }

    fn frame(context: Context, packet: &Packet) -> Vec<u8> {
        let mut head = [0xEE; HEAD_MAX];
        let len = encode(context, packet, &mut head);
        let data = if let Packet::Eager { len, .. } = packet { *len as usize } else { 0 };
        head[..len].iter().copied().chain((0..data).map(|at| at as u8)).collect()
    }

    proptest! {
        #[test]
        fn what_is_encoded_is_decoded(context in any::<u16>(), packet in a_packet()) {
            let bytes = frame(Context(context), &packet);
            let frame = decode(&bytes);
            prop_assert_eq!(frame.map(|frame| (frame.context, frame.packet)), Ok((Context(context), packet)));
        }

        #[test]
        fn a_frame_has_its_length(packet in a_packet(), cut in any::<prop::sample::Index>()) {
            let mut bytes = frame(Context::MESSAGES, &packet);
            let short = decode(&bytes[..cut.index(bytes.len())]);
            prop_assert!(matches!(short, Err(WireError::Short { .. } | WireError::Data { .. })), "{short:?}");
            bytes.push(0);
            let long = decode(&bytes);
            prop_assert!(matches!(long, Err(WireError::Data { .. })), "{long:?}");
        }

        #[test]
        fn a_packet_has_one_encoding(kind in kinds(), bytes in prop::collection::vec(any::<u8>(), 100)) {
            // Bytes of the kind's head, and where in it is what means nothing.
            let own = kind & !kind::WITH_WORD;
            let (body, unused) = match own {
                kind::EAGER => (20, 0..0),
                kind::RTS => (44, 41..44),
                kind::FIN | kind::RTR_ACK => (32, 14..16),
                kind::RTR => (48, 18..20),
                kind::CLEAR => (40, 0..0),
                kind::CANCEL | kind::CANCEL_ACK => (16, 14..16),
                kind::SEEN => (16, 0..0),
                _ => (12, 0..0),
            };
            let mut bytes = bytes;
            let len = body + if kind == own { 0 } else { 8 };
            let data = if own == kind::EAGER { 5 } else { 0 };
            bytes.truncate(len + data);
            (bytes[0], bytes[1]) = (VERSION, kind);
            unused.for_each(|at| bytes[at] = 0);
            match own {
                kind::EAGER => bytes[12..20].copy_from_slice(&5_u64.to_le_bytes()),
                kind::RTS => bytes[40] %= 4,
                // Of a byte at least one bit is ignored, which the tag must not have.
                kind::RTR if kind != own => {
                    bytes[48] |= 1;
                    (0..8).for_each(|at| bytes[4 + at] &= !bytes[48 + at]);
                }
                _ => {}
            }
            let decoded = decode(&bytes);
            prop_assert!(decoded.is_ok(), "{decoded:?}");
            if let Ok(decoded) = decoded {
                let mut head = [0; HEAD_MAX];
                let len = encode(decoded.context, &decoded.packet, &mut head);
                prop_assert_eq!([&head[..len], decoded.data].concat(), bytes);
            }
        }
    }

    #[test]
    fn what_is_no_frame_is_told() {
        let done = Packet::Done { send: Handle { index: 3, generation: 1 } };
        let good = frame(Context::MESSAGES, &done);
        assert_eq!(good, [VERSION, 8, 0, 0, 3, 0, 0, 0, 1, 0, 0, 0]);
        let with = |at: usize, byte: u8| {
            let mut bytes = good.clone();
            bytes[at] = byte;
            decode(&bytes).map(|frame| frame.packet)
        };
        assert_eq!(with(0, 1), Err(WireError::Version(1)));
        assert_eq!(with(1, 0), Err(WireError::Kind(0)));
        assert_eq!(with(1, 13), Err(WireError::Kind(13)));
        assert_eq!(with(1, 8 | 0x80), Err(WireError::Kind(0x88)));
        assert_eq!(decode(&good[..3]), Err(WireError::Short { got: 3, needed: 4 }));
        assert_eq!(decode(&good[..11]), Err(WireError::Short { got: 11, needed: 12 }));
        let mut masked = [0; 56];
        (masked[0], masked[1], masked[4]) = (VERSION, kind::RTR | kind::WITH_WORD, 3);
        assert_eq!(decode(&masked), Err(WireError::Mask { tag: 3, ignore: 0 }));
        masked[48] = 2;
        assert_eq!(decode(&masked), Err(WireError::Mask { tag: 3, ignore: 2 }));
        masked[48] = 4;
        assert!(decode(&masked).is_ok());
        assert_eq!(decode(&masked[..55]), Err(WireError::Short { got: 55, needed: 56 }));
        let cancel = [VERSION, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0];
        assert_eq!(decode(&cancel), Err(WireError::Unused));
        let mut rts = [0; 44];
        (rts[0], rts[1], rts[40]) = (VERSION, 2, 4);
        assert_eq!(decode(&rts), Err(WireError::Hint(4)));
    }

    #[test]
    fn heads_are_small() {
        let sizes =
            [size_of::<EagerBody>(), size_of::<RtsBody>(), size_of::<RtrBody>(), size_of::<ClearBody>()];
        assert_eq!(sizes.map(|body| size_of::<Prefix>() + body), [20, 44, 48, 40]);
        assert!(sizes.iter().all(|body| size_of::<Prefix>() + body <= HEAD_MAX));
    }
}
