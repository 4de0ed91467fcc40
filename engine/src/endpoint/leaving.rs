//! The end of a rank's part in its job, and of an endpoint that has no job.

use super::Endpoint;
use crate::Error;
use crate::backends::AnyNetwork;
use crate::site::CallSite;
use carrousel_rank::{Collective, Communicator, Kind, RankId, Source};
use carrousel_system::{Defect, SYSTEM, System};
use carrousel_trace::TraceEnd;
use carrousel_transport::{NetworkOut, Transport};
use std::time::{Duration, Instant};

impl Endpoint {
    /// Ends the part of this rank without its peers: they see it as lost once the process ends.
    pub fn abandon(&mut self) {
        self.end_trace(TraceEnd::Left);
    }

    /// Sends what is left, waits for all ranks, and tells them that this one has finished.
    pub fn finalize(&mut self, site: CallSite) -> Result<(), Error> {
        // After the barrier a rank need not poll any more: frames that wait for room there would wait for ever.
        self.drain(site);
        let barrier = Collective::barrier(Communicator::WORLD);
        let barrier = self.collective(barrier, None, Kind::Barrier, site)?;
        let result = self.wait(barrier, site, |_| ());
        self.drain(site);
        // A peer that this rank has given up may not have got its part of the barrier: that peer waits until it sees this rank
        // as lost.
        self.poll_until_idle();
        let unheard = SYSTEM.restores(Defect::LeavesUnheard);
        let result =
            result.and_then(|()| match self.driver.rank.lost_for(Source::Any, Communicator::WORLD) {
                Some(lost) if !unheard => Err(self.gone(lost)),
                _ => Ok(()),
            });
        if result.is_ok() {
            self.node.finish();
            self.net.iter_mut().for_each(AnyNetwork::finish);
            self.drain(site);
        }
        // Otherwise the barrier has failed, and ranks that still need this one must see it as lost.
        self.end_trace(if result.is_ok() { TraceEnd::Finalized } else { TraceEnd::Left });
        Ok(result?)
    }

    /// Tells the peers of an [open](Endpoint::open) endpoint that its caller receives no message any more. Those that leave,
    /// too, need not wait until theirs are received.
    pub fn leave(&mut self) {
        self.node.leave();
        self.net.iter_mut().for_each(AnyNetwork::leave);
    }

    /// Whether the caller behind a peer may still receive messages: the peer is not lost, has not finished, and does not
    /// [leave](Self::leave).
    pub fn receives(&mut self, peer: RankId) -> bool {
        let over_net = |net: &mut AnyNetwork| net.out().receives(peer);
        !self.is_lost(peer) && self.node.out().receives(peer) && self.net.as_mut().is_none_or(over_net)
    }

    /// The peers that may need packets which are not even where they poll next.
    pub fn undelivered_to(&mut self) -> Vec<RankId> {
        let shm = self.node.out();
        // A rank that has finished needs nothing more: the frames that wait for it only tell which of its messages
        // were received.
        shm.drop_for_finished();
        let mut peers: Vec<RankId> = shm.waited_for().collect();
        peers.extend(self.net.iter_mut().flat_map(AnyNetwork::unacknowledged));
        peers
    }

    /// Ends an [open](Endpoint::open) endpoint: its peers do not see it as lost. What it has sent arrives first, if the
    /// peers take it within this time. Requests that are not complete never will be.
    pub fn close(mut self, at_most: Duration) {
        let until = SYSTEM.now() + at_most;
        self.deliver_until(until);
        self.node.finish();
        if let Some(net) = &mut self.net {
            net.finish();
            self.deliver_until(until);
        }
        self.end_trace(TraceEnd::Finalized);
    }

    /// Lets messages move until all that this endpoint has sent is delivered, or it is that late.
    fn deliver_until(&mut self, until: Instant) {
        while self.has_undelivered() && SYSTEM.now() < until {
            self.poll();
        }
    }
}
