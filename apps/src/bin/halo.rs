//! [`carrousel_apps::halo`] as a program.

use carrousel_app::run;
use carrousel_apps::halo::{self, HaloConfig};
use clap::Parser;
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "A halo exchange by puts")]
struct HaloArgs {
    #[command(flatten)]
    config: HaloConfig,
}

fn main() -> ExitCode {
    let config = HaloArgs::parse().config;
    run(move |world| async move { halo::run(world, config).await.map(drop) })
}
