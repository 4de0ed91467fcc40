//! The contract as types: the calls of an engine, and the reports that it gets.
//!
//! Memory is named, never pointed at: a [`Memory`] is an address and the key under which its owner has
//! registered it. A transport asks [`Regions`] for the bytes behind the names of its own process, so it
//! touches no byte that is not registered, whatever a peer asks for.

use crate::{Atomic, AtomicsUnsupportedError};
use carrousel_wire::{BODY_MAX, Head, Header, Memory, RankId, Report};
use core::time::Duration;

/// A report of a transport: a packet by its header, with body and data as the [`Payload`] that is at hand meanwhile.
pub type Arrival = Report<Header>;
/// A write as a transport takes it, whose notice is encoded.
pub type Write = carrousel_wire::Write<Head>;
/// A read as a transport takes it, whose notice is encoded.
pub type Read = carrousel_wire::Read<Head>;

/// The keys under which an adapter knows memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keys {
    /// For operations of this process.
    pub local: u32,
    /// For operations of peers.
    pub remote: u32,
}

/// Registered memory of this process.
pub trait Regions {
    /// The bytes, to be read; `None` when they are not all registered under this key.
    fn bytes(&self, memory: Memory, len: u64) -> Option<&[u8]>;

    /// The bytes, to be written; `None` when they are not all registered for writing under this key.
    fn bytes_mut(&mut self, memory: Memory, len: u64) -> Option<&mut [u8]>;

    /// The keys under which the transport's adapter knows the bytes, for writing too if `writable`; `None` when
    /// they are not registered under this key, or no adapter knows them. The adapter knows them until the key
    /// is released.
    fn keys(&mut self, _memory: Memory, _len: u64, _writable: bool) -> Option<Keys> {
        None
    }
}

/// Memory whose bytes this process never accesses: an adapter knows all of it by these keys, if there are any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OnlyKeys(pub Option<Keys>);

impl Regions for OnlyKeys {
    fn bytes(&self, _: Memory, _: u64) -> Option<&[u8]> {
        None
    }

    fn bytes_mut(&mut self, _: Memory, _: u64) -> Option<&mut [u8]> {
        None
    }

    fn keys(&mut self, _: Memory, _: u64, _: bool) -> Option<Keys> {
        self.0
    }
}

/// What is behind the header of a packet, wherever it is: its body, and behind that its data. A transport does not know
/// where one ends and the other begins.
pub trait Payload {
    /// Bytes of body and data.
    fn len(&self) -> usize;

    /// Whether there is nothing behind the header.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The first words, 8 bytes each, little end first, if there are as many: the body of most packets.
    fn first_words<const WORDS: usize>(&self) -> Option<[u64; WORDS]>;

    /// The first bytes, with a whole body if there is one. They lie in `room` where the transport cannot lend them.
    fn first<'a>(&'a self, room: &'a mut [u8; BODY_MAX]) -> &'a [u8];

    /// Copies the bytes from `at` on, as many as `into` takes.
    ///
    /// # Panics
    /// When there are fewer.
    fn copy_to(&self, at: usize, into: &mut [u8]);
}

impl Payload for [u8] {
    #[inline]
    fn len(&self) -> usize {
        self.len()
    }

    #[inline]
    fn first_words<const WORDS: usize>(&self) -> Option<[u64; WORDS]> {
        let (words, _) = self.as_chunks();
        words.first_chunk().map(|words| words.map(u64::from_le_bytes))
    }

    #[inline]
    fn first<'a>(&'a self, _: &'a mut [u8; BODY_MAX]) -> &'a [u8] {
        self
    }

    #[inline]
    fn copy_to(&self, at: usize, into: &mut [u8]) {
        into.copy_from_slice(&self[at..][..into.len()]);
    }
}

/// The half of a transport that takes operations.
///
/// No call waits, and none but [`Outbound::atomic`] fails: operations without room are kept and posted later, in order, and failures
/// are reported as [`Arrival::Lost`]. Operations to a peer that was lost do nothing; those that
/// have a request are reported as complete, after the loss, when the rank has ended the request.
pub trait Outbound {
    /// Sends a packet with `data` behind it; both may be reused when this returns.
    fn send(&mut self, to: RankId, head: &Head, data: &[u8]);

    /// Posts a write; [`Arrival::Written`] follows. The memory is registered until then.
    fn write(&mut self, write: &Write, regions: &mut impl Regions);

    /// Posts a read; [`Arrival::Read`] follows. The memory is registered until then. Its notice may be at the peer
    /// before that is reported; a read that fails has none.
    fn read(&mut self, read: &Read, regions: &mut impl Regions);

    /// Posts an atomic; [`Arrival::Fetched`] follows. The value of one that fails means nothing.
    ///
    /// # Errors
    /// When the transport has no atomics. Nothing is posted then, and nothing follows.
    fn atomic(&mut self, atomic: &Atomic) -> Result<(), AtomicsUnsupportedError>;
}

/// Takes the reports of a transport.
pub trait Handler<O: Outbound> {
    /// The registered memory of this process.
    type Regions: Regions;

    /// The registered memory of this process.
    fn regions(&mut self) -> &mut Self::Regions;

    /// Takes one arrival, with what is behind the header of a packet (nothing with others), and may post operations that
    /// follow from it. Whether the packet means anything is for the handler to find out; it [gives up](Arrival::Lost) a peer
    /// that sends what means nothing.
    fn arrival(&mut self, arrival: Arrival, payload: &(impl Payload + ?Sized), out: &mut O);

    /// Whether the arrivals so far are enough for this poll: a transport that keeps what has not been taken takes no further
    /// packet of that peer until the next one. Without, it takes as many as it likes.
    #[inline]
    fn has_enough(&self) -> bool {
        false
    }
}

/// A transport between this process and some of its peers.
pub trait Transport {
    /// The half that takes operations.
    type Out: Outbound;

    /// The half that takes operations.
    fn out(&mut self) -> &mut Self::Out;

    /// Reports arrivals, up to a bounded number of them, and posts operations for which there was no room.
    /// Returns how much was done: 0 if nothing.
    ///
    /// `now` is the time, by a clock that never goes back, since a moment that the caller has chosen. It may be old: a caller
    /// that polls in a loop reads its clock once in a while, and polls with the time it has. So time costs a poll that
    /// finds something at most a register, where reading a clock costs as much as a tenth of a message. A transport does
    /// by it what is not urgent, when nothing has arrived.
    fn poll(&mut self, now: Duration, handler: &mut impl Handler<Self::Out>) -> usize;

    /// When this transport wants to be polled although nothing arrives, by the time of [`Transport::poll`]: a caller that
    /// blocks wakes up by then. `None` if arrivals are all that it waits for. A method of its own, as the answer matters only
    /// to a caller that is about to block.
    fn next_poll(&self) -> Option<Duration>;
}
