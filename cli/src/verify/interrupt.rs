//! Ctrl-C during an exploration: the first one ends the search, and what is known by then is told; a second one ends
//! the process.

use crate::failure::Failure;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level::emulate_default_handler;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::Builder;
use std::time::{Duration, Instant};

/// A signal so soon after the first one belongs to it: `timeout` signals the command and then its group, and some
/// launchers the group and then each process. Nobody has seen by then what the first one does.
const ECHOES: Duration = Duration::from_secs(1);
/// What the thread that waits for signals needs, of address space, too.
const STACK_BYTES: usize = 64 << 10;

/// From now on SIGINT and SIGTERM set the flag, and end the process if it has been set for a second.
pub(crate) fn catch() -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    let mut signals = Signals::new([SIGINT, SIGTERM])
        .map_err(|error| Failure::wrong(format_args!("cannot catch signals: {error}")))?;
    let flag = Arc::clone(&interrupted);
    let wait = move || {
        let mut first = None;
        for signal in signals.forever() {
            flag.store(true, Ordering::Relaxed);
            if first.get_or_insert_with(Instant::now).elapsed() > ECHOES {
                // It fails for signals that do not exist.
                let _ = emulate_default_handler(signal);
            }
        }
    };
    Builder::new()
        .name("signals".to_owned())
        .stack_size(STACK_BYTES)
        .spawn(wait)
        .map_err(|error| Failure::wrong(format_args!("cannot wait for signals: {error}")))?;
    Ok(interrupted)
}
