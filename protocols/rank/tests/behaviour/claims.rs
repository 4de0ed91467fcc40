//! Messages that are claimed before they are received.

use crate::pair::{LARGE, Pair, SMALL, bytes, from, options, tag};
use crate::under_both;
use carrousel_rank::*;

under_both!(
    only_what_has_arrived_is_claimed,
    a_claimed_message_is_nobody_elses,
    claims_are_received_in_any_order,
    the_next_message_is_announced_past_a_claimed_one,
    a_discarded_message_is_gone,
    a_claimed_message_is_truncated,
    illegal_uses_are_refused,
    an_offer_of_a_lost_peer_cannot_be_received,
    what_was_claimed_keeps_its_communicator_in_use,
    a_claim_returns_room_when_it_is_received,
);

/// Claims a message of rank 0 with tag 5 at rank 1, which has come.
fn claim<P: Protocol>(pair: &mut Pair<P>) -> (Handle, Arrived) {
    pair.claim(1, from(0), tag(5)).expect("it has come")
}

fn only_what_has_arrived_is_claimed<P: Protocol>() {
    for len in [SMALL, LARGE] {
        let mut pair = Pair::<P>::new();
        pair.send_beside(0, 1, &bytes(len, 1), false, Some(3));
        assert_eq!(pair.claim(1, from(0), tag(5)), None, "it is still under way");
        pair.run();
        let before = pair.ranks[1].clone();
        assert_eq!(pair.claim(1, from(0), tag(6)), None);
        assert_eq!(pair.claim(1, from(1), tag(5)), None);
        assert!(pair.ranks[1] == before, "nothing was claimed");
        let (request, arrived) = pair.claim(1, Source::Any, mpi::ANY_TAG).expect("it has come");
        let envelope = Envelope { source: RankId(0), tag: mpi::tag(5), context: Context::MESSAGES };
        assert_eq!(arrived, Arrived { envelope, data: Some(3), len: len as u64 });
        assert!(!pair.is_complete(1, request) && pair.ranks[1].is_claimed(request));
        assert_eq!(pair.ranks[1].progress_of(request), Some("claimed; neither received nor discarded"));
        pair.receive_claimed(1, request, LARGE).expect("it is claimed");
        pair.run();
        assert_eq!(pair.status(1, request).data, Some(3));
        pair.holds(1, request, &bytes(len, 1));
        pair.is_over();
    }
}

fn a_claimed_message_is_nobody_elses<P: Protocol>() {
    // Bit `n`: message `n` is large.
    for pattern in 0..8_u8 {
        let mut pair = Pair::<P>::announcing();
        let data = |n: u8| bytes(if pattern & (1 << n) == 0 { SMALL } else { LARGE }, n);
        for n in 0..3 {
            pair.send(0, 1, 5, &data(n));
        }
        pair.run();
        let (first, _) = claim(&mut pair);
        let any = pair.receive(1, Source::Any, mpi::ANY_TAG, LARGE);
        let any_pattern = Pattern { source: Source::Any, tag: mpi::ANY_TAG, context: Context::MESSAGES };
        let probed = pair.ranks[1].probe(&any_pattern).expect("the third one");
        assert_eq!(probed.len, data(2).len() as u64);
        let (third, _) = claim(&mut pair);
        assert_eq!(pair.claim(1, from(0), tag(5)), None, "there are three");
        pair.run();
        pair.got(1, any, 0, 5, &data(1));
        for (request, n) in [(third, 2), (first, 0)] {
            pair.receive_claimed(1, request, LARGE).expect("it is claimed");
            pair.run();
            pair.got(1, request, 0, 5, &data(n));
        }
        pair.is_over();
    }
}

