//! What the provider offers (fi_getinfo(3)), and which hints it cannot satisfy.

#![allow(unsafe_code, reason = "reads and makes structures of libfabric's")]

use crate::bindings as b;
use crate::fi::{self, Errno, version};
use crate::state::{ADDRESS_BYTES, ANY_ADDRESS, PIECES_MAX};
use crate::tell::log;
use std::ffi::{CStr, c_char};
use std::ptr;

/// The name of the provider, of its fabric and of its domain.
pub(crate) const NAME: &CStr = c"carrousel";
/// The least version of the interface that a host may ask for.
pub(crate) const VERSION_MIN: u32 = version(1, 5);
/// The version of the interface that the provider is made for.
pub(crate) const VERSION: u32 = version(2, 5);

/// Numbers of a provider's own have this bit (`FI_PROV_SPECIFIC`).
const OWN: u32 = 1 << 31;
/// The number of our addresses' format: text, filled up with zeros.
const ADDRESS_FORMAT: u32 = OWN | 0xca;
/// The number of our protocol.
const PROTOCOL: u32 = OWN | 0xca;

/// What an endpoint can start.
const TRANSMIT_CAPS: u64 = fi::SEND | fi::READ | fi::WRITE;
/// What others can start at an endpoint.
const RECEIVE_CAPS: u64 = fi::RECV | fi::REMOTE_READ | fi::REMOTE_WRITE;
/// The interfaces.
const PRIMARY: u64 = fi::MSG | fi::TAGGED | fi::RMA | fi::ATOMIC;
/// What a receiver can have beside.
const RECEIVE_EXTRA: u64 = fi::MULTI_RECV
    | fi::DIRECTED_RECV
    | fi::TAGGED_DIRECTED_RECV
    | fi::SOURCE
    | fi::RMA_EVENT
    | fi::REMOTE_CQ_DATA;
/// Which peers there can be.
const WHERE: u64 = fi::LOCAL_COMM | fi::REMOTE_COMM;
const CAPS: u64 = PRIMARY | TRANSMIT_CAPS | RECEIVE_CAPS | RECEIVE_EXTRA | WHERE;
/// What is offered to those only that ask for it: this one is no capability, but a flag that hosts put among them.
const ASKED_ONLY: u64 = fi::REMOTE_CQ_DATA;
/// What versions before 2.0 do not know.
const SINCE_2_0: u64 = fi::TAGGED_DIRECTED_RECV;
/// The flags of operations that start something.
const TRANSMIT_FLAGS: u64 = fi::COMPLETION
    | fi::INJECT
    | fi::INJECT_COMPLETE
    | fi::TRANSMIT_COMPLETE
    | fi::DELIVERY_COMPLETE
    | fi::MATCH_COMPLETE
    | fi::FENCE
    | fi::MORE
    | fi::REMOTE_CQ_DATA;
/// The flags of receives.
const RECEIVE_FLAGS: u64 = fi::COMPLETION | fi::MULTI_RECV | fi::MORE;
/// Messages overtake none of the same pair; one-sided operations of a pair are carried out in the order of their calls, as
/// far as their data fits a packet (`max_order_*_size`).
const ORDER: u64 = fi::ORDER_SAS
    | fi::ORDER_RAR
    | fi::ORDER_RAW
    | fi::ORDER_WAR
    | fi::ORDER_WAW
    | fi::ORDER_RMA_RAR
    | fi::ORDER_RMA_RAW
    | fi::ORDER_RMA_WAR
    | fi::ORDER_RMA_WAW
    | fi::ORDER_ATOMIC_RAR
    | fi::ORDER_ATOMIC_RAW
    | fi::ORDER_ATOMIC_WAR
    | fi::ORDER_ATOMIC_WAW;
/// The ways of registering memory that a host may use: peers name places by address or offset, keys are the host's or ours.
const MR_MODE: i32 = (b::FI_MR_VIRT_ADDR | b::FI_MR_PROV_KEY) as i32;
/// That of hosts before 1.5, and of those that use the old word: addresses, and keys of ours.
const MR_BASIC: i32 = 1;
/// That of hosts which use the other old word: offsets, and keys of the host's.
const MR_SCALABLE: i32 = 2;
/// The largest message.
const MESSAGE_BYTES: usize = isize::MAX as usize;
/// How many of anything; there is no table that would be full.
const MANY: usize = 1 << 16;

