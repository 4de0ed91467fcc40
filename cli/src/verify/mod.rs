//! `carrousel verify`: proofs and counterexamples.

mod args;
mod charts;
mod explore;
mod human;
mod interrupt;
pub(crate) mod memory;
mod progress;
mod scenario;
mod suite;
mod verdict;

pub(crate) use args::VerifyArgs;
pub(crate) use charts::Drawing;
pub(crate) use progress::Line;

use crate::failure::Failure;
use crate::input;
use crate::out::Out;
use crate::status::Status;
use crate::style::Style;

/// `carrousel verify`.
pub(crate) fn run(args: &VerifyArgs, out: &mut Out, errors: Style) -> Result<Status, Failure> {
    if !args.merge.is_empty() {
        return suite::merge(args, out);
    }
    if let Some(which) = args.suite {
        return suite::run(args, which, out, errors);
    }
    let settings = input::settings()?;
    if let Some(address) = args.explore {
        return scenario::serve(args, address, &settings, errors);
    }
    scenario::run(args, &settings, out, errors)
}
