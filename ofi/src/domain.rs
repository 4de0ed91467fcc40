//! Domains (fi_domain(3)): what endpoints, queues and memory have in common.

#![allow(unsafe_code, reason = "the border to libfabric")]

use crate::bindings as b;
use crate::fi::Errno;
use crate::lock::Lock;
use crate::object::{head, table};
use crate::parts::{Domain, DomainObject, FabricObject};
use crate::refused::{no_bind, no_control, no_ops_open};
use crate::state::{AtomicKind, State, atomic_count, datatype_size};
use crate::{av, cntr, cq, ep, mr};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

pub(crate) unsafe extern "C" fn open(
    fabric: *mut b::fid_fabric,
    info: *mut b::fi_info,
    domain: *mut *mut b::fid_domain,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the host passes a fabric, what `getinfo` has offered, and a place for the answer; it has no domain yet, which
    // stays in its `Arc`.
    unsafe {
        let Some(attr) = info.as_ref().and_then(|info| info.domain_attr.as_ref()) else {
            return Errno::INVALID.code();
        };
        // Only these promise that no two threads use objects of a domain at once.
        let locks = attr.threading != b::FI_THREAD_DOMAIN;
        let state = Lock::new(State::default());
        let fabric = FabricObject::of(fabric).own.clone();
        let own = Arc::new(Domain { state, mr_mode: attr.mr_mode, fabric });
        own.state.open(locks);
        let fid = head(b::FI_CLASS_DOMAIN, context, &OPS);
        let fid = b::fid_domain { fid, ops: table(&DOMAIN_OPS), mr: table(&mr::MR_OPS) };
        *domain = DomainObject::give(fid, own);
    }
    0
}

pub(crate) unsafe extern "C" fn open2(
    fabric: *mut b::fid_fabric,
    info: *mut b::fi_info,
    domain: *mut *mut b::fid_domain,
    flags: u64,
    context: *mut c_void,
) -> c_int {
    if flags != 0 {
        return Errno::NOT_SUPPORTED.code();
    }
    // SAFETY: as the host's promises of this call.
    unsafe { open(fabric, info, domain, context) }
}

static OPS: b::fi_ops = b::fi_ops {
    size: size_of::<b::fi_ops>(),
    close: Some(close),
    bind: Some(bind),
    control: Some(no_control),
    ops_open: Some(no_ops_open),
    tostr: None,
    ops_set: None,
};

static DOMAIN_OPS: b::fi_ops_domain = b::fi_ops_domain {
    size: size_of::<b::fi_ops_domain>(),
    av_open: Some(av::open),
    cq_open: Some(cq::open),
    endpoint: Some(ep::open),
    scalable_ep: Some(scalable_ep),
    cntr_open: Some(cntr::open),
    poll_open: Some(poll_open),
    stx_ctx: Some(stx_ctx),
    srx_ctx: Some(srx_ctx),
    query_atomic: Some(query_atomic),
    query_collective: Some(query_collective),
    endpoint2: Some(ep::open2),
};

unsafe extern "C" fn close(fid: *mut b::fid) -> c_int {
    // SAFETY: the host passes a domain that it has opened.
    unsafe {
        if Arc::strong_count(&DomainObject::of(fid).own) > 1 {
            return Errno::BUSY.code();
        }
        drop(DomainObject::take(fid));
    }
    0
}

/// An event queue may be bound; a domain has no events for it.
unsafe extern "C" fn bind(domain: *mut b::fid, bound: *mut b::fid, flags: u64) -> c_int {
    // SAFETY: the host passes objects.
    match unsafe { (*bound).fclass } as u32 {
        b::FI_CLASS_EQ => 0,
        // SAFETY: it uses neither.
        _ => unsafe { no_bind(domain, bound, flags) },
    }
}

unsafe extern "C" fn scalable_ep(
    _: *mut b::fid_domain,
    _: *mut b::fi_info,
    _: *mut *mut b::fid_ep,
    _: *mut c_void,
) -> c_int {
    Errno::NOT_SUPPORTED.code()
}

unsafe extern "C" fn poll_open(
    _: *mut b::fid_domain,
    _: *mut b::fi_poll_attr,
    _: *mut *mut b::fid_poll,
) -> c_int {
    Errno::NOT_SUPPORTED.code()
}

unsafe extern "C" fn stx_ctx(
    _: *mut b::fid_domain,
    _: *mut b::fi_tx_attr,
    _: *mut *mut b::fid_stx,
    _: *mut c_void,
) -> c_int {
    Errno::NOT_SUPPORTED.code()
}

unsafe extern "C" fn srx_ctx(
    _: *mut b::fid_domain,
    _: *mut b::fi_rx_attr,
    _: *mut *mut b::fid_ep,
    _: *mut c_void,
) -> c_int {
    Errno::NOT_SUPPORTED.code()
}

/// fi_atomic(3), `fi_query_atomic`.
unsafe extern "C" fn query_atomic(
    _: *mut b::fid_domain,
    datatype: b::fi_datatype,
    op: b::fi_op,
    attr: *mut b::fi_atomic_attr,
    flags: u64,
) -> c_int {
    const FETCH_ATOMIC: u64 = b::FI_FETCH_ATOMIC;
    const COMPARE_ATOMIC: u64 = b::FI_COMPARE_ATOMIC;
    let kind = match flags & !crate::fi::TAGGED {
        0 => AtomicKind::Base,
        FETCH_ATOMIC => AtomicKind::Fetch,
        COMPARE_ATOMIC => AtomicKind::Compare,
        _ => return Errno::FLAGS.code(),
    };
    match (atomic_count(kind, datatype, op), datatype_size(datatype)) {
        (Ok(count), Some(size)) => {
            // SAFETY: the host passes a place for the answer.
            unsafe { *attr = b::fi_atomic_attr { count, size } };
            0
        }
        _ => Errno::NOT_OPERATION.code(),
    }
}

unsafe extern "C" fn query_collective(
    _: *mut b::fid_domain,
    _: b::fi_collective_op,
    _: *mut b::fi_collective_attr,
    _: u64,
) -> c_int {
    Errno::NOT_SUPPORTED.code()
}
