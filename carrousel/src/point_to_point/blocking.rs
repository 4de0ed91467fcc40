//! Calls that return when the buffer is the application's again.
#![allow(unsafe_code, reason = "memory cannot be lent without")]

use super::status::{Status, received};
use crate::uninterrupted::uninterrupted;
use carrousel_engine::{BoxedError, Caller, Endpoint, Error, SendEnvelope, SendKind};
use carrousel_rank::{Handle, Source, TagSelector};

fn got(status: Option<Status>) -> Result<Status, BoxedError> {
    status.ok_or_else(|| Error::Internal("a receive has ended without a message").into())
}

/// Sends bytes, and returns once they may be changed.
#[inline]
pub(super) fn send(
    endpoint: &mut Endpoint,
    bytes: &[u8],
    caller: Caller<'_>,
    envelope: SendEnvelope,
    kind: SendKind,
) -> Result<(), BoxedError> {
    uninterrupted(|| {
        // SAFETY: `bytes` is borrowed until this function returns, which is after `wait` has ended the
        // request. Noticed by: tests/messages.rs, under AddressSanitizer.
        match unsafe { endpoint.send(bytes, caller, envelope, kind) }? {
            Some(request) => endpoint.wait(request, caller, |_| ()),
            None => Ok(()),
        }
    })
}

/// Receives a message.
#[inline]
pub(super) fn receive(
    endpoint: &mut Endpoint,
    bytes: &mut [u8],
    caller: Caller<'_>,
    from: Source,
    tag: TagSelector,
) -> Result<Status, BoxedError> {
    if let Some(status) = endpoint.receive_at_once(bytes, caller, from, tag, received)? {
        return got(status);
    }
    uninterrupted(|| {
        // SAFETY: as in `send`; `bytes` is borrowed mutably, so nobody else uses it.
        let request = unsafe { endpoint.receive(bytes, caller, from, tag) }?;
        got(endpoint.wait(request, caller, received)?)
    })
}

/// Receives a message that was claimed.
pub(super) fn receive_claimed(
    endpoint: &mut Endpoint,
    bytes: &mut [u8],
    caller: Caller<'_>,
    message: Handle,
) -> Result<Status, BoxedError> {
    uninterrupted(|| {
        // SAFETY: as in `receive`.
        let request = unsafe { endpoint.receive_claimed(bytes, caller, message) }?;
        got(endpoint.wait(request, caller, received)?)
    })
}

/// A message to be sent.
#[derive(Clone, Copy)]
pub(super) struct Outgoing<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) envelope: SendEnvelope,
}

/// Sends a message and receives another one at once.
pub(super) fn exchange(
    endpoint: &mut Endpoint,
    caller: Caller<'_>,
    outgoing: Outgoing<'_>,
    bytes: &mut [u8],
    from: Source,
    tag: TagSelector,
) -> Result<Status, BoxedError> {
    let Outgoing { bytes: data, envelope } = outgoing;
    // Once the send has begun, only the end of a peer makes the receive fail.
    endpoint.check_receive(caller, from, tag)?;
    uninterrupted(|| {
        // The send first: a receive that finds the offer of a large message copies it within its call, and the peer would get
        // the offer of the other one only then. So both ranks copy at the same time.
        // SAFETY: as in `send`: every way out of here has waited for the request.
        let sent = unsafe { endpoint.send(data, caller, envelope, SendKind::Blocking) }?;
        let status = receive(endpoint, bytes, caller, from, tag);
        if let Some(request) = sent {
            endpoint.wait(request, caller, |_| ())?;
        }
        status
    })
}
