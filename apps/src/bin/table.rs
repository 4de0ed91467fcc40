//! [`carrousel_apps::table`] as a program.

use carrousel_app::run;
use carrousel_apps::table::{self, TableConfig};
use clap::Parser;
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "A distributed hash table by compare-and-swap")]
struct TableArgs {
    #[command(flatten)]
    config: TableConfig,
}

fn main() -> ExitCode {
    let config = TableArgs::parse().config;
    run(move |world| async move { table::run(world, config).await.map(drop) })
}
