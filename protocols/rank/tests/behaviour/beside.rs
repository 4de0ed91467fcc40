//! The 8 bytes that travel with a message beside its own, whichever way it takes.

use crate::pair::{LARGE, Pair, SMALL, bytes, from, tag};
use crate::under_both;
use carrousel_rank::*;

under_both!(
    an_eager_message_has_them,
    an_offered_message_has_them,
    a_synchronous_message_has_them,
    an_announced_receive_gets_them,
    a_message_that_crosses_its_announcement_has_them,
    a_cleared_write_has_them,
    a_truncated_message_has_them,
    a_message_to_itself_has_them,
);

/// None, some of which are easily taken for none, and all bits.
const BESIDE: [Option<u64>; 4] = [None, Some(0), Some(7), Some(u64::MAX)];

/// Asserts that a receive has got the message that `sent` says.
fn got<P: Protocol>(pair: &mut Pair<P>, receive: Handle, data: Option<u64>, len: usize) {
    let status = pair.status(1, receive);
    let message = Some((RankId(0), mpi::tag(5)));
    assert_eq!(status, Status { message, data, len: len as u64, failure: None }, "{}", pair.told());
    pair.holds(1, receive, &bytes(len, 1));
}

/// Sends one message for each of the values, the receive posted before or behind it.
fn each<P: Protocol>(len: usize, synchronous: bool, way: &str) {
    for (early, data) in [false, true].into_iter().flat_map(|early| BESIDE.map(|data| (early, data))) {
        let mut pair = Pair::<P>::new();
        let before = early.then(|| pair.receive(1, from(0), tag(5), LARGE));
        let send = pair.send_beside(0, 1, &bytes(len, 1), synchronous, data);
        pair.run();
        if before.is_none() {
            let any = Pattern { source: Source::Any, tag: mpi::ANY_TAG, context: Context::MESSAGES };
            let found = pair.ranks[1].probe(&any).expect("it has come");
            assert_eq!((found.data, found.len), (data, len as u64), "a probe tells of them");
        }
        let receive = before.unwrap_or_else(|| pair.receive(1, from(0), tag(5), LARGE));
        pair.run();
        assert!(pair.told().contains(way));
        got(&mut pair, receive, data, len);
        assert_eq!(
            pair.status(0, send),
            Status { message: None, data: None, len: len as u64, failure: None }
        );
        pair.is_over();
    }
}

fn an_eager_message_has_them<P: Protocol>() {
    each::<P>(SMALL, false, "0 EAGER");
    each::<P>(0, false, "0 EAGER");
}

fn an_offered_message_has_them<P: Protocol>() {
    each::<P>(LARGE, false, "1 read");
}

fn a_synchronous_message_has_them<P: Protocol>() {
    each::<P>(SMALL, true, "1 read");
    each::<P>(0, true, "0 RTS");
}

fn an_announced_receive_gets_them<P: Protocol>() {
    for data in BESIDE {
        let mut pair = Pair::<P>::announcing();
        let receive = pair.receive(1, from(0), tag(5), LARGE);
        pair.run();
        pair.send_beside(0, 1, &bytes(LARGE, 1), false, data);
        pair.run();
        assert!(pair.told().contains("0 write"));
        got(&mut pair, receive, data, LARGE);
        pair.is_over();
    }
}

fn a_message_that_crosses_its_announcement_has_them<P: Protocol>() {
    for data in BESIDE {
        let mut pair = Pair::<P>::announcing();
        let receive = pair.receive(1, from(0), tag(5), LARGE); // the RTR is under way,
        pair.send_beside(0, 1, &bytes(LARGE, 1), false, data); // and so is the RTS
        pair.deliver(1, 0, Direction::ToSender).expect("the RTR");
        pair.run();
        assert_eq!(pair.told(), "1 RTR, 0 RTS, 1 read, 1 ATS");
        got(&mut pair, receive, data, LARGE);
        pair.is_over();
    }
}

fn a_cleared_write_has_them<P: Protocol>() {
    let options = Options { transfer: Transfer::Write, ..crate::pair::options() };
    for data in BESIDE {
        let mut pair = Pair::<P>::with(2, &options);
        pair.send_beside(0, 1, &bytes(LARGE, 1), false, data);
        pair.run();
        let receive = pair.receive(1, from(0), tag(5), LARGE);
        pair.run();
        assert!(pair.told().contains("CTS"));
        got(&mut pair, receive, data, LARGE);
        pair.is_over();
    }
}

fn a_truncated_message_has_them<P: Protocol>() {
    for len in [SMALL, LARGE] {
        let mut pair = Pair::<P>::new();
        pair.send_beside(0, 1, &bytes(len, 1), false, Some(9));
        let receive = pair.receive(1, from(0), tag(5), 2);
        pair.run();
        let status = pair.status(1, receive);
        let failure = Some(Failure::Truncated { sent: len as u64 });
        assert_eq!((status.data, status.len, status.failure), (Some(9), 2, failure));
    }
}

fn a_message_to_itself_has_them<P: Protocol>() {
    for len in [SMALL, LARGE] {
        let mut pair = Pair::<P>::new();
        pair.send_beside(1, 1, &bytes(len, 1), false, Some(9));
        let receive = pair.receive(1, from(1), tag(5), LARGE);
        pair.run();
        assert_eq!(pair.status(1, receive).data, Some(9));
    }
}
