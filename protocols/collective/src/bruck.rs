//! Allgather in logarithmically many rounds, for any number of members (J. Bruck, C. Ho, S. Kipnis, E. Upfal, D.
//! Weathersby, Efficient Algorithms for All-to-All Communications in Multiport Message-Passing Systems, 1997).
//!
//! In round `k` a member sends its blocks to the member `2^k` before it. Scratch has the blocks in the order of
//! `comm_rank`s, beginning with the member's own; at the end they are rotated into place.

use crate::shape::log2_up;
use crate::{At, Local, Message, Round, Shape};

pub(crate) fn rounds(shape: &Shape) -> u32 {
    log2_up(shape.members) + 1
}

pub(crate) fn round(shape: &Shape, number: u32) -> Round {
    let Shape { members, me, len, .. } = *shape;
    if number == log2_up(members) {
        let behind = shape.block(members - me);
        return Round {
            then: [
                Local::copy(At::scratch(0), At::target(shape.block(me)), behind),
                Local::copy(At::scratch(behind), At::target(0), shape.block(me)),
            ],
            ..Round::default()
        };
    }
    let distance: u32 = 1 << number;
    let len_sent = len * u64::from(distance.min(members - distance));
    let (sent, keep) = if number == 0 {
        (At::source(0), Local::copy(At::source(0), At::scratch(0), len))
    } else {
        (At::scratch(0), None)
    };
    Round {
        send: Message::some(shape.before(distance), sent, len_sent),
        receive: Message::some(shape.after(distance), At::scratch(shape.block(distance)), len_sent),
        then: [keep, None],
    }
}
