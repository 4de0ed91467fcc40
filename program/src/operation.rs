//! The operations that statements start, and the calls of the library that start them.

use carrousel_collective::{Schedule, Shape, ShapeError};
use carrousel_rank::{self as rank, Call, Communicator, Kind, Memory, RankId, Source, Tag, TagSelector};
use carrousel_scenario::BufferId;

/// Bytes of an element of a reduction: scenarios reduce bytes.
const ELEMENT: u32 = 1;

/// Memory that an operation uses. Every use begins at the first byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Buffer {
    /// A named buffer of the program.
    Named(BufferId),
    /// Memory that only this part of the statement uses.
    Own(Part),
}

/// The purpose of a statement's own memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// A send reads it.
    Outgoing,
    /// A receive writes it.
    Incoming,
    /// The scratch memory of a collective.
    Scratch,
}

/// An operation of the library that a request stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A send.
    Send(Send),
    /// A receive.
    Receive(Receive),
    /// A collective, on memory of its own.
    Collective(Collective),
}

/// A send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Send {
    /// The receiver, as a rank of the job; may be the sender itself.
    pub to: RankId,
    /// The tag.
    pub tag: Tag,
    /// Its communicator.
    pub communicator: Communicator,
    /// Bytes.
    pub len: u64,
    /// Complete only once the receive has begun.
    pub synchronous: bool,
    /// The bytes. A message without bytes uses no named buffer, whatever the statement says.
    pub buffer: Buffer,
}

/// A receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Receive {
    /// The senders whose messages match, as ranks of the job.
    pub from: Source,
    /// The tags that match.
    pub tag: TagSelector,
    /// Its communicator.
    pub communicator: Communicator,
    /// Bytes that fit.
    pub len: u64,
    /// The place of the bytes. A receive without room uses no named buffer, whatever the statement says.
    pub buffer: Buffer,
}

/// A collective, on memory of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Collective {
    /// The kind of the collective.
    pub kind: Kind,
    /// Its communicator.
    pub communicator: Communicator,
    /// The root's number among the members; 0 if the operation has no root.
    pub root: u32,
    /// The bytes of one contribution. For an all-to-all: from each rank to each.
    pub len: u64,
}

impl Send {
    /// The call that starts it, with its bytes in this memory.
    pub fn call(&self, memory: Memory) -> Call {
        self.call_with(memory, None)
    }

    /// The same for a message that carries 8 bytes in addition to its own.
    pub fn call_with(&self, memory: Memory, data: Option<u64>) -> Call {
        let Self { to, tag, communicator, len, synchronous, .. } = *self;
        Call::Send(rank::Send { to, tag, communicator, len, memory, synchronous, data })
    }
}

impl Receive {
    /// The call that posts it, with its bytes in this memory.
    pub fn call(&self, memory: Memory) -> Call {
        let Self { from, tag, communicator, len, .. } = *self;
        Call::Receive(rank::Receive { from, tag, communicator, len, memory })
    }
}

impl Collective {
    /// The call that enters it, with the memory of its contribution, of its result, and of its scratch.
    pub fn call(&self, [source, target, scratch]: [Memory; 3]) -> Call {
        let Self { kind, communicator, root, len } = *self;
        Call::Collective(rank::Collective {
            kind,
            communicator,
            root,
            element: ELEMENT,
            len,
            source,
            target,
            scratch,
        })
    }
}

impl Operation {
    /// Its communicator.
    pub fn communicator(&self) -> Communicator {
        match self {
            Self::Send(send) => send.communicator,
            Self::Receive(receive) => receive.communicator,
            Self::Collective(collective) => collective.communicator,
        }
    }

    /// The call that starts it. `memory` returns the driver's memory of a buffer.
    pub fn call(&self, mut memory: impl FnMut(Buffer) -> Memory) -> Call {
        match self {
            Self::Send(send) => send.call(memory(send.buffer)),
            Self::Receive(receive) => receive.call(memory(receive.buffer)),
            Self::Collective(collective) => {
                let parts = [Part::Outgoing, Part::Incoming, Part::Scratch];
                collective.call(parts.map(|part| memory(Buffer::Own(part))))
            }
        }
    }

    /// The bytes that leave, and the bytes that arrive, at the member `me` of `members`.
    ///
    /// # Errors
    /// If a collective moves more bytes than can be counted: see [`crate::ProgramError::TooManyBytes`].
    pub fn outgoing_and_incoming_len(&self, me: u32, members: u32) -> Result<(u64, u64), ShapeError> {
        match *self {
            Self::Send(send) => Ok((send.len, 0)),
            Self::Receive(receive) => Ok((0, receive.len)),
            Self::Collective(Collective { kind, root, len, .. }) => {
                let shape = Shape { kind, members, me, root, len, element: ELEMENT };
                Schedule::new(&shape).map(|schedule| schedule.source_and_target_len())
            }
        }
    }
}
