//! MPI libraries in guests: a launcher, what it opens while it runs, and programs compiled for it.

use super::job::Program;
use super::packages;
use crate::bench::baselines::{self, Baseline, compile, directory};
use crate::bench::results::Source;
use std::path::PathBuf;
use std::process::Command;

/// An MPI library whose ranks run in guests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GuestMpi {
    /// Debian's Open MPI.
    OpenMpi,
    /// MPICH's wheel: Debian's package has no libfabric.
    Mpich,
}

/// The libraries and settings that Open MPI opens, which `ldd` does not show.
const OPEN_MPI: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/openmpi/lib/openmpi3",
    "/usr/lib/x86_64-linux-gnu/pmix2",
    "/usr/share/openmpi",
    "/etc/openmpi",
];

impl GuestMpi {
    /// Installs it, unless it is there.
    ///
    /// # Errors
    /// When it cannot be had here; says why.
    pub(super) fn install(self) -> Result<(), String> {
        match self {
            Self::OpenMpi => packages::install_missing_mpi(),
            Self::Mpich => wheel()?.install(),
        }
    }

    /// The files beside its programs.
    pub(super) fn files(self) -> impl Iterator<Item = PathBuf> {
        let files = if self == Self::OpenMpi { &OPEN_MPI[..] } else { &[] };
        files.iter().map(PathBuf::from)
    }

    /// Its launcher, and a program of it for each of these sources, `NAME-openmpi` or `NAME-mpich` of `NAME.c`.
    ///
    /// # Errors
    /// When something is missing, or does not compile.
    pub(super) fn programs(self, sources: &[&str]) -> Result<Vec<Program>, String> {
        let (launcher, suffix) = match self {
            Self::OpenMpi => (["mpiexec.openmpi", "orted"], "openmpi"),
            Self::Mpich => (["mpiexec.hydra", "hydra_pmi_proxy"], "mpich"),
        };
        let launcher = launcher.into_iter().map(|name| match self {
            Self::OpenMpi => Program::find(name),
            Self::Mpich => Ok(Program { name: name.to_owned(), path: wheel()?.tool(name) }),
        });
        launcher.chain(sources.iter().map(|source| self.compiled(source, suffix))).collect()
    }

    fn compiled(self, source: &str, suffix: &str) -> Result<Program, String> {
        let name = format!("{}-{suffix}", source.trim_end_matches(".c"));
        let (compiler, path) = match self {
            Self::OpenMpi => (packages::program("mpicc.openmpi")?, directory().join(&name)),
            // Beside that of Debian's MPICH.
            Self::Mpich => (wheel()?.tool("mpicc"), directory().join(format!("{name}-wheel"))),
        };
        compile(&mut Command::new(compiler), source, &path)?;
        Ok(Program { name, path })
    }
}

fn wheel() -> Result<&'static Baseline, String> {
    baselines::of(Source::Mpich).ok_or_else(|| "MPICH is none of the libraries that are installed".to_owned())
}
