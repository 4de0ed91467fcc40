//! The members of a communicator.

use crate::Error;
use carrousel_engine::Membership;
use std::sync::Arc;

/// The members of a communicator, as ranks of the job.
#[derive(Clone, Debug)]
pub(crate) enum Group {
    /// All ranks of the job, this many, each under its own number.
    All(u32),
    /// Some of them, by `comm_rank`.
    Some(Arc<Membership>),
}

impl Group {
    pub(crate) fn len(&self) -> u32 {
        match self {
            Self::All(ranks) => *ranks,
            Self::Some(some) => some.members.len() as u32,
        }
    }

    /// The rank of the job at this `comm_rank`.
    #[inline]
    pub(crate) fn rank(&self, comm_rank: u32) -> Result<u32, Error> {
        match self {
            // A rank that does not exist is for the protocol to refuse.
            Self::All(_) => Ok(comm_rank),
            Self::Some(some) => {
                let members = &some.members;
                let known = members.get(comm_rank as usize).copied();
                known.ok_or(Error::NoSuchRank { rank: comm_rank, ranks: members.len() as u32 })
            }
        }
    }

    /// The `comm_rank` of a rank of the job, which is a member.
    #[inline]
    pub(crate) fn comm_rank(&self, rank: u32) -> u32 {
        match self {
            Self::All(_) => rank,
            // Numbers of communicators are used again only when nothing is under way in the old one.
            Self::Some(some) => some.comm_rank(rank).unwrap_or(u32::MAX),
        }
    }

    /// Whether a rank of the job is a member.
    pub(crate) fn contains(&self, rank: u32) -> bool {
        match self {
            Self::All(ranks) => rank < *ranks,
            Self::Some(some) => some.comm_rank(rank).is_some(),
        }
    }
}