fn claims_are_received_in_any_order<P: Protocol>() {
    for len in [SMALL, LARGE] {
        let mut pair = Pair::<P>::new();
        let sends = [1, 2].map(|n| pair.send(0, 1, 5, &bytes(len, n)));
        pair.run();
        let claimed = [0; 2].map(|_| claim(&mut pair).0);
        pair.receive_claimed(1, claimed[1], LARGE).expect("it is claimed");
        pair.run();
        pair.got(1, claimed[1], 0, 5, &bytes(len, 2));
        assert_eq!(pair.is_complete(0, sends[0]), len == SMALL, "its data is still where it was");
        pair.receive_claimed(1, claimed[0], LARGE).expect("it is claimed");
        pair.run();
        pair.got(1, claimed[0], 0, 5, &bytes(len, 1));
        assert!(sends.iter().all(|send| pair.is_complete(0, *send)));
        pair.is_over();
    }
}

fn the_next_message_is_announced_past_a_claimed_one<P: Protocol>() {
    let mut pair = Pair::<P>::announcing();
    pair.send(0, 1, 5, &bytes(LARGE, 1));
    pair.run();
    let (claimed, _) = claim(&mut pair);
    let next = pair.receive(1, from(0), tag(5), LARGE);
    pair.run();
    pair.told();
    pair.send(0, 1, 5, &bytes(LARGE, 2));
    pair.run();
    assert!(pair.told().contains("0 write"), "the claimed message is not the announced receive's");
    pair.got(1, next, 0, 5, &bytes(LARGE, 2));
    pair.receive_claimed(1, claimed, LARGE).expect("it is claimed");
    pair.run();
    pair.got(1, claimed, 0, 5, &bytes(LARGE, 1));
    pair.is_over();
}

fn a_discarded_message_is_gone<P: Protocol>() {
    for len in [0, SMALL, LARGE] {
        let mut pair = Pair::<P>::new();
        let send = pair.send_beside(0, 1, &bytes(len, 1), false, Some(4));
        pair.run();
        let (request, _) = claim(&mut pair);
        assert_eq!(pair.call(1, Call::Discard(request)), Ok(request));
        pair.run();
        let message = Some((RankId(0), mpi::tag(5)));
        assert_eq!(pair.status(1, request), Status { message, data: Some(4), len: 0, failure: None });
        assert!(pair.is_complete(0, send), "its sender does not wait");
        pair.is_over();
    }
}

fn a_claimed_message_is_truncated<P: Protocol>() {
    for len in [SMALL, LARGE] {
        let mut pair = Pair::<P>::new();
        pair.send(0, 1, 5, &bytes(len, 1));
        pair.run();
        let (request, _) = claim(&mut pair);
        pair.receive_claimed(1, request, 2).expect("it is claimed");
        pair.run();
        let status = pair.status(1, request);
        assert_eq!((status.len, status.failure), (2, Some(Failure::Truncated { sent: len as u64 })));
        pair.holds(1, request, &bytes(len, 1)[..2]);
        pair.is_over();
    }
}

fn illegal_uses_are_refused<P: Protocol>() {
    for len in [SMALL, LARGE] {
        let mut pair = Pair::<P>::new();
        pair.send(0, 1, 5, &bytes(len, 1));
        pair.run();
        let posted = pair.receive(1, from(0), tag(6), SMALL);
        let offered = pair.send(1, 0, 5, &bytes(LARGE, 1));
        let barrier = pair.barrier(1);
        let (claimed, _) = claim(&mut pair);
        pair.told();
        let refused = |pair: &mut Pair<P>, call: Call, error: UsageError| {
            let before = pair.ranks[1].clone();
            assert_eq!(pair.call(1, call), Err(error));
            assert!(pair.ranks[1] == before && pair.told().is_empty(), "{call:?} changed the rank");
        };
        let memory = Memory { address: 0, key: 1 };
        let uses = |message| {
            [Call::ReceiveClaimed(ReceiveClaimed { message, len: 0, memory }), Call::Discard(message)]
        };
        for request in [posted, offered, barrier] {
            uses(request)
                .into_iter()
                .for_each(|call| refused(&mut pair, call, UsageError::NotClaimed(request)));
        }
        let never = Handle { generation: claimed.generation + 1, ..claimed };
        uses(never).into_iter().for_each(|call| refused(&mut pair, call, UsageError::NoSuchRequest(never)));
        refused(&mut pair, Call::Cancel(claimed), UsageError::NotAReceive(claimed));
        assert_eq!(pair.ranks[1].release(claimed), Ok(None), "nobody has said yet what becomes of it");
        assert!(!pair.ranks[1].is_quiet());
        pair.receive_claimed(1, claimed, LARGE).expect("it is claimed");
        pair.told();
        // While it is read, and when it is complete.
        for _ in 0..2 {
            uses(claimed)
                .into_iter()
                .for_each(|call| refused(&mut pair, call, UsageError::NotClaimed(claimed)));
            pair.run();
            pair.told();
        }
    }
}

