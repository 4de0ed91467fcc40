//! Ctrl-C during an exploration: the first one ends the search, and what is known by then is told; a second one ends
//! the process.

use crate::failure::Failure;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// From now on SIGINT and SIGTERM set the flag, and end the process where it is set already.
pub(crate) fn catch() -> Result<Arc<AtomicBool>, Failure> {
    let interrupted = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        // In this order: what the first signal sets must not be what it finds.
        flag::register_conditional_default(signal, Arc::clone(&interrupted))
            .and_then(|_| flag::register(signal, Arc::clone(&interrupted)))
            .map_err(|error| Failure::wrong(format_args!("cannot catch signals: {error}")))?;
    }
    Ok(interrupted)
}
