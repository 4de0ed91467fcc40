//! Communicators of some ranks.

use crate::collective::{collective, defined, source};
use crate::pair::{LARGE, Pair, SMALL, from, options, tag};
use crate::under_both;
use carrousel_rank::*;

under_both!(
    members_are_counted_in_the_order_of_the_group,
    messages_wait_for_a_communicator_to_be_defined,
    communicators_do_not_meet,
    a_group_is_checked,
    a_number_is_used_again_for_other_members,
    what_is_in_use_is_not_forgotten,
);

const DONE: Status = Status { message: None, data: None, len: 0, failure: None };

fn part(index: u16) -> Communicator {
    Communicator::new(index).expect("few")
}

fn define<P: Protocol>(pair: &mut Pair<P>, communicator: Communicator, members: &[u32]) {
    for member in members {
        assert_eq!(pair.define(*member, communicator, members), Ok(()));
    }
}

fn members_are_counted_in_the_order_of_the_group<P: Protocol>() {
    let members = [4, 0, 2];
    for kind in [Kind::Broadcast, Kind::Reduce, Kind::Gather, Kind::AllGather, Kind::AllToAll, Kind::Barrier]
    {
        for len in [SMALL, LARGE] {
            let mut pair = Pair::<P>::with(5, &options());
            define(&mut pair, part(3), &members);
            let call = Collective { communicator: part(3), ..collective(kind, 1, len) };
            let of: Vec<Vec<u8>> = (0..3).map(|me| source(&pair, members[me as usize], &call, me)).collect();
            let entered: Vec<_> =
                members.iter().zip(&of).map(|(rank, of)| pair.collective(*rank, &call, of)).collect();
            pair.run_in_any_order(7);
            for (me, (request, target)) in (0..).zip(entered) {
                assert_eq!(pair.status(members[me as usize], request), DONE);
                assert_eq!(pair.target(target), defined(&call, me, &of).unwrap_or_default(), "{call:?}");
            }
            pair.is_over();
        }
    }
}

fn messages_wait_for_a_communicator_to_be_defined<P: Protocol>() {
    for len in [SMALL, LARGE] {
        let mut pair = Pair::<P>::with(3, &options());
        let both = [0, 2];
        assert_eq!(pair.define(0, part(1), &both), Ok(()));
        let call = Collective { communicator: part(1), ..collective(Kind::AllReduce, 0, len) };
        let of = [vec![1; len], vec![2; len]];
        let (first, _) = pair.collective(0, &call, &of[0]);
        pair.run();
        assert!(!pair.is_complete(0, first));
        assert_eq!(pair.define(2, part(1), &both), Ok(()));
        let (second, target) = pair.collective(2, &call, &of[1]);
        pair.run();
        assert_eq!(pair.status(0, first), DONE);
        assert_eq!(pair.status(2, second), DONE);
        assert_eq!(pair.target(target), vec![3; len]);
        pair.is_over();
    }
}

fn communicators_do_not_meet<P: Protocol>() {
    // The same collectives in three communicators, entered by the ranks in different orders.
    let groups: [&[u32]; 2] = [&[0, 1], &[1, 0, 2]];
    let communicators = [Communicator::WORLD, part(1), part(2)];
    for seed in 0..10 {
        let mut pair = Pair::<P>::with(3, &options());
        define(&mut pair, part(1), groups[0]);
        define(&mut pair, part(2), groups[1]);
        let mut open = Vec::new();
        for rank in 0..3_u32 {
            for turn in 0..3_usize {
                let number = (turn + rank as usize) % 3;
                if number == 1 && rank == 2 {
                    continue;
                }
                let communicator = communicators[number];
                let call = Collective { communicator, ..collective(Kind::AllReduce, 0, LARGE) };
                open.push((rank, number, pair.collective(rank, &call, &[1 << number; LARGE])));
            }
        }
        pair.run_in_any_order(seed);
        for (rank, number, (request, target)) in open {
            assert_eq!(pair.status(rank, request), DONE);
            let members = if number == 1 { 2 } else { 3 };
            assert_eq!(pair.target(target), vec![members << number; LARGE], "communicator {number}");
        }
        pair.is_over();
    }
}

fn a_group_is_checked<P: Protocol>() {
    let mut pair = Pair::<P>::with(3, &options());
    let [a, b, none] = [0, 2, 3];
    for (communicator, members, error) in [
        (Communicator::WORLD, &[a, b][..], UsageError::AlreadyDefined(Communicator::WORLD)),
        (part(1), &[b], UsageError::NotAMember(RankId(a))),
        (part(1), &[], UsageError::NotAMember(RankId(a))),
        (part(1), &[a, b, a], UsageError::MemberTwice(RankId(a))),
        (part(1), &[a, none], UsageError::NoSuchRank { rank: RankId(none), ranks: 3 }),
    ] {
        let before = pair.ranks[0].clone();
        assert_eq!(pair.define(0, communicator, members), Err(error));
        assert!(pair.ranks[0] == before);
    }
    assert_eq!(pair.define(0, part(1), &[b, a]), Ok(()));
    assert_eq!(pair.define(0, part(1), &[b, a]), Err(UsageError::AlreadyDefined(part(1))));
    assert_eq!(UsageError::AlreadyDefined(part(1)).to_string(), "communicator 1 is defined already");
}

