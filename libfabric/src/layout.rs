//! libfabric's structures, as far as they are read (`rdma/fabric.h`): all versions since 1.5 begin so.

use std::ffi::{c_char, c_int, c_void};

/// `struct fi_info`.
#[repr(C)]
pub(crate) struct Info {
    pub(crate) next: *mut Info,
    pub(crate) caps: u64,
    mode: u64,
    address_format: u32,
    source_len: usize,
    destination_len: usize,
    source: *mut c_void,
    destination: *mut c_void,
    handle: *mut c_void,
    transmit: *mut c_void,
    receive: *mut c_void,
    pub(crate) endpoint: *mut EndpointAttributes,
    domain: *mut c_void,
    pub(crate) fabric: *mut FabricAttributes,
}

/// The beginning of `struct fi_ep_attr`.
#[repr(C)]
pub(crate) struct EndpointAttributes {
    pub(crate) kind: c_int,
}

/// The beginning of `struct fi_fabric_attr`.
#[repr(C)]
pub(crate) struct FabricAttributes {
    fabric: *mut c_void,
    name: *mut c_char,
    pub(crate) provider: *const c_char,
}

/// The beginning of `struct fi_provider`; before `name` is `struct fi_context`, of four pointers.
#[repr(C)]
pub(crate) struct ProviderDescription {
    pub(crate) version: u32,
    pub(crate) interface: u32,
    context: [*mut c_void; 4],
    pub(crate) name: *const c_char,
}

/// `FI_EP_RDM`.
pub(crate) const RELIABLE_DATAGRAMS: c_int = 3;
/// `FI_MSG | FI_TAGGED`.
pub(crate) const MESSAGES: u64 = 1 << 1 | 1 << 3;

/// `fi_version`.
pub(crate) type VersionOf = unsafe extern "C" fn() -> u32;
/// `fi_dupinfo`, which makes an empty one of none.
pub(crate) type DuplicateInfo = unsafe extern "C" fn(*const Info) -> *mut Info;
/// `fi_getinfo`.
pub(crate) type GetInfo =
    unsafe extern "C" fn(u32, *const c_char, *const c_char, u64, *const Info, *mut *mut Info) -> c_int;
/// `fi_prov_ini`.
pub(crate) type ProviderOf = unsafe extern "C" fn() -> *const ProviderDescription;
