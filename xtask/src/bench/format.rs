//! How results are printed.

use clap::ValueEnum;

/// The format of the output.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum Format {
    /// For people
    Table,
    /// One object
    Json,
}
