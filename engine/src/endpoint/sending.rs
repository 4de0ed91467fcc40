//! How sends start: copied at once, or with their buffer lent to the library until they are complete.

use super::Endpoint;
use super::pending::What;
use super::registry::Registry;
use super::transports::Transports;
use crate::Error;
use crate::backends::AnyRegistration;
use crate::error::BoxedError;
use crate::site::Caller;
use carrousel_rank::{Call, Handle, RankId, Send, Tag, UsageError};

/// The envelope of a message to be sent; its source and its communicator are those of the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SendEnvelope {
    /// The receiver.
    pub to: RankId,
    /// Its tag. All 64 bits are the application's.
    pub tag: Tag,
    /// 8 bytes that travel with it: its receive gets them with its tag, and so do probes and claims.
    pub data: Option<u64>,
}

impl SendEnvelope {
    /// The envelope of a message without data.
    #[inline]
    pub const fn new(to: RankId, tag: Tag) -> Self {
        Self { to, tag, data: None }
    }
}

/// The kinds of sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SendKind {
    /// A standard send that the application waits for later.
    Standard,
    /// A standard send whose call waits for it.
    Blocking,
    /// A synchronous send: complete only once its receive has begun.
    Synchronous,
}

impl SendKind {
    /// The kind of a send that the application waits for later.
    pub fn of_request(synchronous: bool) -> Self {
        if synchronous { Self::Synchronous } else { Self::Standard }
    }
}

impl Endpoint {
    /// Starts a send of bytes that are lent to the library. `None` if they have been copied: then they may be changed.
    ///
    /// # Safety
    ///
    /// The bytes are valid for reads, and nobody writes to them, until [`Endpoint::finish`] or [`Endpoint::wait`] has
    /// ended the request, if there is one.
    #[allow(unsafe_code, reason = "passes on what the caller promises about its memory")]
    #[inline(always)]
    pub unsafe fn send(
        &mut self,
        bytes: *const [u8],
        caller: Caller<'_>,
        envelope: SendEnvelope,
        kind: SendKind,
    ) -> Result<Option<Handle>, BoxedError> {
        // SAFETY: as the caller promises.
        let bytes = unsafe { &*bytes };
        let synchronous = kind == SendKind::Synchronous;
        let mut registration = None;
        if !synchronous {
            if self.net.is_some() {
                registration = self.often_used(bytes, envelope.to, kind == SendKind::Blocking);
            }
            if registration.is_none() {
                // Most messages have no data, and most callers know that when they are compiled.
                let sent = match envelope.data {
                    None => self.send_eagerly(bytes, caller, envelope.to, envelope.tag)?,
                    Some(data) => {
                        self.send_eagerly_with_data(bytes, caller, envelope.to, envelope.tag, data)?
                    }
                };
                if sent {
                    return Ok(None);
                }
            }
        }
        // SAFETY: as the caller promises; the registration is of these bytes.
        unsafe { self.send_in_place(bytes, caller, envelope, synchronous, registration) }.map(Some)
    }

    /// Starts a send of bytes that are lent to the library. With a `registration` of these bytes at the adapter, the
    /// send may be zero-copy.
    ///
    /// # Safety
    ///
    /// As for [`Endpoint::send`]. The registration is of these bytes.
    #[allow(unsafe_code, reason = "passes on what the caller promises about its memory")]
    #[inline]
    unsafe fn send_in_place(
        &mut self,
        bytes: *const [u8],
        caller: Caller<'_>,
        envelope: SendEnvelope,
        synchronous: bool,
        registration: Option<AnyRegistration>,
    ) -> Result<Handle, BoxedError> {
        // SAFETY: as the caller promises: the key is released when the request ends.
        let memory = unsafe { self.driver.resources.registry.register(bytes.cast(), bytes.len()) };
        let SendEnvelope { to, tag, data } = envelope;
        self.reach(to.0, memory.key)?;
        let (len, communicator) = (bytes.len() as u64, caller.id());
        let send = Send { to, tag, communicator, len, memory, synchronous, data };
        let (call, what) = (Call::Send(send), What::Send { to, tag, len, synchronous });
        let Some(registration) = registration else { return self.start(call, what, memory.key, caller) };
        self.driver.resources.registry.offer(memory, registration);
        let request = self.start(call, what, memory.key, caller);
        self.driver.resources.registry.withdraw();
        request
    }

