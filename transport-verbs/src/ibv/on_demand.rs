//! Whether an adapter can fault pages in, so that a registration follows what the process maps.
//!
//! Only the extended context of a device can say it. `ibv_query_device_ex` of rdma-sys 0.3 asks there never: its
//! `verbs_get_ctx` expects 32 bits, `u32::MAX`, where the library sets all 64 bits of a pointer. So it takes every context
//! for one without an extension, and its answer is that of `ibv_query_device`, in which all that is newer is zero.

use rdma_sys as sys;
use std::mem::{MaybeUninit, offset_of};

/// What is needed of reliable connections: what is registered this way is sent, written, and read, at either end.
/// Receive buffers are pinned.
const NEEDED: u32 = {
    use sys::ibv_odp_transport_cap_bits as is;
    is::IBV_ODP_SUPPORT_SEND.0 | is::IBV_ODP_SUPPORT_WRITE.0 | is::IBV_ODP_SUPPORT_READ.0
};

// What verbs.h says of its structure ("Must be last field in the struct", "Must be immediately before struct ibv_context")
// holds as it is seen here; `extended` relies on it.
const _: () = {
    let context = offset_of!(sys::verbs_context, context);
    assert!(context + size_of::<sys::ibv_context>() == size_of::<sys::verbs_context>());
    assert!(offset_of!(sys::verbs_context, sz) + size_of::<usize>() == context);
};

/// Whether reliable connections of a device can use memory whose pages are faulted in.
///
/// # Safety
///
/// The device is open.
pub(super) unsafe fn has_on_demand(context: *mut sys::ibv_context) -> bool {
    // SAFETY: an open device.
    let Some(query) = (unsafe { query(context) }) else { return false };
    let mut attributes = MaybeUninit::<sys::ibv_device_attr_ex>::zeroed();
    // SAFETY: an open device, no question beside the usual, and memory for so many bytes of answer.
    let result = unsafe {
        query(context, std::ptr::null(), attributes.as_mut_ptr(), size_of::<sys::ibv_device_attr_ex>())
    };
    // SAFETY: filled by the call as far as the library knows it, and valid when zero.
    let caps = unsafe { attributes.assume_init() }.odp_caps;
    let is_there = caps.general_caps & u64::from(sys::ibv_odp_general_caps::IBV_ODP_SUPPORT.0) != 0;
    result == 0 && is_there && caps.per_transport_caps.rc_odp_caps & NEEDED == NEEDED
}

type Query = unsafe extern "C" fn(
    *mut sys::ibv_context,
    *const sys::ibv_query_device_ex_input,
    *mut sys::ibv_device_attr_ex,
    usize,
) -> i32;

/// The function that asks for what is newer, if there is one: `verbs_get_ctx_op` of rdma-core's verbs.h.
///
/// # Safety
///
/// The device is open.
unsafe fn query(context: *mut sys::ibv_context) -> Option<Query> {
    /// Bytes from the function to the end of the structure. It grows at its beginning, so this does not change.
    const TO_END: usize = size_of::<sys::verbs_context>() - offset_of!(sys::verbs_context, query_device_ex);
    // SAFETY: an open device.
    let extended = unsafe { extended(context) }?;
    // SAFETY: every extended context has a size, right before the context.
    let size = unsafe { (&raw const (*extended).sz).read() };
    if size < TO_END {
        return None;
    }
    // SAFETY: the extended context begins early enough to have this member. No reference is made to the whole, as an older
    // library may have less of it than this program knows.
    unsafe { (&raw const (*extended).query_device_ex).read() }
}

/// What the context is a part of, if the library says that it is one: `verbs_get_ctx` of rdma-core's verbs.h. Of that
/// structure is there what its size says, counted from its end.
///
/// # Safety
///
/// The device is open.
unsafe fn extended(context: *mut sys::ibv_context) -> Option<*mut sys::verbs_context> {
    /// `__VERBS_ABI_IS_EXTENDED`.
    const IS_EXTENDED: usize = usize::MAX;
    // SAFETY: an open device.
    let mark = unsafe { (&raw const (*context).abi_compat).read() };
    // Its address may lie before what there is of it.
    (mark.addr() == IS_EXTENDED)
        .then(|| context.wrapping_byte_sub(offset_of!(sys::verbs_context, context)).cast())
}
