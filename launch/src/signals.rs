//! Signals that the launcher gets and forwards to the ranks.

use crate::ending::StopReason;
use crate::error::LaunchError;
use signal_hook::consts::{SIGCHLD, SIGCONT, SIGHUP, SIGINT, SIGTERM, SIGTSTP, SIGUSR1, SIGUSR2};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::SignalOnly;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

const FORWARDED: [i32; 7] = [SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGCONT, SIGTSTP];
/// Signals that ask for the end of the job.
const ENDING: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];
/// Whether the launcher catches signals: until it does, one of [`ENDING`] ends this process.
static CAUGHT: AtomicBool = AtomicBool::new(false);

/// Whether a signal asks for the end of the job.
pub(crate) fn is_end_request(signal: i32) -> bool {
    ENDING.contains(&signal)
}

/// For a program that is about to [`run`](crate::run) a job: until then, SIGINT, SIGTERM and SIGHUP end it with
/// a message and the status that a shell gives a program that has died of the signal. Without this, a signal that
/// comes while the program reads its arguments and files ends it without a word.
///
/// # Errors
/// When the system refuses.
pub fn end_by_signals() -> Result<(), LaunchError> {
    let ignored = ignored();
    for signal in ENDING.into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0) {
        let stop = StopReason::Signal(signal);
        let said = format!("error: {stop} before any rank was started\n");
        die_of(signal, said, stop.status().into()).map_err(LaunchError::system("catch signals"))?;
    }
    Ok(())
}

// A signal handler may do little, and only its author can know that it does no more.
#[allow(unsafe_code, reason = "registers a signal handler")]
fn die_of(signal: i32, said: String, status: i32) -> io::Result<()> {
    let handler = move || {
        if !CAUGHT.load(Ordering::Relaxed) {
            let _ = rustix::io::write(io::stderr(), said.as_bytes());
            signal_hook::low_level::exit(status);
        }
    };
    // SAFETY: the handler loads an atomic, reads a text that was made before, takes the number of standard error,
    // which locks nothing, and calls write and _exit, which are safe in a handler. It neither allocates nor panics.
    unsafe { signal_hook::low_level::register(signal, handler) }.map(drop)
}

/// The signals that have arrived; their descriptor is readable when there is one.
#[derive(Debug)]
pub(crate) struct Signals(SignalDelivery<UnixStream, SignalOnly>);

impl Signals {
    /// Catches the signals from now on: they have no other effect.
    pub(crate) fn catch() -> Result<Self, LaunchError> {
        let ignored = ignored();
        // Ignored signals (as under `nohup`) stay ignored: by the ranks as well, which inherit that.
        let wanted = FORWARDED.into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
        let catch = || {
            let (read, write) = UnixStream::pair()?;
            SignalDelivery::with_pipe(read, write, SignalOnly, wanted)
        };
        let caught = catch().map(Self).map_err(LaunchError::system("catch signals"))?;
        CAUGHT.store(true, Ordering::Relaxed);
        Ok(caught)
    }

    /// Takes the signals that have arrived.
    pub(crate) fn take(&mut self) -> Vec<i32> {
        self.0.pending().collect()
    }
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.get_read().as_fd()
    }
}

/// Makes the system keep the exit statuses of children. A process that was started with SIGCHLD ignored, as by some
/// scripts and services, could not get them.
pub(crate) fn notice_children() -> Result<(), LaunchError> {
    if ignored() >> (SIGCHLD - 1) & 1 == 1 {
        // Any handler will do. The children have no handler, and do not ignore the signal either.
        let handler = signal_hook::flag::register(SIGCHLD, Arc::new(AtomicBool::new(false)));
        handler.map_err(LaunchError::system("notice how ranks end"))?;
    }
    Ok(())
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