/// The bytes of a message that can be sent by a copy, if this many are sent eagerly.
pub(crate) fn inject_bytes(eager_threshold: u64) -> usize {
    (eager_threshold as usize).min(crate::state::PAYLOAD_BYTES)
}

/// The field of the hints that cannot be satisfied, if there is one.
type Checked = Result<(), &'static str>;

fn check(satisfied: bool, field: &'static str) -> Checked {
    if satisfied { Ok(()) } else { Err(field) }
}

/// The bits of `wanted` that are not among `offered`.
fn beyond(wanted: u64, offered: u64) -> bool {
    wanted & !offered != 0
}

/// A structure that hints may have.
///
/// # Safety
/// The pointer is null, or of such a structure, of which all that is read is there.
unsafe fn given<'a, T>(pointer: *const T) -> Option<&'a T> {
    // SAFETY: as the caller promises.
    unsafe { pointer.as_ref() }
}

/// Whether a name is ours, or none.
///
/// # Safety
/// The pointer is null, or of a string.
unsafe fn is_ours(name: *const c_char) -> bool {
    // SAFETY: as the caller promises.
    name.is_null() || unsafe { CStr::from_ptr(name) } == NAME
}

/// Checks hints: the fields that all versions have since [`VERSION_MIN`].
///
/// # Safety
/// The hints are a structure of libfabric's of such a version.
unsafe fn check_hints(hints: &b::fi_info, inject_bytes: usize) -> Checked {
    check(!beyond(hints.caps, CAPS), "caps")?;
    check(matches!(hints.addr_format, b::FI_FORMAT_UNSPEC | ADDRESS_FORMAT), "addr_format")?;
    check(hints.src_addr.is_null() || hints.src_addrlen == ADDRESS_BYTES, "src_addrlen")?;
    check(hints.dest_addr.is_null() || hints.dest_addrlen == ADDRESS_BYTES, "dest_addrlen")?;
    // SAFETY: as the caller promises, for all of these.
    unsafe {
        if let Some(transmit) = given(hints.tx_attr) {
            check(!beyond(transmit.caps, PRIMARY | TRANSMIT_CAPS | RECEIVE_EXTRA | WHERE), "tx_attr->caps")?;
            check(!beyond(transmit.op_flags, TRANSMIT_FLAGS), "tx_attr->op_flags")?;
            check(!beyond(transmit.msg_order, ORDER), "tx_attr->msg_order")?;
            check(transmit.comp_order == 0, "tx_attr->comp_order")?;
            check(transmit.inject_size <= inject_bytes, "tx_attr->inject_size")?;
            check(transmit.size <= MANY, "tx_attr->size")?;
            check(transmit.iov_limit <= PIECES_MAX, "tx_attr->iov_limit")?;
            check(transmit.rma_iov_limit <= 1, "tx_attr->rma_iov_limit")?;
        }
        if let Some(receive) = given(hints.rx_attr) {
            check(!beyond(receive.caps, PRIMARY | RECEIVE_CAPS | RECEIVE_EXTRA | WHERE), "rx_attr->caps")?;
            check(!beyond(receive.op_flags, RECEIVE_FLAGS), "rx_attr->op_flags")?;
            check(!beyond(receive.msg_order, ORDER), "rx_attr->msg_order")?;
            check(receive.comp_order == 0, "rx_attr->comp_order")?;
            check(receive.total_buffered_recv == 0, "rx_attr->total_buffered_recv")?;
            check(receive.size <= MANY, "rx_attr->size")?;
            check(receive.iov_limit <= PIECES_MAX, "rx_attr->iov_limit")?;
        }
        if let Some(endpoint) = given(hints.ep_attr) {
            check(matches!(endpoint.type_, b::FI_EP_UNSPEC | b::FI_EP_RDM), "ep_attr->type")?;
            check(matches!(endpoint.protocol, b::FI_PROTO_UNSPEC | PROTOCOL), "ep_attr->protocol")?;
            check(endpoint.max_msg_size <= MESSAGE_BYTES, "ep_attr->max_msg_size")?;
            check(endpoint.msg_prefix_size == 0, "ep_attr->msg_prefix_size")?;
            let most = crate::state::PAYLOAD_BYTES;
            check(endpoint.max_order_raw_size <= most, "ep_attr->max_order_raw_size")?;
            check(endpoint.max_order_war_size <= most, "ep_attr->max_order_war_size")?;
            check(endpoint.max_order_waw_size <= most, "ep_attr->max_order_waw_size")?;
            check(endpoint.tx_ctx_cnt <= 1, "ep_attr->tx_ctx_cnt")?;
            check(endpoint.rx_ctx_cnt <= 1, "ep_attr->rx_ctx_cnt")?;
            check(endpoint.auth_key_size == 0, "ep_attr->auth_key_size")?;
        }
        if let Some(domain) = given(hints.domain_attr) {
            let is_auto = |progress| matches!(progress, b::FI_PROGRESS_AUTO);
            check(is_ours(domain.name), "domain_attr->name")?;
            check(!is_auto(domain.control_progress), "domain_attr->control_progress (FI_PROGRESS_AUTO)")?;
            check(
                !is_auto(domain.__bindgen_anon_1.data_progress),
                "domain_attr->data_progress (FI_PROGRESS_AUTO)",
            )?;
            check(domain.mr_key_size <= size_of::<u64>(), "domain_attr->mr_key_size")?;
            check(domain.cq_data_size <= size_of::<u64>(), "domain_attr->cq_data_size")?;
            check(!beyond(domain.caps, WHERE), "domain_attr->caps")?;
            check(domain.auth_key_size == 0, "domain_attr->auth_key_size")?;
            check(domain.cq_cnt <= MANY, "domain_attr->cq_cnt")?;
            check(domain.ep_cnt <= MANY, "domain_attr->ep_cnt")?;
            check(domain.tx_ctx_cnt <= MANY, "domain_attr->tx_ctx_cnt")?;
            check(domain.rx_ctx_cnt <= MANY, "domain_attr->rx_ctx_cnt")?;
            check(domain.max_ep_tx_ctx <= 1, "domain_attr->max_ep_tx_ctx")?;
            check(domain.max_ep_rx_ctx <= 1, "domain_attr->max_ep_rx_ctx")?;
            check(domain.max_ep_stx_ctx == 0, "domain_attr->max_ep_stx_ctx")?;
            check(domain.max_ep_srx_ctx == 0, "domain_attr->max_ep_srx_ctx")?;
            check(domain.mr_iov_limit <= 1, "domain_attr->mr_iov_limit")?;
        }
        if let Some(fabric) = given(hints.fabric_attr) {
            check(is_ours(fabric.name), "fabric_attr->name")?;
        }
    }
    Ok(())
}

