//! The scenarios are their own regression tests: each `expect` line says what is wrong with its file.

use carrousel_tests::{carrousel, printed, scenarios, stdout};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// Too many ranks to explore within a test.
const TOO_LARGE: [&str; 1] = ["halo-2048"];

/// Long programs that are there for the simulator. They are explored up to a bound; up to there, nothing
/// may be wrong with them.
const FOR_THE_SIMULATOR: [&str; 3] = ["eager-stream", "radix", "halo-2048"];

/// Under the published rules posting a receive may answer an announcement, so that fewer orders of events are
/// equal: too many states for a test.
const TOO_LARGE_WHEN_PUBLISHED: [&str; 2] = ["halo-16", "halo-tags-swapped-on-one"];

/// Scenarios without an `expect` line that are violated all the same: they show what that looks like.
const VIOLATED: [&str; 1] = ["head-to-head"];

/// Proven as they are, and violated under the weakest MPI, where sends are not buffered, messages are received in another
/// order, a collective waits for other ranks than here, the calls of a window wait elsewhere, its flags are ignored, and a
/// fence completes what is written at its own rank only.
const WRONG_UNDER_THE_WEAKEST_MPI: [(&str, &str); 17] = [
    ("eager-head-to-head", "deadlock-freedom"),
    ("eager-ring", "deadlock-freedom"),
    ("both-have-come", "deadlock-freedom"),
    ("root-does-not-wait", "deadlock-freedom"),
    ("overtaking-bcast", "deadlock-freedom"),
    ("overtaking-reduce", "deadlock-freedom"),
    ("overtaking-gather", "deadlock-freedom"),
    ("start-then-post", "deadlock-freedom"),
    ("message-under-lock", "deadlock-freedom"),
    ("lock-and-message-iunlock", "deadlock-freedom"),
    ("counted-on-flag", "deadlock-freedom"),
    ("access-then-exposure-flag", "deadlock-freedom"),
    ("message-behind-first-fence", "deadlock-freedom"),
    ("complete-then-message", "rma-race"),
    ("fence-as-barrier", "rma-race"),
    ("lock-after-fence", "rma-race"),
    ("fence-then-lock", "rma-race"),
];

fn stem(path: &Path) -> &str {
    path.file_stem().and_then(|stem| stem.to_str()).unwrap_or("")
}

fn is_in(list: &[&str], path: &Path) -> bool {
    list.contains(&stem(path))
}

#[test]
fn every_scenario_is_as_it_says() {
    let mut wrong = Vec::new();
    for path in scenarios().iter().filter(|path| !is_in(&FOR_THE_SIMULATOR, path)) {
        let output = carrousel().arg("verify").arg(path).output().expect("it runs");
        let expected = i32::from(is_in(&VIOLATED, path));
        if output.status.code() != Some(expected) {
            wrong.push(format!("{}: {:?}\n{}", path.display(), output.status.code(), printed(&output)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_scenario_is_the_same_under_the_published_rules() {
    let mut wrong = Vec::new();
    let explored =
        |path: &&PathBuf| !is_in(&FOR_THE_SIMULATOR, path) && !is_in(&TOO_LARGE_WHEN_PUBLISHED, path);
    for path in scenarios().iter().filter(explored) {
        let output =
            carrousel().args(["verify", "--protocol", "published"]).arg(path).output().expect("it runs");
        let expected = i32::from(is_in(&VIOLATED, path));
        if output.status.code() != Some(expected) {
            wrong.push(format!("{}: {:?}\n{}", path.display(), output.status.code(), printed(&output)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nothing_is_wrong_with_the_first_states_of_long_scenarios() {
    for path in scenarios().iter().filter(|path| is_in(&FOR_THE_SIMULATOR, path) && !is_in(&TOO_LARGE, path))
    {
        let output = carrousel()
            .args(["verify", "--max-states", "2000", "--threads", "1"])
            .arg(path)
            .output()
            .expect("it runs");
        assert!(matches!(output.status.code(), Some(0 | 3)), "{}: {}", path.display(), printed(&output));
    }
}

#[test]
fn what_counts_on_this_library_is_found_under_the_weakest_mpi() {
    let all = scenarios();
    for (name, check) in WRONG_UNDER_THE_WEAKEST_MPI {
        let path = all.iter().find(|path| stem(path) == name).expect("there is such a file");
        let output = carrousel()
            .args(["verify", "--portable", "--format", "json"])
            .arg(path)
            .output()
            .expect("it runs");
        assert_eq!(output.status.code(), Some(1), "{}: {}", path.display(), printed(&output));
        let report: serde_json::Value = serde_json::from_str(&stdout(&output)).expect("it is JSON");
        let checks = report["checks"].as_array().expect("it has checks");
        let found = checks.iter().find(|found| found["name"] == check).expect("it is reported");
        assert_eq!(found["verdict"], "violated", "{}", path.display());
    }
}

#[test]
fn what_is_correct_is_correct_under_the_weakest_mpi_too() {
    for path in scenarios() {
        let text = std::fs::read_to_string(&path).expect("it can be read");
        let wrong = WRONG_UNDER_THE_WEAKEST_MPI.map(|(name, _)| name);
        let aside = [&FOR_THE_SIMULATOR[..], &VIOLATED, &wrong];
        if text.contains("\nexpect ") || aside.iter().any(|list| is_in(list, &path)) {
            continue;
        }
        // One send to oneself that is buffered is what this scenario is about.
        let expected = i32::from(stem(&path) == "to-myself");
        let output = carrousel().args(["verify", "--portable"]).arg(&path).output().expect("it runs");
        assert_eq!(output.status.code(), Some(expected), "{}: {}", path.display(), printed(&output));
    }
}

#[test]
fn every_scenario_is_in_canonical_layout() {
    let output = carrousel().args(["fmt", "--check"]).args(scenarios()).output().expect("it runs");
    assert_eq!(output.status.code(), Some(0), "`carrousel fmt --write` these:\n{}", printed(&output));
}

#[test]
fn the_shards_of_a_suite_merge_into_the_suite() {
    let directory = std::env::temp_dir().join(format!("carrousel-shards-{}", std::process::id()));
    std::fs::create_dir_all(&directory).expect("it can be made");
    let shard = |part: &str| {
        let mut command = carrousel();
        command.args(["verify", "--suite", "connection", "--format", "json", "--shard", part]);
        let output = command.output().expect("it runs");
        assert!(output.status.success(), "{}", printed(&output));
        let path = directory.join(part.replace('/', "-of-"));
        std::fs::write(&path, &output.stdout).expect("it can be written");
        path
    };
    let (first, second) = (shard("1/2"), shard("2/2"));
    let merge = |paths: &[&Path]| {
        carrousel().args(["verify", "--format", "json", "--merge"]).args(paths).output().expect("it runs")
    };
    let merged = merge(&[&second, &first]);
    assert!(merged.status.success(), "{}", printed(&merged));
    let report: serde_json::Value = serde_json::from_str(&stdout(&merged)).expect("it is JSON");
    let rows = report["rows"].as_array().expect("it has rows");
    let names: BTreeSet<&str> = rows.iter().filter_map(|row| row["name"].as_str()).collect();
    assert!(names.len() == rows.len() && rows.len() > 10, "{names:?}");
    for row in rows {
        assert_eq!(row["verdict"], "proven", "{}", row["name"]);
    }
    // Half of a suite is not the suite.
    assert_eq!(merge(&[&first]).status.code(), Some(2));
    std::fs::remove_dir_all(&directory).expect("it can be removed");
}
