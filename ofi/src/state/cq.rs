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
    /// How many completions have been taken.
    taken: u64,
    /// Each with how many completions had been added before it.
    errors: VecDeque<(u64, Failed)>,
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
        Self { format, completions, taken: 0, errors: VecDeque::new(), signaled: false, users: 0, wait }
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
        self.errors.push_back((self.taken + self.completions.len() as u64, failed));
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.completions.is_empty() && self.errors.is_empty()
    }

    /// Whether there is a completion to be read. There is none once an error is next, whatever has ended since: a host that
    /// always found something to read would never learn of the error (fi_cq(3), `fi_cq_read`).
    #[inline]
    pub(crate) fn has_next(&self) -> bool {
        !self.completions.is_empty() && self.errors.front().is_none_or(|(before, _)| *before > self.taken)
    }

    /// Takes the next completion, where `read` reads it.
    #[inline(always)]
    pub(crate) fn take_next(&mut self, read: impl FnOnce(&Completion)) -> bool {
        if !self.has_next() {
            return false;
        }
        let Some(next) = self.completions.front() else { return false };
        // Read where it is: nothing of it is moved twice.
        read(next);
        self.completions.pop_front();
        self.taken += 1;
        true
    }

    /// Why there is none: an error waits to be read, or nothing has ended.
    #[inline]
    pub(crate) fn why_none(&self) -> Errno {
        if self.errors.is_empty() { Errno::AGAIN } else { Errno::AVAILABLE }
    }

    /// The next error, even if completions are ahead of it.
    pub(crate) fn pop_error(&mut self) -> Option<Failed> {
        self.errors.pop_front().map(|(_, failed)| failed)
    }
}

impl Completion {
    /// One of which nothing but its flags is known beside the context.
    #[inline]
    pub(crate) fn of(context: usize, flags: u64) -> Self {
        Self { context, flags, source: NO_ADDRESS, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_told_in_their_turn() {
        let mut cq = Cq::new(Format::Tagged, 0, Wait::Never);
        let of = |context| Completion::of(context, 0);
        let failed = |context| Failed { of: of(context), error: Errno::OTHER, overflow: 0 };
        cq.push(of(1));
        cq.push(of(2));
        cq.fail(failed(3));
        cq.push(of(4));
        cq.fail(failed(5));
        cq.fail(failed(6));
        cq.push(of(7));
        let context = |cq: &mut Cq| {
            let (mut context, has_next) = (None, cq.has_next());
            assert_eq!(cq.take_next(|completion| context = Some(completion.context)), has_next);
            context
        };
        let error = |failed: Option<Failed>| failed.map(|failed| failed.of.context);
        assert_eq!([context(&mut cq), context(&mut cq), context(&mut cq)], [Some(1), Some(2), None]);
        assert_eq!((cq.why_none(), error(cq.pop_error())), (Errno::AVAILABLE, Some(3)));
        // An error that is read before its turn.
        assert_eq!((error(cq.pop_error()), context(&mut cq), context(&mut cq)), (Some(5), Some(4), None));
        assert_eq!(
            (error(cq.pop_error()), context(&mut cq), error(cq.pop_error())),
            (Some(6), Some(7), None)
        );
        assert_eq!((context(&mut cq), cq.why_none(), cq.is_empty()), (None, Errno::AGAIN, true));
        cq.push(of(8));
        cq.fail(failed(9));
        assert_eq!((context(&mut cq), context(&mut cq), error(cq.pop_error())), (Some(8), None, Some(9)));
    }
}
