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
    /// The node on which it is, see [`Address::node`].
    pub(super) node: u64,
}

impl Address {
    /// The bytes of an address that is told as such: numbers, little end first.
    pub const BYTES: usize = 39;
    /// The bytes of each number: process, descriptor, probe, number of the segment, beginning, namespace, node.
    const WIDTHS: [usize; 7] = [4, 4, 6, 8, 5, 4, 8];

    /// The same address as bytes; `None` if a number has more bytes than there is room for. Linux has no such: no process's
    /// memory is above 2^47 (2^48 on other processors) unless it asks for it, 40 bits of ticks are 300 years, and numbers of
    /// namespaces have 32 bits.
    pub fn to_bytes(self) -> Option<[u8; Self::BYTES]> {
        let Self { pid, fd, probe, nonce, began, namespace, node } = self;
        let numbers = [pid.into(), u64::try_from(fd).ok()?, probe, nonce, began, namespace, node];
        let mut bytes = [0; Self::BYTES];
        let mut at = 0;
        for (number, width) in numbers.into_iter().zip(Self::WIDTHS) {
            let number = number.to_le_bytes();
            let (low, high) = number.split_at_checked(width)?;
            if high.iter().any(|byte| *byte != 0) {
                return None;
            }
            bytes[at..at + width].copy_from_slice(low);
            at += width;
        }
        Some(bytes)
    }

    /// The address of which these are the bytes. `None` if they are those of none.
    pub fn from_bytes(bytes: &[u8; Self::BYTES]) -> Option<Self> {
        let mut at = 0;
        let [pid, fd, probe, nonce, began, namespace, node] = Self::WIDTHS.map(|width| {
            let mut number = [0; size_of::<u64>()];
            number[..width].copy_from_slice(&bytes[at..at + width]);
            at += width;
            u64::from_le_bytes(number)
        });
        let pid = u32::try_from(pid).ok().filter(|pid| *pid > 0 && *pid <= i32::MAX as u32)?;
        Some(Self { pid, fd: i32::try_from(fd).ok()?, probe, nonce, began, namespace, node })
    }

    /// The number that identifies the segment, and the process: only those know it who were told the address.
    pub fn nonce(&self) -> u64 {
        self.nonce
    }

    /// The node: processes for which it is the same reach each other by shared memory, as far as the system permits that.
    /// It is made of what nodes do not share: the boot of the system, the PID namespace (of a container, if it has its own),
    /// and the RDMA adapters, by which clones of a running machine differ that have all the rest in common.
    pub fn node(&self) -> u64 {
        self.node
    }
}

/// A text that is not the address of a segment.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "`{0}` is not the address of a segment: expected `shm:PID:DESCRIPTOR:PROBE:NONCE:BEGAN:NAMESPACE:NODE`"
)]
pub struct AddressError(String);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { pid, fd, probe, nonce, began, namespace, node } = self;
        write!(f, "shm:{pid}:{fd}:{probe:x}:{nonce:x}:{began}:{namespace}:{node:x}")
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
            let node = u64::from_str_radix(parts.next()?, 16).ok()?;
            parts.next().is_none().then_some(Self { pid, fd, probe, nonce, began, namespace, node })
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
        let address =
            Address { pid: 4711, fd: 3, probe, nonce, began: 99, namespace: 4_026_531_836, node: 0xabc };
        assert_eq!(address.to_string(), "shm:4711:3:7fff00001234:feed:99:4026531836:abc");
        assert_eq!(address.to_string().parse(), Ok(address));
        assert_eq!(address.to_bytes().and_then(|bytes| Address::from_bytes(&bytes)), Some(address));
        let largest = Address {
            probe: (1 << 48) - 1,
            nonce: u64::MAX,
            began: (1 << 40) - 1,
            node: u64::MAX,
            ..address
        };
        assert_eq!(largest.to_bytes().and_then(|bytes| Address::from_bytes(&bytes)), Some(largest));
        let larger = [Address { probe: 1 << 48, ..address }, Address { began: 1 << 40, ..address }];
        assert_eq!(larger.map(Address::to_bytes), [None, None]);
        assert_eq!(Address::from_bytes(&[0; Address::BYTES]), None);
        assert_eq!(Address::from_bytes(&[0xff; Address::BYTES]), None);
    }

    #[test]
    fn a_text_that_is_not_an_address_is_refused() {
        let wrong = [
            "",
            "shm:",
            "shm:1:1:1",
            "shm:0:1:2:3:4:5:6",
            "shm:1:-1:2:3:4:5:6",
            "shm:1:1:x:3:4:5:6",
            "shm:1:1:2:x:4:5:6",
            "shm:1:1:2:3:x:5:6",
            "shm:1:1:2:3:4:x:6",
            "shm:1:1:2:3:4:5:x",
            "shm:1:1:2:3:4:5",
            "shm:1:1:2:3:4:5:6:7",
            "tcp:1:1:2:3:4:5:6",
        ];
        for text in wrong {
            assert_eq!(text.parse::<Address>(), Err(AddressError(text.to_owned())));
        }
    }
}
