//! Taking back a receive.

use crate::pair::{LARGE, Pair, SMALL, bytes, from, tag};
use crate::under_both;
use carrousel_rank::*;

under_both!(
    an_unannounced_receive_is_cancelled_at_once,
    an_announced_receive_asks_its_sender,
    a_message_that_is_on_its_way_wins,
    an_eager_message_before_the_answer_wins,
    a_receive_that_has_its_message_keeps_it,
    cancelling_twice_asks_once,
    the_receive_behind_a_cancelled_one_gets_the_message,
);

const CANCELLED: Status = Status { message: None, data: None, len: 0, failure: Some(Failure::Cancelled) };

fn cancel<P: Protocol>(pair: &mut Pair<P>, rank: u32, request: Handle) {
    assert_eq!(pair.call(rank, Call::Cancel(request)), Ok(request));
}

fn an_unannounced_receive_is_cancelled_at_once<P: Protocol>() {
    let mut pair = Pair::<P>::new();
    for source in [from(0), from(1), Source::Any] {
        let receive = pair.receive(1, source, tag(5), LARGE);
        cancel(&mut pair, 1, receive);
        assert_eq!(pair.status(1, receive), CANCELLED);
        pair.holds(1, receive, &[]);
    }
    assert_eq!(pair.told(), "");
    pair.is_over();
}

fn an_announced_receive_asks_its_sender<P: Protocol>() {
    let mut pair = Pair::<P>::announcing();
    let receive = pair.receive(1, from(0), tag(5), LARGE);
    cancel(&mut pair, 1, receive);
    assert!(!pair.is_complete(1, receive), "the sender may be writing");
    pair.run();
    assert_eq!(pair.told(), "1 RTR, 1 CANCEL, 0 CANCEL-ACK");
    assert_eq!(pair.status(1, receive), CANCELLED);
    pair.is_over();
    // Nothing of it is left: the next message goes to the next receive.
    pair.send(0, 1, 5, &bytes(LARGE, 1));
    pair.run();
    let next = pair.receive(1, from(0), tag(5), LARGE);
    pair.run();
    pair.got(1, next, 0, 5, &bytes(LARGE, 1));
    pair.is_over();
}

fn a_message_that_is_on_its_way_wins<P: Protocol>() {
    let mut pair = Pair::<P>::announcing();
    let receive = pair.receive(1, from(0), tag(5), LARGE);
    pair.run();
    let send = pair.send(0, 1, 5, &bytes(LARGE, 1)); // the write is on its way
    cancel(&mut pair, 1, receive);
    pair.run();
    assert!(pair.told().contains("1 CANCEL, "));
    pair.got(1, receive, 0, 5, &bytes(LARGE, 1));
    assert_eq!(pair.status(0, send).failure, None);
    pair.is_over();
}

fn an_eager_message_before_the_answer_wins<P: Protocol>() {
    let mut pair = Pair::<P>::announcing();
    let receive = pair.receive(1, from(0), tag(5), LARGE);
    pair.run();
    pair.send(0, 1, 5, &bytes(SMALL, 1));
    cancel(&mut pair, 1, receive);
    pair.run();
    pair.got(1, receive, 0, 5, &bytes(SMALL, 1));
    pair.is_over();
}

fn a_receive_that_has_its_message_keeps_it<P: Protocol>() {
    let mut pair = Pair::<P>::new();
    let done = pair.receive(1, from(0), tag(5), LARGE);
    pair.send(0, 1, 5, &bytes(SMALL, 1));
    pair.run();
    cancel(&mut pair, 1, done);
    pair.got(1, done, 0, 5, &bytes(SMALL, 1));

    pair.send(0, 1, 5, &bytes(LARGE, 2));
    pair.run();
    let reading = pair.receive(1, from(0), tag(5), LARGE);
    cancel(&mut pair, 1, reading);
    pair.run();
    pair.got(1, reading, 0, 5, &bytes(LARGE, 2));
    pair.is_over();
}

fn cancelling_twice_asks_once<P: Protocol>() {
    let mut pair = Pair::<P>::announcing();
    let receive = pair.receive(1, from(0), tag(5), LARGE);
    cancel(&mut pair, 1, receive);
    cancel(&mut pair, 1, receive);
    pair.run();
    cancel(&mut pair, 1, receive);
    assert_eq!(pair.told(), "1 RTR, 1 CANCEL, 0 CANCEL-ACK");
    assert_eq!(pair.status(1, receive), CANCELLED);
}

fn the_receive_behind_a_cancelled_one_gets_the_message<P: Protocol>() {
    for announce in [false, true] {
        let mut pair = Pair::<P>::new().announce(announce);
        let [first, second] = [0; 2].map(|_| pair.receive(1, from(0), tag(5), LARGE));
        pair.run();
        cancel(&mut pair, 1, first);
        pair.run();
        pair.send(0, 1, 5, &bytes(LARGE, 1));
        pair.run();
        assert_eq!(pair.status(1, first), CANCELLED);
        pair.holds(1, first, &[]);
        pair.got(1, second, 0, 5, &bytes(LARGE, 1));
        pair.is_over();
    }
}
