//! Atomics on peers' memory (fi_atomic(3)).

use super::start::{TRANSMIT_FLAGS, start};
use crate::bindings as b;
use crate::fi::{self, Errno};
use crate::state::{AtomicKind, Local, OneSided, Place, atomic_count, datatype_size};
use std::ffi::{c_int, c_void};

pub(super) static OPS: b::fi_ops_atomic = b::fi_ops_atomic {
    size: size_of::<b::fi_ops_atomic>(),
    write: Some(write),
    writev: Some(writev),
    writemsg: Some(writemsg),
    inject: Some(inject),
    readwrite: Some(readwrite),
    readwritev: Some(readwritev),
    readwritemsg: Some(readwritemsg),
    compwrite: Some(compwrite),
    compwritev: Some(compwritev),
    compwritemsg: Some(compwritemsg),
    writevalid: Some(writevalid),
    readwritevalid: Some(readwritevalid),
    compwritevalid: Some(compwritevalid),
};

/// An atomic.
struct Atomic {
    kind: AtomicKind,
    datatype: b::fi_datatype,
    op: b::fi_op,
    count: usize,
    operand: *const c_void,
    compare: *const c_void,
    result: *mut c_void,
    place: Place,
    context: *mut c_void,
    silent: bool,
}

impl Atomic {
    /// # Safety
    /// As the host's promises of the call: buffers have as many elements as the operation, and the result is the library's
    /// until the completion.
    unsafe fn start(&self, ep: *mut b::fid_ep, flags: Option<u64>) -> isize {
        let most = match atomic_count(self.kind, self.datatype, self.op) {
            Ok(most) => most,
            Err(error) => return error.code() as isize,
        };
        if self.count > most {
            return Errno::TOO_LONG.code() as isize;
        }
        let bytes = self.count * datatype_size(self.datatype).unwrap_or(0);
        // SAFETY: as the caller promises. A read alone has no operand.
        unsafe {
            let reads = self.kind == AtomicKind::Fetch && self.op == b::FI_ATOMIC_READ;
            let operand = if reads { &[] } else { slice(self.operand, bytes) };
            let compare = if self.kind == AtomicKind::Compare { slice(self.compare, bytes) } else { &[] };
            let result = match self.kind {
                AtomicKind::Base => None,
                AtomicKind::Fetch | AtomicKind::Compare => {
                    Some(Local { buffer: self.result.cast(), len: bytes })
                }
            };
            let what = (self.datatype as u8, self.op as u8, self.count as u32);
            let one = OneSided { context: self.context.addr(), flags: 0, data: None, silent: self.silent };
            start(ep, |ep, avs, shared| {
                let one = OneSided { flags: flags.unwrap_or(ep.transmit.flags), ..one };
                ep.atomic(self.kind, what, &[operand, compare], result, self.place, one, avs, shared)
            })
        }
    }
}

/// # Safety
/// There are so many bytes.
unsafe fn slice<'a>(start: *const c_void, bytes: usize) -> &'a [u8] {
    // SAFETY: as the caller promises.
    if bytes == 0 { &[] } else { unsafe { std::slice::from_raw_parts(start.cast(), bytes) } }
}

/// The only elements of a list.
///
/// # Safety
/// The list has `count` elements.
unsafe fn one(iov: *const b::fi_ioc, count: usize) -> Option<(*mut c_void, usize)> {
    // SAFETY: as the caller promises.
    (count == 1 && !iov.is_null()).then(|| unsafe { ((*iov).addr, (*iov).count) })
}

/// The result of a list, which has as many elements as the operation.
///
/// # Safety
/// As [`one`].
unsafe fn as_many(iov: *const b::fi_ioc, lists: usize, count: usize) -> Result<*mut c_void, Errno> {
    // SAFETY: as the caller promises.
    match unsafe { one(iov, lists) } {
        Some((start, there)) if there == count => Ok(start),
        _ => Err(Errno::INVALID),
    }
}

const NULL: *mut c_void = std::ptr::null_mut();

unsafe extern "C" fn write(
    ep: *mut b::fid_ep,
    operand: *const c_void,
    count: usize,
    _: *mut c_void,
    of: b::fi_addr_t,
    address: u64,
    key: u64,
    datatype: b::fi_datatype,
    op: b::fi_op,
    context: *mut c_void,
) -> isize {
    let (kind, place) = (AtomicKind::Base, Place { of, key, address });
    let (compare, result, silent) = (NULL.cast_const(), NULL, false);
    let atomic = Atomic { kind, datatype, op, count, operand, compare, result, place, context, silent };
    // SAFETY: as the host's promises of this call.
    unsafe { atomic.start(ep, None) }
}