/// The capabilities for a host of this version that wants these; all, for one that says nothing.
fn granted(asked: u32, wanted: u64) -> u64 {
    if wanted == 0 {
        let unknown = if asked < version(2, 0) { SINCE_2_0 } else { 0 };
        return CAPS & !(ASKED_ONLY | unknown);
    }
    // Which directions a host needs it may leave open.
    let mut caps = wanted | WHERE;
    if caps & (fi::MSG | fi::TAGGED) != 0 && caps & (fi::SEND | fi::RECV) == 0 {
        caps |= fi::SEND | fi::RECV;
    }
    let one_sided = fi::READ | fi::WRITE | fi::REMOTE_READ | fi::REMOTE_WRITE;
    if caps & (fi::RMA | fi::ATOMIC) != 0 && caps & one_sided == 0 {
        caps |= one_sided;
    }
    caps
}

/// The way of registering memory for a host that takes any of `wanted`.
fn mr_mode(wanted: Option<i32>) -> i32 {
    match wanted {
        Some(word @ (MR_BASIC | MR_SCALABLE)) => word,
        Some(wanted) => wanted & MR_MODE,
        None => MR_MODE,
    }
}

/// Memory for a structure, which the host frees as its own (`fi_freeinfo`). Zeros follow it: a later version of libfabric,
/// whose structures have grown, copies more.
///
/// # Safety
/// Zeros are a value of the type.
unsafe fn zeroed<T>() -> Result<*mut T, Errno> {
    const SPARE: usize = 256;
    // SAFETY: any size is allowed.
    let memory = unsafe { libc::calloc(1, size_of::<T>() + SPARE) };
    if memory.is_null() { Err(Errno::NO_MEMORY) } else { Ok(memory.cast()) }
}

