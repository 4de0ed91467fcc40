//! The functions, under the names by which the transport calls the library's.

use super::Newer;
use super::network::{Layer, Way};
use super::objects::{
    Bell, Buffer, Channel, Context, Extended, Handle, Pair, Queue, Receives, Ring, end, make, object, zero,
};
use super::world::{ADAPTERS, adapter_of, world};
use rdma_sys as sys;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::hint::black_box;
use std::mem::offset_of;
use std::ptr::{null_mut, without_provenance_mut};

const NAMES: [&CStr; ADAPTERS] = [
    c"fake0", c"fake1", c"fake2", c"fake3", c"fake4", c"fake5", c"fake6", c"fake7", c"fake8", c"fake9",
    c"fake10", c"fake11", c"fake12", c"fake13", c"fake14", c"fake15", c"fake16", c"fake17",
];
/// Work requests of a queue, at most.
const DEPTH_MAX: i32 = 1 << 14;
const COMPLETIONS_MAX: i32 = 1 << 16;
const EVENTS: usize = 64;
/// How the kernel answers what makes no sense.
pub(super) const REFUSED: c_int = libc::EINVAL;
/// How the library answers when there is no room.
pub(super) const FULL: c_int = libc::ENOMEM;

/// Refuses a call that returns an object.
fn refuse<T>() -> *mut T {
    // SAFETY: the C library has a word for each thread.
    unsafe { *libc::__errno_location() = REFUSED };
    null_mut()
}

/// A list of all adapters: a device is its number, counted from 1, in the shape of a pointer.
struct List([*mut sys::ibv_device; ADAPTERS]);

fn index(device: *mut sys::ibv_device) -> usize {
    device.addr() - 1
}

#[unsafe(no_mangle)]
extern "C" fn ibv_get_device_list(count: *mut c_int) -> *mut *mut sys::ibv_device {
    *object(count) = ADAPTERS as c_int;
    make(List(std::array::from_fn(|index| without_provenance_mut(index + 1)))).cast()
}

#[unsafe(no_mangle)]
extern "C" fn ibv_free_device_list(list: *mut *mut sys::ibv_device) {
    end::<List>(list);
}

#[unsafe(no_mangle)]
extern "C" fn ibv_get_device_name(device: *mut sys::ibv_device) -> *const c_char {
    NAMES[index(device)].as_ptr()
}

#[unsafe(no_mangle)]
extern "C" fn ibv_is_fork_initialized() -> sys::ibv_fork_status {
    sys::IBV_FORK_UNNEEDED
}

#[unsafe(no_mangle)]
extern "C" fn ibv_open_device(device: *mut sys::ibv_device) -> *mut sys::ibv_context {
    let mut base = zero::<sys::ibv_context>();
    let bell = Bell::new();
    base.device = device;
    base.async_fd = bell.fd();
    base.ops.post_send = Some(post_send);
    base.ops.post_recv = Some(post_recv);
    base.ops.post_srq_recv = Some(post_srq_recv);
    base.ops.poll_cq = Some(poll_cq);
    base.ops.req_notify_cq = Some(req_notify_cq);
    let adapter = index(device);
    let context = Context { base, adapter, events: Ring::new(EVENTS), bell, next: null_mut() };
    let extended = make(Extended { front: [0; _], context });
    let mut world = world();
    extend(extended.cast(), world.adapters[adapter].newer);
    // SAFETY: of what was made. It can be gone back from.
    let context = unsafe { &raw mut (*extended).context };
    world.opened(context);
    context.cast()
}

/// Makes the context one that says what newer versions of the library know.
fn extend(verbs: *mut sys::verbs_context, newer: Newer) {
    let verbs = object::<sys::verbs_context>(verbs);
    // What is in front of its size is not of it, and not to be looked at.
    verbs.query_device_ex = Some(query_device_ex);
    let size = size_of::<sys::verbs_context>();
    verbs.sz = match newer {
        Newer::Absent => return,
        Newer::Short => size - offset_of!(sys::verbs_context, query_device_ex) - 1,
        Newer::Paging(_) => size,
    };
    // As the library marks it.
    verbs.context.abi_compat = without_provenance_mut(usize::MAX);
}

