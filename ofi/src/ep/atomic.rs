//! Atomics on peers' memory (fi_atomic(3)).
//!
//! libfabric has three kinds of them, each in three forms: of one buffer, of a list of them, and of a structure with flags.
//! All are an [`Atomic`] with [`Buffers`].

use super::start::{TRANSMIT_FLAGS, start};
use crate::bindings as b;
use crate::fi::{self, Errno};
use crate::state::{AtomicKind, OneSided, Pieces, Place, atomic_count, datatype_size};
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

/// Elements in the host's memory.
#[derive(Clone, Copy)]
enum Elements {
    /// The operation has none of them.
    None,
    /// So many from here on, in one buffer.
    One(*const c_void, usize),
    /// Those of a list of buffers, of this length.
    List(*const b::fi_ioc, usize),
}

impl Elements {
    /// How many there are.
    ///
    /// # Safety
    /// A list has as many buffers as it says.
    unsafe fn count(self) -> Option<usize> {
        match self {
            Self::None => Some(0),
            Self::One(_, count) => Some(count),
            Self::List(list, lists) => {
                // SAFETY: as the caller promises.
                let counts = (0..lists).map(|at| unsafe { (*list.add(at)).count });
                counts.into_iter().try_fold(0_usize, usize::checked_add)
            }
        }
    }

    /// Their buffers, if there are `count` elements of this size.
    ///
    /// # Safety
    /// As [`Elements::count`].
    unsafe fn pieces(self, count: usize, size: usize) -> Result<Pieces, Errno> {
        // SAFETY: as the caller promises.
        if unsafe { self.count() } != Some(count) {
            return Err(Errno::INVALID);
        }
        let bytes = |count: usize| count.saturating_mul(size);
        match self {
            Self::None => Ok(Pieces::default()),
            Self::One(start, count) => Ok(Pieces::one(start.cast(), bytes(count))),
            Self::List(list, lists) => {
                // SAFETY: as the caller promises.
                let list = (0..lists).map(|at| unsafe { &*list.add(at) });
                Pieces::new(list.map(|one| (one.addr.addr(), bytes(one.count)))).ok_or(Errno::INVALID)
            }
        }
    }
}

/// The elements of an atomic: the operands, what they are compared with, and where what was there goes.
#[derive(Clone, Copy)]
struct Buffers {
    operand: Elements,
    compare: Elements,
    result: Elements,
}

/// An atomic.
#[derive(Clone, Copy)]
struct Atomic {
    kind: AtomicKind,
    datatype: b::fi_datatype,
    op: b::fi_op,
    place: Place,
    context: *mut c_void,
    /// Whether nothing is reported of it but its failure.
    silent: bool,
    /// The endpoint's, if the call has none.
    flags: Option<u64>,
}

impl Atomic {
    /// # Safety
    /// As the host's promises of the call: lists have as many buffers as they say, and the result is the library's until the
    /// completion.
    unsafe fn start(self, ep: *mut b::fid_ep, count: Option<usize>, buffers: Buffers) -> isize {
        // SAFETY: as the caller promises.
        unsafe { self.try_start(ep, count, buffers) }.unwrap_or_else(|error| error.code() as isize)
    }

    /// # Safety
    /// As [`Atomic::start`].
    unsafe fn try_start(
        self,
        ep: *mut b::fid_ep,
        count: Option<usize>,
        Buffers { operand, compare, result }: Buffers,
    ) -> Result<isize, Errno> {
        let Self { kind, datatype, op, place, context, silent, flags } = self;
        let most = atomic_count(kind, datatype, op)?;
        // A read alone has no operand.
        let operand = if kind.only_reads(op as u8) { Elements::None } else { operand };
        let compare = if kind == AtomicKind::Compare { compare } else { Elements::None };
        // SAFETY: as the caller promises.
        unsafe {
            let listed = if matches!(operand, Elements::None) { result } else { operand };
            let count = count.or_else(|| listed.count()).ok_or(Errno::INVALID)?;
            if count > most {
                return Err(Errno::TOO_LONG);
            }
            let size = datatype_size(datatype).unwrap_or(0);
            let of = |elements: Elements| match elements {
                Elements::None => Ok(Pieces::default()),
                elements => elements.pieces(count, size),
            };
            let operands = [of(operand)?.slices(), of(compare)?.slices()].concat();
            let result = (kind != AtomicKind::Base).then(|| of(result)).transpose()?;
            let what = (datatype as u8, op as u8, count as u32);
            let one = OneSided { context: context.addr(), flags: 0, data: None, silent };
            Ok(start(ep, |ep, avs, shared| {
                let one = OneSided { flags: flags.unwrap_or(ep.transmit.flags), ..one };
                ep.atomic(kind, what, &operands, result, place, one, avs, shared)
            }))
        }
    }
}

