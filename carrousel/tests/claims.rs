//! Messages that are claimed before they are received, between ranks that are threads.

use carrousel::{Any, Class, Communicator, Status, threads};

/// Nothing, eager, rendezvous.
const SIZES: [usize; 4] = [0, 8, 1000, 1 << 20];

fn run(ranks: u32, body: impl Fn(&Communicator) + Sync) {
    threads(ranks, body).expect("the job can be set up");
}

fn pattern(len: usize, seed: usize) -> Vec<u8> {
    (0..len).map(|at| (at * 31 + seed * 7 + at / 251) as u8).collect()
}

#[test]
fn a_claimed_message_is_received_into_a_buffer_of_its_length() {
    run(2, |world| {
        for (round, size) in SIZES.into_iter().enumerate() {
            if world.rank() == 0 {
                world.send(&pattern(size, round), 1, 3).expect("rank 1 is there");
                let sent = world.isend(pattern(size, round + 1), 1, 4).expect("rank 1 is there");
                sent.wait().expect("it is received");
            } else {
                let message = world.mprobe(Any, 3).expect("rank 0 sends");
                let expected = Status { source: 0, tag: 3, bytes: size as u64 };
                assert_eq!(message.status(), expected);
                let mut buffer = vec![0; size];
                assert_eq!(message.recv(&mut buffer).expect("it fits"), expected);
                assert!(buffer == pattern(size, round), "{size} bytes");
                let message = loop {
                    if let Some(message) = world.improbe(0, Any).expect("rank 0 is there") {
                        break message;
                    }
                };
                let request = message.irecv(vec![0; size]).expect("it has not been received");
                let (buffer, status) = request.wait().expect("it fits");
                assert_eq!(status, Some(Status { source: 0, tag: 4, bytes: size as u64 }));
                assert!(buffer == pattern(size, round + 1), "{size} bytes");
            }
        }
    });
}

#[test]
fn no_other_receive_gets_a_claimed_message() {
    run(2, |world| {
        for size in SIZES {
            if world.rank() == 0 {
                let sends =
                    [1, 2].map(|seed| world.isend(pattern(size, seed), 1, 0).expect("rank 1 is there"));
                for send in sends {
                    send.wait().expect("it is received");
                }
            } else {
                let claimed = world.mprobe(0, 0).expect("rank 0 sends");
                let mut second = vec![0; size];
                world.recv(&mut second, 0, 0).expect("it fits");
                assert!(second == pattern(size, 2), "the second message of {size} bytes");
                let mut first = vec![0; size];
                claimed.recv(&mut first).expect("it fits");
                assert!(first == pattern(size, 1), "the first message of {size} bytes");
            }
        }
    });
}

#[test]
fn a_message_that_is_dropped_is_discarded() {
    run(2, |world| {
        for size in SIZES {
            if world.rank() == 0 {
                world.ssend(&pattern(size, 1), 1, 0).expect("it is discarded");
                world.ssend(&pattern(size, 2), 1, 0).expect("it is received");
            } else {
                drop(world.mprobe(0, 0).expect("rank 0 sends"));
                let mut buffer = vec![0; size];
                world.recv(&mut buffer, 0, 0).expect("it fits");
                assert!(buffer == pattern(size, 2), "{size} bytes");
            }
        }
    });
}

#[test]
fn a_buffer_that_is_too_short_is_an_error_of_the_receive() {
    run(2, |world| {
        for size in [1000, 1 << 20] {
            if world.rank() == 0 {
                world.send(&pattern(size, 1), 1, 0).expect("rank 1 is there");
                world.send(&pattern(size, 2), 1, 0).expect("rank 1 is there");
            } else {
                let mut short = vec![0u8; size - 1];
                let first = world.mprobe(0, 0).expect("rank 0 sends").recv(&mut short);
                assert_eq!(first.map_err(|error| error.class()), Err(Class::Truncate));
                let second = world.mprobe(0, 0).expect("rank 0 sends").irecv(short).expect("it begins");
                assert_eq!(second.wait().map_err(|error| error.class()).err(), Some(Class::Truncate));
            }
        }
    });
}

#[test]
fn a_sender_has_its_place_in_the_communicator() {
    run(3, |world| {
        let part = world.split(Some(world.rank() % 2), 0).expect("all call it").expect("each has a part");
        match world.rank() {
            2 => part.send(&[7u8], 0, 0).expect("rank 0 of the part is there"),
            0 => {
                let message = part.mprobe(Any, Any).expect("rank 1 of the part sends");
                assert_eq!(message.status().source, 1);
                assert_eq!(message.recv(&mut [0u8]).expect("it fits").source, 1);
            }
            _ => {}
        }
    });
}
