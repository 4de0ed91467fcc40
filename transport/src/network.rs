//! What an endpoint needs of a transport between nodes, in addition to the contract: connections, losses, zero-copy sends,
//! and a sleep until something arrives.
//!
//! The traits are here, and not at the endpoint, because transports implement them, and no transport knows its endpoint.

use crate::{Handler, Head, MemoryDomain, Outbound, RankId, Transport};
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::time::Duration;

/// A transport between this process and its peers on other nodes.
pub trait Network: Transport<Out: NetworkOut> {
    /// Registers the memory of the application.
    type MemoryDomain: MemoryDomain;

    /// The address by which peers connect, in one word.
    fn address(&self) -> String;

    /// Sets what this process says of itself to peers, which know it by that, before its address is told to any.
    fn introduce_as(&mut self, text: &[u8]);

    /// A domain for the memory of this transport's operations.
    fn memory_domain(&self) -> Self::MemoryDomain;

    /// The most data of a packet, in bytes.
    fn largest_eager(&self) -> u64;

    /// Says to all peers that this process has sent all of its messages, and needs no more of theirs: its end is no loss.
    /// A barrier of all ranks comes before it.
    fn finish(&mut self);

    /// Says to all peers that the application of this process receives no message any more. Packets are taken as before.
    fn leave(&mut self);

    /// The peers that have not [finished](Network::finish), and have not acknowledged everything. The end of this transport
    /// would lose the rest.
    fn unacknowledged(&mut self) -> Vec<RankId>;

    /// Blocks until something may have arrived, at most for `timeout`, and reports it as [`Transport::poll`] does. What
    /// arrives before it blocks is noticed.
    fn sleep(&mut self, now: Duration, handler: &mut impl Handler<Self::Out>, timeout: Duration) -> usize;
}

/// The half of a [`Network`] that takes operations.
pub trait NetworkOut: Outbound {
    /// Why a text is not an address.
    type AddressError: fmt::Display;

    /// Connects to the peer with this [`Network::address`], unless that has begun. Operations that are posted before the
    /// connection is there wait for it. A peer that does not answer is lost.
    ///
    /// # Errors
    /// When the text is not an address of this network.
    fn connect(&mut self, peer: RankId, address: &str) -> Result<(), Self::AddressError>;

    /// Whether a connection has begun, is there, or is lost.
    fn is_known(&self, peer: RankId) -> bool;

    /// Why a peer is lost, if it is.
    fn loss_of(&self, peer: RankId) -> Option<&dyn fmt::Display>;

    /// Gives a peer up, as if its connection had broken.
    fn abandon(&mut self, peer: RankId);

    /// The launcher says that a peer has ended: it is reported as lost.
    fn has_ended(&mut self, peer: RankId);

    /// Whether the application of a peer may still receive messages: the peer is not lost, has not finished, and does not
    /// [leave](Network::leave). True before it is connected.
    fn receives(&self, peer: RankId) -> bool;

    /// As [`Outbound::send`], zero-copy: the adapter reads `data` in place, by the key of `source`, until
    /// [`NetworkOut::zcopy_done`] returns its name. False if the data was copied instead, or the peer is lost: then it may be
    /// changed at once.
    fn send_zcopy(&mut self, to: RankId, head: &Head, data: &[u8], source: ZcopySource) -> bool;

    /// The name of a zero-copy send that is done: the adapter has read the data, or never will.
    fn zcopy_done(&mut self) -> Option<u32>;
}

/// How the data of a zero-copy send is named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZcopySource {
    /// The local key of its registration.
    pub key: u32,
    /// The name that [`NetworkOut::zcopy_done`] returns.
    pub name: u32,
}
