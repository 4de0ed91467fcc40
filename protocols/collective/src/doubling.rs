//! Allreduce by recursive doubling (Thakur, Rabenseifner, Gropp 2005, section 4.5): in round `k` partners whose
//! numbers differ in bit `k` exchange their results so far. If the number of members is no power of two, the excess
//! members are outside: they give their contribution to a neighbour before, and get the result afterwards.

use crate::{At, Local, Message, Round, Shape};

/// The part of a member in the exchange.
enum Part {
    /// It gives its contribution to the member after it, and does not exchange.
    Outside,
    /// It exchanges under this number. `guest`: it also has the contribution of the member before it.
    Inside { number: u32, guest: bool },
}

/// The number of rounds of exchange.
fn exchanges(shape: &Shape) -> u32 {
    shape.members.ilog2()
}

/// The number of members beyond the largest power of two.
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
                // The first contribution is received where the sum will be, and the own one is added: no copy.
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
