//! The communicators whose collectives this rank can call, and which of its peers are lost.

mod groups;
mod members;

pub use self::members::Members;

use self::groups::Group;
use crate::UsageError;
use alloc::vec::Vec;
use carrousel_matching::{Communicator, Context, RankId, Source};

/// What a rank knows of communicators and their members.
///
/// Invariants, which [`Communicators::check_invariants`] asserts:
/// - groups stand in the order of their numbers, each once, and [`Communicator::WORLD`] is the first;
/// - this rank is a member of each, at the `comm_rank` that the group says, and all members exist;
/// - lost peers stand in order, each once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Communicators {
    me: RankId,
    ranks: u32,
    groups: Vec<Group>,
    lost: Vec<RankId>,
}

impl Communicators {
    /// Those of the rank `me` of a job before its first call.
    pub(crate) fn new(me: RankId, ranks: u32) -> Self {
        Self { me, ranks, groups: [Group::world(me, ranks)].into(), lost: Vec::new() }
    }

    pub(crate) fn me(&self) -> RankId {
        self.me
    }

    /// How many ranks the job has.
    pub(crate) fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Whether there is such a rank. Apart from what is done with them: that returns a name only, which
    /// needs no memory, see the comment at [`crate::Rank::call`].
    #[inline(always)]
    pub(crate) fn check(&self, peer: Source) -> Result<(), UsageError> {
        match peer {
            Source::Rank(rank) if !self.has(rank) => Err(UsageError::NoSuchRank { rank, ranks: self.ranks }),
            _ => Ok(()),
        }
    }

    /// Whether the job has this rank.
    #[inline]
    pub(crate) fn has(&self, rank: RankId) -> bool {
        rank.0 < self.ranks
    }

    pub(crate) fn define(&mut self, communicator: Communicator, members: Members) -> Result<(), UsageError> {
        let Err(at) = self.position(communicator) else {
            return Err(UsageError::AlreadyDefined(communicator));
        };
        if let Some(rank) = members.beyond(self.ranks) {
            return Err(UsageError::NoSuchRank { rank, ranks: self.ranks });
        }
        let me = members.comm_rank(self.me).ok_or(UsageError::NotAMember(self.me))?;
        self.groups.insert(at, Group { communicator, members, me, entered: 0 });
        self.check_invariants();
        Ok(())
    }

    /// Forgets a communicator that [may be](Communicators::check_forgettable).
    pub(crate) fn forget(&mut self, communicator: Communicator) {
        if let Ok(at) = self.position(communicator) {
            self.groups.remove(at);
        }
        self.check_invariants();
    }

    /// Whether a communicator is defined, and another one than that of all ranks.
    pub(crate) fn check_forgettable(&self, communicator: Communicator) -> Result<(), UsageError> {
        match self.position(communicator) {
            Ok(_) if communicator != Communicator::WORLD => Ok(()),
            Ok(_) => Err(UsageError::InUse(communicator)),
            Err(_) => Err(UsageError::NoSuchCommunicator(communicator)),
        }
    }

    #[inline]
    fn position(&self, communicator: Communicator) -> Result<usize, usize> {
        // The one that most collectives are called in has the lowest number.
        if communicator == Communicator::WORLD {
            return Ok(0);
        }
        self.groups.binary_search_by_key(&communicator, |group| group.communicator)
    }

    fn group(&self, communicator: Communicator) -> Option<&Group> {
        self.position(communicator).ok().map(|at| &self.groups[at])
    }

    /// The number of members, and this rank's `comm_rank` among them.
    pub(crate) fn members_and_me(&self, communicator: Communicator) -> Option<(u32, u32)> {
        self.group(communicator).map(|group| (group.members.len(), group.me))
    }

    /// The rank at a `comm_rank`, if there is one.
    pub(crate) fn rank(&self, communicator: Communicator, comm_rank: u32) -> Option<RankId> {
        self.group(communicator)?.members.rank(comm_rank)
    }

    /// Counts a collective, and returns how many there were before in its communicator.
    pub(crate) fn enter(&mut self, communicator: Communicator) -> u32 {
        self.position(communicator).map_or(0, |at| self.groups[at].enter())
    }

    /// The connection to a peer is lost.
    pub(crate) fn lose(&mut self, peer: RankId) {
        if let Err(at) = self.lost.binary_search(&peer) {
            self.lost.insert(at, peer);
        }
        self.check_invariants();
    }

    #[inline]
    pub(crate) fn has_lost_any(&self) -> bool {
        !self.lost.is_empty()
    }

    /// See [`crate::Rank::lost_for`].
    #[inline]
    pub(crate) fn lost_for(&self, from: Source, communicator: Communicator) -> Option<RankId> {
        if self.lost.is_empty() { None } else { self.lost_of(from, communicator) }
    }

    #[cold]
    fn lost_of(&self, from: Source, communicator: Communicator) -> Option<RankId> {
        match from {
            Source::Rank(rank) => self.lost.binary_search(&rank).is_ok().then_some(rank),
            Source::Any => self.lost.iter().copied().find(|peer| self.may_be_member(*peer, communicator)),
        }
    }

    /// A lost member of a communicator that is defined.
    pub(crate) fn lost_member(&self, communicator: Communicator) -> Option<RankId> {
        // Each collective asks, and most often no peer is lost.
        if self.lost.is_empty() {
            return None;
        }
        let group = self.group(communicator)?;
        self.lost.iter().copied().find(|peer| group.members.contains(*peer))
    }

    /// Whether a peer is a member of a communicator that is defined.
    pub(crate) fn is_member(&self, peer: RankId, communicator: Communicator) -> bool {
        self.group(communicator).is_some_and(|group| group.members.contains(peer))
    }

    /// Whether a peer may send messages in a communicator. Of one that was never defined the members are not known.
    pub(crate) fn may_be_member(&self, peer: RankId, communicator: Communicator) -> bool {
        self.group(communicator).is_none_or(|group| group.members.contains(peer))
    }

    /// The communicators that a peer is a member of.
    pub(crate) fn with_member(&self, peer: RankId) -> impl Iterator<Item = Communicator> {
        self.groups.iter().filter(move |group| group.members.contains(peer)).map(|group| group.communicator)
    }

    /// Whether an offer in this context will not be taken, as a member is lost.
    pub(crate) fn declines(&self, context: Context) -> bool {
        context.is_collective() && self.lost_member(context.communicator()).is_some()
    }

    /// Asserts the invariants, in debug builds; not of many communicators or losses, as all of them are looked at.
    fn check_invariants(&self) {
        const MANY: usize = 32;
        if !cfg!(debug_assertions) || self.groups.len() > MANY || self.lost.len() > MANY {
            return;
        }
        debug_assert!(self.groups.windows(2).all(|pair| pair[0].communicator < pair[1].communicator));
        debug_assert_eq!(self.groups[0].communicator, Communicator::WORLD);
        debug_assert!(self.groups.iter().all(|group| group.members.rank(group.me) == Some(self.me)));
        debug_assert!(self.groups.iter().all(|group| group.members.beyond(self.ranks).is_none()));
        debug_assert!(self.lost.is_sorted_by(|earlier, later| earlier < later));
    }
}