extern "C" fn query_device_ex(
    context: *mut sys::ibv_context,
    _: *const sys::ibv_query_device_ex_input,
    attributes: *mut sys::ibv_device_attr_ex,
    size: usize,
) -> c_int {
    let Newer::Paging(operations) = world().adapters[adapter_of(context)].newer else {
        panic!("there is no such function");
    };
    assert!(size >= size_of::<sys::ibv_device_attr_ex>(), "there is room for the answer");
    let told = object::<sys::ibv_device_attr_ex>(attributes);
    *told = zero();
    told.odp_caps.general_caps = (operations != 0).into();
    told.odp_caps.per_transport_caps.rc_odp_caps = operations;
    0
}

#[unsafe(no_mangle)]
extern "C" fn ibv_close_device(context: *mut sys::ibv_context) -> c_int {
    world().closed(context.cast());
    end::<Extended>(context.wrapping_byte_sub(offset_of!(Extended, context)));
    0
}

/// The vendor that Soft-RoCE says it is from.
const SOFT_ROCE: u32 = 0xff_ffff;

#[unsafe(no_mangle)]
extern "C" fn ibv_query_device(
    context: *mut sys::ibv_context,
    attributes: *mut sys::ibv_device_attr,
) -> c_int {
    let mut told = zero::<sys::ibv_device_attr>();
    told.max_qp_wr = DEPTH_MAX;
    told.max_srq_wr = DEPTH_MAX;
    told.max_cqe = COMPLETIONS_MAX;
    told.max_qp_rd_atom = 16;
    told.max_qp_init_rd_atom = 16;
    let world = world();
    let state = &world.adapters[adapter_of(context)];
    told.phys_port_cnt = state.port_count as u8;
    told.vendor_id = if state.is_soft { SOFT_ROCE } else { 0 };
    told.atomic_cap = if state.lacks_atomics {
        sys::ibv_atomic_cap::IBV_ATOMIC_NONE
    } else {
        sys::ibv_atomic_cap::IBV_ATOMIC_HCA
    };
    *object(attributes) = told;
    0
}

#[unsafe(no_mangle)]
extern "C" fn ibv_query_port(context: *mut sys::ibv_context, number: u8, attributes: *mut c_void) -> c_int {
    let Some(place) = world().place(adapter_of(context), number) else { return REFUSED };
    // The prefix that the library's function of this name fills is all that is looked at.
    let told = object::<sys::ibv_port_attr>(attributes);
    use sys::ibv_port_state as state;
    told.state = if place.port.is_down { state::IBV_PORT_DOWN } else { state::IBV_PORT_ACTIVE };
    told.active_mtu = sys::ibv_mtu::IBV_MTU_4096;
    told.max_msg_sz = 1 << 30;
    told.lid = place.port.lid;
    told.link_layer = match place.port.layer {
        Layer::InfiniBand => 1,
        Layer::Ethernet => 2,
    };
    0
}

#[unsafe(no_mangle)]
extern "C" fn ibv_query_gid(
    context: *mut sys::ibv_context,
    number: u8,
    index: c_int,
    gid: *mut sys::ibv_gid,
) -> c_int {
    let place = world().place(adapter_of(context), number);
    let Some(raw) = place.zip(index.try_into().ok()).and_then(|(place, index)| place.gid(index)) else {
        return -1;
    };
    *object(gid) = sys::ibv_gid { raw };
    0
}

#[unsafe(no_mangle)]
extern "C" fn ibv_get_async_event(context: *mut sys::ibv_context, event: *mut sys::ibv_async_event) -> c_int {
    let bell = {
        let _world = world();
        object::<Context>(context).bell.share()
    };
    if !bell.hear() {
        return -1;
    }
    let _world = world();
    let told = object::<Context>(context).events.pop().expect("the bell was rung for it");
    let event = object::<sys::ibv_async_event>(event);
    event.event_type = told.kind;
    event.element = if told.pair.is_null() {
        sys::ibv_async_event_element_t { port_num: 1 }
    } else {
        sys::ibv_async_event_element_t { qp: told.pair }
    };
    // An acknowledgement says no more than which event it was.
    ACKNOWLEDGES.set(adapter_of(context));
    0
}

