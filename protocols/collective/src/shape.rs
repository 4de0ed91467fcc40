//! A collective operation as one member sees it.

/// A collective operation (MPI-4.1, chapter 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case", deny_unknown_fields))]
pub enum Kind {
    /// No member leaves before all have entered.
    Barrier,
    /// The root's source is the target of all others.
    Broadcast,
    /// The combination of all sources is the root's target.
    Reduce,
    /// The combination of all sources is the target of every member.
    AllReduce,
    /// All sources, by `comm_rank`, are the root's target.
    Gather,
    /// All sources, by `comm_rank`, are the target of every member.
    AllGather,
    /// Block `i` of the source of member `j` is block `j` of the target of member `i`.
    AllToAll,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Self; 7] = [
        Self::Barrier,
        Self::Broadcast,
        Self::Reduce,
        Self::AllReduce,
        Self::Gather,
        Self::AllGather,
        Self::AllToAll,
    ];

    /// The name of the kind in scenarios.
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

/// A collective operation as one member sees it. All members have the same shape, except for `me`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// The operation.
    pub kind: Kind,
    /// The number of members.
    pub members: u32,
    /// This member's `comm_rank`, from 0.
    pub me: u32,
    /// The root's `comm_rank`; ignored if the operation has no root.
    pub root: u32,
    /// The bytes of one contribution. For an all-to-all: from each member to each.
    pub len: u64,
    /// The bytes of one element of a reduction; no element is divided. Ignored by the other operations.
    pub element: u32,
}

/// Invalid sizes or `comm_rank`s for this collective.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum ShapeError {
    /// The member is not one of the members.
    #[error("rank {comm_rank} does not exist among {members} members")]
    CommRank {
        /// The `comm_rank`.
        comm_rank: u32,
        /// The number of members.
        members: u32,
    },
    /// A contribution does not consist of whole elements.
    #[error("{len} bytes are no number of elements of {element} bytes")]
    Element {
        /// Bytes of a contribution.
        len: u64,
        /// Bytes of an element.
        element: u32,
    },
    /// The bytes of all contributions together are more than can be counted.
    #[error("{len} bytes for each of {members} members are too many")]
    TooLong {
        /// Bytes of a contribution.
        len: u64,
        /// The number of members.
        members: u32,
    },
}

impl Shape {
    /// Bytes of all contributions together.
    pub(crate) fn total(&self) -> u64 {
        self.len * u64::from(self.members)
    }

    /// The `comm_rank` `distance` after this one, around the members; `distance` is at most their number.
    pub(crate) fn after(&self, distance: u32) -> u32 {
        self.turn(self.me, distance)
    }

    /// The `comm_rank` `distance` before this one.
    pub(crate) fn before(&self, distance: u32) -> u32 {
        self.turn(self.me, self.members - distance)
    }

    /// The `comm_rank` `distance` after `comm_rank`.
    pub(crate) fn turn(&self, comm_rank: u32, distance: u32) -> u32 {
        ((u64::from(comm_rank) + u64::from(distance)) % u64::from(self.members)) as u32
    }

    /// Byte position of the block of `comm_rank` where every member has a block.
    pub(crate) fn block(&self, comm_rank: u32) -> u64 {
        self.len * u64::from(comm_rank)
    }

    fn has_root(&self) -> bool {
        matches!(self.kind, Kind::Broadcast | Kind::Reduce | Kind::Gather)
    }

    /// Whether the sizes and `comm_rank`s fit each other.
    pub(crate) fn check(&self) -> Result<(), ShapeError> {
        let Self { members, len, element, .. } = *self;
        let root = if self.has_root() { self.root } else { self.me };
        if let Some(comm_rank) = [self.me, root].into_iter().find(|comm_rank| *comm_rank >= members) {
            return Err(ShapeError::CommRank { comm_rank, members });
        }
        let divides = matches!(self.kind, Kind::Reduce | Kind::AllReduce);
        if divides && (element == 0 || !len.is_multiple_of(u64::from(element))) {
            return Err(ShapeError::Element { len, element });
        }
        // An inner member of a reduction has two contributions at a time, even with fewer members.
        match len.checked_mul(u64::from(members.max(2))) {
            Some(_) => Ok(()),
            None => Err(ShapeError::TooLong { len, members }),
        }
    }
}

/// The smallest `k` with `2^k >= n`, for `n` from 1.
pub(crate) const fn log2_up(n: u32) -> u32 {
    u32::BITS - (n - 1).leading_zeros()
}
