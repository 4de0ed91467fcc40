//! Collectives (fi_collective(3)), which the provider does not offer: hosts call without asking whether there are any.

use crate::bindings as b;
use crate::fi::Errno;
use std::ffi::c_void;

pub(super) static OPS: b::fi_ops_collective = b::fi_ops_collective {
    size: size_of::<b::fi_ops_collective>(),
    barrier: Some(barrier),
    broadcast: Some(broadcast),
    alltoall: Some(alltoall),
    allreduce: Some(allreduce),
    allgather: Some(allgather),
    reduce_scatter: Some(reduce_scatter),
    reduce: Some(reduce),
    scatter: Some(scatter),
    gather: Some(gather),
    msg: Some(msg),
    barrier2: Some(barrier2),
};

unsafe extern "C" fn barrier(_: *mut b::fid_ep, _: b::fi_addr_t, _: *mut c_void) -> isize {
    Errno::NOT_SUPPORTED.code() as isize
}

unsafe extern "C" fn broadcast(
    _: *mut b::fid_ep,
    _: *mut c_void,
    _: usize,
    _: *mut c_void,
    _: b::fi_addr_t,
    _: b::fi_addr_t,
    _: b::fi_datatype,
    _: u64,
    _: *mut c_void,
) -> isize {
    Errno::NOT_SUPPORTED.code() as isize
}

unsafe extern "C" fn alltoall(
    _: *mut b::fid_ep,
    _: *const c_void,
    _: usize,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    _: b::fi_addr_t,
    _: b::fi_datatype,
    _: u64,
    _: *mut c_void,
) -> isize {
    Errno::NOT_SUPPORTED.code() as isize
}

unsafe extern "C" fn allreduce(
    _: *mut b::fid_ep,
    _: *const c_void,
    _: usize,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    _: b::fi_addr_t,
    _: b::fi_datatype,
    _: b::fi_op,
    _: u64,
    _: *mut c_void,
) -> isize {
    Errno::NOT_SUPPORTED.code() as isize
}

unsafe extern "C" fn allgather(
    _: *mut b::fid_ep,
    _: *const c_void,
    _: usize,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    _: b::fi_addr_t,
    _: b::fi_datatype,
    _: u64,
    _: *mut c_void,
) -> isize {
    Errno::NOT_SUPPORTED.code() as isize
}

unsafe extern "C" fn reduce_scatter(
    _: *mut b::fid_ep,
    _: *const c_void,
    _: usize,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    _: b::fi_addr_t,
    _: b::fi_datatype,
    _: b::fi_op,
    _: u64,
    _: *mut c_void,
) -> isize {
    Errno::NOT_SUPPORTED.code() as isize
}

unsafe extern "C" fn reduce(
    _: *mut b::fid_ep,
    _: *const c_void,
    _: usize,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    _: b::fi_addr_t,
    _: b::fi_addr_t,
    _: b::fi_datatype,
    _: b::fi_op,
    _: u64,
    _: *mut c_void,
) -> isize {
    Errno::NOT_SUPPORTED.code() as isize
}

unsafe extern "C" fn scatter(
    _: *mut b::fid_ep,
    _: *const c_void,
    _: usize,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    _: b::fi_addr_t,
    _: b::fi_addr_t,
    _: b::fi_datatype,
    _: u64,
    _: *mut c_void,
) -> isize {
    Errno::NOT_SUPPORTED.code() as isize
}

unsafe extern "C" fn gather(
    _: *mut b::fid_ep,
    _: *const c_void,
    _: usize,
    _: *mut c_void,
    _: *mut c_void,
    _: *mut c_void,
    _: b::fi_addr_t,
    _: b::fi_addr_t,
    _: b::fi_datatype,
    _: u64,
    _: *mut c_void,
) -> isize {
    Errno::NOT_SUPPORTED.code() as isize
}

unsafe extern "C" fn msg(
    _: *mut b::fid_ep,
    _: *const b::fi_msg_collective,
    _: *mut b::fi_ioc,
    _: *mut *mut c_void,
    _: usize,
    _: u64,
) -> isize {
    Errno::NOT_SUPPORTED.code() as isize
}

unsafe extern "C" fn barrier2(_: *mut b::fid_ep, _: b::fi_addr_t, _: u64, _: *mut c_void) -> isize {
    Errno::NOT_SUPPORTED.code() as isize
}
