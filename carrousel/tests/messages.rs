//! Messages between ranks that are threads.

use carrousel::{Any, Class, Communicator, Error, Status, threads};

/// Sizes on both sides of every threshold: nothing, less than a word, eager, rendezvous, many pieces.
const SIZES: [usize; 7] = [0, 1, 8, 1000, 16 << 10, 100_000, 3 << 20];

fn pattern(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31 + seed * 7 + at / 251) as u8).collect()
}

fn run(ranks: u32, body: impl Fn(&Communicator) + Sync) {
    threads(ranks, body).expect("the job can be set up");
}

#[test]
fn messages_of_every_size_arrive() {
    run(2, |world| {
        for (round, size) in SIZES.into_iter().enumerate() {
            if world.rank() == 0 {
                world.send(&pattern(size, round), 1, 3).expect("rank 1 is there");
                world.ssend(&pattern(size, round + 1), 1, 4).expect("rank 1 is there");
            } else {
                let mut buffer = vec![0; size];
                let status = world.recv(&mut buffer, 0, 3).expect("it fits");
                assert_eq!(status, Status { source: 0, tag: 3, bytes: size as u64 });
                assert_eq!(buffer, pattern(size, round));
                world.recv(&mut buffer, Any, Any).expect("it fits");
                assert_eq!(buffer, pattern(size, round + 1));
            }
        }
    });
}

#[test]
fn receives_that_are_posted_first_get_their_messages() {
    run(2, |world| {
        let peer = 1 - world.rank();
        for round in 0..3 {
            let receives: Vec<_> = SIZES
                .iter()
                .map(|size| world.irecv(vec![0u8; *size], peer, 0).expect("there is such a rank"))
                .collect();
            world.barrier().expect("both are there");
            let sends: Vec<_> = SIZES
                .iter()
                .map(|size| world.isend(pattern(*size, round), peer, 0).expect("there is such a rank"))
                .collect();
            for (receive, size) in receives.into_iter().zip(SIZES) {
                let (buffer, status) = receive.wait().expect("it fits");
                assert_eq!(status.map(|status| status.bytes), Some(size as u64));
                assert!(buffer == pattern(size, round), "{size} bytes");
            }
            for send in sends {
                send.wait().expect("it has been received");
            }
        }
    });
}

/// Of no call anything has begun: the rank sends and receives afterwards.
#[test]
fn tags_that_mpi_does_not_have_are_refused_by_every_call() {
    run(1, |world| {
        let (greatest, great) = (i32::MAX as u32, i32::MAX as u32 + 1);
        let mut byte = [0u8];
        let (here, mut there) = ([1u8], [0u8]);
        let refused = |result: Result<(), Error>| {
            let error = result.expect_err("there is no such tag");
            assert_eq!(error.class(), Class::Tag);
            assert!(error.to_string().contains("is greater than 2147483647"), "{error}");
        };
        refused(world.send(&[1u8], 0, great));
        refused(world.ssend(&[1u8], 0, great));
        refused(world.isend(vec![1u8], 0, great).map(drop));
        refused(world.issend(vec![1u8], 0, great).map(drop));
        refused(world.recv(&mut byte, 0, great).map(drop));
        refused(world.irecv(vec![1u8], Any, great).map(drop));
        refused(world.sendrecv(&[1u8], 0, great, &mut byte, 0, 0).map(drop));
        refused(world.sendrecv(&[1u8], 0, 0, &mut byte, 0, great).map(drop));
        refused(world.probe(0, great).map(drop));
        refused(world.iprobe(Any, u32::MAX).map(drop));
        refused(world.mprobe(0, great).map(drop));
        refused(world.improbe(Any, u32::MAX).map(drop));
        refused(world.scope(|scope| scope.isend(&here, 0, great).map(drop)));
        refused(world.scope(|scope| scope.issend(&here, 0, great).map(drop)));
        refused(world.scope(|scope| scope.irecv(&mut there, 0, great).map(drop)));
        let send = world.isend(vec![7u8], 0, greatest).expect("there is such a tag");
        let status = world.recv(&mut byte, 0, greatest).expect("it fits");
        assert_eq!((status, byte), (Status { source: 0, tag: greatest, bytes: 1 }, [7]));
        send.wait().expect("it has been received");
    });
}

#[test]
fn a_rank_sends_to_itself() {
    run(1, |world| {
        for size in SIZES {
            let send = world.isend(pattern(size, 5), 0, 1).expect("there is such a rank");
            let mut buffer = vec![0; size];
            world.recv(&mut buffer, 0, 1).expect("it fits");
            assert!(buffer == pattern(size, 5));
            send.wait().expect("it has been received");
            let mut other = vec![0; size];
            world.sendrecv(&buffer, 0, 2, &mut other, Any, 2).expect("it fits");
            assert!(other == buffer);
        }
    });
}

