//! The two transports of a rank: one to the ranks of its node, and one to all others.

use super::registry::Registry;
use carrousel_rank::{Context, Packet, RankId, Tag};
use carrousel_transport::{Outbound, Read, Transport, Write};
use carrousel_transport_shm::{self as shm, Node};
use carrousel_transport_verbs::{self as verbs, Verbs};

/// The transport between nodes, where there is one.
pub(super) type Far = Option<Box<Verbs>>;

/// The halves that take operations.
pub(crate) struct Ways<'a> {
    pub(super) near: &'a mut shm::Out,
    pub(super) far: Option<&'a mut verbs::Out>,
}

impl<'a> Ways<'a> {
    #[inline(always)]
    pub(super) fn of(node: &'a mut Node, far: &'a mut Far) -> Self {
        Self { near: node.out(), far: far.as_deref_mut().map(Transport::out) }
    }

    /// Whether something can be posted to a peer.
    #[inline]
    pub(super) fn is_connected(&self, peer: RankId) -> bool {
        self.near.is_connected(peer) || self.far.as_ref().is_some_and(|far| far.is_known(peer))
    }

    /// Whether the end of a peer is noticed.
    pub(super) fn is_watched(&self, peer: RankId) -> bool {
        self.near.is_watched(peer) || self.far.as_ref().is_some_and(|far| far.is_known(peer))
    }

    /// The transport between nodes, if that is the way to a peer.
    #[inline]
    pub(super) fn far_to(&mut self, peer: RankId) -> Option<&mut verbs::Out> {
        self.far.as_deref_mut().filter(|far| far.is_known(peer))
    }

    /// Sends an EAGER, if that is a matter of a copy; false if not.
    #[inline(always)]
    pub(super) fn send_now(&mut self, to: RankId, context: Context, tag: Tag, data: &[u8]) -> bool {
        self.near.send_now(to, context, tag, data)
    }

    pub(super) fn send(&mut self, to: RankId, context: Context, packet: &Packet, data: &[u8]) {
        match self.far_to(to) {
            Some(far) => far.send(to, context, packet, data),
            None => self.near.send(to, context, packet, data),
        }
    }

    pub(super) fn write(&mut self, write: &Write, registry: &mut Registry) {
        match self.far_to(write.to) {
            Some(far) => far.write(write, registry),
            None => self.near.write(write, registry),
        }
    }

    pub(super) fn read(&mut self, read: &Read, registry: &mut Registry) {
        match self.far_to(read.of) {
            Some(far) => far.read(read, registry),
            None => self.near.read(read, registry),
        }
    }

    /// Gives a peer up: it is reported as lost.
    pub(super) fn abandon(&mut self, peer: RankId) {
        match &mut self.far {
            Some(far) if !self.near.serves(peer) => far.abandon(peer),
            _ => self.near.abandon(peer),
        }
    }

    /// Whether something waits for room.
    pub(super) fn is_waiting(&self) -> bool {
        self.near.is_waiting() || self.far.as_ref().is_some_and(|far| far.is_waiting())
    }
}
