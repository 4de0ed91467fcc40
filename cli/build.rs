//! Tells the command what it was built from: the commit, if this is a checkout, and the optional features.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    let features = ["hwloc", "verbs"];
    let is_on = |name: &&&str| env::var_os(format!("CARGO_FEATURE_{}", name.to_uppercase())).is_some();
    let features: Vec<&str> = features.iter().filter(is_on).copied().collect();
    let features = if features.is_empty() { "none".to_owned() } else { features.join(", ") };
    let commit = commit().map_or_else(String::new, |commit| format!("commit {commit}; "));
    // Cargo passes it on to what it runs: no name of an option, which would begin with ours.
    println!("cargo::rustc-env=BUILT_FROM={commit}optional features: {features}");
}

/// The commit of the checkout, if this is one, and git is there to say so.
fn commit() -> Option<String> {
    let asked = |arguments: &[&str]| {
        let output =
            Command::new("git").args(arguments).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
    };
    // Sources in another project's checkout have no commit of their own.
    let root = asked(&["rev-parse", "--show-prefix"]).filter(|prefix| prefix == "cli/");
    // Where `HEAD` was last moved. Without it, the next build would ask again.
    let moved = root.and_then(|_| asked(&["rev-parse", "--git-path", "logs/HEAD"]))?;
    if Path::new(&moved).exists() {
        println!("cargo::rerun-if-changed={moved}");
    }
    asked(&["rev-parse", "--short=10", "HEAD"])
}
