//! The calls of the system that ranks make: each is a step of the scheduler, and may fail.

use crate::actor::Wait;
use crate::trace::without_values;
use crate::world::World;
use carrousel_system::{Call, Defect, Point, Real, System};
use rustix::event::PollFd;
use rustix::fd::{BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use rustix::process::Pid;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

impl World {
    /// The error of a copy between the current rank and a process.
    fn copies(&self, pid: Pid) -> Result<(), Errno> {
        let me = self.current();
        let copies = self.with(me, |actor| {
            actor.copies += 1;
            actor.copies
        });
        if self.faults.copy.is_some_and(|(rank, from)| rank == me && copies >= from) {
            self.note(format_args!("the copy is forbidden"));
            return Err(Errno::PERM);
        }
        match self.by_pid(pid).is_some_and(|peer| !self.with(peer, |actor| actor.is_over())) {
            true => Ok(()),
            false => Err(Errno::SRCH),
        }
    }
}

impl System for World {
    fn now(&self) -> Instant {
        self.spend(self.machine.call_max);
        self.instant()
    }

    fn sleep(&self, time: Duration) {
        self.step(format_args!("sleeps for {time:?}"));
        let until = self.now() + time;
        self.block(Wait::Time, Some(until));
    }

    fn yield_now(&self) {
        self.step(format_args!("yields"));
        World::yield_now(self);
    }

    fn processors(&self) -> Option<usize> {
        Some(self.machine.processors)
    }

    fn processor(&self) -> Option<usize> {
        // Ranks are dealt out to processors in turn: those that are more than processors share one.
        Some(self.current() % self.machine.processors)
    }

    fn random(&self) -> u64 {
        self.number()
    }

    fn available_memory(&self) -> Option<u64> {
        let me = self.current();
        let looks = self.with(me, |actor| {
            actor.attempts += 1;
            actor.attempts
        });
        if self.faults.memory.is_some_and(|(rank, from)| rank == me && looks >= from) {
            self.calls_failed.set(self.calls_failed.get() + 1);
            self.note(format_args!("there is no memory"));
            return Some(0);
        }
        None
    }

    fn wait(&self, word: &AtomicU32, value: u32, timeout: Duration) {
        self.step(format_args!("is about to wait"));
        let until = self.now() + timeout;
        while word.load(Ordering::SeqCst) == value && self.now() < until {
            self.block(Wait::Word, Some(until));
        }
        self.waited();
    }

    fn wake(&self, _: &AtomicU32) {
        self.step_of_push(format_args!("wakes"));
        // Each mapping has another address: the ones that wait look whether it was their word.
        self.rouse(Wait::Word);
    }

    fn register_barrier(&self) -> bool {
        true
    }

    fn barrier(&self) {
        self.step(format_args!("has said that it sleeps"));
    }

    fn pid(&self) -> Pid {
        self.with(self.current(), |actor| actor.pid)
    }

    fn stat_line(&self, pid: Option<Pid>) -> Option<Vec<u8>> {
        self.step(format_args!("looks at a process"));
        let number = pid.map_or(Some(self.current()), |pid| self.by_pid(pid))?;
        let now = self.now();
        Some(self.with(number, |actor| actor.stat_line(now)))
    }

    fn pidfd(&self, pid: Pid) -> Result<OwnedFd, Errno> {
        self.step(format_args!("opens a process"));
        if self.faults.no_pidfds {
            return Err(Errno::NOSYS);
        }
        let number = self.by_pid(pid).ok_or(Errno::SRCH)?;
        self.with(number, |actor| actor.pidfd())
    }

    fn open_descriptor(&self, pid: Pid, fd: i32) -> Result<OwnedFd, Errno> {
        self.step(format_args!("opens a segment"));
        let number = self.by_pid(pid).ok_or(Errno::NOENT)?;
        if self.with(number, |actor| actor.is_over()) {
            // A process that has ended has closed its descriptors.
            return Err(Errno::NOENT);
        }
        Real.open_descriptor(Real.pid(), fd)
    }

    fn read_memory(&self, pid: Pid, address: u64, into: &mut [u8]) -> Result<usize, Errno> {
        self.step(format_args!("copies {} bytes from a peer", into.len()));
        self.copies(pid)?;
        Real.read_memory(Real.pid(), address, into)
    }

    fn write_memory(&self, pid: Pid, from: &[u8], address: u64) -> Result<usize, Errno> {
        self.step(format_args!("copies {} bytes to a peer", from.len()));
        self.copies(pid)?;
        Real.write_memory(Real.pid(), from, address)
    }

    fn poll(&self, descriptors: &mut [PollFd<'_>], timeout: Duration) -> Result<usize, Errno> {
        self.step(format_args!("polls {} descriptors", descriptors.len()));
        let until = self.now() + timeout;
        loop {
            let ready = Real.poll(descriptors, Duration::ZERO)?;
            if ready > 0 || self.now() >= until {
                return Ok(ready);
            }
            self.block(Wait::Descriptor, Some(until));
        }
    }

    fn receive(&self, socket: BorrowedFd<'_>, into: &mut [u8], flags: RecvFlags) -> Result<usize, Errno> {
        self.step(format_args!("receives from the launcher"));
        loop {
            match Real.receive(socket, into, flags | RecvFlags::DONTWAIT) {
                Err(Errno::AGAIN) if !flags.contains(RecvFlags::DONTWAIT) => {
                    self.block(Wait::Descriptor, None)
                }
                other => return other,
            }
        }
    }

    fn send(&self, socket: BorrowedFd<'_>, bytes: &[u8]) -> Result<usize, Errno> {
        self.step(format_args!("sends to the launcher: {}", without_values(bytes)));
        let sent = Real.send(socket, bytes);
        self.rouse(Wait::Descriptor);
        sent
    }

    fn passes(&self, point: Point) {
        match point {
            Point::EmptyPoll => self.step(format_args!("finds nothing")),
            Point::Pushed => self.step_of_push(format_args!("has pushed")),
            Point::Slept { arrivals } => self.slept(arrivals),
            Point::Kept { bytes } => {
                let kept = self.with(self.current(), |actor| {
                    actor.kept += bytes;
                    actor.kept
                });
                if kept > self.kept_max {
                    let max = self.kept_max;
                    self.fails_here(format_args!(
                        "rank {} keeps {kept} bytes of messages without a receive, more than {max}",
                        self.current()
                    ));
                }
            }
            Point::Taken { bytes } => self.with(self.current(), |actor| actor.kept -= bytes),
            _ => {}
        }
    }

    fn attempt(&self, call: Call) -> Result<(), Errno> {
        let me = self.current();
        let attempts = self.with(me, |actor| {
            actor.attempts += 1;
            actor.attempts
        });
        self.step(format_args!("asks for memory: {call:?}"));
        if self.faults.call != Some((me, attempts)) {
            return Ok(());
        }
        self.calls_failed.set(self.calls_failed.get() + 1);
        self.note(format_args!("the call fails"));
        Err(match call {
            Call::CreateMemory => Errno::MFILE,
            Call::Allocate => Errno::NOSPC,
            _ => Errno::NOMEM,
        })
    }

    fn restores(&self, defect: Defect) -> bool {
        self.defect == Some(defect)
    }
}
