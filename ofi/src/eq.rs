//! Event queues (fi_eq(3)). Endpoints without connections make no events; a host may write its own.

#![allow(unsafe_code, reason = "the border to libfabric")]

use crate::bindings as b;
use crate::fi::{Errno, PEEK};
use crate::object::{Object, head, table};
use crate::parts::{Fabric, FabricObject};
use crate::refused::{no_bind, no_control, no_ops_open};
use crate::timeout::Timeout;
use std::collections::VecDeque;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The most bytes of an event that a host writes.
const EVENT_BYTES: usize = 4 << 10;

/// An event queue.
pub(crate) struct Eq {
    events: Mutex<VecDeque<(u32, Box<[u8]>)>>,
    writable: bool,
    _fabric: Arc<Fabric>,
}

impl Eq {
    fn events(&self) -> MutexGuard<'_, VecDeque<(u32, Box<[u8]>)>> {
        self.events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

type EqObject = Object<b::fid_eq, Eq>;

pub(crate) unsafe extern "C" fn open(
    fabric: *mut b::fid_fabric,
    attr: *mut b::fi_eq_attr,
    eq: *mut *mut b::fid_eq,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the host passes a fabric, attributes or none, and a place for the answer.
    unsafe {
        let attr = attr.as_ref();
        if !attr.is_none_or(|attr| {
            matches!(attr.wait_obj, b::FI_WAIT_NONE | b::FI_WAIT_UNSPEC | b::FI_WAIT_YIELD)
        }) {
            return Errno::NOT_SUPPORTED.code();
        }
        let writable = attr.is_some_and(|attr| attr.flags & crate::fi::WRITE != 0);
        let own = Eq { events: Mutex::default(), writable, _fabric: FabricObject::of(fabric).own.clone() };
        let fid = head(b::FI_CLASS_EQ, context, &OPS);
        *eq = EqObject::give(b::fid_eq { fid, ops: table(&EQ_OPS) }, own);
    }
    0
}

static OPS: b::fi_ops = b::fi_ops {
    size: size_of::<b::fi_ops>(),
    close: Some(close),
    bind: Some(no_bind),
    control: Some(no_control),
    ops_open: Some(no_ops_open),
    tostr: None,
    ops_set: None,
};

static EQ_OPS: b::fi_ops_eq = b::fi_ops_eq {
    size: size_of::<b::fi_ops_eq>(),
    read: Some(read),
    readerr: Some(readerr),
    write: Some(write),
    sread: Some(sread),
    strerror: Some(strerror),
};

unsafe extern "C" fn close(fid: *mut b::fid) -> c_int {
    // SAFETY: the host passes an event queue that it has opened.
    drop(unsafe { EqObject::take(fid) });
    0
}

unsafe extern "C" fn read(
    eq: *mut b::fid_eq,
    event: *mut u32,
    buffer: *mut c_void,
    len: usize,
    flags: u64,
) -> isize {
    // SAFETY: the host passes an event queue, and room of `len` bytes.
    unsafe {
        let mut events = EqObject::of(eq).own.events();
        let Some((kind, bytes)) = events.front() else { return Errno::AGAIN.code() as isize };
        if len < bytes.len() {
            return Errno::TOO_SMALL.code() as isize;
        }
        *event = *kind;
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.cast(), bytes.len());
        let read = bytes.len();
        if flags & PEEK == 0 {
            events.pop_front();
        }
        read as isize
    }
}

unsafe extern "C" fn readerr(_: *mut b::fid_eq, _: *mut b::fi_eq_err_entry, _: u64) -> isize {
    Errno::AGAIN.code() as isize
}

unsafe extern "C" fn write(
    eq: *mut b::fid_eq,
    event: u32,
    buffer: *const c_void,
    len: usize,
    _: u64,
) -> isize {
    // SAFETY: the host passes an event queue, and `len` bytes.
    unsafe {
        let own = &EqObject::of(eq).own;
        if !own.writable || len > EVENT_BYTES {
            return Errno::INVALID.code() as isize;
        }
        let bytes = if len == 0 { &[] } else { std::slice::from_raw_parts(buffer.cast::<u8>(), len) };
        own.events().push_back((event, bytes.into()));
    }
    len as isize
}

unsafe extern "C" fn sread(
    eq: *mut b::fid_eq,
    event: *mut u32,
    buffer: *mut c_void,
    len: usize,
    timeout: c_int,
    flags: u64,
) -> isize {
    let mut timeout = Timeout::new(timeout);
    loop {
        // SAFETY: as the host's promises of this call.
        let result = unsafe { read(eq, event, buffer, len, flags) };
        if result != Errno::AGAIN.code() as isize || timeout.is_over() {
            return result;
        }
    }
}

unsafe extern "C" fn strerror(
    _: *mut b::fid_eq,
    _: c_int,
    _: *const c_void,
    _: *mut c_char,
    _: usize,
) -> *const c_char {
    const NONE: &CStr = c"no error";
    NONE.as_ptr()
}
