//! Ranks and tags, as programs name them: by numbers of whichever type is at hand.

use super::status::{Any, Source};
use super::tags::Tag;
use carrousel_rank::mpi;

/// A rank, or the tag of a message that is sent: a `u32`, as [`Communicator::rank`](crate::Communicator::rank) is, a `usize`,
/// as the index of a rank's data is, or a literal. A number that is below 0, or too large, is one that no rank and no tag has:
/// the call says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankOrTag(u32);

impl RankOrTag {
    /// The number, or one that no rank and no tag has.
    #[doc(hidden)]
    #[inline]
    pub fn of(number: impl Into<Self>) -> u32 {
        let Self(number) = number.into();
        number
    }
}

impl From<u32> for RankOrTag {
    #[inline]
    fn from(number: u32) -> Self {
        Self(number)
    }
}

impl From<usize> for RankOrTag {
    #[inline]
    fn from(number: usize) -> Self {
        Self(u32::try_from(number).unwrap_or(u32::MAX))
    }
}

impl From<i32> for RankOrTag {
    #[inline]
    fn from(number: i32) -> Self {
        Self(u32::try_from(number).unwrap_or(u32::MAX))
    }
}

macro_rules! from_numbers {
    ($($number:ty),*) => {$(
        impl From<$number> for Source {
            #[inline]
            fn from(rank: $number) -> Self {
                Self(carrousel_rank::Source::Rank(carrousel_rank::RankId(RankOrTag::from(rank).0)))
            }
        }

        impl From<$number> for Tag {
            #[inline]
            fn from(tag: $number) -> Self {
                Self(mpi::selector(Some(RankOrTag::from(tag).0)))
            }
        }
    )*};
}

from_numbers!(u32, usize, i32, RankOrTag);

impl From<Any> for Source {
    fn from(_: Any) -> Self {
        Self(carrousel_rank::Source::Any)
    }
}

impl From<Any> for Tag {
    fn from(_: Any) -> Self {
        Self(mpi::ANY_TAG)
    }
}
