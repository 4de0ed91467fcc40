//! Communicators: groups of ranks that send messages to each other.

use super::group::Group;
use crate::point_to_point::tag_text;
use crate::shared::Shared;
use crate::{Error, Source, Status};
use carrousel_engine::{CallContext, CallSite, Caller, Located};
use carrousel_rank::RankId;

/// A group of ranks that send messages to each other (`MPI_Comm`), as one of them sees it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Communicator {
    pub(crate) shared: Shared,
    pub(crate) context: CallContext,
    pub(crate) group: Group,
}

impl Communicator {
    pub(crate) fn world(shared: Shared) -> Self {
        shared.with(|endpoint| endpoint.set_tag_text(tag_text));
        let group = Group::All(shared.place().ranks);
        let communicator = carrousel_rank::Communicator::WORLD;
        Self { shared, context: CallContext { communicator, site: None }, group }
    }

    /// The communicator as the protocol knows it.
    pub(crate) fn id(&self) -> carrousel_rank::Communicator {
        self.context.communicator
    }

    /// A source as a rank of the job.
    #[inline]
    pub(crate) fn source(&self, from: impl Into<Source>) -> Result<carrousel_rank::Source, Error> {
        match from.into().0 {
            carrousel_rank::Source::Rank(RankId(rank)) => {
                self.group.rank(rank).map(|rank| carrousel_rank::Source::Rank(RankId(rank)))
            }
            any => Ok(any),
        }
    }

    /// A status with the sender's `comm_rank` in this communicator.
    #[inline]
    pub(crate) fn with_comm_rank(&self, status: Status) -> Status {
        Status { source: self.group.comm_rank(status.source), ..status }
    }

    /// The number of this rank, from 0.
    pub fn rank(&self) -> u32 {
        self.group.comm_rank(self.shared.place().me)
    }

    /// The number of ranks.
    pub fn size(&self) -> u32 {
        self.group.len()
    }

    /// The same communicator for calls on behalf of `site`. Reports, traces and errors name that site in place of the
    /// line of the call itself. For libraries for which the lines of their callers matter, not their own.
    pub fn at(&self, site: CallSite) -> Self {
        self.shared.with(|endpoint| endpoint.observe());
        Self { context: CallContext { site: Some(site), ..self.context }, ..self.clone() }
    }

    /// The call site of the application, in the function that asks.
    #[track_caller]
    pub(crate) fn site(&self) -> CallSite {
        self.caller().site()
    }

    /// The caller of the calling function.
    #[inline]
    #[track_caller]
    pub(crate) fn caller(&self) -> Caller<'_> {
        self.context.caller()
    }

    /// For a request: it may be started at one line and waited for at another.
    pub(crate) fn of_request(&self) -> Self {
        Self { context: CallContext { site: None, ..self.context }, ..self.clone() }
    }
}
