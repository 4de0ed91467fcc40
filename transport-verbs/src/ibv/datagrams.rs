//! A datagram queue pair: for asking for connections.

use super::pair::attributes;
use super::{BounceBuffers, Completion, Completions, Device, checked, made};
use crate::{Access, Address, VerbsError};
use rdma_sys as sys;
use std::collections::BTreeMap;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::ptr::null_mut;
use std::sync::Arc;

/// The most bytes of a datagram: every path takes so many.
pub(crate) const LARGEST: usize = 256;
/// What stands in front of a datagram that was received: the header of the network, or nothing of meaning.
const HEADER: usize = 40;
/// Buffers for receiving: what comes when all are full is lost, and told again.
const RECEIVES: u32 = 256;
const SENDS: u32 = 64;
/// Completions that are taken at once.
const BATCH: usize = 16;
/// How often that is done before something else is.
const BATCHES: usize = 16;
/// The completion is one of a send.
const SENT: u64 = 1 << 32;

/// A queue pair that sends datagrams to those of peers.
#[derive(Debug)]
pub(crate) struct Datagrams {
    pair: *mut sys::ibv_qp,
    number: u32,
    key: u64,
    /// The ways to peers, which the adapter keeps while they are used.
    service_level: u8,
    ways: BTreeMap<(u16, [u8; 16]), AddressHandle>,
    completions: Completions,
    received: BounceBuffers,
    sent: BounceBuffers,
    /// BounceBuffers of `sent` that nothing is posted for.
    free: Vec<u32>,
    device: Arc<Device>,
}

// SAFETY: libibverbs is thread safe, and the pointers are only handed to it.
unsafe impl Send for Datagrams {}

#[derive(Debug)]
struct AddressHandle(*mut sys::ibv_ah);

impl Drop for AddressHandle {
    fn drop(&mut self) {
        // SAFETY: from `ibv_create_ah`, given back once; the queue pair that used it is gone or idle.
        unsafe { sys::ibv_destroy_ah(self.0) };
    }
}

/// The part of a key that an adapter looks at. Its upper bit is for the system's own.
fn adapter_key(key: u64) -> u32 {
    key as u32 & 0x7fff_ffff
}

impl Datagrams {
    /// A queue pair that takes what the lower half of `key` stands in, and sends at this service level.
    pub(crate) fn new(device: &Arc<Device>, key: u64, service_level: u8) -> Result<Self, VerbsError> {
        let completions = Completions::new(device, RECEIVES + SENDS)?;
        let received = BounceBuffers::new(device, RECEIVES, HEADER + LARGEST, Access::Receive)?;
        let sent = BounceBuffers::new(device, SENDS, LARGEST, Access::Own)?;
        let mut attributes = sys::ibv_qp_init_attr {
            qp_context: null_mut(),
            send_cq: completions.raw(),
            recv_cq: completions.raw(),
            srq: null_mut(),
            cap: sys::ibv_qp_cap {
                max_send_wr: SENDS,
                max_recv_wr: RECEIVES,
                max_send_sge: 1,
                max_recv_sge: 1,
                max_inline_data: 0,
            },
            qp_type: sys::ibv_qp_type::IBV_QPT_UD,
            sq_sig_all: 1,
        };
        // SAFETY: a live domain, live queues of the same device, and what the pair shall be.
        let pair = unsafe { sys::ibv_create_qp(device.domain(), &mut attributes) };
        let pair = made("a datagram queue", pair)?;
        let mut made = Self {
            pair,
            // SAFETY: a live pair, whose number does not change.
            number: unsafe { (*pair).qp_num },
            key,
            service_level,
            ways: BTreeMap::new(),
            completions,
            received,
            sent,
            free: (0..SENDS).collect(),
            device: Arc::clone(device),
        };
        made.start()?;
        for slot in 0..made.received.count() {
            made.receive(slot)?;
        }
        made.completions.arm()?;
        Ok(made)
    }

    fn start(&mut self) -> Result<(), VerbsError> {
        use sys::ibv_qp_attr_mask as is;
        use sys::ibv_qp_state as state;
        let states = [
            (state::IBV_QPS_INIT, is::IBV_QP_PKEY_INDEX.0 | is::IBV_QP_PORT.0 | is::IBV_QP_QKEY.0),
            (state::IBV_QPS_RTR, 0),
            (state::IBV_QPS_RTS, is::IBV_QP_SQ_PSN.0),
        ];
        for (state, more) in states {
            let mut attributes = attributes();
            let set = attributes.set();
            set.qp_state = state;
            set.port_num = self.device.port;
            set.qkey = adapter_key(self.key);
            let mask = is::IBV_QP_STATE.0 | more;
            // SAFETY: a live pair; the mask says which of the attributes are set.
            let result = unsafe { sys::ibv_modify_qp(self.pair, attributes.as_mut_ptr(), mask as i32) };
            checked("starting a datagram queue", result)?;
        }
        Ok(())
    }

    /// Where peers reach it.
    pub(crate) fn address(&self) -> Address {
        Address { lid: self.device.lid, gid: self.device.gid, queue: self.number, key: self.key }
    }

