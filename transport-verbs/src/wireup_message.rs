//! The datagrams by which two processes make a connection. They say who the sender is by its name, from which the receiver
//! knows its rank; and they have the receiver's key in them, which strangers do not know.

use crate::Address;
use crate::ibv::{Ends, NO_WORD};
use carrousel_connection::Hello;
use carrousel_transport::Memory;
use zerocopy::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The first bytes: anybody may send a datagram to the queue by mistake.
const MAGIC: u32 = u32::from_le_bytes(*b"crsl");
/// Of what follows.
const VERSION: u8 = 5;
/// The most bytes of a name.
pub(crate) const NAME_MAX: usize = crate::ibv::DATAGRAM_MAX - size_of::<Bytes>();

/// A message of the wire-up: the content of a datagram.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WireupMessage {
    /// The name of the sender.
    pub(crate) from: Vec<u8>,
    /// The key of the receiver.
    pub(crate) to: u64,
    /// Where the answer goes.
    pub(crate) address: Address,
    /// The queue pair that was made for the connection.
    pub(crate) ends: Ends,
    /// A second one, if there is one.
    pub(crate) control: Option<Ends>,
    /// Receive buffers that the peer may count on.
    pub(crate) window: u16,
    pub(crate) hello: Hello,
}

/// The bytes in front of the sender's name, which takes the rest.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
struct Bytes {
    magic: U32,
    version: u8,
    /// 1: heard; 2: sure.
    flags: u8,
    mtu: u8,
    reads: u8,
    to: U64,
    key: U64,
    queue: U32,
    lid: U16,
    window: U16,
    gid: [u8; 16],
    number: U32,
    first: U32,
    /// 0 without a second queue pair: no connection has that number.
    control_number: U32,
    control_first: U32,
    /// That of the first queue pair.
    word: U64,
    word_key: U32,
}

impl From<&WireupMessage> for Bytes {
    fn from(message: &WireupMessage) -> Self {
        let WireupMessage { from: _, to, address, ends, control, window, hello } = *message;
        Self {
            magic: MAGIC.into(),
            version: VERSION,
            flags: u8::from(hello.heard) | u8::from(hello.sure) << 1,
            mtu: ends.mtu,
            reads: ends.reads,
            to: to.into(),
            key: address.key.into(),
            queue: address.queue.into(),
            lid: address.lid.into(),
            window: window.into(),
            gid: address.gid,
            number: ends.number.into(),
            first: ends.first.into(),
            control_number: control.map_or(0, |ends| ends.number).into(),
            control_first: control.map_or(0, |ends| ends.first).into(),
            word: ends.word.address.into(),
            word_key: ends.word.key.into(),
        }
    }
}

impl WireupMessage {
    /// The datagram; `None` if the name is too long for it.
    pub(crate) fn to_bytes(&self) -> Option<Vec<u8>> {
        let fits = (1..=NAME_MAX).contains(&self.from.len());
        fits.then(|| [Bytes::from(self).as_bytes(), &self.from].concat())
    }

    /// Reads a datagram, if it is one of these.
    pub(crate) fn read(datagram: &[u8]) -> Option<Self> {
        let (bytes, name) = Bytes::read_from_prefix(datagram).ok()?;
        let is_ours = bytes.magic.get() == MAGIC && bytes.version == VERSION && bytes.flags < 4;
        let numbers = [bytes.queue, bytes.number, bytes.first, bytes.control_number, bytes.control_first];
        let numbers @ [queue, number, first, control_number, control_first] = numbers.map(U32::get);
        let fits = numbers.into_iter().all(|number| number <= 0xff_ffff);
        let address = Address { lid: bytes.lid.get(), gid: bytes.gid, queue, key: bytes.key.get() };
        let Address { lid, gid, .. } = address;
        let word = Memory { address: bytes.word.get(), key: bytes.word_key.get() };
        let ends = Ends { lid, gid, number, first, mtu: bytes.mtu, reads: bytes.reads, word };
        // Nothing is read by it.
        let second = Ends { number: control_number, first: control_first, word: NO_WORD, ..ends };
        let is_named = (1..=NAME_MAX).contains(&name.len());
        (is_ours && fits && is_named && bytes.window.get() >= 2).then(|| Self {
            from: name.to_vec(),
            to: bytes.to.get(),
            address,
            ends,
            control: (control_number > 0).then_some(second),
            window: bytes.window.get(),
            hello: Hello { heard: bytes.flags & 1 != 0, sure: bytes.flags & 2 != 0 },
        })
    }
}

/// What is understood of a datagram, written again. For the fuzz target and the replay of its corpus; no part of the
/// interface.
pub fn again(datagram: &[u8]) -> Option<Vec<u8>> {
    WireupMessage::read(datagram)?.to_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> WireupMessage {
        let address = Address { lid: 7, gid: [9; 16], queue: 17, key: u64::MAX };
        let word = Memory { address: u64::MAX, key: 5 };
        let ends = Ends { lid: 7, gid: [9; 16], number: 0xff_ffff, first: 1, mtu: 5, reads: 16, word };
        let hello = Hello { heard: true, sure: false };
        let control = Some(Ends { number: 18, first: 0xff_ffff, word: NO_WORD, ..ends });
        WireupMessage {
            from: b"rank 3".to_vec(),
            to: 0xfeed_0000_0000_0007,
            address,
            ends,
            control,
            window: 64,
            hello,
        }
    }

    #[test]
    fn bytes_and_back() {
        for (heard, sure) in [(false, false), (true, false), (true, true)] {
            let message = WireupMessage { hello: Hello { heard, sure }, ..message() };
            let longest = WireupMessage { control: None, from: vec![b'x'; NAME_MAX], ..message.clone() };
            for message in [message, longest] {
                let bytes = message.to_bytes().expect("it fits");
                assert!(bytes.len() <= crate::ibv::DATAGRAM_MAX);
                assert_eq!(WireupMessage::read(&bytes), Some(message));
            }
        }
    }

    #[test]
    fn a_name_has_to_fit() {
        for len in [0, NAME_MAX + 1] {
            let message = WireupMessage { from: vec![b'x'; len], ..message() };
            assert_eq!(message.to_bytes(), None, "{len} bytes");
            let bytes = [Bytes::from(&message).as_bytes(), &message.from].concat();
            assert_eq!(WireupMessage::read(&bytes), None, "{len} bytes");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let good = Bytes::from(&message());
        let changed = |change: fn(&mut Bytes)| {
            let mut bytes = good;
            change(&mut bytes);
            WireupMessage::read(&[bytes.as_bytes(), b"rank 3"].concat())
        };
        assert!(changed(|_| {}).is_some());
        assert_eq!(changed(|bytes| bytes.magic = 0.into()), None);
        assert_eq!(changed(|bytes| bytes.version = 3), None);
        assert_eq!(changed(|bytes| bytes.flags = 4), None);
        assert_eq!(changed(|bytes| bytes.number = 0x100_0000.into()), None);
        assert_eq!(changed(|bytes| bytes.control_number = 0x100_0000.into()), None);
        assert_eq!(changed(|bytes| bytes.window = 1.into()), None);
        assert_eq!(WireupMessage::read(&[&good.as_bytes()[1..], b"rank 3"].concat()), None);
        assert_eq!(WireupMessage::read(good.as_bytes()), None, "nobody has sent it");
        assert_eq!(WireupMessage::read(&[]), None);
    }
}
