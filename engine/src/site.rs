//! Call sites: the lines of the application's program that call the library, which hang reports, traces and errors
//! name.
//!
//! Every public call that can wait, or that starts a request, is `#[track_caller]`, and so is each function between it
//! and [`CallContext::caller`]: a closure or a function that is passed as a value would be a caller of its own.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::panic::Location;

/// The place in the application that has called the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallSite {
    /// In the source of the program.
    Source(&'static Location<'static>),
    /// In a file that the program interprets, as `carrousel run` does a scenario.
    Script(&'static SourceLine),
}

/// A line of a file: `src/main.rs:12`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceLine {
    /// The file, as the compiler or the user has named it.
    pub file: String,
    /// From 1; 0 is the end of the file, behind its last statement.
    pub line: u32,
}

fn write_line(f: &mut fmt::Formatter<'_>, file: &str, line: u32) -> fmt::Result {
    if line == 0 { write!(f, "the end of {file}") } else { write!(f, "{file}:{line}") }
}

impl fmt::Display for SourceLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_line(f, &self.file, self.line)
    }
}

impl CallSite {
    /// The caller of the function that asks, if that is `#[track_caller]`.
    #[inline]
    #[track_caller]
    pub fn caller() -> Self {
        Self::Source(Location::caller())
    }

    /// The file, as the compiler or the user has named it.
    pub fn file(self) -> &'static str {
        match self {
            Self::Source(location) => location.file(),
            Self::Script(line) => &line.file,
        }
    }

    /// The line, see [`SourceLine::line`].
    pub fn line(self) -> u32 {
        match self {
            Self::Source(location) => location.line(),
            Self::Script(line) => line.line,
        }
    }
}

impl From<CallSite> for SourceLine {
    fn from(site: CallSite) -> Self {
        Self { file: site.file().to_owned(), line: site.line() }
    }
}

impl fmt::Display for CallSite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_line(f, self.file(), self.line())
    }
}

/// A call site that is resolved only when it is needed: for a report or a trace, not for a message.
pub trait Located: Copy {
    /// The call site.
    fn site(self) -> CallSite;
    /// The line that called the library, whether or not it is the call site.
    fn location(self) -> &'static Location<'static>;
}

impl Located for CallSite {
    fn site(self) -> CallSite {
        self
    }

    fn location(self) -> &'static Location<'static> {
        match self {
            Self::Source(location) => location,
            Self::Script(_) => Location::caller(),
        }
    }
}

/// The communicator of a call, and the site on behalf of which it is made.
#[derive(Clone, Copy, Debug)]
pub struct CallContext {
    /// The communicator.
    pub communicator: carrousel_rank::Communicator,
    /// The site that reports name, if it is not that of the call.
    pub site: Option<CallSite>,
}

/// The communicator of a call, and its place in the program.
#[derive(Clone, Copy, Debug)]
pub struct Caller<'a> {
    context: &'a CallContext,
    location: &'static Location<'static>,
}

impl CallContext {
    /// The caller of the calling function.
    #[inline]
    #[track_caller]
    pub fn caller(&self) -> Caller<'_> {
        Caller { context: self, location: Location::caller() }
    }
}

impl Caller<'_> {
    /// The communicator.
    #[inline]
    pub fn id(self) -> carrousel_rank::Communicator {
        self.context.communicator
    }
}

impl Located for Caller<'_> {
    fn site(self) -> CallSite {
        self.context.site.unwrap_or(CallSite::Source(self.location))
    }

    #[inline]
    fn location(self) -> &'static Location<'static> {
        self.location
    }
}