thread_local! {
    /// The adapter whose word this thread has taken last.
    static ACKNOWLEDGES: Cell<usize> = const { Cell::new(0) };
}

#[unsafe(no_mangle)]
extern "C" fn ibv_ack_async_event(_: *mut sys::ibv_async_event) {
    world().adapters[ACKNOWLEDGES.get()].unacknowledged -= 1;
}

#[unsafe(no_mangle)]
extern "C" fn ibv_alloc_pd(context: *mut sys::ibv_context) -> *mut sys::ibv_pd {
    make(sys::ibv_pd { context, handle: 0 })
}

#[unsafe(no_mangle)]
extern "C" fn ibv_dealloc_pd(domain: *mut sys::ibv_pd) -> c_int {
    end::<sys::ibv_pd>(domain);
    0
}

#[unsafe(no_mangle)]
extern "C" fn ibv_reg_mr(
    domain: *mut sys::ibv_pd,
    start: *mut c_void,
    len: usize,
    access: c_int,
) -> *mut sys::ibv_mr {
    let context = object::<sys::ibv_pd>(domain).context;
    let state = &mut world().adapters[adapter_of(context)];
    use sys::ibv_access_flags as may;
    let for_peers =
        may::IBV_ACCESS_REMOTE_READ.0 | may::IBV_ACCESS_REMOTE_WRITE.0 | may::IBV_ACCESS_REMOTE_ATOMIC.0;
    state.opened += u64::from(access as u32 & for_peers != 0);
    if access as u32 & may::IBV_ACCESS_ON_DEMAND.0 == 0 {
        state.registered.pinned += 1;
    } else if matches!(state.newer, Newer::Paging(_)) {
        state.registered.on_demand += 1;
    } else {
        return refuse();
    }
    // Its own operations find it by its address, as does this adapter.
    start.expose_provenance();
    let mut region = zero::<sys::ibv_mr>();
    region.context = context;
    (region.pd, region.addr, region.length, region.lkey, region.rkey) = (domain, start, len, 1, 1);
    make(region)
}

#[unsafe(no_mangle)]
extern "C" fn ibv_dereg_mr(region: *mut sys::ibv_mr) -> c_int {
    end::<sys::ibv_mr>(region);
    0
}

#[unsafe(no_mangle)]
extern "C" fn ibv_create_comp_channel(context: *mut sys::ibv_context) -> *mut sys::ibv_comp_channel {
    let bell = Bell::new();
    let base = sys::ibv_comp_channel { context, fd: bell.fd(), refcnt: 0 };
    make(Channel { base, bell, queue: null_mut() }).cast()
}

#[unsafe(no_mangle)]
extern "C" fn ibv_destroy_comp_channel(channel: *mut sys::ibv_comp_channel) -> c_int {
    end::<Channel>(channel);
    0
}

#[unsafe(no_mangle)]
extern "C" fn ibv_create_cq(
    context: *mut sys::ibv_context,
    capacity: c_int,
    _: *mut c_void,
    channel: *mut sys::ibv_comp_channel,
    _: c_int,
) -> *mut sys::ibv_cq {
    let mut base = zero::<sys::ibv_cq>();
    (base.context, base.channel) = (context, channel);
    let queue = make(Queue { base, done: Ring::new(capacity as usize), is_armed: false }).cast();
    object::<Channel>(channel).queue = queue;
    queue
}

#[unsafe(no_mangle)]
extern "C" fn ibv_destroy_cq(queue: *mut sys::ibv_cq) -> c_int {
    end::<Queue>(queue);
    0
}

#[unsafe(no_mangle)]
extern "C" fn ibv_get_cq_event(
    channel: *mut sys::ibv_comp_channel,
    queue: *mut *mut sys::ibv_cq,
    _: *mut *mut c_void,
) -> c_int {
    let bell = {
        let _world = world();
        let channel = object::<Channel>(channel);
        *object(queue) = channel.queue;
        channel.bell.share()
    };
    assert!(bell.hear(), "whoever asks waits");
    0
}

#[unsafe(no_mangle)]
extern "C" fn ibv_ack_cq_events(_: *mut sys::ibv_cq, _: c_uint) {}

