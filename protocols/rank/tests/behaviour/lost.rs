//! A peer whose connection is lost.

use crate::collective::{collective, defined, source};
use crate::pair::{LARGE, Pair, SMALL, bytes, from, options, tag};
use crate::under_both;
use carrousel_rank::*;

under_both!(
    requests_that_need_it_fail,
    new_requests_fail_at_once,
    what_it_said_before_is_still_delivered,
    late_completions_are_ignored,
    a_failed_barrier_is_forgotten,
    a_collective_fails_in_any_round,
    what_living_members_read_stays_lent,
    who_goes_no_further_declines_what_is_offered,
    who_learns_late_of_a_communicator_declines_what_was_offered,
    who_is_no_member_concerns_no_receive,
    a_group_without_the_peer_goes_on,
);

const LOST: Status =
    Status { message: None, data: None, len: 0, failure: Some(Failure::PeerLost(RankId(1))) };

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
        pair.deliver(2, 0, Direction::ToReceiver).expect("rank 2 is there");
        pair.complete_all(0).expect("the late read of the failed receive, which nobody wants, and the read");
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
        pair.receive(0, Source::Any, mpi::ANY_TAG, LARGE),
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
    let second = pair.receive(0, Source::Any, mpi::ANY_TAG, SMALL);
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

fn a_collective_fails_in_any_round<P: Protocol>() {
    let kinds = [Kind::Barrier, Kind::Reduce, Kind::AllReduce, Kind::AllGather, Kind::AllToAll, Kind::Gather];
    for (kind, len) in kinds.into_iter().flat_map(|kind| [(kind, SMALL), (kind, LARGE), (kind, 6002)]) {
        for transfer in [Transfer::Read, Transfer::Write] {
            for seed in 0..8 {
                let mut pair = Pair::<P>::with(4, &Options { transfer, ..options() });
                let call = collective(kind, 0, len);
                // Rank 1 never comes; the others go as far as they can, or not at all.
                let open: Vec<_> = [0, 2, 3]
                    .map(|me| (me, pair.collective(me, &call, &source(&pair, me, &call, me))))
                    .into();
                let further = pair.barrier(0);
                if seed > 0 {
                    pair.run_some_in_any_order(seed, seed as usize * 2);
                }
                for rank in [0, 2, 3] {
                    lose(&mut pair, rank, 1);
                }
                // What was under way lands.
                pair.run_late();
                for (me, (request, _)) in open {
                    let status = pair.status(me, request);
                    assert!(status == LOST || status.failure.is_none(), "{call:?} at {me}: {status:?}");
                }
                assert_eq!(pair.status(0, further), LOST);
                for rank in [0, 2, 3] {
                    assert_eq!(pair.ranks[rank].pending().count(), 0, "{call:?} at {rank}");
                }
                let receive = pair.receive(0, from(2), tag(0), LARGE);
                pair.send(2, 0, 0, &bytes(LARGE, 1));
                pair.run_late();
                pair.got(0, receive, 2, 0, &bytes(LARGE, 1));
            }
        }
    }
}

fn what_living_members_read_stays_lent<P: Protocol>() {
    for transfer in [Transfer::Read, Transfer::Write] {
        let mut pair = Pair::<P>::with(3, &Options { transfer, ..options() });
        let call = collective(Kind::Broadcast, 0, LARGE);
        // Rank 0 offers its message to rank 2 first, and loses rank 1 before rank 2 has taken it.
        let (root, _) = pair.collective(0, &call, &bytes(LARGE, 1));
        let (leaf, target) = pair.collective(2, &call, &[]);
        lose(&mut pair, 0, 1);
        assert!(!pair.is_complete(0, root), "its memory is still read");
        pair.run();
        assert_eq!(pair.status(0, root), LOST);
        assert_eq!(pair.status(2, leaf).failure, None);
        assert_eq!(pair.target(target), bytes(LARGE, 1));
        // A rank that knows of the loss declines offers, whichever of the two comes first.
        let (root, _) = pair.collective(0, &call, &bytes(LARGE, 1));
        assert_eq!(pair.status(0, root), LOST);
    }
}

