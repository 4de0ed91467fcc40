//! The provider itself, and its fabric (fi_fabric(3)).

#![allow(unsafe_code, reason = "the border to libfabric")]

use crate::bindings as b;
use crate::cq;
use crate::domain;
use crate::eq;
use crate::fi::{Errno, version};
use crate::info;
use crate::object::{head, table};
use crate::params;
use crate::parts::{Fabric, FabricObject};
use crate::refused::{no_bind, no_control, no_ops_open};
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// libfabric's structure of the provider, which it writes to.
struct Provider(std::cell::UnsafeCell<b::fi_provider>);

// SAFETY: only libfabric uses it, once it was told of it.
unsafe impl Sync for Provider {}

static PROVIDER: Provider = Provider(std::cell::UnsafeCell::new(b::fi_provider {
    version: version(0, 1),
    // Not that of the core that loads it: a core skips a provider whose version is lower than what a host asks for.
    fi_version: info::VERSION,
    context: b::fi_context { internal: [std::ptr::null_mut(); 4] },
    name: info::NAME.as_ptr(),
    getinfo: Some(info::getinfo),
    fabric: Some(open),
    cleanup: Some(cleanup),
}));

/// Called by libfabric when it has loaded the provider.
#[unsafe(no_mangle)]
pub extern "C" fn fi_prov_ini() -> *mut b::fi_provider {
    params::define(PROVIDER.0.get());
    PROVIDER.0.get()
}

unsafe extern "C" fn cleanup() {}

unsafe extern "C" fn open(
    attr: *mut b::fi_fabric_attr,
    fabric: *mut *mut b::fid_fabric,
    context: *mut c_void,
) -> c_int {
    // SAFETY: libfabric passes the attributes that `getinfo` has made, and a place for the answer.
    unsafe {
        let version = (*attr).api_version;
        let version = if version == 0 { info::VERSION } else { version };
        let fid = head(b::FI_CLASS_FABRIC, context, &OPS);
        let own = b::fid_fabric { fid, ops: table(&FABRIC_OPS), api_version: version };
        *fabric = FabricObject::give(own, Arc::new(Fabric { version }));
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

static FABRIC_OPS: b::fi_ops_fabric = b::fi_ops_fabric {
    size: size_of::<b::fi_ops_fabric>(),
    domain: Some(domain::open),
    passive_ep: Some(passive_ep),
    eq_open: Some(eq::open),
    wait_open: Some(wait_open),
    trywait: Some(trywait),
    domain2: Some(domain::open2),
};

unsafe extern "C" fn close(fid: *mut b::fid) -> c_int {
    // SAFETY: the host passes a fabric that it has opened.
    unsafe {
        if Arc::strong_count(&FabricObject::of(fid).own) > 1 {
            return Errno::BUSY.code();
        }
        drop(FabricObject::take(fid));
    }
    0
}

unsafe extern "C" fn passive_ep(
    _: *mut b::fid_fabric,
    _: *mut b::fi_info,
    _: *mut *mut b::fid_pep,
    _: *mut c_void,
) -> c_int {
    Errno::NOT_SUPPORTED.code()
}

unsafe extern "C" fn wait_open(
    _: *mut b::fid_fabric,
    _: *mut b::fi_wait_attr,
    _: *mut *mut b::fid_wait,
) -> c_int {
    Errno::NOT_SUPPORTED.code()
}

/// fi_poll(3): whether a thread may block in the descriptors of these, which are completion queues.
unsafe extern "C" fn trywait(_: *mut b::fid_fabric, fids: *mut *mut b::fid, count: c_int) -> c_int {
    for at in 0..usize::try_from(count).unwrap_or(0) {
        // SAFETY: the host passes `count` objects that it has opened.
        let result = unsafe {
            let fid = *fids.add(at);
            match (*fid).fclass as u32 {
                b::FI_CLASS_CQ => cq::may_block(&cq::CqObject::of(fid).own),
                _ => Err(Errno::INVALID),
            }
        };
        if let Err(error) = result {
            return error.code();
        }
    }
    0
}
