//! Blocking messages between two ranks (MPI-4.1, chapter 3): the calls return when the buffer is the application's again.

use crate::{Communicator, Element, Error, Source, Status, Tag};
use zerocopy::IntoBytes;

impl Communicator {
    /// Sends `data` to rank `to`, and returns once it may be changed (`MPI_Send`).
    ///
    /// # Errors
    /// When there is no such rank or tag (at most 2^31-1), or the peer is gone.
    #[inline]
    #[track_caller]
    pub fn send<T: Element>(&self, data: &[T], to: u32, tag: u32) -> Result<(), Error> {
        let (caller, to) = (self.caller(), self.group.rank(to)?);
        Ok(self.shared.with(|endpoint| endpoint.send_and_wait(data.as_bytes(), caller, to, tag, false))?)
    }

    /// As [`Communicator::send`], but returns only once the receive has begun (`MPI_Ssend`).
    ///
    /// # Errors
    /// As [`Communicator::send`].
    #[track_caller]
    pub fn ssend<T: Element>(&self, data: &[T], to: u32, tag: u32) -> Result<(), Error> {
        let (caller, to) = (self.caller(), self.group.rank(to)?);
        Ok(self.shared.with(|endpoint| endpoint.send_and_wait(data.as_bytes(), caller, to, tag, true))?)
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
        let got =
            self.shared.with(|endpoint| endpoint.receive_and_wait(buffer.as_mut_bytes(), caller, from, tag));
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
        let got = self.shared.with(|endpoint| endpoint.exchange(caller, send, receive));
        Ok(self.placed(got?))
    }
}
