//! A queue pair: one end of a reliable connection.

use super::queues::ReceiveQueue;
use super::{BounceBuffers, Completions, Device, Sge, checked, made};
use crate::{Access, VerbsError};
use carrousel_transport::Memory;
use rdma_sys as sys;
use std::fmt;
use std::io;
use std::mem::MaybeUninit;
use std::sync::{Arc, OnceLock};

/// What a work request is to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// A packet, with a number.
    Send(u32),
    /// Into the peer's memory.
    Write { address: u64, key: u32 },
    /// From the peer's memory.
    Read { address: u64, key: u32 },
    /// Adds to 8 bytes of the peer's memory, and brings what was there.
    Add { address: u64, key: u32, add: u64 },
    /// Replaces 8 bytes of the peer's memory if they are as expected, and brings what was there.
    Swap { address: u64, key: u32, expected: u64, new: u64 },
}

/// Where the local bytes of a work request are.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Parts<'a> {
    /// Bytes of this process, copied while the request is posted.
    Inline([&'a [u8]; 2]),
    /// Registered memory; one piece or two.
    Keyed(&'a [Sge]),
}

/// A work request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Request<'a> {
    /// What its completion says.
    pub(crate) id: u64,
    pub(crate) operation: Operation,
    pub(crate) parts: Parts<'a>,
    /// Whether it has a completion even if it succeeds.
    pub(crate) signaled: bool,
    /// Whether it starts only when all earlier reads and atomics are complete.
    pub(crate) fenced: bool,
}

/// What both ends have to know of each other to be connected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ends {
    pub(crate) lid: u16,
    pub(crate) gid: [u8; 16],
    pub(crate) number: u32,
    /// The number of the first packet that it sends.
    pub(crate) first: u32,
    pub(crate) mtu: u8,
    /// Reads that it serves at a time.
    pub(crate) reads: u8,
    /// A word that the peer may read at any time, if the adapter has no fences; otherwise [`NO_WORD`].
    pub(crate) word: Memory,
}

/// The name of no word: no memory has this key.
pub(crate) const NO_WORD: Memory = Memory { address: 0, key: 0 };
/// Bytes of a word.
const WORD: usize = 8;

/// How a queue pair is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// Work requests outstanding at a time.
    pub(crate) depth: u32,
    /// Bytes that may be copied into a work request.
    pub(crate) inline: u32,
    pub(crate) service_level: u8,
    /// The exponent of the time until an acknowledgement is missed: 4.096 us x 2^timeout.
    pub(crate) timeout: u8,
    /// How often what is not acknowledged is sent again, at most 6: 7 means for ever in some drivers.
    pub(crate) retries: u8,
}

/// A queue pair.
pub(crate) struct QueuePair {
    pair: *mut sys::ibv_qp,
    number: u32,
    first: u32,
    shape: Shape,
    /// Of an adapter without fences: the word that the peer reads, into which this end reads that of the peer, too. What is
    /// in it nobody looks at. It goes when the queue pair is destroyed.
    word: Option<BounceBuffers>,
    peer_word: OnceLock<Memory>,
    device: Arc<Device>,
    #[expect(dead_code, reason = "they have to outlive the pair")]
    needs: (Arc<Completions>, Arc<ReceiveQueue>),
}

impl fmt::Debug for QueuePair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueuePair").field("number", &self.number).finish_non_exhaustive()
    }
}

// SAFETY: libibverbs is thread safe, and the pointer is only handed to it.
unsafe impl Send for QueuePair {}
// SAFETY: as above; adapters alone touch what is in the word.
unsafe impl Sync for QueuePair {}

/// Pieces of memory that one work request gathers.
const PIECES: usize = 2;

impl QueuePair {
    /// A queue pair that is connected to nothing. `first` is the number of the first packet that it will send.
    pub(crate) fn new(
        device: &Arc<Device>,
        completions: &Arc<Completions>,
        receives: &Arc<ReceiveQueue>,
        shape: Shape,
        first: u32,
    ) -> Result<Self, VerbsError> {
        let (pair, inline) = Self::make(device, completions, receives, shape)?;
        let shape = Shape { inline, ..shape };
        let mut made = Self {
            pair,
            // SAFETY: a live pair, whose number does not change.
            number: unsafe { (*pair).qp_num },
            first: first & 0xff_ffff,
            shape,
            word: None,
            peer_word: OnceLock::new(),
            device: Arc::clone(device),
            needs: (Arc::clone(completions), Arc::clone(receives)),
        };
        if !made.has_fences() {
            made.word = Some(BounceBuffers::new(device, 1, WORD, Access::Write)?);
        }
        made.prepare()?;
        Ok(made)
    }

