//! What to start.

use crate::client::environment::RANKS_MAX;
use crate::error::LaunchError;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// How long a signal has to work before the next, stronger one.
pub(crate) const INSISTENCE: Duration = Duration::from_secs(1);

/// A program, how many times to start it, where, and how to treat it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Job {
    /// What every rank runs. A name without `/` is looked for in `PATH`.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// How many ranks.
    pub ranks: u32,
    /// Variables that the ranks get beside those of this process. Ranks on other hosts get these only.
    pub environment: Vec<(OsString, OsString)>,
    /// Whether each line of output says which rank has written it: `[3] ...`.
    pub prefix: bool,
    /// Where the ranks are. Empty: here.
    pub hosts: Vec<Host>,
    /// How long ranks may go on after another has failed: to notice, and to say what they know.
    pub grace: Duration,
    /// The command that reaches other hosts. It is started with `-oBatchMode=yes -T -- HOST COMMAND`.
    pub ssh: OsString,
    /// The command that calls [`agent`](crate::agent) on other hosts, as a shell there is to read it.
    pub agent: OsString,
}

/// A host, and how many ranks it takes before the next one has its turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// What ssh calls it.
    pub name: String,
    /// At least 1.
    pub ranks: u32,
}

impl Job {
    /// A job on this node. Everything else is as one expects, and can be changed.
    pub fn new(program: impl Into<OsString>, ranks: u32) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            ranks,
            environment: Vec::new(),
            prefix: false,
            hosts: Vec::new(),
            grace: INSISTENCE,
            ssh: "ssh".into(),
            agent: OsString::new(),
        }
    }

    /// How many ranks each host gets: blocks of consecutive ranks, and when all hosts are full, more for
    /// each in turn. The job's first ranks are on the first host.
    pub(crate) fn layout(&self) -> Result<Vec<u32>, LaunchError> {
        if self.ranks == 0 || self.ranks > RANKS_MAX {
            return Err(LaunchError::Ranks { ranks: self.ranks, max: RANKS_MAX });
        }
        if self.hosts.is_empty() {
            return Ok(vec![self.ranks]);
        }
        let mut left = self.ranks;
        let mut layout = vec![0; self.hosts.len()];
        while left > 0 {
            for (host, count) in self.hosts.iter().zip(&mut layout) {
                let more = host.ranks.max(1).min(left);
                *count += more;
                left -= more;
            }
        }
        Ok(layout)
    }

    /// The part that runs on one node.
    pub(crate) fn share(&self, first: u32, count: u32) -> Share {
        Share {
            program: self.program.clone(),
            arguments: self.arguments.clone(),
            environment: self.environment.clone(),
            directory: None,
            first,
            count,
            size: self.ranks,
            prefix: self.prefix,
        }
    }
}

impl Host {
    /// Reads `NAME` or `NAME:RANKS`.
    pub fn parse(text: &str) -> Result<Self, LaunchError> {
        let wrong = || LaunchError::HostText { text: text.to_owned() };
        let (name, ranks) = match text.split_once(':') {
            Some((name, ranks)) => (name, ranks.parse().map_err(|_| wrong())?),
            None => (text, 1),
        };
        // A name is an argument of ssh: it must not look like an option.
        let valid = |c: char| c.is_ascii_alphanumeric() || "_.-@".contains(c);
        if name.is_empty() || name.starts_with('-') || !name.chars().all(valid) || ranks == 0 {
            return Err(wrong());
        }
        Ok(Self { name: name.to_owned(), ranks })
    }
}

/// The ranks of a job that are on one node.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct Share {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// Where to start them, on another host: where the launcher is.
    pub(crate) directory: Option<PathBuf>,
    /// The first rank, and how many.
    pub(crate) first: u32,
    pub(crate) count: u32,
    /// Of the whole job.
    pub(crate) size: u32,
    pub(crate) prefix: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(ranks: u32, hosts: &[&str]) -> Vec<u32> {
        let mut job = Job::new("true", ranks);
        job.hosts = hosts.iter().map(|host| Host::parse(host).expect("it is right")).collect();
        job.layout().expect("there are ranks")
    }

    #[test]
    fn hosts_are_filled_in_turn() {
        assert_eq!(layout(4, &[]), [4]);
        assert_eq!(layout(4, &["a", "b:4"]), [1, 3]);
        assert_eq!(layout(1, &["a", "b:4"]), [1, 0]);
        assert_eq!(layout(7, &["a", "b:2"]), [3, 4]);
        assert!(Job::new("true", 0).layout().is_err());
        assert!(Job::new("true", u32::MAX).layout().is_err());
    }

    #[test]
    fn a_host_is_a_name_and_maybe_a_number() {
        assert_eq!(
            Host::parse("me@node-1.x:4").expect("it is right"),
            Host { name: "me@node-1.x".into(), ranks: 4 }
        );
        for text in ["", ":4", "a:", "a:0", "a:-1", "-oProxyCommand=x", "a b", "a;b", "a:99999999999"] {
            assert!(Host::parse(text).is_err(), "{text:?}");
        }
    }
}
