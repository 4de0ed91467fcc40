//! The algorithm that carries out a collective operation, and its rounds.

use crate::{
    Kind, Local, Round, Shape, ShapeError, bruck, dissemination, doubling, gather, pairwise, ring, tree,
};

/// An algorithm; the file of each names its source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// No byte moves.
    Nothing,
    /// The only member keeps its contribution.
    Alone,
    /// Barrier: a message to the member `2^k` places after, for each `k`.
    Dissemination,
    /// Broadcast and reduction along a binomial tree.
    Tree,
    /// Gather along a binomial tree.
    GatherTree,
    /// Gather: all members send to the root.
    GatherLinear,
    /// Allreduce by recursive doubling.
    Doubling,
    /// Allreduce in two turns around a ring.
    RingReduce,
    /// Allgather by Bruck's algorithm, in logarithmically many rounds.
    Bruck,
    /// Allgather in one turn around a ring.
    RingGather,
    /// All-to-all, one partner after the other.
    Pairwise,
}

/// Bytes of a contribution above which an allreduce goes around the ring. From there on moving the bytes costs more
/// than the rounds (MPICH 4.2 changes at the same size, `MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE`).
const ALLREDUCE_DOUBLING_MAX: u64 = 2 << 10;
/// Bytes of all contributions above which an allgather goes around the ring (MPICH 4.2,
/// `MPIR_CVAR_ALLGATHER_SHORT_MSG_SIZE`).
const ALLGATHER_BRUCK_MAX: u64 = 80 << 10;
/// Bytes of a contribution above which all members of a gather send directly to the root: inner members of a tree
/// would move most of it a second time. Open MPI 5 changes near 6,000 (`coll_tuned_decision_fixed.c`).
const GATHER_TREE_MAX: u64 = 6000;

impl Algorithm {
    /// The algorithm for an operation of this size.
    fn of(shape: &Shape) -> Self {
        let small = |len, max| len <= max;
        match shape.kind {
            Kind::Barrier => Self::Dissemination,
            _ if shape.len == 0 => Self::Nothing,
            Kind::Broadcast => Self::Tree,
            _ if shape.members == 1 => Self::Alone,
            Kind::Reduce => Self::Tree,
            Kind::AllReduce if small(shape.len, ALLREDUCE_DOUBLING_MAX) => Self::Doubling,
            Kind::AllReduce => Self::RingReduce,
            Kind::Gather if small(shape.len, GATHER_TREE_MAX) => Self::GatherTree,
            Kind::Gather => Self::GatherLinear,
            Kind::AllGather if small(shape.total(), ALLGATHER_BRUCK_MAX) => Self::Bruck,
            Kind::AllGather => Self::RingGather,
            Kind::AllToAll => Self::Pairwise,
        }
    }
}

/// The rounds of one member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Schedule {
    shape: Shape,
    algorithm: Algorithm,
}

impl Schedule {
    /// The rounds of the member that `shape` describes.
    ///
    /// # Errors
    /// If the shape contradicts itself.
    pub fn new(shape: &Shape) -> Result<Self, ShapeError> {
        shape.check()?;
        Ok(Self { shape: *shape, algorithm: Algorithm::of(shape) })
    }

    /// The same operation by a given algorithm, whatever its size; `None` if the algorithm is for another operation.
    pub fn by(&self, algorithm: Algorithm) -> Option<Self> {
        let alike = match self.algorithm {
            Algorithm::Doubling | Algorithm::RingReduce => [Algorithm::Doubling, Algorithm::RingReduce],
            Algorithm::GatherTree | Algorithm::GatherLinear => {
                [Algorithm::GatherTree, Algorithm::GatherLinear]
            }
            Algorithm::Bruck | Algorithm::RingGather => [Algorithm::Bruck, Algorithm::RingGather],
            other => [other; 2],
        };
        alike.contains(&algorithm).then_some(Self { algorithm, ..*self })
    }

    /// The operation.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// The algorithm that carries it out.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The number of rounds of this member.
    pub fn rounds(&self) -> u32 {
        let shape = &self.shape;
        match self.algorithm {
            Algorithm::Nothing => 0,
            Algorithm::Alone => 1,
            Algorithm::Dissemination => dissemination::rounds(shape),
            Algorithm::Tree if shape.kind == Kind::Broadcast => tree::broadcast_rounds(shape),
            Algorithm::Tree => tree::reduce_rounds(shape),
            Algorithm::GatherTree => gather::tree_rounds(shape),
            Algorithm::GatherLinear => gather::linear_rounds(shape),
            Algorithm::Doubling => doubling::rounds(shape),
            Algorithm::RingReduce => ring::reduce_rounds(shape),
            Algorithm::Bruck => bruck::rounds(shape),
            Algorithm::RingGather => ring::gather_rounds(shape),
            Algorithm::Pairwise => pairwise::rounds(shape),
        }
    }