/// A copy of bytes that the host frees.
///
/// # Safety
/// The bytes are valid.
unsafe fn copied<T>(from: *const T, bytes: usize) -> *mut T {
    // SAFETY: any size is allowed; the copy is as long as what it is of.
    unsafe {
        let memory = libc::malloc(bytes);
        if !memory.is_null() {
            libc::memcpy(memory, from.cast(), bytes);
        }
        memory.cast()
    }
}

/// fi_getinfo(3).
pub(crate) unsafe extern "C" fn getinfo(
    asked: u32,
    node: *const c_char,
    service: *const c_char,
    flags: u64,
    hints: *const b::fi_info,
    info: *mut *mut b::fi_info,
) -> i32 {
    if asked < VERSION_MIN {
        return Errno::NOT_SUPPORTED.code();
    }
    // Names of hosts are not addresses of endpoints. A service by itself may be the endpoint's own (`FI_SOURCE`): then it is
    // a port, and the address that the endpoint gets has none.
    let is_own_port = node.is_null() && flags & fi::SOURCE != 0;
    if !node.is_null() || !service.is_null() && !is_own_port {
        return Errno::NO_DATA.code();
    }
    let settings = match crate::settings::read() {
        Ok(settings) => settings,
        Err(error) => return error.code(),
    };
    let inject_bytes = inject_bytes(settings.protocol().eager_threshold);
    // SAFETY: libfabric passes hints of the host's version, or none, and a place for the answer.
    unsafe {
        let hints = given(hints);
        if let Some(hints) = hints
            && let Err(field) = check_hints(hints, inject_bytes)
        {
            log(|| {
                format!(
                    "nothing is offered to this host: its hint `{field}` asks for more than `fi_info -v -p carrousel` shows"
                )
            });
            return Errno::NO_DATA.code();
        }
        match offer(asked, hints, inject_bytes) {
            Ok(offered) => {
                *info = offered;
                0
            }
            Err(error) => error.code(),
        }
    }
}

