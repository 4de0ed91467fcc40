//! The atomics at a peer that wait: for what precedes them, or for their answers.

use carrousel_transport::{Atomic, Handle};
use std::collections::VecDeque;

/// The atomics at a peer that are not complete, in the order in which they were posted.
#[derive(Debug, Default)]
pub(super) struct PendingAtomics {
    queue: VecDeque<Atomic>,
    /// The peer has been asked for so many of them, the first ones.
    asked: usize,
}

impl PendingAtomics {
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// An atomic is posted.
    pub(super) fn push(&mut self, atomic: Atomic) {
        self.queue.push_back(atomic);
    }

    /// The requests of all of them.
    pub(super) fn requests(&self) -> impl Iterator<Item = Handle> {
        self.queue.iter().map(|atomic| atomic.request)
    }

    /// The next one that the peer can be asked for, which counts as asked for; `reads` tells whether reads from the peer are
    /// outstanding.
    pub(super) fn ask_next(&mut self, reads: bool) -> Option<Atomic> {
        let next = *self.queue.get(self.asked)?;
        if next.fenced && (reads || self.asked > 0) {
            return None;
        }
        self.asked += 1;
        Some(next)
    }

    /// The peer has answered. Returns false if it was not asked for this atomic first.
    pub(super) fn answered(&mut self, request: Handle) -> bool {
        let is_first = self.asked > 0 && self.queue.pop_front_if(|first| first.request == request).is_some();
        self.asked -= usize::from(is_first);
        is_first
    }
}