/// A message of each kind in a communicator, whose receives are announced where that is possible.
fn messages<P: Protocol>(pair: &mut Pair<P>, communicator: Communicator, seed: u64) {
    for (len, seed) in [SMALL, LARGE].into_iter().zip(seed..) {
        let data = vec![len as u8; len];
        let receive = pair.receive_in(communicator, 2, from(0), tag(7), len);
        pair.run_in_any_order(seed);
        let send = pair.send_in(communicator, (0, 2), 7, &data);
        pair.run_in_any_order(seed);
        assert_eq!(pair.status(0, send).failure, None);
        pair.holds(2, receive, &data);
    }
}

fn a_number_is_used_again_for_other_members<P: Protocol>() {
    for seed in 0..10 {
        let mut pair = Pair::<P>::with(3, &options());
        for members in [&[0, 2][..], &[2, 1, 0], &[0, 2], &[1, 2, 0]] {
            define(&mut pair, part(1), members);
            let call = Collective { communicator: part(1), ..collective(Kind::AllReduce, 0, LARGE) };
            let entered = members.iter().map(|rank| (*rank, pair.collective(*rank, &call, &[1; LARGE])));
            let entered: Vec<_> = entered.collect();
            pair.run_in_any_order(seed);
            for (rank, (request, target)) in entered {
                assert_eq!(pair.status(rank, request), DONE);
                assert_eq!(pair.target(target), vec![members.len() as u8; LARGE]);
            }
            messages(&mut pair, part(1), seed);
            for rank in members {
                assert!(pair.ranks[*rank as usize].may_forget(part(1)));
                assert_eq!(pair.ranks[*rank as usize].forget(part(1)), Ok(()));
            }
        }
        pair.is_over();
    }
}

fn what_is_in_use_is_not_forgotten<P: Protocol>() {
    let mut pair = Pair::<P>::with(3, &options());
    let (world, in_use) = (Communicator::WORLD, Err(UsageError::InUse(part(1))));
    assert_eq!(pair.ranks[0].forget(world), Err(UsageError::InUse(world)));
    assert_eq!(pair.ranks[0].forget(part(1)), Err(UsageError::NoSuchCommunicator(part(1))));
    define(&mut pair, part(1), &[0, 2]);
    for len in [SMALL, LARGE] {
        // A message that nobody has received, and its sender's request.
        let send = pair.send_in(part(1), (0, 2), 7, &vec![1; len]);
        pair.run();
        assert!(!pair.ranks[2].may_forget(part(1)));
        assert_eq!(pair.ranks[0].may_forget(part(1)), len == SMALL);
        // A receive that waits.
        let [first, second] = [(); 2].map(|()| pair.receive_in(part(1), 2, Source::Any, tag(7), len));
        pair.run();
        assert_eq!((pair.status(2, first).failure, pair.status(0, send).failure), (None, None));
        assert!(!pair.ranks[2].may_forget(part(1)));
        assert_eq!(pair.ranks[2].forget(part(1)), in_use);
        pair.call(2, Call::Cancel(second)).expect("it is open");
        pair.run();
        pair.status(2, second);
    }
    // A collective that the other one has not entered.
    let call = Collective { communicator: part(1), ..collective(Kind::Barrier, 0, 0) };
    let (barrier, _) = pair.collective(2, &call, &[]);
    assert_eq!(pair.ranks[2].forget(part(1)), in_use);
    let (other, _) = pair.collective(0, &call, &[]);
    pair.run();
    assert_eq!((pair.status(2, barrier), pair.status(0, other)), (DONE, DONE));
    assert!([0, 2].iter().all(|rank| pair.ranks[*rank].may_forget(part(1))));
    assert_eq!(pair.ranks[0].forget(part(1)), Ok(()));
    // A member that was told sooner may send under the number again, which does not prevent it.
    define(&mut pair, part(1), &[0]);
    pair.send_in(part(1), (0, 2), 7, &[1; SMALL]);
    pair.run();
    assert_eq!(pair.ranks[2].forget(part(1)), Ok(()));
    define(&mut pair, part(1), &[2]);
    let receive = pair.receive_in(part(1), 2, Source::Any, tag(7), SMALL);
    pair.got(2, receive, 0, 7, &[1; SMALL]);
}
