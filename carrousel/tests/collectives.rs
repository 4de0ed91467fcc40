//! Collectives, and communicators of some ranks, between ranks that are threads.

use carrousel::{Any, Class, Communicator, Error, threads};
use std::sync::Arc;

/// Elements in each contribution: nothing, little, and more than one message is sent eagerly with.
const LENGTHS: [usize; 4] = [0, 1, 300, 5_000];

fn run(ranks: u32, body: impl Fn(&Communicator) + Sync) {
    threads(ranks, body).expect("the job can be set up");
}

fn mine(rank: u32, length: usize) -> Vec<u64> {
    (0..length as u64).map(|at| u64::from(rank) * 1_000_003 + at * 17).collect()
}

fn check(world: &Communicator) {
    let (me, size) = (world.rank(), world.size());
    for length in LENGTHS {
        let own = mine(me, length);
        let sum: Vec<u64> =
            (0..length).map(|at| (0..size).map(|rank| mine(rank, length)[at]).sum()).collect();
        let all: Vec<u64> = (0..size).flat_map(|rank| mine(rank, length)).collect();
        for root in 0..size {
            let at_root = |elements: usize| if me == root { elements } else { 0 };
            let mut data = if me == root { mine(root, length) } else { vec![0; length] };
            world.broadcast(&mut data, root).expect("all are there");
            assert_eq!(data, mine(root, length));
            let mut target = vec![0; at_root(length)];
            world.reduce(&own, &mut target, root, |left, right| left + right).expect("all are there");
            assert_eq!(target, sum[..at_root(length)]);
            let mut target = vec![0; at_root(length * size as usize)];
            world.gather(&own, &mut target, root).expect("all are there");
            assert_eq!(target, all[..target.len()]);
        }
        let mut target = vec![0; length];
        world.allreduce(&own, &mut target, |left: u64, right| left.max(right)).expect("all are there");
        assert_eq!(target, mine(size - 1, length));
        let mut target = vec![0; length * size as usize];
        world.allgather(&own, &mut target).expect("all are there");
        assert_eq!(target, all);
        // Part `i` goes to rank `i`, so rank `i` gets the parts `i` of all.
        let parts: Vec<u64> = (0..size).flat_map(|to| mine(me * 100 + to, length)).collect();
        world.alltoall(&parts, &mut target).expect("all are there");
        assert_eq!(target, (0..size).flat_map(|from| mine(from * 100 + me, length)).collect::<Vec<u64>>());
    }
    world.barrier().expect("all are there");
}

#[test]
fn every_collective_brings_what_it_should() {
    for ranks in 1..=5 {
        run(ranks, check);
    }
}

#[test]
fn floating_point_sums_are_the_same_at_all_ranks() {
    run(3, |world| {
        let own: Vec<f64> = mine(world.rank(), 5000).into_iter().map(|number| number as f64 / 7.0).collect();
        let mut sums = vec![0.0; own.len()];
        world.allreduce(&own, &mut sums, |left, right| left + right).expect("all are there");
        let mut all = vec![0.0; own.len() * 3];
        world.allgather(&sums, &mut all).expect("all are there");
        assert!(all.chunks(own.len()).all(|theirs| theirs == sums));
    });
}

#[test]
fn some_ranks_are_a_communicator_of_their_own() {
    run(5, |world| {
        let me = world.rank();
        // Odd ranks backwards, even ones forwards; rank 4 in none.
        let color = (me < 4).then_some(me % 2);
        let key = if me % 2 == 1 { -(me as i32) } else { 0 };
        let part = world.split(color, key).expect("all are there");
        let Some(part) = part else { return assert_eq!(me, 4) };
        let members = if me % 2 == 1 { [3, 1] } else { [0, 2] };
        assert_eq!((part.size(), members[part.rank() as usize]), (2, me));
        check(&part);
        // Messages name places in it, and do not meet those of the world.
        let peer = 1 - part.rank();
        let other = members[peer as usize];
        world.send(&[0u8], other, 7).expect("it is there");
        part.send(&[1u8], peer, 7).expect("it is there");
        let mut got = [9u8];
        let status = part.recv(&mut got, Any, 7).expect("it comes");
        assert_eq!((got, status.source), ([1], peer));
        assert_eq!(part.send(&[0u8], 2, 7).map_err(|error| error.class()), Err(Class::Rank));
        let status = world.recv(&mut got, other, 7).expect("it comes");
        assert_eq!((got, status.source), ([0], other));
    });
}

#[test]
fn a_duplicate_is_the_same_ranks_and_other_messages() {
    run(3, |world| {
        let again = world.duplicate().expect("all are there");
        let node = again.split_by_node().expect("all are there");
        assert_eq!((again.rank(), again.size(), node.size()), (world.rank(), 3, 3));
        let next = (world.rank() + 1) % 3;
        for (number, communicator) in [world, &again, &node].into_iter().enumerate() {
            communicator.send(&[number], next, 0).expect("it is there");
        }
        for (number, communicator) in [world, &again, &node].into_iter().enumerate().rev() {
            let mut got = [9];
            communicator.recv(&mut got, Any, Any).expect("it comes");
            assert_eq!(got, [number]);
        }
        check(&node);
    });
}

