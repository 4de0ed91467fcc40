//! The members of a communicator.

use crate::Error;
use carrousel_engine::Membership;
use std::sync::Arc;

/// The members of a communicator, as ranks of the job.
#[derive(Clone, Debug)]
pub(crate) enum Group {
    /// All ranks of the job, this many, each under its own number.
    All(u32),
    /// Some of them, by place.
    Some(Arc<Membership>),
}

impl Group {
    pub(crate) fn len(&self) -> u32 {
        match self {
            Self::All(ranks) => *ranks,
            Self::Some(some) => some.members.len() as u32,
        }
    }

    /// The rank of the job at this place.
    #[inline]
    pub(crate) fn rank(&self, place: u32) -> Result<u32, Error> {
        match self {
            // A rank that does not exist is for the protocol to refuse.
            Self::All(_) => Ok(place),
            Self::Some(some) => {
                let members = &some.members;
                let known = members.get(place as usize).copied();
                known.ok_or(Error::NoSuchRank { rank: place, ranks: members.len() as u32 })
            }
        }
    }

    /// The place of a rank of the job, which is a member.
    #[inline]
    pub(crate) fn place(&self, rank: u32) -> u32 {
        match self {
            Self::All(_) => rank,
            // Numbers of communicators are used again only when nothing is under way in the old one.
            Self::Some(some) => some.place(rank).unwrap_or(u32::MAX),
        }
    }

    /// Whether a rank of the job is a member.
    pub(crate) fn contains(&self, rank: u32) -> bool {
        match self {
            Self::All(ranks) => rank < *ranks,
            Self::Some(some) => some.place(rank).is_some(),
        }
    }
}
