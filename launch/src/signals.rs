//! Signals that reach the launcher and are meant for the ranks.

use crate::error::LaunchError;
use signal_hook::consts::{SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;
use std::fs;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

const FORWARDED: [i32; 7] = [SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP];

/// The signals that have arrived; their descriptor is readable when there is one.
#[derive(Debug)]
pub(crate) struct Signals(SignalDelivery<UnixStream, SignalOnly>);

impl Signals {
    /// From now on signals are taken note of, and do nothing else.
    pub(crate) fn catch() -> Result<Self, LaunchError> {
        let ignored = ignored();
        // What is ignored (as under `nohup`) stays so: for the ranks as well, which inherit that.
        let wanted = FORWARDED.into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
        let catch = || {
            let (read, write) = UnixStream::pair()?;
            SignalDelivery::with_pipe(read, write, SignalOnly, wanted)
        };
        catch().map(Self).map_err(LaunchError::system("catch signals"))
    }

    /// Takes those that have arrived.
    pub(crate) fn take(&mut self) -> Vec<i32> {
        self.0.pending().collect()
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.get_read().as_fd()
    }
}

/// The signals that this process ignores, a bit for each.
fn ignored() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// Stops this process, as the user has asked. Returns when it is continued.
pub(crate) fn stop() {
    let _ = rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::STOP);
}
