//! Mistakes of the application, and names of requests.

use crate::pair::{LARGE, Pair, SMALL, bytes, from, tag};
use crate::under_both;
use carrousel_rank::*;

under_both!(
    a_rank_that_does_not_exist_is_refused,
    every_tag_of_64_bits_is_carried,
    a_request_that_is_not_open_is_refused,
    only_receives_are_cancelled,
    a_complete_request_is_released_only_if_its_end_is_wanted,
    a_released_position_is_used_again_under_a_new_name,
);

const MEMORY: Memory = Memory { address: 0, key: 0 };

/// Asserts that the call is refused, asks for nothing and changes nothing.
fn refused<P: Protocol>(pair: &mut Pair<P>, call: Call, error: UsageError) {
    let before = pair.ranks[0].clone();
    assert_eq!(pair.call(0, call), Err(error));
    assert!(pair.ranks[0] == before, "{call:?} changed the rank");
    assert_eq!(pair.told(), "");
}

fn sending(to: u32, tag: u32) -> Call {
    Call::Send(Send {
        to: RankId(to),
        tag: mpi::tag(tag),
        communicator: Communicator::WORLD,
        len: 1,
        memory: MEMORY,
        synchronous: false,
        data: None,
    })
}

fn receiving(from: Source, tag: TagSelector) -> Call {
    Call::Receive(Receive { from, tag, communicator: Communicator::WORLD, len: 1, memory: MEMORY })
}

fn a_rank_that_does_not_exist_is_refused<P: Protocol>() {
    let mut pair = Pair::<P>::new();
    for rank in [2, u32::MAX] {
        let error = UsageError::NoSuchRank { rank: RankId(rank), ranks: 2 };
        refused(&mut pair, sending(rank, 0), error);
        refused(&mut pair, receiving(from(rank), mpi::ANY_TAG), error);
    }
}

fn every_tag_of_64_bits_is_carried<P: Protocol>() {
    for len in [SMALL, LARGE] {
        let mut pair = Pair::<P>::new();
        for tag in [0, 1 << 31, 1 << 32, u64::MAX].map(Tag) {
            let other = pair.receive(1, from(0), TagSelector::exact(Tag(tag.0 ^ 1 << 63)), len);
            let receive = pair.receive(1, from(0), TagSelector::exact(tag), len);
            pair.send_tagged(0, 1, tag, &bytes(len, 1));
            pair.run();
            pair.got_tagged(1, receive, 0, tag, &bytes(len, 1));
            pair.call(1, Call::Cancel(other)).expect("it is a receive");
            pair.run();
            assert_eq!(pair.status(1, other).failure, Some(Failure::Cancelled));
        }
    }
}

#[test]
fn a_tag_above_the_greatest_of_mpi_is_refused_to_mpi() {
    for great in [1 << 31, u32::MAX] {
        let error = Err(UsageError::TagTooGreat { tag: great.into() });
        assert_eq!(sending(1, great).check_mpi_tag(), error);
        assert_eq!(receiving(Source::Any, tag(great)).check_mpi_tag(), error);
    }
    let greatest = (1 << 31) - 1;
    assert_eq!(sending(1, greatest).check_mpi_tag(), Ok(()));
    for right in [tag(greatest), mpi::ANY_TAG] {
        assert_eq!(receiving(Source::Any, right).check_mpi_tag(), Ok(()));
    }
}

fn a_request_that_is_not_open_is_refused<P: Protocol>() {
    let mut pair = Pair::<P>::new();
    let never = Handle { index: 7, generation: 0 };
    let done = pair.send(0, 1, 5, &[]);
    pair.status(0, done);
    pair.told();
    let open = pair.send(0, 1, 5, &[]);
    pair.told();
    assert_eq!(open.index, done.index);
    let next = Handle { generation: open.generation + 1, ..open };
    for request in [never, done, next] {
        refused(&mut pair, Call::Cancel(request), UsageError::NoSuchRequest(request));
        assert_eq!(pair.ranks[0].release(request), Err(UsageError::NoSuchRequest(request)));
        assert_eq!(pair.ranks[0].release_if(request, |status| Some(*status)), None);
        assert!(!pair.is_complete(0, request));
    }
    assert!(pair.is_complete(0, open));
}

fn only_receives_are_cancelled<P: Protocol>() {
    let mut pair = Pair::<P>::new();
    let offered = pair.send(0, 1, 5, &bytes(LARGE, 1));
    let to_self = pair.send(0, 0, 5, &bytes(LARGE, 1));
    let barrier = pair.barrier(0);
    pair.told();
    for request in [offered, to_self, barrier] {
        refused(&mut pair, Call::Cancel(request), UsageError::NotAReceive(request));
        assert_eq!(pair.ranks[0].release(request), Ok(None), "an incomplete request stays");
        assert_eq!(pair.ranks[0].release_if(request, |status| Some(*status)), None, "it stays");
    }
}

fn a_complete_request_is_released_only_if_its_end_is_wanted<P: Protocol>() {
    let mut pair = Pair::<P>::new();
    // On both sides of the positions that are searched one by one.
    let requests = [0; 12].map(|_| pair.send(0, 1, 5, &[]));
    pair.told();
    for request in [requests[11], requests[3]] {
        let before = pair.ranks[0].clone();
        assert_eq!(pair.ranks[0].release_if(request, |_| None::<()>), None);
        assert!(pair.ranks[0] == before, "it stays");
        let status = pair.ranks[0].release_if(request, |status| Some(*status));
        let mut released = before;
        assert_eq!(released.release(request), Ok(status));
        assert!(status.is_some() && pair.ranks[0] == released, "nothing else is left of it");
    }
}

fn a_released_position_is_used_again_under_a_new_name<P: Protocol>() {
    let mut pair = Pair::<P>::new();
    let [a, b, c] = [0, 1, 2].map(|n| pair.receive(1, from(0), tag(n), SMALL));
    assert_eq!([a, b, c].map(|handle| (handle.index, handle.generation)), [(0, 0), (1, 0), (2, 0)]);
    pair.send(0, 1, 1, &bytes(SMALL, 1));
    pair.send(0, 1, 0, &bytes(SMALL, 0));
    pair.run();
    let fourth = pair.receive(1, from(0), tag(3), SMALL);
    assert_eq!(fourth.index, 3, "a complete request keeps its position until it is released");
    pair.got(1, b, 0, 1, &bytes(SMALL, 1));
    pair.got(1, a, 0, 0, &bytes(SMALL, 0));
    let next = pair.receive(1, from(0), tag(4), SMALL);
    assert_eq!(next, Handle { index: 0, generation: 1 }, "the lowest free position");
    assert_eq!(pair.receive(1, from(0), tag(4), SMALL), Handle { index: 1, generation: 1 });
    assert_eq!(pair.receive(1, from(0), tag(4), SMALL), Handle { index: 4, generation: 0 });
    assert!(!pair.is_complete(1, a), "an old name is not the new request");
}