    /// Sends bytes eagerly: they have been copied when this returns. False if they cannot be: then nothing has been done.
    #[inline]
    pub(super) fn send_eagerly(
        &mut self,
        bytes: &[u8],
        caller: Caller<'_>,
        to: RankId,
        tag: Tag,
    ) -> Result<bool, BoxedError> {
        self.send_eagerly_inlined(bytes, caller, SendEnvelope::new(to, tag))
    }

    /// As [`Endpoint::send_eagerly`], a message with data.
    #[inline(never)]
    pub(super) fn send_eagerly_with_data(
        &mut self,
        bytes: &[u8],
        caller: Caller<'_>,
        to: RankId,
        tag: Tag,
        data: u64,
    ) -> Result<bool, BoxedError> {
        self.send_eagerly_inlined(bytes, caller, SendEnvelope { to, tag, data: Some(data) })
    }

    /// As [`Endpoint::send_eagerly`]: the copy for messages without data has nothing that is about data, and the other one
    /// does not ask.
    #[inline(always)]
    fn send_eagerly_inlined(
        &mut self,
        bytes: &[u8],
        caller: Caller<'_>,
        envelope: SendEnvelope,
    ) -> Result<bool, BoxedError> {
        let SendEnvelope { to, tag, data } = envelope;
        let len = bytes.len() as u64;
        if len > self.eager_threshold || !self.is_reachable(to.0) {
            return Ok(false);
        }
        self.poll_seldom_inlined();
        // Bytes that are copied at once need not be registered.
        let (memory, communicator) = (Registry::NONE, caller.id());
        let send = Send { to, tag, communicator, len, memory, synchronous: false, data };
        let transports = &mut Transports::of(&mut self.node, &mut self.net);
        let sent = match self.driver.send_eagerly(&send, bytes, transports) {
            Ok(sent) => sent,
            Err(mistake) => return Err(self.refused_send(mistake, &send, caller)),
        };
        let sent = sent || self.send_otherwise(&send, bytes, caller)?;
        if self.driver.resources.errors.are_left() {
            self.sent_or_lost(to)?;
        }
        Ok(sent)
    }

    #[cold]
    #[inline(never)]
    fn refused_send(&self, mistake: UsageError, send: &Send, caller: Caller<'_>) -> BoxedError {
        let Send { to, tag, len, .. } = *send;
        self.refused(mistake, &What::Send { to, tag, len, synchronous: false }, caller)
    }

    /// The error if a message could not be sent, for want of memory for a connection, say. It has no request that fails when
    /// its peer is given up, and the peer may live, and wait for it.
    #[cold]
    #[inline(never)]
    fn sent_or_lost(&mut self, to: RankId) -> Result<(), BoxedError> {
        self.driver.resources.errors.with_only(to).map_or(Ok(()), |error| Err(error.into()))
    }

    /// As [`Endpoint::send_eagerly`], when the driver has not sent: the calls are observed, the peer is lost, or the message
    /// is beyond the eager window: a rendezvous, whose memory has to be registered.
    #[cold]
    #[inline(never)]
    fn send_otherwise(&mut self, send: &Send, bytes: &[u8], caller: Caller<'_>) -> Result<bool, BoxedError> {
        if !self.driver.rank.sends_eagerly(send) {
            return Ok(false);
        }
        let transports = &mut Transports::of(&mut self.node, &mut self.net);
        let request = self.driver.call(Call::Send(*send), bytes, transports, caller);
        let request = request.map_err(|mistake| self.refused_send(mistake, send, caller))?;
        let status = self.driver.rank.status(request)?.copied();
        self.driver.release(request);
        let status = status.ok_or(Error::Internal("an eager send waits"))?;
        let Send { to, tag, len, synchronous, .. } = *send;
        self.failed(status, &What::Send { to, tag, len, synchronous }, caller).map(|_| true)
    }

    /// The adapter's registration of these bytes, if they are used often enough for zero-copy (speculative-rendezvous
    /// 5.3).
    #[allow(unsafe_code, reason = "passes on what the caller promises about its memory")]
    #[inline(never)]
    fn often_used(&mut self, bytes: &[u8], to: RankId, waits: bool) -> Option<AnyRegistration> {
        let copies = waits && !self.reuse_blocking || bytes.len() as u64 > self.eager_threshold;
        if copies || self.neighbours.binary_search(&to).is_ok() {
            return None;
        }
        // SAFETY: it goes to `send_in_place`, whose caller lends these bytes.
        unsafe { self.driver.resources.registry.often_used(bytes) }
    }
}
