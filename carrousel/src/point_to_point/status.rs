//! Received messages: sender, tag and length, and how receives select their sender.

use crate::Error;
use carrousel_engine::Found;
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
    pub fn count<T>(&self) -> Result<usize, Error> {
        let element = size_of::<T>();
        match element {
            0 => Ok(0),
            _ if self.bytes.is_multiple_of(element as u64) => Ok((self.bytes / element as u64) as usize),
            _ => Err(Error::Uneven { bytes: self.bytes, element }),
        }
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

impl From<u32> for Source {
    fn from(rank: u32) -> Self {
        Self(carrousel_rank::Source::Rank(carrousel_rank::RankId(rank)))
    }
}

impl From<Any> for Source {
    fn from(_: Any) -> Self {
        Self(carrousel_rank::Source::Any)
    }
}

impl From<Source> for carrousel_rank::Source {
    fn from(source: Source) -> Self {
        source.0
    }
}
