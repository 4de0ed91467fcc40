//! How sends start: copied at once, or with their buffer lent to the library until they are complete.

use super::Endpoint;
use super::pending::What;
use super::registry::Registry;
use super::transports::Transports;
use crate::Error;
use crate::backends::AnyRegistration;
use crate::error::BoxedError;
use crate::site::Caller;
use carrousel_rank::{Call, Communicator, Handle, RankId, Send, mpi};

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
        to: u32,
        tag: u32,
        kind: SendKind,
    ) -> Result<Option<Handle>, BoxedError> {
        // SAFETY: as the caller promises.
        let bytes = unsafe { &*bytes };
        let synchronous = kind == SendKind::Synchronous;
        let mut registration = None;
        if !synchronous {
            if self.net.is_some() {
                registration = self.often_used(bytes, to, kind == SendKind::Blocking);
            }
            if registration.is_none() && self.send_eagerly(bytes, caller, to, tag)? {
                return Ok(None);
            }
        }
        // SAFETY: as the caller promises; the registration is of these bytes.
        unsafe { self.send_in_place(bytes, caller, to, tag, synchronous, registration) }.map(Some)
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
        to: u32,
        tag: u32,
        synchronous: bool,
        registration: Option<AnyRegistration>,
    ) -> Result<Handle, BoxedError> {
        // SAFETY: as the caller promises: the key is released when the request ends.
        let memory = unsafe { self.driver.resources.registry.register(bytes.cast(), bytes.len()) };
        self.reach(to, memory.key)?;
        let (len, communicator) = (bytes.len() as u64, caller.id());
        let send =
            Send { to: RankId(to), tag: mpi::tag(tag), communicator, len, memory, synchronous, data: None };
        let (call, what) = (Call::Send(send), What::Send { to, tag, len, synchronous });
        let Some(registration) = registration else { return self.start(call, what, memory.key, caller) };
        self.driver.resources.registry.offer(memory, registration);
        let request = self.start(call, what, memory.key, caller);
        self.driver.resources.registry.withdraw();
        request
    }

    /// Sends bytes eagerly: they have been copied when this returns. False if they cannot be: then nothing has been done.
    #[inline]
    fn send_eagerly(
        &mut self,
        bytes: &[u8],
        caller: Caller<'_>,
        to: u32,
        tag: u32,
    ) -> Result<bool, BoxedError> {
        let Some(call) = self.eager(bytes, caller.id(), to, tag) else { return Ok(false) };
        let transports = &mut Transports::of(&mut self.node, &mut self.net);
        let request = self.driver.call(call, bytes, transports, caller)?;
        self.release::<false, _>(request, |_| true)
            .unwrap_or_else(|| Err(Error::Internal("an eager send waits").into()))
    }

    /// The adapter's registration of these bytes, if they are used often enough for zero-copy (speculative-rendezvous
    /// 5.3).
    #[allow(unsafe_code, reason = "passes on what the caller promises about its memory")]
    #[inline(never)]
    fn often_used(&mut self, bytes: &[u8], to: u32, waits: bool) -> Option<AnyRegistration> {
        let copies = waits && !self.reuse_blocking || bytes.len() as u64 > self.eager_threshold;
        if copies || self.neighbours.binary_search(&RankId(to)).is_ok() {
            return None;
        }
        // SAFETY: it goes to `send_in_place`, whose caller lends these bytes.
        unsafe { self.driver.resources.registry.often_used(bytes) }
    }

    /// The call that sends these bytes eagerly, if they can be. They need not be registered.
    #[inline(always)]
    fn eager(&mut self, bytes: &[u8], communicator: Communicator, to: u32, tag: u32) -> Option<Call> {
        let len = bytes.len() as u64;
        if len > self.eager_threshold || !self.is_reachable(to) {
            return None;
        }
        self.poll_seldom();
        let (to, tag) = (RankId(to), mpi::tag(tag));
        let memory = Registry::NONE;
        let send = Send { to, tag, communicator, len, memory, synchronous: false, data: None };
        // Beyond the eager window the message is a rendezvous, and its memory has to be registered.
        self.driver.rank.sends_eagerly(&send).then_some(Call::Send(send))
    }
}
