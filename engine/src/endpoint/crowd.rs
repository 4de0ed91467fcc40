//! Whether another rank waits for the processor of this one, which a rank that polls keeps until its scheduler takes it away:
//! some milliseconds a message. It is so where a node has more ranks than processors; and now and then where it has enough,
//! when other programs run there, too, and the scheduler has put two ranks on one.

use crate::backends::shm::Node;

/// What is known of it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Crowd {
    /// Whether this node has more ranks than processors.
    has_few_processors: bool,
    /// Whether a peer was on this rank's processor at the last look.
    shares: bool,
}

impl Crowd {
    pub(super) fn new(has_few_processors: bool) -> Self {
        Self { has_few_processors, shares: false }
    }

    /// Whether another rank waited for the processor at the last look.
    #[inline(always)]
    pub(super) fn is_there(self) -> bool {
        self.has_few_processors || self.shares
    }

    /// Looks, and returns whether another rank waits for the processor.
    pub(super) fn look(&mut self, node: &Node) -> bool {
        self.shares = !self.has_few_processors && node.shares_processor();
        self.is_there()
    }
}
