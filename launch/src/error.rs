//! The errors of a launch, by their cause: the environment, the launcher, another rank, the caller, or this
//! node.

use crate::ending::{Ending, StopReason, signal_text};
use std::io;
use std::path::PathBuf;
use thiserror::Error;

/// The subjects of [`LaunchError::LimitTooLow`]: processes of a launcher on its own host, and connections to others.
pub(crate) const RANKS: &str = "ranks on this host";
pub(crate) const HOSTS: &str = "hosts";

/// Why a rank cannot find its job, or a job cannot be started.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum LaunchError {
    /// A variable of the environment has a value that no launcher gives it.
    #[error(
        "{variable}={value:?} is wrong: expected {expected}; the program that starts the ranks sets it: \
         unset it to run as a job of one rank"
    )]
    InvalidVariable {
        /// Its name.
        variable: &'static str,
        /// Its value.
        value: String,
        /// The values that it may have.
        expected: &'static str,
    },
    /// One variable is set, and another that goes with it is not.
    #[error(
        "{variable} is set, but {missing} is not: a launcher sets both; start the program with \
         `carrousel run`, or unset {variable} to run as a job of one rank"
    )]
    MissingVariable {
        /// The one that is set.
        variable: &'static str,
        /// The one that is not.
        missing: &'static str,
    },
    /// The launcher speaks PMIx only.
    #[error(
        "the program was started by a PMIx launcher ({variable} is set), and speaks PMI-1 only: start it \
         with `srun --mpi=pmi2`, with `mpiexec` of MPICH (hydra), or with `carrousel run`"
    )]
    PmixOnly {
        /// The variable by which it was recognised.
        variable: &'static str,
    },
    /// The launcher cannot be reached.
    #[error("cannot connect to the launcher at {address} (PMI_PORT): {source}")]
    Connect {
        /// Its address.
        address: String,
        /// The system's error.
        source: io::Error,
    },
    /// The launcher has ended, or has closed the connection to this rank.
    #[error("the launcher has closed the connection, so the job is over (while asking for `{asked}`)")]
    LauncherGone {
        /// The request that was under way.
        asked: String,
    },
    /// The launcher's answer cannot be understood.
    #[error("the launcher answered `{got}` to `{asked}`: expected {expected}")]
    UnexpectedAnswer {
        /// The request.
        asked: String,
        /// The answer, or its beginning.
        got: String,
        /// The answer that PMI-1 expects.
        expected: &'static str,
    },
    /// The launcher has refused a request.
    #[error("the launcher refused `{asked}`: {message}")]
    Refused {
        /// The request.
        asked: String,
        /// Its reason.
        message: String,
    },
    /// A key that not every launcher can store.
    #[error("the key {key:?} cannot be put: expected 1 to {max} letters, digits, `_`, `.` or `-`")]
    InvalidKey {
        /// The key.
        key: String,
        /// Bytes that a key may have.
        max: usize,
    },
    /// A value or a report exceeds its limit.
    #[error("{what} of {len} bytes is too long: at most {max} can be sent")]
    TooLong {
        /// `a value`, or `a report`.
        what: &'static str,
        /// Its length.
        len: usize,
        /// The limit.
        max: usize,
    },
    /// A report is not one line.
    #[error("a report has to be one line: it contains a line end at byte {at}")]
    ReportNotOneLine {
        /// The byte at which its first line ends.
        at: usize,
    },
    /// The barrier will never open, because another rank has ended.
    #[error("rank {rank} {ending}, and will never enter the barrier")]
    RankLost {
        /// The rank that has ended.
        rank: u32,
        /// How it ended.
        ending: Ending,
    },
    /// A program cannot be started.
    #[error("cannot start `{program}`: {source}")]
    Spawn {
        /// The program.
        program: String,
        /// The system's error.
        source: io::Error,
    },
    /// A host could not carry out its part of the job.
    #[error("host {host}: {message}")]
    HostFailed {
        /// The host.
        host: String,
        /// The error there.
        message: String,
        /// The [`LaunchError::status`] that the error would have here.
        status: Option<u8>,
    },
    /// A list of hosts is wrong.
    #[error("`{text}` is not a host: expected NAME or NAME:RANKS, as in `node1:4`")]
    InvalidHost {
        /// The entry.
        text: String,
    },
    /// A file of hosts is wrong.
    #[error("{file}{}: found `{found}`, expected {expected}", line.map(|line| format!(":{line}")).unwrap_or_default())]
    InvalidHostFile {
        /// The file.
        file: String,
        /// The line, from 1; `None` if it is the whole file.
        line: Option<usize>,
        /// The text that stands there.
        found: String,
        /// The text that may stand there.
        expected: &'static str,
    },
    /// A file or directory cannot be used.
    #[error("cannot {doing} {}: {source}", path.display())]
    File {
        /// The operation that failed.
        doing: &'static str,
        /// Its path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A limit of the system is too low for the job. Nothing was started.
    #[error(
        "{count} {of} need {needed} {what}, and the limit is {limit}: raise it, or use {} hosts",
        if *of == HOSTS { "fewer" } else { "more" }
    )]
    LimitTooLow {
        /// How many ranks or hosts there are.
        count: u64,
        /// `ranks on this host`, or `hosts`.
        of: &'static str,
        /// The resource that is limited.
        what: &'static str,
        /// How much of it they need.
        needed: u64,
        /// How much of it the system allows.
        limit: u64,
    },
    /// The system allows no more processes.
    #[error(
        "cannot start rank {rank}: {source}: the limit on processes is reached (RLIMIT_NPROC, ulimit -u; or \
         pids.max of the control group)"
    )]
    TooManyProcesses {
        /// The first rank that could not be started.
        rank: u32,
        /// The system's error.
        source: io::Error,
    },
    /// A host has more ranks than processors, and each rank was to have one of its own.
    #[error(
        "{ranks} ranks cannot have a core each: this host lets them use {processors} processors; bind them to \
         NUMA nodes, or not at all"
    )]
    TooFewProcessors {
        /// How many ranks are on this host.
        ranks: usize,
        /// How many processors they may use.
        processors: usize,
    },
    /// The user has ended the job by a signal before all of its ranks were started.
    #[error("ended by {} while ranks were started: {started} of {ranks} were, and have been killed", signal_text(*signal))]
    Interrupted {
        /// The signal's number.
        signal: i32,
        /// How many ranks, or hosts, had been started.
        started: u32,
        /// How many ranks the job has.
        ranks: u32,
    },
    /// The output of the ranks cannot be written.
    #[error("cannot write the output: {source}; the job was ended")]
    Output {
        /// The system's error.
        source: io::Error,
    },
    /// A job has no rank, or too many.
    #[error("a job has 1 to {max} ranks, not {ranks}")]
    InvalidRankCount {
        /// How many were asked for.
        ranks: u32,
        /// The limit.
        max: u32,
    },
    /// The system has refused something that a launcher needs.
    #[error("cannot {doing}: {source}")]
    System {
        /// The operation that failed.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
}

