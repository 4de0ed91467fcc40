//! `cargo xtask fuzz`.

use crate::nightly::{self, NIGHTLY};
use crate::tools::{self, cargo, cargo_of, need, root};
use std::fs;

/// The version that is compiled where it is missing.
const FUZZ: &str = "0.13.2";
/// An input that takes longer is a finding. The language promises a second; the sanitizer takes its share.
const INPUT_SECONDS_MAX: u32 = 20;

/// Feeds a target for some seconds, beginning with the corpus in the repository. What the fuzzer adds to
/// it goes to a directory of its own, so that the repository grows only by what was found.
pub(crate) fn run(target: &str, seconds: u64) -> Result<(), String> {
    let targets = targets();
    if !targets.iter().any(|known| known == target) {
        return Err(format!("there is no fuzz target `{target}`; there are: {}", targets.join(", ")));
    }
    nightly::install()?;
    need("fuzz", FUZZ)?;
    let added = format!("fuzz/target/corpus/{target}");
    let kept = format!("fuzz/corpus/{target}");
    for directory in [&added, &kept] {
        let path = root().join(directory);
        fs::create_dir_all(&path).map_err(|error| format!("cannot make {}: {error}", path.display()))?;
    }
    let duration = format!("-max_total_time={seconds}");
    let timeout = format!("-timeout={INPUT_SECONDS_MAX}");
    let statistics = "-print_final_stats=1";
    let arguments = ["fuzz", "run", target, &added, &kept, "--", &duration, &timeout, statistics];
    tools::run(cargo_of(NIGHTLY, &arguments)).map_err(|message| {
        format!(
            "{message}\n\
             If the fuzzer found something, it is in fuzz/artifacts/{target}: make it shorter with\n  \
             cargo +{NIGHTLY} fuzz tmin {target} FILE\n\
             and put it into {kept}, from where the ordinary tests replay it."
        )
    })?;
    tools::run(cargo(&[
        "test",
        "--package",
        "carrousel-scenario",
        "--package",
        "carrousel-rank",
        "--test",
        "corpus",
    ]))
}

/// The targets: files of that directory that are not only modules of others.
fn targets() -> Vec<String> {
    let files = fs::read_dir(root().join("fuzz/fuzz_targets")).into_iter().flatten().flatten();
    let mut targets: Vec<String> = files
        .map(|file| file.path())
        .filter(|path| fs::read_to_string(path).is_ok_and(|text| text.contains("fuzz_target!(")))
        .filter_map(|path| path.file_stem().map(|stem| stem.to_string_lossy().into_owned()))
        .collect();
    targets.sort();
    targets
}
