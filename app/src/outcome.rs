//! What a program that has simulated itself hands back.

use carrousel_transport_sim::{Report, Statistics};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io;
use std::path::Path;

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
    /// When the file cannot be read, or holds something else.
    pub fn read(path: &Path) -> io::Result<Option<Self>> {
        let text = fs::read(path)?;
        if text.is_empty() {
            Ok(None)
        } else {
            serde_json::from_slice(&text).map(Some).map_err(io::Error::other)
        }
    }
}
