//! The address of a process's segment, which its peers are told as a line of text.

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
    /// The address of [`PROBE`](super::direct::PROBE) in its memory.
    pub(super) probe: u64,
    /// The number that identifies its segment.
    pub(super) nonce: u64,
    /// The time at which it began, see [`Identity`](super::process::Identity).
    pub(super) began: u64,
    /// The PID namespace in which its number is valid; 0 where the namespace is not known.
    pub(super) namespace: u64,
}

impl Address {
    /// The bytes of an address that is told as such: numbers, little end first.
    pub const BYTES: usize = 36;

    /// The same address as bytes; `None` in a namespace whose number has more than 32 bits, which Linux has none of.
    pub fn to_bytes(self) -> Option<[u8; Self::BYTES]> {
        let Self { pid, fd, probe, nonce, began, namespace } = self;
        let mut bytes = [0; Self::BYTES];
        bytes[..4].copy_from_slice(&pid.to_le_bytes());
        bytes[4..8].copy_from_slice(&fd.to_le_bytes());
        bytes[8..16].copy_from_slice(&probe.to_le_bytes());
        bytes[16..24].copy_from_slice(&nonce.to_le_bytes());
        bytes[24..32].copy_from_slice(&began.to_le_bytes());
        bytes[32..].copy_from_slice(&u32::try_from(namespace).ok()?.to_le_bytes());
        Some(bytes)
    }

    /// The address of which these are the bytes. `None` if they are those of none.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let half = |at: usize| {
            let mut half = [0; 4];
            half.copy_from_slice(&bytes[at..at + 4]);
            u32::from_le_bytes(half)
        };
        let word = |at: usize| u64::from(half(at)) | u64::from(half(at + 4)) << 32;
        let pid = Some(half(0)).filter(|pid| *pid > 0 && *pid <= i32::MAX as u32)?;
        let fd = i32::try_from(half(4)).ok()?;
        Some(Self { pid, fd, probe: word(8), nonce: word(16), began: word(24), namespace: half(32).into() })
    }
}

/// A text that is not the address of a segment.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("`{0}` is not the address of a segment: expected `shm:PID:DESCRIPTOR:PROBE:NONCE:BEGAN:NAMESPACE`")]
pub struct AddressError(String);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid, fd, probe, nonce, began, namespace } = self;
        write!(f, "shm:{pid}:{fd}:{probe:x}:{nonce:x}:{began}:{namespace}")
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Self, AddressError> {
        let parse = || {
            let mut parts = text.strip_prefix("shm:")?.split(':');
            let pid = parts.next()?.parse().ok().filter(|pid| *pid > 0 && *pid <= i32::MAX as u32)?;
            let fd = parts.next()?.parse().ok().filter(|fd| *fd >= 0)?;
            let probe = u64::from_str_radix(parts.next()?, 16).ok()?;
            let nonce = u64::from_str_radix(parts.next()?, 16).ok()?;
            let (began, namespace) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
            parts.next().is_none().then_some(Self { pid, fd, probe, nonce, began, namespace })
        };
        parse().ok_or_else(|| AddressError(text.chars().take(80).collect()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_survives_being_written() {
        let (probe, nonce) = (0x7fff_0000_1234, 0xfeed);
        let address = Address { pid: 4711, fd: 3, probe, nonce, began: 99, namespace: 4_026_531_836 };
        assert_eq!(address.to_string(), "shm:4711:3:7fff00001234:feed:99:4026531836");
        assert_eq!(address.to_string().parse(), Ok(address));
        assert_eq!(address.to_bytes().and_then(|bytes| Address::from_bytes(&bytes)), Some(address));
        assert_eq!(Address::from_bytes(&[0; Address::BYTES]), None);
        assert_eq!(Address::from_bytes(&[0xff; Address::BYTES]), None);
    }

    #[test]
    fn a_text_that_is_not_an_address_is_refused() {
        let wrong = [
            "",
            "shm:",
            "shm:1:1:1",
            "shm:0:1:2:3:4:5",
            "shm:1:-1:2:3:4:5",
            "shm:1:1:x:3:4:5",
            "shm:1:1:2:x:4:5",
            "shm:1:1:2:3:x:5",
            "shm:1:1:2:3:4:x",
            "shm:1:1:2:3:4:5:6",
            "tcp:1:1:2:3:4:5",
        ];
        for text in wrong {
            assert_eq!(text.parse::<Address>(), Err(AddressError(text.to_owned())));
        }
    }
}
