//! Functions of objects for what there is not.

#![allow(unsafe_code, reason = "the border to libfabric")]

use crate::bindings as b;
use crate::fi::Errno;
use std::ffi::{c_int, c_void};

/// For objects to which nothing is bound.
pub(crate) unsafe extern "C" fn no_bind(_: *mut b::fid, _: *mut b::fid, _: u64) -> c_int {
    Errno::NOT_SUPPORTED.code()
}

/// For objects without commands.
pub(crate) unsafe extern "C" fn no_control(_: *mut b::fid, _: c_int, _: *mut c_void) -> c_int {
    Errno::NOT_SUPPORTED.code()
}

/// For objects without interfaces of their own.
pub(crate) unsafe extern "C" fn no_ops_open(
    _: *mut b::fid,
    _: *const std::ffi::c_char,
    _: u64,
    _: *mut *mut c_void,
    _: *mut c_void,
) -> c_int {
    Errno::NOT_SUPPORTED.code()
}
