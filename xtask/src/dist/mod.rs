//! `cargo xtask dist`: what users install who have no compiler, an archive, a Debian package and a Python wheel.
//!
//! All three wrap one tree of files, which can be moved ([`tree`]). `trial` installs each into an empty root and uses it, as a
//! step of `cargo xtask test`.

mod archive;
mod builds;
mod deb;
mod fi;
mod licences;
mod making;
mod needs;
mod tree;
mod trial;
mod wheel;

use crate::tools::{note, output_of, root, target};
use builds::Builds;
use clap::Args;
use making::{PackageFormat, Progress};
use std::fs;
use std::path::{self, Path, PathBuf};
use std::process::Command;
use tree::InstalledTree;

pub(crate) use trial::steps;

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

/// The command says from which commit it was built.
fn warn_of_changes() {
    let status = output_of(Command::new("git").args(["status", "--porcelain"]).current_dir(root()));
    if status.is_ok_and(|changed| !changed.is_empty()) {
        note(
            "warning: there are changes that are not committed: `carrousel --version` names a commit without them",
        );
    }
}