unsafe extern "C" fn writev(
    ep: *mut b::fid_ep,
    iov: *const b::fi_ioc,
    _: *mut *mut c_void,
    lists: usize,
    of: b::fi_addr_t,
    address: u64,
    key: u64,
    datatype: b::fi_datatype,
    op: b::fi_op,
    context: *mut c_void,
) -> isize {
    // SAFETY: as the host's promises of this call.
    unsafe {
        match one(iov, lists) {
            Some((operand, count)) => {
                write(ep, operand, count, NULL, of, address, key, datatype, op, context)
            }
            None => Errno::INVALID.code() as isize,
        }
    }
}

unsafe extern "C" fn inject(
    ep: *mut b::fid_ep,
    operand: *const c_void,
    count: usize,
    of: b::fi_addr_t,
    address: u64,
    key: u64,
    datatype: b::fi_datatype,
    op: b::fi_op,
) -> isize {
    let (kind, place) = (AtomicKind::Base, Place { of, key, address });
    let (compare, result, context, silent) = (NULL.cast_const(), NULL, NULL, true);
    let atomic = Atomic { kind, datatype, op, count, operand, compare, result, place, context, silent };
    // SAFETY: as the host's promises of this call.
    unsafe { atomic.start(ep, Some(fi::INJECT)) }
}

unsafe extern "C" fn readwrite(
    ep: *mut b::fid_ep,
    operand: *const c_void,
    count: usize,
    _: *mut c_void,
    result: *mut c_void,
    _: *mut c_void,
    of: b::fi_addr_t,
    address: u64,
    key: u64,
    datatype: b::fi_datatype,
    op: b::fi_op,
    context: *mut c_void,
) -> isize {
    let (kind, place) = (AtomicKind::Fetch, Place { of, key, address });
    let (compare, silent) = (NULL.cast_const(), false);
    let atomic = Atomic { kind, datatype, op, count, operand, compare, result, place, context, silent };
    // SAFETY: as the host's promises of this call.
    unsafe { atomic.start(ep, None) }
}

unsafe extern "C" fn readwritev(
    ep: *mut b::fid_ep,
    iov: *const b::fi_ioc,
    _: *mut *mut c_void,
    lists: usize,
    results: *mut b::fi_ioc,
    _: *mut *mut c_void,
    result_lists: usize,
    of: b::fi_addr_t,
    address: u64,
    key: u64,
    datatype: b::fi_datatype,
    op: b::fi_op,
    context: *mut c_void,
) -> isize {
    // SAFETY: as the host's promises of this call.
    unsafe {
        let Some((operand, count)) = one(iov, lists) else { return Errno::INVALID.code() as isize };
        match as_many(results, result_lists, count) {
            Ok(result) => {
                readwrite(ep, operand, count, NULL, result, NULL, of, address, key, datatype, op, context)
            }
            Err(error) => error.code() as isize,
        }
    }
}

unsafe extern "C" fn compwrite(
    ep: *mut b::fid_ep,
    operand: *const c_void,
    count: usize,
    _: *mut c_void,
    compare: *const c_void,
    _: *mut c_void,
    result: *mut c_void,
    _: *mut c_void,
    of: b::fi_addr_t,
    address: u64,
    key: u64,
    datatype: b::fi_datatype,
    op: b::fi_op,
    context: *mut c_void,
) -> isize {
    let (kind, place, silent) = (AtomicKind::Compare, Place { of, key, address }, false);
    let atomic = Atomic { kind, datatype, op, count, operand, compare, result, place, context, silent };
    // SAFETY: as the host's promises of this call.
    unsafe { atomic.start(ep, None) }
}

unsafe extern "C" fn compwritev(
    ep: *mut b::fid_ep,
    iov: *const b::fi_ioc,
    _: *mut *mut c_void,
    lists: usize,
    compares: *const b::fi_ioc,
    _: *mut *mut c_void,
    compare_lists: usize,
    results: *mut b::fi_ioc,
    _: *mut *mut c_void,
    result_lists: usize,
    of: b::fi_addr_t,
    address: u64,
    key: u64,
    datatype: b::fi_datatype,
    op: b::fi_op,
    context: *mut c_void,
) -> isize {
    // SAFETY: as the host's promises of this call.
    unsafe {
        let Some((operand, count)) = one(iov, lists) else { return Errno::INVALID.code() as isize };
        match (as_many(compares, compare_lists, count), as_many(results, result_lists, count)) {
            (Ok(compare), Ok(result)) => compwrite(
                ep, operand, count, NULL, compare, NULL, result, NULL, of, address, key, datatype, op,
                context,
            ),
            (Err(error), _) | (_, Err(error)) => error.code() as isize,
        }
    }
}

