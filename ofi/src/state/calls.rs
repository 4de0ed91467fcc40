//! What the calls of a host ask of an endpoint.

use crate::fi::{self, Errno};
use crate::tell::tell_loss;
use carrousel_engine::{BoxedError, CallContext};
use carrousel_rank::Communicator;
use std::time::Duration;

/// What the endpoint's two queues of messages, and its one-sided operations, are to the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// Messages with tags.
    Tagged,
    /// Messages without tags.
    Message,
    /// Packets of one-sided operations.
    Packet,
    /// Their data, where it does not fit a packet.
    Data,
}

impl Operation {
    /// The queues of messages: their receives from anybody outlast the loss of a peer.
    pub(super) const QUEUES: [Self; 2] = [Self::Tagged, Self::Message];

    /// The context of the engine's calls. None is that of all ranks, of which each might be waited for.
    #[inline]
    pub(super) fn call(self) -> &'static CallContext {
        const fn context(number: u16) -> CallContext {
            match Communicator::new(number) {
                Some(communicator) => CallContext { communicator, site: None },
                None => unreachable!(),
            }
        }
        static CONTEXTS: [CallContext; 4] = [context(1), context(2), context(3), context(4)];
        &CONTEXTS[self as usize]
    }

    /// The flag of completions.
    #[inline]
    pub(super) fn flag(self) -> u64 {
        match self {
            Self::Tagged => fi::TAGGED,
            Self::Message => fi::MSG,
            Self::Packet | Self::Data => fi::RMA,
        }
    }
}

/// A queue of an endpoint, one for what it starts and one for what it receives.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Binding {
    pub(crate) cq: Option<usize>,
    /// Whether only completions are reported that are asked for.
    pub(crate) selective: bool,
    /// The flags of calls that have none (`op_flags`).
    pub(crate) flags: u64,
}

impl Binding {
    /// Whether an operation with these flags reports its completion.
    #[inline]
    pub(super) fn reports(&self, flags: u64) -> bool {
        !self.selective || flags & fi::COMPLETION != 0
    }
}

/// What counters count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counted {
    Send,
    Recv,
    Read,
    Write,
    RemoteRead,
    RemoteWrite,
}

/// What an endpoint is opened with.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EpOptions {
    /// Its capabilities.
    pub(crate) caps: u64,
    pub(crate) transmit_flags: u64,
    pub(crate) receive_flags: u64,
    /// The largest message that can be sent by a copy.
    pub(crate) inject_bytes: usize,
    /// How long nothing moves until it is told what is waited for; never, unless an option says so.
    pub(crate) patience: Option<Duration>,
    /// Whether it says once what it carries messages by.
    pub(crate) reports: bool,
}

/// A message that is to be sent. Its bytes are the host's until its completion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Outgoing {
    pub(crate) of: Operation,
    pub(crate) buffer: *const u8,
    pub(crate) len: usize,
    /// The receiver's position in the address vector.
    pub(crate) to: u64,
    pub(crate) tag: u64,
    pub(crate) data: Option<u64>,
    pub(crate) context: usize,
    pub(crate) flags: u64,
    /// Whether nothing is reported of it but its failure (`fi_inject`).
    pub(crate) silent: bool,
}

/// A receive. Its bytes are the library's until its completion.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incoming {
    pub(crate) of: Operation,
    pub(crate) buffer: *mut u8,
    pub(crate) len: usize,
    /// The sender's position in the address vector, or [`fi::NO_ADDRESS`].
    pub(crate) from: u64,
    pub(crate) tag: u64,
    pub(crate) ignore: u64,
    pub(crate) context: usize,
    pub(crate) flags: u64,
}

/// How an operation accesses the target's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// Memory of a peer.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    /// The peer's position in the address vector.
    pub(crate) of: u64,
    pub(crate) key: u64,
    pub(crate) address: u64,
}

/// What an operation does, apart from where.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OneSided {
    pub(crate) context: usize,
    pub(crate) flags: u64,
    pub(crate) data: Option<u64>,
    pub(crate) silent: bool,
}

/// Of a receive whose buffer is room for several of the host's: no flag of libfabric's operations.
pub(super) const SCATTERED: u64 = 1 << 63;

/// The bytes of a buffer; an empty one may be anywhere.
#[inline]
pub(super) fn bytes(start: *const u8, len: usize) -> *const [u8] {
    let start = if len == 0 { std::ptr::NonNull::dangling().as_ptr() } else { start };
    std::ptr::slice_from_raw_parts(start, len)
}

/// The same of a buffer that is written.
#[inline]
pub(super) fn bytes_mut(start: *mut u8, len: usize) -> *mut [u8] {
    let start = if len == 0 { std::ptr::NonNull::dangling().as_ptr() } else { start };
    std::ptr::slice_from_raw_parts_mut(start, len)
}

#[cold]
pub(super) fn refused(error: BoxedError) -> Errno {
    tell_loss(&error);
    Errno::from(&*error)
}
