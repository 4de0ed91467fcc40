//! Limits of the system on files and processes, checked and raised before a job is started.

use crate::error::LaunchError;
use rustix::process::{Resource, Rlimit, getrlimit, getuid, setrlimit};

/// Descriptors of this process in addition to those for ranks, including those that are open only while a rank is started.
const OWN_DESCRIPTORS: u64 = 64;

/// Raises the limits, as far as this process may, for this number of ranks on this host, or of connections to other
/// hosts, each with so many descriptors here.
pub(crate) fn ensure_limits(count: u32, of: &'static str, descriptors: u64) -> Result<(), LaunchError> {
    let many = (u64::from(count), of);
    raise_limit(
        Resource::Nofile,
        "open files (RLIMIT_NOFILE, ulimit -n)",
        many,
        descriptors * many.0 + OWN_DESCRIPTORS,
    )?;
    // The limit does not apply to root.
    if !getuid().is_root() {
        raise_limit(Resource::Nproc, "processes of one user (RLIMIT_NPROC, ulimit -u)", many, many.0 + 1)?;
    }
    Ok(())
}

/// Raises the limit on open files as far as this process may, for a program that opens many files and starts no ranks.
/// If that is not enough, opening a file fails.
pub fn raise_open_files() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    // Raising the limit up to its maximum is always permitted.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

fn raise_limit(
    resource: Resource,
    what: &'static str,
    (count, of): (u64, &'static str),
    needed: u64,
) -> Result<(), LaunchError> {
    let limit = getrlimit(resource);
    if limit.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    if let Some(limit) = limit.maximum.filter(|maximum| *maximum < needed) {
        return Err(LaunchError::LimitTooLow { count, of, what, needed, limit });
    }
    setrlimit(resource, Rlimit { current: limit.maximum, maximum: limit.maximum })
        .map_err(LaunchError::system("raise a limit for the ranks"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::RANKS;

    #[test]
    fn a_limit_that_is_too_low_is_named_before_anything_is_started() {
        let limit = getrlimit(Resource::Nofile);
        let Some(hard) = limit.maximum else { return };
        ensure_limits(1, RANKS, 4).expect("there is room for one");
        let error = raise_limit(Resource::Nofile, "open files", (7, RANKS), hard + 1)
            .expect_err("that many are not allowed");
        let expected = format!("7 ranks on this host need {} open files, and the limit is {hard}", hard + 1);
        assert!(error.to_string().starts_with(&expected), "{error}");
        // A limit that is high enough stays as it is.
        raise_limit(Resource::Nofile, "open files", (7, RANKS), hard).expect("as many as are allowed");
        assert_eq!(getrlimit(Resource::Nofile).current, Some(hard));
        let _ = setrlimit(Resource::Nofile, limit);
    }
}
