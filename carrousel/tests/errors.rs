//! Errors name the call that they are about: its line, its rank, the peer and the tag.

use carrousel::{Any, Class, Communicator, Error, Status, threads, wait_all};
use std::panic::Location;

fn run(ranks: u32, body: impl Fn(&Communicator) + Sync) {
    threads(ranks, body).expect("the job can be set up");
}

/// The line of the caller, as errors name it.
#[track_caller]
fn here() -> String {
    let here = Location::caller();
    format!("{}:{}", here.file(), here.line())
}

#[track_caller]
fn told<T>(result: Result<T, Error>, class: Class, text: &str) {
    let Err(error) = result else { panic!("no error: {text}") };
    assert_eq!(error.class(), class, "{error}");
    assert_eq!(error.to_string(), format!("{class}: {text}"));
}

/// The ways a receive goes: into a message that is here, into the next one, into one that is offered; eager and rendezvous.
#[test]
fn a_message_that_does_not_fit_names_its_receive_its_sender_and_its_tag() {
    run(2, |world| {
        for size in [100, 100_000] {
            for is_here in [false, true] {
                let doubled = format!(
                    "a message of {size} bytes does not fit the {} bytes of its receive: rank 1 at",
                    size / 2
                );
                if world.rank() == 0 {
                    if !is_here {
                        world.barrier().expect("both are there");
                    }
                    let sent = world.isend(vec![7u8; size], 1, 5).expect("rank 1 is there");
                    if is_here {
                        world.barrier().expect("both are there");
                    }
                    sent.wait().expect("it is received");
                } else {
                    let mut buffer = vec![0u8; size / 2];
                    world.barrier().expect("both are there");
                    let (at, got) = (here(), world.recv(&mut buffer, Any, Any));
                    told(got, Class::Truncate, &format!("{doubled} {at}, receive from 0 tag 5"));
                }
            }
        }
    });
}

#[test]
fn a_request_names_the_line_that_has_started_it() {
    run(2, |world| {
        let peer = 1 - world.rank();
        let text = "a message of 100 bytes does not fit the 10 bytes of its receive: rank";
        let (at, open) = (here(), world.irecv(vec![0u8; 10], peer, Any).expect("there is such a rank"));
        world.barrier().expect("both are there");
        world.send(&[1u8; 100], peer, 6).expect("it is there");
        let text = format!("{text} {} at {at}, receive from {peer} tag 6", world.rank());
        told(wait_all([open]), Class::Truncate, &text);
        world.barrier().expect("both are there");

        let sent = world.isend(vec![1u8; 20], peer, 7).expect("it is there");
        let message = world.mprobe(Any, 7).expect("it comes");
        let (at, got) = (here(), message.recv(&mut [0u8; 2]));
        let text = "a message of 20 bytes does not fit the 2 bytes of its receive: rank";
        let text = format!("{text} {} at {at}, receive from {peer} tag 7", world.rank());
        told(got, Class::Truncate, &text);
        sent.wait().expect("it is received");
    });
}

#[test]
fn a_rank_or_tag_that_there_is_not_is_told_with_the_call_that_names_it() {
    run(2, |world| {
        let me = world.rank();
        let whole = world.split(Some(0), 0).expect("both call it").expect("it has a color");
        let none = |comm: &Communicator, at: String, call: &str| match comm.size() {
            _ if std::ptr::eq(comm, world) => {
                format!("rank 9 does not exist in a job of 2 ranks: rank {me} at {at}, {call}")
            }
            _ => format!("rank 9 does not exist in a communicator of 2 ranks: rank {me} at {at}, {call}"),
        };
        let (mut room, large, rank) = ([0u8; 4], vec![0u8; 100_000], Class::Rank);
        for comm in [world, &whole] {
            told(comm.send(&[1u8], 9, 3), rank, &none(comm, here(), "send to 9 tag 3"));
            told(comm.send(&large, 9, 3), rank, &none(comm, here(), "send to 9 tag 3"));
            told(comm.ssend(&[1u8], 9, 3), rank, &none(comm, here(), "synchronous send to 9 tag 3"));
            told(comm.isend(vec![1u8], 9, 3), rank, &none(comm, here(), "send to 9 tag 3"));
            told(comm.issend(vec![1u8], 9, 3), rank, &none(comm, here(), "synchronous send to 9 tag 3"));
            told(comm.recv(&mut room, 9, Any), rank, &none(comm, here(), "receive from 9 tag any"));
            told(comm.irecv(vec![1u8], 9, 3), rank, &none(comm, here(), "receive from 9 tag 3"));
            told(comm.probe(9, 3), rank, &none(comm, here(), "probe from 9 tag 3"));
            told(comm.iprobe(9, 3), rank, &none(comm, here(), "probe from 9 tag 3"));
            told(comm.mprobe(9, 3).map(drop), rank, &none(comm, here(), "probe from 9 tag 3"));
            told(comm.improbe(9, 3).map(drop), rank, &none(comm, here(), "probe from 9 tag 3"));
            let exchanged = comm.sendrecv(&[1u8], 9, 1, &mut room, 1 - me, 2);
            let line = exchanged.as_ref().map_or_else(ToString::to_string, |_| String::new());
            assert!(line.contains("errors.rs:") && line.ends_with(", send to 9 tag 1"), "{line}");
            let exchanged = comm.sendrecv(&[1u8], 1 - me, 1, &mut room, 9, 2);
            let line = exchanged.as_ref().map_or_else(ToString::to_string, |_| String::new());
            assert!(line.contains("errors.rs:") && line.ends_with(", receive from 9 tag 2"), "{line}");
        }
        let high = 1_u32 << 31;
        let text = |at: String, call: &str| {
            format!("tag 2147483648 is greater than 2147483647: rank {me} at {at}, {call} tag 2147483648")
        };
        told(world.send(&[1u8], 1, high), Class::Tag, &text(here(), "send to 1"));
        told(world.recv(&mut room, 1, high), Class::Tag, &text(here(), "receive from 1"));
        told(world.recv(&mut room, Any, high), Class::Tag, &text(here(), "receive from any"));
        told(world.probe(1, high), Class::Tag, &text(here(), "probe from 1"));
        world
            .scope(|scope| {
                told(scope.isend(&large, 1, high), Class::Tag, &text(here(), "send to 1"));
                Ok(())
            })
            .expect("nothing has begun");
    });
}

#[test]
fn counts_that_do_not_fit_are_told_with_their_call() {
    run(2, |world| {
        let me = world.rank();
        let mut target = [0u32; 3];
        let buffer =
            |at: String, call: &str| format!("a buffer of 3 elements, expected 2: rank {me} at {at}, {call}");
        told(world.allgather(&[1], &mut target), Class::Count, &buffer(here(), "allgather"));
        told(world.alltoall(&[1, 2, 3], &mut target), Class::Count, &buffer(here(), "alltoall"));
        let no_root = |at: String| {
            format!("rank 7 does not exist in a communicator of 2 ranks: rank {me} at {at}, bcast")
        };
        told(world.broadcast(&mut target, 7), Class::Rank, &no_root(here()));
        let status = Status { source: 1, tag: 4, bytes: 10 };
        let text = |at: String| {
            format!(
                "a message of 10 bytes is no whole number of elements of 4 bytes: rank {me} at {at}, count of \
                 the message from 1 tag 4"
            )
        };
        told(status.count::<u32>(), Class::Count, &text(here()));
    });
}
