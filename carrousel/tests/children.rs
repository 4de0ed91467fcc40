//! Ranks that fork: a child is no part of the job, and its parent is unharmed.
#![allow(unsafe_code, reason = "a child is made")]

use carrousel::{Communicator, Error, Request, block_on, threads, wait_any};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{ForkResult, fork};

/// The messages of 2 ranks before the fork, and behind it.
fn exchange(world: &Communicator, rounds: std::ops::Range<u64>) -> Result<(), Error> {
    let peer = 1 - world.rank();
    for round in rounds {
        // On both sides of the threshold of eager messages.
        let len = if round % 2 == 0 { 10 } else { 10_000 };
        let (out, mut into) = (vec![round + u64::from(world.rank()); len], vec![0; len]);
        world.scope(|scope| {
            scope.irecv(&mut into, peer, 0)?;
            scope.isend(&out, peer, 0)?;
            Ok(())
        })?;
        assert!(into.iter().all(|word| *word == round + u64::from(peer)), "round {round}");
    }
    Ok(())
}

/// Which calls of a child are refused, a bit for each. It has inherited an open request.
fn refused(world: &Communicator, inherited: Request<u64>) -> i32 {
    let words = [7u64; 10];
    let all = [
        world.send(&words, 1, 0).err(),
        world.ssend(&words, 1, 0).err(),
        world.recv(&mut [0u64; 10], 1, 0).err(),
        world.isend(vec![7u64; 10], 1, 0).err(),
        world.iprobe(1, 0).err(),
        world.barrier().err(),
        world.scope(|scope| scope.isend(&words, 1, 0)?.wait()).err(),
        wait_any(&mut vec![inherited]).and_then(|(_, outcome)| outcome.err()),
    ];
    let bits = (0..).zip(all).map(|(bit, error)| match error {
        Some(Error::Inherited(_)) => 1 << bit,
        _ => 0,
    });
    bits.sum()
}

#[test]
fn a_child_is_told_that_it_is_no_part_of_the_job() {
    threads(2, |world| {
        exchange(world, 0..20).expect("both are there");
        let open = world.irecv(vec![0u64; 3], 1 - world.rank(), 5).expect("there is such a rank");
        if world.rank() == 0 {
            // SAFETY: the child takes no lock of another thread's but the allocator's, which the C library frees.
            match unsafe { fork() }.expect("there is room for a process") {
                ForkResult::Child => {
                    let status = refused(world, open);
                    // SAFETY: nothing of the tests' harness is run or flushed.
                    unsafe { nix::libc::_exit(status) }
                }
                ForkResult::Parent { child } => {
                    let ended = waitpid(child, None).expect("it is a child of this process");
                    assert_eq!(ended, WaitStatus::Exited(child, 0xff), "all calls are refused");
                }
            }
        }
        exchange(world, 20..100).expect("both are there");
        world.send(&[1u64; 3], 1 - world.rank(), 5).expect("both are there");
        assert_eq!(block_on(open).expect("it has come").0, [1; 3]);
    })
    .expect("the job can be set up");
}
