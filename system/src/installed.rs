//! The system that the code of a thread sees in a simulation: the one that was installed there.

use crate::interface::{Call, Defect, Point, System};
use crate::real::Real;
use rustix::event::PollFd;
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::process::Pid;
use std::cell::RefCell;
use std::rc::Rc;
use std::sync::atomic::AtomicU32;
use std::time::{Duration, Instant};

thread_local! {
    static SYSTEM_OF_THREAD: RefCell<Option<Rc<dyn System>>> = const { RefCell::new(None) };
}

/// Installs the system that this thread asks from now on; `None`: the real one.
pub fn install(system: Option<Rc<dyn System>>) {
    SYSTEM_OF_THREAD.set(system);
}

/// Calls the system of this thread. It may run others in between, which call it, too.
fn with<T>(call: impl FnOnce(&dyn System) -> T) -> T {
    let system = SYSTEM_OF_THREAD.with_borrow(Option::clone);
    match system {
        Some(system) => call(&*system),
        None => call(&Real),
    }
}

/// The installed system.
#[derive(Clone, Copy, Debug, Default)]
pub struct Installed;

impl System for Installed {
    fn now(&self) -> Instant {
        with(|system| system.now())
    }

    fn sleep(&self, time: Duration) {
        with(|system| system.sleep(time));
    }

    fn yield_now(&self) {
        with(|system| system.yield_now());
    }

    fn processors(&self) -> Option<usize> {
        with(|system| system.processors())
    }

    fn processor(&self) -> Option<usize> {
        with(|system| system.processor())
    }

    fn random(&self) -> u64 {
        with(|system| system.random())
    }

    fn available_memory(&self) -> Option<u64> {
        with(|system| system.available_memory())
    }

    fn wait(&self, word: &AtomicU32, value: u32, timeout: Duration) {
        with(|system| system.wait(word, value, timeout));
    }

    fn wake(&self, word: &AtomicU32) {
        with(|system| system.wake(word));
    }

    fn register_barrier(&self) -> bool {
        with(|system| system.register_barrier())
    }

    fn barrier(&self) {
        with(|system| system.barrier());
    }

    fn pid(&self) -> Pid {
        with(|system| system.pid())
    }

    fn stat_line(&self, pid: Option<Pid>) -> Option<Vec<u8>> {
        with(|system| system.stat_line(pid))
    }

    fn pidfd(&self, pid: Pid) -> Result<OwnedFd, Errno> {
        with(|system| system.pidfd(pid))
    }

    fn open_descriptor(&self, pid: Pid, fd: i32) -> Result<OwnedFd, Errno> {
        with(|system| system.open_descriptor(pid, fd))
    }

    fn read_memory(&self, pid: Pid, address: u64, into: &mut [u8]) -> Result<usize, Errno> {
        with(|system| system.read_memory(pid, address, into))
    }

    fn write_memory(&self, pid: Pid, from: &[u8], address: u64) -> Result<usize, Errno> {
        with(|system| system.write_memory(pid, from, address))
    }

    fn poll(&self, descriptors: &mut [PollFd<'_>], timeout: Duration) -> Result<usize, Errno> {
        with(|system| system.poll(descriptors, timeout))
    }

    fn receive(&self, socket: BorrowedFd<'_>, into: &mut [u8], flags: RecvFlags) -> Result<usize, Errno> {
        with(|system| system.receive(socket, into, flags))
    }

    fn send(&self, socket: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize, Errno> {
        with(|system| system.send(socket, bytes))
    }

    fn passes(&self, point: Point) {
        with(|system| system.passes(point));
    }

    fn attempt(&self, call: Call) -> Result<(), Errno> {
        with(|system| system.attempt(call))
    }

    fn restores(&self, defect: Defect) -> bool {
        with(|system| system.restores(defect))
    }
}
