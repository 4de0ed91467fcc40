//! `cargo xtask figures`: the papers' figures in the simulator, beside the papers' numbers.

use crate::built::{Built, Kind};
use crate::tools::target;
use std::process::{Command, ExitCode};

/// The program that draws them.
const FIGURES: Built = Built { package: "carrousel-figures", kind: Kind::Bin, name: "carrousel-figures" };

/// Builds it and runs it with these arguments. Its status is ours.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode, String> {
    let mut command = Command::new(FIGURES.build_release()?);
    command.args(arguments);
    if !arguments.iter().any(|argument| argument == "--out" || argument.starts_with("--out=")) {
        command.arg("--out").arg(target().join("figures"));
    }
    let status = command.status().map_err(|error| format!("the figures cannot be drawn: {error}"))?;
    // By a signal, it has none.
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}
