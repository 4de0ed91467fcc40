//! What is told of a libfabric and of a provider.

use std::fmt;

/// A version: of libfabric, of its interface, of a provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version {
    /// What comes before the point.
    pub major: u32,
    /// What comes behind it.
    pub minor: u32,
}

impl Version {
    /// The version that a number of libfabric's means.
    pub(crate) fn of(number: u32) -> Self {
        Self { major: number >> 16, minor: number & 0xffff }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// A libfabric, and what it offers to a host that wants reliable datagrams and messages with tags, as MPI libraries do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Library {
    /// The file.
    pub file: String,
    /// Its version.
    pub version: Version,
    /// The providers, each once, in its order. A provider that is layered on another one is named with it:
    /// `tcp;ofi_rxm`.
    pub offers: Vec<String>,
}

/// A provider, as its file describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Provider {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: Version,
    /// The version of the interface that it is made for.
    pub interface: Version,
}
