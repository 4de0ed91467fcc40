//! Standard output, which may be a pipe whose reader leaves early.

use crate::closed;
use crate::failure::Failure;
use crate::status::Status;
use crate::style::Style;
use carrousel_launch::StopReason;
use rustix::io::Errno;
use std::io::{self, BufWriter, ErrorKind, Stdout, Write};

/// Where results go.
///
/// When the reader has gone (`carrousel verify FILE | head -1`), what is left to say is dropped, and
/// the command goes on to its exit status: a violation stays one, and without any it is that of a program that a closed
/// pipe has ended.
pub(crate) struct Out {
    to: BufWriter<Stdout>,
    /// The reader has left.
    closed: bool,
    /// Standard output was closed from the beginning.
    absent: bool,
    /// How to write for this reader.
    pub(crate) style: Style,
}

impl Out {
    /// Standard output.
    pub(crate) fn stdout(style: Style) -> Self {
        Self { to: BufWriter::new(io::stdout()), closed: false, absent: closed::stdout(), style }
    }

    /// Appends text.
    pub(crate) fn text(&mut self, text: &str) -> Result<(), Failure> {
        if text.is_empty() {
            return Ok(());
        }
        self.attempt(|to| to.write_all(text.as_bytes()))
    }

    /// Appends a line.
    pub(crate) fn line(&mut self, line: &str) -> Result<(), Failure> {
        self.attempt(|to| writeln!(to, "{line}"))
    }

    /// Shows what has been written so far.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        if self.absent {
            return Ok(());
        }
        self.attempt(Write::flush)
    }

    /// The status of one file of several: a failure is told, behind what was printed before it, and the
    /// others go on.
    pub(crate) fn settle(
        &mut self,
        result: Result<Status, Failure>,
        errors: Style,
    ) -> Result<Status, Failure> {
        match result {
            Ok(status) => Ok(status),
            Err(failure) => {
                self.flush()?;
                failure.report(errors);
                Ok(failure.status())
            }
        }
    }

    /// Writes what is left. Returns the status of a command that would end with this one.
    pub(crate) fn finish(mut self, status: Status) -> Result<Status, Failure> {
        self.flush()?;
        let cut = self.closed && status == Status::Fine;
        Ok(if cut { Status::Job(StopReason::ReaderLeft.status()) } else { status })
    }

    fn attempt(
        &mut self,
        write: impl FnOnce(&mut BufWriter<Stdout>) -> io::Result<()>,
    ) -> Result<(), Failure> {
        if self.closed {
            return Ok(());
        }
        if self.absent {
            return Err(io::Error::from(Errno::BADF).into());
        }
        match write(&mut self.to) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => {
                self.closed = true;
                Ok(())
            }
            other => Ok(other?),
        }
    }
}
