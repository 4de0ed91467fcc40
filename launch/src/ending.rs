//! How a rank ended, in the form that its launcher and the other ranks get.

use crate::line::{PmiLine, PmiLineWriter, from_hex, to_hex};
use serde::{Deserialize, Serialize};
use signal_hook::consts::{SIGPIPE, SIGXFSZ};
use std::fmt;
use std::time::Duration;

/// How a rank ended. Its text follows `rank 3 ` in a message.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Ending {
    /// The rank returned or called `exit`, with this status.
    Exited(i32),
    /// A signal of this number killed the rank.
    Killed(i32),
    /// The rank told the launcher that the job cannot go on.
    Aborted {
        /// The status that the job is to have.
        code: i32,
        /// The reason, in words.
        message: String,
    },
    /// The rank exited with status 0 and without `finalize`, while others still counted on it.
    Unfinished,
    /// The rank broke the launcher's protocol.
    Misbehaved {
        /// The violation.
        what: String,
    },
    /// The process goes on, but has closed its connection to the launcher, as `exec` does, without `finalize`.
    Disconnected {
        /// The name of the program that it now runs.
        program: String,
    },
    /// The connection to the rank's host ended.
    HostLost {
        /// The host.
        host: String,
    },
}

impl Ending {
    /// The status that a shell would give: the exit status, or 128 + the signal. Never 0 for a failure.
    pub fn status(&self) -> u8 {
        match self {
            Self::Exited(0) => 0,
            Self::Exited(code) | Self::Aborted { code, .. } => failure(*code),
            Self::Killed(signal) => failure(signal.wrapping_add(128)),
            Self::Unfinished | Self::Misbehaved { .. } | Self::Disconnected { .. } => 1,
            Self::HostLost { .. } => 255,
        }
    }

    /// Appends this to a line.
    pub(crate) fn write(&self, line: PmiLineWriter) -> PmiLineWriter {
        match self {
            Self::Exited(code) => line.word("how", "exited").word("code", code),
            Self::Killed(signal) => line.word("how", "killed").word("signal", signal),
            Self::Aborted { code, message } => {
                line.word("how", "aborted").word("code", code).word("text", to_hex(message.as_bytes()))
            }
            Self::Unfinished => line.word("how", "unfinished"),
            Self::Misbehaved { what } => line.word("how", "misbehaved").word("text", to_hex(what.as_bytes())),
            Self::Disconnected { program } => {
                line.word("how", "disconnected").word("text", to_hex(program.as_bytes()))
            }
            Self::HostLost { host } => line.word("how", "host_lost").word("text", to_hex(host.as_bytes())),
        }
    }

    /// Reads the ending that [`Self::write`] has written.
    pub(crate) fn read(line: &PmiLine<'_>) -> Option<Self> {
        let text = || String::from_utf8(from_hex(line.get("text")?)?).ok();
        Some(match line.get("how")? {
            "exited" => Self::Exited(line.number("code")?),
            "killed" => Self::Killed(line.number("signal")?),
            "aborted" => Self::Aborted { code: line.number("code")?, message: text()? },
            "unfinished" => Self::Unfinished,
            "misbehaved" => Self::Misbehaved { what: text()? },
            "disconnected" => Self::Disconnected { program: text()? },
            "host_lost" => Self::HostLost { host: text()? },
            _ => return None,
        })
    }
}

/// The exit status of a failure. Only the low 8 bits of a code reach the system, and other hosts may send any number:
/// none may become a success.
fn failure(code: i32) -> u8 {
    (code as u8).max(1)
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exited with status {code}"),
            Self::Killed(SIGXFSZ) => write!(
                f,
                "was killed by SIGXFSZ: a file has reached the limit on the size of files (RLIMIT_FSIZE, ulimit -f)"
            ),
            Self::Killed(signal) => write!(f, "was killed by {}", signal_text(*signal)),
            Self::Aborted { code, message } if message.is_empty() => write!(f, "aborted with code {code}"),
            Self::Aborted { code, message } => write!(f, "aborted with code {code}: {message}"),
            Self::Unfinished => write!(f, "ended without finalizing, while others were still running"),
            Self::Misbehaved { what } => write!(f, "broke the launcher's protocol: {what}"),
            Self::Disconnected { program } => write!(
                f,
                "has left without finalizing: its process goes on as `{}`, most likely by `exec`",
                program.escape_default()
            ),
            Self::HostLost { host } => write!(f, "was lost with the connection to its host {host}"),
        }
    }
}

/// Why a launcher has ended a job of which no rank had failed. Its text begins a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StopReason {
    /// The user has sent this signal, and ranks have not ended by it, or their output has not been read to its end.
    Signal(i32),
    /// The job has reached this time limit.
    TimedOut(Duration),
    /// The reader of the output has closed it.
    ReaderLeft,
    /// The ranks wait for each other, as the caller has found in their reports.
    Deadlock,
}

impl StopReason {
    /// The status that a shell, or `timeout`, would give.
    pub fn status(self) -> u8 {
        match self {
            Self::Signal(signal) => (128 + signal) as u8,
            Self::TimedOut(_) => 124,
            Self::ReaderLeft => 128 + SIGPIPE as u8,
            Self::Deadlock => 1,
        }
    }
}

impl fmt::Display for StopReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signal(signal) => write!(f, "ended by {}", signal_text(*signal)),
            Self::TimedOut(time) => write!(f, "timed out after {time:?}"),
            Self::ReaderLeft => write!(f, "nobody reads the output any more"),
            Self::Deadlock => write!(f, "ended, as it never ends by itself"),
        }
    }
}

/// `SIGTERM`, or `signal 63`.
pub(crate) fn signal_text(signal: i32) -> String {
    match signal_hook::low_level::signal_name(signal) {
        Some(name) => name.to_owned(),
        None => format!("signal {signal}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ending_travels() {
        let text = || "no more; memory\n=".to_owned();
        let all = [
            Ending::Exited(3),
            Ending::Killed(9),
            Ending::Aborted { code: -1, message: text() },
            Ending::Unfinished,
            Ending::Misbehaved { what: text() },
            Ending::Disconnected { program: text() },
            Ending::HostLost { host: text() },
        ];
        for ending in all {
            let line = ending.write(PmiLineWriter::new("lost")).finish();
            let line = PmiLine::parse(line.as_bytes()).expect("it was written here");
            assert_eq!(Ending::read(&line), Some(ending));
        }
    }

    #[test]
    fn a_failure_is_never_a_success() {
        assert_eq!(Ending::Killed(9).status(), 137);
        assert_eq!(Ending::Aborted { code: 256, message: String::new() }.status(), 1);
        assert_eq!((Ending::Exited(256).status(), Ending::Exited(-1).status()), (1, 255));
        assert_eq!((Ending::Killed(128).status(), Ending::Killed(i32::MAX).status()), (1, 127));
        assert_eq!(Ending::Killed(9).to_string(), "was killed by SIGKILL");
        assert_eq!(Ending::Killed(63).to_string(), "was killed by signal 63");
    }
}
