//! Ranks that talk among each other.

use crate::shared::Shared;
use crate::{Element, Error, Request, Source, Status, Tag};
use zerocopy::IntoBytes;

/// Ranks that talk among each other (`MPI_Comm`), as one of them sees it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Communicator {
    pub(crate) shared: Shared,
    pub(crate) id: carrousel_rank::Communicator,
}

impl Communicator {
    pub(crate) fn world(shared: Shared) -> Self {
        Self { shared, id: carrousel_rank::Communicator::WORLD }
    }

    /// The same ranks, whose messages in it match none in another communicator (`MPI_Comm_dup`). All ranks
    /// call it, in the same order.
    ///
    /// # Errors
    /// When there are no more.
    pub fn duplicate(&self) -> Result<Self, Error> {
        let id = self.shared.with(|core| core.new_communicator()).ok_or(Error::TooManyCommunicators)?;
        Ok(Self { shared: self.shared.clone(), id })
    }

    /// The number of this rank, from 0.
    pub fn rank(&self) -> u32 {
        self.shared.with(|core| core.me())
    }

    /// How many ranks there are.
    pub fn size(&self) -> u32 {
        self.shared.with(|core| core.ranks())
    }

    /// Says in which line of its source the application is: what is reported of a rank that waits for long
    /// names it.
    #[inline]
    pub fn at_line(&self, line: u32) {
        self.shared.with(|core| core.at_line(line));
    }

    /// Sends `data` to rank `to`, and returns once it may be changed (`MPI_Send`).
    ///
    /// # Errors
    /// When there is no such rank or tag (at most 2^31-1), or the peer is gone.
    #[inline]
    pub fn send<T: Element>(&self, data: &[T], to: u32, tag: u32) -> Result<(), Error> {
        self.shared.with(|core| core.send_and_wait(data.as_bytes(), self.id, to, tag, false))
    }

    /// As [`Communicator::send`], but returns only once the receive has begun (`MPI_Ssend`).
    ///
    /// # Errors
    /// As [`Communicator::send`].
    pub fn ssend<T: Element>(&self, data: &[T], to: u32, tag: u32) -> Result<(), Error> {
        self.shared.with(|core| core.send_and_wait(data.as_bytes(), self.id, to, tag, true))
    }

    /// Receives a message into the beginning of `buffer` (`MPI_Recv`). `from` is a rank or [`Any`](crate::Any), and so
    /// is `tag`.
    ///
    /// # Errors
    /// When there is no such rank or tag, the message is longer than the buffer, or the peer is gone.
    #[inline]
    pub fn recv<T: Element>(
        &self,
        buffer: &mut [T],
        from: impl Into<Source>,
        tag: impl Into<Tag>,
    ) -> Result<Status, Error> {
        let (from, tag) = (from.into().0, tag.into().0);
        self.shared.with(|core| core.receive_and_wait(buffer.as_mut_bytes(), self.id, from, tag))
    }

    /// Sends `data` and receives into `buffer` at once (`MPI_Sendrecv`).
    ///
    /// # Errors
    /// As [`Communicator::send`] and [`Communicator::recv`].
    pub fn sendrecv<T: Element, U: Element>(
        &self,
        (data, to, send_tag): (&[T], u32, u32),
        (buffer, from, recv_tag): (&mut [U], impl Into<Source>, impl Into<Tag>),
    ) -> Result<Status, Error> {
        let receive = (buffer.as_mut_bytes(), from.into().0, recv_tag.into().0);
        self.shared.with(|core| core.exchange(self.id, (data.as_bytes(), to, send_tag), receive))
    }

    /// Waits until a message like this could be received, and leaves it where it is (`MPI_Probe`).
    ///
    /// # Errors
    /// When there is no such rank.
    pub fn probe(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Status, Error> {
        let (from, tag) = (from.into(), tag.into());
        let mut found = None;
        self.shared.with(|core| {
            core.wait_until(|core| {
                found = core.probe(self.id, from.0, tag.0);
                found.is_some()
            });
        });
        let (envelope, bytes) = found.ok_or(Error::Internal("a probe has ended without a message"))?;
        Ok(Status { source: envelope.source.0, tag: envelope.tag.0, bytes })
    }

    /// Whether a message like this could be received now (`MPI_Iprobe`). Lets messages move.
    ///
    /// # Errors
    /// When there is no such rank.
    pub fn iprobe(&self, from: impl Into<Source>, tag: impl Into<Tag>) -> Result<Option<Status>, Error> {
        let (from, tag) = (from.into().0, tag.into().0);
        let found = self.shared.with(|core| {
            core.progress();
            core.probe(self.id, from, tag)
        });
        Ok(found.map(|(envelope, bytes)| Status { source: envelope.source.0, tag: envelope.tag.0, bytes }))
    }

    /// Enters a barrier, and goes on (`MPI_Ibarrier`): the request is complete when all ranks have entered.
    ///
    /// # Errors
    /// When a rank cannot be reached.
    pub fn ibarrier(&self) -> Result<Request<u8>, Error> {
        let handle = self.shared.with(|core| core.barrier())?;
        Ok(Request::of_nothing(self.shared.clone(), handle))
    }

    /// Waits until all ranks have called it (`MPI_Barrier`).
    ///
    /// # Errors
    /// When a rank is gone.
    pub fn barrier(&self) -> Result<(), Error> {
        self.shared.with(|core| {
            let handle = core.barrier()?;
            core.wait(handle).map(|_| ())
        })
    }
}
