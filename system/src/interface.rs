//! The trait, and the words of its functions for a simulation.

use rustix::event::PollFd;
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::process::Pid;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

/// A place that a simulation is told of. Each is one where another process may run in between, and some say what has
/// happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Point {
    /// A poll has found nothing, and the call goes on waiting.
    EmptyPoll,
    /// A message is in a ring; its sender has not looked yet whether the receiver sleeps.
    Pushed,
    /// A sleep is over, and the poll behind it has found something, or nothing.
    Slept {
        /// Whether there were arrivals.
        arrivals: bool,
    },
    /// So many bytes of a message are kept until its receive comes.
    Kept {
        /// The bytes.
        bytes: usize,
    },
    /// So many bytes that were kept have found their receive.
    Taken {
        /// The bytes.
        bytes: usize,
    },
}

/// A call of the system that is made elsewhere, and which a simulation can let fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Call {
    /// `memfd_create`: memory with a descriptor.
    CreateMemory,
    /// `fallocate`: pages for it.
    Allocate,
    /// `mmap`.
    Map,
}

/// A defect of the past, which a simulation can put back to show that it is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Defect {
    /// A rank ends as soon as it has passed the last barrier itself: a rank that has not, and has never met it, takes it
    /// for lost.
    LeavesAlone,
    /// A rank that has said that it sleeps does not poll once more: a message that came just before wakes nobody.
    SleepsUnpolled,
    /// Eager messages that no receive has taken have no window: what their receiver keeps has no bound.
    UnboundedEager,
    /// A rank leaves although it has given up a peer, to which it could not connect: that peer waits for its part of the last
    /// barrier.
    LeavesUnheard,
}

/// What a rank asks of the system.
pub trait System {
    /// The time.
    fn now(&self) -> Instant;

    /// Waits for so long.
    fn sleep(&self, time: Duration);

    /// Offers the processor to others (`sched_yield`).
    fn yield_now(&self);

    /// How many processors this process may use, if that is known.
    fn processors(&self) -> Option<usize>;

    /// The processor on which this thread runs, from 0, if that is known (`getcpu`). It may run on another one at once.
    fn processor(&self) -> Option<usize>;

    /// A number that no other process has drawn.
    fn random(&self) -> u64;

    /// Bytes of memory that are available, on the node and in the control groups of this process; `None` if the system
    /// does not say.
    fn available_memory(&self) -> Option<u64>;

    /// Blocks as long as `word` is `value`, until it is [woken](Self::wake), at most for `timeout` (`futex`). May return
    /// sooner.
    fn wait(&self, word: &AtomicU32, value: u32, timeout: Duration);

    /// Wakes a process that waits for `word`.
    fn wake(&self, word: &AtomicU32);

    /// Registers this process for [`Self::barrier`], its own and that of others. Returns whether the system can do it.
    fn register_barrier(&self) -> bool;

    /// A full memory barrier on every processor that runs a registered process (`membarrier`).
    fn barrier(&self);

    /// The number of this process.
    fn pid(&self) -> Pid;

    /// The line of `/proc/PID/stat`, see proc_pid_stat(5), of a process, or of this one. `None` if there is no such
    /// process, or no `/proc`.
    fn stat_line(&self, pid: Option<Pid>) -> Option<Vec<u8>>;

    /// A descriptor that is readable once the process has ended.
    ///
    /// # Errors
    /// The system's; [`Errno::SRCH`] when there is no such process.
    fn pidfd(&self, pid: Pid) -> Result<OwnedFd, Errno>;

    /// Opens what is behind a descriptor of another process, for reads and writes.
    ///
    /// # Errors
    /// The system's.
    fn open_descriptor(&self, pid: Pid, fd: i32) -> Result<OwnedFd, Errno>;

    /// Copies from `address` in a process, at most as many bytes as there is room for, and returns how many
    /// (`process_vm_readv`).
    ///
    /// # Errors
    /// The system's.
    fn read_memory(&self, pid: Pid, address: u64, into: &mut [u8]) -> Result<usize, Errno>;

    /// Copies to `address` in a process, at most all of the bytes, and returns how many (`process_vm_writev`).
    ///
    /// # Errors
    /// The system's.
    fn write_memory(&self, pid: Pid, from: &[u8], address: u64) -> Result<usize, Errno>;

    /// Waits for descriptors (`poll`) at most for `timeout`, and returns how many are ready.
    ///
    /// # Errors
    /// The system's.
    fn poll(&self, descriptors: &mut [PollFd<'_>], timeout: Duration) -> Result<usize, Errno>;

    /// Receives bytes from a socket, and returns how many; 0 at the end (`recv`).
    ///
    /// # Errors
    /// The system's.
    fn receive(&self, socket: BorrowedFd<'_>, into: &mut [u8], flags: RecvFlags) -> Result<usize, Errno>;

    /// Sends bytes to a socket, and returns how many; without a signal if nobody reads it (`send`).
    ///
    /// # Errors
    /// The system's.
    fn send(&self, socket: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize, Errno>;

    /// Tells a simulation that a rank is there. Nothing otherwise.
    fn passes(&self, point: Point);

    /// Asks a simulation whether a call is to fail. Always `Ok` otherwise: the call itself says.
    ///
    /// # Errors
    /// The error that the call is to have.
    fn attempt(&self, call: Call) -> Result<(), Errno>;

    /// Asks a simulation whether to put a defect back. False otherwise.
    fn restores(&self, defect: Defect) -> bool;
}
