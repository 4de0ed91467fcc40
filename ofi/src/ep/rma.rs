//! Reads and writes of peers' memory (fi_rma(3)).
//!
//! libfabric has three forms of each call: with one buffer, with a list of buffers, and with a structure that has flags. All
//! of them make an [`Access`] to a [`Place`] with [`Pieces`].

use super::start::{TRANSMIT_FLAGS, pieces, start};
use crate::bindings as b;
use crate::fi::{self, Errno};
use crate::state::{Access, OneSided, Pieces, Place};
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

/// What a call says, apart from the access, the place and the buffers.
#[derive(Clone, Copy)]
struct Said {
    context: *mut c_void,
    /// Data for the target's completion queue.
    data: Option<u64>,
    /// Whether nothing is reported of it but its failure.
    silent: bool,
    /// The endpoint's, if the call has none.
    flags: Option<u64>,
}

impl Said {
    fn only(context: *mut c_void) -> Self {
        Self { context, data: None, silent: false, flags: None }
    }

    fn with_data(context: *mut c_void, data: u64) -> Self {
        Self { data: Some(data), ..Self::only(context) }
    }

    /// Of a call whose buffer is the host's again when it returns.
    fn injected(data: Option<u64>) -> Self {
        Self { data, silent: true, flags: Some(fi::INJECT), ..Self::only(std::ptr::null_mut()) }
    }
}

/// # Safety
/// As the host's promises of the call: the buffers are the library's until the completion.
unsafe fn access(
    ep: *mut b::fid_ep,
    access: Access,
    buffers: Result<Pieces, Errno>,
    place: Place,
    Said { context, data, silent, flags }: Said,
) -> isize {
    let buffers = match buffers {
        Ok(buffers) => buffers,
        Err(error) => return error.code() as isize,
    };
    // SAFETY: as the caller promises.
    unsafe {
        start(ep, |ep, avs, shared| {
            let flags = flags.unwrap_or(ep.transmit.flags);
            let what = OneSided { context: context.addr(), flags, data, silent };
            ep.access(access, &buffers, place, what, avs, shared)
        })
    }
}

/// One buffer.
fn one(buffer: *const c_void, len: usize) -> Result<Pieces, Errno> {
    Ok(Pieces::one(buffer.cast(), len))
}

fn at(of: b::fi_addr_t, address: u64, key: u64) -> Place {
    Place { of, key, address }
}

/// The form of a structure with flags.
///
/// # Safety
/// As the host's promises of the call.
unsafe fn message(ep: *mut b::fid_ep, kind: Access, msg: *const b::fi_msg_rma, flags: u64) -> isize {
    if flags & !TRANSMIT_FLAGS != 0 || kind == Access::Read && flags & fi::INJECT != 0 {
        return Errno::FLAGS.code() as isize;
    }
    // SAFETY: as the caller promises.
    unsafe {
        let msg = &*msg;
        if msg.rma_iov_count != 1 {
            return Errno::INVALID.code() as isize;
        }
        let there = &*msg.rma_iov;
        // fi_rma(3): both have the same length.
        let same = |buffers: &Pieces| if buffers.len() == there.len { Ok(()) } else { Err(Errno::INVALID) };
        let buffers = pieces(msg.msg_iov, msg.iov_count);
        let buffers = buffers.and_then(|buffers| same(&buffers).map(|()| buffers));
        let data = (kind == Access::Write && flags & fi::REMOTE_CQ_DATA != 0).then_some(msg.data);
        let said = Said { data, flags: Some(flags), ..Said::only(msg.context) };
        access(ep, kind, buffers, at(msg.addr, there.addr, there.key), said)
    }
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
    // SAFETY: as the host's promises of this call.
    unsafe { access(ep, Access::Read, one(buffer, len), at(of, address, key), Said::only(context)) }
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
    // SAFETY: as the host's promises of this call.
    unsafe { access(ep, Access::Read, pieces(iov, count), at(of, address, key), Said::only(context)) }
}

unsafe extern "C" fn readmsg(ep: *mut b::fid_ep, msg: *const b::fi_msg_rma, flags: u64) -> isize {
    // SAFETY: as the host's promises of this call.
    unsafe { message(ep, Access::Read, msg, flags) }
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
    // SAFETY: as the host's promises of this call.
    unsafe { access(ep, Access::Write, one(buffer, len), at(of, address, key), Said::only(context)) }
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
    // SAFETY: as the host's promises of this call.
    unsafe { access(ep, Access::Write, pieces(iov, count), at(of, address, key), Said::only(context)) }
}

unsafe extern "C" fn writemsg(ep: *mut b::fid_ep, msg: *const b::fi_msg_rma, flags: u64) -> isize {
    // SAFETY: as the host's promises of this call.
    unsafe { message(ep, Access::Write, msg, flags) }
}

unsafe extern "C" fn inject(
    ep: *mut b::fid_ep,
    buffer: *const c_void,
    len: usize,
    of: b::fi_addr_t,
    address: u64,
    key: u64,
) -> isize {
    // SAFETY: as the host's promises of this call.
    unsafe { access(ep, Access::Write, one(buffer, len), at(of, address, key), Said::injected(None)) }
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
    let said = Said::with_data(context, data);
    // SAFETY: as the host's promises of this call.
    unsafe { access(ep, Access::Write, one(buffer, len), at(of, address, key), said) }
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
    // SAFETY: as the host's promises of this call.
    unsafe { access(ep, Access::Write, one(buffer, len), at(of, address, key), Said::injected(Some(data))) }
}
