//! The system's own calls.

use crate::interface::{Call, Defect, Point, System};
use crate::memory;
use nix::sys::uio::{RemoteIoVec, process_vm_readv, process_vm_writev};
use rustix::event::{PollFd, Timespec};
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd};
use rustix::thread::{MembarrierCommand, futex, membarrier};
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{IoSlice, IoSliceMut};
use std::path::Path;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};
use std::{fs, thread};

/// The system that this process runs on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Real;

fn timespec(time: Duration) -> Timespec {
    Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) }
}

/// The same process for `nix`, which has two calls that `rustix` does not have.
fn as_nix(pid: Pid) -> nix::unistd::Pid {
    nix::unistd::Pid::from_raw(pid.as_raw_pid())
}

fn from_nix(errno: nix::errno::Errno) -> Errno {
    Errno::from_raw_os_error(errno as i32)
}

impl Real {
    /// The descriptor of another process as one of this process, without `/proc`.
    fn copy_descriptor(&self, pid: Pid, fd: i32) -> Result<OwnedFd, Errno> {
        pidfd_getfd(self.pidfd(pid)?, fd, PidfdGetfdFlags::empty())
    }
}

impl System for Real {
    #[inline(always)]
    fn now(&self) -> Instant {
        Instant::now()
    }

    #[inline(always)]
    fn sleep(&self, time: Duration) {
        thread::sleep(time);
    }

    #[inline(always)]
    fn yield_now(&self) {
        thread::yield_now();
    }

    #[inline(always)]
    fn processors(&self) -> Option<usize> {
        thread::available_parallelism().ok().map(usize::from)
    }

    #[inline(always)]
    fn processor(&self) -> Option<usize> {
        // By the C library: rustix asks the kernel's code in this process, which is not there under valgrind. Miri has neither.
        if cfg!(miri) { None } else { nix::sched::sched_getcpu().ok() }
    }

    fn random(&self) -> u64 {
        // The seed of a map of the standard library comes from the system's random numbers.
        RandomState::new().build_hasher().finish()
    }

    fn available_memory(&self) -> Option<u64> {
        memory::available(Path::new("/"))
    }

    #[inline(always)]
    fn wait(&self, word: &AtomicU32, value: u32, timeout: Duration) {
        // It has another value, the time is over, or a signal has come: the caller polls in any case.
        let _ = futex::wait(word, futex::Flags::empty(), value, Some(&timespec(timeout)));
    }

    #[inline(always)]
    fn wake(&self, word: &AtomicU32) {
        // The process that waits has a timeout as well.
        let _ = futex::wake(word, futex::Flags::empty(), 1);
    }

    fn register_barrier(&self) -> bool {
        membarrier(MembarrierCommand::RegisterGlobalExpedited).is_ok()
    }

    #[inline(always)]
    fn barrier(&self) {
        // It does not fail where this process is registered for it.
        let _ = membarrier(MembarrierCommand::GlobalExpedited);
    }

    #[inline(always)]
    fn pid(&self) -> Pid {
        rustix::process::getpid()
    }

