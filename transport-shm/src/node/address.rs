//! Where a process's segment is, as its peers are told: a line of text.

use std::fmt;
use std::str::FromStr;
use thiserror::Error;

/// How a peer finds the segment of a process, and its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The process.
    pub(super) pid: u32,
    /// Its descriptor of the segment.
    pub(super) fd: i32,
    /// Where in its memory [`PROBE`](super::direct::PROBE) is.
    pub(super) probe: u64,
}

/// A text that is no address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not the address of a segment: expected `shm:PID:DESCRIPTOR:PROBE`")]
pub struct BadAddress(String);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid, fd, probe } = self;
        write!(f, "shm:{pid}:{fd}:{probe:x}")
    }
}

impl FromStr for Address {
    type Err = BadAddress;

    fn from_str(text: &str) -> Result<Self, BadAddress> {
        let parse = || {
            let mut parts = text.strip_prefix("shm:")?.split(':');
            let pid = parts.next()?.parse().ok().filter(|pid| *pid > 0 && *pid <= i32::MAX as u32)?;
            let fd = parts.next()?.parse().ok().filter(|fd| *fd >= 0)?;
            let probe = u64::from_str_radix(parts.next()?, 16).ok()?;
            parts.next().is_none().then_some(Self { pid, fd, probe })
        };
        parse().ok_or_else(|| BadAddress(text.chars().take(80).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_survives_being_written() {
        let address = Address { pid: 4711, fd: 3, probe: 0x7fff_0000_1234 };
        assert_eq!(address.to_string(), "shm:4711:3:7fff00001234");
        assert_eq!(address.to_string().parse(), Ok(address));
    }

    #[test]
    fn what_is_no_address_is_refused() {
        for text in ["", "shm:", "shm:0:1:2", "shm:1:-1:2", "shm:1:1:x", "shm:1:1:1:1", "tcp:1:1:1"] {
            assert_eq!(text.parse::<Address>(), Err(BadAddress(text.to_owned())));
        }
    }
}
