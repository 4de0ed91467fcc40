//! The errors of a file, with their places, and their rendering for a person.

use std::fmt;
use std::sync::Arc;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode};

use crate::limits::FAULTS_MAX;
use crate::problem::Problem;
use crate::span::{Span, line_and_column};

/// One error of a file: what is wrong, and where.
#[derive(Clone, Debug)]
pub struct Fault {
    /// What is wrong.
    pub problem: Problem,
    /// The place, in bytes.
    pub at: Span,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, in characters.
    pub column: u32,
    /// The rank for which it is an error, if several ranks run the place: the first such rank.
    pub rank: Option<u32>,
    source: NamedSource<Arc<str>>,
}

impl Fault {
    /// The fault on one line: `FILE:LINE:COL: what, and what was expected`.
    pub fn headline(&self) -> String {
        format!("{}:{}:{}: {self}", self.source.name(), self.line, self.column)
    }

    /// The source line, shortened around the place, and below it the marker.
    fn excerpt(&self) -> (String, String) {
        const BEFORE_MAX: usize = 60;
        const WIDTH_MAX: usize = 110;
        let text: &str = self.source.inner();
        let at = (self.at.start as usize).min(text.len());
        let start = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let line = text[start..].split('\n').next().unwrap_or("").trim_end();
        let column = self.column as usize - 1;
        let marked = line.get(at - start..).map_or(0, |rest| {
            let end = rest.floor_char_boundary(self.at.len as usize);
            rest[..end].chars().count()
        });
        let skipped = column.saturating_sub(BEFORE_MAX);
        let shown: String = line
            .chars()
            .skip(skipped)
            .take(WIDTH_MAX)
            .map(|c| if c.is_control() { ' ' } else { c })
            .collect();
        let cut = line.chars().nth(skipped + WIDTH_MAX).is_some();
        let (left, right) = (if skipped > 0 { "…" } else { "" }, if cut { "…" } else { "" });
        let indent = column - skipped + left.chars().count();
        let width = marked.clamp(1, (WIDTH_MAX - (column - skipped)).max(1));
        (format!("{left}{shown}{right}"), format!("{}{}", " ".repeat(indent), "^".repeat(width)))
    }

    fn render(&self, color: bool) -> String {
        let paint = |code: &str, text: &str| match color {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_owned(),
        };
        let (source, marker) = self.excerpt();
        let number = self.line.to_string();
        let gutter = " ".repeat(number.len());
        let bar = paint("34", "|");
        let mut text = format!("{}\n", paint("1", &self.headline()));
        text += format!(" {} {bar} {source}", paint("34", &number)).trim_end();
        text += &format!("\n {gutter} {bar} {}\n", paint("1;31", &marker));
        if let Some(help) = self.problem.help() {
            text += &format!(" {gutter} {} {help}\n", paint("36", "= help:"));
        }
        text
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.problem.fmt(f)?;
        match self.rank {
            Some(rank) => write!(f, " (for rank {rank})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Fault {}

impl Diagnostic for Fault {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.problem.code()
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.problem.help()
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let span = (self.at.start as usize, self.at.len as usize);
        let label = LabeledSpan::new_with_span(Some("here".to_owned()), span);
        Some(Box::new(std::iter::once(label)))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source)
    }
}

/// The reason why a file is no scenario: its faults in the order of the file, at most [`FAULTS_MAX`].
///
/// `Display` is the first fault on one line; [`Error::render`] is for a terminal. As a
/// [`miette::Diagnostic`], the faults are the related diagnostics.
#[derive(Clone, Debug)]
pub struct Error {
    faults: Vec<Fault>,
    more: bool,
}

impl Error {
    /// The faults, at least one.
    pub fn faults(&self) -> &[Fault] {
        &self.faults
    }

    /// Whether there may be more faults, because reading stopped at the most that are reported.
    pub fn may_have_more(&self) -> bool {
        self.more
    }

    /// Every fault: `FILE:LINE:COL: what, and what was expected`, the source line, a marker, and
    /// what to do about it. `color` adds ANSI escapes.
    pub fn render(&self, color: bool) -> String {
        let mut text = String::new();
        for fault in &self.faults {
            text += &fault.render(color);
        }
        if self.more {
            text += &format!("stopped after {} errors\n", self.faults.len());
        }
        text
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.faults.first() {
            Some(fault) => f.write_str(&fault.headline()),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

impl Diagnostic for Error {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new("scenario::wrong_file"))
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(self.faults.iter().map(|fault| fault as &dyn Diagnostic)))
    }
}

/// Collects the faults of one file.
#[derive(Debug)]
pub(crate) struct Faults {
    found: Vec<(Span, Problem, Option<u32>)>,
    stopped: bool,
}

impl Faults {
    pub(crate) fn new() -> Self {
        Faults { found: Vec::new(), stopped: false }
    }

    /// Takes note of a fault. One is kept of each place; those beyond the limit are dropped.
    pub(crate) fn add(&mut self, at: Span, problem: Problem, rank: Option<u32>) {
        if !self.full() && self.found.iter().all(|(other, ..)| *other != at) {
            self.stopped = problem.ends_reading();
            self.found.push((at, problem, rank));
        }
    }

    /// Whether reading on is pointless: no further fault would be reported.
    pub(crate) fn full(&self) -> bool {
        self.stopped || self.found.len() >= FAULTS_MAX
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// The error that reports them; at least one was added.
    pub(crate) fn into_error(mut self, file: &str, source: &Arc<str>) -> Error {
        let more = self.found.len() >= FAULTS_MAX;
        self.found.sort_by_key(|(at, ..)| at.start);
        let fault = |(at, problem, rank): (Span, Problem, Option<u32>)| {
            let (line, column) = line_and_column(source.as_bytes(), at.start as usize);
            let source = NamedSource::new(file, Arc::clone(source));
            Fault { problem, at, line, column, rank, source }
        };
        Error { faults: self.found.into_iter().map(fault).collect(), more }
    }
}
