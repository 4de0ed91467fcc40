//! Making packages: their version and time, the files of a directory, and what is said meanwhile.

use crate::tools::{note, output_of, root};
use clap::ValueEnum;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// The version of all crates of the workspace.
pub(super) const VERSION: &str = env!("CARGO_PKG_VERSION");

/// What can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum PackageFormat {
    /// carrousel-VERSION-ARCHITECTURE-linux.tar.gz, to be unpacked anywhere
    Archive,
    /// carrousel_VERSION_ARCHITECTURE.deb
    Deb,
    /// A wheel, for pip
    Wheel,
}

impl PackageFormat {
    pub(super) const ALL: [Self; 3] = [Self::Archive, Self::Deb, Self::Wheel];
}

/// Lines on standard error about what is done, each step with its time.
pub(super) struct Progress {
    step: usize,
    of: usize,
}

impl Progress {
    pub(super) fn new(of: usize) -> Self {
        Self { step: 0, of }
    }

    pub(super) fn step<T>(
        &mut self,
        title: &str,
        work: impl FnOnce() -> Result<T, String>,
    ) -> Result<T, String> {
        self.step += 1;
        note(&format!("[{}/{}] {title}", self.step, self.of));
        let began = Instant::now();
        let done = work().map_err(|message| format!("{title}: {message}"))?;
        note(&format!("[{}/{}] {title}: {:.1} s", self.step, self.of, began.elapsed().as_secs_f64()));
        Ok(done)
    }
}

/// Seconds since 1970 of all that is made: those of SOURCE_DATE_EPOCH, of the last commit, or none.
pub(super) fn epoch() -> u64 {
    let commit =
        || output_of(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root())).ok();
    let seconds = env::var("SOURCE_DATE_EPOCH").ok().or_else(commit);
    seconds.and_then(|seconds| seconds.trim().parse().ok()).unwrap_or(0)
}

/// All of a directory, before links: files and links, in the order of their names.
pub(super) fn files_below(directory: &Path) -> Result<Vec<PathBuf>, String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", directory.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).map_err(wrong)? {
        let entry = entry.map_err(wrong)?;
        match entry.file_type().map_err(wrong)?.is_dir() {
            true => files.extend(files_below(&entry.path())?),
            false => files.push(entry.path()),
        }
    }
    files.sort();
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_that_fails_is_named() {
        let mut progress = Progress::new(2);
        assert_eq!(progress.step("first", || Ok(5)), Ok(5));
        assert_eq!(progress.step("second", || Err::<(), _>("no".to_owned())), Err("second: no".to_owned()));
    }

    #[test]
    fn files_are_listed_with_those_below() {
        let place = tempfile::tempdir().expect("there is room");
        fs::create_dir(place.path().join("b")).expect("there is room");
        for name in ["c", "b/a", "a"] {
            fs::write(place.path().join(name), name).expect("there is room");
        }
        let names = files_below(place.path()).expect("it can be read");
        let names = names.iter().map(|file| file.strip_prefix(place.path()).expect("it is below"));
        assert_eq!(names.collect::<Vec<_>>(), [Path::new("a"), Path::new("b/a"), Path::new("c")]);
    }
}