    fn receive(&mut self, slot: u32) -> Result<(), VerbsError> {
        let sge = self.received.sge(slot, HEADER + LARGEST);
        let mut piece = sys::ibv_sge { addr: sge.address, length: sge.len, lkey: sge.key };
        let mut request =
            sys::ibv_recv_wr { wr_id: u64::from(slot), next: null_mut(), sg_list: &mut piece, num_sge: 1 };
        let mut bad = null_mut();
        // SAFETY: a live pair; the slot is not looked at until its completion has been taken; the library reads the
        // request before it returns.
        let result = unsafe { sys::ibv_post_recv(self.pair, &mut request, &mut bad) };
        checked("posting a receive buffer for datagrams", result)
    }

    /// The way to a peer.
    fn way(&mut self, to: &Address) -> Result<*mut sys::ibv_ah, VerbsError> {
        let name = (to.lid, to.gid);
        if let Some(way) = self.ways.get(&name) {
            return Ok(way.0);
        }
        let mut attributes = self.device.way(to.lid, to.gid, self.service_level);
        // SAFETY: a live domain, and where the way leads.
        let way = unsafe { sys::ibv_create_ah(self.device.domain(), &mut attributes) };
        let way = made("a way to a peer", way)?;
        self.ways.insert(name, AddressHandle(way));
        Ok(way)
    }

    /// Sends a datagram. It may be lost; so may it be when there is no room, or the way cannot be found.
    pub(crate) fn send(&mut self, to: &Address, bytes: &[u8]) -> Result<(), VerbsError> {
        let way = self.way(to)?;
        let Some(slot) = self.free.pop() else { return Ok(()) };
        let len = bytes.len().min(LARGEST);
        self.sent.bytes_mut(slot, len).copy_from_slice(&bytes[..len]);
        let sge = self.sent.sge(slot, len);
        let mut piece = sys::ibv_sge { addr: sge.address, length: sge.len, lkey: sge.key };
        let ud = sys::ud_t { ah: way, remote_qpn: to.queue, remote_qkey: adapter_key(to.key) };
        let mut request = sys::ibv_send_wr {
            wr_id: SENT | u64::from(slot),
            next: null_mut(),
            sg_list: &mut piece,
            num_sge: 1,
            opcode: sys::ibv_wr_opcode::IBV_WR_SEND,
            send_flags: sys::ibv_send_flags::IBV_SEND_SIGNALED.0,
            imm_data_invalidated_rkey_union: sys::imm_data_invalidated_rkey_union_t { imm_data: 0 },
            wr: sys::wr_t { ud },
            qp_type: sys::qp_type_t { xrc: sys::xrc_t { remote_srqn: 0 } },
            bind_mw_tso_union: sys::bind_mw_tso_union_t {
                tso: sys::tso_t { hdr: null_mut(), hdr_sz: 0, mss: 0 },
            },
        };
        let mut bad = null_mut();
        // SAFETY: a live pair and a live way; the slot is not used again until its completion has been taken; the
        // library reads the request before it returns.
        let result = unsafe { sys::ibv_post_send(self.pair, &mut request, &mut bad) };
        checked("sending a datagram", result)
    }

    /// Hands what has been received to `handler`, and takes completions of sends, a bounded number of them: peers that send
    /// all the time must not keep others waiting. True if there may be more.
    pub(crate) fn take(&mut self, mut handler: impl FnMut(&[u8])) -> Result<bool, VerbsError> {
        for _ in 0..BATCHES {
            let mut room = [const { MaybeUninit::<Completion>::uninit() }; BATCH];
            let taken: Vec<(u64, bool, usize)> = {
                let completions = self.completions.poll(&mut room)?;
                completions.iter().map(|one| (one.id(), one.failure().is_none(), one.len())).collect()
            };
            if taken.is_empty() {
                return Ok(false);
            }
            for (id, good, len) in taken {
                let slot = (id & 0xffff_ffff) as u32;
                if id & SENT != 0 {
                    self.free.push(slot);
                    continue;
                }
                let mut bytes = [0; LARGEST];
                let len = len.saturating_sub(HEADER).min(LARGEST);
                bytes[..len].copy_from_slice(&self.received.bytes(slot, HEADER + len)[HEADER..]);
                self.receive(slot)?;
                if good {
                    handler(&bytes[..len]);
                }
            }
        }
        Ok(true)
    }

    /// Becomes readable when something may have been received.
    pub(crate) fn readable(&self) -> BorrowedFd<'_> {
        self.completions.readable()
    }

    /// Takes the notice that made it readable, and asks for the next. [`Datagrams::take`] has to follow.
    pub(crate) fn noticed(&self) -> Result<(), VerbsError> {
        self.completions.noticed()?;
        self.completions.arm()
    }
}

impl Drop for Datagrams {
    fn drop(&mut self) {
        // SAFETY: made by `new`, given back once, before the ways and queues that it uses.
        unsafe { sys::ibv_destroy_qp(self.pair) };
    }
}
