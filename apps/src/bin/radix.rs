//! [`carrousel_apps::radix`] as a program.

use carrousel_app::run;
use carrousel_apps::radix::{self, RadixConfig};
use clap::Parser;
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "Radix sort, each number put to its place")]
struct RadixArgs {
    #[command(flatten)]
    config: RadixConfig,
}

fn main() -> ExitCode {
    let config = RadixArgs::parse().config;
    run(move |world| async move { radix::run(world, config).await.map(drop) })
}
