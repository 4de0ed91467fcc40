//! How the calls of a host reach an endpoint.

#![allow(unsafe_code, reason = "the border to libfabric")]

use crate::bindings as b;
use crate::fi::{self, Errno, Returned};
use crate::object::Object;
use crate::parts::Part;
use crate::state::{Av, Ep, Incoming, Outgoing, Pieces, Shared, State, Table};

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

/// What a call returns that starts an operation.
///
/// # Safety
/// As [`with`].
#[inline(always)]
pub(super) unsafe fn start(
    ep: *mut b::fid_ep,
    act: impl FnOnce(&mut Ep, &Table<Av>, &mut Shared) -> Result<(), Errno>,
) -> isize {
    // SAFETY: as the caller promises.
    let part = unsafe { &EpObject::of(ep).own };
    let mut state = part.domain.state.lock();
    let started = state.ep(part.at).and_then(|(ep, avs, shared)| act(ep, avs, shared));
    started_or_again(started, &mut state, part.at)
}

/// What a call returns. One that has to be made again lets messages move first.
#[inline(always)]
fn started_or_again(started: Result<(), Errno>, state: &mut State, at: usize) -> isize {
    if started == Err(Errno::AGAIN) {
        state.progress(at);
    }
    started.returned() as isize
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

/// The buffers of a list. An empty list is an empty buffer.
///
/// # Safety
/// The list has `count` elements.
#[inline]
pub(super) unsafe fn pieces(iov: *const b::iovec, count: usize) -> Result<Pieces, Errno> {
    let count = if iov.is_null() { 0 } else { count };
    // SAFETY: as the caller promises.
    let list = (0..count).map(|at| unsafe { &*iov.add(at) });
    Pieces::new(list.map(|one| (one.iov_base.addr(), one.iov_len))).ok_or(Errno::INVALID)
}

/// Begins a receive into the buffers of a list, as [`receive`].
///
/// # Safety
/// As [`receive`], of all buffers; the list has `count` elements.
#[inline]
pub(super) unsafe fn receive_into(
    ep: *mut b::fid_ep,
    (iov, count): (*const b::iovec, usize),
    incoming: Incoming,
    flags: Option<u64>,
) -> isize {
    // SAFETY: as the caller promises.
    unsafe {
        match pieces(iov, count) {
            Err(error) => error.code() as isize,
            Ok(one) if one.is_one() => {
                receive(ep, Incoming { buffer: one.start(), len: one.len(), ..incoming }, flags)
            }
            Ok(several) => start(ep, |ep, avs, shared| {
                let flags = flags.unwrap_or(ep.receive.flags);
                ep.receive_pieces(&Incoming { flags, ..incoming }, several, avs, shared)
            }),
        }
    }
}

/// Begins to send the buffers of a list as one message, as [`transmit`].
///
/// # Safety
/// As [`transmit`], of all buffers; the list has `count` elements.
#[inline]
pub(super) unsafe fn transmit_from(
    ep: *mut b::fid_ep,
    (iov, count): (*const b::iovec, usize),
    message: Outgoing,
    flags: Option<u64>,
) -> isize {
    // SAFETY: as the caller promises.
    unsafe {
        match pieces(iov, count) {
            Err(error) => error.code() as isize,
            Ok(one) if one.is_one() => {
                transmit(ep, Outgoing { buffer: one.start(), len: one.len(), ..message }, flags)
            }
            Ok(several) => start(ep, |ep, avs, shared| {
                let flags = flags.unwrap_or(ep.transmit.flags);
                ep.send_pieces(&Outgoing { flags, ..message }, &several, avs, shared)
            }),
        }
    }
}

/// Begins a receive, with the endpoint's flags if the call has none.
///
/// # Safety
/// As the host's promises of the call: the buffer is the library's until the completion.
// Without a closure, which would be one function for all calls that receive, and get what they ask for in memory.
#[inline(always)]
pub(super) unsafe fn receive(ep: *mut b::fid_ep, receive: Incoming, flags: Option<u64>) -> isize {
    // SAFETY: the host has opened the endpoint.
    let part = unsafe { &EpObject::of(ep).own };
    let mut state = part.domain.state.lock();
    let started = match state.ep(part.at) {
        Ok((ep, avs, shared)) => {
            let flags = flags.unwrap_or(ep.receive.flags);
            // SAFETY: as the caller promises.
            unsafe { ep.receive(&Incoming { flags, ..receive }, avs, shared) }
        }
        Err(error) => Err(error),
    };
    started_or_again(started, &mut state, part.at)
}

/// Begins to send a message, with the endpoint's flags if the call has none.
///
/// # Safety
/// As the host's promises of the call: nobody writes to the buffer until the completion.
#[inline(always)]
pub(super) unsafe fn transmit(ep: *mut b::fid_ep, message: Outgoing, flags: Option<u64>) -> isize {
    // SAFETY: the host has opened the endpoint.
    let part = unsafe { &EpObject::of(ep).own };
    let mut state = part.domain.state.lock();
    let started = match state.ep(part.at) {
        Ok((ep, avs, shared)) => {
            let flags = flags.unwrap_or(ep.transmit.flags);
            // SAFETY: as the caller promises.
            unsafe { ep.send(&Outgoing { flags, ..message }, avs, shared) }
        }
        Err(error) => Err(error),
    };
    started_or_again(started, &mut state, part.at)
}
