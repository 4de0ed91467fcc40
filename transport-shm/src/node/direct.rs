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
    /// The system forbids direct copies: all data has to go through the ring.
    Forbidden,
    /// The system cannot do it now: this data can go through the ring.
    Busy,
    /// The memory is not there: of the one process or of the other.
    NotMapped,
    /// A helper of the copy has ended, hangs, or does not keep the rules.
    Broken,
    /// Anything else; that the process is gone, most likely.
    Failed(Errno),
}

/// How often a copy is tried that the system has not even begun.
const TRIES: u32 = 100;

/// What every error of these calls means (`process_vm_readv(2)`, and what filters of containers answer).
impl From<Errno> for DirectCopyError {
    fn from(errno: Errno) -> Self {
        match errno {
            Errno::PERM | Errno::NOSYS | Errno::ACCESS => Self::Forbidden,
            // These are tried again before.
            Errno::INTR | Errno::AGAIN | Errno::NOMEM => Self::Busy,
            Errno::FAULT => Self::NotMapped,
            other => Self::Failed(other),
        }
    }
}

/// Copies `len` bytes by a call that copies some of them, from the given one on.
fn copy(len: usize, mut copies: impl FnMut(usize) -> Result<usize, Errno>) -> Result<(), DirectCopyError> {
    let (mut done, mut tries) = (0, 0);
    while done < len {
        match copies(done) {
            Ok(0) => return Err(DirectCopyError::Broken),
            Ok(copied) => done += copied,
            Err(Errno::INTR | Errno::AGAIN) if tries < TRIES => tries += 1,
            Err(errno) => return Err(errno.into()),
        }
    }
    Ok(())
}

/// Copies from `address` in process `pid`.
pub(super) fn read(pid: Pid, address: u64, into: &mut [u8]) -> Result<(), DirectCopyError> {
    copy(into.len(), |done| SYSTEM.read_memory(pid, address.wrapping_add(done as u64), &mut into[done..]))
}

/// Copies to `address` in process `pid`.
pub(super) fn write(pid: Pid, from: &[u8], address: u64) -> Result<(), DirectCopyError> {
    copy(from.len(), |done| SYSTEM.write_memory(pid, &from[done..], address.wrapping_add(done as u64)))
}

/// Whether so much memory of this process is there. It is read by the system, which does not fail if it is not.
pub(super) fn is_mapped(address: u64, len: u64) -> bool {
    let mut scratch = vec![0; 1 << 16];
    let steps = (0..len).step_by(scratch.len());
    let mut read = |at: u64| {
        let some = (len - at).min(scratch.len() as u64) as usize;
        read(SYSTEM.pid(), address.wrapping_add(at), &mut scratch[..some])
    };
    steps.into_iter().all(|at| read(at) != Err(DirectCopyError::NotMapped))
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
        assert_eq!(read(own, 8, &mut [0]), Err(DirectCopyError::NotMapped));
        assert_eq!(write(own, &[0], 8), Err(DirectCopyError::NotMapped));
        assert!(is_mapped(&raw const PROBE as u64, 8) && !is_mapped(8, 1));
        // The largest possible process number is 2^22.
        let absent = Pid::from_raw(i32::MAX).expect("a positive number");
        let gone = DirectCopyError::Failed(Errno::SRCH);
        assert_eq!(read(absent, &raw const PROBE as u64, &mut [0]), Err(gone));
    }

    #[test]
    fn every_error_has_a_decision() {
        let answers = |errors: &[Errno]| {
            let mut errors = errors.iter();
            copy(10, |done| errors.next().map_or(Ok(3.min(10 - done)), |error| Err(*error)))
        };
        assert_eq!(answers(&[Errno::INTR, Errno::AGAIN, Errno::INTR]), Ok(()), "tried again");
        assert_eq!(answers(&[Errno::AGAIN; TRIES as usize + 1]), Err(DirectCopyError::Busy), "not for ever");
        assert_eq!(answers(&[Errno::NOMEM]), Err(DirectCopyError::Busy));
        assert_eq!(answers(&[Errno::FAULT]), Err(DirectCopyError::NotMapped));
        for forbidden in [Errno::PERM, Errno::NOSYS, Errno::ACCESS] {
            assert_eq!(answers(&[forbidden]), Err(DirectCopyError::Forbidden));
        }
        assert_eq!(answers(&[Errno::SRCH]), Err(DirectCopyError::Failed(Errno::SRCH)));
        assert_eq!(copy(1, |_| Ok(0)), Err(DirectCopyError::Broken));
    }
}
