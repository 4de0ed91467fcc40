//! Ranks that talk among each other.

use crate::group::Group;
use crate::shared::Shared;
use crate::{CallSite, Element, Error, Request, Source, Status, Tag};
use carrousel_rank::{Collective, Kind, RankId};
use zerocopy::IntoBytes;

/// Ranks that talk among each other (`MPI_Comm`), as one of them sees it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Communicator {
    pub(crate) shared: Shared,
    pub(crate) id: carrousel_rank::Communicator,
    pub(crate) group: Group,
    /// On whose behalf its calls are made, if not on that of their callers.
    pub(crate) site: Option<CallSite>,
}

impl Communicator {
    pub(crate) fn world(shared: Shared) -> Self {
        let group = Group::All(shared.with(|core| core.ranks()));
        Self { shared, id: carrousel_rank::Communicator::WORLD, group, site: None }
    }

    /// A source as a rank of the job.
    #[inline]
    pub(crate) fn source(&self, from: impl Into<Source>) -> Result<carrousel_rank::Source, Error> {
        match from.into().0 {
            carrousel_rank::Source::Rank(RankId(rank)) => {
                self.group.rank(rank).map(|rank| carrousel_rank::Source::Rank(RankId(rank)))
            }
            any => Ok(any),
        }
    }

    /// A status with the sender's place in this communicator.
    #[inline]
    pub(crate) fn placed(&self, status: Status) -> Status {
        Status { source: self.group.place(status.source), ..status }
    }

    /// The number of this rank, from 0.
    pub fn rank(&self) -> u32 {
        self.group.place(self.shared.with(|core| core.me()))
    }

    /// How many ranks there are.
    pub fn size(&self) -> u32 {
        self.group.len()
    }

    /// Sends `data` to rank `to`, and returns once it may be changed (`MPI_Send`).
    ///
    /// # Errors
    /// When there is no such rank or tag (at most 2^31-1), or the peer is gone.
    #[inline]
    #[track_caller]
    pub fn send<T: Element>(&self, data: &[T], to: u32, tag: u32) -> Result<(), Error> {
        let (caller, to) = (self.caller(), self.group.rank(to)?);
        Ok(self.shared.with(|core| core.send_and_wait(data.as_bytes(), caller, to, tag, false))?)
    }

    /// As [`Communicator::send`], but returns only once the receive has begun (`MPI_Ssend`).
    ///
    /// # Errors
    /// As [`Communicator::send`].
    #[track_caller]
    pub fn ssend<T: Element>(&self, data: &[T], to: u32, tag: u32) -> Result<(), Error> {
        let (caller, to) = (self.caller(), self.group.rank(to)?);
        Ok(self.shared.with(|core| core.send_and_wait(data.as_bytes(), caller, to, tag, true))?)
    }

    /// Receives a message into the beginning of `buffer` (`MPI_Recv`). `from` is a rank or [`Any`](crate::Any), and so
    /// is `tag`.
    ///
    /// # Errors
    /// When there is no such rank or tag, the message is longer than the buffer, or the peer is gone.
    #[inline]
    #[track_caller]
    pub fn recv<T: Element>(
        &self,
        buffer: &mut [T],
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Status, Error> {
        let (caller, from, tag) = (self.caller(), self.source(from)?, tag.into().0);
        let got = self.shared.with(|core| core.receive_and_wait(buffer.as_mut_bytes(), caller, from, tag));
        Ok(self.placed(got?))
    }

    /// Sends `data` and receives into `buffer` at once (`MPI_Sendrecv`).
    ///
    /// # Errors
    /// As [`Communicator::send`] and [`Communicator::recv`].
    #[track_caller]
    pub fn sendrecv<T: Element, U: Element>(
        &self,
        (data, to, send_tag): (&[T], u32, u32),
        (buffer, from, recv_tag): (&mut [U], impl Into<Source>, impl Into<Tag>),
    ) -> Result<Status, Error> {
        let caller = self.caller();
        let receive = (buffer.as_mut_bytes(), self.source(from)?, recv_tag.into().0);
        let send = (data.as_bytes(), self.group.rank(to)?, send_tag);
        let got = self.shared.with(|core| core.exchange(caller, send, receive));
        Ok(self.placed(got?))
    }

    /// Waits until a message like this could be received, and leaves it where it is (`MPI_Probe`).
    ///
    /// # Errors
    /// When there is no such rank, or the peer is gone; from any rank, when one of them is.
    #[track_caller]
    pub fn probe(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Status, Error> {
        let (caller, from, tag) = (self.caller(), self.source(from)?, tag.into().0);
        let found = self.shared.with(|core| core.wait_for_message(caller, from, tag));
        Ok(self.placed(found?))
    }

    /// Whether a message like this could be received now (`MPI_Iprobe`). Lets messages move.
    ///
    /// # Errors
    /// When there is no such rank, or, if no such message is there, the peer is gone; from any rank, when one of them is.
    #[track_caller]
    pub fn iprobe(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Option<Status>, Error> {
        let (caller, from, tag) = (self.caller(), self.source(from)?, tag.into().0);
        let found = self.shared.with(|core| core.probe_now(caller, from, tag))?;
        Ok(found.map(|found| self.placed(found)))
    }

    /// Enters a barrier, and goes on (`MPI_Ibarrier`): the request is complete when all ranks have entered.
    ///
    /// # Errors
    /// When a rank cannot be reached.
    #[track_caller]
    pub fn ibarrier(&self) -> Result<Request<u8>, Error> {
        let (site, barrier) = (self.site(), Collective::barrier(self.id));
        if let Some(request) = self.checked_ibarrier(site)? {
            return Ok(request);
        }
        let handle = self.shared.with(|core| core.collective(barrier, None, Kind::Barrier, site))?;
        Ok(Request::of_nothing(self.of_request(), handle, None))
    }
}
