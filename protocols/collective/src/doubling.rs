//! Allreduce by recursive doubling (Thakur, Rabenseifner, Gropp 2005, section 4.5): in round `k` partners whose
//! numbers differ in bit `k` exchange what they have. Where the members are no power of two, as many of the
//! first ones as are too many give their contribution to a neighbour before, and get the result after.

use crate::{At, Local, Message, Round, Shape};

/// What a member is.
enum Part {
    /// It gives its contribution away, to the member after it.
    Outside,
    /// It has this number among those who exchange; `guest`: it has the contribution of the member before it.
    Inside { number: u32, guest: bool },
}

/// How many rounds of exchange there are.
fn exchanges(shape: &Shape) -> u32 {
    shape.members.ilog2()
}

/// How many members are too many.
fn excess(shape: &Shape) -> u32 {
    shape.members - (1 << exchanges(shape))
}

fn part(shape: &Shape) -> Part {
    let (me, excess) = (shape.me, excess(shape));
    if me >= 2 * excess {
        Part::Inside { number: me - excess, guest: false }
    } else if me.is_multiple_of(2) {
        Part::Outside
    } else {
        Part::Inside { number: me / 2, guest: true }
    }
}

pub(crate) fn rounds(shape: &Shape) -> u32 {
    match part(shape) {
        Part::Outside => 2,
        Part::Inside { guest, .. } => exchanges(shape) + if guest { 2 } else { 0 },
    }
}

pub(crate) fn round(shape: &Shape, number: u32) -> Round {
    let (me, len) = (shape.me, shape.len);
    let (source, sum) = (At::source(0), At::target(0));
    let first =
        |receive| Round { receive, then: [Local::combine(source, sum, len), None], ..Round::default() };
    match part(shape) {
        Part::Outside if number == 0 => {
            Round { send: Message::some(me + 1, source, len), ..Round::default() }
        }
        Part::Outside => Round { receive: Message::some(me + 1, sum, len), ..Round::default() },
        Part::Inside { guest: true, .. } if number == 0 => first(Message::some(me - 1, sum, len)),
        Part::Inside { guest: true, .. } if number > exchanges(shape) => {
            Round { send: Message::some(me - 1, sum, len), ..Round::default() }
        }
        Part::Inside { number: own, guest } => {
            let partner = own ^ 1 << (number - u32::from(guest));
            let excess = excess(shape);
            let partner = if partner < excess { 2 * partner + 1 } else { partner + excess };
            if number == 0 {
                // What comes first is where the sum will be, and the own contribution joins it: no copy.
                return Round {
                    send: Message::some(partner, source, len),
                    ..first(Message::some(partner, sum, len))
                };
            }
            let other = At::scratch(0);
            Round {
                send: Message::some(partner, sum, len),
                receive: Message::some(partner, other, len),
                then: [Local::combine(other, sum, len), None],
            }
        }
    }
}

pub(crate) fn scratch(shape: &Shape) -> u64 {
    match part(shape) {
        Part::Inside { guest, .. } if exchanges(shape) + u32::from(guest) > 1 => shape.len,
        _ => 0,
    }
}
