//! The header of every packet: four bytes, which say what the rest of the packet is.
//!
//! | bits | field | meaning |
//! | --- | --- | --- |
//! | 0..3 | protocol | whose packet it is, see [`Protocol`] |
//! | 3..8 | version | [`VERSION`], never 0 |
//! | 8..15 | kind | which of the protocol's packets of this direction |
//! | 15 | direction | [`Direction`] |
//! | 16..32 | context | [`Context`]: which of the communicator's conversations |
//!
//! As bytes, the lowest comes first. Version and protocol have a fixed place in the first byte for all versions to come, so
//! that a reader of any version can tell what it cannot read.

use crate::Context;
use core::fmt;
use thiserror::Error;

/// The version of the headers, and of the packets of all protocols behind them.
pub const VERSION: u8 = 4;

const PROTOCOL_BITS: u32 = 3;
const KIND_AT: u32 = 8;
const DIRECTION_AT: u32 = 15;
const CONTEXT_AT: u32 = 16;

/// In which direction a packet travels between the ends of what it belongs to: of messages, from the rank that sends them
/// to the rank that receives them, or the other way. Packets of one direction arrive in the order in
/// which they were sent. Between the two directions of a pair of ranks the protocols rely on no order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// To the receiver of the messages, as data goes.
    ToReceiver,
    /// To their sender.
    ToSender,
}

impl fmt::Display for Direction {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ToReceiver => "to the receiver",
            Self::ToSender => "to the sender",
        })
    }
}

/// The protocol whose packet it is. The numbers are part of the format: each has one meaning for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Protocol {
    /// Messages between two ranks: eager, or by rendezvous.
    Messages = 0,
}

impl Protocol {
    /// The most protocols that there can be.
    pub const MAX: u8 = 1 << PROTOCOL_BITS;
}

/// The reason why this process cannot read a header. The peer is to blame, or the forger of the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Error)]
#[non_exhaustive]
pub enum HeaderError {
    /// Another version of the format.
    #[error("it has version {0} of the format, not {VERSION}")]
    Version(u8),
    /// There is no such protocol.
    #[error("there is no protocol {0}")]
    Protocol(u8),
}

/// The header of a packet, as it travels: any four bytes are one, and [`Header::protocol`] says whether it means anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Header(u32);

impl Header {
    /// Bytes of a header.
    pub const LEN: usize = size_of::<u32>();

    /// A bit of the kind that a protocol may use to say that a packet has one more field.
    pub const KIND_FLAG: u8 = 1 << 6;

    /// The header of a packet of a protocol.
    ///
    /// # Panics
    /// When the kind has more than seven bits.
    #[inline]
    pub const fn new(protocol: Protocol, direction: Direction, kind: u8, context: Context) -> Self {
        assert!(kind < 1 << (DIRECTION_AT - KIND_AT), "a kind has seven bits");
        Self(
            (context.0 as u32) << CONTEXT_AT
                | (direction as u32) << DIRECTION_AT
                | (kind as u32) << KIND_AT
                | (VERSION as u32) << PROTOCOL_BITS
                | protocol as u32,
        )
    }

    /// A header of another context.
    #[inline]
    #[must_use]
    pub const fn with_context(self, context: Context) -> Self {
        Self(self.0 as u16 as u32 | (context.0 as u32) << CONTEXT_AT)
    }

    /// The header in a word. No header of any version is [a word of a transport's own](Header::is_transports_own).
    #[inline]
    pub const fn from_bits(bits: u32) -> Self {
        Self(bits)
    }

    /// As a word.
    #[inline]
    pub const fn bits(self) -> u32 {
        self.0
    }

    /// Whether a word is no header, as its version is 0. A transport that marks what it carries by words may use these
    /// for what is not a packet.
    #[inline]
    pub const fn is_transports_own(bits: u32) -> bool {
        bits as u8 >> PROTOCOL_BITS == 0
    }