#[test]
fn more_messages_than_a_ring_holds_wait_for_room() {
    run(2, |world| {
        let (count, size) = (2_000, 4_000);
        if world.rank() == 0 {
            for number in 0..count {
                world.send(&pattern(size, number), 1, 0).expect("rank 1 is there");
            }
        } else {
            // Rank 0 is far ahead by then.
            std::thread::sleep(std::time::Duration::from_millis(50));
            let mut buffer = vec![0; size];
            for number in 0..count {
                world.recv(&mut buffer, 0, 0).expect("it fits");
                assert!(buffer == pattern(size, number), "message {number}");
            }
        }
    });
}

/// Messages are in the ring, have been taken from it, or come just now; receives wait, or were started before.
#[test]
fn the_first_message_that_matches_is_received_wherever_it_is() {
    const MESSAGES: u32 = 2000;
    let tag = |number: u32| number.wrapping_mul(0x9e37_79b9) >> 30;
    run(2, |world| {
        if world.rank() == 0 {
            for number in 0..MESSAGES {
                world.send(&[number], 1, tag(number)).expect("rank 1 is there");
            }
            return;
        }
        // The messages that no receive is for yet.
        let mut left: Vec<u32> = (0..MESSAGES).collect();
        let mut started = None;
        for round in 0..MESSAGES {
            let draw = round.wrapping_mul(0x85eb_ca6b) >> 28;
            let wanted = Some(draw).filter(|draw| left.iter().any(|number| tag(*number) == *draw));
            let selector = wanted.map_or(carrousel::Tag::from(Any), carrousel::Tag::from);
            let matches = |number: &u32| wanted.is_none_or(|wanted| tag(*number) == wanted);
            let expected = left.remove(left.iter().position(matches).expect("one is left"));
            if round % 5 == 0 && started.is_none() {
                let request = world.irecv(vec![0u32], Any, selector).expect("there is such a tag");
                started = Some((request, expected));
            } else {
                let mut got = [0u32];
                let status = world.recv(&mut got, Any, selector).expect("it fits");
                assert_eq!((got[0], status.tag), (expected, tag(expected)), "round {round}");
            }
            if round % 5 == 3
                && let Some((request, expected)) = started.take()
            {
                let (got, _) = request.wait().expect("it fits");
                assert_eq!(got, [expected]);
            }
        }
        assert!(left.is_empty() && started.is_none());
    });
}

#[test]
fn a_message_that_is_too_long_is_an_error() {
    run(2, |world| {
        for size in [100, 100_000] {
            if world.rank() == 0 {
                world.send(&pattern(size, 0), 1, 0).expect("rank 1 is there");
            } else {
                let mut buffer = vec![0u8; size];
                let error = world.recv(&mut buffer[..size / 2], 0, 0).expect_err("it does not fit");
                let Error::Truncated { sent, room, .. } = error else { panic!("{error}") };
                assert_eq!((sent, room), (size as u64, size as u64 / 2));
                assert_eq!(error.class(), Class::Truncate);
                assert_eq!(buffer[size / 2], 0, "nothing is written past the end");
            }
        }
    });
}

#[test]
fn mistakes_are_errors_and_change_nothing() {
    run(1, |world| {
        let class = |error: Error| error.class();
        assert_eq!(world.send(&[0u8], 1, 0).map_err(class), Err(Class::Rank));
        assert_eq!(world.send(&[0u8], 0, 1 << 31).map_err(class), Err(Class::Tag));
        assert_eq!(world.recv(&mut [0u8], 7, 0).map_err(class), Err(Class::Rank));
        let status = Status { source: 0, tag: 0, bytes: 10 };
        assert_eq!(status.count::<u64>().map_err(class), Err(Class::Count));
        assert_eq!(status.count::<u16>(), Ok(5));
    });
}

#[test]
fn a_dropped_receive_is_cancelled() {
    run(2, |world| {
        let peer = 1 - world.rank();
        drop(world.irecv(vec![0u8; 100_000], peer, 9).expect("there is such a rank"));
        let mut receive = world.irecv(vec![0u8; 10], Any, 9).expect("there is such a rank");
        receive.cancel();
        assert_eq!(receive.wait().expect("it is cancelled").1, None);
        world.barrier().expect("both are there");
    });
}

