//! The barrier: in round `k` a member sends to the member `2^k` after it, and receives from the member `2^k` before
//! it. After the last round it has heard of all members, directly or through others (D. Hensgen, R. Finkel, U.
//! Manber, Two Algorithms for Barrier Synchronization, 1988).

use crate::shape::log2_up;
use crate::{At, Message, Round, Shape};

pub(crate) fn rounds(shape: &Shape) -> u32 {
    log2_up(shape.members)
}

pub(crate) fn round(shape: &Shape, number: u32) -> Round {
    let distance = 1 << number;
    // The messages are empty, and are sent all the same: their arrival is the information.
    let with = |peer, at| Some(Message { peer, at, len: 0 });
    let (send, receive) =
        (with(shape.after(distance), At::source(0)), with(shape.before(distance), At::target(0)));
    Round { send, receive, ..Round::default() }
}
