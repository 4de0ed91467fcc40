//! The report.

use super::files::ProviderFile;
use super::host::ProviderHost;
use super::variables::Variable;
use serde::Serialize;

/// The version of the report.
pub(super) const VERSION: u32 = 1;

/// What decides, and what comes of it.
#[derive(Serialize)]
pub(super) struct Report {
    pub(super) version: u32,
    /// Whether the host that the answer is about would use the provider.
    pub(super) uses: bool,
    pub(super) variables: Vec<Variable>,
    pub(super) files: Vec<ProviderFile>,
    /// The one that the answer is about is the first.
    pub(super) hosts: Vec<ProviderHost>,
}