    /// Round `number`, from 0, below [`Schedule::rounds`].
    pub fn round(&self, number: u32) -> Round {
        let shape = &self.shape;
        match self.algorithm {
            Algorithm::Nothing => Round::default(),
            Algorithm::Alone => Round::alone(shape.len),
            Algorithm::Dissemination => dissemination::round(shape, number),
            Algorithm::Tree if shape.kind == Kind::Broadcast => tree::broadcast_round(shape, number),
            Algorithm::Tree => tree::reduce_round(shape, number),
            Algorithm::GatherTree => gather::tree_round(shape, number),
            Algorithm::GatherLinear => gather::linear_round(shape, number),
            Algorithm::Doubling => doubling::round(shape, number),
            Algorithm::RingReduce => ring::reduce_round(shape, number),
            Algorithm::Bruck => bruck::round(shape, number),
            Algorithm::RingGather => ring::gather_round(shape, number),
            Algorithm::Pairwise => pairwise::round(shape, number),
        }
    }

    /// What follows the messages of a round: [`Round::then`]. Of algorithms in which nothing ever does, without that round.
    #[inline]
    pub fn then(&self, number: u32) -> [Option<Local>; 2] {
        match self.algorithm {
            Algorithm::Nothing | Algorithm::Dissemination => [None; 2],
            _ => self.round(number).then,
        }
    }

    /// The bytes of scratch that this member has to provide: never more than the contributions of all members together.
    pub fn scratch_len(&self) -> u64 {
        let shape = &self.shape;
        match self.algorithm {
            Algorithm::Tree if shape.kind == Kind::Reduce => tree::reduce_scratch(shape),
            Algorithm::GatherTree => gather::tree_scratch(shape),
            Algorithm::Doubling => doubling::scratch(shape),
            Algorithm::Bruck => shape.total(),
            _ => 0,
        }
    }

    /// Bytes of this member's source and target.
    pub fn source_and_target_len(&self) -> (u64, u64) {
        let Shape { kind, me, root, len, .. } = self.shape;
        let total = self.shape.total();
        let if_root = |root_has, others| if me == root { root_has } else { others };
        match kind {
            Kind::Barrier => (0, 0),
            Kind::Broadcast => if_root((len, 0), (0, len)),
            Kind::Reduce => if_root((len, len), (len, 0)),
            Kind::AllReduce => (len, len),
            Kind::Gather => if_root((len, total), (len, 0)),
            Kind::AllGather => (len, total),
            Kind::AllToAll => (total, total),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rounds of a member whose operation has its root, if any, at the last one.
    fn of(kind: Kind, members: u32, me: u32, len: u64) -> Schedule {
        let shape = Shape { kind, members, me, root: members - 1, len, element: 8 };
        Schedule::new(&shape).expect("its sizes are right")
    }

    #[test]
    fn what_follows_the_messages_of_a_round_is_that_of_the_round() {
        let shapes = Kind::ALL.into_iter().flat_map(|kind| [(kind, 2, 0), (kind, 5, 8), (kind, 5, 64 << 10)]);
        for (kind, members, len) in shapes {
            let schedule = of(kind, members, 0, len);
            for number in 0..schedule.rounds() {
                assert_eq!(schedule.then(number), schedule.round(number).then, "{kind:?} {number}");
            }
        }
    }

    #[test]
    fn nobody_needs_more_scratch_than_all_contributions() {
        for (kind, members) in
            Kind::ALL.into_iter().flat_map(|kind| (1..20).map(move |members| (kind, members)))
        {
            for (me, len) in (0..members).flat_map(|me| [0, 8, 4 << 10, 64 << 10].map(|len| (me, len))) {
                let schedule = of(kind, members, me, len);
                let needed = schedule.scratch_len();
                assert!(
                    needed <= schedule.shape().total(),
                    "{kind:?} {me} of {members}, {len} bytes: {needed}"
                );
            }
        }
    }
}
