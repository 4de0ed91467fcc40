//! Address vectors (fi_av(3)).

#![allow(unsafe_code, reason = "the border to libfabric")]

use crate::bindings as b;
use crate::fi::{self, Errno, NO_ADDRESS};
use crate::object::{Object, head, table};
use crate::parts::{DomainObject, Part};
use crate::refused::{no_control, no_ops_open};
use crate::state::{ADDRESS_BYTES, Av, address_bytes, text};
use std::ffi::{c_char, c_int, c_void};

/// The host has room for an error of each insertion.
const SYNC_ERR: u64 = b::FI_SYNC_ERR;

/// An address vector that a host holds.
pub(crate) type AvObject = Object<b::fid_av, Part>;

pub(crate) unsafe extern "C" fn open(
    domain: *mut b::fid_domain,
    attr: *mut b::fi_av_attr,
    av: *mut *mut b::fid_av,
    context: *mut c_void,
) -> c_int {
    // SAFETY: the host passes a domain, attributes, and a place for the answer.
    unsafe {
        let Some(attr) = attr.as_mut() else { return Errno::INVALID.code() };
        // Vectors are of a process: none is shared by name. Scalable endpoints, which need bits, there are none.
        if !attr.name.is_null() || attr.rx_ctx_bits != 0 || attr.flags & !fi::EVENT != 0 {
            return Errno::NOT_SUPPORTED.code();
        }
        if attr.type_ == b::FI_AV_UNSPEC {
            attr.type_ = b::FI_AV_TABLE;
        }
        let domain = DomainObject::of(domain).own.clone();
        let at = domain.state.with(|state| state.avs.insert(Av::default()));
        let fid = head(b::FI_CLASS_AV, context, &OPS);
        *av = AvObject::give(b::fid_av { fid, ops: table(&AV_OPS) }, Part { domain, at });
    }
    0
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

static AV_OPS: b::fi_ops_av = b::fi_ops_av {
    size: size_of::<b::fi_ops_av>(),
    insert: Some(insert),
    insertsvc: Some(insertsvc),
    insertsym: Some(insertsym),
    remove: Some(remove),
    lookup: Some(lookup),
    straddr: Some(straddr),
    av_set: Some(av_set),
    insert_auth_key: None,
    lookup_auth_key: None,
    set_user_id: None,
};

unsafe extern "C" fn close(fid: *mut b::fid) -> c_int {
    // SAFETY: the host passes an address vector that it has opened.
    unsafe {
        let part = &AvObject::of(fid).own;
        let busy = part.with(|state, at| {
            let busy = state.avs.get(at).is_some_and(|av| av.users > 0);
            if !busy {
                state.avs.remove(at);
            }
            busy
        });
        if busy {
            return Errno::BUSY.code();
        }
        drop(AvObject::take(fid));
    }
    0
}

/// An event queue may be bound; insertions are over when they return, and make no events.
unsafe extern "C" fn bind(_: *mut b::fid, bound: *mut b::fid, _: u64) -> c_int {
    // SAFETY: the host passes an object.
    match unsafe { (*bound).fclass } as u32 {
        b::FI_CLASS_EQ => 0,
        _ => Errno::INVALID.code(),
    }
}

unsafe extern "C" fn insert(
    av: *mut b::fid_av,
    addresses: *const c_void,
    count: usize,
    positions: *mut b::fi_addr_t,
    flags: u64,
    errors: *mut c_void,
) -> c_int {
    if flags & !(fi::MORE | SYNC_ERR) != 0 {
        return Errno::FLAGS.code();
    }
    // SAFETY: the host passes `count` addresses, each of the length of all, and room for their positions, or none; with
    // FI_SYNC_ERR, room for an error of each.
    unsafe {
        let addresses = addresses.cast::<[u8; ADDRESS_BYTES]>();
        let mut inserted = 0;
        AvObject::of(av).own.with(|state, at| {
            let Some(av) = state.avs.get_mut(at) else { return };
            for index in 0..count {
                let position = av.insert(&*addresses.add(index));
                inserted += c_int::from(position.is_some());
                if !positions.is_null() {
                    *positions.add(index) = position.unwrap_or(NO_ADDRESS);
                }
                if flags & SYNC_ERR != 0 {
                    let error = if position.is_some() { 0 } else { Errno::INVALID.0 };
                    *errors.cast::<c_int>().add(index) = error;
                }
            }
        });
        inserted
    }
}

unsafe extern "C" fn insertsvc(
    _: *mut b::fid_av,
    _: *const c_char,
    _: *const c_char,
    _: *mut b::fi_addr_t,
    _: u64,
    _: *mut c_void,
) -> c_int {
    Errno::NOT_SUPPORTED.code()
}

unsafe extern "C" fn insertsym(
    _: *mut b::fid_av,
    _: *const c_char,
    _: usize,
    _: *const c_char,
    _: usize,
    _: *mut b::fi_addr_t,
    _: u64,
    _: *mut c_void,
) -> c_int {
    Errno::NOT_SUPPORTED.code()
}

unsafe extern "C" fn remove(
    av: *mut b::fid_av,
    positions: *mut b::fi_addr_t,
    count: usize,
    flags: u64,
) -> c_int {
    if flags != 0 {
        return Errno::FLAGS.code();
    }
    // SAFETY: the host passes an address vector, and `count` positions.
    let (part, positions) = unsafe {
        let positions = if count == 0 { &[] } else { std::slice::from_raw_parts(positions, count) };
        (&AvObject::of(av).own, positions)
    };
    let all = part.with(|state, at| {
        let Some(av) = state.avs.get_mut(at) else { return false };
        // All of them, also behind one that is none.
        positions.iter().filter(|position| !av.remove(**position)).count() == 0
    });
    if all { 0 } else { Errno::INVALID.code() }
}

unsafe extern "C" fn lookup(
    av: *mut b::fid_av,
    position: b::fi_addr_t,
    address: *mut c_void,
    len: *mut usize,
) -> c_int {
    // SAFETY: the host passes room of `*len` bytes.
    unsafe {
        let found = AvObject::of(av).own.with(|state, at| {
            let text = state.avs.get(at)?.address(position)?;
            address_bytes(text)
        });
        let Some(bytes) = found else { return Errno::INVALID.code() };
        give_address(&bytes, address, len);
    }
    0
}

/// Copies as much of an address as there is room for, and says how long it is.
///
/// # Safety
/// There is room for `*len` bytes.
pub(crate) unsafe fn give_address(bytes: &[u8; ADDRESS_BYTES], room: *mut c_void, len: *mut usize) -> bool {
    // SAFETY: as the caller promises.
    unsafe {
        let fits = *len >= ADDRESS_BYTES;
        std::ptr::copy_nonoverlapping(bytes.as_ptr(), room.cast(), ADDRESS_BYTES.min(*len));
        *len = ADDRESS_BYTES;
        fits
    }
}

unsafe extern "C" fn straddr(
    _: *mut b::fid_av,
    address: *const c_void,
    buffer: *mut c_char,
    len: *mut usize,
) -> *const c_char {
    // SAFETY: the host passes an address, and room of `*len` bytes.
    unsafe {
        let text = text(&*address.cast()).unwrap_or_else(|| "no address of carrousel".to_owned());
        let room = *len;
        *len = text.len() + 1;
        if room > 0 {
            let copied = text.len().min(room - 1);
            std::ptr::copy_nonoverlapping(text.as_ptr(), buffer.cast(), copied);
            *buffer.add(copied) = 0;
        }
        buffer
    }
}

unsafe extern "C" fn av_set(
    _: *mut b::fid_av,
    _: *mut b::fi_av_set_attr,
    _: *mut *mut b::fid_av_set,
    _: *mut c_void,
) -> c_int {
    Errno::NOT_SUPPORTED.code()
}