    fn stat_line(&self, pid: Option<Pid>) -> Option<Vec<u8>> {
        match pid {
            Some(pid) => fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero())),
            None => fs::read("/proc/self/stat"),
        }
        .ok()
    }

    #[inline(always)]
    fn pidfd(&self, pid: Pid) -> Result<OwnedFd, Errno> {
        rustix::process::pidfd_open(pid, PidfdFlags::empty())
    }

    fn open_descriptor(&self, pid: Pid, fd: i32) -> Result<OwnedFd, Errno> {
        // The descriptor may be of anything by now: these flags keep a file from blocking, or from becoming our terminal.
        let flags = OFlags::RDWR | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
        let opened =
            rustix::fs::open(format!("/proc/{}/fd/{fd}", pid.as_raw_nonzero()), flags, Mode::empty());
        match opened {
            // In a new PID namespace, `/proc` is that of the old one until it is mounted anew.
            Err(why @ Errno::NOENT) => self.copy_descriptor(pid, fd).map_err(|_| why),
            opened => opened,
        }
    }

    #[inline(always)]
    fn read_memory(&self, pid: Pid, address: u64, into: &mut [u8]) -> Result<usize, Errno> {
        let remote = [RemoteIoVec { base: address as usize, len: into.len() }];
        process_vm_readv(as_nix(pid), &mut [IoSliceMut::new(into)], &remote).map_err(from_nix)
    }

    #[inline(always)]
    fn write_memory(&self, pid: Pid, from: &[u8], address: u64) -> Result<usize, Errno> {
        let remote = [RemoteIoVec { base: address as usize, len: from.len() }];
        process_vm_writev(as_nix(pid), &[IoSlice::new(from)], &remote).map_err(from_nix)
    }

    #[inline(always)]
    fn poll(&self, descriptors: &mut [PollFd<'_>], timeout: Duration) -> Result<usize, Errno> {
        rustix::event::poll(descriptors, Some(&timespec(timeout)))
    }

    #[inline(always)]
    fn receive(&self, socket: BorrowedFd<'_>, into: &mut [u8], flags: RecvFlags) -> Result<usize, Errno> {
        rustix::net::recv(socket, into, flags).map(|(count, _)| count)
    }

    #[inline(always)]
    fn send(&self, socket: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize, Errno> {
        // No SIGPIPE when nobody reads: the application may be a program that dies of it.
        rustix::net::send(socket, bytes, SendFlags::NOSIGNAL)
    }

    #[inline(always)]
    fn passes(&self, _: Point) {}

    #[inline(always)]
    fn attempt(&self, _: Call) -> Result<(), Errno> {
        Ok(())
    }

    #[inline(always)]
    fn restores(&self, _: Defect) -> bool {
        false
    }
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use rustix::fs::MemfdFlags;
    use std::os::fd::AsRawFd;

    #[test]
    fn memory_of_a_process_is_copied_both_ways() {
        let (own, text) = (Real.pid(), *b"carrousel");
        let mut copy = [0; 9];
        assert_eq!(Real.read_memory(own, &raw const text as u64, &mut copy), Ok(9));
        assert_eq!(copy, text);
        let mut into = [0; 9];
        assert_eq!(Real.write_memory(own, &text, &raw mut into as u64), Ok(9));
        assert_eq!(into, text);
        assert_eq!(Real.read_memory(own, 8, &mut copy), Err(Errno::FAULT));
        // The largest possible process number is 2^22.
        let absent = Pid::from_raw(i32::MAX).expect("a positive number");
        assert_eq!(Real.write_memory(absent, &text, 8), Err(Errno::SRCH));
        assert!(Real.pidfd(absent).is_err() && Real.stat_line(Some(absent)).is_none());
    }

    #[test]
    fn a_descriptor_is_opened_with_and_without_proc() {
        let fd = rustix::fs::memfd_create("test", MemfdFlags::CLOEXEC).expect("there is memory");
        assert_eq!(rustix::io::write(&fd, b"carrousel"), Ok(9));
        for open in [Real::copy_descriptor, Real::open_descriptor] {
            let opened = open(&Real, Real.pid(), fd.as_raw_fd()).expect("it is there");
            let mut read = [0; 9];
            assert_eq!((rustix::io::pread(&opened, &mut read, 0), read), (Ok(9), *b"carrousel"));
            // Numbers are given out from the smallest on.
            assert!(open(&Real, Real.pid(), 1 << 20).is_err());
        }
    }

    #[test]
    fn a_word_that_has_another_value_is_not_waited_for() {
        let word = AtomicU32::new(1);
        let began = Real.now();
        Real.wait(&word, 0, Duration::from_secs(1000));
        Real.wait(&word, 1, Duration::from_millis(1));
        assert!(Real.now() - began < Duration::from_secs(500));
        Real.wake(&word);
    }
}
