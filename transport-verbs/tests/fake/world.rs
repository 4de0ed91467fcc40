//! What there is in this process of adapters and queue pairs, and what is done with what is posted.

use super::network::{FakePort, PORTS, Place, Way};
use super::objects::{Buffer, Channel, Context, Done, Handle, Pair, Queue, Receives, Told, object};
use super::symbols::{FULL, REFUSED};
use super::{Newer, Registered, Ways};
use rdma_sys as sys;
use std::ffi::c_int;
use std::hint::spin_loop;
use std::ptr::null_mut;
use std::sync::{Mutex, MutexGuard, TryLockError};

/// Adapters of this machine.
pub(super) const ADAPTERS: usize = 18;
/// Queue pairs that can be made in the life of a process; a number is not used again.
const PAIRS: usize = 1 << 14;
/// Messages that can be held.
const LATE: usize = 64;
/// What stands in front of a datagram: the header of the network.
const HEADER: usize = 40;

#[derive(Clone, Copy)]
pub(super) struct State {
    pub(super) doorbells: u64,
    ports: [FakePort; PORTS],
    pub(super) port_count: usize,
    /// What was asked for last.
    pub(super) ways: Ways,
    pub(super) newer: Newer,
    pub(super) registered: Registered,
    /// How often that was for peers, too.
    pub(super) opened: u64,
    /// What it takes for work requests of a connection: more is refused.
    pub(super) inline_max: u32,
    /// It makes no queue pairs for connections.
    pub(super) connects_nothing: bool,
    /// It has no atomics.
    pub(super) lacks_atomics: bool,
    /// It says that it is Soft-RoCE.
    pub(super) is_soft: bool,
    /// Atomics that were posted to its connections, and how many of them had a fence.
    pub(super) atomics: (u64, u64),
    /// Reads that were posted to its connections, and other requests with a fence.
    pub(super) reads: u64,
    pub(super) fences: u64,
    /// Reads and atomics that its connections start at a time, as the last one has asked for.
    pub(super) started: u8,
    /// By bits: those that its connections have asked for.
    pub(super) levels: u16,
    /// What it sends on this service level does not arrive yet.
    pub(super) held: Option<u8>,
    /// Completions of what is posted to its connections are held.
    pub(super) stalls: bool,
    /// Its cable is.
    pub(super) is_cut: bool,
    /// What was said, and not acknowledged.
    pub(super) unacknowledged: u64,
}

/// What something that is said is about.
#[derive(Clone, Copy, Debug)]
pub(super) enum Element {
    /// Its port, or nothing.
    FakePort,
    /// The queue pair of the adapter that was made last.
    LastPair,
}

/// A completion that is told later: which adapter has sent what has arrived.
#[derive(Clone, Copy)]
struct Late {
    sender: usize,
    queue: *mut sys::ibv_cq,
    done: Done,
}

pub(super) struct World {
    pub(super) adapters: [State; ADAPTERS],
    /// The devices that are open.
    contexts: *mut Context,
    /// By number.
    pairs: [*mut Pair; PAIRS],
    /// Completions of what is held.
    late: [Option<Late>; LATE],
    /// Those of what is posted to adapters that stall, in order.
    stalled: [Option<Late>; LATE],
    /// 0 and 1 are the numbers of queue pairs that every port has.
    made: usize,
}

// SAFETY: the objects that the pointers are of belong to no thread.
unsafe impl Send for World {}

/// The adapters, with one port each, in one subnet.
const fn states() -> [State; ADAPTERS] {
    const PREFIX: u64 = 0xfe << 56;
    const STATE: State = State {
        doorbells: 0,
        ports: [FakePort::infiniband(0, PREFIX); PORTS],
        port_count: 1,
        ways: Ways { connection: None, datagram: None },
        newer: Newer::Absent,
        registered: Registered { pinned: 0, on_demand: 0 },
        opened: 0,
        inline_max: u32::MAX,
        connects_nothing: false,
        lacks_atomics: false,
        is_soft: false,
        atomics: (0, 0),
        reads: 0,
        fences: 0,
        started: 0,
        levels: 0,
        held: None,
        stalls: false,
        is_cut: false,
        unacknowledged: 0,
    };
    let mut states = [STATE; ADAPTERS];
    let mut at = 0;
    while at < ADAPTERS {
        states[at].ports[0].lid = at as u16 + 1;
        at += 1;
    }
    states
}

