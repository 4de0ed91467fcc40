//! `cargo xtask dist`: what users install who have no compiler, an archive, a Debian package and a Python wheel.
//!
//! All three wrap one tree of files, which can be moved ([`tree`]). `trial` installs each into an empty root and uses it, as a
//! step of `cargo xtask test`.

mod archive;
mod builds;
mod deb;
mod fi;
mod licences;
mod needs;
mod tree;
mod trial;
mod wheel;

use crate::tools::{note, output_of, root, target};
use builds::Builds;
use clap::{Args, ValueEnum};
use std::env;
use std::fs;
use std::path::{self, Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use tree::InstalledTree;

pub(crate) use trial::steps;

/// The version of all crates of the workspace.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Make what users install without a compiler: an archive, a Debian package and a Python wheel
///
/// Each has the command, the libfabric provider with `carrousel-fi`, which prints the variables by which an MPI library uses it,
/// the C library with its header, manual pages, completions, the documentation and all licences. The command and the provider
/// are there twice in archive and wheel, without and with InfiniBand and RoCE (`carrousel-verbs`), which needs libibverbs; the
/// Debian package depends on it. From nothing it takes some ten minutes on two cores, nearly all of them for compiling. As root
/// on Debian, programs that are missing are installed; elsewhere they are named. The same sources, compiler and directory make
/// the same files, whose times are those of the last commit, or of SOURCE_DATE_EPOCH.
#[derive(Clone, Debug, Args)]
pub(crate) struct Dist {
    /// Make these only
    #[arg(long, value_enum, value_delimiter = ',', value_name = "FORMAT")]
    only: Vec<PackageFormat>,
    /// Leave out what needs libibverbs, and with it half of the compiling
    #[arg(long)]
    without_verbs: bool,
    /// The directory to which they are written; `dist` of the workspace, unless given
    #[arg(long, value_name = "DIRECTORY")]
    to: Option<PathBuf>,
}

/// What can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PackageFormat {
    /// carrousel-VERSION-ARCHITECTURE-linux.tar.gz, to be unpacked anywhere
    Archive,
    /// carrousel_VERSION_ARCHITECTURE.deb
    Deb,
    /// A wheel, for pip
    Wheel,
}

impl PackageFormat {
    const ALL: [Self; 3] = [Self::Archive, Self::Deb, Self::Wheel];
}

/// Builds and wraps.
pub(crate) fn run(dist: &Dist) -> Result<(), String> {
    let formats = if dist.only.is_empty() { &PackageFormat::ALL[..] } else { &dist.only };
    let with_verbs = !dist.without_verbs && needs::install(formats)?;
    warn_of_changes();
    let to = dist.to.clone().unwrap_or_else(|| root().join("dist"));
    let to = path::absolute(&to).map_err(|error| format!("{}: {error}", to.display()))?;
    let mut progress = Progress::new(3 + if with_verbs { 2 } else { 0 } + formats.len());
    let builds = Builds::release(with_verbs, &mut progress)?;
    for format in formats {
        let made = progress.step(format.title(), || format.make(&builds, &to))?;
        let size = fs::metadata(&made).map_or(0, |made| made.len());
        println!("{} ({:.1} MB)", made.display(), size as f64 / 1e6);
    }
    Ok(())
}

impl PackageFormat {
    fn title(self) -> &'static str {
        match self {
            Self::Archive => "archive",
            Self::Deb => "Debian package",
            Self::Wheel => "Python wheel",
        }
    }

    /// Makes it in this directory; says where it is.
    fn make(self, builds: &Builds, to: &Path) -> Result<PathBuf, String> {
        fs::create_dir_all(to).map_err(|error| format!("{}: {error}", to.display()))?;
        // A tree is as large as all that is in it, and nobody looks at it.
        let place = tempfile::tempdir_in(target()).map_err(|error| format!("no room for files: {error}"))?;
        let tree = InstalledTree::new(place.path().join("tree"));
        match self {
            Self::Archive => {
                tree.fill(&builds.plain, builds.verbs.as_ref(), builds)?;
                archive::make(&tree, to)
            }
            Self::Deb => {
                // What it needs is installed with it.
                tree.fill(builds.verbs.as_ref().unwrap_or(&builds.plain), None, builds)?;
                deb::make(&tree, place.path(), to)
            }
            Self::Wheel => {
                tree.fill(&builds.plain, builds.verbs.as_ref(), builds)?;
                wheel::make(&tree, to)
            }
        }
    }
}

/// Lines on standard error about what is done, each step with its time.
pub(crate) struct Progress {
    step: usize,
    of: usize,
}

impl Progress {
    fn new(of: usize) -> Self {
        Self { step: 0, of }
    }

    fn step<T>(&mut self, title: &str, work: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
        self.step += 1;
        note(&format!("[{}/{}] {title}", self.step, self.of));
        let began = Instant::now();
        let done = work().map_err(|message| format!("{title}: {message}"))?;
        note(&format!("[{}/{}] {title}: {:.1} s", self.step, self.of, began.elapsed().as_secs_f64()));
        Ok(done)
    }
}

/// Seconds since 1970 of all that is made: those of SOURCE_DATE_EPOCH, of the last commit, or none.
fn epoch() -> u64 {
    let commit =
        || output_of(Command::new("git").args(["log", "-1", "--format=%ct"]).current_dir(root())).ok();
    let seconds = env::var("SOURCE_DATE_EPOCH").ok().or_else(commit);
    seconds.and_then(|seconds| seconds.trim().parse().ok()).unwrap_or(0)
}

/// The command says from which commit it was built.
fn warn_of_changes() {
    let status = output_of(Command::new("git").args(["status", "--porcelain"]).current_dir(root()));
    if status.is_ok_and(|changed| !changed.is_empty()) {
        note(
            "warning: there are changes that are not committed: `carrousel --version` names a commit without them",
        );
    }
}

/// All of a directory, before links: files and links, in the order of their names.
fn files_below(directory: &Path) -> Result<Vec<PathBuf>, String> {
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
