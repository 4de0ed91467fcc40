//! How the calls of a host reach an endpoint.

#![allow(unsafe_code, reason = "the border to libfabric")]

use crate::bindings as b;
use crate::fi::{self, Errno, Returned};
use crate::object::Object;
use crate::parts::Part;
use crate::state::{Av, Ep, Incoming, Outgoing, Shared, Table};
use std::ffi::c_void;

/// An endpoint that a host holds.
pub(crate) type EpObject = Object<b::fid_ep, Part>;

/// Makes a call on an endpoint.
///
/// # Safety
/// The host has opened the endpoint.
#[inline(always)]
pub(super) unsafe fn with<T, R>(
    ep: *mut T,
    act: impl FnOnce(&mut Ep, &Table<Av>, &mut Shared) -> Result<R, Errno>,
) -> Result<R, Errno> {
    // SAFETY: as the caller promises.
    let part = unsafe { &EpObject::of(ep).own };
    part.with(|state, at| {
        let (ep, avs, shared) = state.ep(at)?;
        act(ep, avs, shared)
    })
}

/// What a call returns that starts an operation. One that has to be made again lets messages move first.
///
/// # Safety
/// As [`with`].
#[inline(always)]
pub(super) unsafe fn start(
    ep: *mut b::fid_ep,
    act: impl FnOnce(&mut Ep, &Table<Av>, &mut Shared) -> Result<(), Errno>,
) -> isize {
    // SAFETY: as the caller promises.
    let result = unsafe { with(ep, act) };
    if result == Err(Errno::AGAIN) {
        // SAFETY: as before.
        unsafe { &EpObject::of(ep).own }.with(|state, at| state.progress(at));
    }
    result.returned() as isize
}

/// The flags of operations that start something.
pub(super) const TRANSMIT_FLAGS: u64 = fi::COMPLETION
    | fi::INJECT
    | fi::INJECT_COMPLETE
    | fi::TRANSMIT_COMPLETE
    | fi::DELIVERY_COMPLETE
    | fi::MATCH_COMPLETE
    | fi::REMOTE_CQ_DATA
    | fi::FENCE
    | fi::MORE;

/// The only buffer of a list; an empty list is an empty buffer.
///
/// # Safety
/// The list has `count` elements.
#[inline]
pub(super) unsafe fn one(iov: *const b::iovec, count: usize) -> Result<(*mut c_void, usize), Errno> {
    match count {
        0 => Ok((std::ptr::null_mut(), 0)),
        // SAFETY: as the caller promises.
        1 if !iov.is_null() => Ok(unsafe { ((*iov).iov_base, (*iov).iov_len) }),
        1 => Ok((std::ptr::null_mut(), 0)),
        _ => Err(Errno::INVALID),
    }
}

/// Begins a receive, with the endpoint's flags if the call has none.
///
/// # Safety
/// As the host's promises of the call: the buffer is the library's until the completion.
#[inline(always)]
pub(super) unsafe fn receive(ep: *mut b::fid_ep, receive: Incoming, flags: Option<u64>) -> isize {
    // SAFETY: as the caller promises.
    unsafe {
        start(ep, |ep, avs, shared| {
            let flags = flags.unwrap_or(ep.receive.flags);
            ep.receive(&Incoming { flags, ..receive }, avs, shared)
        })
    }
}

/// Begins to send a message, with the endpoint's flags if the call has none.
///
/// # Safety
/// As the host's promises of the call: nobody writes to the buffer until the completion.
#[inline(always)]
pub(super) unsafe fn transmit(ep: *mut b::fid_ep, message: Outgoing, flags: Option<u64>) -> isize {
    // SAFETY: as the caller promises.
    unsafe {
        start(ep, |ep, avs, shared| {
            let flags = flags.unwrap_or(ep.transmit.flags);
            ep.send(&Outgoing { flags, ..message }, avs, shared)
        })
    }
}
