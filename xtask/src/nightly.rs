//! The nightly toolchain: sanitizers, Miri and fuzzing need one. It is pinned, so that what passes today
//! passes tomorrow.

use crate::tools::{cargo_of, note, run};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};

/// The toolchain. A newer one is taken by changing this date.
pub(crate) const NIGHTLY: &str = "nightly-2026-10-30";

/// Whether rustup is there, without which no second toolchain can be had.
pub(crate) fn is_obtainable() -> bool {
    succeeds(Command::new("rustup").arg("--version"))
}

/// Makes the toolchain available, with Miri and the source of the standard library, which that interprets.
///
/// # Errors
/// When rustup is missing, or cannot install it.
pub(crate) fn install() -> Result<(), String> {
    // Several steps need it, perhaps at once.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    if succeeds(&mut cargo_of(NIGHTLY, &["miri", "--version"])) {
        return Ok(());
    }
    if !is_obtainable() {
        return Err(format!("{NIGHTLY} is needed, and rustup to install it: https://rustup.rs"));
    }
    note(&format!("{NIGHTLY} is missing: installing it"));
    let mut rustup = Command::new("rustup");
    rustup.args(["toolchain", "install", NIGHTLY, "--profile", "minimal", "--component", "rust-src,miri"]);
    run(rustup)
}

fn succeeds(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}
