//! Where in its program the application calls the library: what hang reports, traces and errors name.
//!
//! Every public call that can wait, or that starts a request, is `#[track_caller]`, and so is each function between it
//! and [`Communicator::site`]: a closure or a function that is passed as a value would be a caller of its own.

use crate::Communicator;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::panic::Location;

/// Where the application has called the library.
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

/// Who knows a call site, and says it when it is needed: for a report, or a trace, not for a message.
pub(crate) trait Located: Copy {
    /// The call site.
    fn site(self) -> CallSite;
    /// Where the library was called, whether or not that is the call site.
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

/// Who calls: in which communicator, and where in the program.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caller<'a> {
    communicator: &'a Communicator,
    location: &'static Location<'static>,
}

impl Caller<'_> {
    /// The communicator.
    #[inline]
    pub(crate) fn id(self) -> carrousel_rank::Communicator {
        self.communicator.id
    }
}

impl Located for Caller<'_> {
    fn site(self) -> CallSite {
        self.communicator.site.unwrap_or(CallSite::Source(self.location))
    }

    #[inline]
    fn location(self) -> &'static Location<'static> {
        self.location
    }
}

impl Communicator {
    /// The same communicator for calls on behalf of `site`, which reports, traces and errors name in place of the line
    /// of the call itself: for libraries whose callers' lines matter, not their own.
    pub fn at(&self, site: CallSite) -> Self {
        self.shared.with(|core| core.observe());
        Self { site: Some(site), ..self.clone() }
    }

    /// Where the application is that calls the function that asks.
    #[track_caller]
    pub(crate) fn site(&self) -> CallSite {
        self.caller().site()
    }

    /// Who calls the function that asks.
    #[inline]
    #[track_caller]
    pub(crate) fn caller(&self) -> Caller<'_> {
        Caller { communicator: self, location: Location::caller() }
    }

    /// For a request: where it is waited for is another place than the one where it was started.
    pub(crate) fn of_request(&self) -> Self {
        Self { site: None, ..self.clone() }
    }
}
