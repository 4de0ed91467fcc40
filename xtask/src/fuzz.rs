//! `cargo xtask fuzz`.

use crate::tools::{self, cargo, cargo_of, need, root};
use std::fs;

/// The version that is compiled where it is missing.
const FUZZ: &str = "0.13.2";

/// Feeds a target for some seconds. What it finds is kept in fuzz/artifacts; the interesting inputs belong
/// into the corpus, which the ordinary tests replay.
pub(crate) fn run(target: &str, seconds: u64) -> Result<(), String> {
    let targets = targets();
    if !targets.iter().any(|known| known == target) {
        return Err(format!("there is no fuzz target `{target}`; there are {}", targets.join(", ")));
    }
    need("fuzz", FUZZ)?;
    let duration = format!("-max_total_time={seconds}");
    // The sanitizers need a nightly compiler.
    let nightly = cargo_of("nightly", &["fuzz", "run", target, "--", &duration]);
    tools::run(nightly)
        .map_err(|message| format!("{message} (`rustup toolchain install nightly`, if it is missing)"))?;
    tools::run(cargo(&["test", "--package", "carrousel-scenario"]))
}

fn targets() -> Vec<String> {
    let files = fs::read_dir(root().join("fuzz/fuzz_targets")).into_iter().flatten().flatten();
    let mut targets: Vec<String> = files
        .filter_map(|file| file.path().file_stem().map(|stem| stem.to_string_lossy().into_owned()))
        .collect();
    targets.sort();
    targets
}
