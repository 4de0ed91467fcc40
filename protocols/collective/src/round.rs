//! The actions of a member in one round.

/// A buffer of the member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Buffer {
    /// The contribution of the member. Never written.
    Source,
    /// The result of the member.
    Target,
    /// Room for bytes that pass through: [`crate::Schedule::scratch_len`] bytes.
    Scratch,
}

/// A position in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct At {
    /// The buffer.
    pub buffer: Buffer,
    /// Bytes from its beginning.
    pub offset: u64,
}

impl At {
    pub(crate) const fn source(offset: u64) -> Self {
        Self { buffer: Buffer::Source, offset }
    }

    pub(crate) const fn target(offset: u64) -> Self {
        Self { buffer: Buffer::Target, offset }
    }

    pub(crate) const fn scratch(offset: u64) -> Self {
        Self { buffer: Buffer::Scratch, offset }
    }
}

/// A message to or from another member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Message {
    /// The other member's `comm_rank`, from 0.
    pub peer: u32,
    /// The position of the bytes to send, or of the room for received ones.
    pub at: At,
    /// The number of bytes.
    pub len: u64,
}

impl Message {
    /// A message, or `None` for an empty one: both ends know the length, and leave it out.
    pub(crate) fn some(peer: u32, at: At, len: u64) -> Option<Self> {
        (len > 0).then_some(Self { peer, at, len })
    }
}

/// The way in which bytes get into a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// They replace the bytes there.
    Copy,
    /// The caller's operation combines them with the bytes there.
    Combine,
}

/// A step that concerns the member's own memory only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Local {
    /// Copy or combine.
    pub what: What,
    /// The bytes that are read.
    pub from: At,
    /// The bytes that are written.
    pub into: At,
    /// The number of bytes; of a combination, whole elements.
    pub len: u64,
}

impl Local {
    /// A copy, or `None` if it has no bytes.
    pub(crate) fn copy(from: At, into: At, len: u64) -> Option<Self> {
        (len > 0).then_some(Self { what: What::Copy, from, into, len })
    }

    /// A combination, or `None` if it has no bytes.
    pub(crate) fn combine(from: At, into: At, len: u64) -> Option<Self> {
        (len > 0).then_some(Self { what: What::Combine, from, into, len })
    }
}

/// One round: both messages are under way at the same time; when both are over, the local steps follow in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Round {
    /// The message that is sent.
    pub send: Option<Message>,
    /// The message that is received.
    pub receive: Option<Message>,
    /// The local steps afterwards.
    pub then: [Option<Local>; 2],
}

impl Round {
    /// The round of a single member: its contribution is the result.
    pub(crate) fn alone(len: u64) -> Self {
        Self { then: [Local::copy(At::source(0), At::target(0), len), None], ..Self::default() }
    }
}