fn an_offer_of_a_lost_peer_cannot_be_received<P: Protocol>() {
    for discard in [false, true] {
        let mut pair = Pair::<P>::with(3, &options());
        pair.send(0, 1, 5, &bytes(SMALL, 1));
        pair.send(0, 1, 5, &bytes(LARGE, 2));
        pair.run();
        let [(kept, _), (offered, _)] = [0; 2].map(|_| claim(&mut pair));
        pair.event(1, Event::Lost(RankId(0)), &[]).expect("it may be lost");
        pair.told();
        if discard {
            for request in [kept, offered] {
                assert_eq!(pair.call(1, Call::Discard(request)), Ok(request));
                assert_eq!(pair.status(1, request).failure, None);
            }
        } else {
            pair.receive_claimed(1, offered, LARGE).expect("it is claimed");
            let failure = Some(Failure::PeerLost(RankId(0)));
            assert_eq!(pair.status(1, offered), Status { message: None, data: None, len: 0, failure });
            pair.receive_claimed(1, kept, LARGE).expect("it is claimed");
            pair.got(1, kept, 0, 5, &bytes(SMALL, 1));
        }
        assert_eq!(pair.told(), "", "nothing is said to a lost peer");
        assert!(pair.ranks[1].is_quiet());
    }
}

fn what_was_claimed_keeps_its_communicator_in_use<P: Protocol>() {
    let mut pair = Pair::<P>::new();
    let own = Communicator::new(1).expect("there may be several");
    for rank in [0, 1] {
        pair.define(rank, own, &[0, 1]).expect("it is new");
    }
    pair.send_in(own, (0, 1), 5, &bytes(SMALL, 1));
    pair.run();
    let (request, _) = pair.claim_in(own, 1, from(0), tag(5)).expect("it has come");
    assert_eq!(pair.ranks[1].forget(own), Err(UsageError::InUse(own)));
    pair.call(1, Call::Discard(request)).expect("it is claimed");
    assert_eq!(pair.ranks[1].forget(own), Ok(()));
}

fn a_claim_returns_room_when_it_is_received<P: Protocol>() {
    let window = 2 * cost(SMALL as u64);
    let options = Options { eager_window: window, ..options() };
    for discard in [false, true] {
        let mut pair = Pair::<P>::with(2, &options);
        for n in 0..2 {
            pair.send(0, 1, 5, &bytes(SMALL, n));
        }
        pair.run();
        let claimed = [0; 2].map(|_| claim(&mut pair).0);
        pair.told();
        pair.send(0, 1, 6, &bytes(SMALL, 9));
        pair.run();
        // The published rules have no window.
        let full = pair.told();
        assert_eq!(full.contains("RTS"), P::eager_fits_window(), "what is claimed is still held: {full}");
        for request in claimed {
            if discard {
                pair.call(1, Call::Discard(request)).expect("it is claimed");
            } else {
                pair.receive_claimed(1, request, SMALL).expect("it is claimed");
            }
        }
        pair.run();
        pair.told();
        pair.send(0, 1, 6, &bytes(SMALL, 8));
        pair.run();
        let told = pair.told();
        assert!(told.contains("EAGER"), "its room is free again: {told}");
    }
}