/// What is offered to a host of this version with these hints, which can be satisfied.
///
/// # Safety
/// As [`check_hints`].
unsafe fn offer(
    asked: u32,
    hints: Option<&b::fi_info>,
    inject_bytes: usize,
) -> Result<*mut b::fi_info, Errno> {
    // SAFETY: zeros are a value of all of these; hints are as the caller promises. If memory ends in between, what was
    // allocated is not freed: the process is about to end.
    unsafe {
        let info: *mut b::fi_info = zeroed()?;
        let caps = granted(asked, hints.map_or(0, |hints| hints.caps));
        let transmit: *mut b::fi_tx_attr = zeroed()?;
        let receive: *mut b::fi_rx_attr = zeroed()?;
        let endpoint: *mut b::fi_ep_attr = zeroed()?;
        let domain: *mut b::fi_domain_attr = zeroed()?;
        let fabric: *mut b::fi_fabric_attr = zeroed()?;
        let wanted_transmit = hints.and_then(|hints| given(hints.tx_attr));
        let wanted_receive = hints.and_then(|hints| given(hints.rx_attr));
        let wanted_endpoint = hints.and_then(|hints| given(hints.ep_attr));
        let wanted_domain = hints.and_then(|hints| given(hints.domain_attr));
        {
            let transmit = &mut *transmit;
            let place = wanted_transmit.map_or(0, |wanted| wanted.caps & WHERE);
            transmit.caps = caps & (PRIMARY | TRANSMIT_CAPS) | place;
            transmit.op_flags = wanted_transmit.map_or(0, |wanted| wanted.op_flags);
            transmit.msg_order = ORDER;
            transmit.inject_size = inject_bytes;
            transmit.size = MANY;
            transmit.iov_limit = PIECES_MAX;
            transmit.rma_iov_limit = 1;
        }
        {
            let receive = &mut *receive;
            let place = wanted_receive.map_or(0, |wanted| wanted.caps & WHERE);
            receive.caps = caps & (PRIMARY | RECEIVE_CAPS | RECEIVE_EXTRA) | place;
            receive.op_flags = wanted_receive.map_or(0, |wanted| wanted.op_flags);
            receive.msg_order = ORDER;
            receive.size = MANY;
            receive.iov_limit = PIECES_MAX;
        }
        {
            let endpoint = &mut *endpoint;
            endpoint.type_ = b::FI_EP_RDM;
            endpoint.protocol = PROTOCOL;
            endpoint.protocol_version = 1;
            endpoint.max_msg_size = MESSAGE_BYTES;
            endpoint.max_order_raw_size = crate::state::PAYLOAD_BYTES;
            endpoint.max_order_war_size = crate::state::PAYLOAD_BYTES;
            endpoint.max_order_waw_size = crate::state::PAYLOAD_BYTES;
            let format = wanted_endpoint.map_or(0, |wanted| wanted.mem_tag_format);
            // All 64 bits of a tag are the host's (`FI_TAG_GENERIC`).
            endpoint.mem_tag_format = if format == 0 { u64::MAX } else { format };
            endpoint.tx_ctx_cnt = 1;
            endpoint.rx_ctx_cnt = 1;
        }
        {
            let domain = &mut *domain;
            domain.name = libc::strdup(NAME.as_ptr());
            domain.threading = match wanted_domain.map(|wanted| wanted.threading) {
                None | Some(b::FI_THREAD_UNSPEC) => b::FI_THREAD_SAFE,
                Some(wanted) => wanted,
            };
            domain.control_progress = b::FI_PROGRESS_MANUAL;
            domain.__bindgen_anon_1.data_progress = b::FI_PROGRESS_MANUAL;
            domain.resource_mgmt = b::FI_RM_ENABLED;
            domain.av_type = match wanted_domain.map(|wanted| wanted.av_type) {
                None | Some(b::FI_AV_UNSPEC) => b::FI_AV_TABLE,
                Some(wanted) => wanted,
            };
            domain.mr_mode = mr_mode(wanted_domain.map(|wanted| wanted.mr_mode));
            domain.mr_key_size = size_of::<u64>();
            domain.cq_data_size = size_of::<u64>();
            for count in [&mut domain.cq_cnt, &mut domain.ep_cnt, &mut domain.cntr_cnt, &mut domain.mr_cnt] {
                *count = MANY;
            }
            domain.tx_ctx_cnt = MANY;
            domain.rx_ctx_cnt = MANY;
            domain.max_ep_tx_ctx = 1;
            domain.max_ep_rx_ctx = 1;
            domain.mr_iov_limit = 1;
            domain.caps = WHERE;
            domain.max_cntr_value = u64::MAX;
            domain.max_err_cntr_value = u64::MAX;
        }
        (*fabric).name = libc::strdup(NAME.as_ptr());
        let info = &mut *info;
        info.caps = caps;
        info.addr_format = ADDRESS_FORMAT;
        let source = hints.map_or(ptr::null_mut(), |hints| hints.src_addr);
        let source = if source.is_null() { (&raw const ANY_ADDRESS).cast() } else { source.cast_const() };
        info.src_addr = copied(source, ADDRESS_BYTES);
        info.src_addrlen = ADDRESS_BYTES;
        if let Some(hints) = hints
            && !hints.dest_addr.is_null()
        {
            info.dest_addr = copied(hints.dest_addr, ADDRESS_BYTES);
            info.dest_addrlen = ADDRESS_BYTES;
        }
        info.tx_attr = transmit;
        info.rx_attr = receive;
        info.ep_attr = endpoint;
        info.domain_attr = domain;
        info.fabric_attr = fabric;
        Ok(info)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_that_cannot_be_satisfied_is_named() {
        // SAFETY: zeros are a value of both.
        let (mut hints, mut domain): (b::fi_info, b::fi_domain_attr) = unsafe { std::mem::zeroed() };
        domain.__bindgen_anon_1.data_progress = b::FI_PROGRESS_AUTO;
        // SAFETY: it has no other structures, and then that one.
        assert_eq!(unsafe { check_hints(&hints, 0) }, Ok(()));
        hints.domain_attr = &raw mut domain;
        // SAFETY: as above.
        let checked = unsafe { check_hints(&hints, 0) };
        assert_eq!(checked, Err("domain_attr->data_progress (FI_PROGRESS_AUTO)"));
    }
}
