//! `cargo xtask differential`: random programs, judged by an oracle and by the checker.

use crate::built::{Built, Kind};
use crate::tools;
use std::process::{Command, ExitCode};

/// The program that makes and judges them.
const DIFFERENTIAL: Built =
    Built { package: "carrousel-differential", kind: Kind::Bin, name: "carrousel-differential" };

/// Builds it and runs it with these arguments. Its status is ours.
pub(crate) fn run(arguments: &[String]) -> Result<ExitCode, String> {
    let mut command = Command::new(DIFFERENTIAL.build_release()?);
    let status = command.args(arguments).status();
    let status = status.map_err(|error| format!("the programs cannot be compared: {error}"))?;
    // By a signal, it has none.
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// As a step of the tests: 1,000 programs in either mode. Each check has to be violated by some, and a fifth has to violate
/// nothing.
pub(crate) fn step() -> Result<(), String> {
    let mut command = Command::new(DIFFERENTIAL.build()?);
    command.args(["windows", "--programs", "1000"]);
    tools::run(command)
}
