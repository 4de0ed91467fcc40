//! Limits of the system that a large job meets: found out before anything is started.

use crate::error::LaunchError;
use rustix::process::{Resource, Rlimit, getrlimit, getuid, setrlimit};

/// What this process has open beside its ranks, and opens for a moment while it starts one.
const OWN_DESCRIPTORS: u64 = 64;

/// Makes room for so many ranks on this host, or so many connections to others, each with so many descriptors here:
/// raises the limits as far as this process may.
pub(crate) fn ensure_limits(count: u32, of: &'static str, descriptors: u64) -> Result<(), LaunchError> {
    let many = (u64::from(count), of);
    raise_limit(
        Resource::Nofile,
        "open files (RLIMIT_NOFILE, ulimit -n)",
        many,
        descriptors * many.0 + OWN_DESCRIPTORS,
    )?;
    // It does not hold for root.
    if !getuid().is_root() {
        raise_limit(Resource::Nproc, "processes of one user (RLIMIT_NPROC, ulimit -u)", many, many.0 + 1)?;
    }
    Ok(())
}

/// For a program that opens many files and starts no ranks: raises its limit on them as far as it may. Where that is
/// not far enough, opening one says so.
pub fn raise_open_files() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    // Up to what it may be, it is not refused.
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
        // Raising has changed nothing for others.
        raise_limit(Resource::Nofile, "open files", (7, RANKS), hard).expect("as many as are allowed");
        assert_eq!(getrlimit(Resource::Nofile).current, Some(hard));
        let _ = setrlimit(Resource::Nofile, limit);
    }
}
