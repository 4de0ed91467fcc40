//! Requests, from their start to their end.

use super::Endpoint;
use super::Found;
use super::pending::{Known, What};
use super::transports::Transports;
use crate::Error;
use crate::error::BoxedError;
use crate::site::{CallSite, Caller, Located};
use carrousel_rank::{Call, Communicator, Handle, Pattern, RankId, Receive, Source, Status, TagSelector};
use carrousel_transport::{NetworkOut, Transport};

impl Endpoint {
    /// Starts a receive into bytes that are lent to the library.
    ///
    /// # Safety
    ///
    /// The bytes are valid for reads and writes, initialised, and not used by anybody else until [`Endpoint::finish`] or
    /// [`Endpoint::wait`] has ended the request.
    #[allow(unsafe_code, reason = "passes on what the caller promises about its memory")]
    #[inline]
    pub unsafe fn receive(
        &mut self,
        bytes: *mut [u8],
        caller: Caller<'_>,
        from: Source,
        tag: TagSelector,
    ) -> Result<Handle, BoxedError> {
        // SAFETY: as the caller promises: the key is released when the request ends.
        let memory = unsafe { self.driver.resources.registry.register_mut(bytes.cast(), bytes.len()) };
        if let Source::Rank(rank) = from {
            self.reach(rank.0, memory.key)?;
        }
        let (len, communicator) = (bytes.len() as u64, caller.id());
        let receive = Receive { from, tag, communicator, len, memory };
        let request =
            self.start(Call::Receive(receive), What::Receive { from, tag, len }, memory.key, caller)?;
        self.lingering.begin(request);
        Ok(request)
    }

    #[inline(always)]
    pub(super) fn start(
        &mut self,
        call: Call,
        what: What,
        key: u32,
        at: impl Located,
    ) -> Result<Handle, BoxedError> {
        let rendezvous = self.driver.rank.needs_initial_progress(&call);
        let arrived = self.driver.recorder.is_some().then(|| self.node.arrived());
        if rendezvous {
            self.poll_until_idle();
        } else {
            self.poll_seldom_inlined();
        }
        if let Some(arrived) = arrived {
            self.driver.ignored = self.node.not_taken(&arrived).map(|rank| rank.0).collect();
        }
        match self.driver.call(call, &[], &mut Transports::of(&mut self.node, &mut self.net), at) {
            Ok(request) => {
                self.pending.begin(request, Known { what, key, rendezvous, location: at.location() });
                Ok(request)
            }
            Err(error) => {
                self.driver.resources.registry.release(key);
                Err(self.refused(error, &what, at))
            }
        }
    }

    /// Cancels a receive if it has no message yet.
    pub fn cancel(&mut self, request: Handle, site: CallSite) {
        let transports = &mut Transports::of(&mut self.node, &mut self.net);
        // The only usage error is to cancel a request that is not a receive, which changes nothing.
        let _ = self.driver.call(Call::Cancel(request), &[], transports, site);
    }

    #[inline]
    pub(super) fn is_complete(&self, request: Handle) -> bool {
        self.driver.rank.is_complete(request) && !self.is_zcopy_in_flight(self.pending.key(request))
    }

    /// Whether the adapter still reads the memory of a request, which is registered under `key`: the message is complete,
    /// but the buffer is not the application's yet (rule COMPLETES_LOCALLY).
    #[inline(always)]
    pub(super) fn is_zcopy_in_flight(&self, key: u32) -> bool {
        let registry = &self.driver.resources.registry;
        registry.has_zcopy_in_flight() && registry.is_zcopy_in_flight(key)
    }

    /// The call site that started a request, which has not been ended.
    pub fn started_at(&self, request: Handle) -> CallSite {
        let location = self.pending.known(request).location;
        self.driver.call_site_of(request).unwrap_or(CallSite::Source(location))
    }

    /// Whether a request has not been ended.
    #[inline]
    pub fn is_open(&self, request: Handle) -> bool {
        self.driver.rank.status(request).is_ok()
    }

    /// Ends a request if it is complete: its memory is the application's again. `None` if it is not complete. `read` takes
    /// what the caller needs of its status.
    #[inline]
    pub fn finish<T>(
        &mut self,
        request: Handle,
        read: impl FnOnce(&Status) -> T,
    ) -> Option<Result<T, BoxedError>> {
        // The status is not copied as a whole, because that would wait for all of its parts to be stored.
        let ended = match self.driver.rank.status(request) {
            Ok(None) => return None,
            Ok(Some(_)) if self.is_zcopy_in_flight(self.pending.key(request)) => return None,
            Ok(Some(status @ Status { failure: None, .. })) => Ok(read(status)),
            Ok(Some(status)) => {
                let status = *status;
                self.failed_request(request, status).map(|status| read(&status))
            }
            // The request has ended before, and its position may belong to another one.
            Err(error) => return Some(Err(error.into())),
        };
        self.driver.release(request);
        self.driver.resources.registry.release(self.pending.end(request));
        Some(ended)
    }

    /// The error for a lost peer: the first error that concerned it, if there was one.
    #[cold]
    pub(super) fn gone(&mut self, rank: RankId) -> BoxedError {
        let lost = || {
            let net = self.net.as_mut().and_then(|net| net.out().loss_of(rank).map(ToString::to_string));
            let shm = || self.node.out().loss_of(rank).map(ToString::to_string);
            let cause = || self.launcher.as_ref().and_then(|launcher| launcher.cause_of_loss(rank));
            Error::PeerLost { rank: rank.0, why: net.or_else(shm).or_else(cause) }
        };
        self.driver.resources.errors.of(rank).unwrap_or_else(lost).into()
    }

    /// Whether a request is complete; lets messages move if it is not.
    pub fn test(&mut self, request: Handle) -> bool {
        if !self.is_complete(request) {
            self.poll_unblocked(None);
        }
        self.is_complete(request)
    }

    /// The first message that such a receive would get.
    pub fn probe(&mut self, communicator: Communicator, from: Source, tag: TagSelector) -> Option<Found> {
        let pattern = Pattern { source: from, tag, context: communicator.messages() };
        let arrived = self.driver.rank.probe(&pattern)?;
        if self.driver.recorder.is_some() {
            self.driver.record_probe(pattern, arrived);
        }
        Some(arrived.into())
    }
}
