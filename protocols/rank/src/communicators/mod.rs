//! Defining and forgetting communicators.

pub(crate) mod groups;

use crate::communicators::groups::{Group, Members};
use crate::messages::state::State;
use crate::rank::Rank;
use crate::{Sink, UsageError};
use alloc::vec::Vec;
use carrousel_matching::{Communicator, Context, RankId};
use carrousel_rendezvous::Protocol;

impl<P: Protocol> Rank<P> {
    /// Makes a communicator known, so that its collectives can be called; `members` by place, the same at each
    /// of them. Messages of its collectives may have come before: they have waited.
    ///
    /// [`Communicator::WORLD`] is known from the beginning. Nobody has to define a communicator that has no
    /// collectives. If a member is lost already, what others have offered in its collectives is not going to be taken,
    /// and they are told.
    ///
    /// # Errors
    /// When the communicator is defined already, a member does not exist or is named twice, or this rank is not a member.
    pub fn define(
        &mut self,
        communicator: Communicator,
        members: &[RankId],
        out: &mut impl Sink,
    ) -> Result<(), UsageError> {
        let Err(at) = self.position(communicator) else {
            return Err(UsageError::AlreadyDefined(communicator));
        };
        let ranks = self.ranks;
        if let Some(rank) = members.iter().copied().find(|rank| rank.0 >= ranks) {
            return Err(UsageError::NoSuchRank { rank, ranks });
        }
        let mut sorted: Vec<RankId> = members.to_vec();
        sorted.sort_unstable();
        if let Some(twice) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(UsageError::MemberTwice(twice[0]));
        }
        let Some(me) = members.iter().position(|rank| *rank == self.me) else {
            return Err(UsageError::NotAMember(self.me));
        };
        let members = Members::Some(members.to_vec());
        self.groups.insert(at, Group { communicator, members, me: me as u32, entered: 0 });
        if self.lost_member(communicator).is_some() {
            self.decline_offers(communicator, out);
        }
        Ok(())
    }

    /// Forgets a communicator that no member uses any more, so that its number can be defined again, for other members:
    /// all of them [may](Rank::may_forget), and have agreed on it. A member that was told so sooner may have sent messages
    /// under that number again, which wait for the next definition.
    ///
    /// What has been counted of its messages stays: to the peers it is the same flow.
    ///
    /// # Errors
    /// When it is not defined, or is [`Communicator::WORLD`], or a request in it is not over.
    pub fn forget(&mut self, communicator: Communicator) -> Result<(), UsageError> {
        let at = self.without_requests(communicator)?;
        self.groups.remove(at);
        Ok(())
    }

    /// Whether a communicator can be forgotten, as far as this rank knows; messages of it may still be on their way to it.
    /// Not when a message of it waits, which nobody may find under that number later; nor while a peer writes into any
    /// receive; nor once a peer was lost, whose messages of a collective that was given up may still come.
    pub fn may_forget(&self, communicator: Communicator) -> bool {
        self.lost.is_empty()
            && self.without_requests(communicator).is_ok()
            && !self.unexpected.iter().any(|(message, _)| message.context.communicator() == communicator)
            // Which communicator it is of, its sender knows.
            && !self.requests.iter().any(|(_, state)| matches!(state, State::Filling { .. }))
    }

    /// The position of a communicator that has no open request.
    fn without_requests(&self, communicator: Communicator) -> Result<usize, UsageError> {
        let at = match self.position(communicator) {
            Ok(at) if communicator != Communicator::WORLD => at,
            Ok(_) => return Err(UsageError::InUse(communicator)),
            Err(_) => return Err(UsageError::NoSuchCommunicator(communicator)),
        };
        let own = |context: Context| context.communicator() == communicator;
        let busy = self.posted.iter().any(|(pattern, _)| own(pattern.context))
            || self.requests.active().iter().any(|active| active.communicator == communicator)
            || self.requests.iter().any(|(_, state)| match state {
                State::Offered { context, .. }
                | State::Writing { context, .. }
                | State::Reading { context, .. } => own(*context),
                State::Claimed(claimed) => own(claimed.envelope.context),
                State::Filling { .. } | State::Posted { .. } | State::Collective | State::Complete(_) => {
                    false
                }
            });
        if busy { Err(UsageError::InUse(communicator)) } else { Ok(at) }
    }

    fn position(&self, communicator: Communicator) -> Result<usize, usize> {
        self.groups.binary_search_by_key(&communicator, |group| group.communicator)
    }

    pub(crate) fn group(&self, communicator: Communicator) -> Option<&Group> {
        self.position(communicator).ok().map(|at| &self.groups[at])
    }

    pub(crate) fn group_mut(&mut self, communicator: Communicator) -> Option<&mut Group> {
        self.position(communicator).ok().map(|at| &mut self.groups[at])
    }
}
