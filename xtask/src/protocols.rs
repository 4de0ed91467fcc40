//! The protocols as others get them: built for a processor without an operating system, and as packages.

use crate::steps::StepOutcome;
use crate::tools::{cargo, note, output_of, root, run, target};
use std::fs;
use std::process::Command;

/// A microcontroller: no standard library, no 64-bit atomics.
const BARE: &str = "thumbv7em-none-eabihf";

/// `--package` for each crate below `protocols`.
fn packages() -> Result<Vec<String>, String> {
    let entries = fs::read_dir(root().join("protocols")).map_err(|error| format!("protocols: {error}"))?;
    let mut names: Vec<String> = entries
        .flatten()
        .filter(|entry| entry.path().join("Cargo.toml").is_file())
        .map(|entry| format!("carrousel-{}", entry.file_name().to_string_lossy()))
        .collect();
    names.sort();
    Ok(names.into_iter().flat_map(|name| ["--package".to_owned(), name]).collect())
}

/// Builds them for [`BARE`], if rustup can get its library.
pub(crate) fn bare() -> Result<StepOutcome, String> {
    let list = output_of(Command::new("rustup").args(["target", "list", "--installed"]).current_dir(root()));
    let Ok(installed) = list else { return Ok(StepOutcome::Skipped("rustup is missing".to_owned())) };
    if !installed.lines().any(|line| line == BARE) {
        note(&format!("the library for {BARE} is missing: installing it"));
        let mut rustup = Command::new("rustup");
        rustup.args(["target", "add", BARE]).current_dir(root());
        if let Err(error) = run(rustup) {
            return Ok(StepOutcome::Skipped(format!("the library for {BARE} cannot be installed: {error}")));
        }
    }
    let mut build = cargo(&["build", "--locked", "--target", BARE]);
    build.args(packages()?);
    run(build)?;
    Ok(StepOutcome::Passed)
}

/// Makes the packages that a registry would get. What is in them is what the step before has built.
pub(crate) fn packaged() -> Result<(), String> {
    let mut package = cargo(&["package", "--locked", "--offline", "--no-verify", "--allow-dirty"]);
    // The packages of one run are made for each other, and nothing else has to know them.
    package.args(packages()?).arg("--target-dir").arg(target().join("package-of-protocols"));
    run(package)
}
