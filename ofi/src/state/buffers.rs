//! The receives of messages without tags that the engine does not have, or has in part only.

#![allow(unsafe_code, reason = "the host lends its buffers by pointer")]

use super::calls::Incoming;
use crate::fi;
use carrousel_rank::Source;
use std::collections::VecDeque;

/// A receive that the engine does not have, or of which it has only the next part.
#[derive(Debug)]
pub(super) struct Buffer {
    pub(super) number: u64,
    pub(super) receive: Incoming,
    pub(super) from: Source,
    /// Bytes that are used.
    pub(super) used: usize,
    /// Whether the engine has a receive for its next part.
    pub(super) posted: bool,
}

impl Buffer {
    pub(super) fn is_for_many(&self) -> bool {
        self.receive.flags & fi::MULTI_RECV != 0
    }

    /// Whether a message could be for both.
    pub(super) fn overlaps(&self, from: Source) -> bool {
        matches!(self.from, Source::Any) || matches!(from, Source::Any) || self.from == from
    }

    /// What is left of it.
    pub(super) fn rest(&self) -> Incoming {
        let used = self.used.min(self.receive.len);
        Incoming {
            buffer: self.receive.buffer.wrapping_add(used),
            len: self.receive.len - used,
            ..self.receive
        }
    }
}

/// The buffers for many messages, and the receives that wait for their ends, in the order in which they were posted.
#[derive(Debug)]
pub(super) struct Untagged {
    pub(super) buffers: VecDeque<Buffer>,
    pub(super) numbers: u64,
    /// How much room the next message of a buffer has at least.
    pub(super) least_room: usize,
}

impl Default for Untagged {
    fn default() -> Self {
        Self { buffers: VecDeque::new(), numbers: 0, least_room: 64 }
    }
}

// SAFETY: the pointers are of buffers that the host has lent until their completion; whichever thread drives the endpoint
// may use them.
unsafe impl Send for Untagged {}
