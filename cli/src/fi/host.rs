//! Hosts of the provider, and what keeps them from using it.

use super::ask::Libfabric;
use serde::Serialize;
use std::path::PathBuf;

/// The name of the provider.
pub(super) const NAME: &str = "carrousel";

/// A host of the provider: an MPI library, or any program that is linked with the system's libfabric.
#[derive(Debug, Serialize)]
pub(super) struct ProviderHost {
    /// `null`: no MPI, but the system's libfabric.
    pub(super) launcher: Option<PathBuf>,
    /// `Open MPI`, `MPICH`, or `libfabric`.
    pub(super) name: String,
    pub(super) version: Option<String>,
    /// The file that is linked with libfabric.
    pub(super) library: Option<PathBuf>,
    pub(super) libfabric: Option<Libfabric>,
    /// Whether it would use the provider.
    pub(super) uses: bool,
    /// Why not.
    pub(super) problems: Vec<Problem>,
    /// What else is to be known.
    pub(super) notes: Vec<String>,
}

/// Why a host would not use the provider.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Problem {
    pub(super) what: String,
    /// What helps, if anything does: a command, most often.
    pub(super) remedy: Option<String>,
}

impl Problem {
    pub(super) fn new(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { what: what.into(), remedy: Some(remedy.into()) }
    }

    pub(super) fn without_remedy(what: impl Into<String>) -> Self {
        Self { what: what.into(), remedy: None }
    }
}
