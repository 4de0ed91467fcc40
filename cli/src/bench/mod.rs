//! `carrousel bench`: the cost of messages and of memory.

mod bar;
mod costs;
mod digits;
mod human;
mod pt2pt;
mod rank;
mod registration;
mod reuse;
mod start;

use crate::failure::Failure;
use crate::out::Out;
use crate::status::Status;
use crate::style::Style;

/// Measure messages between ranks, and what memory costs
///
/// `cargo xtask bench peers` compares messages with those of other libraries, in turns.
#[derive(Debug, clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct BenchArgs {
    /// The measurement
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Pt2pt(pt2pt::Pt2ptArgs),
    Registration(registration::RegistrationArgs),
    Reuse(reuse::ReuseArgs),
}

/// `carrousel bench`.
pub(crate) fn run(args: &BenchArgs, out: &mut Out, errors: Style) -> Result<Status, Failure> {
    match &args.what {
        What::Pt2pt(args) => start::run(args, out, errors),
        What::Registration(args) => registration::run(args, out),
        What::Reuse(args) => reuse::run(args, out),
    }
}
