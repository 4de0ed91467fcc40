//! Which crates may depend on which. Arrows point down: drivers know protocols, protocols know no driver.

use std::collections::{BTreeMap, BTreeSet};

/// For each crate, all of ours that it may name in `[dependencies]`.
const ALLOWED: [(&str, &[&str]); 36] = [
    ("carrousel-scenario", &[]),
    ("carrousel-wire", &[]),
    ("carrousel-matching", &["carrousel-wire"]),
    ("carrousel-rendezvous", &["carrousel-matching", "carrousel-wire"]),
    ("carrousel-collective", &[]),
    (
        "carrousel-rank",
        &[
            "carrousel-matching",
            "carrousel-rendezvous",
            "carrousel-collective",
            "carrousel-epoch",
            "carrousel-wire",
        ],
    ),
    ("carrousel-registration", &[]),
    ("carrousel-schedule", &[]),
    ("carrousel-connection", &[]),
    ("carrousel-lock", &["carrousel-wire"]),
    ("carrousel-epoch", &["carrousel-lock", "carrousel-wire"]),
    ("carrousel-program", &["carrousel-scenario", "carrousel-collective", "carrousel-rank"]),
    ("carrousel-transport", &["carrousel-wire"]),
    ("carrousel-options", &["carrousel-scenario", "carrousel-schedule", "carrousel-rank"]),
    ("carrousel-trace", &["carrousel-rank", "carrousel-system"]),
    ("carrousel-system", &[]),
    ("carrousel-launch", &["carrousel-system"]),
    ("carrousel-transport-shm", &["carrousel-system", "carrousel-transport"]),
    ("carrousel-transport-verbs", &["carrousel-connection", "carrousel-registration", "carrousel-transport"]),
    (
        "carrousel-engine",
        &[
            "carrousel-launch",
            "carrousel-options",
            "carrousel-rank",
            "carrousel-registration",
            "carrousel-system",
            "carrousel-trace",
            "carrousel-transport",
            "carrousel-transport-shm",
            "carrousel-transport-verbs",
        ],
    ),
    (
        "carrousel",
        &[
            "carrousel-engine",
            "carrousel-options",
            "carrousel-rank",
            "carrousel-system",
            "carrousel-transport-shm",
        ],
    ),
    (
        "carrousel-ofi",
        &[
            "carrousel-engine",
            "carrousel-options",
            "carrousel-rank",
            "carrousel-system",
            "carrousel-trace",
            "carrousel-transport-shm",
            "carrousel-transport-verbs",
        ],
    ),
    (
        "carrousel-transport-sim",
        &[
            "carrousel-scenario",
            "carrousel-options",
            "carrousel-program",
            "carrousel-rank",
            "carrousel-rendezvous",
            "carrousel-schedule",
            "carrousel-transport",
        ],
    ),
    (
        "carrousel-verify",
        &[
            "carrousel-scenario",
            "carrousel-options",
            "carrousel-program",
            "carrousel-connection",
            "carrousel-epoch",
            "carrousel-lock",
            "carrousel-schedule",
            "carrousel-rank",
            "carrousel-rendezvous",
            "carrousel-registration",
            "carrousel-matching",
            "carrousel-trace",
            "carrousel-transport",
        ],
    ),
    ("carrousel-app", &["carrousel", "carrousel-options", "carrousel-rank", "carrousel-transport-sim"]),
    ("carrousel-apps", &["carrousel-app"]),
    ("carrousel-runner", &["carrousel", "carrousel-program", "carrousel-scenario", "carrousel-verify"]),
    (
        "carrousel-bench",
        &["carrousel", "carrousel-registration", "carrousel-scenario", "carrousel-transport-verbs"],
    ),
    ("carrousel-libfabric", &[]),
    (
        "carrousel-cli",
        &[
            "carrousel-app",
            "carrousel-bench",
            "carrousel",
            "carrousel-launch",
            "carrousel-libfabric",
            "carrousel-options",
            "carrousel-program",
            "carrousel-registration",
            "carrousel-runner",
            "carrousel-scenario",
            "carrousel-system",
            "carrousel-trace",
            "carrousel-transport-sim",
            "carrousel-transport-verbs",
            "carrousel-verify",
        ],
    ),
    ("carrousel-tests", &["carrousel-verify"]),
    (
        "carrousel-simulate",
        &["carrousel", "carrousel-engine", "carrousel-launch", "carrousel-options", "carrousel-system"],
    ),
    (
        "carrousel-figures",
        &[
            "carrousel-app",
            "carrousel-apps",
            "carrousel-scenario",
            "carrousel-schedule",
            "carrousel-transport-sim",
            "carrousel-verify",
        ],
    ),
    ("carrousel-differential", &["carrousel-options", "carrousel-scenario", "carrousel-verify"]),
    (
        "carrousel-ffi",
        &[
            "carrousel-epoch",
            "carrousel-lock",
            "carrousel-matching",
            "carrousel-rank",
            "carrousel-registration",
            "carrousel-rendezvous",
            "carrousel-wire",
        ],
    ),
    ("xtask", &[]),
];

