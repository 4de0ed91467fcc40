//! `carrousel bench`: what the library costs.

mod bar;
mod digits;
mod human;
mod pt2pt;
mod rank;

use crate::failure::Failure;
use crate::out::Out;
use crate::status::Status;
use crate::style::Style;

/// Measure messages between ranks
///
/// Beside other libraries, in turns, it is `cargo xtask bench peers`.
#[derive(Debug, clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
pub(crate) struct Args {
    /// What to measure
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, clap::Subcommand)]
enum What {
    Pt2pt(pt2pt::Args),
}

/// `carrousel bench`.
pub(crate) fn run(args: &Args, out: &mut Out, errors: Style) -> Result<Status, Failure> {
    let What::Pt2pt(args) = &args.what;
    pt2pt::run(args, out, errors)
}
