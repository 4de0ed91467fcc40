//! Completion queues (fi_cq(3)).

#![allow(unsafe_code, reason = "the border to libfabric")]

use crate::bindings as b;
use crate::fi::{Errno, version};
use crate::object::{Object, head, table};
use crate::parts::{DomainObject, Part};
use crate::refused::{no_bind, no_ops_open};
use crate::state::{Completion, Cq, Failed, Format, State, Wait};
use crate::timeout::Timeout;
use crate::timer::Timer;
use std::ffi::{c_char, c_int, c_void};

/// A completion queue that a host holds.
pub(crate) type CqObject = Object<b::fid_cq, Part>;

pub(crate) unsafe extern "C" fn open(
    domain: *mut b::fid_domain,
    attr: *mut b::fi_cq_attr,
    cq: *mut *mut b::fid_cq,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the host passes a domain, attributes or none, and a place for the answer.
    unsafe {
        let (format, size, wait) =
            attr.as_ref().map_or((b::FI_CQ_FORMAT_UNSPEC, 0, b::FI_WAIT_NONE), |attr| {
                (attr.format, attr.size, attr.wait_obj)
            });
        let Some(format) = Format::of(format) else { return Errno::NOT_SUPPORTED.code() };
        let wait = match wait {
            b::FI_WAIT_NONE => Wait::Never,
            b::FI_WAIT_UNSPEC | b::FI_WAIT_YIELD => Wait::Calls,
            b::FI_WAIT_FD => match Timer::new() {
                Ok(timer) => Wait::Descriptor(timer),
                Err(error) => return error.code(),
            },
            _ => return Errno::NOT_SUPPORTED.code(),
        };
        let domain = DomainObject::of(domain).own.clone();
        let at = domain.state.with(|state| state.shared.cqs.insert(Cq::new(format, size, wait)));
        let fid = head(b::FI_CLASS_CQ, context, &OPS);
        *cq = CqObject::give(b::fid_cq { fid, ops: table(&CQ_OPS) }, Part { domain, at });
    }
    0
}

static OPS: b::fi_ops = b::fi_ops {
    size: size_of::<b::fi_ops>(),
    close: Some(close),
    bind: Some(no_bind),
    control: Some(control),
    ops_open: Some(no_ops_open),
    tostr: None,
    ops_set: None,
};

static CQ_OPS: b::fi_ops_cq = b::fi_ops_cq {
    size: size_of::<b::fi_ops_cq>(),
    read: Some(read),
    readfrom: Some(readfrom),
    readerr: Some(readerr),
    sread: Some(sread),
    sreadfrom: Some(sreadfrom),
    signal: Some(signal),
    strerror: Some(strerror),
};

unsafe extern "C" fn close(fid: *mut b::fid) -> c_int {
    // SAFETY: the host passes a queue that it has opened.
    unsafe {
        let busy = CqObject::of(fid).own.with(|state, at| {
            let cqs = &mut state.shared.cqs;
            let busy = cqs.get_mut(at).is_some_and(|cq| cq.users > 0);
            if !busy {
                cqs.remove(at);
            }
            busy
        });
        if busy {
            return Errno::BUSY.code();
        }
        drop(CqObject::take(fid));
    }
    0
}

/// fi_cq(3): the descriptor, or the kind of the wait object.
unsafe extern "C" fn control(fid: *mut b::fid, command: c_int, argument: *mut c_void) -> c_int {
    // SAFETY: the host passes a queue that it has opened.
    unsafe { &CqObject::of(fid).own }.with(|state, at| {
        let Some(cq) = state.shared.cqs.get(at) else { return Errno::INVALID.code() };
        let value = match (command as u32, &cq.wait) {
            (b::FI_GETWAIT, Wait::Descriptor(timer)) => timer.descriptor(),
            (b::FI_GETWAITOBJ, Wait::Descriptor(_)) => b::FI_WAIT_FD as c_int,
            (b::FI_GETWAITOBJ, Wait::Calls) => b::FI_WAIT_UNSPEC as c_int,
            (b::FI_GETWAITOBJ, Wait::Never) => b::FI_WAIT_NONE as c_int,
            (b::FI_GETWAIT, _) => return Errno::NO_DATA.code(),
            _ => return Errno::NOT_SUPPORTED.code(),
        };
        // SAFETY: the host passes a place for the answer, which is an `int` or an enumeration.
        unsafe { *argument.cast::<c_int>() = value };
        0
    })
}

