//! Memory regions (fi_mr(3)). Nothing is registered with an adapter: a region is what peers may name.

#![allow(unsafe_code, reason = "the border to libfabric")]

use crate::bindings as b;
use crate::cntr::CntrObject;
use crate::fi::{self, Errno};
use crate::object::{Object, head};
use crate::parts::{Domain, DomainObject, Part};
use crate::refused::no_ops_open;
use crate::state::Mr;
use std::ffi::{c_int, c_void};
use std::sync::Arc;

/// A region that a host holds; its position is its key.
type MrObject = Object<b::fid_mr, Part>;

/// The old word for addresses, and keys of ours (`FI_MR_BASIC`).
const BASIC: i32 = 1;

pub(crate) static MR_OPS: b::fi_ops_mr = b::fi_ops_mr {
    size: size_of::<b::fi_ops_mr>(),
    reg: Some(reg),
    regv: Some(regv),
    regattr: Some(regattr),
};

static OPS: b::fi_ops = b::fi_ops {
    size: size_of::<b::fi_ops>(),
    close: Some(close),
    bind: Some(bind),
    control: Some(control),
    ops_open: Some(no_ops_open),
    tostr: None,
    ops_set: None,
};

/// A registration that is asked for.
struct Wanted {
    start: usize,
    len: usize,
    access: u64,
    offset: u64,
    key: u64,
    context: *mut c_void,
}

/// # Safety
/// The domain is one that the host has opened, and there is a place for the answer.
unsafe fn register(domain: *mut b::fid, wanted: &Wanted, mr: *mut *mut b::fid_mr) -> c_int {
    // SAFETY: as the caller promises.
    let domain: Arc<Domain> = unsafe {
        if (*domain).fclass as u32 != b::FI_CLASS_DOMAIN {
            return Errno::INVALID.code();
        }
        DomainObject::of(domain).own.clone()
    };
    let is = |bit: u32| domain.mr_mode == BASIC || domain.mr_mode & bit as i32 != 0;
    let base = if is(b::FI_MR_VIRT_ADDR) { wanted.start as u64 } else { wanted.offset };
    let key = (!is(b::FI_MR_PROV_KEY)).then_some(wanted.key);
    let region = Mr { start: wanted.start, len: wanted.len, base, access: wanted.access, cntr: None };
    let key = match domain.state.with(|state| state.shared.mrs.insert(region, key)) {
        Ok(key) => key,
        Err(error) => return error.code(),
    };
    let fid = head(b::FI_CLASS_MR, wanted.context, &OPS);
    let fid = b::fid_mr { fid, mem_desc: std::ptr::null_mut(), key };
    // SAFETY: as the caller promises.
    unsafe { *mr = MrObject::give(fid, Part { domain, at: key as usize }) };
    0
}

/// Flags of a registration that change nothing here.
const FLAGS: u64 = fi::RMA_EVENT;

unsafe extern "C" fn reg(
    domain: *mut b::fid,
    buffer: *const c_void,
    len: usize,
    access: u64,
    offset: u64,
    key: u64,
    flags: u64,
    mr: *mut *mut b::fid_mr,
    context: *mut c_void,
) -> c_int {
    if flags & !FLAGS != 0 {
        return Errno::FLAGS.code();
    }
    let wanted = Wanted { start: buffer.addr(), len, access, offset, key, context };
    // SAFETY: the host passes a domain, and a place for the answer.
    unsafe { register(domain, &wanted, mr) }
}

unsafe extern "C" fn regv(
    domain: *mut b::fid,
    iov: *const b::iovec,
    count: usize,
    access: u64,
    offset: u64,
    key: u64,
    flags: u64,
    mr: *mut *mut b::fid_mr,
    context: *mut c_void,
) -> c_int {
    if count != 1 {
        return Errno::INVALID.code();
    }
    // SAFETY: as the host's promises of this call.
    unsafe { reg(domain, (*iov).iov_base, (*iov).iov_len, access, offset, key, flags, mr, context) }
}

unsafe extern "C" fn regattr(
    domain: *mut b::fid,
    attr: *const b::fi_mr_attr,
    flags: u64,
    mr: *mut *mut b::fid_mr,
) -> c_int {
    // SAFETY: the host passes attributes: of these fields, all versions have those that are read.
    unsafe {
        let attr = &raw const *attr;
        let (iov, count, access) = ((*attr).__bindgen_anon_1.mr_iov, (*attr).iov_count, (*attr).access);
        let (offset, key, context) = ((*attr).offset, (*attr).requested_key, (*attr).context);
        regv(domain, iov, count, access, offset, key, flags, mr, context)
    }
}

unsafe extern "C" fn close(fid: *mut b::fid) -> c_int {
    // SAFETY: the host passes a region that it has registered.
    unsafe {
        MrObject::of(fid).own.with(|state, key| {
            let region = state.shared.mrs.remove(key as u64);
            if let Some(cntr) =
                region.and_then(|mr| mr.cntr).and_then(|cntr| state.shared.cntrs.get_mut(cntr))
            {
                cntr.users -= 1;
            }
        });
        drop(MrObject::take(fid));
    }
    0
}

/// A counter of what peers do in the region, or an endpoint, to which no region is tied here.
unsafe extern "C" fn bind(fid: *mut b::fid, bound: *mut b::fid, flags: u64) -> c_int {
    // SAFETY: the host passes a region and another object.
    unsafe {
        match (*bound).fclass as u32 {
            b::FI_CLASS_EP => 0,
            b::FI_CLASS_CNTR if flags & !(fi::REMOTE_WRITE | fi::REMOTE_READ) == 0 => {
                let cntr = CntrObject::of(bound).own.at;
                MrObject::of(fid).own.with(|state, key| {
                    let shared = &mut state.shared;
                    if let (Some(mr), Some(counter)) =
                        (shared.mrs.get_mut(key as u64), shared.cntrs.get_mut(cntr))
                        && mr.cntr.replace(cntr).is_none()
                    {
                        counter.users += 1;
                    }
                });
                0
            }
            _ => Errno::INVALID.code(),
        }
    }
}

unsafe extern "C" fn control(_: *mut b::fid, command: c_int, _: *mut c_void) -> c_int {
    // A region is open from the beginning, and its pages may change at any time.
    match command as u32 {
        b::FI_ENABLE | b::FI_REFRESH => 0,
        _ => Errno::NOT_SUPPORTED.code(),
    }
}
