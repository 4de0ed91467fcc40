//! The two transports of a rank: shared memory to the ranks of its node, and a network to all others.

use super::registry::Registry;
use crate::backends::shm::{self, Node};
use crate::backends::{AnyNetwork, AnyNetworkOut};
use carrousel_rank::RankId;
use carrousel_transport::{Head, Header, NetworkOut, Outbound, Read, Transport, Write};

/// The sending halves of both transports.
pub(crate) struct Transports<'a> {
    pub(super) shm: &'a mut shm::Out,
    pub(super) net: Option<AnyNetworkOut<'a>>,
}

impl<'a> Transports<'a> {
    #[inline(always)]
    pub(super) fn of(node: &'a mut Node, net: &'a mut Option<AnyNetwork>) -> Self {
        Self { shm: node.out(), net: net.as_mut().map(AnyNetwork::out) }
    }

    /// Whether operations can be posted to a peer.
    #[inline]
    pub(super) fn is_connected(&self, peer: RankId) -> bool {
        self.shm.is_connected(peer) || self.net.as_ref().is_some_and(|net| net.is_known(peer))
    }

    /// Whether the end of a peer will be noticed.
    pub(super) fn is_watched(&self, peer: RankId) -> bool {
        self.shm.is_watched(peer) || self.net.as_ref().is_some_and(|net| net.is_known(peer))
    }

    /// The network transport, if it is the one that reaches a peer.
    #[inline]
    pub(super) fn net_to(&mut self, peer: RankId) -> Option<&mut AnyNetworkOut<'a>> {
        self.net.as_mut().filter(|net| net.is_known(peer))
    }

    /// Sends a packet whose body is whole words through shared memory, if there is room for it at once; false if not.
    #[inline(always)]
    pub(super) fn send_now<const WORDS: usize>(
        &mut self,
        to: RankId,
        header: Header,
        body: [u64; WORDS],
        data: &[u8],
    ) -> bool {
        self.shm.send_now(to, header, body, data)
    }

    pub(super) fn send(&mut self, to: RankId, head: &Head, data: &[u8]) {
        match self.net_to(to) {
            Some(net) => net.send(to, head, data),
            None => self.shm.send(to, head, data),
        }
    }

    pub(super) fn write(&mut self, write: &Write, registry: &mut Registry) {
        match self.net_to(write.to) {
            Some(net) => net.write(write, registry),
            None => self.shm.write(write, registry),
        }
    }

    pub(super) fn read(&mut self, read: &Read, registry: &mut Registry) {
        match self.net_to(read.of) {
            Some(net) => net.read(read, registry),
            None => self.shm.read(read, registry),
        }
    }

    /// Gives a peer up: it is reported as lost.
    pub(super) fn abandon(&mut self, peer: RankId) {
        match &mut self.net {
            // Shared memory could serve every peer of an open endpoint.
            Some(net) if net.is_known(peer) || !self.shm.serves(peer) => net.abandon(peer),
            _ => self.shm.abandon(peer),
        }
    }
}