/// fi_poll(3), `fi_trywait`: whether the host may block in the queue's descriptor.
pub(crate) fn may_block(part: &Part) -> Result<(), Errno> {
    part.with(|state, at| {
        state.progress_of_cq(at);
        let cq = state.shared.cqs.get(at).ok_or(Errno::INVALID)?;
        let Wait::Descriptor(timer) = &cq.wait else { return Err(Errno::INVALID) };
        if !cq.is_empty() {
            return Err(Errno::AGAIN);
        }
        timer.restart();
        Ok(())
    })
}

/// Reads completions, with the sources of each if there is room for them.
///
/// # Safety
/// There is room for `count` entries of the queue's format, and as many sources, or none.
#[inline(always)]
unsafe fn take(state: &mut State, at: usize, entries: *mut c_void, count: usize, sources: *mut u64) -> isize {
    // A read of no entries lets messages move, too.
    if count == 0 || state.shared.cqs.get(at).is_some_and(|cq| !cq.has_next()) {
        state.progress_of_cq(at);
    }
    let Some(cq) = state.shared.cqs.get_mut(at) else { return Errno::INVALID.code() as isize };
    let format = cq.format();
    let mut read = 0;
    // SAFETY: there is room for each, as the caller promises.
    let write = |completion: &Completion, at| unsafe { write(completion, format, entries, sources, at) };
    while read < count && cq.take_next(|completion| write(completion, read)) {
        read += 1;
    }
    if read > 0 { read as isize } else { cq.why_none().code() as isize }
}

/// Writes a completion to the host's entry at this position.
///
/// # Safety
/// There is room for as many entries and one, and as many sources, or none.
#[inline(always)]
unsafe fn write(completion: &Completion, format: Format, entries: *mut c_void, sources: *mut u64, at: usize) {
    let (from, bytes) = (std::ptr::from_ref(completion), format.bytes());
    let entry = entries.cast::<u8>().wrapping_add(at * bytes);
    // SAFETY: there is room, as the caller promises; each format is the beginning of the completion.
    unsafe {
        // A copy whose length the compiler knows is a few moves; hosts read tagged entries, most often.
        if format == Format::Tagged {
            let tagged = from.cast::<b::fi_cq_tagged_entry>();
            entry.cast::<b::fi_cq_tagged_entry>().write_unaligned(tagged.read());
        } else {
            std::ptr::copy_nonoverlapping(from.cast(), entry, bytes);
        }
        if !sources.is_null() {
            *sources.add(at) = completion.source;
        }
    }
}

unsafe extern "C" fn read(cq: *mut b::fid_cq, entries: *mut c_void, count: usize) -> isize {
    // SAFETY: the host passes a queue, and room for `count` entries.
    unsafe { CqObject::of(cq).own.with(|state, at| take(state, at, entries, count, std::ptr::null_mut())) }
}

unsafe extern "C" fn readfrom(
    cq: *mut b::fid_cq,
    entries: *mut c_void,
    count: usize,
    sources: *mut b::fi_addr_t,
) -> isize {
    // SAFETY: the host passes a queue, and room for `count` entries and sources.
    unsafe { CqObject::of(cq).own.with(|state, at| take(state, at, entries, count, sources)) }
}

