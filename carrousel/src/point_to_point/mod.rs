//! Messages between two ranks (MPI-4.1, chapter 3).
//!
//! A buffer belongs to the library from the call that starts its request to the call that ends it: until then no code
//! of the application can reach it. There are three ways to ensure that. All promises about memory on which the
//! endpoint relies are made here, and in `collectives`:
//!
//! - the call does not return before (`blocking`);
//! - the request owns the buffer, and gives it back when it ends, or leaks it with itself (`request`);
//! - the buffer is borrowed for longer than a scope lasts, which does not end before (`scope`).

mod blocking;
mod completable;
mod completion;
mod message;
mod probe;
mod rank_or_tag;
mod request;
mod scope;
mod status;
mod tags;

pub use self::completion::{Outstanding, block_on, wait_all, wait_any, wait_some};
pub use self::message::Message;
pub use self::rank_or_tag::RankOrTag;
pub use self::request::Request;
pub use self::scope::{Scope, ScopedRequest};
pub use self::status::{Any, Source, Status};
pub use self::tags::Tag;

pub(crate) use self::tags::{of_receive as tag_of_receive, of_send as tag_of_send, text as tag_text};

use self::blocking::{Outgoing, exchange};
use crate::{Communicator, Element, Error};
use carrousel_engine::SendKind;
use zerocopy::IntoBytes;

impl Communicator {
    /// Sends `data` to rank `to`, and returns once it may be changed (`MPI_Send`).
    ///
    /// # Errors
    /// When there is no such rank or tag (at most 2^31-1), or the peer is gone.
    #[inline]
    #[track_caller]
    pub fn send<T: Element>(
        &self,
        data: &[T],
        to: impl Into<RankOrTag>,
        tag: impl Into<RankOrTag>,
    ) -> Result<(), Error> {
        let (caller, kind) = (self.caller(), SendKind::Blocking);
        let envelope = self.envelope(caller, kind, to, tag)?;
        Ok(self.shared.with(|endpoint| blocking::send(endpoint, data.as_bytes(), caller, envelope, kind))?)
    }

    /// As [`Communicator::send`], but returns only once the receive has begun (`MPI_Ssend`).
    ///
    /// # Errors
    /// As [`Communicator::send`].
    #[track_caller]
    pub fn ssend<T: Element>(
        &self,
        data: &[T],
        to: impl Into<RankOrTag>,
        tag: impl Into<RankOrTag>,
    ) -> Result<(), Error> {
        let (caller, kind) = (self.caller(), SendKind::Synchronous);
        let envelope = self.envelope(caller, kind, to, tag)?;
        Ok(self.shared.with(|endpoint| blocking::send(endpoint, data.as_bytes(), caller, envelope, kind))?)
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
        let caller = self.caller();
        let (from, tag) = self.wanted(caller, "receive", from, tag)?;
        let got = self
            .shared
            .with(|endpoint| blocking::receive(endpoint, buffer.as_mut_bytes(), caller, from, tag));
        Ok(self.with_comm_rank(got?))
    }

    /// Sends `data` to rank `to` and receives into `buffer` at once (`MPI_Sendrecv`).
    ///
    /// # Errors
    /// As [`Communicator::send`] and [`Communicator::recv`].
    #[track_caller]
    pub fn sendrecv<T: Element, U: Element>(
        &self,
        data: &[T],
        to: impl Into<RankOrTag>,
        send_tag: impl Into<RankOrTag>,
        buffer: &mut [U],
        from: impl Into<Source>,
        recv_tag: impl Into<Tag>,
    ) -> Result<Status, Error> {
        let caller = self.caller();
        let (from, tag) = self.wanted(caller, "receive", from, recv_tag)?;
        let envelope = self.envelope(caller, SendKind::Blocking, to, send_tag)?;
        let (bytes, outgoing) = (buffer.as_mut_bytes(), Outgoing { bytes: data.as_bytes(), envelope });
        let got = self.shared.with(|endpoint| exchange(endpoint, caller, outgoing, bytes, from, tag));
        Ok(self.with_comm_rank(got?))
    }
}
