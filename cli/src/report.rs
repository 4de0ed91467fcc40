//! How a command prints its result: for a person, or as JSON.

use crate::failure::Failure;

/// How a result is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Format {
    /// For a person.
    #[default]
    Human,
    /// For a program: JSON, on standard output; `carrousel schema` has its schema.
    Json,
}

/// A report on one line.
pub(crate) fn json(report: &impl serde::Serialize) -> Result<String, Failure> {
    serde_json::to_string(report).map_err(|error| Failure::wrong(format_args!("cannot write JSON: {error}")))
}
