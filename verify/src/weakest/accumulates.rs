//! Which accesses conflict under the weakest MPI: what it promises of accumulates.
//!
//! - Those of one origin to one place take effect in the order of their calls, whatever the function and the operation
//!   (MPI-4.1, 12.7.2), unless the window says `accumulate_ordering none`.
//! - Those of different origins are atomic towards each other if they use the same operation (12.7.1). The key
//!   `accumulate_ops` (12.2.1) allows `no_op` beside any other by default, and nothing else. It speaks of operations and not
//!   of functions: an `acc`, a `get_acc` and a `fetch_op` with a sum are all sums. A `cas` is an operation of its own.

use super::orders::Order;
use crate::program::{Access, is_atomic};
use carrousel_program::AccumulateKeys;
use carrousel_program::epoch::{AccumulateOp, TransferKind};

/// Whether two accesses of these origins conflict: they share a byte, one of them changes it, and MPI neither orders them
/// nor makes them atomic.
pub(super) fn conflict(
    (origin, one): (u16, &Access),
    (peer, other): (u16, &Access),
    keys: AccumulateKeys,
    without: Option<Order>,
) -> bool {
    one.meets(other)
        && !are_in_order(origin == peer, one, other, keys, without)
        && !are_atomic(one, other, keys, without)
}

fn are_in_order(
    is_one_origin: bool,
    one: &Access,
    other: &Access,
    keys: AccumulateKeys,
    without: Option<Order>,
) -> bool {
    let accumulate = |access: &Access| is_atomic(access.transfer.kind);
    is_one_origin
        && accumulate(one)
        && accumulate(other)
        && !keys.unordered
        && without != Some(Order::AccumulatesOfOneOrigin)
}

fn are_atomic(one: &Access, other: &Access, keys: AccumulateKeys, without: Option<Order>) -> bool {
    let (Some(this), Some(that)) = (operation(one), operation(other)) else { return false };
    let reads = |it: Operation| it == Operation::Combines(AccumulateOp::NoOp);
    without != Some(Order::AccumulatesOfOneOperation)
        && (this == that || !keys.same_op && (reads(this) || reads(that)))
}

/// What an accumulate does to an element.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Operation {
    Combines(AccumulateOp),
    ComparesAndSwaps,
}

fn operation(access: &Access) -> Option<Operation> {
    match access.transfer.kind {
        TransferKind::Put | TransferKind::Get => None,
        TransferKind::CompareAndSwap => Some(Operation::ComparesAndSwaps),
        TransferKind::Accumulate | TransferKind::GetAccumulate | TransferKind::FetchAndOp => {
            Some(Operation::Combines(access.combine))
        }
    }
}
