//! Ctrl-C and its like: while guests run, the run is told and cleans up first.

use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals as Arriving;
use signal_hook::low_level::emulate_default_handler;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Takes a signal, or says that it is not there any more.
type Listener = Box<dyn Fn(i32) -> bool + Send>;

/// Signals that end this process, as they do by default.
pub(super) struct Signals(Arc<Mutex<Option<Listener>>>);

impl Signals {
    /// From now on.
    pub(super) fn catch() -> Result<Self, String> {
        let mut arriving = Arriving::new([SIGHUP, SIGINT, SIGTERM])
            .map_err(|error| format!("cannot take note of signals: {error}"))?;
        let listener = Arc::new(Mutex::new(None::<Listener>));
        let signals = Self(Arc::clone(&listener));
        thread::spawn(move || {
            for signal in arriving.forever() {
                let listener = listener.lock().unwrap_or_else(PoisonError::into_inner);
                if !listener.as_ref().is_some_and(|listener| listener(signal)) {
                    end_by(signal);
                }
            }
        });
        Ok(signals)
    }

    /// Hands signals to this listener, until it says that it is not there any more.
    pub(super) fn tell(&self, listener: impl Fn(i32) -> bool + Send + 'static) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(listener));
    }
}

/// Ends this process as if the signal had not been caught.
pub(super) fn end_by(signal: i32) {
    // It fails only for signals that cannot be caught.
    let _ = emulate_default_handler(signal);
}
