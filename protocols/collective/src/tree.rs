//! The binomial tree, for broadcast and reduction (R. Thakur, R. Rabenseifner, W. Gropp, Optimization of
//! Collective Communication Operations in MPICH, 2005, sections 4.2 and 4.4).
//!
//! Nodes are numbered from the root on: the root is node 0. The parent of a node is the node without its lowest set
//! bit. The children of a node have one more bit set, below its lowest one.

use crate::shape::log2_up;
use crate::{At, Local, Message, Round, Shape};

/// This member's place in the tree.
#[derive(Clone, Copy)]
pub(crate) struct Node {
    /// Counted from the root.
    pub(crate) number: u32,
    /// It has a child at node `number + 2^k` for each `k` below this.
    pub(crate) children: u32,
}

impl Node {
    pub(crate) fn of(shape: &Shape) -> Self {
        let number = shape.turn(shape.me, shape.members - shape.root);
        let below = if number == 0 { u32::BITS } else { number.trailing_zeros() };
        Self { number, children: below.min(log2_up(shape.members - number)) }
    }

    pub(crate) fn is_root(self) -> bool {
        self.number == 0
    }

    /// The `comm_rank` of the parent of a node that is not the root.
    pub(crate) fn parent(self, shape: &Shape) -> u32 {
        shape.turn(shape.root, self.number & (self.number - 1))
    }

    /// The `comm_rank` of child `k`.
    pub(crate) fn child(self, shape: &Shape, k: u32) -> u32 {
        shape.turn(shape.root, self.number + (1 << k))
    }

    /// The number of nodes in the subtree of child `k`.
    pub(crate) fn below_child(self, shape: &Shape, k: u32) -> u32 {
        (shape.members - self.number - (1 << k)).min(1 << k)
    }

    /// The number of nodes in the subtree of this node, which is not the root.
    pub(crate) fn size(self, shape: &Shape) -> u32 {
        (shape.members - self.number).min(1 << self.number.trailing_zeros())
    }
}

pub(crate) fn broadcast_rounds(shape: &Shape) -> u32 {
    let node = Node::of(shape);
    u32::from(!node.is_root()) + node.children
}

pub(crate) fn broadcast_round(shape: &Shape, number: u32) -> Round {
    let (node, len) = (Node::of(shape), shape.len);
    let at = if node.is_root() { At::source(0) } else { At::target(0) };
    let received = u32::from(!node.is_root());
    if number < received {
        return Round { receive: Message::some(node.parent(shape), at, len), ..Round::default() };
    }
    // The child with the largest subtree first.
    let child = node.child(shape, node.children - 1 - (number - received));
    Round { send: Message::some(child, at, len), ..Round::default() }
}

pub(crate) fn reduce_rounds(shape: &Shape) -> u32 {
    let node = Node::of(shape);
    node.children + u32::from(!node.is_root())
}

pub(crate) fn reduce_round(shape: &Shape, number: u32) -> Round {
    let (node, len) = (Node::of(shape), shape.len);
    let (sum, child) =
        if node.is_root() { (At::target(0), At::scratch(0)) } else { (At::scratch(0), At::scratch(len)) };
    if number == node.children {
        let sum = if node.children == 0 { At::source(0) } else { sum };
        return Round { send: Message::some(node.parent(shape), sum, len), ..Round::default() };
    }
    // The contribution of the first child is received where the sum will be, and the own one is added: no copy.
    let (into, from) = if number == 0 { (sum, At::source(0)) } else { (child, child) };
    Round {
        receive: Message::some(node.child(shape, number), into, len),
        then: [Local::combine(from, sum, len), None],
        ..Round::default()
    }
}

pub(crate) fn reduce_scratch(shape: &Shape) -> u64 {
    let node = Node::of(shape);
    let sums = u64::from(!node.is_root() && node.children > 0);
    let children = u64::from(node.children > 1);
    shape.len * (sums + children)
}
