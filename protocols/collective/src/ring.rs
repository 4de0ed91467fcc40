//! Around a ring: in each round a member sends a block to the next member and receives one from the member before.
//! This suits long contributions, because no byte is sent more often than it has to be.
//!
//! The allreduce (P. Patarasu, X. Yuan, Bandwidth Optimal All-reduce Algorithms for Clusters of Workstations, 2009)
//! divides the contribution into one block for each member. In the first turn each block is summed up on its way; in
//! the second, finished blocks go around as in an allgather (Thakur, Rabenseifner, Gropp 2005, 4.1).

use crate::{At, Local, Message, Round, Shape};

/// The beginning of block `comm_rank` of a contribution. If the division is uneven, the first blocks have one element
/// more.
fn begin(shape: &Shape, comm_rank: u32) -> u64 {
    let (element, members, comm_rank) =
        (u64::from(shape.element), u64::from(shape.members), u64::from(comm_rank));
    let elements = shape.len / element;
    element * (elements / members * comm_rank + comm_rank.min(elements % members))
}

/// Position and length of block `comm_rank`.
fn block(shape: &Shape, comm_rank: u32) -> (u64, u64) {
    let from = begin(shape, comm_rank);
    (from, begin(shape, comm_rank + 1) - from)
}

pub(crate) fn reduce_rounds(shape: &Shape) -> u32 {
    2 * (shape.members - 1)
}

pub(crate) fn reduce_round(shape: &Shape, number: u32) -> Round {
    let half = shape.members - 1;
    let (next, last) = (shape.after(1), shape.before(1));
    if number < half {
        let (sent, sent_len) = block(shape, shape.before(number));
        let (got, got_len) = block(shape, shape.before(number + 1));
        let sent = if number == 0 { At::source(sent) } else { At::target(sent) };
        // The sum of the members before is received where the sum will be, and the own contribution is added.
        Round {
            send: Message::some(next, sent, sent_len),
            receive: Message::some(last, At::target(got), got_len),
            then: [Local::combine(At::source(got), At::target(got), got_len), None],
        }
    } else {
        let number = number - half;
        let (sent, sent_len) = block(shape, shape.turn(shape.after(1), shape.members - number));
        let (got, got_len) = block(shape, shape.before(number));
        Round {
            send: Message::some(next, At::target(sent), sent_len),
            receive: Message::some(last, At::target(got), got_len),
            ..Round::default()
        }
    }
}

pub(crate) fn gather_rounds(shape: &Shape) -> u32 {
    shape.members - 1
}

pub(crate) fn gather_round(shape: &Shape, number: u32) -> Round {
    let len = shape.len;
    let (own, got) = (shape.block(shape.me), shape.block(shape.before(number + 1)));
    let sent = if number == 0 { At::source(0) } else { At::target(shape.block(shape.before(number))) };
    let keep = if number == 0 { Local::copy(At::source(0), At::target(own), len) } else { None };
    Round {
        send: Message::some(shape.after(1), sent, len),
        receive: Message::some(shape.before(1), At::target(got), len),
        then: [keep, None],
    }
}
