//! What a program that has simulated itself hands back.

use carrousel_options::read_bounded;
use carrousel_transport_sim::{Report, Statistics};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io;
use std::path::Path;

/// Bytes of the largest outcome. A drawing is most of one, and a viewer has given up long before.
const BYTES_MAX: u64 = 1 << 30;

/// What has come of a simulation, as the program tells `carrousel sim`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Outcome {
    /// It has begun.
    Begun,
    /// It is over, and all ranks have done what they had to do.
    Done {
        /// What happened when.
        report: Report,
        /// How much.
        statistics: Statistics,
        /// The drawing, if one was asked for.
        drawing: Option<String>,
    },
    /// It is over, and has no report.
    Failed(Failed),
}

/// Why a simulation has no report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    /// For a person.
    pub message: String,
    /// Whether that is for what was asked; else the run went wrong.
    pub refused: bool,
}

impl Outcome {
    /// Writes it for whoever asked.
    pub(crate) fn write(&self, path: &Path) -> io::Result<()> {
        fs::write(path, serde_json::to_vec(self).map_err(io::Error::other)?)
    }

    /// Reads what a program has written; `None` if that is nothing.
    ///
    /// # Errors
    /// When the file cannot be read, holds something else, or is larger than any outcome.
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
