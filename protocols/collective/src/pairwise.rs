//! All-to-all, one partner after the other (Thakur, Rabenseifner, Gropp 2005, section 4.3): in round `i` a member
//! exchanges with the one whose place differs by the bits of `i`, or, where the members are no power of two,
//! sends to the one `i` after it and receives from the one `i` before it.

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
