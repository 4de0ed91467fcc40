//! [`carrousel_apps::table`] as a program.

use carrousel_app::run;
use carrousel_apps::table::{self, Config};
use clap::Parser;
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "A distributed hash table by compare-and-swap")]
struct Args {
    #[command(flatten)]
    config: Config,
}

fn main() -> ExitCode {
    let config = Args::parse().config;
    run(move |world| async move { table::run(world, config).await.map(drop) })
}
