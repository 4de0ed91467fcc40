//! The objects that a host holds: libfabric's part first (`fid_*`), then ours.

#![allow(unsafe_code, reason = "the host's pointers are of objects that were made here")]

use crate::bindings as b;
use std::ffi::c_void;

/// An object whose pointer is one to its part of libfabric's.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Object<F, T> {
    _fid: F,
    pub(crate) own: T,
}

impl<F, T> Object<F, T> {
    /// Makes an object, which is the host's until it closes it.
    pub(crate) fn give(fid: F, own: T) -> *mut F {
        Box::into_raw(Box::new(Self { _fid: fid, own })).cast()
    }

    /// The object of a pointer.
    ///
    /// # Safety
    /// The pointer was made by [`Object::give`] of these types, and the object was not taken back.
    #[inline]
    pub(crate) unsafe fn of<'a, P>(pointer: *mut P) -> &'a Self {
        // SAFETY: as the caller promises; the part of libfabric's is first.
        unsafe { &*pointer.cast() }
    }

    /// Takes an object back.
    ///
    /// # Safety
    /// As [`Object::of`], and nobody uses it any more.
    pub(crate) unsafe fn take<P>(pointer: *mut P) -> Box<Self> {
        // SAFETY: as the caller promises: it was a box.
        unsafe { Box::from_raw(pointer.cast()) }
    }
}

/// The head of an object.
pub(crate) fn head(class: u32, context: *mut c_void, ops: &'static b::fi_ops) -> b::fid {
    b::fid { fclass: class as usize, context, ops: table(ops) }
}

/// A table of functions as libfabric's structures name it; nobody writes to it.
pub(crate) fn table<T>(ops: &'static T) -> *mut T {
    std::ptr::from_ref(ops).cast_mut()
}
