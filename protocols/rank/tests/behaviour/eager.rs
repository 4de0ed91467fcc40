//! Small messages: the data travels with the envelope.

use crate::pair::{Pair, SMALL, THRESHOLD, bytes, from, options, tag};
use crate::under_both;
use carrousel_rank::*;

under_both!(
    a_message_finds_its_receive,
    a_message_waits_for_its_receive,
    a_longer_message_is_truncated,
    a_shorter_message_leaves_the_rest_alone,
    an_empty_message_has_an_envelope,
    an_empty_synchronous_message_waits,
    a_synchronous_message_completes_when_it_is_received,
    a_probe_sees_what_a_receive_would_get,
    a_receive_that_may_be_announced_does_not_take_the_next_message_at_once,
);

fn a_message_finds_its_receive<P: Protocol>() {
    let mut pair = Pair::<P>::new();
    let receive = pair.receive(1, from(0), tag(5), SMALL);
    let send = pair.send(0, 1, 5, &bytes(SMALL, 1));
    assert!(pair.is_complete(0, send), "an eager message does not wait");
    assert!(!pair.is_complete(1, receive));
    pair.run();
    pair.got(1, receive, 0, 5, &bytes(SMALL, 1));
    assert_eq!(pair.status(0, send), Status { message: None, data: None, len: SMALL as u64, failure: None });
    assert_eq!(pair.told(), "0 EAGER");
    pair.is_over();
}

fn a_message_waits_for_its_receive<P: Protocol>() {
    let mut pair = Pair::<P>::new();
    pair.send(0, 1, 5, &bytes(SMALL, 1));
    pair.send(0, 1, 5, &bytes(SMALL, 2));
    pair.run();
    let first = pair.receive(1, from(0), tag(5), SMALL);
    let second = pair.receive(1, from(0), tag(5), SMALL);
    pair.got(1, first, 0, 5, &bytes(SMALL, 1));
    pair.got(1, second, 0, 5, &bytes(SMALL, 2));
    pair.is_over();
}

fn a_longer_message_is_truncated<P: Protocol>() {
    for early in [true, false] {
        let mut pair = Pair::<P>::new();
        let receive = early.then(|| pair.receive(1, from(0), tag(5), 3));
        pair.send(0, 1, 5, &bytes(SMALL, 1));
        pair.run();
        let receive = receive.unwrap_or_else(|| pair.receive(1, from(0), tag(5), 3));
        let status = pair.status(1, receive);
        let failure = Some(Failure::Truncated { sent: SMALL as u64 });
        assert_eq!(status, Status { message: Some((RankId(0), Tag(5))), data: None, len: 3, failure });
        pair.holds(1, receive, &bytes(3, 1));
        pair.is_over();
    }
}

fn a_shorter_message_leaves_the_rest_alone<P: Protocol>() {
    let mut pair = Pair::<P>::new();
    let receive = pair.receive(1, from(0), tag(5), SMALL);
    pair.send(0, 1, 5, &bytes(2, 1));
    pair.run();
    pair.got(1, receive, 0, 5, &bytes(2, 1));
}

fn an_empty_message_has_an_envelope<P: Protocol>() {
    for early in [true, false] {
        let mut pair = Pair::<P>::new();
        let receive = early.then(|| pair.receive(1, from(0), tag(5), 0));
        pair.send(0, 1, 5, &[]);
        pair.run();
        let receive = receive.unwrap_or_else(|| pair.receive(1, from(0), tag(5), 0));
        pair.got(1, receive, 0, 5, &[]);
        pair.is_over();
    }
}

fn an_empty_synchronous_message_waits<P: Protocol>() {
    let mut pair = Pair::<P>::new();
    let send = pair.ssend(0, 1, 5, &[]);
    pair.run();
    assert!(!pair.is_complete(0, send));
    let receive = pair.receive(1, from(0), tag(5), 0);
    pair.run();
    pair.got(1, receive, 0, 5, &[]);
    assert_eq!(pair.status(0, send).failure, None);
    assert!(!pair.told().contains("read"), "there is nothing to read");
    pair.is_over();
}

fn a_synchronous_message_completes_when_it_is_received<P: Protocol>() {
    let mut pair = Pair::<P>::new();
    let send = pair.ssend(0, 1, 5, &bytes(SMALL, 1));
    pair.run();
    assert!(!pair.is_complete(0, send), "it has no receive");
    let other = pair.receive(1, from(0), tag(6), SMALL);
    pair.run();
    assert!(!pair.is_complete(0, send), "a receive with another tag is not its receive");
    let receive = pair.receive(1, from(0), tag(5), SMALL);
    pair.run();
    assert!(pair.is_complete(0, send));
    pair.got(1, receive, 0, 5, &bytes(SMALL, 1));
    assert!(!pair.is_complete(1, other));
}

fn a_probe_sees_what_a_receive_would_get<P: Protocol>() {
    let mut pair = Pair::<P>::new();
    let any = Pattern { source: Source::Any, tag: mpi::ANY_TAG, context: Context::MESSAGES };
    let seven = Pattern { tag: tag(7), ..any };
    pair.send(0, 1, 5, &bytes(SMALL, 1));
    assert_eq!(pair.ranks[1].probe(&any), None, "it is still under way");
    pair.run();
    pair.send(0, 1, 7, &bytes(40, 2)); // by rendezvous: an RTS is enough for a probe
    pair.run();
    pair.send(1, 1, 7, &bytes(2, 3)); // to itself
    pair.run();
    let arrived = |source, tag, len| {
        let envelope = Envelope { source: RankId(source), tag: mpi::tag(tag), context: any.context };
        Arrived { envelope, data: None, len }
    };
    assert_eq!(pair.ranks[1].probe(&any), Some(arrived(0, 5, SMALL as u64)));
    assert_eq!(pair.ranks[1].probe(&seven), Some(arrived(0, 7, 40)));
    assert_eq!(pair.ranks[1].probe(&Pattern { source: from(1), ..any }), Some(arrived(1, 7, 2)));
    assert_eq!(pair.ranks[1].probe(&Pattern { tag: tag(8), ..any }), None);
    assert_eq!(pair.ranks[1].probe(&Pattern { context: Context::COLLECTIVES, ..any }), None);
    let receive = pair.receive(1, Source::Any, tag(7), 40);
    pair.run();
    pair.got(1, receive, 0, 7, &bytes(40, 2));
    assert_eq!(pair.ranks[1].probe(&seven), Some(arrived(1, 7, 2)), "the next one is first now");
}

fn a_receive_that_may_be_announced_does_not_take_the_next_message_at_once<P: Protocol>() {
    let (envelope, memory) = (
        Envelope { source: RankId(0), tag: Tag(5), context: Context::MESSAGES },
        Memory { address: 0, key: 0 },
    );
    let rank = Rank::<P>::new(RankId(1), &Job { ranks: 2 }, &options());
    for (len, takes) in [(THRESHOLD, true), (THRESHOLD + 1, false)] {
        let (mut rank, mut work) = (rank.clone(), Vec::new());
        let receive = Receive { from: from(0), tag: tag(5), communicator: Communicator::WORLD, len, memory };
        let status = rank.receive_next(&receive, envelope, SMALL as u64, &mut work);
        assert_eq!((status.is_some(), !work.is_empty()), (takes, takes), "{len} bytes");
    }
}
