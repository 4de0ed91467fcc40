//! A token that goes around a ring of all ranks, and a sum over all ranks. It shows the cost of a job of many ranks
//! on a node, in which each rank sends to few of the others.
//!
//! `carrousel run -n 200 -- target/release/examples/ring`, or
//! `carrousel sim -n 1000 --app target/release/examples/ring`

use carrousel_app::{World, run};
use std::process::ExitCode;

/// Rounds of the token.
const ROUNDS: u64 = 3;

async fn app(world: World) -> Result<(), Box<dyn std::error::Error>> {
    let (me, size) = (world.rank(), world.size());
    let (next, previous) = ((me + 1) % size, (me + size - 1) % size);
    for round in 0..ROUNDS {
        let (sent, mut got) = ([u64::from(me) + round], [0]);
        world.sendrecv(&sent, next, 0, &mut got, previous, 0).await?;
        if got != [u64::from(previous) + round] {
            return Err(format!("rank {previous} has sent {got:?} in round {round}").into());
        }
        let mut sum = [0];
        world.allreduce(&got, &mut sum, |a, b| a + b).await?;
        let ranks = u64::from(size);
        if sum != [ranks * (ranks - 1) / 2 + ranks * round] {
            return Err(format!("the sum of round {round} is {sum:?}").into());
        }
    }
    if me == 0 {
        println!("{ROUNDS} rounds of {size} ranks");
    }
    Ok(())
}

fn main() -> ExitCode {
    run(app)
}
