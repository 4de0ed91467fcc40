//! Debian's Open MPI in guests: its launcher, what it opens while it runs, and programs compiled for it.

use super::job::Program;
use super::packages;
use crate::bench::baselines::{compile, directory};
use std::path::PathBuf;
use std::process::Command;

/// The libraries and settings that it opens, which `ldd` does not show.
const FILES: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/openmpi/lib/openmpi3",
    "/usr/lib/x86_64-linux-gnu/pmix2",
    "/usr/share/openmpi",
    "/etc/openmpi",
];

/// The files beside its programs.
pub(super) fn files() -> impl Iterator<Item = PathBuf> {
    FILES.into_iter().map(PathBuf::from)
}

/// Its launcher, and a program of it for each of these sources, `NAME-openmpi` of `NAME.c`.
///
/// # Errors
/// When something is missing, or does not compile.
pub(super) fn programs(sources: &[&str]) -> Result<Vec<Program>, String> {
    let launcher = ["mpiexec.openmpi", "orted"].into_iter().map(Program::find);
    launcher.chain(sources.iter().map(|source| compiled(source))).collect()
}

fn compiled(source: &str) -> Result<Program, String> {
    let name = format!("{}-openmpi", source.trim_end_matches(".c"));
    let path = directory().join(&name);
    compile(&mut Command::new(packages::program("mpicc.openmpi")?), source, &path)?;
    Ok(Program { name, path })
}
