//! The result that a simulated program hands back.

use carrousel_options::read_bounded;
use carrousel_transport_sim::{LineTotal, Report, Statistics};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Bytes of the largest outcome. Most of them are a drawing; no viewer shows one as large as this.
const BYTES_MAX: u64 = 1 << 30;

/// The result of a simulation, as the program reports it to `carrousel sim`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// The simulation has begun.
    Begun,
    /// The simulation is over, and all ranks have finished their programs.
    Done {
        /// The time of each statement, as far as they were asked for.
        report: Box<Report>,
        /// The numbers of events and bytes.
        statistics: Statistics,
        /// The totals of all statements.
        lines: Vec<LineTotal>,
        /// How many waits for late ranks there were.
        late_count: u64,
        /// The drawing, if one was asked for.
        drawing: Option<String>,
    },
    /// The simulation is over, without a report.
    Failed(Failed),
}

/// The reason why a simulation has no report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// The message for a person.
    pub message: String,
    /// True if the request was refused; false if the run failed.
    pub refused: bool,
}

impl Outcome {
    /// Writes the outcome into the file that the handover names.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        fs::write(path, serde_json::to_vec(self).map_err(io::Error::other)?)
    }

    /// Reads the outcome that a program has written; `None` if the file is empty.
    ///
    /// # Errors
    /// If the file cannot be read, contains something else, or is larger than any outcome.
    pub fn read(path: &Path) -> io::Result<Option<Self>> {
        Self::read_up_to(path, BYTES_MAX)
    }

    fn read_up_to(path: &Path, bytes_max: u64) -> io::Result<Option<Self>> {
        let text = read_bounded(File::open(path)?, bytes_max)?;
        if text.is_empty() {
            Ok(None)
        } else {
            serde_json::from_slice(&text).map(Some).map_err(io::Error::other)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_without_end_is_refused() {
        let error = Outcome::read_up_to(Path::new("/dev/zero"), 1 << 10).expect_err("it has no end");
        assert!(error.to_string().contains("expected at most 1024 bytes"), "{error}");
        assert_eq!(Outcome::read_up_to(Path::new("/dev/null"), 1 << 10).expect("it is empty"), None);
    }
}
