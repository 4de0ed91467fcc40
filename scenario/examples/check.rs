//! Reads and checks scenario files, and prints what each comes to, or its faults.
//!
//! `cargo run -p carrousel-scenario --example check -- FILE...`

use std::io::{Write, stderr, stdout};
use std::time::Instant;

fn main() -> std::io::Result<()> {
    for file in std::env::args().skip(1) {
        let bytes = carrousel_scenario::read(std::fs::File::open(&file)?)?;
        let start = Instant::now();
        let loaded = carrousel_scenario::load(&file, &bytes);
        let seconds = start.elapsed().as_secs_f64();
        match &loaded {
            Ok(scenario) => {
                let statements: usize = scenario.programs.iter().map(|program| program.steps.len()).sum();
                writeln!(stdout(), "{file}: {} ranks, {statements} statements", scenario.ranks)?;
            }
            Err(error) => write!(stdout(), "{}", error.render(false))?,
        }
        writeln!(stderr(), "{seconds:.3} s")?;
    }
    Ok(())
}
