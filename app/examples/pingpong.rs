//! Ping-pong: the time that a message takes from one rank to another.
//!
//! `carrousel run -n 2 -- target/release/examples/pingpong`, or
//! `carrousel sim -n 2 --app target/release/examples/pingpong`

use carrousel_app::{World, run};
use std::io::{Write, stdout};
use std::process::ExitCode;

/// Messages in each direction.
const ROUNDS: u32 = 10_000;

async fn app(world: World) -> Result<(), Box<dyn std::error::Error>> {
    if world.size() != 2 {
        return Err(format!("ping-pong is for 2 ranks, not {}", world.size()).into());
    }
    for size in [0, 8, 1 << 10, 16 << 10, 64 << 10, 1 << 20] {
        let rounds = if size > 32 << 10 { ROUNDS / 10 } else { ROUNDS };
        let mut ball = vec![0u8; size];
        world.barrier().await?;
        let begin = world.now();
        for round in 0..rounds {
            if world.rank() == 0 {
                ball.fill(round as u8);
                world.send(&ball, 1, 0).await?;
                world.recv(&mut ball, 1, 0).await?;
            } else {
                world.recv(&mut ball, 0, 0).await?;
                world.send(&ball, 0, 0).await?;
            }
            if ball.iter().any(|byte| *byte != round as u8) {
                return Err(format!("round {round} of {size} bytes came back changed").into());
            }
        }
        if world.rank() == 0 {
            let us = (world.now() - begin).as_secs_f64() * 1e6 / f64::from(2 * rounds);
            writeln!(stdout(), "{size:8} bytes {us:9.3} us")?;
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    run(app)
}
