//! Messages of a rank to itself.

use crate::pair::{LARGE, Pair, SMALL, bytes, from, tag};
use crate::under_both;
use carrousel_rank::*;

under_both!(
    a_small_message_is_kept,
    a_small_message_outlives_its_buffer,
    a_large_message_waits_for_its_receive,
    a_receive_that_is_there_gets_the_message_at_once,
    a_message_that_is_too_long_is_truncated,
    a_synchronous_message_waits_however_small,
);

fn a_small_message_is_kept<P: Protocol>() {
    let mut pair = Pair::<P>::announcing();
    let first = pair.send(0, 0, 5, &bytes(SMALL, 1));
    let second = pair.send(0, 0, 5, &bytes(SMALL, 2));
    assert!(pair.is_complete(0, first) && pair.is_complete(0, second));
    for seed in 1..3 {
        let receive = pair.receive(0, from(0), tag(5), SMALL);
        pair.got(0, receive, 0, 5, &bytes(SMALL, seed));
    }
    assert_eq!(pair.told(), "", "nothing goes over the network");
    pair.is_over();
}

fn a_small_message_outlives_its_buffer<P: Protocol>() {
    let mut pair = Pair::<P>::new();
    let send = pair.send(0, 0, 5, &bytes(SMALL, 1));
    pair.status(0, send);
    pair.overwrite_sent(0);
    let receive = pair.receive(0, Source::Any, TagSelector::Any, SMALL);
    pair.got(0, receive, 0, 5, &bytes(SMALL, 1));
}

fn a_large_message_waits_for_its_receive<P: Protocol>() {
    let mut pair = Pair::<P>::announcing();
    let send = pair.send(0, 0, 5, &bytes(LARGE, 1));
    assert!(!pair.is_complete(0, send));
    let receive = pair.receive(0, from(0), tag(5), LARGE);
    assert!(pair.is_complete(0, send));
    pair.got(0, receive, 0, 5, &bytes(LARGE, 1));
    assert_eq!(pair.status(0, send), Status { message: None, len: LARGE as u64, failure: None });
    assert_eq!(pair.told(), "");
    pair.is_over();
}

fn a_receive_that_is_there_gets_the_message_at_once<P: Protocol>() {
    for len in [0, SMALL, LARGE] {
        for source in [from(0), Source::Any] {
            let mut pair = Pair::<P>::announcing();
            let receive = pair.receive(0, source, tag(5), LARGE);
            let send = pair.send(0, 0, 5, &bytes(len, 1));
            assert!(pair.is_complete(0, send));
            pair.got(0, receive, 0, 5, &bytes(len, 1));
            assert_eq!(pair.told(), "");
            pair.is_over();
        }
    }
}

fn a_message_that_is_too_long_is_truncated<P: Protocol>() {
    for (len, early) in [(SMALL, false), (SMALL, true), (LARGE, false), (LARGE, true)] {
        let mut pair = Pair::<P>::new();
        let receive = early.then(|| pair.receive(0, from(0), tag(5), 3));
        let send = pair.send(0, 0, 5, &bytes(len, 1));
        let receive = receive.unwrap_or_else(|| pair.receive(0, from(0), tag(5), 3));
        let failure = Some(Failure::Truncated { sent: len as u64 });
        let message = Some((RankId(0), Tag(5)));
        assert_eq!(pair.status(0, receive), Status { message, len: 3, failure });
        pair.holds(0, receive, &bytes(3, 1));
        assert_eq!(pair.status(0, send), Status { message: None, len: len as u64, failure: None });
        pair.is_over();
    }
}

fn a_synchronous_message_waits_however_small<P: Protocol>() {
    let mut pair = Pair::<P>::new();
    let send = pair.ssend(0, 0, 5, &[]);
    assert!(!pair.is_complete(0, send));
    let receive = pair.receive(0, from(0), tag(5), 0);
    assert!(pair.is_complete(0, send));
    pair.got(0, receive, 0, 5, &[]);
    pair.is_over();
}
