//! Communicators of some of the ranks (MPI-4.1, chapter 7).

mod communicator;
mod group;

pub use self::communicator::Communicator;

use self::group::Group;
use crate::Error;
use crate::shared::Place;
use carrousel_engine::{COMPARED, CallContext, Endpoint, Membership};
use carrousel_rank::{Members, RankId};

impl Communicator {
    /// A communicator of the same ranks (`MPI_Comm_dup`). Its messages match none of another communicator. All ranks
    /// call it.
    ///
    /// # Errors
    /// If there are no more communicators, or a rank is gone.
    #[track_caller]
    pub fn duplicate(&self) -> Result<Self, Error> {
        let members: Vec<RankId> =
            (0..self.size()).filter_map(|comm_rank| self.group.rank(comm_rank)).collect();
        self.of_members(&members)
    }

    /// A communicator of the ranks with the same `color`, by ascending `key`, and by rank if keys are equal
    /// (`MPI_Comm_split`). All ranks call it; a rank without a color gets no communicator.
    ///
    /// # Errors
    /// If there are no more communicators, or a rank is gone.
    #[track_caller]
    pub fn split(&self, color: Option<u32>, key: i32) -> Result<Option<Self>, Error> {
        let own = [u32::from(color.is_some()), color.unwrap_or(0), key.cast_unsigned()];
        let mut all = vec![[0; 3]; self.size() as usize];
        self.allgather(&[own], &mut all)?;
        let same = (0..).zip(&all).filter(|(_, [has, its, _])| *has == 1 && Some(*its) == color);
        let mut members: Vec<(i32, u32)> =
            same.map(|(comm_rank, [.., key])| (key.cast_signed(), comm_rank)).collect();
        members.sort_unstable();
        let rank = |(_, comm_rank): &(i32, u32)| self.group.rank(*comm_rank);
        let members: Vec<RankId> = members.iter().filter_map(rank).collect();
        // Every rank takes part in agreeing on a number, even if it will be in no communicator.
        let new = self.of_members(&members)?;
        Ok(color.map(|_| new))
    }

    /// The ranks that share this one's node (`MPI_Comm_split_type` with `MPI_COMM_TYPE_SHARED`). All ranks call
    /// it.
    ///
    /// # Errors
    /// If there are no more communicators, or a rank is gone.
    #[track_caller]
    pub fn split_by_node(&self) -> Result<Self, Error> {
        self.split(Some(self.shared.place().first_of_node), 0)?.ok_or(Error::Internal("a rank is on no node"))
    }

    /// A communicator of these ranks of the job, under a number that is free at every rank of this one. Groups
    /// without a common rank may have the same number.
    #[track_caller]
    fn of_members(&self, members: &[RankId]) -> Result<Self, Error> {
        let number = self.free_number()?;
        let Place { me, ranks, .. } = *self.shared.place();
        let members = Members::new(members, ranks).map_err(Error::from)?;
        let (id, membership) = match members.contains(RankId(me)) {
            true => self.shared.with(|endpoint| endpoint.define(number, &members))?,
            false => (self.id(), Membership::of_others(members)),
        };
        let context = CallContext { communicator: id, ..self.context };
        Ok(Self { context, group: Group::Some(membership.into()), ..self.clone() })
    }

    /// The lowest number that is in use at no rank of this communicator.
    #[track_caller]
    fn free_number(&self) -> Result<usize, Error> {
        // All messages of a communicator that is gone have arrived before its number is used again.
        let site = self.site();
        self.shared.with(|endpoint| endpoint.drain(site));
        // This acts as a barrier. A call of that name would agree with a barrier that the program calls elsewhere.
        self.allreduce(&[0u8], &mut [0], |left, _| left)?;
        for block in 0..usize::from(carrousel_rank::Communicator::MAX).div_ceil(COMPARED) {
            let is_member = |rank| self.group.contains(rank);
            let taken =
                |endpoint: &mut Endpoint| Ok::<_, Error>(endpoint.communicators_taken(block, is_member));
            let own = self.shared.with(taken)?;
            let mut taken = own;
            self.allreduce(&own, &mut taken, |left, right| left | right)?;
            self.shared.with(|endpoint| endpoint.communicators_agreed(block, &taken));
            // All ranks see the same numbers, so all take the same one, or go on.
            if let Some(word) = taken.iter().position(|word| *word != u64::MAX) {
                let bits = u64::BITS as usize;
                return Ok(block * COMPARED + word * bits + taken[word].trailing_ones() as usize);
            }
        }
        Err(Error::TooManyCommunicators)
    }
}
