//! A master that hands out work, and workers that ask for it: the worker that finishes first gets the next piece.
//!
//! `carrousel run -n 4 -- target/release/examples/workers`, or
//! `carrousel sim -n 4 --app target/release/examples/workers`
//!
//! The work: counting primes, interval by interval. Alone, the master does it all.

use carrousel_app::{Any, Error, World, run};
use std::io::{Write, stdout};
use std::process::ExitCode;
use std::time::Duration;

/// Primes below this are counted.
const END: u64 = 2_000_000;
/// The number of these primes.
const PRIMES: u64 = 148_933;
/// Numbers in a piece of work.
const PIECE: u64 = 20_000;
/// The time of a piece in a simulated run.
const TIME: Duration = Duration::from_millis(1);

/// To rank 0: a worker asks for work, and reports its last result.
const ASK: u32 = 0;
/// From rank 0: the beginning of a piece.
const WORK: u32 = 1;
/// From rank 0: there is no more work.
const DONE: u32 = 2;

fn primes(begin: u64) -> u64 {
    let is_prime = |number: u64| {
        number > 1
            && (2..)
                .take_while(|divisor| divisor * divisor <= number)
                .all(|divisor| !number.is_multiple_of(divisor))
    };
    (begin..END.min(begin + PIECE)).filter(|number| is_prime(*number)).count() as u64
}

async fn master(world: &World) -> Result<u64, Error> {
    let mut pieces = (0..END).step_by(PIECE as usize);
    let (mut found, mut working) = (0, world.size() - 1);
    if working == 0 {
        return Ok(pieces.map(primes).sum());
    }
    while working > 0 {
        let mut answer = [0];
        let worker = world.recv(&mut answer, Any, ASK).await?.source;
        found += answer[0];
        match pieces.next() {
            Some(begin) => world.send(&[begin], worker, WORK).await?,
            None => {
                working -= 1;
                world.send(&[0u64; 0], worker, DONE).await?;
            }
        }
    }
    Ok(found)
}

async fn worker(world: &World) -> Result<u64, Error> {
    let (mut found, mut pieces) = (0, 0);
    loop {
        world.send(&[found], 0, ASK).await?;
        let mut begin = [0];
        if world.recv(&mut begin, 0, Any).await?.tag == DONE {
            return Ok(pieces);
        }
        found = world.compute_as(TIME, || primes(begin[0])).await;
        pieces += 1;
    }
}

async fn app(world: World) -> Result<(), Box<dyn std::error::Error>> {
    if world.rank() > 0 {
        let pieces = worker(&world).await?;
        writeln!(stdout(), "rank {} did {pieces} pieces", world.rank())?;
    } else {
        let found = master(&world).await?;
        writeln!(stdout(), "{found} primes below {END}")?;
        if found != PRIMES {
            return Err(format!("there are {PRIMES}").into());
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    run(app)
}
