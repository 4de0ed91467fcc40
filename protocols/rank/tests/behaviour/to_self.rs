//! A rank is a peer of itself.

use crate::pair::{LARGE, Pair, SMALL, bytes, from, tag};
use crate::under_both;
use carrousel_rank::*;

under_both!(
    a_small_message_outlives_its_buffer,
    a_large_message_waits_for_its_receive,
    an_announced_receive_is_written_into,
    a_message_that_is_too_long_is_truncated,
    a_synchronous_message_waits_however_small,
    another_message_may_come_first,
);

fn a_small_message_outlives_its_buffer<P: Protocol>() {
    let mut pair = Pair::<P>::new();
    let sends = [1, 2].map(|seed| pair.send(0, 0, 5, &bytes(SMALL, seed)));
    pair.run();
    for send in sends {
        pair.status(0, send);
    }
    pair.overwrite_sent(0);
    for seed in 1..3 {
        let receive = pair.receive(0, Source::Any, mpi::ANY_TAG, SMALL);
        pair.got(0, receive, 0, 5, &bytes(SMALL, seed));
    }
    pair.is_over();
}

fn a_large_message_waits_for_its_receive<P: Protocol>() {
    let mut pair = Pair::<P>::new();
    let send = pair.send(0, 0, 5, &bytes(LARGE, 1));
    pair.run();
    assert!(!pair.is_complete(0, send));
    let receive = pair.receive(0, from(0), tag(5), LARGE);
    pair.run();
    pair.got(0, receive, 0, 5, &bytes(LARGE, 1));
    assert_eq!(pair.status(0, send), Status { message: None, data: None, len: LARGE as u64, failure: None });
    pair.is_over();
}

fn an_announced_receive_is_written_into<P: Protocol>() {
    let mut pair = Pair::<P>::announcing();
    let receive = pair.receive(0, from(0), tag(5), LARGE);
    pair.run();
    let send = pair.send(0, 0, 5, &bytes(LARGE, 1));
    assert!(pair.told().contains("0 write"));
    pair.run();
    pair.got(0, receive, 0, 5, &bytes(LARGE, 1));
    pair.status(0, send);
    pair.is_over();
}

fn a_message_that_is_too_long_is_truncated<P: Protocol>() {
    for (len, early) in [(SMALL, false), (SMALL, true), (LARGE, false), (LARGE, true)] {
        let mut pair = Pair::<P>::new();
        let receive = early.then(|| pair.receive(0, from(0), tag(5), 3));
        let send = pair.send(0, 0, 5, &bytes(len, 1));
        let receive = receive.unwrap_or_else(|| pair.receive(0, from(0), tag(5), 3));
        pair.run();
        let failure = Some(Failure::Truncated { sent: len as u64 });
        let message = Some((RankId(0), Tag(5)));
        assert_eq!(pair.status(0, receive), Status { message, data: None, len: 3, failure });
        pair.holds(0, receive, &bytes(3, 1));
        assert_eq!(
            pair.status(0, send),
            Status { message: None, data: None, len: len as u64, failure: None }
        );
        pair.is_over();
    }
}

fn a_synchronous_message_waits_however_small<P: Protocol>() {
    let mut pair = Pair::<P>::new();
    let send = pair.ssend(0, 0, 5, &[]);
    pair.run();
    assert!(!pair.is_complete(0, send));
    let receive = pair.receive(0, from(0), tag(5), 0);
    pair.run();
    assert!(pair.is_complete(0, send));
    pair.got(0, receive, 0, 5, &[]);
    pair.is_over();
}

/// Nothing orders messages of different senders, and oneself is one of them.
fn another_message_may_come_first<P: Protocol>() {
    let mut pair = Pair::<P>::new();
    pair.send(0, 0, 5, &bytes(SMALL, 1));
    pair.send(1, 0, 5, &bytes(SMALL, 2));
    pair.deliver(1, 0, Direction::ToReceiver).expect("it is right");
    let first = pair.receive(0, Source::Any, tag(5), SMALL);
    pair.run();
    let second = pair.receive(0, Source::Any, tag(5), SMALL);
    pair.got(0, first, 1, 5, &bytes(SMALL, 2));
    pair.got(0, second, 0, 5, &bytes(SMALL, 1));
    pair.is_over();
}
