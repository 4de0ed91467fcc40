//! For a caller that starts many requests and waits for none of them: which ones have become complete, and what can be sent
//! without one.

use super::Endpoint;
use super::pending::What;
use super::sending::SendEnvelope;
use crate::error::BoxedError;
use crate::site::Caller;
use carrousel_rank::{Communicator, Handle, RankId, Source, Status, TagSelector};

/// A request that has not been ended, for a caller that tells people what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpenRequest {
    /// Its kind: `receive`, `send`, `synchronous send`, `claim`, or the name of a collective.
    pub what: &'static str,
    /// The peer; `None` for any, or for all.
    pub peer: Option<RankId>,
    /// The tags that it accepts; `None` if it has none.
    pub tags: Option<TagSelector>,
    /// The bytes of the message or of the buffer.
    pub bytes: u64,
    /// Its progress so far.
    pub state: &'static str,
}

impl Endpoint {
    /// From now on requests that become complete are listed, see [`Endpoint::next_completed`].
    pub fn list_completed(&mut self) {
        self.driver.resources.completed.listed = true;
    }

    /// The request that was the next to become complete, if they are [listed](Endpoint::list_completed). It may have ended
    /// since then: [`Endpoint::is_open`] says that.
    #[inline]
    pub fn next_completed(&mut self) -> Option<Handle> {
        self.driver.resources.completed.requests.pop_front()
    }

    /// Whether a request has become complete that [`Endpoint::next_completed`] has not returned yet.
    #[inline]
    pub fn has_completed(&self) -> bool {
        !self.driver.resources.completed.requests.is_empty()
    }

    /// Ends a request if it is complete and has not failed, as [`Endpoint::finish`]. `None` if it is not complete, or has
    /// failed: then nothing has been done. `read` takes what the caller needs of its status, which is not copied as a whole.
    #[inline(always)]
    pub fn end_if_well<T>(&mut self, request: Handle, read: impl FnOnce(&Status) -> T) -> Option<T> {
        // A release is recorded with its status.
        if self.driver.is_recorded() || self.is_zcopy_in_flight(self.pending.key(request)) {
            return None;
        }
        let read = |status: &Status| status.failure.is_none().then(|| read(status));
        let value = self.driver.rank.release_if(request, read)?;
        self.driver.resources.registry.release(self.pending.end(request));
        Some(value)
    }

    /// Ends a request if it is complete, as [`Endpoint::finish`]: with how it ended, and the error if it failed. The first
    /// says whose message it was of which a part is missing, too.
    #[inline(never)]
    pub fn end(&mut self, request: Handle) -> Option<(Status, Option<BoxedError>)> {
        let status = *self.driver.rank.status(request).ok()??;
        if self.is_zcopy_in_flight(self.pending.key(request)) {
            return None;
        }
        let error = status.failure.and_then(|_| self.failed_request(request, status).err());
        self.driver.release(request);
        self.driver.resources.registry.release(self.pending.end(request));
        Some((status, error))
    }

    /// Whether a peer is lost.
    pub fn is_lost(&self, peer: RankId) -> bool {
        self.driver.rank.lost_for(Source::Rank(peer), Communicator::WORLD).is_some()
    }

    /// What a request that has not been ended is for, and how far it is. `None` if there is no such request.
    pub fn open_request(&self, request: Handle) -> Option<OpenRequest> {
        let state = self.driver.rank.progress_of(request).filter(|_| self.is_open(request))?;
        let what = &self.pending.known(request).what;
        let (peer, tags, bytes) = what.parts();
        Some(OpenRequest { what: what.name(), peer: peer.map(RankId), tags, bytes, state })
    }

    /// The peer to which a request sends that has not been ended. `None` if it is no send.
    pub fn sends_to(&self, request: Handle) -> Option<RankId> {
        match self.pending.known(request).what {
            What::Send { to, .. } if self.is_open(request) => Some(to),
            _ => None,
        }
    }

    /// The number of calls that have started something, which wraps around.
    pub fn calls(&self) -> u32 {
        self.calls
    }

    /// Sends bytes that may be changed when this returns. False if they cannot be sent at once, as they are too many, or
    /// too many of that peer's wait for a receive: then nothing has been done.
    ///
    /// # Errors
    /// If there is no such peer, or it is lost.
    #[inline(always)]
    pub fn send_now(
        &mut self,
        bytes: &[u8],
        caller: Caller<'_>,
        envelope: SendEnvelope,
    ) -> Result<bool, BoxedError> {
        match envelope.data {
            None => self.send_eagerly(bytes, caller, envelope.to, envelope.tag),
            Some(data) => self.send_eagerly_with_data(bytes, caller, envelope.to, envelope.tag, data),
        }
    }
}
