//! The files from which libfabric loads the provider.

use super::ask::{self, Provider};
use serde::Serialize;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// How libfabric finds out which files of a directory are providers.
const ENDING: &str = "-fi.so";
/// The most files of a directory that are looked at.
const FILES_MAX: usize = 256;

/// A file of `FI_PROVIDER_PATH` that libfabric loads.
#[derive(Clone, Debug, Serialize)]
pub(super) struct ProviderFile {
    pub(super) file: PathBuf,
    /// `null` if it cannot be loaded.
    pub(super) provider: Option<Provider>,
    /// Why it cannot.
    pub(super) problem: Option<String>,
}

/// The entries of a value of `FI_PROVIDER_PATH` (fabric(7)): directories, or files, some of which come first by a `@`.
pub(super) fn entries(value: &str) -> impl Iterator<Item = PathBuf> {
    let entries = value.split(':').map(|entry| entry.trim_start_matches(['@', '+']));
    entries.filter(|entry| !entry.is_empty()).map(PathBuf::from)
}

/// All of this process's `FI_PROVIDER_PATH`.
pub(super) fn all() -> Vec<ProviderFile> {
    let path = env::var_os("FI_PROVIDER_PATH").unwrap_or_default();
    entries(&path.to_string_lossy()).flat_map(|entry| of(&entry)).map(looked_at).collect()
}

fn of(entry: &Path) -> Vec<PathBuf> {
    if entry.is_file() {
        return vec![entry.to_owned()];
    }
    let files = fs::read_dir(entry).into_iter().flatten().flatten().map(|file| file.path());
    let is_provider = |file: &PathBuf| file.to_string_lossy().ends_with(ENDING);
    let mut files: Vec<_> = files.filter(is_provider).take(FILES_MAX).collect();
    files.sort();
    files
}

fn looked_at(file: PathBuf) -> ProviderFile {
    let asked = ask::provider(&file);
    let (provider, problem) = match asked {
        Ok(provider) => (Some(provider), None),
        Err(problem) => (None, Some(problem)),
    };
    ProviderFile { file, provider, problem }
}
