//! A counterexample in words.

use super::bounds::{EAGER, PairProgram};
use super::state::{PairAction, PairState, SENDER};
use carrousel_rank::{Event, Packet, Protocol, mpi};

fn name(end: usize) -> &'static str {
    if end == SENDER { "the sender" } else { "the receiver" }
}

/// A call, the `at`-th of its rank.
fn call(program: &PairProgram, end: usize, at: usize) -> String {
    let size = |len: u64| if len > EAGER { "a rendezvous" } else { "eager" };
    if end == SENDER {
        let message = program.sends[at];
        format!("isend {} (tag {}, {})", at + 1, message.tag.0, size(message.len))
    } else {
        let receive = program.receives[at];
        let tag = mpi::named(receive.tag).map_or("any tag".to_owned(), |tag| format!("tag {tag}"));
        format!("irecv {} ({tag}, {})", at + 1, size(receive.len))
    }
}

fn packet(packet: &Packet) -> &'static str {
    match packet {
        Packet::Eager { .. } => "an eager message",
        Packet::Rts { .. } => "an RTS",
        Packet::Fin { .. } => "a FIN",
        Packet::Rtr(_) => "an RTR",
        Packet::Ats { .. } => "an ATS",
        _ => "a packet",
    }
}

/// The promise that a call has broken.
pub(super) fn late(program: &PairProgram, end: usize, at: usize) -> String {
    let (call, partner) = (call(program, end, at), if end == SENDER { "RTR" } else { "RTS" });
    format!("overlaps: {call} has not posted its transfer, though the {partner} of its partner had arrived")
}

/// What one step is.
pub(super) fn line<P: Protocol>(
    program: &PairProgram,
    before: &PairState<P>,
    action: PairAction,
    after: &PairState<P>,
) -> String {
    match action {
        PairAction::Call(end) => {
            let taken = before.ends[end].arrived.len() - after.ends[end].arrived.len();
            let first = if taken > 0 { format!(", {taken} arrivals taken in first") } else { String::new() };
            format!("{} calls {}{first}", name(end), call(program, end, before.ends[end].calls.len()))
        }
        PairAction::Arrive(end) => {
            let what = before.ends[end].coming.front().map_or("nothing", packet);
            format!("{what} arrives at {}", name(end))
        }
        PairAction::Land(end, transfer) => {
            let write = matches!(before.ends[end].transfers[transfer].0, Event::Written(_));
            format!("a {} of {} is complete", if write { "write" } else { "read" }, name(end))
        }
        PairAction::Take(end) => format!("{} takes in what has arrived first, in some other call", name(end)),
    }
}
