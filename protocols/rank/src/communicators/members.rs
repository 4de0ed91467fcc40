//! The members of a communicator, and their numbers in it.

use crate::UsageError;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use carrousel_matching::RankId;

/// The ranks of a communicator by `comm_rank`, each once. Either way, from a `comm_rank` to the rank and back, is one
/// computation or one look-up, however many there are. Cheap to clone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Members(Shape);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Shape {
    /// Every so many ranks, from the first one on: all ranks of a job, or a row or column of a grid.
    Strided { first: u32, stride: u32, len: u32 },
    /// Any others.
    Table(Arc<Table>),
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct Table {
    ranks: Box<[RankId]>,
    lowest: u32,
    /// From the lowest rank to the highest one: the `comm_rank`, or [`NOT_A_MEMBER`].
    comm_ranks: Box<[u32]>,
}

/// No `comm_rank`: there are fewer members than this number.
const NOT_A_MEMBER: u32 = u32::MAX;

impl Members {
    /// All ranks of a job of this size, each at the `comm_rank` of its number.
    pub const fn all(ranks: u32) -> Self {
        Self(Shape::Strided { first: 0, stride: 1, len: ranks })
    }

    /// These ranks of a job of `ranks`.
    ///
    /// # Errors
    /// When one does not exist, or is there twice.
    pub fn new(members: &[RankId], ranks: u32) -> Result<Self, UsageError> {
        if let Some(rank) = members.iter().copied().find(|rank| rank.0 >= ranks) {
            return Err(UsageError::NoSuchRank { rank, ranks });
        }
        if let Some(strided) = strided(members) {
            return Ok(Self(strided));
        }
        let numbers = || members.iter().map(|rank| rank.0);
        let (lowest, highest) = (numbers().min().unwrap_or(0), numbers().max().unwrap_or(0));
        let mut comm_ranks = vec![NOT_A_MEMBER; (highest - lowest) as usize + 1].into_boxed_slice();
        for (comm_rank, rank) in (0..).zip(members) {
            let place = &mut comm_ranks[(rank.0 - lowest) as usize];
            if *place != NOT_A_MEMBER {
                return Err(UsageError::MemberTwice(*rank));
            }
            *place = comm_rank;
        }
        Ok(Self(Shape::Table(Arc::new(Table { ranks: members.into(), lowest, comm_ranks }))))
    }

    /// The number of members.
    #[inline]
    pub fn len(&self) -> u32 {
        match &self.0 {
            Shape::Strided { len, .. } => *len,
            // Members are different ranks, of which there are no more than numbers.
            Shape::Table(table) => table.ranks.len() as u32,
        }
    }

    /// Whether the communicator has no members.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The rank at a `comm_rank`, if there is one.
    #[inline]
    pub fn rank(&self, comm_rank: u32) -> Option<RankId> {
        match &self.0 {
            Shape::Strided { first, stride, len } => {
                (comm_rank < *len).then(|| RankId(first + comm_rank * stride))
            }
            Shape::Table(table) => table.ranks.get(comm_rank as usize).copied(),
        }
    }

    /// The `comm_rank` of a rank, if it is a member.
    #[inline]
    pub fn comm_rank(&self, rank: RankId) -> Option<u32> {
        match &self.0 {
            Shape::Strided { first, stride: 1, len } => {
                rank.0.checked_sub(*first).filter(|comm_rank| comm_rank < len)
            }
            Shape::Strided { first, stride, len } => {
                let beyond = rank.0.checked_sub(*first)?;
                Some(beyond / stride).filter(|comm_rank| beyond.is_multiple_of(*stride) && comm_rank < len)
            }
            Shape::Table(table) => {
                let place = rank.0.checked_sub(table.lowest)?;
                let comm_rank = table.comm_ranks.get(place as usize).copied();
                comm_rank.filter(|comm_rank| *comm_rank != NOT_A_MEMBER)
            }
        }
    }

    /// Whether a rank is a member.
    #[inline]
    pub fn contains(&self, rank: RankId) -> bool {
        self.comm_rank(rank).is_some()
    }

    /// The members, by `comm_rank`.
    pub fn iter(&self) -> impl Iterator<Item = RankId> + '_ {
        (0..self.len()).filter_map(|comm_rank| self.rank(comm_rank))
    }

    /// The highest member, if a job of so many ranks does not have it; `None` if all members exist.
    pub(super) fn beyond(&self, ranks: u32) -> Option<RankId> {
        let highest = match &self.0 {
            Shape::Strided { len: 0, .. } => return None,
            Shape::Strided { first, stride, len } => first + (len - 1) * stride,
            Shape::Table(table) => table.lowest + (table.comm_ranks.len() as u32 - 1),
        };
        (highest >= ranks).then_some(RankId(highest))
    }
}

/// Ascending ranks at one distance from each other; also none, and one.
fn strided(members: &[RankId]) -> Option<Shape> {
    let first = members.first().map_or(0, |rank| rank.0);
    let stride = match members {
        [first, second, ..] => second.0.checked_sub(first.0).filter(|stride| *stride > 0)?,
        _ => 1,
    };
    let is_next = |pair: &[RankId]| pair[1].0.checked_sub(pair[0].0) == Some(stride);
    let len = members.len() as u32;
    members.windows(2).all(is_next).then_some(Shape::Strided { first, stride, len })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    const RANKS: u32 = 24;

    /// Ranks in any order, or at one distance from each other.
    fn lists() -> impl Strategy<Value = Vec<RankId>> {
        let any = prop::collection::vec(0..RANKS + 2, 0..12);
        let strided = (0..8_u32, 0..4_u32, 0..6_u32)
            .prop_map(|(first, stride, len)| (0..len).map(|at| first + at * stride).collect());
        prop_oneof![any, strided].prop_map(|ranks: Vec<u32>| ranks.into_iter().map(RankId).collect())
    }

    proptest! {
        #[test]
        fn members_are_found_as_by_a_search_of_the_list(list in lists()) {
            let twice = (0..list.len()).find(|at| list[..*at].contains(&list[*at]));
            match Members::new(&list, RANKS) {
                Err(UsageError::NoSuchRank { rank, ranks: RANKS }) => {
                    prop_assert!(rank.0 >= RANKS && list.contains(&rank));
                }
                Err(UsageError::MemberTwice(rank)) => prop_assert_eq!(twice.map(|at| list[at]), Some(rank)),
                Err(other) => prop_assert!(false, "{:?}", other),
                Ok(members) => {
                    prop_assert!(twice.is_none() && list.iter().all(|rank| rank.0 < RANKS));
                    prop_assert_eq!(members.len() as usize, list.len());
                    prop_assert_eq!(members.is_empty(), list.is_empty());
                    prop_assert_eq!(members.iter().collect::<Vec<_>>(), list.clone());
                    for number in (0..RANKS + 6).chain([u32::MAX - 1, u32::MAX]) {
                        let at = list.iter().position(|rank| rank.0 == number).map(|at| at as u32);
                        prop_assert_eq!(members.comm_rank(RankId(number)), at, "rank {}", number);
                        prop_assert_eq!(members.contains(RankId(number)), at.is_some());
                        prop_assert_eq!(members.rank(number), list.get(number as usize).copied());
                        let exist = list.iter().all(|rank| rank.0 < number);
                        prop_assert_eq!(members.beyond(number).is_none(), exist);
                    }
                }
            }
        }
    }

    #[test]
    fn all_ranks_are_their_own_numbers() {
        let list: Vec<RankId> = (0..RANKS).map(RankId).collect();
        assert_eq!(Members::new(&list, RANKS), Ok(Members::all(RANKS)));
    }
}
