//! Large messages: who was early, and which packets that takes.

use crate::pair::{LARGE, Pair, SMALL, bytes, from, options, tag};
use crate::under_both;
use carrousel_rank::*;

under_both!(
    an_early_sender_is_read,
    a_reader_that_computes_holds_no_sender,
    an_early_receiver_without_announcement_reads,
    an_early_receiver_is_written_into,
    an_announcement_that_crosses_its_message_is_dropped,
    an_eager_message_takes_an_announced_receive,
    a_message_behind_a_misprediction_is_not_written_there,
    a_declined_announcement_is_not_used_again,
    a_read_is_truncated,
    a_message_that_does_not_fit_is_not_written,
    a_cleared_write_fills_its_receive,
    a_cleared_write_is_truncated,
    many_messages_in_both_directions,
);

/// What the rule sets say once a message is written into an announced receive.
fn writing<P: Protocol>() -> &'static str {
    // Under the published rules the receiver hears of the write at once, and of its end.
    if notice_is_behind::<P>() { "1 RTR, 0 write" } else { "1 RTR, 0 RTR-ACK, 0 write, 0 ATP" }
}

/// What an RTS is answered with, before the data moves.
fn answer<P: Protocol>() -> &'static str {
    if notice_is_behind::<P>() { "" } else { "1 RTS-ACK, " }
}

/// The notice of a write travels behind it.
fn notice_is_behind<P: Protocol>() -> bool {
    P::notice() == carrousel_rendezvous::Notice::FinBehindWrite
}

fn an_early_sender_is_read<P: Protocol>() {
    let mut pair = Pair::<P>::announcing();
    let send = pair.send(0, 1, 5, &bytes(LARGE, 1));
    pair.run();
    assert!(!pair.is_complete(0, send));
    let receive = pair.receive(1, from(0), tag(5), LARGE);
    pair.run();
    assert_eq!(pair.told(), format!("0 RTS, {}1 read, 1 ATS", answer::<P>()));
    pair.got(1, receive, 0, 5, &bytes(LARGE, 1));
    assert_eq!(pair.status(0, send), Status { message: None, data: None, len: LARGE as u64, failure: None });
    pair.is_over();
}

fn a_reader_that_computes_holds_no_sender<P: Protocol>() {
    let mut pair = Pair::<P>::announcing();
    let send = pair.send(0, 1, 5, &bytes(LARGE, 1));
    pair.run();
    let receive = pair.receive(1, from(0), tag(5), LARGE);
    if P::release() != carrousel_rendezvous::Release::AtsBehindRead {
        // The published rules need the receiver's call.
        assert_eq!(pair.told(), format!("0 RTS, {}1 read", answer::<P>()));
        return;
    }
    pair.complete(1).expect("the data lands, of which rank 1 hears nothing");
    pair.deliver(1, 0, Direction::ToSender).expect("the ATS behind it");
    assert!(pair.is_complete(0, send));
    assert!(!pair.is_complete(1, receive));
    pair.run();
    pair.got(1, receive, 0, 5, &bytes(LARGE, 1));
    pair.is_over();
}

fn an_early_receiver_without_announcement_reads<P: Protocol>() {
    let mut pair = Pair::<P>::new();
    let receive = pair.receive(1, from(0), tag(5), LARGE);
    let send = pair.send(0, 1, 5, &bytes(LARGE, 1));
    pair.run();
    assert_eq!(pair.told(), format!("0 RTS, {}1 read, 1 ATS", answer::<P>()));
    pair.got(1, receive, 0, 5, &bytes(LARGE, 1));
    assert!(pair.is_complete(0, send));
    pair.is_over();
}