/// # Safety
/// As the host's promises of the call.
unsafe fn message(
    ep: *mut b::fid_ep,
    kind: AtomicKind,
    msg: *const b::fi_msg_atomic,
    compares: (*const b::fi_ioc, usize),
    results: (*const b::fi_ioc, usize),
    flags: u64,
) -> isize {
    if flags & !TRANSMIT_FLAGS != 0 || flags & fi::REMOTE_CQ_DATA != 0 {
        return Errno::FLAGS.code() as isize;
    }
    // SAFETY: as the caller promises.
    unsafe {
        let msg = &*msg;
        if msg.rma_iov_count != 1 {
            return Errno::INVALID.code() as isize;
        }
        let there = &*msg.rma_iov;
        let count = there.count;
        let reads = kind == AtomicKind::Fetch && msg.op == b::FI_ATOMIC_READ;
        let parts = || {
            let operand = if reads { NULL } else { as_many(msg.msg_iov, msg.iov_count, count)? };
            let compare = match kind {
                AtomicKind::Compare => as_many(compares.0, compares.1, count)?,
                _ => NULL,
            };
            let result = match kind {
                AtomicKind::Base => NULL,
                _ => as_many(results.0, results.1, count)?,
            };
            Ok::<_, Errno>((operand.cast_const(), compare.cast_const(), result))
        };
        let (operand, compare, result) = match parts() {
            Ok(parts) => parts,
            Err(error) => return error.code() as isize,
        };
        let place = Place { of: msg.addr, key: there.key, address: there.addr };
        let (datatype, op, context, silent) = (msg.datatype, msg.op, msg.context, false);
        let atomic = Atomic { kind, datatype, op, count, operand, compare, result, place, context, silent };
        atomic.start(ep, Some(flags))
    }
}

const NO_LIST: (*const b::fi_ioc, usize) = (std::ptr::null(), 0);

unsafe extern "C" fn writemsg(ep: *mut b::fid_ep, msg: *const b::fi_msg_atomic, flags: u64) -> isize {
    // SAFETY: as the host's promises of this call.
    unsafe { message(ep, AtomicKind::Base, msg, NO_LIST, NO_LIST, flags) }
}

unsafe extern "C" fn readwritemsg(
    ep: *mut b::fid_ep,
    msg: *const b::fi_msg_atomic,
    results: *mut b::fi_ioc,
    _: *mut *mut c_void,
    result_lists: usize,
    flags: u64,
) -> isize {
    // SAFETY: as the host's promises of this call.
    unsafe { message(ep, AtomicKind::Fetch, msg, NO_LIST, (results, result_lists), flags) }
}

unsafe extern "C" fn compwritemsg(
    ep: *mut b::fid_ep,
    msg: *const b::fi_msg_atomic,
    compares: *const b::fi_ioc,
    _: *mut *mut c_void,
    compare_lists: usize,
    results: *mut b::fi_ioc,
    _: *mut *mut c_void,
    result_lists: usize,
    flags: u64,
) -> isize {
    let (compares, results) = ((compares, compare_lists), (results.cast_const(), result_lists));
    // SAFETY: as the host's promises of this call.
    unsafe { message(ep, AtomicKind::Compare, msg, compares, results, flags) }
}

/// # Safety
/// There is a place for the answer.
unsafe fn valid(kind: AtomicKind, datatype: b::fi_datatype, op: b::fi_op, count: *mut usize) -> c_int {
    match atomic_count(kind, datatype, op) {
        Ok(most) => {
            // SAFETY: as the caller promises.
            unsafe { *count = most };
            0
        }
        Err(error) => error.code(),
    }
}

unsafe extern "C" fn writevalid(
    _: *mut b::fid_ep,
    datatype: b::fi_datatype,
    op: b::fi_op,
    count: *mut usize,
) -> c_int {
    // SAFETY: as the host's promises of this call.
    unsafe { valid(AtomicKind::Base, datatype, op, count) }
}

unsafe extern "C" fn readwritevalid(
    _: *mut b::fid_ep,
    datatype: b::fi_datatype,
    op: b::fi_op,
    count: *mut usize,
) -> c_int {
    // SAFETY: as the host's promises of this call.
    unsafe { valid(AtomicKind::Fetch, datatype, op, count) }
}

unsafe extern "C" fn compwritevalid(
    _: *mut b::fid_ep,
    datatype: b::fi_datatype,
    op: b::fi_op,
    count: *mut usize,
) -> c_int {
    // SAFETY: as the host's promises of this call.
    unsafe { valid(AtomicKind::Compare, datatype, op, count) }
}
