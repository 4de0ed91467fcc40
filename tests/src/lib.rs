//! What several crates are needed to show, and the tools for it.
//!
//! **Promises.** A scenario that was ever judged wrongly stays in `scenarios/`, each of which says itself what is wrong
//! with it by its `expect` lines. Other tests hold the documents to the code: what a README's command prints, what the
//! page of the language says of each statement, which crates and files may name which, which rules there are.
//! **Entry point.** The tests in `tests/`; each file is about one thing.
#![forbid(unsafe_code)]

pub mod modules;
pub mod pages;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The workspace's directory.
pub fn root() -> &'static Path {
    static ROOT: OnceLock<PathBuf> = OnceLock::new();
    ROOT.get_or_init(|| {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        here.parent().map_or_else(|| here.to_owned(), Path::to_owned)
    })
}

/// A file of the workspace.
///
/// # Panics
/// When it cannot be read.
pub fn text(path: impl AsRef<Path>) -> String {
    let path = root().join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
}

/// The files with this ending in a directory and in those below it, but for what cargo has built.
///
/// # Panics
/// When a directory cannot be read.
pub fn files(directory: &Path, ending: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let of = |path: PathBuf| match path.is_dir() {
        true if path.ends_with("target") => Vec::new(),
        true => files(&path, ending),
        false => Vec::from_iter(Some(path).filter(|path| path.extension().is_some_and(|it| it == ending))),
    };
    entries.flat_map(|entry| of(entry.expect("its entries can be read").path())).collect()
}

/// The scenarios, by name, in order.
///
/// # Panics
/// When there are none.
pub fn scenarios() -> Vec<PathBuf> {
    let directories =
        ["", "/communicators", "/mistakes", "/rma"].map(|part| format!("tests/scenarios{part}"));
    let of = |directory: String| -> Vec<PathBuf> {
        let mut all: Vec<PathBuf> = fs::read_dir(root().join(&directory))
            .expect("there is a directory of scenarios")
            .map(|entry| entry.expect("its entries can be read").path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "scn"))
            .collect();
        all.sort();
        assert!(!all.is_empty(), "{directory} has no scenarios");
        all
    };
    directories.into_iter().flat_map(of).collect()
}

/// The command, built in the profile of the tests, to be run in the workspace's directory.
///
/// # Panics
/// When it cannot be built.
pub fn carrousel() -> Command {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    let binary = BUILT.get_or_init(|| match beside_the_tests() {
        Some(binary) if !is_stale(&binary) => binary,
        _ => build(),
    });
    let mut command = Command::new(binary);
    command.current_dir(root()).env_remove("CLICOLOR_FORCE").env_remove("COLUMNS");
    command
}

/// A build of the tests of the whole workspace has built the command with them. Cargo names the binaries of
/// a test's own package only, so this one is found by its place.
fn beside_the_tests() -> Option<PathBuf> {
    let test = std::env::current_exe().ok()?;
    let binary = test.parent()?.parent()?.join(format!("carrousel{}", std::env::consts::EXE_SUFFIX));
    binary.exists().then_some(binary)
}

/// Whether something that the command is made of is younger than it.
fn is_stale(binary: &Path) -> bool {
    let time = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    let built = time(binary);
    let mut sources = Vec::new();
    let shared = ["scenario", "program", "protocols", "options", "transport"];
    let real = ["trace", "transport-shm", "launch", "engine", "carrousel", "runner", "app", "bench"];
    for part in shared.iter().chain(&real).chain(&["transport-sim", "verify", "cli"]) {
        collect_sources(&root().join(part), &mut sources);
    }
    sources.iter().any(|source| time(source) > built)
}

fn collect_sources(directory: &Path, found: &mut Vec<PathBuf>) {
    let not_built_in = ["tests", "benches", "examples", "target"];
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() && !not_built_in.contains(&name.as_str()) {
            collect_sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs" || extension == "toml") {
            found.push(path);
        }
    }
}

/// The profile that this test is built in: it stands in a directory of that name, but for the first.
fn profile() -> String {
    let test = std::env::current_exe().expect("a test knows its file");
    let directory = test.ancestors().nth(2).and_then(Path::file_name).expect("it is in target/PROFILE/deps");
    let name = directory.to_string_lossy();
    if name == "debug" { "dev".to_owned() } else { name.into_owned() }
}

fn build() -> PathBuf {
    executable(&["--bin", "carrousel"])
}

/// An example program of the workspace, built in the profile of the tests.
///
/// # Panics
/// When it cannot be built.
pub fn example(name: &str) -> PathBuf {
    executable(&["--example", name])
}

/// Builds an executable, and says where it is.
fn executable(what: &[&str]) -> PathBuf {
    let mut cargo = cargo();
    // With the features that the tests of the whole workspace have: else everything would be built twice.
    cargo.args(["build", "--quiet", "--workspace", "--all-features", "--message-format", "json"]);
    cargo.args(["--profile", &profile()]).args(what);
    let output = cargo.output().expect("cargo can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .expect("cargo says where it is")
}

/// Cargo, in the workspace's directory.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root());
    command
}

/// The packages of the workspace, as `cargo metadata` tells of them.
///
/// # Panics
/// When cargo cannot be started, or prints something else.
pub fn packages() -> Vec<serde_json::Value> {
    let output = cargo().args(["metadata", "--no-deps", "--format-version", "1"]).output();
    let output = output.expect("cargo can be started");
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    metadata["packages"].as_array().cloned().expect("there are packages")
}

/// What a command has printed.
pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Both of what a command has printed, for a failing test's message.
pub fn printed(output: &Output) -> String {
    format!("{}\n{}", stdout(output), String::from_utf8_lossy(&output.stderr))
}
