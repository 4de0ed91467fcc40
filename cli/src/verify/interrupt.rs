//! Ctrl-C during a search: the first one ends it, and what is known by then is told; a second one ends the process, and so
//! does the first one while nothing is searched: a file that is read may have no end.

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

/// What SIGINT and SIGTERM do.
#[derive(Clone, Default)]
pub(crate) struct Interrupt {
    interrupted: Arc<AtomicBool>,
    searching: Arc<AtomicBool>,
}

impl Interrupt {
    /// Searches, and passes on the flag that a signal sets meanwhile.
    pub(crate) fn during<T>(&self, search: impl FnOnce(&AtomicBool) -> T) -> T {
        self.searching.store(true, Ordering::Relaxed);
        let found = search(&self.interrupted);
        self.searching.store(false, Ordering::Relaxed);
        found
    }

    /// Whether a signal has come.
    pub(crate) fn has_come(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed)
    }
}

/// From now on SIGINT and SIGTERM end a search, and the process when nothing is searched, or a search was ended a second
/// before.
pub(crate) fn catch() -> Result<Interrupt, Failure> {
    let interrupt = Interrupt::default();
    let mut signals = Signals::new([SIGINT, SIGTERM])
        .map_err(|error| Failure::wrong(format_args!("cannot catch signals: {error}")))?;
    let Interrupt { interrupted, searching } = interrupt.clone();
    let wait = move || {
        let mut first: Option<Instant> = None;
        for signal in signals.forever() {
            let is_first = first.is_none();
            let since = *first.get_or_insert_with(Instant::now);
            interrupted.store(true, Ordering::Relaxed);
            if since.elapsed() > ECHOES || is_first && !searching.load(Ordering::Relaxed) {
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
    Ok(interrupt)
}
