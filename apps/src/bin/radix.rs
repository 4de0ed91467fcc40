//! [`carrousel_apps::radix`] as a program.

use carrousel_app::run;
use carrousel_apps::radix::{self, Config};
use clap::Parser;
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "Radix sort, each number put to its place")]
struct Args {
    #[command(flatten)]
    config: Config,
}

fn main() -> ExitCode {
    let config = Args::parse().config;
    run(move |world| async move { radix::run(world, config).await.map(drop) })
}