/// Crates that are a function of their inputs: nothing of theirs may bring in a clock, a thread or I/O.
const PURE: [&str; 10] = [
    "carrousel-wire",
    "carrousel-matching",
    "carrousel-rendezvous",
    "carrousel-collective",
    "carrousel-rank",
    "carrousel-registration",
    "carrousel-schedule",
    "carrousel-connection",
    "carrousel-epoch",
    "carrousel-lock",
];

/// Crates that carry packets.
const TRANSPORTS: [&str; 3] = ["carrousel-transport", "carrousel-transport-shm", "carrousel-transport-verbs"];

/// Crates that know what a packet says.
const PACKETS: [&str; 6] = [
    "carrousel-matching",
    "carrousel-rendezvous",
    "carrousel-collective",
    "carrousel-rank",
    "carrousel-epoch",
    "carrousel-lock",
];

/// From elsewhere, the pure crates may have these.
const ALLOWED_IN_PURE: [&str; 4] = ["serde", "smallvec", "thiserror", "zerocopy"];

/// What tests and benchmarks of a crate may name in addition, in `[dev-dependencies]`.
const ALLOWED_IN_TESTS: [(&str, &[&str]); 5] = [
    ("carrousel-app", &["carrousel-scenario"]),
    (
        "carrousel-tests",
        &[
            "carrousel-engine",
            "carrousel-options",
            "carrousel-program",
            "carrousel-rank",
            "carrousel-scenario",
            "carrousel-trace",
            "carrousel-transport-shm",
        ],
    ),
    // Their tests are hosts, whose traces are replayed.
    ("carrousel-ffi", &["carrousel-trace", "carrousel-verify"]),
    ("carrousel-ofi", &["carrousel-verify"]),
    // Arrows that point up: the whole library is measured, and endpoints without a launcher are tried, over the adapter
    // that the transport's tests imitate.
    (
        "carrousel-transport-verbs",
        &["carrousel", "carrousel-engine", "carrousel-rank", "carrousel-transport-shm"],
    ),
];

struct Package {
    name: String,
    manifest: String,
    dependencies: BTreeSet<String>,
    /// What only tests and benchmarks need, which does not travel with a crate.
    in_tests: BTreeSet<String>,
}

fn packages() -> Vec<Package> {
    let text = |value: &serde_json::Value| value.as_str().unwrap_or_default().to_owned();
    carrousel_tests::packages()
        .iter()
        .map(|package| {
            let dependencies = || package["dependencies"].as_array().into_iter().flatten();
            let named = |in_tests: bool| {
                let wanted = dependencies()
                    .filter(|dependency| (dependency["kind"].as_str() == Some("dev")) == in_tests);
                wanted.map(|dependency| text(&dependency["name"])).collect()
            };
            Package {
                name: text(&package["name"]),
                manifest: text(&package["manifest_path"]),
                dependencies: named(false),
                in_tests: named(true),
            }
        })
        .collect()
}

fn is_ours(name: &str) -> bool {
    name == "carrousel" || name.starts_with("carrousel-")
}