static WORLD: Mutex<World> = Mutex::new(World {
    adapters: states(),
    contexts: null_mut(),
    pairs: [null_mut(); PAIRS],
    late: [None; LATE],
    stalled: [None; LATE],
    made: 1,
});

/// Everything, while nobody else looks at it. Makes no system call to wait for that, which a test could take for one of
/// the transport.
pub(super) fn world() -> MutexGuard<'static, World> {
    loop {
        match WORLD.try_lock() {
            Ok(world) => return world,
            Err(TryLockError::Poisoned(world)) => return world.into_inner(),
            Err(TryLockError::WouldBlock) => spin_loop(),
        }
    }
}

pub(super) fn adapter_of(context: *mut sys::ibv_context) -> usize {
    object::<Context>(context).adapter
}

impl World {
    pub(super) fn opened(&mut self, context: *mut Context) {
        object::<Context>(context).next = self.contexts;
        self.contexts = context;
    }

    pub(super) fn closed(&mut self, context: *mut Context) {
        let mut place = &mut self.contexts;
        while *place != context {
            place = &mut object::<Context>(*place).next;
        }
        let Context { next, adapter, events, .. } = object(context);
        *place = *next;
        // Nobody is going to acknowledge them.
        self.adapters[*adapter].unacknowledged -= events.len() as u64;
    }

    /// The number of a new queue pair.
    pub(super) fn add(&mut self, pair: *mut Pair) -> u32 {
        self.made += 1;
        self.pairs[self.made] = pair;
        self.made as u32
    }

    pub(super) fn remove(&mut self, number: u32) {
        self.pairs[number as usize] = null_mut();
    }

