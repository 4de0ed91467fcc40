//! Completion queues (fi_cq(3)).

use crate::bindings as b;
use crate::fi::{Errno, NO_ADDRESS};
use crate::timer::Timer;
use std::collections::VecDeque;

/// The form in which completions are read: each is the beginning of the next one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Context,
    Msg,
    Data,
    Tagged,
}

impl Format {
    /// That of an attribute; `None` for one that does not exist.
    pub(crate) fn of(format: b::fi_cq_format) -> Option<Self> {
        match format {
            b::FI_CQ_FORMAT_UNSPEC | b::FI_CQ_FORMAT_CONTEXT => Some(Self::Context),
            b::FI_CQ_FORMAT_MSG => Some(Self::Msg),
            b::FI_CQ_FORMAT_DATA => Some(Self::Data),
            b::FI_CQ_FORMAT_TAGGED => Some(Self::Tagged),
            _ => None,
        }
    }

    /// The bytes of an entry.
    #[inline]
    pub(crate) fn bytes(self) -> usize {
        match self {
            Self::Context => size_of::<b::fi_cq_entry>(),
            Self::Msg => size_of::<b::fi_cq_msg_entry>(),
            Self::Data => size_of::<b::fi_cq_data_entry>(),
            Self::Tagged => size_of::<b::fi_cq_tagged_entry>(),
        }
    }
}

/// An operation that has ended well. Addresses are numbers: the host's, which are not followed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub(crate) struct Completion {
    pub(crate) context: usize,
    pub(crate) flags: u64,
    pub(crate) len: usize,
    pub(crate) buffer: usize,
    pub(crate) data: u64,
    pub(crate) tag: u64,
    /// The sender's position in the address vector; behind what hosts read as the entry.
    pub(crate) source: u64,
}

const _: () = assert!(std::mem::offset_of!(Completion, source) == size_of::<b::fi_cq_tagged_entry>());

/// An operation that has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Failed {
    pub(crate) of: Completion,
    pub(crate) error: Errno,
    /// Bytes of a message that did not fit.
    pub(crate) overflow: usize,
}

/// What has ended, and has not been read.
#[derive(Debug)]
pub(crate) struct Cq {
    format: Format,
    completions: VecDeque<Completion>,
    errors: VecDeque<Failed>,
    /// Whether somebody has asked that a wait for it ends (`fi_cq_signal`).
    pub(crate) signaled: bool,
    /// How many endpoints are bound to it.
    pub(crate) users: u32,
    /// How a host waits for it.
    pub(crate) wait: Wait,
}

/// How a host waits for a queue.
#[derive(Debug, Default)]
pub(crate) enum Wait {
    /// Not at all.
    #[default]
    Never,
    /// In calls.
    Calls,
    /// In calls, and by a descriptor.
    Descriptor(Timer),
}

impl Cq {
    pub(crate) fn new(format: Format, size: usize, wait: Wait) -> Self {
        let completions = VecDeque::with_capacity(size.clamp(64, 1 << 16));
        Self { format, completions, errors: VecDeque::new(), signaled: false, users: 0, wait }
    }

    #[inline]
    pub(crate) fn format(&self) -> Format {
        self.format
    }

    #[inline]
    pub(crate) fn push(&mut self, completion: Completion) {
        self.completions.push_back(completion);
    }

    /// Errors have a queue without an end: none is lost, however many operations are cancelled at once.
    pub(crate) fn fail(&mut self, failed: Failed) {
        self.errors.push_back(failed);
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.completions.is_empty() && self.errors.is_empty()
    }

    /// The next completion.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Completion> {
        self.completions.pop_front()
    }

    /// Why there is none: an error waits to be read, or nothing has ended.
    #[inline]
    pub(crate) fn why_none(&self) -> Errno {
        if self.errors.is_empty() { Errno::AGAIN } else { Errno::AVAILABLE }
    }

    /// The next error.
    pub(crate) fn pop_error(&mut self) -> Option<Failed> {
        self.errors.pop_front()
    }
}

impl Completion {
    /// One of which nothing but its flags is known beside the context.
    #[inline]
    pub(crate) fn of(context: usize, flags: u64) -> Self {
        Self { context, flags, source: NO_ADDRESS, ..Self::default() }
    }
}
