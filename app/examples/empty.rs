//! A program that joins its job and leaves it: it shows the cost of that, and that every rank ends.
//!
//! `carrousel run -n 100 -- target/release/examples/empty`, or
//! `carrousel sim -n 100 --app target/release/examples/empty`

use carrousel_app::{Error, World, run};
use std::process::ExitCode;

async fn empty(_: World) -> Result<(), Error> {
    Ok(())
}

fn main() -> ExitCode {
    run(empty)
}
