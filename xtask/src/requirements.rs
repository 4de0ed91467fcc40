//! The Debian packages that `cargo xtask test` needs. As root they are installed before it begins; otherwise they are named,
//! and what needs them is left out.

use crate::guest::packages;
use crate::steps::{StepOutcome, left_out};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Programs of steps, and the packages that they come from. Guests have a table of their own.
const PROGRAMS: [(&str, &str); 8] = [
    // It counts the instructions of a message.
    ("valgrind", "valgrind"),
    // The C library is tried with two compilers, and under the sanitizers of both.
    ("clang", "clang"),
    ("make", "make"),
    ("pkg-config", "pkg-config"),
    // Slurm starts ranks, too; the tests run one of their own.
    ("slurmctld", "slurmctld"),
    ("slurmd", "slurmd"),
    ("srun", "slurm-client"),
    ("munged", "munge"),
];

/// What the optional features are compiled with: libibverbs, and hwloc, which says on which processors ranks run.
const HEADERS: [(&str, &str); 5] = [
    ("/usr/include/infiniband/verbs.h", "libibverbs-dev"),
    ("/usr/include/rdma/rdma_cma.h", "librdmacm-dev"),
    ("/usr/include/hwloc.h", "libhwloc-dev"),
    ("/usr/include/libudev.h", "libudev-dev"),
    ("pkg-config", "pkg-config"),
];

/// Files below the directories of LLVM, whose names have its version.
const LLVM: [(&str, &str); 2] = [("lib/libclang.so", "libclang-dev"), ("lib/clang", "libclang-rt-dev")];

/// The features that are compiled here: all of them, or the default ones where headers are missing.
pub(crate) fn features() -> &'static [&'static str] {
    static FEATURES: OnceLock<&[&str]> = OnceLock::new();
    FEATURES.get_or_init(|| if missing_headers().is_empty() { &["--all-features"] } else { &[] })
}

/// As a step: what is missing is installed, or named.
pub(crate) fn step() -> Result<StepOutcome, String> {
    let missing = missing();
    match packages::install(&missing) {
        Ok(()) => Ok(StepOutcome::Passed),
        Err(why) if missing_headers().is_empty() => left_out(why),
        Err(why) => left_out(format!("{why}\nWithout their headers, optional features are left out")),
    }
}

/// The packages that are missing, each once.
fn missing() -> Vec<&'static str> {
    let mut missing = [packages::missing_of(&PROGRAMS), missing_headers(), packages::missing()].concat();
    missing.extend(LLVM.iter().filter(|(file, _)| !is_in_llvm(file)).map(|(_, package)| *package));
    missing.sort_unstable();
    missing.dedup();
    missing
}

fn missing_headers() -> Vec<&'static str> {
    let mut missing = packages::missing_of(&HEADERS);
    // The bindings to libibverbs are made by it.
    missing.extend((!is_in_llvm(LLVM[0].0)).then_some(LLVM[0].1));
    missing
}

/// Whether some version of LLVM is installed with a file.
fn is_in_llvm(file: &str) -> bool {
    let versions = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let mut of_llvm = versions.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(b"llvm-"));
    of_llvm.any(|entry| has_file(&entry.path(), file))
}

fn has_file(directory: &Path, file: &str) -> bool {
    let path: PathBuf = directory.join(file);
    // A link to a library that is not there is none.
    path.try_exists().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_there_is_missing() {
        assert!(
            has_file(Path::new("/"), "proc/self/status")
                && !has_file(Path::new("/"), "proc/self/no-such-file")
        );
        assert!(!is_in_llvm("lib/no-such-library.so"));
    }

    #[test]
    fn each_package_that_is_missing_is_named_once() {
        let missing = missing();
        assert!(missing.is_sorted() && missing.windows(2).all(|two| two[0] != two[1]), "{missing:?}");
    }
}
