//! The connection of a rank to its launcher: lines in both directions.

use carrousel_system::{SYSTEM, System};
use rustix::fd::{AsFd, BorrowedFd, OwnedFd};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use std::io;
use std::net::TcpStream;
use std::os::fd::RawFd;

/// The longest lines of a launcher are mappings and values: far shorter than this.
const LINE_MAX: usize = 1 << 20;
const CHUNK: usize = 4096;

/// A connection, and the bytes that have arrived behind the last line that was taken.
#[derive(Debug)]
pub(super) struct Channel {
    socket: OwnedFd,
    arrived: Vec<u8>,
}

/// The result of [`Channel::receive`].
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// A line, without its end.
    Line(Vec<u8>),
    /// No whole line yet. Only if the call was not to wait.
    WouldBlock,
    /// The other side has closed it.
    Closed,
}

impl Channel {
    /// A connection to a launcher that listens.
    pub(super) fn connect(address: &str) -> io::Result<Self> {
        let stream = TcpStream::connect(address)?;
        // Requests are small, and each is waited for.
        stream.set_nodelay(true)?;
        Ok(Self::new(stream.into()))
    }

    /// The socket that the launcher has let this process inherit. Programs that this one starts do not
    /// inherit it in turn: they are no ranks, and would keep it open.
    pub(super) fn inherit(fd: RawFd) -> io::Result<Self> {
        Ok(Self::new(duplicate(fd)?))
    }

    pub(super) fn new(socket: OwnedFd) -> Self {
        Self { socket, arrived: Vec::new() }
    }

    /// Sends a line, which includes its line feed, in one piece: Slurm reads a request with one `read`.
    pub(super) fn send(&self, line: &str) -> io::Result<()> {
        let mut rest = line.as_bytes();
        while !rest.is_empty() {
            match SYSTEM.send(self.socket.as_fd(), rest) {
                Ok(sent) => rest = &rest[sent..],
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The next line. Waits for it if `wait`.
    pub(super) fn receive(&mut self, wait: bool) -> io::Result<Received> {
        let mut searched = 0;
        loop {
            if let Some(end) = self.arrived[searched..].iter().position(|byte| *byte == b'\n') {
                let mut line: Vec<u8> = self.arrived.drain(..=searched + end).collect();
                line.pop();
                return Ok(Received::Line(line));
            }
            searched = self.arrived.len();
            if searched > LINE_MAX {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "the launcher's line has no end"));
            }
            let flags = if wait { RecvFlags::empty() } else { RecvFlags::DONTWAIT };
            let mut chunk = [0; CHUNK];
            match SYSTEM.receive(self.socket.as_fd(), &mut chunk, flags) {
                Ok(0) | Err(Errno::CONNRESET) => return Ok(Received::Closed),
                Ok(read) => self.arrived.extend_from_slice(&chunk[..read]),
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) if !wait => return Ok(Received::WouldBlock),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl AsFd for Channel {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

// An inherited descriptor is only a number, which safe code cannot turn into a file.
#[allow(unsafe_code, reason = "takes over an inherited descriptor")]
fn duplicate(fd: RawFd) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(Errno::BADF.into());
    }
    // SAFETY: the number is valid for a borrow (not -1). The launcher has opened it for this process, whose
    // other code neither knows it nor closes it; if there is no such descriptor, the call below says so.
    let inherited = unsafe { BorrowedFd::borrow_raw(fd) };
    let ours = rustix::io::fcntl_dupfd_cloexec(inherited, 3)?;
    rustix::io::fcntl_setfd(inherited, rustix::io::FdFlags::CLOEXEC)?;
    Ok(ours)
}
