//! Nobody leaves a barrier before everybody has entered it.

use crate::pair::{LARGE, Pair, bytes, from, options, tag};
use crate::under_both;
use carrousel_rank::*;

under_both!(
    everybody_waits_for_the_last,
    consecutive_barriers_are_apart,
    a_barrier_does_not_block_messages,
    many_barriers_may_be_open,
);

fn everybody_waits_for_the_last<P: Protocol>() {
    for ranks in 1..=9 {
        for last in 0..ranks {
            let mut pair = Pair::<P>::with(ranks, &options());
            let mut entered: Vec<(u32, Handle)> = Vec::new();
            for rank in (0..ranks).filter(|rank| *rank != last) {
                entered.push((rank, pair.barrier(rank)));
                pair.run();
                let complete = entered.iter().find(|(rank, request)| pair.is_complete(*rank, *request));
                assert_eq!(complete, None, "rank {last} of {ranks} has not entered");
            }
            entered.push((last, pair.barrier(last)));
            pair.run();
            for (rank, request) in entered {
                assert_eq!(
                    pair.status(rank, request),
                    Status { message: None, data: None, len: 0, failure: None }
                );
            }
            pair.is_over();
        }
    }
}

fn consecutive_barriers_are_apart<P: Protocol>() {
    for ranks in 2..=9 {
        let mut pair = Pair::<P>::with(ranks, &options());
        // All but the last rank have entered the second one too, none has left the first.
        let early: Vec<_> =
            (0..ranks - 1).map(|rank| (rank, pair.barrier(rank), pair.barrier(rank))).collect();
        pair.run();
        assert!(early.iter().all(|(rank, first, _)| !pair.is_complete(*rank, *first)));
        let first = pair.barrier(ranks - 1);
        pair.run();
        assert!(pair.is_complete(ranks - 1, first));
        for (rank, first, second) in &early {
            assert!(pair.is_complete(*rank, *first), "rank {rank} of {ranks}");
            assert!(!pair.is_complete(*rank, *second), "rank {rank} of {ranks}");
        }
        let second = pair.barrier(ranks - 1);
        pair.run();
        assert!(pair.is_complete(ranks - 1, second));
        assert!(early.iter().all(|(rank, _, second)| pair.is_complete(*rank, *second)));
        pair.is_over();
    }
}

fn a_barrier_does_not_block_messages<P: Protocol>() {
    let mut pair = Pair::<P>::announcing();
    let left = pair.barrier(0);
    let any = pair.receive(1, Source::Any, mpi::ANY_TAG, LARGE);
    pair.run();
    assert!(!pair.is_complete(1, any), "the barrier's messages are not the application's");
    pair.send(0, 1, 0, &bytes(LARGE, 1));
    pair.run();
    pair.got(1, any, 0, 0, &bytes(LARGE, 1));
    assert!(!pair.is_complete(0, left));
    let right = pair.barrier(1);
    pair.send(1, 0, 0, &bytes(3, 2));
    pair.run();
    assert!(pair.is_complete(0, left) && pair.is_complete(1, right));
    let receive = pair.receive(0, from(1), tag(0), LARGE);
    pair.got(0, receive, 1, 0, &bytes(3, 2));
    pair.is_over();
}

fn many_barriers_may_be_open<P: Protocol>() {
    // More than `credit_every`, so that ACK travels too.
    let mut pair = Pair::<P>::with(3, &options());
    let mut open: Vec<(u32, Handle)> = Vec::new();
    for rank in 0..3 {
        open.extend((0..200).map(|_| (rank, pair.barrier(rank))));
    }
    pair.run();
    assert!(open.iter().all(|(rank, request)| pair.is_complete(*rank, *request)));
    pair.is_over();
}
