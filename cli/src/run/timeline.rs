//! The timeline of a real run, drawn as a simulated run is.

use carrousel_program::{Action, Operation, Program, Send, Statement};
use carrousel_runner::Done;
use carrousel_transport_sim::timeline::{Interval, Message, State, Timeline};
use std::collections::HashMap;
use std::sync::Arc;

/// The timeline of a run. `all` is what came of the statements of these programs, rank by rank; messages of up to
/// `eager_threshold` bytes leave without their receive.
pub(super) fn timeline(programs: &[Arc<Program>], all: &[Vec<Done>], eager_threshold: u64) -> Timeline {
    let lane = |(program, done): (&Arc<Program>, &Vec<Done>)| {
        let bar = |(statement, done): (Statement<'_>, &Done)| {
            let [begin, end, _] = done.times;
            Interval { state: state(&statement.outline()), start_ns: ns(begin), end_ns: ns(end) }
        };
        program.statements().zip(done).map(bar).filter(|bar| bar.start_ns < bar.end_ns).collect()
    };
    let lanes = programs.iter().zip(all).map(lane).collect();
    Timeline { lanes, messages: messages(programs, all, eager_threshold) }
}

/// The state of a rank in a statement. How long a call that may wait has waited is not known, so it counts as a whole.
fn state(action: &Action<'_>) -> State {
    match action {
        Action::Compute { .. } | Action::Touch { .. } | Action::TouchWindow(_) => State::Computing,
        Action::Test(_) | Action::Start { blocking: false, .. } | Action::Access(_) => State::Library,
        Action::Synchronize(call) if !call.blocking => State::Library,
        Action::Start { .. }
        | Action::Exchange { .. }
        | Action::Split { .. }
        | Action::Synchronize(_)
        | Action::Probe(_)
        | Action::Wait(_) => State::Waiting,
    }
}

/// The messages of one sender to one receiver, in a communicator of this number, with one tag.
type Stream = (u32, u32, u16, u32);

/// Every message that a receive has got, in order of arrival.
///
/// Messages of one sender with one tag in one communicator are received in the order in which they are sent, by receives
/// in the order in which they are posted (MPI-4.1, 3.5): so the k-th send goes with the k-th receive that has got such a
/// message.
fn messages(programs: &[Arc<Program>], all: &[Vec<Done>], eager_threshold: u64) -> Vec<Message> {
    let mut sends: HashMap<Stream, Vec<(bool, f64)>> = HashMap::new();
    for (rank, (program, done)) in (0..).zip(programs.iter().zip(all)) {
        for (statement, done) in program.statements().zip(done) {
            if let Some((to, tag)) = done.sent {
                let is_synchronous = |it| matches!(it, Operation::Send(Send { synchronous: true, .. }));
                let synchronous = statement.outline().operations().any(is_synchronous);
                let communicator = statement.communicator().index();
                sends.entry((rank, to, communicator, tag)).or_default().push((synchronous, done.times[0]));
            }
        }
    }
    let mut received: HashMap<Stream, usize> = HashMap::new();
    let mut messages = Vec::new();
    for (rank, (program, done)) in (0..).zip(programs.iter().zip(all)) {
        for (statement, done) in program.statements().zip(done) {
            let Done { times: [called, _, complete], received: status, .. } = done;
            let Some(status) = status else { continue };
            let way = (status.source, rank, statement.communicator().index(), status.tag);
            let at = received.entry(way).or_default();
            let Some((synchronous, sent)) = sends.get(&way).and_then(|sends| sends.get(*at)).copied() else {
                continue;
            };
            *at += 1;
            let eager = status.bytes <= eager_threshold && !synchronous;
            let begin = ns(if eager { sent } else { sent.max(*called) });
            messages.push(Message {
                from: status.source,
                to: rank,
                kind: if eager { "EAGER" } else { "data" },
                bytes: status.bytes,
                moves_data: status.bytes > 0,
                start_ns: begin,
                // The clocks of two ranks do not start at one time.
                end_ns: ns(*complete).max(begin),
            });
        }
    }
    messages.sort_by_key(|message| message.end_ns);
    messages
}

/// Nanoseconds of seconds.
fn ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrousel::Status;
    use carrousel_program::programs;
    use carrousel_scenario::load;

    fn done(us: [f64; 3], sent: Option<(u32, u32)>, received: Option<(u32, u32, u64)>) -> Done {
        let received = received.map(|(source, tag, bytes)| Status { source, tag, bytes });
        Done { times: us.map(|us| us / 1e6), sent, received }
    }

    #[test]
    fn a_message_is_drawn_from_when_its_data_could_move_to_its_receiver() {
        let text = "ranks 2\nrank 0\n  compute 5us\n  send to 1 tag 0 size 8\n  a = isend to 1 tag 0 size 64KiB\n  \
                    wait a\nrank 1\n  r = irecv from any tag any size 8\n  recv from 0 tag 0 size 64KiB\n  wait r\n";
        let programs = programs(&load("f", text.as_bytes()).expect("it is right")).expect("it can be run");
        let all = [
            vec![
                done([0.0, 5.0, 5.0], None, None),
                done([5.0, 6.0, 6.0], Some((1, 0)), None),
                done([6.0, 7.0, 40.0], Some((1, 0)), None),
                done([7.0, 40.0, 40.0], None, None),
            ],
            vec![
                done([0.0, 1.0, 43.0], None, Some((0, 0, 8))),
                done([10.0, 42.0, 42.0], None, Some((0, 0, 65536))),
                done([42.0, 43.0, 43.0], None, None),
            ],
        ];
        let Timeline { lanes, messages } = timeline(&programs, &all, 8192);
        let states = |lane: &[Interval]| lane.iter().map(|bar| bar.state).collect::<Vec<_>>();
        use State::{Computing, Library, Waiting};
        assert_eq!(states(&lanes[0]), [Computing, Waiting, Library, Waiting]);
        assert_eq!(states(&lanes[1]), [Library, Waiting, Waiting]);
        assert_eq!((lanes[0][0].start_ns, lanes[0][0].end_ns), (0, 5000));
        let drawn = messages.iter().map(|it| (it.kind, it.bytes, it.start_ns, it.end_ns)).collect::<Vec<_>>();
        // The second could not move before its receive was called; the first was known to be there when it was waited for.
        assert_eq!(drawn, [("data", 65536, 10_000, 42_000), ("EAGER", 8, 5_000, 43_000)]);
    }

    #[test]
    fn messages_with_one_tag_are_drawn_in_the_order_in_which_they_are_sent() {
        let text = "ranks 2\nrank 0\n  send to 1 tag 0 size 8\n  send to 1 tag 1 size 8\n  send to 1 tag 0 size 8\nrank 1\n  \
                    recv from 0 tag 1 size 8\n  recv from 0 tag any size 8\n  recv from 0 tag any size 8\n";
        let programs = programs(&load("f", text.as_bytes()).expect("it is right")).expect("it can be run");
        let send = |at: f64, tag| done([at, at + 1.0, at + 1.0], Some((1, tag)), None);
        let recv = |at: f64, tag| done([at, at + 1.0, at + 1.0], None, Some((0, tag, 8)));
        let all = [
            vec![send(0.0, 0), send(10.0, 1), send(20.0, 0)],
            vec![recv(11.0, 1), recv(12.0, 0), recv(29.0, 0)],
        ];
        let starts =
            timeline(&programs, &all, 8192).messages.iter().map(|it| it.start_ns).collect::<Vec<_>>();
        assert_eq!(starts, [10_000, 0, 20_000]);
    }
}
