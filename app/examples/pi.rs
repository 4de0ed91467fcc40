//! π by numerical integration: every rank sums its share, and rank 0 puts the shares together.
//!
//! `carrousel run -n 4 -- target/release/examples/pi`, or
//! `carrousel sim -n 4096 --app target/release/examples/pi`

use carrousel_app::{World, run};
use std::f64::consts::PI;
use std::io::{Write, stdout};
use std::process::ExitCode;
use std::time::Duration;

/// Strips under the curve.
const STRIPS: u32 = 10_000_000;
/// The time of a strip in a simulated run, in picoseconds.
const STRIP_PS: u64 = 1_000;

async fn app(world: World) -> Result<(), Box<dyn std::error::Error>> {
    let width = 1.0 / f64::from(STRIPS);
    let strips = (world.rank()..STRIPS).step_by(world.size() as usize);
    let height = |strip| {
        let x = (f64::from(strip) + 0.5) * width;
        4.0 / (1.0 + x * x)
    };
    let time = Duration::from_nanos(strips.len() as u64 * STRIP_PS / 1000);
    let share = world.compute_as(time, || strips.map(height).sum::<f64>() * width).await;
    if world.rank() > 0 {
        world.send(&[share], 0, 0).await?;
    } else {
        let mut pi = share;
        for rank in 1..world.size() {
            // In the order of the ranks, so that the sum is the same each time.
            let mut share = [0.0];
            world.recv(&mut share, rank, 0).await?;
            pi += share[0];
        }
        writeln!(stdout(), "pi is {pi:.12} on {} ranks", world.size())?;
        if (pi - PI).abs() > 1e-9 {
            return Err(format!("that is {:e} off", pi - PI).into());
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    run(app)
}