unsafe extern "C" fn readerr(cq: *mut b::fid_cq, entry: *mut b::fi_cq_err_entry, _: u64) -> isize {
    // SAFETY: the host passes a queue, and an entry of its version of the interface.
    unsafe {
        let part = &CqObject::of(cq).own;
        let failed = part.with(|state, at| state.shared.cqs.get_mut(at).and_then(Cq::pop_error));
        let Some(Failed { of, error, overflow }) = failed else { return Errno::AGAIN.code() as isize };
        let entry = &raw mut *entry;
        (*entry).op_context = of.context as *mut c_void;
        (*entry).flags = of.flags;
        (*entry).len = of.len;
        (*entry).buf = of.buffer as *mut c_void;
        (*entry).data = of.data;
        (*entry).tag = of.tag;
        (*entry).olen = overflow;
        (*entry).err = error.0;
        (*entry).prov_errno = error.0;
        // There is nothing more to be said of an error: none of the host's room is used.
        (*entry).err_data_size = 0;
        // An entry of earlier versions ends before.
        if part.domain.fabric.version >= version(1, 20) {
            (*entry).src_addr = of.source;
        }
    }
    1
}

/// Waits until `take` has something.
///
/// # Safety
/// As [`take`].
unsafe fn wait(
    cq: *mut b::fid_cq,
    entries: *mut c_void,
    count: usize,
    sources: *mut u64,
    timeout: c_int,
) -> isize {
    // SAFETY: the host passes a queue.
    let part = unsafe { &CqObject::of(cq).own };
    if part.with(|state, at| state.shared.cqs.get(at).is_none_or(|cq| matches!(cq.wait, Wait::Never))) {
        return Errno::NOT_SUPPORTED.code() as isize;
    }
    let mut timeout = Timeout::new(timeout);
    loop {
        // SAFETY: as the caller promises.
        let result = part.with(|state, at| unsafe { take(state, at, entries, count, sources) });
        let signaled = part.with(|state, at| {
            state.shared.cqs.get_mut(at).is_some_and(|cq| std::mem::take(&mut cq.signaled))
        });
        if result != Errno::AGAIN.code() as isize || signaled || timeout.is_over() {
            return result;
        }
    }
}

unsafe extern "C" fn sread(
    cq: *mut b::fid_cq,
    entries: *mut c_void,
    count: usize,
    _: *const c_void,
    timeout: c_int,
) -> isize {
    // SAFETY: the host passes room for `count` entries.
    unsafe { wait(cq, entries, count, std::ptr::null_mut(), timeout) }
}

unsafe extern "C" fn sreadfrom(
    cq: *mut b::fid_cq,
    entries: *mut c_void,
    count: usize,
    sources: *mut b::fi_addr_t,
    _: *const c_void,
    timeout: c_int,
) -> isize {
    // SAFETY: the host passes room for `count` entries and sources.
    unsafe { wait(cq, entries, count, sources, timeout) }
}

unsafe extern "C" fn signal(cq: *mut b::fid_cq) -> c_int {
    // SAFETY: the host passes a queue.
    unsafe { &CqObject::of(cq).own }.with(|state, at| {
        if let Some(cq) = state.shared.cqs.get_mut(at) {
            cq.signaled = true;
        }
    });
    0
}

unsafe extern "C" fn strerror(
    _: *mut b::fid_cq,
    error: c_int,
    _: *const c_void,
    buffer: *mut c_char,
    len: usize,
) -> *const c_char {
    let text = match Errno(error) {
        Errno::TRUNCATED => c"a message does not fit its receive",
        Errno::CANCELED => c"it was cancelled",
        Errno::NO_MESSAGE => c"no such message has come",
        Errno::RESET => c"the peer is gone",
        Errno::REFUSED => c"the peer cannot be connected",
        Errno::NO_KEY => c"the peer has no memory with this key",
        Errno::BAD_MEMORY => c"the peer's memory is not open to this access",
        Errno::NO_MEMORY => c"there is too little memory",
        _ => c"the operation has failed",
    };
    if !buffer.is_null() && len > 0 {
        let bytes = text.to_bytes();
        let copied = bytes.len().min(len - 1);
        // SAFETY: the host has room for `len` bytes.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), buffer.cast(), copied);
            *buffer.add(copied) = 0;
        }
    }
    text.as_ptr()
}