#[unsafe(no_mangle)]
extern "C" fn ibv_create_srq(
    domain: *mut sys::ibv_pd,
    attributes: *mut sys::ibv_srq_init_attr,
) -> *mut sys::ibv_srq {
    let mut base = zero::<sys::ibv_srq>();
    (base.context, base.pd) = (object::<sys::ibv_pd>(domain).context, domain);
    let count = object::<sys::ibv_srq_init_attr>(attributes).attr.max_wr;
    make(Receives { base, posted: Ring::new(count as usize) }).cast()
}

#[unsafe(no_mangle)]
extern "C" fn ibv_destroy_srq(receives: *mut sys::ibv_srq) -> c_int {
    end::<Receives>(receives);
    0
}

#[unsafe(no_mangle)]
extern "C" fn ibv_create_qp(
    domain: *mut sys::ibv_pd,
    attributes: *mut sys::ibv_qp_init_attr,
) -> *mut sys::ibv_qp {
    let wanted = object::<sys::ibv_qp_init_attr>(attributes);
    let mut base = zero::<sys::ibv_qp>();
    (base.context, base.pd) = (object::<sys::ibv_pd>(domain).context, domain);
    let mut world = world();
    let adapter = &world.adapters[adapter_of(base.context)];
    let is_reliable = wanted.qp_type == sys::ibv_qp_type::IBV_QPT_RC;
    if wanted.cap.max_inline_data > adapter.inline_max || is_reliable && adapter.connects_nothing {
        return refuse();
    }
    (base.send_cq, base.recv_cq, base.srq) = (wanted.send_cq, wanted.recv_cq, wanted.srq);
    (base.qp_type, base.state) = (wanted.qp_type, sys::ibv_qp_state::IBV_QPS_RESET);
    let posted = Ring::new(wanted.cap.max_recv_wr as usize);
    let (depth, inline) = (wanted.cap.max_send_wr, wanted.cap.max_inline_data);
    let pair =
        make(Pair { base, posted, key: 0, peer: 0, way: None, port: 0, depth, inline, sent: 0, known: 0 });
    object::<Pair>(pair).base.qp_num = world.add(pair);
    pair.cast()
}

#[unsafe(no_mangle)]
extern "C" fn ibv_modify_qp(pair: *mut sys::ibv_qp, attributes: *mut sys::ibv_qp_attr, mask: c_int) -> c_int {
    use sys::ibv_qp_attr_mask as is;
    let mut world = world();
    let (pair, set) = (object::<Pair>(pair), object::<sys::ibv_qp_attr>(attributes));
    let has = |bit: sys::ibv_qp_attr_mask| mask as u32 & bit.0 != 0;
    let adapter = adapter_of(pair.base.context);
    use sys::ibv_qp_state as state;
    if pair.base.state == state::IBV_QPS_ERR
        && ![state::IBV_QPS_RESET, state::IBV_QPS_ERR].contains(&set.qp_state)
    {
        // Nothing else comes behind an error (InfiniBand, volume 1, 10.3.1).
        return REFUSED;
    }
    if has(is::IBV_QP_PORT) {
        pair.port = set.port_num;
    }
    if has(is::IBV_QP_AV) {
        let way = Way::new(&set.ah_attr);
        if !world.place(adapter, pair.port).is_some_and(|place| way.is_valid(&place)) {
            return REFUSED;
        }
        pair.way = Some(way);
        world.adapters[adapter].ways.connection = pair.way;
        world.adapters[adapter].levels |= 1 << pair.way.map_or(0, |way| way.service_level);
    }
    if has(is::IBV_QP_STATE) {
        pair.base.state = set.qp_state;
    }
    if has(is::IBV_QP_MAX_QP_RD_ATOMIC) {
        world.adapters[adapter].started = set.max_rd_atomic;
    }
    if has(is::IBV_QP_QKEY) {
        pair.key = set.qkey;
    }
    if has(is::IBV_QP_DEST_QPN) {
        pair.peer = set.dest_qp_num;
    }
    0
}

#[unsafe(no_mangle)]
extern "C" fn ibv_destroy_qp(pair: *mut sys::ibv_qp) -> c_int {
    let mut world = world();
    world.remove(object::<Pair>(pair).base.qp_num);
    end::<Pair>(pair);
    0
}

