//! The written bounds.

use crate::pair::{LARGE, Pair, SMALL, bytes, from, options, tag};
use crate::under_both;
use carrousel_rank::*;

under_both!(
    no_more_receives_are_announced_than_the_limit,
    a_limit_of_nothing_announces_nothing,
    eager_messages_into_announced_receives_stay_within_the_limit,
    eager_messages_of_many_tags_stay_within_the_limit,
    a_driver_that_is_off_or_small_announces_nothing,
);

fn announcing<P: Protocol>(rtr_limit: u16) -> Pair<P> {
    Pair::<P>::with(2, &Options { rtr_limit, ..options() }).announce(true)
}

fn no_more_receives_are_announced_than_the_limit<P: Protocol>() {
    for limit in [1, 2, 7, 64] {
        let mut pair = announcing::<P>(limit);
        let receives: Vec<Handle> = (0..100).map(|_| pair.receive(1, from(0), tag(5), LARGE)).collect();
        pair.run();
        assert_eq!(pair.told().matches("RTR").count(), usize::from(limit));
        for (n, receive) in receives.into_iter().enumerate() {
            pair.send(0, 1, 5, &bytes(LARGE, n as u8));
            pair.run();
            pair.got(1, receive, 0, 5, &bytes(LARGE, n as u8));
        }
        assert_eq!(pair.told().matches("0 write").count(), 100, "a used announcement makes room for another");
        pair.is_over();
    }
}

fn a_limit_of_nothing_announces_nothing<P: Protocol>() {
    let mut pair = announcing::<P>(0);
    let receive = pair.receive(1, from(0), tag(5), LARGE);
    pair.send(0, 1, 5, &bytes(LARGE, 1));
    pair.run();
    assert!(!pair.told().contains("RTR"));
    pair.got(1, receive, 0, 5, &bytes(LARGE, 1));
}

/// Sends 1000 eager messages, with `tag_of` each, into large receives that are announced where they may be,
/// `at_once` of them at a time.
fn mispredict<P: Protocol>(limit: u16, at_once: u32, tag_of: impl Fn(u32) -> u32) {
    let mut pair = announcing::<P>(limit);
    for block in 0..1000 / at_once {
        let messages = block * at_once..(block + 1) * at_once;
        let receives: Vec<_> =
            messages.clone().map(|n| (n, pair.receive(1, from(0), tag(tag_of(n)), LARGE))).collect();
        pair.run();
        for n in messages {
            pair.send(0, 1, tag_of(n), &bytes(SMALL, n as u8));
        }
        pair.run();
        for (n, receive) in receives {
            pair.got(1, receive, 0, tag_of(n), &bytes(SMALL, n as u8));
        }
    }
    pair.is_over();
    // A rendezvous clears what they left.
    pair.told();
    for n in 0..4 {
        let receive = pair.receive(1, from(0), tag(tag_of(0)), LARGE);
        pair.run();
        pair.send(0, 1, tag_of(0), &bytes(LARGE, n));
        pair.run();
        pair.got(1, receive, 0, tag_of(0), &bytes(LARGE, n));
    }
    pair.is_over();
}

fn eager_messages_into_announced_receives_stay_within_the_limit<P: Protocol>() {
    for (limit, at_once) in [(64, 1), (64, 10), (64, 100), (1, 1), (1, 10), (5, 4)] {
        mispredict::<P>(limit, at_once, |_| 5);
    }
}

fn eager_messages_of_many_tags_stay_within_the_limit<P: Protocol>() {
    for (limit, at_once) in [(64, 1), (64, 100), (3, 10)] {
        mispredict::<P>(limit, at_once, |n| n % 7);
        mispredict::<P>(limit, at_once, |n| n);
    }
}

fn a_driver_that_is_off_or_small_announces_nothing<P: Protocol>() {
    let off = Options { speculation: Speculation::Off, ..options() };
    for (options, source, len) in
        [(off, from(0), LARGE), (options(), from(0), SMALL), (options(), Source::Any, LARGE)]
    {
        let mut pair = Pair::<P>::with(2, &options).announce(true);
        pair.receive(1, source, tag(5), len);
        assert_eq!(pair.told(), "");
    }
}
