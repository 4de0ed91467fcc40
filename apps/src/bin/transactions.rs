//! [`carrousel_apps::transactions`] as a program.

use carrousel_app::run;
use carrousel_apps::transactions::{self, TransactionsConfig};
use clap::Parser;
use std::process::ExitCode;

#[derive(Parser)]
#[command(about = "Updates of random ranks under exclusive locks")]
struct TransactionsArgs {
    #[command(flatten)]
    config: TransactionsConfig,
}

fn main() -> ExitCode {
    let config = TransactionsArgs::parse().config;
    run(move |world| async move { transactions::run(world, config).await.map(drop) })
}