    /// The header that these bytes are.
    #[inline]
    pub const fn from_bytes(bytes: [u8; Self::LEN]) -> Self {
        Self(u32::from_le_bytes(bytes))
    }

    /// As bytes.
    #[inline]
    pub const fn to_bytes(self) -> [u8; Self::LEN] {
        self.0.to_le_bytes()
    }

    /// The protocol whose packet it is.
    ///
    /// # Errors
    /// When the version or the protocol is unknown here: then no other field means anything.
    #[inline]
    pub const fn protocol(self) -> Result<Protocol, HeaderError> {
        let first = self.0 as u8;
        let (version, protocol) = (first >> PROTOCOL_BITS, first % Protocol::MAX);
        match (version, protocol) {
            (VERSION, 0) => Ok(Protocol::Messages),
            (VERSION, other) => Err(HeaderError::Protocol(other)),
            (other, _) => Err(HeaderError::Version(other)),
        }
    }

    /// In which direction it travels.
    #[inline]
    pub const fn direction(self) -> Direction {
        if self.0 >> DIRECTION_AT & 1 == 0 { Direction::ToReceiver } else { Direction::ToSender }
    }

    /// Which of the protocol's packets of this direction it is.
    #[inline]
    pub const fn kind(self) -> u8 {
        (self.0 >> KIND_AT) as u8 & 0x7f
    }

    /// Which conversation it belongs to.
    #[inline]
    pub const fn context(self) -> Context {
        Context((self.0 >> CONTEXT_AT) as u16)
    }

    /// Whether two headers differ at most in their context.
    #[inline]
    pub const fn is_like(self, other: Self) -> bool {
        self.0 as u16 == other.0 as u16
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_header_has_its_fields(back in any::<bool>(), kind in 0..128_u8, context in any::<u16>().prop_map(Context)) {
            let direction = if back { Direction::ToSender } else { Direction::ToReceiver };
            let header = Header::new(Protocol::Messages, direction, kind, context);
            prop_assert_eq!(header.protocol(), Ok(Protocol::Messages));
            prop_assert_eq!((header.direction(), header.kind(), header.context()), (direction, kind, context));
            prop_assert_eq!(Header::from_bytes(header.to_bytes()), header);
            prop_assert!(!Header::is_transports_own(header.bits()));
        }

        #[test]
        fn what_can_be_read_has_one_header(bits in any::<u32>()) {
            let header = Header::from_bits(bits);
            if let Ok(protocol) = header.protocol() {
                let again = Header::new(protocol, header.direction(), header.kind(), header.context());
                prop_assert_eq!(again, header);
            }
        }

        #[test]
        fn another_context_changes_nothing_else(bits in any::<u32>(), context in any::<u16>().prop_map(Context)) {
            let (header, other) = (Header::from_bits(bits), Header::from_bits(bits).with_context(context));
            prop_assert!(header.is_like(other) && other.context() == context);
            prop_assert_eq!(other.with_context(header.context()), header);
        }
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        let good = Header::new(Protocol::Messages, Direction::ToSender, 2, Context(0x0301));
        assert_eq!(good.to_bytes(), [VERSION << 3, 0x82, 1, 3]);
        let first = |byte| Header::from_bytes([byte, 0x82, 1, 3]).protocol();
        assert_eq!(first(VERSION << 3 | 1), Err(HeaderError::Protocol(1)));
        assert_eq!(first(VERSION << 3 | 7), Err(HeaderError::Protocol(7)));
        assert_eq!(first(5 << 3), Err(HeaderError::Version(5)));
        // The first byte of packets before version 4 was the version.
        assert_eq!(first(3), Err(HeaderError::Version(0)));
        assert!(Header::is_transports_own(3) && !Header::is_transports_own(8));
        assert!(!good.is_like(Header::new(Protocol::Messages, Direction::ToReceiver, 2, Context(0x0301))));
    }
}
