//! One epoch: its peers, and what is left to be done for each.

use crate::calls::Failure;
use crate::errors::EpochName;
use crate::kinds::EpochKind;
use crate::names::RequestId;
use crate::peers::Link;
use alloc::boxed::Box;
use alloc::vec::Vec;
use carrousel_lock::Mode;
use carrousel_wire::RankId;

/// The peers of an epoch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Group {
    One(RankId),
    /// Sorted.
    Members(Box<[RankId]>),
    All,
}

impl Group {
    /// The position of a rank among the members.
    pub(crate) fn position(&self, rank: RankId) -> Option<u32> {
        match self {
            Self::One(member) => (*member == rank).then_some(0),
            Self::Members(members) => members.binary_search(&rank).ok().map(|at| at as u32),
            Self::All => Some(rank.0),
        }
    }

    /// The number of members, of a window of so many ranks.
    pub(crate) fn len(&self, ranks: u32) -> u32 {
        match self {
            Self::One(_) => 1,
            Self::Members(members) => members.len() as u32,
            Self::All => ranks,
        }
    }

    /// The member at a position below [`Group::len`].
    pub(crate) fn member(&self, at: u32) -> RankId {
        match self {
            Self::One(member) => *member,
            Self::Members(members) => members.get(at as usize).copied().unwrap_or(RankId(at)),
            Self::All => RankId(at),
        }
    }

    fn only(&self) -> Option<RankId> {
        match self {
            Self::One(member) => Some(*member),
            Self::Members(members) => members.first().copied().filter(|_| members.len() == 1),
            Self::All => None,
        }
    }
}

/// When an epoch was closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Closed {
    /// The number of the next epoch to be opened: all from this one on were opened after the close.
    pub(crate) before: u64,
    /// The number of the next flush: all from this one on were called after the close.
    pub(crate) flush: u64,
}

/// Operations that are not complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Incomplete {
    /// At the target.
    pub(crate) remote: u32,
    /// At this rank.
    pub(crate) local: u32,
}

/// A target of an active epoch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Target {
    pub(crate) rank: RankId,
    /// The access id.
    pub(crate) access: u64,
    pub(crate) is_granted: bool,
    /// Done or LockRelease is posted, or the rank is dead.
    pub(crate) is_finished: bool,
    /// An operation was called.
    pub(crate) is_used: bool,
    /// Reads and atomics that are under way.
    pub(crate) reads: u32,
    /// Accumulates that wait for a staging buffer, or behind one that does.
    pub(crate) staged: u32,
    pub(crate) incomplete: Incomplete,
    /// Operations that wait for the grant, in program order.
    pub(crate) queued: Vec<u32>,
    pub(crate) next: Link,
}

/// An origin of an active epoch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Origin {
    pub(crate) rank: RankId,
    /// The exposure id.
    pub(crate) exposure: u64,
    /// Done has come, or the rank is dead.
    pub(crate) is_done: bool,
    pub(crate) next: Link,
}

/// An epoch.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Epoch {
    /// Epochs of the window that were opened before.
    pub(crate) number: u64,
    pub(crate) kind: EpochKind,
    pub(crate) mode: Mode,
    pub(crate) group: Group,
    pub(crate) closed: Option<Closed>,
    /// The request of the close.
    pub(crate) request: Option<RequestId>,
    pub(crate) is_active: bool,
    /// Where it stands in the list of active epochs of its kind.
    pub(crate) place: u32,
    pub(crate) has_operations: bool,
    /// The fence epoch inside which it was opened.
    pub(crate) inside: Option<u32>,
    /// Whether an epoch was opened inside this fence epoch, and how many of these have not completed.
    pub(crate) is_enclosing: bool,
    pub(crate) enclosed: u32,
    /// While deferred: the operations that were called, in program order.
    pub(crate) recorded: Vec<u32>,
    pub(crate) targets: Vec<Target>,
    pub(crate) origins: Vec<Origin>,
    /// Targets that are not finished, and origins that are not done.
    pub(crate) targets_left: u32,
    pub(crate) origins_left: u32,
    pub(crate) incomplete: Incomplete,
    pub(crate) failure: Option<Failure>,
}

impl Epoch {
    pub(crate) fn new(number: u64, kind: EpochKind, mode: Mode, group: Group) -> Self {
        Self {
            number,
            kind,
            mode,
            group,
            closed: None,
            request: None,
            is_active: false,
            place: 0,
            has_operations: false,
            inside: None,
            is_enclosing: false,
            enclosed: 0,
            recorded: Vec::new(),
            targets: Vec::new(),
            origins: Vec::new(),
            targets_left: 0,
            origins_left: 0,
            incomplete: Incomplete::default(),
            failure: None,
        }
    }

    pub(crate) fn name(&self) -> EpochName {
        EpochName { kind: self.kind, number: self.number, target: self.group.only() }
    }

    /// Whether a later epoch was opened while this one was open.
    pub(crate) fn was_open_at(&self, later: u64) -> bool {
        self.closed.is_none_or(|closed| later < closed.before)
    }

    /// Whether it was open when a flush was called, and had been opened.
    pub(crate) fn was_open_at_flush(&self, flush: u64, opened: u64) -> bool {
        self.number < opened && self.closed.is_none_or(|closed| flush < closed.flush)
    }
}
