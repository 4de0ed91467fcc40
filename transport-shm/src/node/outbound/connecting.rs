//! Connecting to peers, and watching those that are not connected.

use super::Out;
use crate::node::address::Address;
use crate::node::connect::ConnectError;
use crate::node::direct;
use crate::node::frames::INTRODUCTION;
use crate::node::helpfulness::Helpfulness;
use crate::node::peer::{Peer, PeerRing, SecondRing};
use crate::node::pending_atomics::PendingAtomics;
use crate::node::process::{self, Identity, Process};
use crate::sync::Ordering;
use crate::{Producer, Segment, largest};
use carrousel_transport::RankId;
use rustix::process::Pid;
use std::collections::VecDeque;

impl Out {
    /// Connects to the peer that has published `address`; does nothing when it is connected, or lost. A process
    /// that has not connected to a peer cannot answer its reads: pairs connect both ways before they read.
    ///
    /// # Errors
    /// When the process or its segment is not found, the segment is of another version or layout, or the node has too
    /// little memory for a ring.
    pub fn connect(&mut self, rank: RankId, address: &Address) -> Result<(), ConnectError> {
        let local_rank = self.local_ranks.of(rank).ok_or(ConnectError::NotOnNode(rank))?;
        // A second sending end would start at the beginning of the ring again.
        if self.is_connected(rank) {
            return Ok(());
        }
        let identity = self.identity(rank, address)?;
        let (process, segment) = open_peer(rank, identity, address)?;
        let refused = |why| match process.is_ending() {
            true => ConnectError::ProcessEnded(rank),
            false => ConnectError::Segment { rank, why },
        };
        if segment.layout() != self.segment.layout() {
            return Err(ConnectError::LayoutMismatch {
                rank,
                theirs: segment.layout(),
                own: self.segment.layout(),
            });
        }
        self.budget.take(self.segment.layout().first_bytes() as u64)?;
        let place = match self.local_ranks.own {
            Some(own) => own,
            None => segment.claim().map_err(refused)?,
        };
        let ring = segment.ring(place).map_err(refused)?;
        // Every ring of a layout has a valid size.
        let mut ring = Producer::new(ring).map_err(|_| ConnectError::NotOnNode(rank))?.with_last();
        if self.local_ranks.own.is_none() {
            ring.push(INTRODUCTION, &[&self.introduction])
                .map_err(|why| ConnectError::Introduction { rank, why })?;
        }
        let ring = PeerRing::new(ring, largest(self.segment.layout().capacity()), segment.doorbell());
        let second = Some(SecondRing { address: *address, place, is_spared: false });
        if self.rings_doorbells {
            segment.ringers().fetch_add(1, Ordering::Relaxed);
        }
        // Behind the count: an owner that sees the peer sees that it rings.
        segment.announce(place).map_err(refused)?;
        let pid = identity.pid;
        let direct = self.direct && direct::is_permitted(pid, address.probe);
        if process.pidfd().is_some() {
            self.probed.remove(&local_rank);
        } else {
            self.probed.insert(local_rank, identity);
        }
        let (pending, reads) = (VecDeque::new(), VecDeque::new());
        self.watched.remove(&local_rank);
        // The segment's descriptor is not needed any more; many peers would keep many of them.
        let (stage, processor) = (segment.stage(), segment.processor());
        let atomics = PendingAtomics::default();
        self.connected.push(local_rank);
        self.peers[local_rank] = Some(Box::new(Peer {
            ring,
            second,
            transfer: 0,
            helpfulness: Helpfulness::default(),
            stage,
            processor,
            pid,
            process,
            direct,
            pending,
            reads,
            atomics,
        }));
        Ok(())
    }

    /// Lets [`Node::check`](super::super::Node::check) notice the end of the peer that has published `address`, without
    /// a connection, which would take memory. Does nothing when it is connected, watched, or lost.
    ///
    /// Whether it has finished is seen if its segment can be opened now: one that has ended already counts as lost.
    ///
    /// # Errors
    /// When the number is that of another process here, whose end would mean nothing.
    pub fn watch(&mut self, rank: RankId, address: &Address) -> Result<(), ConnectError> {
        let local_rank = self.local_ranks.of(rank).ok_or(ConnectError::NotOnNode(rank))?;
        if !self.is_watched(rank) {
            let identity = self.identity(rank, address)?;
            match open_peer(rank, identity, address) {
                Ok((_, segment)) => {
                    self.watched.insert(local_rank, segment.stage());
                }
                // The messages that it had sent are taken before its end is reported.
                Err(ConnectError::ProcessEnded(_)) => {}
                Err(error) if error.is_shortage() => {}
                Err(error) => return Err(error),
            }
            self.probed.insert(local_rank, identity);
        }
        Ok(())
    }

    /// Whether the end of `rank` is noticed.
    pub fn is_watched(&self, rank: RankId) -> bool {
        let watched = |local_rank| self.probed.contains_key(&local_rank);
        self.is_connected(rank) || self.local_ranks.of(rank).is_some_and(watched)
    }

    /// The identity of a peer's process.
    pub(super) fn identity(&self, rank: RankId, address: &Address) -> Result<Identity, ConnectError> {
        let (theirs, own) = (address.namespace, self.namespace);
        if theirs != own && theirs != 0 && own != 0 {
            return Err(ConnectError::OtherPidNamespace { rank, theirs, own });
        }
        let pid = Pid::from_raw(address.pid as i32).ok_or(ConnectError::ProcessEnded(rank))?;
        Ok(Identity { pid, began: address.began, in_proc: self.in_proc })
    }
}

/// The process and the segment of the peer that has published `address`.
pub(super) fn open_peer(
    rank: RankId,
    identity: Identity,
    address: &Address,
) -> Result<(Process, Segment), ConnectError> {
    // The process first, so that another process that gets its number later is told apart.
    let process = Process::open(identity).map_err(|_| ConnectError::ProcessEnded(rank))?;
    match Segment::open_of(address.pid, address.fd) {
        Ok(segment) if segment.nonce() == address.nonce => Ok((process, segment)),
        // A process that ends closes its files first, and other files may get their numbers.
        _ if process.is_ending() => Err(ConnectError::ProcessEnded(rank)),
        Ok(_) => Err(ConnectError::SegmentNotFound { rank, pid: address.pid, why: None }),
        Err(why) if why.is_shortage() => Err(ConnectError::Segment { rank, why }),
        Err(why) => Err(match process::foreign_user_namespace(address.pid) {
            Some(own) => ConnectError::OtherUserNamespace { rank, pid: address.pid, own },
            None => ConnectError::SegmentNotFound { rank, pid: address.pid, why: Some(why) },
        }),
    }
}
