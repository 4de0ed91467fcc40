//! Communicators of some of the ranks.

use crate::{Communicator, Error};
use carrousel_rank::RankId;
use std::rc::Rc;

/// The members of a communicator, as ranks of the job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// All ranks of the job, so many, each under its own number.
    All(u32),
    /// Some of them, by place.
    Some(Rc<[u32]>),
}

impl Group {
    pub(crate) fn len(&self) -> u32 {
        match self {
            Self::All(ranks) => *ranks,
            Self::Some(members) => members.len() as u32,
        }
    }

    /// Which rank of the job is at this place.
    #[inline]
    pub(crate) fn rank(&self, place: u32) -> Result<u32, Error> {
        match self {
            // A rank that does not exist is for the protocol to refuse.
            Self::All(_) => Ok(place),
            Self::Some(members) => {
                let known = members.get(place as usize).copied();
                known.ok_or(Error::NoSuchRank { rank: place, ranks: members.len() as u32 })
            }
        }
    }

    /// The place of a rank of the job.
    #[inline]
    pub(crate) fn place(&self, rank: u32) -> u32 {
        match self {
            Self::All(_) => rank,
            // It is a member, or its message would not have come.
            Self::Some(members) => members.iter().position(|member| *member == rank).unwrap_or(0) as u32,
        }
    }
}

impl Communicator {
    /// The same ranks, whose messages in it match none in another communicator (`MPI_Comm_dup`). All ranks
    /// call it.
    ///
    /// # Errors
    /// When there are no more communicators, or a rank is gone.
    #[track_caller]
    pub fn duplicate(&self) -> Result<Self, Error> {
        let members: Vec<u32> =
            (0..self.size()).map(|place| self.group.rank(place)).collect::<Result<_, _>>()?;
        self.of_members(&members)
    }

    /// The ranks that say the same `color`, by ascending `key`, and where that is equal by rank
    /// (`MPI_Comm_split`). All ranks call it; who says no color is in none.
    ///
    /// # Errors
    /// When there are no more communicators, or a rank is gone.
    #[track_caller]
    pub fn split(&self, color: Option<u32>, key: i32) -> Result<Option<Self>, Error> {
        let own = [u32::from(color.is_some()), color.unwrap_or(0), key.cast_unsigned()];
        let mut all = vec![[0; 3]; self.size() as usize];
        self.allgather(&[own], &mut all)?;
        let same = (0..).zip(&all).filter(|(_, [has, its, _])| *has == 1 && Some(*its) == color);
        let mut members: Vec<(i32, u32)> =
            same.map(|(place, [.., key])| (key.cast_signed(), place)).collect();
        members.sort_unstable();
        let rank = |(_, place): &(i32, u32)| self.group.rank(*place);
        let members: Vec<u32> = members.iter().map(rank).collect::<Result<_, _>>()?;
        // Every rank takes part in agreeing on a number, also who will be in no communicator.
        let new = self.of_members(&members)?;
        Ok(color.map(|_| new))
    }

    /// The ranks that share this one's node (`MPI_Comm_split_type` with `MPI_COMM_TYPE_SHARED`). All ranks call
    /// it.
    ///
    /// # Errors
    /// When there are no more communicators, or a rank is gone.
    #[track_caller]
    pub fn split_by_node(&self) -> Result<Self, Error> {
        let first = self.shared.with(|core| core.neighbours().first().map_or(0, |rank| rank.0));
        self.split(Some(first), 0)?.ok_or(Error::Internal("a rank is on no node"))
    }

    /// A communicator of these ranks of the job, under a number that is free at every rank of this one:
    /// groups that have no rank in common may have the same.
    #[track_caller]
    fn of_members(&self, members: &[u32]) -> Result<Self, Error> {
        let (free, mut number) = (self.shared.with(|core| core.next_communicator()), [0]);
        self.allreduce(&[free], &mut number, |left, right| left.max(right))?;
        let ranks: Vec<RankId> = members.iter().copied().map(RankId).collect();
        let me = self.shared.with(|core| core.me());
        let id = match members.contains(&me) {
            true => self.shared.with(|core| core.define(number[0], &ranks))?,
            false => self.id,
        };
        Ok(Self { id, group: Group::Some(members.into()), ..self.clone() })
    }
}