    fn pair(&self, number: u32) -> Option<&'static mut Pair> {
        let pair = *self.pairs.get(number as usize)?;
        (!pair.is_null()).then(|| object(pair))
    }

    /// Everybody who has opened an adapter hears it; if it is about a queue pair, whose that is.
    pub(super) fn tell(&mut self, adapter: usize, kind: sys::ibv_event_type, element: Element) {
        let is_its = |pair: &&mut Pair| adapter_of(pair.base.context) == adapter;
        let mut pair = match element {
            Element::FakePort => None,
            Element::LastPair => (0..=self.made as u32).rev().filter_map(|one| self.pair(one)).find(is_its),
        };
        let mut next = self.contexts;
        while !next.is_null() {
            let context = object::<Context>(next);
            let is_meant = match &pair {
                Some(pair) => pair.base.context == next.cast(),
                None => context.adapter == adapter,
            };
            if is_meant {
                let pair = pair.as_mut().map_or(null_mut(), |pair| &raw mut pair.base);
                context.events.push(Told { kind, pair });
                context.bell.ring();
                self.adapters[adapter].unacknowledged += 1;
            }
            next = context.next;
        }
    }

    /// A port, counted from 1.
    pub(super) fn place(&self, adapter: usize, number: u8) -> Option<Place> {
        let state = &self.adapters[adapter];
        let port = *state.ports[..state.port_count].get(usize::from(number).checked_sub(1)?)?;
        Some(Place { adapter, number, port })
    }

    /// Where a queue pair is, if something that is sent arrives there, or leaves it.
    fn place_of(&self, pair: &Pair) -> Option<Place> {
        let adapter = adapter_of(pair.base.context);
        let place = self.place(adapter, pair.port)?;
        (!place.port.is_down && !self.adapters[adapter].is_cut).then_some(place)
    }

    /// Whether what one queue pair sends this way arrives at another one.
    fn leads(&self, from: &Pair, way: &Way, to: &Pair) -> bool {
        let places = self.place_of(from).zip(self.place_of(to));
        places.is_some_and(|(from, to)| way.is_valid(&from) && way.leads(&from, &to))
    }

    /// Of two queue pairs that are connected, whether what one sends arrives at the other one.
    fn is_connected(&self, from: &Pair, to: &Pair) -> bool {
        from.way.is_some_and(|way| self.leads(from, &way, to))
    }

    pub(super) fn set_ports(&mut self, adapter: usize, ports: &[FakePort]) {
        let state = &mut self.adapters[adapter];
        state.ports[..ports.len()].copy_from_slice(ports);
        state.port_count = ports.len();
    }

    /// What an adapter sends on this service level is held from now on, and what was held arrives.
    pub(super) fn hold(&mut self, adapter: usize, level: Option<u8>) {
        self.adapters[adapter].held = level;
        for late in &mut self.late {
            if let Some(Late { queue, done, .. }) = late.take_if(|late| late.sender == adapter) {
                complete(queue, done);
            }
        }
    }

    /// Completions of what is posted to the connections of an adapter are held from now on, or those that were held come.
    pub(super) fn stall(&mut self, adapter: usize, stalls: bool) {
        self.adapters[adapter].stalls = stalls;
        if stalls {
            return;
        }
        for at in 0..LATE {
            let Some(Late { queue, mut done, .. }) = self.stalled[at].take_if(|late| late.sender == adapter)
            else {
                continue;
            };
            if self.pair(done.pair).is_none_or(|pair| pair.base.state == sys::ibv_qp_state::IBV_QPS_ERR) {
                done.status = sys::ibv_wc_status::IBV_WC_WR_FLUSH_ERR;
            }
            complete(queue, done);
        }
    }

    /// Its first port is down, or up.
    pub(super) fn set_down(&mut self, adapter: usize, is_down: bool) {
        self.adapters[adapter].ports[0].is_down = is_down;
    }

    /// Work requests of a queue pair, in order, up to the first that there is no room for, or that has more bytes to be
    /// copied into it than were asked for. Returns 0, or why that is not taken.
    pub(super) fn post(&mut self, pair: *mut sys::ibv_qp, mut next: *mut sys::ibv_send_wr) -> c_int {
        let pair = object::<Pair>(pair);
        if pair.base.qp_type == sys::ibv_qp_type::IBV_QPT_RC {
            self.adapters[adapter_of(pair.base.context)].doorbells += 1;
        }
        while !next.is_null() {
            if pair.sent - pair.known >= pair.depth {
                return FULL;
            }
            let request = object::<sys::ibv_send_wr>(next);
            let is_inline = request.send_flags & sys::ibv_send_flags::IBV_SEND_INLINE.0 != 0;
            if is_inline && bytes(request) > pair.inline {
                return REFUSED;
            }
            pair.sent += 1;
            self.carry_out(pair, request);
            next = request.next;
        }
        0
    }

    /// Somebody has taken a completion: what was posted by then is out of the queue.
    pub(super) fn taken(&mut self, done: &Done) {
        if let (Some(posted), Some(pair)) = (done.posted, self.pair(done.pair)) {
            pair.known = posted;
        }
    }

    fn carry_out(&mut self, pair: &mut Pair, request: &sys::ibv_send_wr) {
        use sys::ibv_wc_status as status;
        let status = if pair.base.state != sys::ibv_qp_state::IBV_QPS_RTS {
            status::IBV_WC_WR_FLUSH_ERR
        } else if pair.base.qp_type == sys::ibv_qp_type::IBV_QPT_UD {
            self.datagram(pair, request);
            status::IBV_WC_SUCCESS
        } else {
            self.message(pair, request).err().unwrap_or(status::IBV_WC_SUCCESS)
        };
        let is_good = status == status::IBV_WC_SUCCESS;
        if !is_good {
            pair.base.state = sys::ibv_qp_state::IBV_QPS_ERR;
        }
        if !is_good || request.send_flags & sys::ibv_send_flags::IBV_SEND_SIGNALED.0 != 0 {
            let is_reliable = pair.base.qp_type == sys::ibv_qp_type::IBV_QPT_RC;
            let (id, context, posted) = (request.wr_id, pair.base.context, Some(pair.sent));
            let (pair, queue) = (pair.base.qp_num, pair.base.send_cq);
            let done = Done { id, status, len: 0, immediate: None, pair, posted };
            let sender = adapter_of(context);
            if is_reliable && self.adapters[sender].stalls {
                let place = self.stalled.iter_mut().find(|late| late.is_none()).expect("so many can be held");
                *place = Some(Late { sender, queue, done });
            } else {
                complete(queue, done);
            }
        }
    }

    /// Over a connection: arrives, or fails.
    fn message(&mut self, pair: &Pair, request: &sys::ibv_send_wr) -> Result<(), sys::ibv_wc_status::Type> {
        use sys::ibv_wc_status as status;
        let peer = self.pair(pair.peer).filter(|peer| {
            let is_ready =
                matches!(peer.base.state, sys::ibv_qp_state::IBV_QPS_RTR | sys::ibv_qp_state::IBV_QPS_RTS);
            // What is not acknowledged is as good as lost.
            let is_reached = self.is_connected(pair, peer) && self.is_connected(peer, pair);
            is_ready && peer.peer == pair.base.qp_num && is_reached
        });
        let peer = peer.ok_or(status::IBV_WC_RETRY_EXC_ERR)?;
        let adapter = &mut self.adapters[adapter_of(pair.base.context)];
        adapter.fences += u64::from(request.send_flags & sys::ibv_send_flags::IBV_SEND_FENCE.0 != 0);
        match request.opcode {
            // It has no bytes: it does nothing but being acknowledged.
            sys::ibv_wr_opcode::IBV_WR_RDMA_WRITE if request.num_sge == 0 => Ok(()),
            sys::ibv_wr_opcode::IBV_WR_RDMA_READ => {
                adapter.reads += 1;
                read(request);
                Ok(())
            }
            sys::ibv_wr_opcode::IBV_WR_SEND_WITH_IMM => {
                let receives = object::<Receives>(peer.base.srq);
                let buffer = receives.posted.pop().ok_or(status::IBV_WC_RNR_RETRY_EXC_ERR)?;
                let len = gather(request, buffer, 0).ok_or(status::IBV_WC_REM_INV_REQ_ERR)?;
                // SAFETY: any bits are a number.
                let immediate = Some(unsafe { request.imm_data_invalidated_rkey_union.imm_data });
                let (status, number) = (status::IBV_WC_SUCCESS, peer.base.qp_num);
                let (queue, id) = (peer.base.recv_cq, buffer.id);
                let done = Done { id, status, len, immediate, pair: number, posted: None };
                let (sender, level) = (adapter_of(pair.base.context), pair.way.map(|way| way.service_level));
                if level.is_some() && level == self.adapters[sender].held {
                    let place =
                        self.late.iter_mut().find(|late| late.is_none()).expect("so many can be held");
                    *place = Some(Late { sender, queue, done });
                } else {
                    complete(queue, done);
                }
                Ok(())
            }
            sys::ibv_wr_opcode::IBV_WR_ATOMIC_FETCH_AND_ADD
            | sys::ibv_wr_opcode::IBV_WR_ATOMIC_CMP_AND_SWP => {
                let atomics = &mut self.adapters[adapter_of(pair.base.context)].atomics;
                atomics.0 += 1;
                atomics.1 += u64::from(request.send_flags & sys::ibv_send_flags::IBV_SEND_FENCE.0 != 0);
                atomic(request).ok_or(status::IBV_WC_REM_INV_REQ_ERR)
            }
            _ => Err(status::IBV_WC_REM_OP_ERR),
        }
    }

    /// Arrives, or is lost.
    fn datagram(&mut self, pair: &Pair, request: &sys::ibv_send_wr) {
        // SAFETY: what the queue pairs of datagrams are asked for is a datagram.
        let to = unsafe { request.wr.ud };
        let Some(peer) = self.pair(to.remote_qpn) else { return };
        if peer.key != to.remote_qkey || !self.leads(pair, &object::<Handle>(to.ah).way, peer) {
            return;
        }
        let Some(buffer) = peer.posted.pop() else { return };
        let status = sys::ibv_wc_status::IBV_WC_SUCCESS;
        let (id, pair) = (buffer.id, peer.base.qp_num);
        let len = gather(request, buffer, HEADER).expect("buffers for datagrams are as large as they may be");
        complete(peer.base.recv_cq, Done { id, status, len, immediate: None, pair, posted: None });
    }
}

