//! Reads and writes of peers' memory (fi_rma(3)).

use super::start::{TRANSMIT_FLAGS, one, start};
use crate::bindings as b;
use crate::fi::{self, Errno};
use crate::state::{Access, Local, OneSided, Place};
use std::ffi::c_void;

pub(super) static OPS: b::fi_ops_rma = b::fi_ops_rma {
    size: size_of::<b::fi_ops_rma>(),
    read: Some(read),
    readv: Some(readv),
    readmsg: Some(readmsg),
    write: Some(write),
    writev: Some(writev),
    writemsg: Some(writemsg),
    inject: Some(inject),
    writedata: Some(writedata),
    injectdata: Some(injectdata),
};

/// # Safety
/// As the host's promises of the call: the buffer is the library's until the completion.
unsafe fn access(
    ep: *mut b::fid_ep,
    access: Access,
    (buffer, len): (*mut c_void, usize),
    place: Place,
    what: OneSided,
    flags: Option<u64>,
) -> isize {
    let local = Local { buffer: buffer.cast(), len };
    // SAFETY: as the caller promises.
    unsafe {
        start(ep, |ep, avs, shared| {
            let flags = flags.unwrap_or(ep.transmit.flags);
            ep.access(access, local, place, OneSided { flags, ..what }, avs, shared)
        })
    }
}

fn what(context: *mut c_void, data: Option<u64>, silent: bool) -> OneSided {
    OneSided { context: context.addr(), flags: 0, data, silent }
}

unsafe extern "C" fn read(
    ep: *mut b::fid_ep,
    buffer: *mut c_void,
    len: usize,
    _: *mut c_void,
    of: b::fi_addr_t,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    let place = Place { of, key, address };
    // SAFETY: as the host's promises of this call.
    unsafe { access(ep, Access::Read, (buffer, len), place, what(context, None, false), None) }
}

unsafe extern "C" fn readv(
    ep: *mut b::fid_ep,
    iov: *const b::iovec,
    _: *mut *mut c_void,
    count: usize,
    of: b::fi_addr_t,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    let place = Place { of, key, address };
    // SAFETY: as the host's promises of this call.
    unsafe {
        match one(iov, count) {
            Ok(buffer) => access(ep, Access::Read, buffer, place, what(context, None, false), None),
            Err(error) => error.code() as isize,
        }
    }
}

/// # Safety
/// As the host's promises of the call.
unsafe fn message(ep: *mut b::fid_ep, kind: Access, msg: *const b::fi_msg_rma, flags: u64) -> isize {
    if flags & !TRANSMIT_FLAGS != 0 || kind == Access::Read && flags & fi::INJECT != 0 {
        return Errno::FLAGS.code() as isize;
    }
    // SAFETY: as the caller promises.
    unsafe {
        let msg = &*msg;
        let buffer = match one(msg.msg_iov, msg.iov_count) {
            Ok(buffer) if msg.rma_iov_count == 1 => buffer,
            Ok(_) => return Errno::INVALID.code() as isize,
            Err(error) => return error.code() as isize,
        };
        let there = &*msg.rma_iov;
        // fi_rma(3): both have the same length.
        if there.len != buffer.1 {
            return Errno::INVALID.code() as isize;
        }
        let place = Place { of: msg.addr, key: there.key, address: there.addr };
        let data = (kind == Access::Write && flags & fi::REMOTE_CQ_DATA != 0).then_some(msg.data);
        access(ep, kind, buffer, place, what(msg.context, data, false), Some(flags))
    }
}

unsafe extern "C" fn readmsg(ep: *mut b::fid_ep, msg: *const b::fi_msg_rma, flags: u64) -> isize {
    // SAFETY: as the host's promises of this call.
    unsafe { message(ep, Access::Read, msg, flags) }
}

unsafe extern "C" fn writemsg(ep: *mut b::fid_ep, msg: *const b::fi_msg_rma, flags: u64) -> isize {
    // SAFETY: as the host's promises of this call.
    unsafe { message(ep, Access::Write, msg, flags) }
}

unsafe extern "C" fn write(
    ep: *mut b::fid_ep,
    buffer: *const c_void,
    len: usize,
    _: *mut c_void,
    of: b::fi_addr_t,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    let place = Place { of, key, address };
    let buffer = (buffer.cast_mut(), len);
    // SAFETY: as the host's promises of this call.
    unsafe { access(ep, Access::Write, buffer, place, what(context, None, false), None) }
}

unsafe extern "C" fn writev(
    ep: *mut b::fid_ep,
    iov: *const b::iovec,
    _: *mut *mut c_void,
    count: usize,
    of: b::fi_addr_t,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    let place = Place { of, key, address };
    // SAFETY: as the host's promises of this call.
    unsafe {
        match one(iov, count) {
            Ok(buffer) => access(ep, Access::Write, buffer, place, what(context, None, false), None),
            Err(error) => error.code() as isize,
        }
    }
}

unsafe extern "C" fn inject(
    ep: *mut b::fid_ep,
    buffer: *const c_void,
    len: usize,
    of: b::fi_addr_t,
    address: u64,
    key: u64,
) -> isize {
    let place = Place { of, key, address };
    let (buffer, what) = ((buffer.cast_mut(), len), what(std::ptr::null_mut(), None, true));
    // SAFETY: as the host's promises of this call.
    unsafe { access(ep, Access::Write, buffer, place, what, Some(fi::INJECT)) }
}

unsafe extern "C" fn writedata(
    ep: *mut b::fid_ep,
    buffer: *const c_void,
    len: usize,
    _: *mut c_void,
    data: u64,
    of: b::fi_addr_t,
    address: u64,
    key: u64,
    context: *mut c_void,
) -> isize {
    let place = Place { of, key, address };
    let buffer = (buffer.cast_mut(), len);
    // SAFETY: as the host's promises of this call.
    unsafe { access(ep, Access::Write, buffer, place, what(context, Some(data), false), None) }
}

unsafe extern "C" fn injectdata(
    ep: *mut b::fid_ep,
    buffer: *const c_void,
    len: usize,
    data: u64,
    of: b::fi_addr_t,
    address: u64,
    key: u64,
) -> isize {
    let place = Place { of, key, address };
    let (buffer, what) = ((buffer.cast_mut(), len), what(std::ptr::null_mut(), Some(data), true));
    // SAFETY: as the host's promises of this call.
    unsafe { access(ep, Access::Write, buffer, place, what, Some(fi::INJECT)) }
}
