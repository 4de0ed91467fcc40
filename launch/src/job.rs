//! The description of a job: its programs, its hosts, and how to treat its ranks.

use crate::binding::Bind;
use crate::client::environment::RANKS_MAX;
use crate::error::LaunchError;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// How long the launcher waits after a signal before it sends a stronger one.
pub(crate) const ESCALATION_DELAY: Duration = Duration::from_secs(1);

/// How long ranks have by default to end by a signal of the user before they are killed.
const KILL_AFTER_DEFAULT: Duration = Duration::from_secs(5);

/// How long hosts have by default to answer: longer than a login takes on a machine that is busy.
const HOST_TIMEOUT_DEFAULT: Duration = Duration::from_secs(60);

/// Programs, where to start them, and how to treat them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Job {
    /// The programs of the ranks: the first ranks run the first program, and so on.
    pub programs: Vec<Program>,
    /// Variables that the ranks get in addition to those of this process. Ranks on other hosts get only these.
    pub environment: Vec<(OsString, OsString)>,
    /// Whether each line of output begins with the rank that has written it: `[3] ...`.
    pub prefix: bool,
    /// A directory for the output of ranks, instead of this process's output: rank 3 writes to the files `rank.3.out`
    /// and `rank.3.err` there, on its host. It is created where it does not exist.
    pub output_directory: Option<PathBuf>,
    /// Whether this process has no standard output: ranks that write to theirs end the job then.
    pub output_is_closed: bool,
    /// The hosts of the ranks. Empty: this host.
    pub hosts: Vec<Host>,
    /// On which processors of their host the ranks run.
    pub bind: Bind,
    /// Whether the processors of each rank are reported on standard error.
    pub report_bindings: bool,
    /// How long ranks may go on after another has failed: time to notice, and to report what they know.
    pub grace: Duration,
    /// How long ranks may go on after the user's SIGINT, SIGTERM or SIGHUP has been forwarded to them. After that, and
    /// when another such signal comes, they are killed. `None`: only when another comes.
    pub kill_after: Option<Duration>,
    /// How long the job may take.
    pub timeout: Option<Duration>,
    /// How long the hosts have to answer.
    pub host_timeout: Duration,
    /// The command that reaches other hosts. It is started with
    /// `-oBatchMode=yes -oServerAliveInterval=5 -oControlPath=none -T -- HOST COMMAND`.
    pub ssh: OsString,
    /// The command that calls [`agent`](crate::agent) on other hosts, in the syntax of a shell there.
    pub agent: OsString,
}

/// A program, and the ranks of a job that run it.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[non_exhaustive]
pub struct Program {
    /// The program. A name without `/` is looked for in `PATH`.
    pub program: OsString,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// How many ranks run it: at least 1.
    pub ranks: u32,
    /// Variables for these ranks, in addition to those of the job.
    pub environment: Vec<(OsString, OsString)>,
    /// The directory in which they start. A relative path begins where the job is started.
    pub directory: Option<PathBuf>,
}

impl Program {
    /// A program without arguments, and the number of ranks that run it.
    pub fn new(program: impl Into<OsString>, ranks: u32) -> Self {
        let (arguments, environment, directory) = (Vec::new(), Vec::new(), None);
        Self { program: program.into(), arguments, ranks, environment, directory }
    }
}

/// A host, and how many ranks it takes before the next one has its turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Host {
    /// Its name for ssh.
    pub name: String,
    /// At least 1.
    pub ranks: u32,
}

impl Job {
    /// A job of one program on this node. All other fields have defaults, and can be changed.
    pub fn new(program: impl Into<OsString>, ranks: u32) -> Self {
        Self {
            programs: vec![Program::new(program, ranks)],
            environment: Vec::new(),
            prefix: false,
            output_directory: None,
            output_is_closed: false,
            hosts: Vec::new(),
            bind: Bind::None,
            report_bindings: false,
            grace: ESCALATION_DELAY,
            kill_after: Some(KILL_AFTER_DEFAULT),
            timeout: None,
            host_timeout: HOST_TIMEOUT_DEFAULT,
            ssh: "ssh".into(),
            agent: OsString::new(),
        }
    }

