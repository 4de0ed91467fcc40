//! Steps of `cargo xtask test` that look at the library with other programs: what a message costs, counted by
//! valgrind, and memory, watched by AddressSanitizer and Miri.

use crate::nightly::{self, NIGHTLY};
use crate::steps::StepOutcome;
use crate::tools::{self, cargo, cargo_of, output_of, root};
use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Counts the instructions of messages. The limits are in the benchmarks.
pub(crate) fn instructions() -> Result<StepOutcome, String> {
    if output_of(Command::new("valgrind").arg("--version")).is_err() {
        return Ok(StepOutcome::Skipped("valgrind is missing".to_owned()));
    }
    let mut path = env::var_os("PATH").unwrap_or_default();
    if let Some(directory) = gungraun_runner()? {
        let directories = std::iter::once(directory).chain(env::split_paths(&path));
        path = env::join_paths(directories).map_err(|error| format!("PATH cannot be extended: {error}"))?;
    }
    // Each as most people build it: the feature is no part of the engine's messages between ranks of a node.
    for of in [
        &[
            "carrousel-rank",
            "--package",
            "carrousel-epoch",
            "--package",
            "carrousel-ofi",
            "--package",
            "carrousel",
            "--bench",
            "progress",
            "--bench",
            "outstanding",
            "--bench",
            "collectives",
        ][..],
        &["carrousel-transport-verbs", "--features", "verbs", "--bench", "library"],
    ] {
        let mut bench = cargo(&["bench", "--locked", "--bench", "instructions", "--package"]);
        bench.args(of).env("PATH", &path);
        let told = tools::shown_output_of(&mut bench)?;
        // A limit holds for that, too: it is what is counted of a function that is called otherwise by now.
        if told.lines().any(counts_nothing) {
            return Err("a benchmark counts no instructions: what it is to count is not called".to_owned());
        }
    }
    Ok(StepOutcome::Passed)
}

/// Whether a line of a benchmark's report says that it has counted nothing.
fn counts_nothing(line: &str) -> bool {
    let count = line.trim_start().strip_prefix("Instructions:");
    count.is_some_and(|count| count.trim_start().starts_with("0|"))
}

/// The directory of the program that the benchmarks are run by, or none if it is found without. It has to be of
/// the library's version, so that is looked up.
fn gungraun_runner() -> Result<Option<PathBuf>, String> {
    let id = output_of(&mut cargo(&["pkgid", "--locked", "gungraun"]))?;
    let version = id.trim().rsplit('@').next().unwrap_or_default().to_owned();
    let is_right = |runner: &Path| {
        output_of(Command::new(runner).arg("--version")).is_ok_and(|told| told.trim().ends_with(&version))
    };
    if is_right(Path::new("gungraun-runner")) {
        return Ok(None);
    }
    let place = root().join("target").join(format!("gungraun-runner-{version}"));
    let bin = place.join("bin");
    if !is_right(&bin.join("gungraun-runner")) {
        tools::note(&format!("gungraun-runner {version} is missing: compiling it"));
        // Not optimised, which takes half the time: valgrind does the work.
        let mut install = cargo(&["install", "--locked", "--debug", "--version", &version]);
        install.arg("gungraun-runner").arg("--root").arg(place);
        tools::run(install)?;
    }
    Ok(Some(bin))
}

/// Tests of the library, whose `unsafe` code hands memory of the application to the endpoint and back, under
/// AddressSanitizer.
pub(crate) fn address_sanitizer() -> Result<StepOutcome, String> {
    if !nightly::is_obtainable() {
        return Ok(StepOutcome::Skipped(format!("{NIGHTLY} is missing, and rustup to install it")));
    }
    nightly::install()?;
    tools::run(sanitized(&["--lib", "--test", "messages", "--test", "collectives"])?)?;
    // Silence proves something only if the sanitizer speaks when it should.
    for control in CONTROLS {
        let mut command = sanitized(&["--test", "sanitizer", "--", "--ignored", "--exact", control])?;
        let output = command.output().map_err(|error| format!("rustup cannot be started: {error}"))?;
        let told = String::from_utf8_lossy(&output.stderr);
        if output.status.success() || !told.contains("AddressSanitizer: heap-use-after-free") {
            return Err(format!("AddressSanitizer has not noticed `{control}`:\n{told}"));
        }
        tools::show(&format!("AddressSanitizer notices: {control}"));
    }
    Ok(StepOutcome::Passed)
}

/// Tests of `carrousel/tests/sanitizer.rs`, which use memory that is gone.
const CONTROLS: [&str; 3] = [
    "a_message_is_sent_from_memory_that_is_gone",
    "a_message_is_received_into_memory_that_is_gone",
    "a_message_is_copied_into_memory_that_is_gone",
];

/// `cargo test` of the library, with the sanitizer.
fn sanitized(arguments: &[&str]) -> Result<Command, String> {
    let version = output_of(Command::new("rustc").arg("-vV").current_dir(root()))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    let host = host.ok_or("rustc does not say which host it is for")?;
    // With a target, build scripts and macros, which run in the compiler, are not sanitized.
    let mut command = cargo_of(NIGHTLY, &["test", "--locked", "--quiet", "--target", host]);
    command.args(["--package", "carrousel", "--package", "carrousel-engine"]).args(arguments);
    // A directory of its own: the flag changes every crate, and would have all of them built anew.
    command.env("RUSTFLAGS", "-Zsanitizer=address").env("CARGO_TARGET_DIR", root().join("target/asan"));
    Ok(command)
}

/// What Miri can interpret: tests/unsafe.md says what it cannot. It stays isolated, so that chance is the same
/// each time.
pub(crate) fn miri() -> Result<StepOutcome, String> {
    if !nightly::is_obtainable() {
        return Ok(StepOutcome::Skipped(format!("{NIGHTLY} is missing, and rustup to install it")));
    }
    nightly::install()?;
    let mut command = cargo_of(NIGHTLY, &["miri", "test", "--locked", "--quiet", "--lib"]);
    command.args(["--package", "carrousel-engine", "--package", "carrousel-transport-shm"]);
    tools::run(command).map(|()| StepOutcome::Passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_benchmark_that_counts_nothing_is_seen() {
        assert!(counts_nothing("  Instructions:                   0|52000                (-100.000%)"));
        assert!(!counts_nothing("  Instructions:               52000|52000                (No change)"));
        assert!(!counts_nothing("  Ge:                             0|N/A                  (*********)"));
    }
}
