//! Messages that are claimed before they are received (MPI-4.1, 3.8.2 and 3.8.3).

use super::driver::Driver;
use super::pending::{Known, What};
use super::registry::Registry;
use super::transports::Transports;
use super::{Endpoint, Found};
use crate::error::BoxedError;
use crate::site::{CallSite, Caller, Located};
use carrousel_rank::{Arrived, Call, Communicator, Handle, Pattern, ReceiveClaimed, Source, TagSelector};

/// A claimed message: no other receive gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClaimedMessage {
    /// The request that receives or discards it.
    pub request: Handle,
    /// The message.
    pub found: Found,
}

impl Endpoint {
    /// Claims the first message that such a receive would get, after progress.
    pub fn claim_now(
        &mut self,
        caller: Caller<'_>,
        from: Source,
        tag: TagSelector,
    ) -> Result<Option<ClaimedMessage>, BoxedError> {
        self.find_now(caller, from, tag, |endpoint| endpoint.claim(caller, from, tag))
    }

    /// Waits for a message that such a receive would get, and claims it.
    pub fn wait_to_claim(
        &mut self,
        caller: Caller<'_>,
        from: Source,
        tag: TagSelector,
    ) -> Result<ClaimedMessage, BoxedError> {
        self.wait_to_find(caller, from, tag, |endpoint| endpoint.claim(caller, from, tag))
    }

    fn claim(&mut self, caller: Caller<'_>, from: Source, tag: TagSelector) -> Option<ClaimedMessage> {
        let transports = &mut Transports::of(&mut self.node, &mut self.net);
        let (request, arrived) = self.driver.claim(from, tag, caller.id(), transports, caller)?;
        let Arrived { envelope, len, .. } = arrived;
        let what = What::Claim { from: envelope.source, tag: envelope.tag, len };
        let location = caller.location();
        self.pending.begin(request, Known { what, key: Registry::NONE.key, rendezvous: false, location });
        Some(ClaimedMessage { request, found: arrived.into() })
    }

    /// Starts the receive of a claimed message into bytes that are lent to the library: the request that has claimed it is
    /// the receive's from now on.
    ///
    /// # Safety
    ///
    /// As for [`Endpoint::receive`].
    #[allow(unsafe_code, reason = "passes on what the caller promises about its memory")]
    pub unsafe fn receive_claimed(
        &mut self,
        bytes: *mut [u8],
        caller: Caller<'_>,
        message: Handle,
    ) -> Result<Handle, BoxedError> {
        // SAFETY: as the caller promises: the key is released when the request ends.
        let memory = unsafe { self.driver.resources.registry.register_mut(bytes.cast(), bytes.len()) };
        let len = bytes.len() as u64;
        let Known { what, .. } = *self.pending.known(message);
        let what = match what {
            What::Claim { from, tag, .. } => {
                What::Receive { from: Source::Rank(from), tag: TagSelector::exact(tag), len }
            }
            // The rank refuses a request that has claimed nothing.
            other => other,
        };
        self.start(Call::ReceiveClaimed(ReceiveClaimed { message, len, memory }), what, memory.key, caller)
    }

    /// Discards a claimed message: its sender goes on as if it had been received. Its request has ended then.
    pub fn discard(&mut self, message: Handle, site: CallSite) -> Result<(), BoxedError> {
        let transports = &mut Transports::of(&mut self.node, &mut self.net);
        self.driver.call(Call::Discard(message), &[], transports, site)?;
        self.wait(message, site, |_| ())
    }
}

impl Driver {
    /// Claims the first message that such a receive would get now.
    fn claim(
        &mut self,
        from: Source,
        tag: TagSelector,
        communicator: Communicator,
        transports: &mut Transports<'_>,
        at: impl Located,
    ) -> Option<(Handle, Arrived)> {
        let (request, arrived) =
            self.with_executor(transports, |rank, executor| rank.claim(from, tag, communicator, executor))?;
        self.opened_at(request, at);
        if self.recorder.is_some() {
            let pattern = Pattern { source: from, tag, context: communicator.messages() };
            self.record_claim(request, pattern, arrived);
        }
        self.announce(transports);
        Some((request, arrived))
    }
}
