//! The members of a communicator.

use carrousel_engine::Membership;
use carrousel_rank::RankId;
use std::sync::Arc;

/// The members of a communicator, as ranks of the job.
#[derive(Clone, Debug)]
pub(crate) enum Group {
    /// All ranks of the job, this many, each under its own number.
    All(u32),
    /// Those of a communicator that the program has made.
    Some(Arc<Membership>),
}

impl Group {
    pub(crate) fn len(&self) -> u32 {
        match self {
            Self::All(ranks) => *ranks,
            Self::Some(some) => some.members().len(),
        }
    }

    /// The rank of the job at this `comm_rank`; `None` if there is none.
    #[inline]
    pub(crate) fn rank(&self, comm_rank: u32) -> Option<RankId> {
        match self {
            // A rank that does not exist is for the protocol to refuse.
            Self::All(_) => Some(RankId(comm_rank)),
            Self::Some(some) => some.members().rank(comm_rank),
        }
    }

    /// The `comm_rank` of a rank of the job, which is a member.
    #[inline]
    pub(crate) fn comm_rank(&self, rank: u32) -> u32 {
        match self {
            Self::All(_) => rank,
            // Numbers of communicators are used again only when nothing is under way in the old one.
            Self::Some(some) => some.members().comm_rank(RankId(rank)).unwrap_or(u32::MAX),
        }
    }

    /// Whether a rank of the job is a member.
    pub(crate) fn contains(&self, rank: u32) -> bool {
        match self {
            Self::All(ranks) => rank < *ranks,
            Self::Some(some) => some.members().contains(RankId(rank)),
        }
    }
}