#[unsafe(no_mangle)]
extern "C" fn ibv_create_ah(domain: *mut sys::ibv_pd, attributes: *mut sys::ibv_ah_attr) -> *mut sys::ibv_ah {
    let context = object::<sys::ibv_pd>(domain).context;
    let (adapter, way) = (adapter_of(context), Way::new(object(attributes)));
    let mut world = world();
    if !world.place(adapter, way.port).is_some_and(|place| way.is_valid(&place)) {
        return refuse();
    }
    world.adapters[adapter].ways.datagram = Some(way);
    make(Handle { base: sys::ibv_ah { context, pd: domain, handle: 0 }, way }).cast()
}

#[unsafe(no_mangle)]
extern "C" fn ibv_destroy_ah(way: *mut sys::ibv_ah) -> c_int {
    end::<Handle>(way);
    0
}

extern "C" fn post_send(
    pair: *mut sys::ibv_qp,
    requests: *mut sys::ibv_send_wr,
    _: *mut *mut sys::ibv_send_wr,
) -> c_int {
    aside(|| world().post(pair, requests))
}

/// Puts receive buffers into a queue.
fn receive(posted: &mut Ring<Buffer>, mut next: *mut sys::ibv_recv_wr) -> c_int {
    while !next.is_null() {
        let request = object::<sys::ibv_recv_wr>(next);
        let piece = object::<sys::ibv_sge>(request.sg_list);
        let start = std::ptr::with_exposed_provenance_mut(piece.addr as usize);
        posted.push(Buffer { id: request.wr_id, start, len: piece.length as usize });
        next = request.next;
    }
    0
}

extern "C" fn post_recv(
    pair: *mut sys::ibv_qp,
    requests: *mut sys::ibv_recv_wr,
    _: *mut *mut sys::ibv_recv_wr,
) -> c_int {
    let _world = world();
    receive(&mut object::<Pair>(pair).posted, requests)
}

extern "C" fn post_srq_recv(
    receives: *mut sys::ibv_srq,
    requests: *mut sys::ibv_recv_wr,
    _: *mut *mut sys::ibv_recv_wr,
) -> c_int {
    aside(|| {
        let _world = world();
        receive(&mut object::<Receives>(receives).posted, requests)
    })
}

extern "C" fn poll_cq(queue: *mut sys::ibv_cq, room: c_int, into: *mut sys::ibv_wc) -> c_int {
    aside(|| {
        let mut world = world();
        let queue = object::<Queue>(queue);
        for count in 0..room {
            let Some(done) = queue.done.pop() else { return count };
            world.taken(&done);
            let mut told = zero::<sys::ibv_wc>();
            (told.wr_id, told.status) = (done.id, done.status);
            (told.byte_len, told.qp_num) = (done.len, done.pair);
            if let Some(number) = done.immediate {
                told.wc_flags = sys::ibv_wc_flags::IBV_WC_WITH_IMM.0;
                told.imm_data_invalidated_rkey_union.imm_data = number;
            }
            // SAFETY: there is room for as many as the caller says.
            unsafe { into.add(count as usize).write(told) };
        }
        room
    })
}

extern "C" fn req_notify_cq(queue: *mut sys::ibv_cq, _: c_int) -> c_int {
    let _world = world();
    object::<Queue>(queue).is_armed = true;
    0
}

thread_local! {
    static COUNTED: Cell<bool> = const { Cell::new(false) };
}

/// Does something, in which what this adapter does itself is [`uncounted`].
pub(crate) fn counted<T>(work: impl FnOnce() -> T) -> T {
    COUNTED.set(true);
    let made = work();
    COUNTED.set(false);
    made
}

/// By its name a counter of instructions knows that it shall not count: it is switched by each of the functions that it is
/// told, so this one may only be called where it counts.
#[inline(never)]
fn uncounted(work: impl FnOnce() -> c_int) -> c_int {
    // It must not end in a jump to the work, which would count as the end of this function.
    black_box(work())
}

fn aside(work: impl FnOnce() -> c_int) -> c_int {
    if COUNTED.get() { uncounted(work) } else { work() }
}
