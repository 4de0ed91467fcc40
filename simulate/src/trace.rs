//! What has happened in a job: always a number that tells two runs apart, and on request every event.

use std::fmt::{self, Write};
use std::time::Duration;

/// An event.
#[derive(Clone, Debug)]
pub(crate) struct TraceEvent {
    pub(crate) step: u64,
    pub(crate) time: Duration,
    /// The actor, by number: the launcher is behind the last rank.
    pub(crate) actor: usize,
    pub(crate) text: String,
}

/// The events of a job.
#[derive(Debug)]
pub(crate) struct Trace {
    /// Kept if they were asked for.
    pub(crate) events: Option<Vec<TraceEvent>>,
    /// FNV-1a over all events.
    hash: u64,
}

/// A line between a rank and its launcher, without its values: they have addresses in them, which are others each time.
pub(crate) fn without_values(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line);
    let words =
        text.split_ascii_whitespace().map(|word| if word.starts_with("value=") { "value=.." } else { word });
    words.collect::<Vec<_>>().join(" ")
}

/// Feeds text to the hash.
struct Hash<'a>(&'a mut u64);

impl Write for Hash<'_> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for byte in text.bytes() {
            *self.0 = (*self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
        Ok(())
    }
}

impl Trace {
    pub(crate) fn new(kept: bool) -> Self {
        Self { events: kept.then(Vec::new), hash: 0xcbf2_9ce4_8422_2325 }
    }

    /// A number that two runs share only if their events are the same.
    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    pub(crate) fn note(&mut self, step: u64, time: Duration, actor: usize, text: fmt::Arguments<'_>) {
        // Writing to a number does not fail.
        let _ = write!(Hash(&mut self.hash), "{actor}{}{text}", time.as_nanos());
        if let Some(events) = &mut self.events {
            events.push(TraceEvent { step, time, actor, text: text.to_string() });
        }
    }
}
