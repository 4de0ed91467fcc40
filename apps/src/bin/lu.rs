//! [`carrousel_apps::lu`] as a program.

use carrousel_app::run;
use carrousel_apps::lu::{self, LuConfig};
use clap::Parser;
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "LU decomposition of a matrix, its rows spread by puts")]
struct LuArgs {
    #[command(flatten)]
    config: LuConfig,
}

fn main() -> ExitCode {
    let config = LuArgs::parse().config;
    run(move |world| async move { lu::run(world, config).await.map(drop) })
}
