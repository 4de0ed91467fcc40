//! All-to-all, one partner after the other (Thakur, Rabenseifner, Gropp 2005, section 4.3). In round `i` a member
//! exchanges with the member whose `comm_rank` differs in the bits of `i`. If the number of members is no power of two, it
//! sends to the member `i` after it and receives from the member `i` before it.

use crate::{At, Local, Message, Round, Shape};

pub(crate) fn rounds(shape: &Shape) -> u32 {
    shape.members - 1
}

pub(crate) fn round(shape: &Shape, number: u32) -> Round {
    let (me, len, distance) = (shape.me, shape.len, number + 1);
    let (to, from) = if shape.members.is_power_of_two() {
        (me ^ distance, me ^ distance)
    } else {
        (shape.after(distance), shape.before(distance))
    };
    let own = shape.block(me);
    let keep = if number == 0 { Local::copy(At::source(own), At::target(own), len) } else { None };
    Round {
        send: Message::some(to, At::source(shape.block(to)), len),
        receive: Message::some(from, At::target(shape.block(from)), len),
        then: [keep, None],
    }
}
