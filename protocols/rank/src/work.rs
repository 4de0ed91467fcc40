//! The outputs of a rank.

use crate::{Status, WindowIndex, WindowWork};
use carrousel_matching::{Context, Handle, RankId};
use carrousel_rendezvous::{Memory, Packet};
use carrousel_wire::{Read, Write};

/// Library memory that holds the data of one message which arrived before its receive, named by the
/// message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Kept {
    /// The sender.
    pub from: RankId,
    /// In which communicator.
    pub context: Context,
    /// Its number among the sender's messages to this rank, modulo 2^32.
    pub number: u32,
}

/// What a driver has to do. `data`, `from` and `into` name memory of the application. A request may be one
/// of a collective's round ([`crate::collective_of`]); only the application's own are ever complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Work {
    /// Send a packet; with [`Packet::Eager`] the data at `data`, which may be reused when this is done.
    Send {
        /// To whom.
        to: RankId,
        /// In which communicator.
        context: Context,
        /// What.
        packet: Packet,
        /// The memory of an eager message.
        data: Option<Memory>,
    },
    /// Write into a peer's memory, then send the notice behind it; [`crate::Event::Written`] follows.
    Write {
        /// In which communicator the notice is.
        context: Context,
        /// What to write, and where.
        write: Write<Packet>,
        /// The peer's request that the memory belongs to. Only the checker needs to know.
        receive: Handle,
    },
    /// Read from a peer's memory, then send the notice behind it; [`crate::Event::Read`] follows. The notice leaves when the
    /// data is there, so the peer may see it before the event is reported here.
    Read {
        /// In which communicator the notice is.
        context: Context,
        /// What to read, and where.
        read: Read<Packet>,
        /// The peer's request that the memory belongs to. Only the checker needs to know.
        send: Handle,
    },
    /// Copy the data of the packet at hand to where its receive wants it.
    Place {
        /// Where it goes.
        into: Memory,
        /// Bytes.
        len: u64,
        /// The receive.
        request: Handle,
    },
    /// Copy the data of the packet at hand to library memory.
    Keep {
        /// The library memory, from now until it is taken.
        kept: Kept,
        /// Bytes.
        len: u64,
    },
    /// Copy kept data to where its receive wants it, and free the library memory.
    Take {
        /// The library memory.
        kept: Kept,
        /// Where it goes.
        into: Memory,
        /// Bytes to copy.
        len: u64,
        /// The receive.
        request: Handle,
    },
    /// Copy bytes of the application, on behalf of a collective.
    Copy {
        /// Where they are.
        from: Memory,
        /// Where they go; the two do not overlap.
        into: Memory,
        /// How many.
        len: u64,
    },
    /// Combine bytes with what is there by the operation of a reduction, element by element. That is commutative, so
    /// the driver chooses the left operand.
    Combine {
        /// The reduction, whose operation the driver knows.
        request: Handle,
        /// Operands, which stay as they are.
        from: Memory,
        /// Operands, which the results replace; the two do not overlap.
        into: Memory,
        /// Bytes, a whole number of elements.
        len: u64,
    },
    /// A request is complete.
    Complete {
        /// Which.
        request: Handle,
        /// How.
        status: Status,
    },
    /// What a window asks for.
    Window {
        /// Which.
        window: WindowIndex,
        /// What.
        work: WindowWork,
    },
}

/// Takes the outputs of a rank.
pub trait Sink {
    /// Appends one output.
    fn work(&mut self, work: Work);

    /// Whether an announced receive may be written into where the rules permit it. No answer affects
    /// safety; the checker explores both.
    fn agree_to_write(&mut self) -> bool {
        true
    }
}

impl Sink for alloc::vec::Vec<Work> {
    // Inlined, a `Work` is written where it stays: only its own fields, not the size of the largest.
    #[inline]
    fn work(&mut self, work: Work) {
        self.push(work);
    }
}
