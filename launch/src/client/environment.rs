//! The environment variables by which a launcher tells a rank how to reach it.

use crate::error::LaunchError;
use std::env::VarError;
use std::os::fd::RawFd;

/// More ranks than any machine has, and few enough for a list of them.
pub(crate) const RANKS_MAX: u32 = 1 << 20;

/// How to reach the launcher.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum LauncherAddress {
    /// A socket that this process has inherited.
    Inherited { fd: RawFd, rank: u32, size: u32 },
    /// An address, and the number under which the launcher expects this process.
    Listening { address: String, id: String },
}

/// Finds the launcher by the environment, which it reads through `get`: [`std::env::var`] except in tests.
pub(crate) fn find_launcher(
    get: impl Fn(&str) -> Result<String, VarError>,
) -> Result<Option<LauncherAddress>, LaunchError> {
    let text = |variable: &'static str| match get(variable) {
        Ok(value) => Ok(Some(value)),
        Err(VarError::NotPresent) => Ok(None),
        Err(VarError::NotUnicode(value)) => Err(LaunchError::InvalidVariable {
            variable,
            value: value.to_string_lossy().into_owned(),
            expected: "text",
        }),
    };
    let number = |variable, expected| {
        let Some(value) = text(variable)? else { return Ok(None) };
        match value.trim().parse::<u32>() {
            Ok(number) => Ok(Some(number)),
            Err(_) => Err(LaunchError::InvalidVariable { variable, value, expected }),
        }
    };
    if let Some(fd) = number("PMI_FD", "the number of a descriptor")? {
        let need = |value: Option<u32>, missing| {
            value.ok_or(LaunchError::MissingVariable { variable: "PMI_FD", missing })
        };
        let rank = need(number("PMI_RANK", "a rank, from 0")?, "PMI_RANK")?;
        let size = need(number("PMI_SIZE", "a number of ranks")?, "PMI_SIZE")?;
        let wrong = |variable, value: u32, expected| {
            Err(LaunchError::InvalidVariable { variable, value: value.to_string(), expected })
        };
        if size == 0 || size > RANKS_MAX {
            return wrong("PMI_SIZE", size, "1 to 1048576 ranks");
        }
        if rank >= size {
            return wrong("PMI_RANK", rank, "a number below PMI_SIZE");
        }
        return match RawFd::try_from(fd) {
            Ok(fd) => Ok(Some(LauncherAddress::Inherited { fd, rank, size })),
            Err(_) => wrong("PMI_FD", fd, "the number of a descriptor"),
        };
    }
    if let Some(address) = text("PMI_PORT")? {
        let id = number("PMI_ID", "the number that the launcher knows this process by")?;
        let id = id.ok_or(LaunchError::MissingVariable { variable: "PMI_PORT", missing: "PMI_ID" })?;
        let port = address.rsplit_once(':').filter(|(host, _)| !host.is_empty());
        if port.is_none_or(|(_, port)| port.parse::<u16>().is_err()) {
            let expected = "HOST:PORT";
            return Err(LaunchError::InvalidVariable { variable: "PMI_PORT", value: address, expected });
        }
        return Ok(Some(LauncherAddress::Listening { address, id: id.to_string() }));
    }
    for variable in ["PMIX_RANK", "PMIX_NAMESPACE", "PMIX_VERSION"] {
        if get(variable) != Err(VarError::NotPresent) {
            return Err(LaunchError::PmixOnly { variable });
        }
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(variables: &[(&str, &str)]) -> Result<Option<LauncherAddress>, LaunchError> {
        find_launcher(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned()).ok_or(VarError::NotPresent)
        })
    }

    fn refused(variables: &[(&str, &str)], naming: &str) {
        let message = of(variables).expect_err("it is nonsense").to_string();
        assert!(message.contains(naming), "{message}");
    }

    #[test]
    fn without_a_launcher_a_job_has_one_rank() {
        assert_eq!(of(&[("PMI_RANK", "3")]).expect("it is fine"), None);
    }

    #[test]
    fn an_inherited_socket_and_an_address_are_found() {
        let found = of(&[("PMI_FD", "7"), ("PMI_RANK", "1"), ("PMI_SIZE", "2"), ("PMIX_RANK", "1")]);
        assert_eq!(found.expect("it is right"), Some(LauncherAddress::Inherited { fd: 7, rank: 1, size: 2 }));
        let found = of(&[("PMI_PORT", "node:1234"), ("PMI_ID", "5")]).expect("it is right");
        assert_eq!(
            found,
            Some(LauncherAddress::Listening { address: "node:1234".to_owned(), id: "5".to_owned() })
        );
    }

    #[test]
    fn invalid_variables_are_named() {
        refused(&[("PMI_FD", "x")], "PMI_FD=\"x\"");
        refused(&[("PMI_FD", "-1")], "PMI_FD");
        refused(&[("PMI_FD", "4294967295"), ("PMI_RANK", "0"), ("PMI_SIZE", "1")], "PMI_FD");
        refused(&[("PMI_FD", "7"), ("PMI_SIZE", "2")], "PMI_RANK is not");
        refused(&[("PMI_FD", "7"), ("PMI_RANK", "0")], "PMI_SIZE is not");
        refused(&[("PMI_FD", "7"), ("PMI_RANK", "2"), ("PMI_SIZE", "2")], "PMI_RANK=\"2\"");
        refused(&[("PMI_FD", "7"), ("PMI_RANK", "0"), ("PMI_SIZE", "0")], "PMI_SIZE=\"0\"");
        refused(&[("PMI_PORT", "node:1")], "PMI_ID is not");
        refused(&[("PMI_PORT", "node"), ("PMI_ID", "0")], "HOST:PORT");
        refused(&[("PMI_PORT", ":1"), ("PMI_ID", "0")], "HOST:PORT");
        refused(&[("PMIX_NAMESPACE", "prte")], "srun --mpi=pmi2");
    }

    proptest! {
        #[test]
        fn any_values_are_read_or_refused(fd in "\\PC{0,6}", rank in "[-0-9x]{0,12}", size in "[-0-9 ]{0,12}", port in "\\PC{0,9}") {
            let _ = of(&[("PMI_FD", &fd), ("PMI_RANK", &rank), ("PMI_SIZE", &size)]);
            let _ = of(&[("PMI_PORT", &port), ("PMI_ID", &rank)]);
        }
    }
}