fn who_goes_no_further_declines_what_is_offered<P: Protocol>() {
    for (early, enters) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut pair = Pair::<P>::with(3, &options());
        let call = collective(Kind::Broadcast, 0, LARGE);
        let leaf = enters.then(|| pair.collective(2, &call, &[]).0);
        if early {
            lose(&mut pair, 2, 1);
        }
        let (root, _) = pair.collective(0, &call, &bytes(LARGE, 1));
        if !enters || early {
            pair.deliver_in_context(0, 2, Context::COLLECTIVES, Direction::ToReceiver)
                .expect("the offer is right");
        }
        lose(&mut pair, 0, 1);
        assert!(!pair.is_complete(0, root), "rank 2 has not answered");
        if !early {
            lose(&mut pair, 2, 1);
        }
        pair.run();
        assert_eq!(pair.status(0, root), LOST);
        if let Some(leaf) = leaf {
            assert_eq!(pair.status(2, leaf), LOST);
        }
        assert_eq!(pair.ranks[2].unexpected().count(), 0);
    }
}

fn who_learns_late_of_a_communicator_declines_what_was_offered<P: Protocol>() {
    let mut pair = Pair::<P>::with(3, &options());
    let part = Communicator::new(1).expect("few");
    assert_eq!(pair.define(0, part, &[0, 1, 2]), Ok(()));
    let call = Collective { communicator: part, ..collective(Kind::Broadcast, 0, LARGE) };
    let (root, _) = pair.collective(0, &call, &bytes(LARGE, 1));
    pair.deliver_in_context(0, 2, part.collectives(), Direction::ToReceiver).expect("the offer is right");
    lose(&mut pair, 0, 1);
    lose(&mut pair, 2, 1);
    assert!(!pair.is_complete(0, root), "rank 2 does not know yet that this concerns it");
    // It need not enter a collective that cannot succeed.
    assert_eq!(pair.define(2, part, &[0, 1, 2]), Ok(()));
    pair.run();
    assert_eq!(pair.status(0, root), LOST);
    assert_eq!(pair.ranks[2].unexpected().count(), 0);
}

fn who_is_no_member_concerns_no_receive<P: Protocol>() {
    let mut pair = Pair::<P>::with(3, &options());
    let part = Communicator::new(1).expect("few");
    for rank in [0, 2] {
        assert_eq!(pair.define(rank, part, &[2, 0]), Ok(()));
    }
    let in_part = |pair: &mut Pair<P>| pair.receive_in(part, 0, Source::Any, mpi::ANY_TAG, SMALL);
    let (before, everywhere) = (in_part(&mut pair), pair.receive(0, Source::Any, mpi::ANY_TAG, SMALL));
    lose(&mut pair, 0, 1);
    let after = in_part(&mut pair);
    assert_eq!(pair.status(0, everywhere), LOST);
    assert!(!pair.is_complete(0, before) && !pair.is_complete(0, after));
    assert_eq!(pair.ranks[0].lost_for(Source::Any, part), None);
    assert_eq!(pair.ranks[0].lost_for(Source::Any, Communicator::WORLD), Some(RankId(1)));
    lose(&mut pair, 0, 2);
    for receive in [before, after] {
        assert_eq!(pair.status(0, receive).failure, Some(Failure::PeerLost(RankId(2))));
    }
}

fn a_group_without_the_peer_goes_on<P: Protocol>() {
    for len in [SMALL, LARGE] {
        let mut pair = Pair::<P>::with(3, &options());
        let part = Communicator::new(1).expect("few");
        for rank in [0, 2] {
            assert_eq!(pair.define(rank, part, &[2, 0]), Ok(()));
        }
        let call = Collective { communicator: part, ..collective(Kind::AllGather, 0, len) };
        let of: Vec<Vec<u8>> = [(2, 0), (0, 1)].map(|(rank, me)| source(&pair, rank, &call, me)).into();
        let (first, target) = pair.collective(0, &call, &of[1]);
        lose(&mut pair, 0, 1);
        let (second, _) = pair.collective(2, &call, &of[0]);
        pair.run();
        assert_eq!(pair.status(0, first).failure, None);
        assert_eq!(pair.status(2, second).failure, None);
        assert_eq!(pair.target(target), defined(&call, 1, &of).expect("all get it"));
        pair.is_over();
    }
}
