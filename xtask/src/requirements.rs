//! The Debian packages that `cargo xtask test` needs. As root they are installed before it begins; otherwise they are named,
//! and what needs them is left out.

use crate::guest::packages;
use crate::steps::{StepOutcome, left_out};
use std::fs;
use std::path::Path;
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

/// Files of LLVM, in directories whose names have its version.
const LIBCLANG: (&str, &str) = ("usr/lib/llvm-*/lib/libclang.so", "libclang-dev");
const SANITIZERS: (&str, &str) = ("usr/lib/llvm-*/lib/clang/*/lib/linux", "libclang-rt-dev");

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
    missing.extend((!is_there(Path::new("/"), SANITIZERS.0)).then_some(SANITIZERS.1));
    missing.sort_unstable();
    missing.dedup();
    missing
}

pub(crate) fn missing_headers() -> Vec<&'static str> {
    let mut missing = packages::missing_of(&HEADERS);
    // The bindings to libibverbs are made by it.
    missing.extend((!is_there(Path::new("/"), LIBCLANG.0)).then_some(LIBCLANG.1));
    missing
}

/// Whether there is a file below a directory whose path is like this: a `*` ends a name of which only the beginning is known.
fn is_there(directory: &Path, path: &str) -> bool {
    let (name, rest) = path.split_once('/').unwrap_or((path, ""));
    let goes_on = |found: &Path| rest.is_empty() || is_there(found, rest);
    let Some(beginning) = name.strip_suffix('*') else {
        let found = directory.join(name);
        // A link counts only if its library is there.
        return found.exists() && goes_on(&found);
    };
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut like =
        entries.filter(|entry| entry.file_name().as_encoded_bytes().starts_with(beginning.as_bytes()));
    like.any(|entry| goes_on(&entry.path()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_by_the_beginning_of_its_directory() {
        let is_there = |path| is_there(Path::new("/"), path);
        assert!(is_there("proc/self/status") && is_there("pro*/self/task/*/status"));
        assert!(!is_there("proc/self/no-such-file") && !is_there("pro*/self/task/x*/status"));
        assert!(!is_there("proc/self/status/below"));
    }

    #[test]
    fn each_package_that_is_missing_is_named_once() {
        let missing = missing();
        assert!(missing.is_sorted() && missing.windows(2).all(|two| two[0] != two[1]), "{missing:?}");
    }
}
