//! Standard error: messages to a person, next to the result.

use std::io::{self, Write};

/// Prints a line. A closed standard error is ignored.
pub(crate) fn to_stderr(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}
