//! What a member does in one round.

/// A buffer of the member.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Buffer {
    /// What the member contributes. Never written.
    Source,
    /// Where its result goes.
    Target,
    /// Room for what passes through: [`crate::Schedule::scratch_len`] bytes.
    Scratch,
}

/// A position in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct At {
    /// Which buffer.
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
    /// The other member's place, from 0.
    pub peer: u32,
    /// Where the bytes are, or go.
    pub at: At,
    /// How many.
    pub len: u64,
}

impl Message {
    /// A message, unless there is nothing in it: both ends know the length, and leave it out.
    pub(crate) fn some(peer: u32, at: At, len: u64) -> Option<Self> {
        (len > 0).then_some(Self { peer, at, len })
    }
}

/// What is done with bytes that are here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// They replace what is there.
    Copy,
    /// They are combined with what is there by the caller's operation.
    Combine,
}

/// A step that concerns the member's own memory only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Local {
    /// What is done.
    pub what: What,
    /// With these bytes.
    pub from: At,
    /// There.
    pub into: At,
    /// How many; of a combination, whole elements.
    pub len: u64,
}

impl Local {
    /// A copy, unless there is nothing to copy.
    pub(crate) fn copy(from: At, into: At, len: u64) -> Option<Self> {
        (len > 0).then_some(Self { what: What::Copy, from, into, len })
    }

    /// A combination, unless there is nothing to combine.
    pub(crate) fn combine(from: At, into: At, len: u64) -> Option<Self> {
        (len > 0).then_some(Self { what: What::Combine, from, into, len })
    }
}

/// One round: the messages are under way at once; when both are over, the steps follow in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Round {
    /// What is sent.
    pub send: Option<Message>,
    /// What is received.
    pub receive: Option<Message>,
    /// What is done afterwards.
    pub then: [Option<Local>; 2],
}

impl Round {
    /// A round of one member that keeps what it has: its contribution is the result.
    pub(crate) fn alone(len: u64) -> Self {
        Self { then: [Local::copy(At::source(0), At::target(0), len), None], ..Self::default() }
    }
}
