//! Steps of `cargo xtask test` about dependencies: what may come in (`deny.toml`), and what is known against it.

use crate::bench::process::output;
use crate::steps::StepOutcome;
use crate::tools::{self, cargo, need};
use std::env;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

/// The version that is compiled where it is missing.
const DENY: &str = "0.20.2";
/// How long the database may take to come: it has some megabytes.
const FETCH: Duration = Duration::from_secs(120);

/// Licences, bans and sources: what `Cargo.lock` alone decides.
pub(crate) fn dependencies() -> Result<(), String> {
    need("deny", DENY)?;
    tools::run(cargo(&["deny", "--locked", "--workspace", "check", "bans", "licenses", "sources"]))
}

/// Vulnerabilities that are known of dependencies, and crates that are unmaintained or were withdrawn. The
/// database of RustSec is on GitHub, which not every build host reaches, and no registry has a copy of it. One that
/// was fetched before is used where today's cannot be had; `deny.toml` says how old it may be.
pub(crate) fn advisories() -> Result<StepOutcome, String> {
    need("deny", DENY)?;
    let fetched = output(cargo(&["deny", "--locked", "--workspace", "fetch", "db"]), FETCH);
    let mut check = cargo(&["deny", "--locked", "--workspace", "check"]);
    if let Err(why) = fetched {
        let databases = databases();
        let copy = databases.as_ref().is_some_and(has_directory);
        if !copy {
            return Ok(StepOutcome::Skipped(unreachable_because(&why)));
        }
        eprintln!("{}; a copy from before is used", unreachable_because(&why));
        check.arg("--disable-fetch");
    }
    check.arg("advisories");
    tools::run(check).map(|()| StepOutcome::Passed)
}

/// Where cargo-deny keeps databases.
fn databases() -> Option<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(env::home_dir()?.join(".cargo")))?;
    Some(home.join("advisory-dbs"))
}

/// Whether something was ever fetched there: each database is a directory.
fn has_directory(databases: &PathBuf) -> bool {
    fs::read_dir(databases).into_iter().flatten().flatten().any(|entry| entry.path().is_dir())
}

/// In one line: cargo-deny says what has gone wrong in the last ones of several.
fn unreachable_because(why: &str) -> String {
    let last = why.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
    format!("the database of advisories cannot be reached: {last}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_is_a_directory() {
        let place = tempfile::tempdir().unwrap();
        let databases = place.path().join("advisory-dbs");
        assert!(!has_directory(&databases), "there is nothing");
        fs::create_dir(&databases).unwrap();
        // cargo-deny leaves its lock there, whatever becomes of the database.
        fs::write(databases.join("db.lock"), "").unwrap();
        assert!(!has_directory(&databases));
        fs::create_dir(databases.join("advisory-db-3157b0e258782691")).unwrap();
        assert!(has_directory(&databases));
    }

    #[test]
    fn the_reason_is_one_line() {
        let why =
            "`cargo deny fetch db` ended with exit status: 1\n  error: failed to fetch\n  no route to host\n";
        assert_eq!(
            unreachable_because(why),
            "the database of advisories cannot be reached: no route to host"
        );
    }
}