    /// How many ranks all programs have together.
    pub fn ranks(&self) -> u32 {
        self.programs.iter().fold(0, |sum, program| sum.saturating_add(program.ranks))
    }

    /// How many ranks each host gets. Hosts get blocks of consecutive ranks; when all hosts are full, each in turn
    /// gets more. The job's first ranks are on the first host.
    pub(crate) fn layout(&self) -> Result<Vec<u32>, LaunchError> {
        let ranks = self.ranks();
        if ranks > RANKS_MAX
            || self.programs.is_empty()
            || self.programs.iter().any(|program| program.ranks == 0)
        {
            return Err(LaunchError::InvalidRankCount { ranks, max: RANKS_MAX });
        }
        if self.hosts.is_empty() {
            return Ok(vec![ranks]);
        }
        let mut left = ranks;
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

    /// The part of the job that runs on one node.
    pub(crate) fn node_share(&self, first: u32, count: u32) -> NodeShare {
        NodeShare {
            programs: self.programs.clone(),
            environment: self.environment.clone(),
            directory: None,
            output_directory: self.output_directory.clone(),
            first,
            count,
            size: self.ranks(),
            prefix: self.prefix,
            bind: self.bind,
            report_bindings: self.report_bindings,
        }
    }
}

impl Host {
    /// Reads `NAME` or `NAME:RANKS`.
    pub fn parse(text: &str) -> Result<Self, LaunchError> {
        let wrong = || LaunchError::InvalidHost { text: text.to_owned() };
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

    /// Whether the name is one of this node's, so that it needs no ssh: `localhost` and its address, and the node's own
    /// name, with its domain or without.
    pub fn is_here(&self) -> bool {
        let name = rustix::system::uname();
        let own = name.nodename().to_string_lossy();
        let short = own.split('.').next().unwrap_or_default();
        ["localhost", "127.0.0.1"].contains(&self.name.as_str())
            || !short.is_empty() && [&own, short].contains(&self.name.as_str())
    }
}

/// The ranks of a job that are on one node.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct NodeShare {
    /// Of the whole job.
    pub(crate) programs: Vec<Program>,
    pub(crate) environment: Vec<(OsString, OsString)>,
    /// The launcher's directory, in which ranks on another host start.
    pub(crate) directory: Option<PathBuf>,
    pub(crate) output_directory: Option<PathBuf>,
    /// The first rank, and how many.
    pub(crate) first: u32,
    pub(crate) count: u32,
    /// Of the whole job.
    pub(crate) size: u32,
    pub(crate) prefix: bool,
    pub(crate) bind: Bind,
    pub(crate) report_bindings: bool,
}

impl NodeShare {
    /// The program of each of these ranks, by its number in the job.
    pub(crate) fn programs_of_ranks(&self) -> impl Iterator<Item = usize> {
        let all =
            (0..).zip(&self.programs).flat_map(|(index, program)| (0..program.ranks).map(move |_| index));
        all.skip(self.first as usize).take(self.count as usize)
    }
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
        let mut job = Job::new("true", u32::MAX);
        job.programs.push(Program::new("false", u32::MAX));
        assert!(job.layout().is_err());
    }

    #[test]
    fn a_share_knows_the_programs_of_its_ranks() {
        let mut job = Job::new("a", 2);
        job.programs.extend([Program::new("b", 1), Program::new("c", 3)]);
        assert_eq!(job.ranks(), 6);
        let of = |first, count| job.node_share(first, count).programs_of_ranks().collect::<Vec<_>>();
        assert_eq!((of(0, 6), of(1, 3), of(5, 1)), (vec![0, 0, 1, 2, 2, 2], vec![0, 1, 2], vec![2]));
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
