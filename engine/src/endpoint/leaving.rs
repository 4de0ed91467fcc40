//! The end of a rank's part in its job.

use super::Endpoint;
use crate::Error;
use crate::backends::AnyNetwork;
use crate::site::CallSite;
use carrousel_rank::{Collective, Communicator, Kind, Source};
use carrousel_system::{Defect, SYSTEM, System};
use carrousel_trace::TraceEnd;

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
}
