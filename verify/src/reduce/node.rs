//! What persistent sets consist of: groups of actions that enter them together.

use std::collections::HashSet;

/// A group of actions that enter a persistent set together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Node {
    /// The rank goes on with its program.
    Step(u16),
    /// Arrivals at the sending end of the flow to a peer.
    SendEnd(u16, u16),
    /// Arrivals and announcements at the receiving end of the flow from a peer.
    ReceiveEnd(u16, u16),
    /// The same for all peers.
    ReceiveEnds(u16),
    /// Arrivals of packets of collectives.
    Collective(u16),
    /// The lock of a window at a host is given away, or back (weakest MPI).
    Locks(u16, u16),
    /// Arrivals for a window, at all ranks (the library).
    Window(u16),
    /// No actions of its own: stands for those that must come before the first rank posts a receive from the second.
    Post(u16, u16),
    /// No actions of its own: stands for those that must come before the first rank sends to the second.
    Send(u16, u16),
}

/// One of the flows of a rank, or what it does in a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    /// Its messages to this rank.
    To(u16),
    /// Its messages from this rank.
    From(u16),
    /// Its calls on this window.
    Window(u16),
}

/// Up to so many nodes are compared one by one.
const FEW: usize = 32;

/// The sets of a state have taken as much work as they may.
#[derive(Clone, Copy, Debug)]
pub(super) struct WorkIsOver;

/// Some nodes, in the order in which they have come.
#[derive(Default)]
pub(super) struct Nodes {
    pub(super) list: Vec<Node>,
    /// All of them, if there are more than [`FEW`].
    many: HashSet<Node, ahash::RandomState>,
}

impl Nodes {
    pub(super) fn contains(&self, node: &Node) -> bool {
        if self.list.len() > FEW { self.many.contains(node) } else { self.list.contains(node) }
    }

    /// Whether it is new.
    pub(super) fn insert(&mut self, node: Node) -> bool {
        if self.contains(&node) {
            return false;
        }
        self.list.push(node);
        match self.list.len() {
            len if len == FEW + 1 => self.many.extend(&self.list),
            len if len > FEW => _ = self.many.insert(node),
            _ => {}
        }
        true
    }
}

impl Node {
    /// The rank at whose ends it stands for arrivals.
    pub(super) fn of_arrivals(self) -> Option<u16> {
        match self {
            Self::SendEnd(at, _) | Self::ReceiveEnd(at, _) => Some(at),
            Self::ReceiveEnds(at) | Self::Collective(at) => Some(at),
            Self::Step(_) | Self::Post(..) | Self::Send(..) | Self::Locks(..) | Self::Window(_) => None,
        }
    }
}
