//! Peers that are lost: how that is noticed, and what becomes of what was posted to them.

use super::Out;
use crate::node::direct::{self, DirectCopyError};
use crate::node::loss::Loss;
use crate::node::peer::{FragmentedOp, FragmentedSend, PendingSend, says_finished};
use carrousel_system::{SYSTEM, System};
use carrousel_transport::{Arrival, RankId};
use rustix::event::{PollFd, PollFlags};
use rustix::io::Errno;
use std::ops::Bound;
use std::time::Duration;

/// How many processes without a pidfd each [`Out::poll_ended`] probes: a probe takes microseconds.
const PROBES_MAX: usize = 8;

impl Out {
    /// Gives a peer up, as if its connection had broken: it is reported as lost, and its frames are not
    /// handled any more.
    pub fn abandon(&mut self, rank: RankId) {
        if let Some(local_rank) = self.local_ranks.of(rank) {
            self.lose(local_rank);
        }
    }

    /// The connected and the watched peers whose processes have ended. Each call probes some of those without a pidfd.
    pub(in crate::node) fn poll_ended(&mut self) -> Vec<usize> {
        let pidfd = |local_rank: &usize| {
            let peer = self.peers[*local_rank].as_deref()?;
            Some((*local_rank, PollFd::new(peer.process.pidfd()?, PollFlags::IN)))
        };
        let peers = self.connected.iter().filter_map(pidfd);
        let (local_ranks, mut polled): (Vec<usize>, Vec<PollFd<'_>>) = peers.unzip();
        let mut ended = Vec::new();
        if SYSTEM.poll(&mut polled, Duration::ZERO).is_ok() {
            let is_over = |(_, fd): &(usize, PollFd<'_>)| !fd.revents().is_empty();
            ended.extend(
                local_ranks.into_iter().zip(polled).filter(is_over).map(|(local_rank, _)| local_rank),
            );
        }
        let behind = (Bound::Excluded(self.last_probed), Bound::Unbounded);
        let probed = self.probed.range(behind).chain(self.probed.range(..=self.last_probed));
        for (local_rank, identity) in probed.take(PROBES_MAX) {
            self.last_probed = *local_rank;
            if identity.has_ended() {
                ended.push(*local_rank);
            }
        }
        ended
    }

    /// Handles the end of the process of `local_rank`, all of whose messages have been taken: it is lost, unless it had
    /// finished and no operation on it is outstanding. In that case, packets that wait for room at it are dropped.
    pub(in crate::node) fn handle_exit(&mut self, local_rank: usize) {
        match &mut self.peers[local_rank] {
            Some(peer) if peer.has_finished() && !peer.has_outstanding() => {
                self.pending -= peer.drop_pending()
            }
            None if self.watched.get(&local_rank).is_some_and(says_finished) => {}
            _ => self.lose(local_rank),
        }
    }

    /// Whether the peer of this local rank is lost.
    #[inline]
    pub(in crate::node) fn is_lost(&self, local_rank: usize) -> bool {
        self.lost[local_rank]
    }

    /// As [`Out::lose`], and keeps the cause.
    #[cold]
    pub(in crate::node) fn lose_because(&mut self, local_rank: usize, why: impl Into<Loss>) {
        self.losses.entry(local_rank).or_insert_with(|| why.into());
        self.lose(local_rank);
    }

    /// Loses a peer with which no bytes could be copied, between `own` and `theirs` of so many.
    #[cold]
    pub(super) fn lose_by_copy(
        &mut self,
        local_rank: usize,
        why: DirectCopyError,
        own: usize,
        theirs: u64,
        len: u64,
    ) {
        match why {
            DirectCopyError::NotMapped if direct::is_mapped(own as u64, len) => {
                self.lose_because(local_rank, Loss::TheirMemory { address: theirs, len });
            }
            DirectCopyError::NotMapped => {
                self.lose_because(local_rank, Loss::OwnMemory { address: own as u64, len });
            }
            // A process that has ended has no memory: that it has ended is what there is to say.
            DirectCopyError::Failed(errno) if errno != Errno::SRCH => {
                self.lose_because(local_rank, Loss::Copy(errno));
            }
            _ => self.lose(local_rank),
        }
    }

    /// The cause of the loss of `rank`, if one is known.
    pub fn loss_of(&self, rank: RankId) -> Option<&Loss> {
        self.losses.get(&self.local_ranks.of(rank)?)
    }

    /// Marks a peer as lost, forgets it, and completes the operations that were posted to it.
    pub(in crate::node) fn lose(&mut self, local_rank: usize) {
        if std::mem::replace(&mut self.lost[local_rank], true) {
            return;
        }
        self.to_report.push_back(local_rank);
        self.probed.remove(&local_rank);
        self.watched.remove(&local_rank);
        if let Some(peer) = self.peers[local_rank].take() {
            self.connected.retain(|connected| *connected != local_rank);
            self.pending -= peer.pending.len();
            for pending in peer.pending {
                if let PendingSend::Fragmented(FragmentedSend {
                    op: FragmentedOp::Write(request, _), ..
                }) = pending
                {
                    self.completions.push_back(Arrival::Written(request));
                }
            }
            self.completions.extend(peer.reads.iter().map(|read| Arrival::Read(read.request)));
            let fetched = |request| Arrival::Fetched(request, 0);
            self.completions.extend(peer.atomics.requests().map(fetched));
        }
    }
}
