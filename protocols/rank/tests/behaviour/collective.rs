//! Collectives do what they are defined to do, whatever the network does.

use crate::pair::{LARGE, Pair, SMALL, THRESHOLD, add, bytes, from, options, tag};
use crate::under_both;
use carrousel_rank::*;

under_both!(
    each_does_what_it_is_defined_to_do,
    messages_and_collectives_do_not_meet,
    more_than_there_are_lanes_wait_for_each_other,
    a_root_does_not_wait_for_what_is_buffered,
    members_that_disagree_are_told,
    what_contradicts_itself_is_refused,
);

const DONE: Status = Status { message: None, data: None, len: 0, failure: None };

pub(crate) fn collective(kind: Kind, root: u32, len: usize) -> Collective {
    let len = if kind == Kind::Barrier { 0 } else { len as u64 };
    Collective { kind, root, element: 2, len, ..Collective::barrier(Communicator::WORLD) }
}

/// What member `me` contributes.
pub(crate) fn source<P: Protocol>(pair: &Pair<P>, rank: u32, call: &Collective, me: u32) -> Vec<u8> {
    let schedule = pair.ranks[rank as usize].schedule(call).expect("the collective is right");
    bytes(schedule.source_and_target_len().0 as usize, me as u8 * 50 + 3)
}

/// What is at member `me` by the definition, of the contributions `of`; `None`: its target is empty.
pub(crate) fn defined(call: &Collective, me: u32, of: &[Vec<u8>]) -> Option<Vec<u8>> {
    let (len, is_root) = (call.len as usize, me == call.root);
    let sum = || {
        let mut sum = vec![0; len];
        of.iter().for_each(|source| add(&mut sum, source));
        sum
    };
    match call.kind {
        Kind::Barrier => None,
        Kind::Broadcast => (!is_root).then(|| of[call.root as usize].clone()),
        Kind::Reduce => is_root.then(sum),
        Kind::AllReduce => Some(sum()),
        Kind::Gather => is_root.then(|| of.concat()),
        Kind::AllGather => Some(of.concat()),
        Kind::AllToAll => {
            Some(of.iter().flat_map(|source| &source[me as usize * len..][..len]).copied().collect())
        }
    }
}

fn each_does_what_it_is_defined_to_do<P: Protocol>() {
    // Nothing, eager, by rendezvous, and what goes another way.
    let sizes = [0, SMALL, LARGE, 2050, 6002];
    let transfers = [Transfer::Read, Transfer::Write];
    for (number, kind) in (0..).zip(Kind::ALL) {
        for ranks in 1..=5 {
            for root in
                0..if matches!(kind, Kind::Broadcast | Kind::Reduce | Kind::Gather) { ranks } else { 1 }
            {
                for (size, transfer) in sizes.iter().flat_map(|size| transfers.map(|way| (*size, way))) {
                    let mut pair = Pair::<P>::with(ranks, &Options { transfer, ..options() }).announce(true);
                    let call = collective(kind, root, size);
                    let of: Vec<Vec<u8>> = (0..ranks).map(|me| source(&pair, me, &call, me)).collect();
                    // One after the other, each as late as can be, or all at once.
                    let one_by_one = size == LARGE;
                    let entered: Vec<_> = (0..ranks)
                        .map(|me| (me + root) % ranks)
                        .map(|me| {
                            let entered = pair.collective(me, &call, &of[me as usize]);
                            if one_by_one {
                                pair.run();
                            }
                            (me, entered)
                        })
                        .collect();
                    pair.run_in_any_order(number + u64::from(ranks));
                    for (me, (request, target)) in entered {
                        let what = format!("{call:?} of {ranks}, at {me}, {transfer:?}");
                        assert_eq!(pair.status(me, request), DONE, "{what}");
                        let expected = defined(&call, me, &of).unwrap_or_default();
                        assert_eq!(pair.target(target), expected, "{what}");
                    }
                    pair.is_over();
                }
            }
        }
    }
}

fn messages_and_collectives_do_not_meet<P: Protocol>() {
    for len in [SMALL, LARGE] {
        for seed in 0..20 {
            let mut pair = Pair::<P>::with(3, &options()).announce(true);
            let any = [0, 1, 2].map(|me| pair.receive(me, Source::Any, mpi::ANY_TAG, LARGE));
            let mut open = Vec::new();
            let mut of = Vec::new();
            let calls =
                [(Kind::AllReduce, len), (Kind::Gather, 8), (Kind::AllToAll, len), (Kind::Barrier, 0)];
            for (kind, len) in calls {
                let call = collective(kind, 1, len);
                let sources: Vec<Vec<u8>> = (0..3).map(|me| source(&pair, me, &call, me)).collect();
                for me in 0..3 {
                    open.push((of.len(), me, pair.collective(me, &call, &sources[me as usize])));
                }
                of.push((call, sources));
            }
            for me in 0..3 {
                pair.send((me + 1) % 3, me, 0, &bytes(len, me as u8));
            }
            pair.run_in_any_order(seed);
            for (number, me, (request, target)) in open {
                assert_eq!(pair.status(me, request), DONE);
                let (call, sources) = &of[number];
                assert_eq!(pair.target(target), defined(call, me, sources).unwrap_or_default(), "{call:?}");
            }
            for me in 0..3 {
                pair.got(me, any[me as usize], (me + 1) % 3, 0, &bytes(len, me as u8));
            }
            assert!(pair.ranks.iter().all(Rank::is_quiet));
        }
    }
}

