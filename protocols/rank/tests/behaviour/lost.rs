//! A peer whose connection is lost.

use crate::pair::{LARGE, Pair, SMALL, bytes, from, options, tag};
use crate::under_both;
use carrousel_rank::*;

under_both!(
    requests_that_need_it_fail,
    new_requests_fail_at_once,
    what_it_said_before_is_still_delivered,
    late_completions_are_ignored,
    a_failed_barrier_is_forgotten,
);

const LOST: Status = Status { message: None, len: 0, failure: Some(Failure::PeerLost(RankId(1))) };

fn lose<P: Protocol>(pair: &mut Pair<P>, rank: u32, peer: u32) {
    assert_eq!(pair.event(rank, Event::Lost(RankId(peer)), &[]), Ok(()));
}

fn requests_that_need_it_fail<P: Protocol>() {
    for announce in [false, true] {
        let mut pair = Pair::<P>::with(3, &options()).announce(announce);
        pair.send(1, 0, 6, &bytes(LARGE, 1));
        pair.run();
        let reading = pair.receive(0, from(1), tag(6), LARGE);
        let offered = pair.send(0, 1, 7, &bytes(LARGE, 1));
        let named = pair.receive(0, from(1), tag(5), LARGE);
        let any = pair.receive(0, Source::Any, tag(5), LARGE);
        let barrier = pair.barrier(0);
        let other = pair.receive(0, from(2), tag(5), LARGE);
        let sent = pair.send(0, 1, 8, &bytes(SMALL, 1));
        lose(&mut pair, 0, 1);
        for request in [reading, offered, named, any, barrier] {
            assert_eq!(pair.status(0, request), LOST);
        }
        assert_eq!(pair.status(0, sent).failure, None, "an eager message was complete");
        pair.send(2, 0, 5, &bytes(LARGE, 2));
        pair.deliver(2, 0, Lane::Forward).expect("rank 2 is there");
        pair.complete(0).expect("the late read of the failed receive, which nobody wants");
        pair.complete(0).expect("the read");
        pair.got(0, other, 2, 5, &bytes(LARGE, 2));
    }
}

fn new_requests_fail_at_once<P: Protocol>() {
    let mut pair = Pair::<P>::announcing();
    lose(&mut pair, 0, 1);
    let requests = [
        pair.send(0, 1, 5, &bytes(SMALL, 1)),
        pair.send(0, 1, 5, &bytes(LARGE, 1)),
        pair.receive(0, from(1), tag(5), LARGE),
        pair.receive(0, Source::Any, TagSelector::Any, LARGE),
        pair.barrier(0),
    ];
    for request in requests {
        assert_eq!(pair.status(0, request), LOST);
    }
    assert_eq!(pair.told(), "", "nothing is sent to a lost peer");
    // Messages to oneself go on.
    pair.send(0, 0, 5, &bytes(LARGE, 1));
    let receive = pair.receive(0, from(0), tag(5), LARGE);
    pair.run();
    pair.got(0, receive, 0, 5, &bytes(LARGE, 1));
    pair.is_over();
}

fn what_it_said_before_is_still_delivered<P: Protocol>() {
    let mut pair = Pair::<P>::new();
    pair.send(1, 0, 5, &bytes(SMALL, 1));
    pair.send(1, 0, 5, &bytes(SMALL, 2));
    pair.send(1, 0, 5, &bytes(LARGE, 3));
    pair.run();
    lose(&mut pair, 0, 1);
    let first = pair.receive(0, from(1), tag(5), SMALL);
    let second = pair.receive(0, Source::Any, TagSelector::Any, SMALL);
    let third = pair.receive(0, from(1), tag(5), LARGE);
    pair.got(0, first, 1, 5, &bytes(SMALL, 1));
    pair.got(0, second, 1, 5, &bytes(SMALL, 2));
    assert_eq!(pair.status(0, third), LOST, "the data behind an RTS is out of reach");
    assert!(pair.ranks[0].is_quiet());
}

fn late_completions_are_ignored<P: Protocol>() {
    let mut pair = Pair::<P>::announcing();
    pair.receive(1, from(0), tag(5), LARGE);
    pair.send(1, 0, 6, &bytes(LARGE, 1));
    pair.run();
    let written = pair.send(0, 1, 5, &bytes(LARGE, 2));
    let read = pair.receive(0, from(1), tag(6), LARGE);
    lose(&mut pair, 0, 1);
    for request in [written, read] {
        assert_eq!(pair.status(0, request), LOST);
    }
    let before = pair.ranks[0].clone();
    assert_eq!(pair.event(0, Event::Written(written), &[]), Ok(()));
    assert_eq!(pair.event(0, Event::Read(read), &[]), Ok(()));
    assert!(pair.ranks[0] == before);
}

fn a_failed_barrier_is_forgotten<P: Protocol>() {
    // In its first round of four ranks, rank 0 hears from rank 3; rank 1 is lost first.
    let mut pair = Pair::<P>::with(4, &options());
    let barrier = pair.barrier(0);
    lose(&mut pair, 0, 1);
    assert_eq!(pair.status(0, barrier), LOST);
    let receive = pair.receive(0, from(2), tag(5), SMALL);
    assert_eq!(receive.index, barrier.index, "its position is used again");
    lose(&mut pair, 0, 3);
    assert!(!pair.is_complete(0, receive), "what was said of the barrier does not concern the receive");
    pair.send(2, 0, 5, &bytes(SMALL, 1));
    pair.run();
    pair.got(0, receive, 2, 5, &bytes(SMALL, 1));
}
