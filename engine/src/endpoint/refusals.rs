//! Errors that name the call that they are about. All of it is for calls that fail: a message that arrives pays nothing.

use super::Endpoint;
use super::pending::What;
use crate::Error;
use crate::call::FailedCall;
use crate::error::BoxedError;
use crate::site::Located;
use carrousel_rank::{Failure, Handle, RankId, Source, Status, TagSelector, UsageError};

impl Endpoint {
    /// The description of a call; of a receive that has got a message, with the message's sender and tag.
    fn failed_call(
        &self,
        what: &What,
        message: Option<(RankId, carrousel_rank::Tag)>,
        at: impl Located,
    ) -> Box<FailedCall> {
        let (peer, tag, _) = what.parts();
        let (peer, tag) = match message {
            Some((from, tag)) => (Some(from.0), Some(TagSelector::exact(tag))),
            None => (peer, tag),
        };
        let (rank, place) = (Some(self.driver.resources.me.0), at.site().into());
        Box::new(FailedCall { rank, place, what: what.name(), peer, tag: tag.map(self.tag_text) })
    }

    /// The error of a call that is refused: nothing has begun.
    #[cold]
    #[inline(never)]
    pub(super) fn refused(&self, mistake: UsageError, what: &What, at: impl Located) -> BoxedError {
        Error::Usage { mistake, call: Some(self.failed_call(what, None, at)) }.into()
    }

    /// The status of a request that has ended, unless it has failed: then the error.
    #[cold]
    pub(super) fn failed_request(&mut self, request: Handle, status: Status) -> Result<Status, BoxedError> {
        let (what, started) = (self.pending.known(request).what, self.started_at(request));
        self.failed(status, &what, started)
    }

    /// The status of a receive that has no request, unless it has failed: then the error.
    #[cold]
    #[inline(never)]
    pub(super) fn failed_receive(
        &mut self,
        status: Status,
        from: Source,
        tag: TagSelector,
        at: impl Located,
    ) -> Result<Status, BoxedError> {
        self.failed(status, &What::Receive { from, tag, len: status.len }, at)
    }

    /// The status of such a call, unless it has failed: then the error.
    #[cold]
    pub(super) fn failed(
        &mut self,
        status: Status,
        what: &What,
        at: impl Located,
    ) -> Result<Status, BoxedError> {
        match status.failure {
            None | Some(Failure::Cancelled) => Ok(status),
            Some(Failure::Truncated { sent }) => {
                let call = self.failed_call(what, status.message, at);
                Err(Error::Truncated { sent, room: status.len, call: Some(call) }.into())
            }
            Some(Failure::PeerLost(rank)) => Err(self.gone(rank)),
        }
    }
}