impl LaunchError {
    /// The exit status that a shell gives for such an error, if there is one: 127 for a program that does not exist,
    /// 126 for one that cannot be started, 128 and the number of the signal that ended the job before it had begun.
    pub fn status(&self) -> Option<u8> {
        match self {
            Self::Spawn { source, .. } if source.kind() == io::ErrorKind::NotFound => Some(127),
            Self::Spawn { .. } => Some(126),
            Self::Interrupted { signal, .. } => Some(StopReason::Signal(*signal).status()),
            Self::HostFailed { status, .. } => *status,
            _ => None,
        }
    }

    /// Makes a [`Self::System`] in `map_err`.
    pub(crate) fn system<E: Into<io::Error>>(doing: &'static str) -> impl Fn(E) -> Self {
        move |source| Self::System { doing, source: source.into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_one_sentence() {
        let source = || io::Error::other("no");
        let all = [
            LaunchError::TooManyProcesses { rank: 3, source: source() },
            LaunchError::TooFewProcessors { ranks: 3, processors: 2 },
            LaunchError::LimitTooLow { count: 3, of: HOSTS, what: "files", needed: 6, limit: 5 },
            LaunchError::LimitTooLow { count: 3, of: RANKS, what: "files", needed: 6, limit: 5 },
        ];
        let all = all.map(|error| error.to_string());
        assert!(all.iter().all(|text| !text.contains("  ")), "{all:?}");
        assert_eq!(all[2], "3 hosts need 6 files, and the limit is 5: raise it, or use fewer hosts");
        assert!(all[3].starts_with("3 ranks on this host need") && all[3].ends_with("use more hosts"));
    }
}