fn an_early_receiver_is_written_into<P: Protocol>() {
    let mut pair = Pair::<P>::announcing();
    let receive = pair.receive(1, from(0), tag(5), LARGE);
    pair.run();
    let send = pair.send(0, 1, 5, &bytes(LARGE, 1));
    assert!(!pair.is_complete(0, send), "its data is still being written");
    pair.run();
    assert_eq!(pair.told(), writing::<P>());
    pair.got(1, receive, 0, 5, &bytes(LARGE, 1));
    assert_eq!(pair.status(0, send), Status { message: None, data: None, len: LARGE as u64, failure: None });
    pair.is_over();
}

fn an_announcement_that_crosses_its_message_is_dropped<P: Protocol>() {
    let mut pair = Pair::<P>::announcing();
    let first = pair.receive(1, from(0), tag(5), LARGE); // the RTR is under way,
    pair.send(0, 1, 5, &bytes(LARGE, 1)); // and so is the RTS
    pair.deliver(1, 0, Direction::ToSender).expect("the RTR");
    pair.run();
    assert_eq!(pair.told(), "1 RTR, 0 RTS, 1 read, 1 ATS", "a receive that sent RTR acknowledges nothing");
    pair.got(1, first, 0, 5, &bytes(LARGE, 1));
    pair.send(0, 1, 5, &bytes(LARGE, 2));
    pair.run();
    let second = pair.receive(1, from(0), tag(5), LARGE);
    pair.run();
    pair.got(1, second, 0, 5, &bytes(LARGE, 2));
    pair.holds(1, first, &bytes(LARGE, 1));
    pair.is_over();
}

fn an_eager_message_takes_an_announced_receive<P: Protocol>() {
    let mut pair = Pair::<P>::announcing();
    let receive = pair.receive(1, from(0), tag(5), LARGE);
    pair.run();
    pair.send(0, 1, 5, &bytes(SMALL, 1));
    pair.run();
    pair.got(1, receive, 0, 5, &bytes(SMALL, 1));
    pair.is_over();
}

fn a_message_behind_a_misprediction_is_not_written_there<P: Protocol>() {
    // The RTR arrives before the eager message is sent, after it, and after the large one.
    for delivered in 0..3 {
        let mut pair = Pair::<P>::announcing();
        let first = pair.receive(1, from(0), tag(5), LARGE);
        let at = |pair: &mut Pair<P>, now| {
            if now == delivered {
                pair.deliver(1, 0, Direction::ToSender).expect("the RTR");
            }
        };
        at(&mut pair, 0);
        pair.send(0, 1, 5, &bytes(SMALL, 1));
        at(&mut pair, 1);
        pair.send(0, 1, 5, &bytes(LARGE, 2));
        at(&mut pair, 2);
        pair.run();
        pair.got(1, first, 0, 5, &bytes(SMALL, 1));
        let second = pair.receive(1, from(0), tag(5), LARGE);
        pair.run();
        pair.got(1, second, 0, 5, &bytes(LARGE, 2));
        // The flow recovers: sooner or later receives are written into again.
        pair.told();
        for seed in 3..8 {
            let receive = pair.receive(1, from(0), tag(5), LARGE);
            pair.run();
            pair.send(0, 1, 5, &bytes(LARGE, seed));
            pair.run();
            pair.got(1, receive, 0, 5, &bytes(LARGE, seed));
        }
        assert!(pair.told().ends_with(writing::<P>()));
        pair.is_over();
    }
}

fn a_declined_announcement_is_not_used_again<P: Protocol>() {
    let mut pair = Pair::<P>::announcing();
    let first = pair.receive(1, from(0), tag(5), LARGE);
    let second = pair.receive(1, from(0), tag(5), 2 * LARGE);
    pair.run();
    pair.send(0, 1, 5, &bytes(LARGE + 1, 1)); // does not fit the first
    pair.send(0, 1, 5, &bytes(2 * LARGE, 2));
    pair.run();
    assert!(pair.told().contains("0 write"), "the second one is written into");
    assert_eq!(pair.status(1, first).failure, Some(Failure::Truncated { sent: LARGE as u64 + 1 }));
    pair.holds(1, first, &bytes(LARGE, 1));
    pair.got(1, second, 0, 5, &bytes(2 * LARGE, 2));
    pair.is_over();
}

