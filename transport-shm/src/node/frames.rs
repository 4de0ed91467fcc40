//! The frames of a ring: packets, and, where memory cannot be copied directly, fragments of messages.
//!
//! A frame's tag is the header of a packet, and the frame its body and data; or the tag is one of those below, which no
//! header is.

use crate::Frame;
use carrousel_transport::{BODY_MAX, Handle, Header, Memory, Payload};
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// A [`Fragment`], and its bytes.
pub(super) const FRAGMENT: u32 = 2;
/// A [`GetRequest`].
pub(super) const GET_REQUEST: u32 = 3;
/// A [`HelpRequest`].
pub(super) const HELP_REQUEST: u32 = 5;
/// The first frame of a peer that introduces itself: the text that it is known by.
pub(super) const INTRODUCTION: u32 = 4;

/// The last frame of a first ring: what follows is in the second one.
pub(super) const MOVED: u32 = 1;

const _: () = {
    assert!(Header::is_transports_own(MOVED), "it is no packet");
    assert!(Header::is_transports_own(FRAGMENT), "it is no packet");
    assert!(Header::is_transports_own(GET_REQUEST), "it is no packet");
    assert!(Header::is_transports_own(HELP_REQUEST), "it is no packet");
    assert!(Header::is_transports_own(INTRODUCTION), "it is no packet");
};

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

/// A frame whose tag is a header: its bytes, which are still in the ring, are what is behind it.
impl Payload for Frame<'_> {
    #[inline]
    fn len(&self) -> usize {
        self.len()
    }

    #[inline]
    fn first_words<const WORDS: usize>(&self) -> Option<[u64; WORDS]> {
        (self.len() >= size_of::<[u64; WORDS]>()).then(|| self.first_words())
    }

    #[inline]
    fn first<'a>(&'a self, room: &'a mut [u8; BODY_MAX]) -> &'a [u8] {
        let first = &mut room[..self.len().min(BODY_MAX)];
        self.copy_to(0, first);
        first
    }

    // A message of 8 bytes is copied by a dozen instructions, a call takes as many.
    #[inline(always)]
    fn copy_to(&self, at: usize, into: &mut [u8]) {
        self.copy_to(at, into);
    }
}
