//! Counters (fi_cntr(3)).

#![allow(unsafe_code, reason = "the border to libfabric")]

use crate::bindings as b;
use crate::fi::Errno;
use crate::object::{Object, head, table};
use crate::parts::{DomainObject, Part};
use crate::refused::{no_bind, no_control, no_ops_open};
use crate::state::Cntr;
use crate::timeout::Timeout;
use std::ffi::{c_int, c_void};

/// A counter that a host holds.
pub(crate) type CntrObject = Object<b::fid_cntr, Part>;

pub(crate) unsafe extern "C" fn open(
    domain: *mut b::fid_domain,
    attr: *mut b::fi_cntr_attr,
    cntr: *mut *mut b::fid_cntr,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the host passes a domain, attributes or none, and a place for the answer.
    unsafe {
        if let Some(attr) = attr.as_ref() {
            let waits = matches!(attr.wait_obj, b::FI_WAIT_NONE | b::FI_WAIT_UNSPEC | b::FI_WAIT_YIELD);
            if attr.events != b::FI_CNTR_EVENTS_COMP || attr.flags != 0 || !waits {
                return Errno::NOT_SUPPORTED.code();
            }
        }
        let domain = DomainObject::of(domain).own.clone();
        let at = domain.state.with(|state| state.shared.cntrs.insert(Cntr::default()));
        let fid = head(b::FI_CLASS_CNTR, context, &OPS);
        *cntr = CntrObject::give(b::fid_cntr { fid, ops: table(&CNTR_OPS) }, Part { domain, at });
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

static CNTR_OPS: b::fi_ops_cntr = b::fi_ops_cntr {
    size: size_of::<b::fi_ops_cntr>(),
    read: Some(read),
    readerr: Some(readerr),
    add: Some(add),
    set: Some(set),
    wait: Some(wait),
    adderr: Some(adderr),
    seterr: Some(seterr),
};

unsafe extern "C" fn close(fid: *mut b::fid) -> c_int {
    // SAFETY: the host passes a counter that it has opened.
    unsafe {
        let busy = CntrObject::of(fid).own.with(|state, at| {
            let cntrs = &mut state.shared.cntrs;
            let busy = cntrs.get(at).is_some_and(|cntr| cntr.users > 0);
            if !busy {
                cntrs.remove(at);
            }
            busy
        });
        if busy {
            return Errno::BUSY.code();
        }
        drop(CntrObject::take(fid));
    }
    0
}

/// Uses a counter, after progress if that is wanted.
fn with<R: Default>(cntr: *mut b::fid_cntr, progress: bool, act: impl FnOnce(&mut Cntr) -> R) -> R {
    // SAFETY: the host passes a counter that it has opened.
    let part = unsafe { &CntrObject::of(cntr).own };
    part.with(|state, at| {
        if progress {
            state.progress_all();
        }
        state.shared.cntrs.get_mut(at).map(act).unwrap_or_default()
    })
}

unsafe extern "C" fn read(cntr: *mut b::fid_cntr) -> u64 {
    with(cntr, true, |cntr| cntr.value)
}

unsafe extern "C" fn readerr(cntr: *mut b::fid_cntr) -> u64 {
    with(cntr, true, |cntr| cntr.errors)
}

unsafe extern "C" fn add(cntr: *mut b::fid_cntr, value: u64) -> c_int {
    with(cntr, false, |cntr| cntr.value = cntr.value.wrapping_add(value));
    0
}

unsafe extern "C" fn set(cntr: *mut b::fid_cntr, value: u64) -> c_int {
    with(cntr, false, |cntr| cntr.value = value);
    0
}

unsafe extern "C" fn adderr(cntr: *mut b::fid_cntr, value: u64) -> c_int {
    with(cntr, false, |cntr| cntr.errors = cntr.errors.wrapping_add(value));
    0
}

unsafe extern "C" fn seterr(cntr: *mut b::fid_cntr, value: u64) -> c_int {
    with(cntr, false, |cntr| cntr.errors = value);
    0
}

unsafe extern "C" fn wait(cntr: *mut b::fid_cntr, threshold: u64, timeout: c_int) -> c_int {
    let mut timeout = Timeout::new(timeout);
    let before = with(cntr, false, |cntr| cntr.errors);
    loop {
        let (value, errors) = with(cntr, true, |cntr| (cntr.value, cntr.errors));
        match () {
            () if value >= threshold => return 0,
            () if errors != before => return Errno::AVAILABLE.code(),
            () if timeout.is_over() => return Errno::TIMEOUT.code(),
            () => {}
        }
    }
}