fn is_truncated<P: Protocol>(pair: &mut Pair<P>, receive: Handle, send: Handle) {
    let failure = Some(Failure::Truncated { sent: LARGE as u64 });
    let message = Some((RankId(0), Tag(5)));
    assert_eq!(pair.status(1, receive), Status { message, data: None, len: 20, failure });
    pair.holds(1, receive, &bytes(20, 1));
    assert_eq!(pair.status(0, send), Status { message: None, data: None, len: LARGE as u64, failure: None });
    pair.is_over();
}

fn a_read_is_truncated<P: Protocol>() {
    let mut pair = Pair::<P>::new();
    let send = pair.send(0, 1, 5, &bytes(LARGE, 1));
    pair.run();
    let receive = pair.receive(1, from(0), tag(5), 20);
    pair.run();
    is_truncated(&mut pair, receive, send);
}

fn a_message_that_does_not_fit_is_not_written<P: Protocol>() {
    let mut pair = Pair::<P>::announcing();
    let receive = pair.receive(1, from(0), tag(5), 20);
    pair.run();
    let send = pair.send(0, 1, 5, &bytes(LARGE, 1));
    pair.run();
    assert_eq!(pair.told(), "1 RTR, 0 RTS, 1 read, 1 ATS");
    is_truncated(&mut pair, receive, send);
}

/// Two ranks whose senders write when they are told to.
fn writers<P: Protocol>() -> Pair<P> {
    Pair::with(2, &Options { transfer: Transfer::Write, ..options() })
}

fn a_cleared_write_fills_its_receive<P: Protocol>() {
    for early in [true, false] {
        let mut pair = writers::<P>();
        let receive = early.then(|| pair.receive(1, from(0), tag(5), LARGE));
        let send = pair.send(0, 1, 5, &bytes(LARGE, 1));
        pair.run();
        let receive = receive.unwrap_or_else(|| pair.receive(1, from(0), tag(5), LARGE));
        assert_eq!(pair.is_complete(0, send), early);
        pair.run();
        assert_eq!(pair.told(), format!("0 RTS, {}1 CTS, 0 write", answer::<P>()));
        pair.got(1, receive, 0, 5, &bytes(LARGE, 1));
        assert_eq!(pair.status(0, send).failure, None);
        pair.is_over();
    }
}

fn a_cleared_write_is_truncated<P: Protocol>() {
    let mut pair = writers::<P>();
    let send = pair.send(0, 1, 5, &bytes(LARGE, 1));
    let receive = pair.receive(1, from(0), tag(5), 20);
    pair.run();
    is_truncated(&mut pair, receive, send);
}

fn many_messages_in_both_directions<P: Protocol>() {
    let mut pair = Pair::<P>::announcing();
    for round in 0..200_u32 {
        // Every mixture of early and late, small and large, and of two tags.
        let seed = round as u8;
        let large = |which: u32| round.is_multiple_of(which);
        let len = |which| if large(which) { LARGE } else { SMALL };
        let (there, back) = (bytes(len(3), seed), bytes(len(5), !seed));
        let receives = |pair: &mut Pair<P>| {
            [pair.receive(0, from(1), tag(round % 2), LARGE), pair.receive(1, from(0), tag(round % 2), LARGE)]
        };
        let early = round.is_multiple_of(7).then(|| receives(&mut pair));
        if round.is_multiple_of(2) {
            pair.run();
        }
        let sends = [pair.send(1, 0, round % 2, &back), pair.send(0, 1, round % 2, &there)];
        let [left, right] = early.unwrap_or_else(|| receives(&mut pair));
        pair.run();
        pair.got(0, left, 1, round % 2, &back);
        pair.got(1, right, 0, round % 2, &there);
        assert_eq!(pair.status(1, sends[0]).failure, None);
        assert_eq!(pair.status(0, sends[1]).failure, None);
    }
    pair.is_over();
}
