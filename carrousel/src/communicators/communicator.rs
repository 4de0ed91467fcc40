//! Communicators: groups of ranks that send messages to each other.

use super::group::Group;
use crate::point_to_point::{tag_of_receive, tag_of_send, tag_text};
use crate::shared::Shared;
use crate::{Error, RankOrTag, Source, Status};
use carrousel_engine::{CallContext, CallSite, Caller, FailedCall, Located, SendEnvelope, SendKind};
use carrousel_rank::{RankId, Tag, TagSelector, UsageError};
use std::borrow::Cow;

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

    /// Where a message is to go: the receiver as a rank of the job, and the tag.
    #[inline]
    pub(crate) fn envelope(
        &self,
        caller: Caller<'_>,
        kind: SendKind,
        to: impl Into<RankOrTag>,
        tag: impl Into<RankOrTag>,
    ) -> Result<SendEnvelope, Error> {
        let (to, tag) = (RankOrTag::of(to), RankOrTag::of(tag));
        match (self.group.rank(to), tag_of_send(tag)) {
            (Some(to), Ok(tag)) => Ok(SendEnvelope::new(to, tag)),
            (_, tag) => Err(self.no_envelope(caller, kind, to, tag)),
        }
    }

    #[cold]
    #[inline(never)]
    fn no_envelope(
        &self,
        caller: Caller<'_>,
        kind: SendKind,
        to: u32,
        tag: Result<Tag, UsageError>,
    ) -> Error {
        let what = if kind == SendKind::Synchronous { "synchronous send" } else { "send" };
        let tag = tag.map(TagSelector::exact);
        self.refused(caller.site(), what, Some(to), tag)
    }

    /// Which messages a receive, probe or claim is for: the source as a rank of the job, and the tags.
    #[inline]
    pub(crate) fn wanted(
        &self,
        caller: Caller<'_>,
        what: &'static str,
        from: impl Into<Source>,
        tag: impl Into<crate::Tag>,
    ) -> Result<(carrousel_rank::Source, TagSelector), Error> {
        use carrousel_rank::Source::{Any, Rank};
        let (from, tag) = (from.into().0, tag_of_receive(tag));
        let source = match from {
            Rank(RankId(rank)) => self.group.rank(rank).map(Rank),
            Any => Some(Any),
        };
        match (source, tag) {
            (Some(source), Ok(tag)) => Ok((source, tag)),
            (_, tag) => Err(self.wants_none(caller, what, from, tag)),
        }
    }

    #[cold]
    #[inline(never)]
    fn wants_none(
        &self,
        caller: Caller<'_>,
        what: &'static str,
        from: carrousel_rank::Source,
        tag: Result<TagSelector, UsageError>,
    ) -> Error {
        let peer = if let carrousel_rank::Source::Rank(RankId(rank)) = from { Some(rank) } else { None };
        self.refused(caller.site(), what, peer, tag)
    }

    /// The error of a call with a peer of this communicator that does not exist, or with a wrong tag.
    fn refused(
        &self,
        site: CallSite,
        what: &'static str,
        peer: Option<u32>,
        tag: Result<TagSelector, UsageError>,
    ) -> Error {
        let told = match tag {
            Ok(tag) => tag_text(tag),
            Err(UsageError::TagTooGreat { tag }) => tag.to_string().into(),
            Err(_) => "".into(),
        };
        let call = Some(self.failed_call(site, what, peer, Some(told)));
        match (tag, peer) {
            (Err(mistake), _) => Error::Usage { mistake, call },
            (Ok(_), peer) => Error::NoSuchRank { rank: peer.unwrap_or(u32::MAX), ranks: self.size(), call },
        }
    }

    /// The description of a call of this rank that has failed before it reached the endpoint.
    pub(crate) fn failed_call(
        &self,
        site: CallSite,
        what: &'static str,
        peer: Option<u32>,
        tag: Option<Cow<'static, str>>,
    ) -> Box<FailedCall> {
        let rank = Some(self.shared.place().me);
        Box::new(FailedCall { rank, place: site.into(), what, peer, tag })
    }

    /// A status with the sender's `comm_rank` in this communicator.
    #[inline]
    pub(crate) fn with_comm_rank(&self, status: Status) -> Status {
        Status { source: self.group.comm_rank(status.source), ..status }
    }

    /// The number of this rank, from 0. Calls take a `usize`, too: a program that has data of each rank begins with
    /// `let me = world.rank() as usize`.
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
