//! The contract as types: the calls of an engine, and the reports that it gets.
//!
//! Memory is named, never pointed at: a [`Memory`] is an address and the key under which its owner has
//! registered it. A transport asks [`Regions`] for the bytes behind the names of its own process, so it
//! touches no byte that is not registered, whatever a peer asks for.

use crate::{Atomic, AtomicsUnsupportedError, Context, Handle, Memory, Packet, RankId};

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

/// The data of an eager message, wherever it is.
pub trait Payload {
    /// Bytes of data.
    fn len(&self) -> usize;

    /// Whether the message has no data.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Copies the first bytes, as many as `into` takes.
    ///
    /// # Panics
    /// When the data has fewer.
    fn copy_to(&self, into: &mut [u8]);
}

impl Payload for [u8] {
    fn len(&self) -> usize {
        self.len()
    }

    fn copy_to(&self, into: &mut [u8]) {
        into.copy_from_slice(&self[..into.len()]);
    }
}

/// A report of a transport.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arrival {
    /// A packet of a peer. The data of an EAGER is at hand while it is reported.
    Packet {
        /// The sender.
        from: RankId,
        /// The communicator.
        context: Context,
        /// The packet.
        packet: Packet,
    },
    /// The write that was posted for this request is complete.
    Written(Handle),
    /// The read that was posted for this request is complete.
    Read(Handle),
    /// The atomic that was posted for this request is complete, and found this value.
    Fetched(Handle, u64),
    /// The connection to a peer is broken. Reported once, before completions of operations that failed
    /// because of it, and after all packets of the peer.
    Lost(RankId),
}

/// A write into a peer's memory, and the packet behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Write {
    /// The peer whose memory is written.
    pub to: RankId,
    /// The source, in this process.
    pub from: Memory,
    /// The destination, at the peer.
    pub into: Memory,
    /// Bytes to copy.
    pub len: u64,
    /// The request that [`Arrival::Written`] names.
    pub request: Handle,
    /// The packet to send behind the data, and its communicator.
    pub notice: Option<(Context, Packet)>,
}

/// A read of a peer's memory, and the packet behind it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read {
    /// The peer whose memory is read.
    pub of: RankId,
    /// The source, at the peer.
    pub from: Memory,
    /// The destination, in this process.
    pub into: Memory,
    /// Bytes to copy.
    pub len: u64,
    /// The request that [`Arrival::Read`] names.
    pub request: Handle,
    /// The packet to send to `of` once the data is in place, and its communicator; it goes back, as all packets of a
    /// receiver do.
    pub notice: Option<(Context, Packet)>,
}

/// The half of a transport that takes operations.
///
/// No call waits, and none but [`Outbound::atomic`] fails: operations without room are kept and posted later, in order, and failures
/// are reported as [`Arrival::Lost`]. Operations to a peer that was lost do nothing; those that
/// have a request are reported as complete, after the loss, when the rank has ended the request.
pub trait Outbound {
    /// Sends a packet, with `data` behind it if it is an EAGER; both may be reused when this returns.
    fn send(&mut self, to: RankId, context: Context, packet: &Packet, data: &[u8]);

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

    /// Takes one arrival, with the data of an EAGER (empty with others), and may post operations that follow from it.
    fn arrival(&mut self, arrival: Arrival, data: &(impl Payload + ?Sized), out: &mut O);
}

/// A transport between this process and some of its peers.
pub trait Transport {
    /// The half that takes operations.
    type Out: Outbound;

    /// The half that takes operations.
    fn out(&mut self) -> &mut Self::Out;

    /// Reports arrivals, up to a bounded number of them, and posts operations for which there was no room.
    /// Returns how much was done: 0 if nothing.
    fn poll(&mut self, handler: &mut impl Handler<Self::Out>) -> usize;
}
