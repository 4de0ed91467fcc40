//! Probing for messages that no receive has matched (MPI-4.1, 3.8).

use super::{Source, Status, Tag};
use crate::{Communicator, Error};

impl Communicator {
    /// Waits until such a message can be received, and does not receive it (`MPI_Probe`).
    ///
    /// # Errors
    /// When there is no such rank or tag, or the peer is gone; from any rank, when one of them is.
    #[track_caller]
    pub fn probe(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Status, Error> {
        let caller = self.caller();
        let (from, tag) = self.wanted(caller, "probe", from, tag)?;
        let found = self.shared.with(|endpoint| endpoint.wait_for_message(caller, from, tag));
        Ok(self.with_comm_rank(found?.into()))
    }

    /// Whether such a message can be received now (`MPI_Iprobe`). Makes progress.
    ///
    /// # Errors
    /// When there is no such rank or tag, or, if no such message is there, the peer is gone; from any rank, when one of them is.
    #[track_caller]
    pub fn iprobe(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Option<Status>, Error> {
        let caller = self.caller();
        let (from, tag) = self.wanted(caller, "probe", from, tag)?;
        let found = self.shared.with(|endpoint| endpoint.probe_now(caller, from, tag))?;
        Ok(found.map(|found| self.with_comm_rank(found.into())))
    }
}
