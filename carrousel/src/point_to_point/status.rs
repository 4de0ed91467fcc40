//! Received messages: sender, tag and length, and how receives select their sender.

use crate::Error;
use crate::shared::rank_of_thread;
use carrousel_engine::{CallSite, FailedCall, Found};
use carrousel_rank::mpi;

/// The message that a receive got, or a probe has found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// The sender.
    pub source: u32,
    /// Its tag.
    pub tag: u32,
    /// Its bytes.
    pub bytes: u64,
}

impl Status {
    /// The number of elements of type `T` in the message.
    ///
    /// # Errors
    /// If it does not consist of whole elements.
    #[track_caller]
    pub fn count<T>(&self) -> Result<usize, Error> {
        let element = size_of::<T>();
        match element {
            0 => Ok(0),
            _ if self.bytes.is_multiple_of(element as u64) => Ok((self.bytes / element as u64) as usize),
            _ => Err(self.uneven(element, CallSite::caller())),
        }
    }

    #[cold]
    fn uneven(&self, element: usize, site: CallSite) -> Error {
        let Self { source, tag, bytes } = *self;
        let (rank, place, tag) = (rank_of_thread(), site.into(), Some(tag.to_string().into()));
        let call = FailedCall { rank, place, what: "count of the message", peer: Some(source), tag };
        Error::Uneven { bytes, element, call: Some(Box::new(call)) }
    }
}

impl From<Found> for Status {
    #[inline]
    fn from(Found { envelope, bytes, .. }: Found) -> Self {
        Self { source: envelope.source.0, tag: mpi::number(envelope.tag), bytes }
    }
}

/// The message of a receive, if it got one.
#[inline]
pub(super) fn received(status: &carrousel_rank::Status) -> Option<Status> {
    status.message.map(|(source, tag)| Status { source: source.0, tag: mpi::number(tag), bytes: status.len })
}

/// The sender of a message, or any (`MPI_ANY_SOURCE`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source(pub(crate) carrousel_rank::Source);

/// Any source or any tag, see [`Source`] and [`Tag`](super::Tag).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Any;

impl From<Source> for carrousel_rank::Source {
    fn from(source: Source) -> Self {
        source.0
    }
}