/// Changes the word that a request names, and brings what was there. Nothing else is done meanwhile: the world is locked.
/// `None` if the word is not aligned.
fn atomic(request: &sys::ibv_send_wr) -> Option<()> {
    // SAFETY: what these requests have is an atomic.
    let atomic = unsafe { request.wr.atomic };
    if request.num_sge != 1 || !atomic.remote_addr.is_multiple_of(8) {
        return None;
    }
    // SAFETY: a request comes with as many pieces as it says.
    let piece = unsafe { &*request.sg_list };
    let word = std::ptr::with_exposed_provenance_mut::<u64>(atomic.remote_addr as usize);
    let result = std::ptr::with_exposed_provenance_mut::<u64>(piece.addr as usize);
    // SAFETY: the one that posts a request says that both are valid until its completion is taken; both are aligned.
    unsafe {
        let found = word.read();
        if request.opcode == sys::ibv_wr_opcode::IBV_WR_ATOMIC_FETCH_AND_ADD {
            word.write(found.wrapping_add(atomic.compare_add));
        } else if found == atomic.compare_add {
            word.write(atomic.swap);
        }
        result.write(found);
    }
    Some(())
}

/// Brings the bytes that a request names, if it names any.
fn read(request: &sys::ibv_send_wr) {
    // SAFETY: what reads have is an address and a key.
    let from = unsafe { request.wr.rdma.remote_addr };
    let from = std::ptr::with_exposed_provenance::<u8>(from as usize);
    if request.num_sge == 1 {
        // SAFETY: a request comes with as many pieces as it says.
        let piece = unsafe { &*request.sg_list };
        let into = std::ptr::with_exposed_provenance_mut::<u8>(piece.addr as usize);
        // SAFETY: the one that posts a request says that both are valid until its completion is taken.
        unsafe { into.copy_from(from, piece.length as usize) };
    }
}