/// More communicators, one after the other, than there are numbers.
#[test]
fn a_communicator_that_nobody_has_any_more_makes_room() {
    run(2, |world| {
        let (peer, mut got) = (1 - world.rank(), [0u32]);
        for number in 0..40_000 {
            let again = world.duplicate().expect("there is a number");
            if number % 1000 == 0 {
                again.send(&[number], peer, 0).expect("it is there");
                again.recv(&mut got, peer, 0).expect("it comes");
                assert_eq!(got, [number]);
            }
        }
    });
}

#[test]
fn as_many_communicators_as_there_are_numbers_and_no_more() {
    run(1, |world| {
        let mut all: Vec<_> = (1..1 << 15).map(|_| world.duplicate().expect("there is a number")).collect();
        let none = world.duplicate().map_err(|error| error.class());
        assert_eq!(none.map(|more| more.size()), Err(Class::Other));
        all.swap_remove(777);
        assert!(world.duplicate().is_ok(), "that of the one that is gone");
    });
}

/// What was sent in a communicator that is gone must not be found in the next one.
#[test]
fn a_message_that_nobody_has_received_keeps_its_communicator() {
    let left = threads(2, |world| {
        let peer = 1 - world.rank();
        let first = world.duplicate().expect("there is a number");
        first.send(&[1u8], peer, 7).expect("it is there");
        first.probe(peer, 7).expect("it comes");
        drop(first);
        let second = world.duplicate().expect("there is another number");
        world.barrier().expect("all are there");
        assert_eq!(second.iprobe(Any, Any).expect("all are there"), None);
        // A request has its communicator.
        let receive = second.irecv(vec![0u8; 1], peer, 8).expect("it is there");
        drop(second);
        let third = world.duplicate().expect("there is a third number");
        third.send(&[3u8], peer, 8).expect("it is there");
        let mut got = [0];
        third.recv(&mut got, peer, 8).expect("it comes");
        assert_eq!(got, [3]);
        drop(receive);
    });
    // Debug builds say so, too.
    assert!(matches!(left, Ok(_) | Err(Error::NotReceived(_))), "{left:?}");
}

/// Nor what is still on its way when the communicator is given up, to the rank itself or to another one.
#[test]
fn a_message_on_its_way_is_not_found_in_another_communicator() {
    let left = threads(2, |world| {
        let me = world.rank();
        for to in [0, 1] {
            let first = world.duplicate().expect("there is a number");
            if me == 0 {
                first.send(&[1u8], to, 7).expect("it is there");
            }
            drop(first);
            let second = world.duplicate().expect("there is another number");
            second.send(&[2u8], 1 - me, 7).expect("it is there");
            let mut got = [0];
            second.recv(&mut got, Any, 7).expect("it comes");
            assert_eq!(got, [2]);
        }
    });
    // Debug builds say so, too.
    assert!(matches!(left, Ok(_) | Err(Error::NotReceived(_))), "{left:?}");
}

/// A rank that takes no part in agreeing on a number may still send under it.
#[test]
fn a_number_stays_in_use_until_all_of_its_members_agree() {
    let left = threads(3, |world| {
        let me = world.rank();
        let among = |members: [u32; 2]| {
            world.split(members.contains(&me).then_some(0), 0).expect("there is a number")
        };
        let (front, back) = (among([0, 1]), among([1, 2]));
        if me == 1 {
            drop(back);
            let next = front.expect("it is a member").duplicate().expect("there is a number");
            world.send(&[0u8], 2, 1).expect("it is there");
            world.recv(&mut [0u8], 2, 2).expect("it comes");
            assert_eq!(next.iprobe(Any, Any).expect("all are there"), None);
        } else if me == 2 {
            let back = back.expect("it is a member");
            world.recv(&mut [0u8], 1, 1).expect("it comes");
            back.send(&[1u8], 0, 7).expect("it is there");
            world.send(&[0u8], 1, 2).expect("it is there");
        } else {
            front.expect("it is a member").duplicate().expect("there is a number");
        }
    });
    assert!(matches!(left, Ok(_) | Err(Error::NotReceived(_))), "{left:?}");
}

#[test]
fn an_operation_is_the_applications_again_when_its_collective_is_over() {
    run(2, |world| {
        let one = Arc::new(1);
        let lent = Arc::clone(&one);
        world.allreduce(&[1], &mut [0], move |left, right| left * *lent + right).expect("all are there");
        assert_eq!(Arc::strong_count(&one), 1);
    });
}

#[test]
fn buffers_of_wrong_lengths_are_refused() {
    run(1, |world| {
        let wrong = |result: Result<(), Error>| result.map_err(|error| error.class());
        assert_eq!(wrong(world.allreduce(&[1u8], &mut [], |left, _| left)), Err(Class::Count));
        assert_eq!(wrong(world.allgather(&[1u8], &mut [0; 2])), Err(Class::Count));
        assert_eq!(wrong(world.broadcast(&mut [1u8], 1)), Err(Class::Rank));
        assert_eq!(wrong(world.gather(&[1u8], &mut [0; 1], 7)), Err(Class::Rank));
    });
}

#[test]
fn a_barrier_can_be_entered_and_left_later() {
    run(4, |world| {
        let mut requests: Vec<_> = (0..3).map(|_| world.ibarrier().expect("all can be reached")).collect();
        if world.rank() == 0 {
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        world.barrier().expect("all are there");
        requests.iter_mut().for_each(|request| while !request.test() {});
        requests.into_iter().for_each(|request| drop(request.wait().expect("all have entered")));
    });
}
