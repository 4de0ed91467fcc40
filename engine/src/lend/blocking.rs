//! Calls that return when the buffer is the application's again.

use crate::endpoint::{Endpoint, SendKind};
use crate::error::BoxedError;
use crate::shared::received;
use crate::site::{Caller, Located};
use crate::{Error, Status};
use carrousel_rank::{Handle, Source, TagSelector};

/// Aborts the process if it is dropped by a panic within the library, while a request has a buffer of the caller's stack:
/// the unwinding would free the buffer, and a message would be written to memory of somebody else.
struct Abort;

impl Drop for Abort {
    fn drop(&mut self) {
        eprintln!("carrousel: a panic while a message is on its way: its buffer cannot be kept");
        std::process::abort();
    }
}

pub(super) fn uninterrupted<T>(call: impl FnOnce() -> T) -> T {
    let abort = Abort;
    let value = call();
    std::mem::forget(abort);
    value
}

fn got(status: Option<Status>) -> Result<Status, BoxedError> {
    status.ok_or_else(|| Error::Internal("a receive has ended without a message").into())
}

impl Endpoint {
    /// Sends bytes, and returns once they may be changed.
    #[inline]
    pub(crate) fn send_and_wait(
        &mut self,
        bytes: &[u8],
        caller: Caller<'_>,
        to: u32,
        tag: u32,
        synchronous: bool,
    ) -> Result<(), BoxedError> {
        let kind = if synchronous { SendKind::Synchronous } else { SendKind::Blocking };
        uninterrupted(|| {
            // SAFETY: `bytes` is borrowed until this function returns, which is after `wait` has ended the
            // request. Noticed by: tests/messages.rs, under AddressSanitizer.
            match unsafe { self.start_send(bytes, caller, to, tag, kind) }? {
                Some(request) => self.wait(request, caller, |_| ()),
                None => Ok(()),
            }
        })
    }

    /// Receives a message.
    #[inline]
    pub(crate) fn receive_and_wait(
        &mut self,
        bytes: &mut [u8],
        caller: Caller<'_>,
        from: Source,
        tag: TagSelector,
    ) -> Result<Status, BoxedError> {
        uninterrupted(|| {
            // SAFETY: as in `send_and_wait`; `bytes` is borrowed mutably, so nobody else uses it.
            let handle = unsafe { self.lend_mut(bytes.as_mut_ptr(), bytes.len(), caller, from, tag) }?;
            got(self.wait(handle, caller, received)?)
        })
    }

    /// Sends and receives at once.
    pub(crate) fn exchange(
        &mut self,
        caller: Caller<'_>,
        (data, to, send_tag): (&[u8], u32, u32),
        (buffer, from, receive_tag): (&mut [u8], Source, TagSelector),
    ) -> Result<Status, BoxedError> {
        uninterrupted(|| {
            // SAFETY: as in `receive_and_wait`: every way out of here has waited for the request.
            let receive =
                unsafe { self.lend_mut(buffer.as_mut_ptr(), buffer.len(), caller, from, receive_tag) }?;
            // SAFETY: as in `send_and_wait`.
            let send = match unsafe { self.lend(data, caller, to, send_tag, false, None) } {
                Ok(send) => send,
                Err(error) => {
                    self.abandon(receive, caller);
                    return Err(error);
                }
            };
            let sent = self.wait(send, caller, |_| ());
            let status = self.wait(receive, caller, received)?;
            sent?;
            got(status)
        })
    }

    /// Cancels a receive and waits for its end.
    fn abandon(&mut self, receive: Handle, caller: Caller<'_>) {
        self.cancel(receive, caller.site());
        // The result does not matter any more.
        let _ = self.wait(receive, caller, |_| ());
    }
}
