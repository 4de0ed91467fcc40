//! [`carrousel_apps::halo`] as a program.

use carrousel_app::run;
use carrousel_apps::halo::{self, Config};
use clap::Parser;
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "A halo exchange by puts")]
struct Args {
    #[command(flatten)]
    config: Config,
}

fn main() -> ExitCode {
    let config = Args::parse().config;
    run(move |world| async move { halo::run(world, config).await.map(drop) })
}
