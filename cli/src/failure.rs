//! Why a command ends before it has a result.

use crate::status::Status;
use crate::style::{Paint, Style};
use carrousel_system::stderr;
use std::fmt::Display;
use std::io;
use std::path::Path;

/// A message for the user, and the exit status that goes with it.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    help: Option<String>,
    status: Status,
    /// The message is a rendered diagnostic and says itself what it is.
    rendered: bool,
}

/// A path as people may see it: a terminal must not take a part of a file's name for a command.
pub(crate) fn shown(path: impl AsRef<Path>) -> String {
    let text = path.as_ref().to_string_lossy().into_owned();
    if !text.contains(char::is_control) {
        return text;
    }
    text.chars()
        .map(|c| if c.is_control() { c.escape_default().to_string() } else { c.to_string() })
        .collect()
}

impl Failure {
    /// The request cannot be carried out.
    pub(crate) fn wrong(message: impl Display) -> Self {
        Self { message: message.to_string(), help: None, status: Status::Wrong, rendered: false }
    }

    /// A diagnostic that begins with its place.
    pub(crate) fn diagnostic(message: impl Display, status: Status) -> Self {
        Self { message: message.to_string(), help: None, status, rendered: true }
    }

    /// A file could not be read or written.
    pub(crate) fn of_file(doing: &str, path: &Path, error: &io::Error) -> Self {
        Self::wrong(format_args!("cannot {doing} {}: {error}", shown(path)))
    }

    /// Adds what to do about it.
    pub(crate) fn with_help(mut self, help: impl Display) -> Self {
        self.help = Some(help.to_string());
        self
    }

    /// Ends with another status.
    pub(crate) fn with_status(mut self, status: Status) -> Self {
        self.status = status;
        self
    }

    /// The exit status.
    pub(crate) fn status(&self) -> Status {
        self.status
    }

    /// Tells the user.
    pub(crate) fn report(&self, style: Style) {
        let mut text = String::new();
        if !self.rendered {
            text += &format!("{} ", style.paint(Paint::Bad, "error:"));
        }
        text += self.message.trim_end();
        if let Some(help) = &self.help {
            text += &format!("\n  {} {help}", style.paint(Paint::Hint, "help:"));
        }
        stderr::tell(&text);
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::wrong(format_args!("cannot write the output: {error}"))
    }
}
