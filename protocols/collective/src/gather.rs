//! Gather: along the binomial tree for short contributions (as `MPIR_Gather_intra_binomial` of MPICH), and directly
//! to the root for long ones (as Open MPI's `basic_linear`).
//!
//! A subtree has consecutive nodes, so the blocks of an inner member are one piece. At the root, one such piece may
//! wrap around behind the last `comm_rank`: it is received into scratch and copied in two parts.

use crate::tree::Node;
use crate::{At, Local, Message, Round, Shape};

pub(crate) fn tree_rounds(shape: &Shape) -> u32 {
    let node = Node::of(shape);
    node.children + u32::from(!node.is_root())
}

/// Whether the blocks of child `k` of the root wrap around behind the last `comm_rank`.
fn goes_round(shape: &Shape, node: Node, k: u32) -> bool {
    node.child(shape, k) > shape.members - node.below_child(shape, k)
}

pub(crate) fn tree_round(shape: &Shape, number: u32) -> Round {
    let (node, len) = (Node::of(shape), shape.len);
    if number == node.children {
        let blocks = len * u64::from(node.size(shape));
        let at = if node.children == 0 { At::source(0) } else { At::scratch(0) };
        return Round { send: Message::some(node.parent(shape), at, blocks), ..Round::default() };
    }
    let child = node.child(shape, number);
    let blocks = len * u64::from(node.below_child(shape, number));
    let own = if node.is_root() { At::target(shape.block(shape.me)) } else { At::scratch(0) };
    let keep = if number == 0 { Local::copy(At::source(0), own, len) } else { None };
    let received = |at, then| Round { receive: Message::some(child, at, blocks), then, ..Round::default() };
    if !node.is_root() {
        received(At::scratch(shape.block(1 << number)), [keep, None])
    } else if !goes_round(shape, node, number) {
        received(At::target(shape.block(child)), [keep, None])
    } else {
        let behind = shape.block(shape.members - child);
        received(
            At::scratch(0),
            [
                Local::copy(At::scratch(0), At::target(shape.block(child)), behind),
                Local::copy(At::scratch(behind), At::target(0), blocks - behind),
            ],
        )
    }
}

pub(crate) fn tree_scratch(shape: &Shape) -> u64 {
    let node = Node::of(shape);
    let blocks = if !node.is_root() {
        if node.children == 0 { 0 } else { node.size(shape) }
    } else {
        let round = (0..node.children).find(|k| goes_round(shape, node, *k));
        round.map_or(0, |k| node.below_child(shape, k))
    };
    shape.len * u64::from(blocks)
}

pub(crate) fn linear_rounds(shape: &Shape) -> u32 {
    if shape.me == shape.root { shape.members - 1 } else { 1 }
}

pub(crate) fn linear_round(shape: &Shape, number: u32) -> Round {
    let len = shape.len;
    if shape.me != shape.root {
        return Round { send: Message::some(shape.root, At::source(0), len), ..Round::default() };
    }
    let from = shape.after(number + 1);
    let own = At::target(shape.block(shape.me));
    let keep = if number == 0 { Local::copy(At::source(0), own, len) } else { None };
    Round {
        receive: Message::some(from, At::target(shape.block(from)), len),
        then: [keep, None],
        ..Round::default()
    }
}