/// How many bytes a request has.
fn bytes(request: &sys::ibv_send_wr) -> u32 {
    // SAFETY: a request comes with as many pieces as it says.
    (0..request.num_sge as usize).map(|at| unsafe { (*request.sg_list.add(at)).length }).sum()
}

/// Copies the bytes of a request to a buffer, behind `header` bytes. Returns how many there are then, if they fit.
fn gather(request: &sys::ibv_send_wr, buffer: Buffer, header: usize) -> Option<u32> {
    let mut len = header;
    for at in 0..request.num_sge as usize {
        // SAFETY: a request comes with as many pieces as it says.
        let piece = unsafe { &*request.sg_list.add(at) };
        let from = std::ptr::with_exposed_provenance::<u8>(piece.addr as usize);
        let count = piece.length as usize;
        if len + count > buffer.len {
            return None;
        }
        // SAFETY: the one that posts a request, or a buffer, says that it is of valid memory until its completion is taken,
        // and it fits.
        unsafe { buffer.start.add(len).copy_from_nonoverlapping(from, count) };
        len += count;
    }
    Some(len as u32)
}

fn complete(queue: *mut sys::ibv_cq, done: Done) {
    let queue = object::<Queue>(queue);
    queue.done.push(done);
    if std::mem::take(&mut queue.is_armed) {
        object::<Channel>(queue.base.channel).bell.ring();
    }
}
