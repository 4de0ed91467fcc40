//! Copies straight between this process's memory and that of a peer (`process_vm_readv(2)`): one copy,
//! no help of the peer's processor.
//!
//! The system permits it to a process that may trace the peer. Yama permits it to ancestors only (`ptrace_scope` 1)
//! unless the peer has agreed, and containers often forbid it; so a copy is tried when a peer connects.

use carrousel_system::{SYSTEM, System};
use rustix::io::Errno;
use rustix::process::Pid;

/// The bytes that a peer reads to find out whether direct copies are permitted, and whether the process at the address
/// runs this library.
pub(super) static PROBE: u64 = u64::from_le_bytes(*b"carrshm1");

/// Permits every process of this user to copy from and to this one, as far as this process can.
pub(super) fn permit() {
    // Without Yama no permission is needed, and the call fails.
    let _ = rustix::process::set_ptracer(rustix::process::PTracer::Any);
}

/// Why bytes were not copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DirectCopyError {
    /// The system forbids direct copies: the data can go through the ring.
    Forbidden,
    /// The process is gone, or the memory is not there: the peer is not to be trusted any more.
    Broken,
}

impl From<Errno> for DirectCopyError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::PERM | Errno::NOSYS | Errno::ACCESS => Self::Forbidden,
            _ => Self::Broken,
        }
    }
}

/// Copies from `address` in process `pid`.
pub(super) fn read(pid: Pid, mut address: u64, mut into: &mut [u8]) -> Result<(), DirectCopyError> {
    while !into.is_empty() {
        let copied = SYSTEM.read_memory(pid, address, into)?;
        if copied == 0 {
            return Err(DirectCopyError::Broken);
        }
        into = &mut into[copied..];
        address = address.wrapping_add(copied as u64);
    }
    Ok(())
}

/// Copies to `address` in process `pid`.
pub(super) fn write(pid: Pid, mut from: &[u8], mut address: u64) -> Result<(), DirectCopyError> {
    while !from.is_empty() {
        let copied = SYSTEM.write_memory(pid, from, address)?;
        if copied == 0 {
            return Err(DirectCopyError::Broken);
        }
        from = &from[copied..];
        address = address.wrapping_add(copied as u64);
    }
    Ok(())
}

/// Whether the memory of `pid` may be read, and has the [`PROBE`] of this library.
pub(super) fn is_permitted(pid: Pid, probe: u64) -> bool {
    let mut found = [0; 8];
    read(pid, probe, &mut found) == Ok(()) && u64::from_le_bytes(found) == PROBE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "Miri knows no process_vm_readv")]
    fn memory_that_is_not_there_is_an_error() {
        let own = rustix::process::getpid();
        assert!(is_permitted(own, &raw const PROBE as u64));
        assert!(!is_permitted(own, 8));
        assert_eq!(read(own, 8, &mut [0]), Err(DirectCopyError::Broken));
        assert_eq!(write(own, &[0], 8), Err(DirectCopyError::Broken));
        // The largest possible process number is 2^22.
        let absent = Pid::from_raw(i32::MAX).expect("a positive number");
        assert_eq!(read(absent, &raw const PROBE as u64, &mut [0]), Err(DirectCopyError::Broken));
    }
}