#[test]
fn probes_see_messages_and_leave_them() {
    run(2, |world| {
        if world.rank() == 0 {
            assert_eq!(world.iprobe(1, 5), Ok(None));
            world.barrier().expect("both are there");
            let found = world.probe(Any, Any).expect("it comes");
            assert_eq!(found, Status { source: 1, tag: 5, bytes: 24 });
            let mut values = vec![0.0f64; found.count::<f64>().expect("it is whole")];
            world.recv(&mut values, found.source, found.tag).expect("it fits");
            assert_eq!(values, [1.0, 2.0, 3.0]);
        } else {
            world.barrier().expect("both are there");
            world.send(&[1.0f64, 2.0, 3.0], 0, 5).expect("rank 0 is there");
        }
    });
}

#[test]
fn a_scope_ends_when_its_messages_have() {
    run(4, |world| {
        let (me, size) = (world.rank(), world.size());
        let here = pattern(50_000, me as usize);
        let mut there = [vec![0u8; 50_000], vec![0u8; 50_000]];
        let [left, right] = &mut there;
        world
            .scope(|scope| {
                scope.irecv(left, (me + size - 1) % size, 0)?;
                let receive = scope.irecv(right, (me + 1) % size, 1)?;
                scope.isend(&here, (me + 1) % size, 0)?;
                scope.issend(&here, (me + size - 1) % size, 1)?;
                assert_eq!(receive.wait()?.map(|status| status.tag), Some(1));
                Ok(())
            })
            .expect("everybody sends");
        assert!(there[0] == pattern(50_000, ((me + size - 1) % size) as usize));
        assert!(there[1] == pattern(50_000, ((me + 1) % size) as usize));
    });
}

/// What a receiver has no room for is not sent before its receive is posted: neither end keeps more than the window.
#[test]
fn a_sender_that_is_faster_than_its_receiver_waits_for_it() {
    const LEN: usize = 4096;
    const ROOM: usize = (4 << 20) / (LEN + 64);
    let counted = std::sync::Barrier::new(2);
    let done = threads(2, |world| {
        if world.rank() == 1 {
            counted.wait();
            for _ in 0..ROOM + 101 {
                let mut buffer = vec![0u8; LEN];
                world.recv(&mut buffer, 0, 7).expect("it comes");
                assert!(buffer.iter().all(|byte| *byte == 3));
            }
            return (0, true);
        }
        let send = |_| world.isend(vec![3u8; LEN], 1, 7).expect("it can be sent");
        let mut requests: Vec<_> = (0..ROOM + 100).map(send).collect();
        let done = requests.iter_mut().filter_map(|request| request.test().then_some(())).count();
        counted.wait();
        requests.into_iter().for_each(|request| drop(request.wait().expect("it is received")));
        // All but what was told: there is room again.
        let mut again = send(0);
        let eager = again.test();
        again.wait().expect("it is received");
        (done, eager)
    });
    assert_eq!(done.expect("two ranks fit"), [(ROOM, true), (0, true)]);
}

/// A first program has data of each rank, in an order of indices.
#[test]
fn ranks_and_tags_are_numbers_of_whichever_type_is_at_hand() {
    run(3, |world| {
        let (me, ranks) = (world.rank() as usize, world.size() as usize);
        let (next, last) = ((me + 1) % ranks, (me + ranks - 1) % ranks);
        let mut all = vec![0; ranks];
        all[me] = me;
        for turn in 0..ranks {
            let (sent, got) = ((me + ranks - turn) % ranks, (last + ranks - turn) % ranks);
            let status = world.sendrecv(&[all[sent]], next, turn, &mut all[got..=got], last, turn);
            assert_eq!(status.map(|status| status.source as usize), Ok(last));
        }
        assert_eq!(all, (0..ranks).collect::<Vec<_>>());
        world.broadcast(&mut all, ranks - 1).expect("there is such a rank");
        let literal: i32 = 0;
        world.scope(|scope| scope.isend(&all, literal, literal).map(drop)).expect("rank 0 is there");
        if me == 0 {
            for from in 0..ranks {
                world.recv(&mut all, from, 0).expect("all send");
            }
        }
        // What does not fit is not what it would be without its upper bits, or its sign.
        let far = (1_usize << 32) + me;
        assert_eq!(world.send(&[0u8], far, 0).map_err(|error| error.class()), Err(Class::Rank));
        assert_eq!(world.send(&[0u8], -1, 0).map_err(|error| error.class()), Err(Class::Rank));
        assert_eq!(world.send(&[0u8], me, -1).map_err(|error| error.class()), Err(Class::Tag));
        assert_eq!(world.recv(&mut [0u8], me, far).map_err(|error| error.class()), Err(Class::Tag));
    });
}