fn more_than_there_are_lanes_wait_for_each_other<P: Protocol>() {
    for seed in 0..5 {
        let mut pair = Pair::<P>::with(3, &options());
        let mut open = Vec::new();
        let mut of = Vec::new();
        for number in 0..5 * LANES as usize {
            // Different kinds, roots and sizes, so that a message in the wrong hands would be noticed.
            let call = collective(Kind::ALL[number % Kind::ALL.len()], number as u32 % 3, 2 * (1 + number));
            let seed =
                |me: u32| source(&pair, me, &call, me).iter().map(|byte| byte ^ number as u8).collect();
            of.push((call, (0..3).map(seed).collect::<Vec<Vec<u8>>>()));
        }
        for me in 0..3 {
            for (number, (call, sources)) in of.iter().enumerate() {
                open.push((number, me, pair.collective(me, call, &sources[me as usize])));
            }
        }
        pair.run_in_any_order(seed);
        for (number, me, (request, target)) in open {
            assert_eq!(pair.status(me, request), DONE, "collective {number}");
            let (call, sources) = &of[number];
            assert_eq!(pair.target(target), defined(call, me, sources).unwrap_or_default(), "{call:?}");
        }
        pair.is_over();
    }
}

/// A collective is no barrier: who only sends is done when what it sends is buffered.
fn a_root_does_not_wait_for_what_is_buffered<P: Protocol>() {
    for (len, waits) in [(THRESHOLD as usize, false), (THRESHOLD as usize + 2, true)] {
        let mut pair = Pair::<P>::with(3, &options());
        let call = collective(Kind::Broadcast, 0, len);
        let (root, _) = pair.collective(0, &call, &bytes(len, 1));
        pair.run();
        assert_eq!(pair.is_complete(0, root), !waits);
        if !waits {
            pair.overwrite_sent(0);
        }
        let entered = [1, 2].map(|me| (me, pair.collective(me, &call, &[])));
        pair.run();
        for (me, (request, target)) in entered {
            assert_eq!(pair.status(me, request), DONE);
            assert_eq!(pair.target(target), bytes(len, 1));
        }
        assert_eq!(pair.status(0, root), DONE);
        pair.is_over();
    }
}

/// A member that expects less than it gets does not write past its end, and still lets the others go on.
fn members_that_disagree_are_told<P: Protocol>() {
    for (sent, room) in [(SMALL, 2), (LARGE, SMALL), (LARGE, 0)] {
        for early in [false, true] {
            let mut pair = Pair::<P>::with(4, &options());
            let (call, less) = (collective(Kind::Broadcast, 0, sent), collective(Kind::Broadcast, 0, room));
            let first = early.then(|| pair.collective(1, &less, &[]));
            let (root, _) = pair.collective(0, &call, &bytes(sent, 1));
            pair.run();
            let (first, target) = first.unwrap_or_else(|| pair.collective(1, &less, &[]));
            let others = [2, 3].map(|me| (me, pair.collective(me, &call, &[])));
            pair.run();
            for (me, (request, target)) in others {
                assert_eq!(pair.status(me, request), DONE);
                assert_eq!(pair.target(target), bytes(sent, 1));
            }
            let status = pair.status(1, first);
            if room > 0 {
                assert_eq!(status.failure, Some(Failure::Truncated { sent: sent as u64 }));
                assert_eq!(pair.target(target), &bytes(sent, 1)[..room]);
            } else {
                assert_eq!(status, DONE, "who expects nothing takes part in nothing");
            }
            assert_eq!(pair.is_complete(0, root), room > 0 || sent == SMALL);
        }
    }
}

fn what_contradicts_itself_is_refused<P: Protocol>() {
    let mut pair = Pair::<P>::with(3, &options());
    let right = collective(Kind::Reduce, 0, 8);
    let misfit = |misfit| UsageError::Collective(misfit);
    let nowhere = Communicator::new(7).expect("few");
    for (call, error) in [
        (Collective { root: 3, ..right }, misfit(ShapeError::CommRank { comm_rank: 3, members: 3 })),
        (Collective { element: 3, ..right }, misfit(ShapeError::Element { len: 8, element: 3 })),
        (
            Collective { len: u64::MAX - 1, ..right },
            misfit(ShapeError::TooLong { len: u64::MAX - 1, members: 3 }),
        ),
        (Collective { communicator: nowhere, ..right }, UsageError::NoSuchCommunicator(nowhere)),
    ] {
        let before = pair.ranks[0].clone();
        assert_eq!(pair.call(0, Call::Collective(call)), Err(error));
        assert!(pair.ranks[0] == before);
    }
    // Nothing of that counts as a collective.
    let call = collective(Kind::Broadcast, 0, SMALL);
    let open: Vec<_> = (0..3).map(|me| pair.collective(me, &call, &source(&pair, me, &call, 0))).collect();
    let receive = pair.receive(0, from(1), tag(0), SMALL);
    pair.run();
    for (me, (request, _)) in (0..).zip(open) {
        assert_eq!(pair.status(me, request), DONE);
    }
    assert!(!pair.is_complete(0, receive));
}