#[test]
fn arrows_point_down() {
    let allowed: BTreeMap<&str, &[&str]> = ALLOWED.into();
    let allowed_in_tests: BTreeMap<&str, &[&str]> = ALLOWED_IN_TESTS.into();
    for package in packages() {
        let name = package.name.as_str();
        let allowed = allowed.get(name).unwrap_or_else(|| panic!("{name} has no place in the architecture"));
        for dependency in package.dependencies.iter().filter(|name| is_ours(name)) {
            assert!(allowed.contains(&dependency.as_str()), "{name} depends on {dependency}");
        }
        let in_tests = allowed_in_tests.get(name).copied().unwrap_or_default();
        for dependency in package.in_tests.iter().map(String::as_str).filter(|name| is_ours(name)) {
            // A crate's tests name the crate itself to have its features.
            let known = dependency == name || allowed.contains(&dependency) || in_tests.contains(&dependency);
            assert!(known, "the tests of {name} depend on {dependency}");
        }
    }
}

/// Neither directly nor by another crate of ours: what they need not know they cannot rely on.
#[test]
fn no_transport_knows_a_protocol() {
    let packages = packages();
    let of = |name: &str| packages.iter().find(|package| package.name == name);
    for transport in TRANSPORTS {
        let mut known = BTreeSet::new();
        let mut next = vec![transport];
        while let Some(name) = next.pop() {
            let ours = of(name).into_iter().flat_map(|package| &package.dependencies);
            next.extend(
                ours.filter(|name| of(name).is_some()).map(String::as_str).filter(|name| known.insert(*name)),
            );
        }
        assert!(known.contains("carrousel-wire"), "{transport} carries packets");
        let packets = PACKETS.iter().find(|name| known.contains(**name));
        assert_eq!(packets, None, "{transport} knows a protocol");
    }
}

#[test]
fn the_protocols_depend_on_next_to_nothing() {
    for package in packages().iter().filter(|package| PURE.contains(&package.name.as_str())) {
        let foreign = package.dependencies.iter().filter(|name| !name.starts_with("carrousel-"));
        for dependency in foreign {
            let known = ALLOWED_IN_PURE.contains(&dependency.as_str());
            assert!(known, "{} depends on {dependency}", package.name);
        }
    }
}

#[test]
fn the_protocols_are_no_std_and_without_unsafe() {
    for package in packages().iter().filter(|package| PURE.contains(&package.name.as_str())) {
        let library = std::path::Path::new(&package.manifest).with_file_name("src").join("lib.rs");
        let text = std::fs::read_to_string(&library).expect("it can be read");
        for attribute in ["#![no_std]", "#![forbid(unsafe_code)]"] {
            assert!(text.contains(attribute), "{} has no {attribute}", package.name);
        }
    }
}

/// What the checker alone asks of a rank is in no library that drives one.
#[test]
fn drivers_have_no_hooks_of_the_checker() {
    let has_hooks = |package: &str| {
        let tree = carrousel_tests::cargo()
            .args(["tree", "--locked", "--edges", "features,normal", "--package", package])
            .output()
            .expect("cargo can be started");
        assert!(tree.status.success(), "{}", String::from_utf8_lossy(&tree.stderr));
        String::from_utf8_lossy(&tree.stdout).contains("carrousel-rank feature \"checker\"")
    };
    let drivers =
        ["carrousel", "carrousel-engine", "carrousel-ffi", "carrousel-ofi", "carrousel-transport-sim"];
    for package in drivers {
        assert!(!has_hooks(package), "{package} has the hooks of the checker");
    }
    assert!(has_hooks("carrousel-verify"), "it is found where it is");
}

#[test]
fn every_crate_is_where_the_architecture_says() {
    let architecture = carrousel_tests::text("ARCHITECTURE.md");
    for package in packages() {
        let manifest = std::path::Path::new(&package.manifest);
        let directory = manifest.parent().and_then(|path| path.strip_prefix(carrousel_tests::root()).ok());
        let directory = directory.expect("a crate has a directory").display().to_string();
        let row = format!("\n| [`{directory}`]({directory}/src/");
        assert!(architecture.contains(&row), "ARCHITECTURE.md has no row `{}`", row.trim_start());
    }
    // It is read in ten minutes; what a crate promises stands in its header.
    let lines = architecture.lines().count();
    assert!(lines <= 150, "ARCHITECTURE.md has {lines} lines");
}