    /// The object, and the bytes that may be copied into its work requests: those of the shape, or more, or less. How many
    /// can be, a device does not say; one that takes less than it is asked for may refuse the pair.
    fn make(
        device: &Device,
        completions: &Completions,
        receives: &ReceiveQueue,
        shape: Shape,
    ) -> Result<(*mut sys::ibv_qp, u32), VerbsError> {
        let mut inline = shape.inline;
        loop {
            let mut attributes = sys::ibv_qp_init_attr {
                qp_context: std::ptr::null_mut(),
                send_cq: completions.raw(),
                recv_cq: completions.raw(),
                srq: receives.raw(),
                cap: sys::ibv_qp_cap {
                    max_send_wr: shape.depth,
                    max_recv_wr: 0,
                    max_send_sge: PIECES as u32,
                    max_recv_sge: 0,
                    max_inline_data: inline,
                },
                qp_type: sys::ibv_qp_type::IBV_QPT_RC,
                sq_sig_all: 0,
            };
            // SAFETY: a live domain, live queues of the same device, and what the pair shall be.
            let pair = unsafe { sys::ibv_create_qp(device.domain(), &mut attributes) };
            match made("a queue pair", pair) {
                Ok(pair) => return Ok((pair, attributes.cap.max_inline_data)),
                Err(VerbsError::System { why, .. })
                    if why.kind() == io::ErrorKind::InvalidInput && inline > 0 =>
                {
                    inline /= 2;
                }
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// What the peer has to know of this end.
    pub(crate) fn ends(&self) -> Ends {
        let device = &self.device;
        let reads = device.limits.reads_served;
        Ends {
            lid: device.lid,
            gid: device.gid,
            number: self.number,
            first: self.first,
            mtu: device.mtu,
            reads,
            word: self.word.as_ref().map_or(NO_WORD, |word| word.remote(0)),
        }
    }

    pub(crate) fn has_fences(&self) -> bool {
        self.device.limits.fences
    }

    /// A read that stands for a fence, and where to, on an adapter that has none; see `Limits::fences`. An answer that is
    /// lost is asked for again, maybe behind a notice, by which the peer may have released what it had announced; the word
    /// stays. A peer whose adapter has fences has none. There nothing is read, for which no key is needed (InfiniBand,
    /// volume 1, C9-88): it is Soft-RoCE that looks for one when it is asked again.
    pub(crate) fn fence(&self) -> Option<(Operation, Sge)> {
        let word = self.word.as_ref()?;
        let Memory { address, key } = self.peer_word.get().copied().unwrap_or(NO_WORD);
        let len = if key == NO_WORD.key { 0 } else { WORD };
        Some((Operation::Read { address, key }, word.sge(0, len)))
    }

    /// Bytes that may be copied into a work request.
    #[inline]
    pub(crate) fn inline(&self) -> usize {
        self.shape.inline as usize
    }

    /// Work requests outstanding at a time.
    #[inline]
    pub(crate) fn depth(&self) -> usize {
        self.shape.depth as usize
    }

    fn modify(&self, what: &'static str, mut attributes: Attributes, mask: u32) -> Result<(), VerbsError> {
        // SAFETY: a live pair; the mask says which of the attributes are set.
        let result = unsafe { sys::ibv_modify_qp(self.pair, attributes.as_mut_ptr(), mask as i32) };
        checked(what, result)
    }

    fn prepare(&self) -> Result<(), VerbsError> {
        use sys::ibv_access_flags as may;
        use sys::ibv_qp_attr_mask as is;
        let mut attributes = attributes();
        let set = attributes.set();
        set.qp_state = sys::ibv_qp_state::IBV_QPS_INIT;
        set.pkey_index = 0;
        set.port_num = self.device.port;
        set.qp_access_flags = may::IBV_ACCESS_LOCAL_WRITE.0
            | may::IBV_ACCESS_REMOTE_WRITE.0
            | may::IBV_ACCESS_REMOTE_READ.0
            | self.device.atomic_access();
        let mask =
            is::IBV_QP_STATE.0 | is::IBV_QP_PKEY_INDEX.0 | is::IBV_QP_PORT.0 | is::IBV_QP_ACCESS_FLAGS.0;
        self.modify("preparing a queue pair", attributes, mask)
    }

    /// Connects it to a queue pair of a peer. It receives, and can send, from now on.
    pub(crate) fn connect(&self, peer: &Ends) -> Result<(), VerbsError> {
        use sys::ibv_qp_attr_mask as is;
        let limits = self.device.limits;
        // A queue pair is connected once.
        let _ = self.peer_word.set(peer.word);
        let mut ready = attributes();
        let set = ready.set();
        set.qp_state = sys::ibv_qp_state::IBV_QPS_RTR;
        set.path_mtu = u32::from(self.device.mtu.min(peer.mtu).clamp(1, 5));
        set.dest_qp_num = peer.number;
        set.rq_psn = peer.first & 0xff_ffff;
        set.max_dest_rd_atomic = limits.reads_served;
        // The time for which a sender leaves a receiver without buffers alone: 12 is 0.64 ms.
        set.min_rnr_timer = 12;
        set.ah_attr = self.device.way(peer.lid, peer.gid, self.shape.service_level);
        let receive = is::IBV_QP_STATE.0
            | is::IBV_QP_AV.0
            | is::IBV_QP_PATH_MTU.0
            | is::IBV_QP_DEST_QPN.0
            | is::IBV_QP_RQ_PSN.0
            | is::IBV_QP_MAX_DEST_RD_ATOMIC.0
            | is::IBV_QP_MIN_RNR_TIMER.0;
        self.modify("connecting a queue pair", ready, receive)?;
        let mut go = attributes();
        let set = go.set();
        set.qp_state = sys::ibv_qp_state::IBV_QPS_RTS;
        set.timeout = self.shape.timeout;
        set.retry_cnt = self.shape.retries.min(6);
        // 7 is for ever: a receiver that has no buffers lives, and gets some when it looks; one that does not
        // live does not answer that it has none.
        set.rnr_retry = 7;
        set.sq_psn = self.first;
        set.max_rd_atomic = limits.reads_started.min(peer.reads).max(1);
        let send = is::IBV_QP_STATE.0
            | is::IBV_QP_TIMEOUT.0
            | is::IBV_QP_RETRY_CNT.0
            | is::IBV_QP_RNR_RETRY.0
            | is::IBV_QP_SQ_PSN.0
            | is::IBV_QP_MAX_QP_RD_ATOMIC.0;
        self.modify("starting a queue pair", go, send)
    }

    /// Ends the connection: what is posted completes with an error, and nothing of the peer arrives any more.
    pub(crate) fn fail(&self) -> Result<(), VerbsError> {
        let mut attributes = attributes();
        attributes.set().qp_state = sys::ibv_qp_state::IBV_QPS_ERR;
        self.modify("ending a connection", attributes, sys::ibv_qp_attr_mask::IBV_QP_STATE.0)
    }

    /// Posts work requests, in order, with one doorbell.
    ///
    /// # Errors
    /// When the queue is full or the device fails; then none of them, or only the first ones, are posted.
    #[inline]
    pub(crate) fn post<const N: usize>(&self, requests: [Request<'_>; N]) -> Result<(), VerbsError> {
        let mut pieces = [[sys::ibv_sge { addr: 0, length: 0, lkey: 0 }; PIECES]; N];
        let mut chain = [const { MaybeUninit::<sys::ibv_send_wr>::uninit() }; N];
        let (pieces, first) = (pieces.as_mut_ptr(), chain.as_mut_ptr().cast::<sys::ibv_send_wr>());
        for (place, request) in requests.iter().enumerate() {
            // SAFETY: all of it is within the two arrays, `place` being less than N; the last request has no next.
            unsafe {
                let next = if place + 1 < N { first.add(place + 1) } else { std::ptr::null_mut() };
                let pieces = pieces.add(place).cast();
                first.add(place).write(work_request(request, pieces, next));
            }
        }
        let mut bad = std::ptr::null_mut();
        // SAFETY: a live pair; a chain of N initialised requests, whose pieces are either copied by this call (inline) or
        // checked by the adapter against their keys; the library reads chain and pieces before it returns.
        let result = unsafe { sys::ibv_post_send(self.pair, first, &mut bad) };
        checked("posting a work request", result)
    }
}

/// The request as the library wants it; its pieces are written to `pieces`.
///
/// # Safety
///
/// There is room for [`PIECES`] pieces.
#[inline]
unsafe fn work_request(
    request: &Request<'_>,
    pieces: *mut sys::ibv_sge,
    next: *mut sys::ibv_send_wr,
) -> sys::ibv_send_wr {
    use sys::ibv_send_flags as flags;
    use sys::ibv_wr_opcode as opcode;
    let mut count = 0;
    let mut add = |addr: u64, length: u32, lkey: u32| {
        if length > 0 && count < PIECES {
            // SAFETY: there is room for so many, says the caller.
            unsafe { pieces.add(count).write(sys::ibv_sge { addr, length, lkey }) };
            count += 1;
        }
    };
    let mut send_flags = 0;
    match request.parts {
        Parts::Inline(parts) => {
            send_flags |= flags::IBV_SEND_INLINE.0;
            for part in parts {
                add(part.as_ptr().addr() as u64, part.len() as u32, 0);
            }
        }
        Parts::Keyed(keyed) => {
            for sge in keyed {
                add(sge.address, sge.len, sge.key);
            }
        }
    }
    if request.signaled {
        send_flags |= flags::IBV_SEND_SIGNALED.0;
    }
    if request.fenced {
        send_flags |= flags::IBV_SEND_FENCE.0;
    }
    let rdma = |remote_addr, rkey| sys::wr_t { rdma: sys::rdma_t { remote_addr, rkey } };
    let mut number = 0;
    let (opcode, wr) = match request.operation {
        Operation::Send(immediate) => {
            number = immediate;
            (opcode::IBV_WR_SEND_WITH_IMM, rdma(0, 0))
        }
        Operation::Write { address, key } => (opcode::IBV_WR_RDMA_WRITE, rdma(address, key)),
        Operation::Read { address, key } => (opcode::IBV_WR_RDMA_READ, rdma(address, key)),
        Operation::Add { address, key, add } => (
            opcode::IBV_WR_ATOMIC_FETCH_AND_ADD,
            sys::wr_t {
                atomic: sys::atomic_t { remote_addr: address, compare_add: add, swap: 0, rkey: key },
            },
        ),
        Operation::Swap { address, key, expected, new } => (
            opcode::IBV_WR_ATOMIC_CMP_AND_SWP,
            sys::wr_t {
                atomic: sys::atomic_t { remote_addr: address, compare_add: expected, swap: new, rkey: key },
            },
        ),
    };
    sys::ibv_send_wr {
        wr_id: request.id,
        next,
        sg_list: pieces,
        num_sge: count as i32,
        opcode,
        send_flags,
        imm_data_invalidated_rkey_union: sys::imm_data_invalidated_rkey_union_t { imm_data: number.to_be() },
        wr,
        qp_type: sys::qp_type_t { xrc: sys::xrc_t { remote_srqn: 0 } },
        bind_mw_tso_union: sys::bind_mw_tso_union_t {
            tso: sys::tso_t { hdr: std::ptr::null_mut(), hdr_sz: 0, mss: 0 },
        },
    }
}

/// What is to be changed of a queue pair; all zero to begin with.
pub(super) struct Attributes(MaybeUninit<sys::ibv_qp_attr>);

pub(super) fn attributes() -> Attributes {
    Attributes(MaybeUninit::zeroed())
}

impl Attributes {
    pub(super) fn set(&mut self) -> &mut sys::ibv_qp_attr {
        // SAFETY: numbers and unions of numbers, of which zero is a value.
        unsafe { self.0.assume_init_mut() }
    }

    pub(super) fn as_mut_ptr(&mut self) -> *mut sys::ibv_qp_attr {
        self.0.as_mut_ptr()
    }
}

impl Drop for QueuePair {
    fn drop(&mut self) {
        // SAFETY: made by `new`, given back once; what it needs lives until the fields are dropped, after this.
        unsafe { sys::ibv_destroy_qp(self.pair) };
    }
}
