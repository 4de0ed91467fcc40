//! The packets of one-sided operations: messages of the engine in a context of their own.

use crate::fi::Errno;
use zerocopy::byteorder::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The most bytes of a packet: one that is sent eagerly, by default.
pub(super) const PACKET_BYTES: usize = 8 << 10;
/// The most data in a packet.
pub(crate) const PAYLOAD_BYTES: usize = PACKET_BYTES - size_of::<Head>();

/// The head of a packet. Data may follow.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned,
)]
#[repr(C)]
pub(super) struct Head {
    /// One of [`Kind`].
    pub(super) kind: u8,
    /// Of an atomic.
    pub(super) datatype: u8,
    /// Of an atomic.
    pub(super) op: u8,
    /// [`WITH_DATA`].
    pub(super) flags: u8,
    /// Elements of an atomic; of an answer, the error, or 0.
    pub(super) count: U32,
    /// The operation, to the process that has started it.
    pub(super) number: U64,
    /// The region.
    pub(super) key: U64,
    /// The place in it.
    pub(super) address: U64,
    /// Bytes there.
    pub(super) len: U64,
    /// For the target's completion queue.
    pub(super) data: U64,
}

/// The operation has data for the target's completion queue.
pub(super) const WITH_DATA: u8 = 1;

/// What a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A write, whose data follows the head.
    Write,
    /// A write, whose data is a message of its own.
    WriteApart,
    /// A read, whose data is a message of its own.
    Read,
    /// An atomic that returns nothing; its operands follow the head.
    Atomic,
    /// An atomic that returns what was there before.
    Fetch,
    /// An atomic that compares, and returns what was there before; the operands follow, then what they are compared with.
    Compare,
    /// The end of an operation; what it returns follows.
    Answer,
}

impl Kind {
    const ALL: [Self; 7] =
        [Self::Write, Self::WriteApart, Self::Read, Self::Atomic, Self::Fetch, Self::Compare, Self::Answer];

    pub(super) fn of(byte: u8) -> Option<Self> {
        Self::ALL.get(usize::from(byte)).copied()
    }
}

/// The tag of the data of an operation, which the process has started that the bit names.
pub(super) fn data_tag(number: u64, to_target: bool) -> u64 {
    number << 1 | u64::from(to_target)
}

impl Head {
    pub(super) fn new(kind: Kind, number: u64) -> Self {
        Self { kind: kind as u8, number: number.into(), ..Self::default() }
    }

    pub(super) fn answer(number: u64, result: Result<(), Errno>) -> Self {
        let error = result.map_or_else(|errno| errno.0 as u32, |()| 0);
        Self { count: error.into(), ..Self::new(Kind::Answer, number) }
    }

    /// The packet in these bytes: its kind, its head, and what follows. `None` if it is none.
    pub(super) fn read(bytes: &[u8]) -> Option<(Kind, Self, &[u8])> {
        let (head, rest) = Self::read_from_prefix(bytes).ok()?;
        Some((Kind::of(head.kind)?, head, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_survives_being_written() {
        for kind in Kind::ALL {
            let head = Head { key: 5.into(), data: u64::MAX.into(), ..Head::new(kind, 7) };
            let bytes = [head.as_bytes(), b"rest"].concat();
            assert_eq!(Head::read(&bytes), Some((kind, head, &b"rest"[..])));
        }
        assert_eq!(Head::read(&[0; size_of::<Head>() - 1]), None);
        assert_eq!(Head::read(&[7; size_of::<Head>()]), None);
    }
}
