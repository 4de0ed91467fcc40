//! The datagrams by which two ranks make a connection.

use crate::Address;
use crate::ibv::Ends;
use carrousel_connection::Hello;
use carrousel_transport::RankId;
use zerocopy::little_endian::{U16, U32};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The first bytes: anybody may send a datagram to the queue by mistake.
const MAGIC: u32 = u32::from_le_bytes(*b"crsl");
/// Of what follows.
const VERSION: u8 = 2;

/// A message of the wire-up: the content of a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WireupMessage {
    pub(crate) from: RankId,
    pub(crate) to: RankId,
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

/// The bytes.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(crate) struct Bytes {
    magic: U32,
    version: u8,
    /// 1: heard; 2: sure.
    flags: u8,
    mtu: u8,
    reads: u8,
    from: U32,
    to: U32,
    queue: U32,
    key: U32,
    lid: U16,
    window: U16,
    gid: [u8; 16],
    number: U32,
    first: U32,
    /// 0 without a second queue pair: no connection has that number.
    control_number: U32,
    control_first: U32,
}

impl From<&WireupMessage> for Bytes {
    fn from(message: &WireupMessage) -> Self {
        let WireupMessage { from, to, address, ends, control, window, hello } = *message;
        Self {
            magic: MAGIC.into(),
            version: VERSION,
            flags: u8::from(hello.heard) | u8::from(hello.sure) << 1,
            mtu: ends.mtu,
            reads: ends.reads,
            from: from.0.into(),
            to: to.0.into(),
            queue: address.queue.into(),
            key: address.key.into(),
            lid: address.lid.into(),
            window: window.into(),
            gid: address.gid,
            number: ends.number.into(),
            first: ends.first.into(),
            control_number: control.map_or(0, |ends| ends.number).into(),
            control_first: control.map_or(0, |ends| ends.first).into(),
        }
    }
}

impl WireupMessage {
    /// Reads a datagram, if it is one of these.
    pub(crate) fn read(datagram: &[u8]) -> Option<Self> {
        let bytes = Bytes::read_from_bytes(datagram).ok()?;
        let is_ours = bytes.magic.get() == MAGIC && bytes.version == VERSION && bytes.flags < 4;
        let numbers = [bytes.queue, bytes.number, bytes.first, bytes.control_number, bytes.control_first];
        let numbers @ [queue, number, first, control_number, control_first] = numbers.map(U32::get);
        let fits = numbers.into_iter().all(|number| number <= 0xff_ffff);
        let address = Address { lid: bytes.lid.get(), gid: bytes.gid, queue, key: bytes.key.get() };
        let Address { lid, gid, .. } = address;
        let ends = Ends { lid, gid, number, first, mtu: bytes.mtu, reads: bytes.reads };
        let second = Ends { number: control_number, first: control_first, ..ends };
        (is_ours && fits && bytes.window.get() >= 2).then_some(Self {
            from: RankId(bytes.from.get()),
            to: RankId(bytes.to.get()),
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
    WireupMessage::read(datagram).map(|message| Bytes::from(&message).as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message() -> WireupMessage {
        let address = Address { lid: 7, gid: [9; 16], queue: 17, key: u32::MAX };
        let ends = Ends { lid: 7, gid: [9; 16], number: 0xff_ffff, first: 1, mtu: 5, reads: 16 };
        let hello = Hello { heard: true, sure: false };
        let control = Some(Ends { number: 18, first: 0xff_ffff, ..ends });
        WireupMessage { from: RankId(3), to: RankId(70_000), address, ends, control, window: 64, hello }
    }

    #[test]
    fn bytes_and_back() {
        for (heard, sure) in [(false, false), (true, false), (true, true)] {
            let message = WireupMessage { hello: Hello { heard, sure }, ..message() };
            assert_eq!(WireupMessage::read(Bytes::from(&message).as_bytes()), Some(message));
            let message = WireupMessage { control: None, ..message };
            assert_eq!(WireupMessage::read(Bytes::from(&message).as_bytes()), Some(message));
        }
        assert!(size_of::<Bytes>() <= crate::ibv::DATAGRAM_MAX);
    }

    #[test]
    fn anything_else_is_refused() {
        let good = Bytes::from(&message());
        let changed = |change: fn(&mut Bytes)| {
            let mut bytes = good;
            change(&mut bytes);
            WireupMessage::read(bytes.as_bytes())
        };
        assert!(changed(|_| {}).is_some());
        assert_eq!(changed(|bytes| bytes.magic = 0.into()), None);
        assert_eq!(changed(|bytes| bytes.version = 1), None);
        assert_eq!(changed(|bytes| bytes.flags = 4), None);
        assert_eq!(changed(|bytes| bytes.number = 0x100_0000.into()), None);
        assert_eq!(changed(|bytes| bytes.control_number = 0x100_0000.into()), None);
        assert_eq!(changed(|bytes| bytes.window = 1.into()), None);
        assert_eq!(WireupMessage::read(&good.as_bytes()[1..]), None);
        assert_eq!(WireupMessage::read(&[]), None);
    }
}
