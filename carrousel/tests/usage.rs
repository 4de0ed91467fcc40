//! Wrong use that no rank sees alone, told with the lines of both calls. These are debug builds, which look for it.

use carrousel::{CallSite, Communicator, Error, SourceLine, threads};
use std::panic::Location;

fn told(result: Result<(), Error>) -> String {
    result.expect_err("they do not agree").to_string()
}

#[test]
fn every_collective_names_the_line_of_the_program() {
    type Call = fn(&Communicator) -> Result<(), Error>;
    let calls: [(&str, Call); 11] = [
        ("`broadcast` of 1 byte from root 0", |world| world.broadcast(&mut [0u8], 0)),
        ("`reduce` of 1 byte", |world| world.reduce(&[0u8], &mut [][..0], 0, u8::max)),
        ("`allreduce` of 1 byte", |world| world.allreduce(&[0u8], &mut [0], u8::max)),
        ("`gather` of 1 byte to root 0", |world| world.gather(&[0u8], &mut [], 0)),
        ("`allgather` of 1 byte", |world| world.allgather(&[0u8], &mut [0; 2])),
        ("`alltoall` of 1 byte", |world| world.alltoall(&[0u8; 2], &mut [0; 2])),
        ("`ibarrier`", |world| world.ibarrier()?.wait().map(drop)),
        ("`ibarrier`", |world| carrousel::block_on(world.ibarrier()?).map(drop)),
        ("`allgather` of 12 bytes", |world| world.split(None, 0).map(drop)),
        ("`allgather` of 12 bytes", |world| world.split_by_node().map(drop)),
        ("`allreduce` of 1 byte", |world| world.duplicate().map(drop)),
    ];
    for (name, call) in calls {
        let ends = threads(2, |world| told(if world.rank() == 0 { world.barrier() } else { call(world) }));
        for told in ends.expect("the job ends") {
            assert!(told.contains(&format!("rank 0 calls `barrier` at {}:", file!())), "{told}");
            assert!(told.contains(&format!("rank 1 calls {name}")), "{name}: {told}");
            assert_eq!(told.matches(file!()).count(), 2, "no line but the program's: {told}");
        }
    }
}

#[test]
fn barriers_that_do_not_wait_do_not_wait_for_being_checked() {
    let ends = threads(3, |world| {
        let mut pending = Vec::new();
        for _ in 0..20 {
            pending.push(world.ibarrier().expect("it begins"));
            // A barrier there would wait for ever: the message goes round.
            let (next, before) = ((world.rank() + 1) % 3, (world.rank() + 2) % 3);
            if world.rank() > 0 {
                world.recv(&mut [0u8], before, 0).expect("it comes");
            }
            world.send(&[0u8], next, 0).expect("it goes");
            if world.rank() == 0 {
                world.recv(&mut [0u8], before, 0).expect("it comes");
            }
            // A reduction meanwhile has its own operation.
            let mut sum = [0];
            world.allreduce(&[world.rank() + 1], &mut sum, |a, b| a + b).expect("all call it");
            assert_eq!(sum, [6]);
        }
        // Of some nobody wants to know.
        pending.truncate(11);
        pending.into_iter().rev().for_each(|request| drop(request.wait().expect("all have entered")));
    });
    ends.expect("all is well");
}

#[test]
fn a_message_that_is_left_behind_is_an_error_of_the_end() {
    let line = line!() + 3;
    let left = threads(2, |world| {
        if world.rank() == 0 {
            (3..6).for_each(|tag| world.send(&[0u16; 2], 1, tag).expect("it goes"));
        }
    });
    let expected = format!(
        "MPI_ERR_OTHER: rank 1 has not received a message of 4 bytes with tag 3, which rank 0 has sent at {}:{line}",
        file!()
    );
    assert_eq!(left.expect_err("three are left").to_string(), expected);
}

#[test]
fn calls_on_behalf_of_another_place_name_that() {
    let place = CallSite::Source(Location::caller());
    let ends = threads(2, |world| {
        told(if world.rank() == 0 { world.at(place).barrier() } else { world.broadcast(&mut [0u8], 0) })
    });
    let SourceLine { file, line } = place.into();
    for told in ends.expect("the job ends") {
        assert!(told.contains(&format!("rank 0 calls `barrier` at {file}:{line}, rank 1")), "{told}");
    }
}
