//! [`carrousel_apps::lu`] as a program.

use carrousel_app::run;
use carrousel_apps::lu::{self, Config};
use clap::Parser;
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "LU decomposition of a matrix, its rows spread by puts")]
struct Args {
    #[command(flatten)]
    config: Config,
}

fn main() -> ExitCode {
    let config = Args::parse().config;
    run(move |world| async move { lu::run(world, config).await.map(drop) })
}