/// An atomic whose call has no flags.
fn atomic(
    kind: AtomicKind,
    (datatype, op): (b::fi_datatype, b::fi_op),
    (of, address, key): (b::fi_addr_t, u64, u64),
    context: *mut c_void,
) -> Atomic {
    Atomic { kind, datatype, op, place: Place { of, key, address }, context, silent: false, flags: None }
}

/// The form of a structure with flags.
///
/// # Safety
/// As the host's promises of the call.
unsafe fn message(
    ep: *mut b::fid_ep,
    kind: AtomicKind,
    msg: *const b::fi_msg_atomic,
    (compare, result): (Elements, Elements),
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
        let what = atomic(kind, (msg.datatype, msg.op), (msg.addr, there.addr, there.key), msg.context);
        let operand = Elements::List(msg.msg_iov, msg.iov_count);
        let buffers = Buffers { operand, compare, result };
        Atomic { flags: Some(flags), ..what }.start(ep, Some(there.count), buffers)
    }
}

const NONE: Elements = Elements::None;

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
    let atomic = atomic(AtomicKind::Base, (datatype, op), (of, address, key), context);
    let buffers = Buffers { operand: Elements::One(operand, count), compare: NONE, result: NONE };
    // SAFETY: as the host's promises of this call.
    unsafe { atomic.start(ep, Some(count), buffers) }
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
    let atomic = atomic(AtomicKind::Base, (datatype, op), (of, address, key), context);
    let buffers = Buffers { operand: Elements::List(iov, lists), compare: NONE, result: NONE };
    // SAFETY: as the host's promises of this call.
    unsafe { atomic.start(ep, None, buffers) }
}

unsafe extern "C" fn writemsg(ep: *mut b::fid_ep, msg: *const b::fi_msg_atomic, flags: u64) -> isize {
    // SAFETY: as the host's promises of this call.
    unsafe { message(ep, AtomicKind::Base, msg, (NONE, NONE), flags) }
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
    let atomic = atomic(AtomicKind::Base, (datatype, op), (of, address, key), std::ptr::null_mut());
    let buffers = Buffers { operand: Elements::One(operand, count), compare: NONE, result: NONE };
    // SAFETY: as the host's promises of this call.
    unsafe { Atomic { silent: true, flags: Some(fi::INJECT), ..atomic }.start(ep, Some(count), buffers) }
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
    let atomic = atomic(AtomicKind::Fetch, (datatype, op), (of, address, key), context);
    let (operand, result) = (Elements::One(operand, count), Elements::One(result, count));
    // SAFETY: as the host's promises of this call.
    unsafe { atomic.start(ep, Some(count), Buffers { operand, compare: NONE, result }) }
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
    let atomic = atomic(AtomicKind::Fetch, (datatype, op), (of, address, key), context);
    let (operand, result) = (Elements::List(iov, lists), Elements::List(results, result_lists));
    // SAFETY: as the host's promises of this call.
    unsafe { atomic.start(ep, None, Buffers { operand, compare: NONE, result }) }
}

unsafe extern "C" fn readwritemsg(
    ep: *mut b::fid_ep,
    msg: *const b::fi_msg_atomic,
    results: *mut b::fi_ioc,
    _: *mut *mut c_void,
    result_lists: usize,
    flags: u64,
) -> isize {
    let result = Elements::List(results, result_lists);
    // SAFETY: as the host's promises of this call.
    unsafe { message(ep, AtomicKind::Fetch, msg, (NONE, result), flags) }
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
    let atomic = atomic(AtomicKind::Compare, (datatype, op), (of, address, key), context);
    let (operand, compare) = (Elements::One(operand, count), Elements::One(compare, count));
    let buffers = Buffers { operand, compare, result: Elements::One(result, count) };
    // SAFETY: as the host's promises of this call.
    unsafe { atomic.start(ep, Some(count), buffers) }
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
    let atomic = atomic(AtomicKind::Compare, (datatype, op), (of, address, key), context);
    let (operand, compare) = (Elements::List(iov, lists), Elements::List(compares, compare_lists));
    let buffers = Buffers { operand, compare, result: Elements::List(results, result_lists) };
    // SAFETY: as the host's promises of this call.
    unsafe { atomic.start(ep, None, buffers) }
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
    let others = (Elements::List(compares, compare_lists), Elements::List(results, result_lists));
    // SAFETY: as the host's promises of this call.
    unsafe { message(ep, AtomicKind::Compare, msg, others, flags) }
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
