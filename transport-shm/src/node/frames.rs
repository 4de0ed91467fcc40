//! The frames of a ring: packets, and, where memory cannot be copied directly, fragments of messages.

use crate::Frame;
use carrousel_transport::{Context, Handle, Memory, Payload};
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A packet as `carrousel_transport::wire` has it, and the data of an EAGER: of one with 8 bytes beside them.
pub(super) const PACKET: u32 = 1;
/// An EAGER without 8 bytes beside its own, in the lower half of the frame's tag. Most frames are EAGERs, so the head is only a word, the message's tag;
/// the upper half of the frame's tag is the communicator, and the rest of the frame is the data.
pub(super) const EAGER: u32 = 4;

/// The tag of the frame of an EAGER.
#[inline]
pub(super) const fn eager(context: Context) -> u32 {
    EAGER | (context.0 as u32) << 16
}

/// The communicator of an EAGER, if the frame is one.
#[inline]
pub(super) const fn eager_context(frame: u32) -> Option<Context> {
    if frame as u16 as u32 == EAGER { Some(Context((frame >> 16) as u16)) } else { None }
}

/// A [`Fragment`], and its bytes.
pub(super) const FRAGMENT: u32 = 2;
/// A [`GetRequest`].
pub(super) const GET_REQUEST: u32 = 3;
/// A [`HelpRequest`].
pub(super) const HELP_REQUEST: u32 = 5;

/// A [`Memory`], as bytes.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct WireMemory {
    address: U64,
    key: U32,
}

impl From<Memory> for WireMemory {
    fn from(memory: Memory) -> Self {
        Self { address: memory.address.into(), key: memory.key.into() }
    }
}

impl From<WireMemory> for Memory {
    fn from(memory: WireMemory) -> Self {
        Self { address: memory.address.get(), key: memory.key.get() }
    }
}

/// The head of a fragment of a message: the destination in the memory of the process that receives it.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Fragment {
    into: WireMemory,
    /// 1 if it completes a read.
    last: U32,
    index: U32,
    generation: U32,
}

impl Fragment {
    /// The head of a fragment of a write or a read; `read` is the read that is complete with it.
    pub(super) fn new(into: Memory, read: Option<Handle>) -> Self {
        let (index, generation) = read.map_or((0, 0), |read| (read.index, read.generation));
        let last = u32::from(read.is_some());
        Self { into: into.into(), last: last.into(), index: index.into(), generation: generation.into() }
    }

    pub(super) fn target(&self) -> Memory {
        self.into.into()
    }

    /// The read that is complete with this fragment.
    pub(super) fn read(&self) -> Option<Handle> {
        let handle = Handle { index: self.index.get(), generation: self.generation.get() };
        (self.last.get() != 0).then_some(handle)
    }
}

/// The source, the destination, and the number of bytes.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct Transfer {
    from: WireMemory,
    into: WireMemory,
    len: U64,
}

impl Transfer {
    pub(super) fn new(from: Memory, into: Memory, len: u64) -> Self {
        Self { from: from.into(), into: into.into(), len: len.into() }
    }

    pub(super) fn source(&self) -> Memory {
        self.from.into()
    }

    pub(super) fn target(&self) -> Memory {
        self.into.into()
    }

    pub(super) fn len(&self) -> u64 {
        self.len.get()
    }
}

/// Asks the peer to send bytes of its memory in fragments.
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct GetRequest {
    pub(super) transfer: Transfer,
    index: U32,
    generation: U32,
}

impl GetRequest {
    pub(super) fn new(transfer: Transfer, read: Handle) -> Self {
        Self { transfer, index: read.index.into(), generation: read.generation.into() }
    }

    pub(super) fn read(&self) -> Handle {
        Handle { index: self.index.get(), generation: self.generation.get() }
    }
}

/// Announces a transfer that the peer may help to copy, see [`crate::chunk_queue`].
#[derive(Clone, Copy, FromBytes, IntoBytes, KnownLayout, Immutable, Unaligned)]
#[repr(C)]
pub(super) struct HelpRequest {
    pub(super) transfer: Transfer,
    number: U32,
    /// 1 if the sender of the request reads the receiver's memory, 0 if it writes there.
    reads: U32,
}

impl HelpRequest {
    pub(super) fn new(transfer: Transfer, number: u32, reads: bool) -> Self {
        Self { transfer, number: number.into(), reads: u32::from(reads).into() }
    }

    pub(super) fn number(&self) -> u32 {
        self.number.get()
    }

    pub(super) fn reads(&self) -> bool {
        self.reads.get() != 0
    }
}

/// The head of `frame`, if it is long enough.
pub(super) fn head<T: FromBytes + IntoBytes>(frame: &Frame<'_>) -> Option<T> {
    let mut head = T::new_zeroed();
    let bytes = head.as_mut_bytes();
    (frame.len() >= bytes.len()).then(|| frame.copy_to(0, bytes))?;
    Some(head)
}

/// The data of a packet, which is still in the ring.
pub(super) struct Data<'a> {
    pub(super) frame: &'a Frame<'a>,
    /// Where the data begins in the frame, in bytes.
    pub(super) at: usize,
}

impl Payload for Data<'_> {
    #[inline]
    fn len(&self) -> usize {
        self.frame.len() - self.at
    }

    #[inline]
    fn copy_to(&self, into: &mut [u8]) {
        self.frame.copy_to(self.at, into);
    }
}
