//! What is asked for, and the algorithm that does it.

use crate::{Round, bruck, dissemination, doubling, gather, pairwise, ring, tree};

/// A collective operation (MPI-4.1, chapter 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Nobody leaves before everybody has entered.
    Barrier,
    /// The root's source is everybody else's target.
    Broadcast,
    /// The combination of all sources is the root's target.
    Reduce,
    /// The combination of all sources is everybody's target.
    AllReduce,
    /// All sources, by place, are the root's target.
    Gather,
    /// All sources, by place, are everybody's target.
    AllGather,
    /// Block `i` of the source of member `j` is block `j` of the target of member `i`.
    AllToAll,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Barrier,
        Self::Broadcast,
        Self::Reduce,
        Self::AllReduce,
        Self::Gather,
        Self::AllGather,
        Self::AllToAll,
    ];

    /// Its name, as scenarios have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Broadcast => "bcast",
            Self::Reduce => "reduce",
            Self::AllReduce => "allreduce",
            Self::Gather => "gather",
            Self::AllGather => "allgather",
            Self::AllToAll => "alltoall",
        }
    }
}

/// A collective operation as one member sees it. But for `me`, all members have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Which operation.
    pub kind: Kind,
    /// How many members.
    pub members: u32,
    /// This member's place, from 0.
    pub me: u32,
    /// The root's place; no matter where the operation has none.
    pub root: u32,
    /// Bytes of one contribution; of an all-to-all, from each member to each.
    pub len: u64,
    /// Bytes of one element of a reduction, of which none is divided; no matter for the others.
    pub element: u32,
}

/// A shape that is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum Misfit {
    /// The member is not one of the members.
    #[error("place {place} does not exist among {members} members")]
    Place {
        /// The place.
        place: u32,
        /// How many there are.
        members: u32,
    },
    /// A contribution is not a number of elements.
    #[error("{len} bytes are no number of elements of {element} bytes")]
    Element {
        /// Bytes of a contribution.
        len: u64,
        /// Bytes of an element.
        element: u32,
    },
    /// All contributions together have more bytes than there are numbers.
    #[error("{len} bytes for each of {members} members are too many")]
    TooLong {
        /// Bytes of a contribution.
        len: u64,
        /// How many.
        members: u32,
    },
}

/// An algorithm; each has its source in the file that it stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Algorithm {
    /// Nothing moves.
    Nothing,
    /// The only member keeps what it has.
    Alone,
    /// Barrier: a message to the member `2^k` places on, for each `k`.
    Dissemination,
    /// Broadcast and reduction along a binomial tree.
    Tree,
    /// Gather along a binomial tree.
    GatherTree,
    /// Gather: everybody sends to the root.
    GatherLinear,
    /// Allreduce by recursive doubling.
    Doubling,
    /// Allreduce in two turns around a ring.
    RingReduce,
    /// Allgather as Bruck's, in logarithmically many rounds.
    Bruck,
    /// Allgather in one turn around a ring.
    RingGather,
    /// All-to-all, one partner after the other.
    Pairwise,
}

/// Bytes of a contribution above which an allreduce goes around the ring: from there on what is moved costs
/// more than the rounds (MPICH 4.2 changes at the same size, `MPIR_CVAR_ALLREDUCE_SHORT_MSG_SIZE`).
const ALLREDUCE_DOUBLING_MAX: u64 = 2 << 10;
/// Bytes of all contributions above which an allgather goes around the ring (MPICH 4.2,
/// `MPIR_CVAR_ALLGATHER_SHORT_MSG_SIZE`).
const ALLGATHER_BRUCK_MAX: u64 = 80 << 10;
/// Bytes of a contribution above which everybody sends to the root of a gather: inner members of a tree
/// would move most of it a second time. Open MPI 5 changes near 6,000 (`coll_tuned_decision_fixed.c`).
const GATHER_TREE_MAX: u64 = 6000;

impl Shape {
    /// Bytes of all contributions together.
    pub(crate) fn total(&self) -> u64 {
        self.len * u64::from(self.members)
    }

    /// The place `distance` after this one, around the members; `distance` is at most their number.
    pub(crate) fn after(&self, distance: u32) -> u32 {
        self.turn(self.me, distance)
    }

    /// The place `distance` before this one.
    pub(crate) fn before(&self, distance: u32) -> u32 {
        self.turn(self.me, self.members - distance)
    }

    /// The place `distance` after `place`.
    pub(crate) fn turn(&self, place: u32, distance: u32) -> u32 {
        ((u64::from(place) + u64::from(distance)) % u64::from(self.members)) as u32
    }

    /// Byte position of the block of `place` where every member has a block.
    pub(crate) fn block(&self, place: u32) -> u64 {
        self.len * u64::from(place)
    }

    fn has_root(&self) -> bool {
        matches!(self.kind, Kind::Broadcast | Kind::Reduce | Kind::Gather)
    }

    fn check(&self) -> Result<(), Misfit> {
        let Self { members, len, element, .. } = *self;
        let root = if self.has_root() { self.root } else { self.me };
        if let Some(place) = [self.me, root].into_iter().find(|place| *place >= members) {
            return Err(Misfit::Place { place, members });
        }
        let divides = matches!(self.kind, Kind::Reduce | Kind::AllReduce);
        if divides && (element == 0 || !len.is_multiple_of(u64::from(element))) {
            return Err(Misfit::Element { len, element });
        }
        // An inner member of a reduction has two contributions at hand, however few members there are.
        match len.checked_mul(u64::from(members.max(2))) {
            Some(_) => Ok(()),
            None => Err(Misfit::TooLong { len, members }),
        }
    }

    fn algorithm(&self) -> Algorithm {
        let small = |len, max| len <= max;
        match self.kind {
            Kind::Barrier => Algorithm::Dissemination,
            _ if self.len == 0 => Algorithm::Nothing,
            Kind::Broadcast => Algorithm::Tree,
            _ if self.members == 1 => Algorithm::Alone,
            Kind::Reduce => Algorithm::Tree,
            Kind::AllReduce if small(self.len, ALLREDUCE_DOUBLING_MAX) => Algorithm::Doubling,
            Kind::AllReduce => Algorithm::RingReduce,
            Kind::Gather if small(self.len, GATHER_TREE_MAX) => Algorithm::GatherTree,
            Kind::Gather => Algorithm::GatherLinear,
            Kind::AllGather if small(self.total(), ALLGATHER_BRUCK_MAX) => Algorithm::Bruck,
            Kind::AllGather => Algorithm::RingGather,
            Kind::AllToAll => Algorithm::Pairwise,
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
    /// The rounds of the member that sees `shape`.
    ///
    /// # Errors
    /// When the shape contradicts itself.
    pub fn new(shape: &Shape) -> Result<Self, Misfit> {
        shape.check()?;
        Ok(Self { shape: *shape, algorithm: shape.algorithm() })
    }

    /// The same operation by an algorithm that was not chosen for its size; `None` if it does another one.
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

    /// What is done.
    pub fn shape(&self) -> &Shape {
        &self.shape
    }

    /// How.
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// How many rounds this member has.
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

    /// Bytes of scratch that this member has to bring.
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

/// The least `k` with `2^k >= n`, for `n` from 1.
pub(crate) const fn log2_up(n: u32) -> u32 {
    u32::BITS - (n - 1).leading_zeros()
}
