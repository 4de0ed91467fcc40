//! π by numerical integration: every rank sums its share, and rank 0 puts the shares together.
//!
//! `carrousel run -n 4 -- target/release/examples/pi`

use std::f64::consts::PI;

/// Strips under the curve.
const STRIPS: u32 = 10_000_000;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let job = carrousel::init()?;
    let world = job.world();
    let width = 1.0 / f64::from(STRIPS);
    let strips = (world.rank()..STRIPS).step_by(world.size() as usize);
    let height = |strip| {
        let x = (f64::from(strip) + 0.5) * width;
        4.0 / (1.0 + x * x)
    };
    let share: f64 = strips.map(height).sum::<f64>() * width;
    if world.rank() > 0 {
        world.send(&[share], 0, 0)?;
    } else {
        let mut pi = share;
        for rank in 1..world.size() {
            // In the order of the ranks, so that the sum is the same each time.
            let mut share = [0.0];
            world.recv(&mut share, rank, 0)?;
            pi += share[0];
        }
        println!("pi is {pi:.12} on {} ranks", world.size());
        if (pi - PI).abs() > 1e-9 {
            return Err(format!("that is {:e} off", pi - PI).into());
        }
    }
    job.finalize()?;
    Ok(())
}
