//! The launcher's connection to an agent: a host, the ssh that leads there, and the ranks on that host.

use super::frame::{AGENT, AgentCommand, AgentEvent, HELLO, decode, encode};
use crate::ending::Ending;
use crate::error::LaunchError;
use crate::flow::{Inbox, Outbox, nonblocking};
use crate::job::{Job, NodeShare};
use crate::local_ranks::RankEvent;
use crate::poll::{Interest, Poll, Token};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Duration;

/// The status of a job whose host does not answer, as when it is lost later.
const HOST_LOST: u8 = 255;

/// Bytes that a login may print before the agent's first line.
const GREETING_MAX: usize = 1 << 20;

/// The connection to the agent on a host, and the ranks there.
#[derive(Debug)]
pub(crate) struct AgentConnection {
    host: String,
    index: u32,
    first: u32,
    ended: Vec<bool>,
    /// The pipes to and from ssh; `None` when the connection has ended.
    pipes: Option<(OwnedFd, OwnedFd)>,
    inbox: Inbox,
    outbox: Outbox,
    /// Bytes of standard input that rank 0 has not taken.
    stdin_backlog: usize,
    has_greeted: bool,
    paused: bool,
    /// Whether the agent has been told to read no output of its ranks.
    output_paused: bool,
    /// Why the ranks could not be started, and the exit status for that error.
    failure: Option<(String, Option<u8>)>,
}

impl AgentConnection {
    /// Starts the ranks of a share on a host.
    pub(crate) fn start(
        job: &Job,
        host: &str,
        index: u32,
        share: &NodeShare,
        poll: &Poll,
    ) -> Result<Self, LaunchError> {
        let mut command = Command::new(&job.ssh);
        // Nobody could answer a question for a password; a dead network should be noticed.
        // A connection that the user shares among logins would be ended with the descendants of the ranks.
        command.args(["-oBatchMode=yes", "-oServerAliveInterval=5", "-oControlPath=none"]);
        command.args(["-T", "--", host]).arg(&job.agent);
        // Signals of keys at the terminal are for the ranks, which get them from the launcher.
        command.process_group(0).stdin(Stdio::piped()).stdout(Stdio::piped());
        let program = || job.ssh.to_string_lossy().into_owned();
        let mut child =
            command.spawn().map_err(|source| LaunchError::Spawn { program: program(), source })?;
        let pipes = child.stdin.take().map(OwnedFd::from).zip(child.stdout.take().map(OwnedFd::from));
        let mut connection = Self {
            host: host.to_owned(),
            index,
            first: share.first,
            ended: vec![false; share.count as usize],
            pipes,
            inbox: Inbox::default(),
            outbox: Outbox::default(),
            stdin_backlog: 0,
            has_greeted: false,
            paused: false,
            output_paused: false,
            failure: None,
        };
        let watch = || -> std::io::Result<()> {
            if let Some((to, from)) = &connection.pipes {
                nonblocking(to)?;
                nonblocking(from)?;
                poll.add(from, Token::AgentIn(index), Interest::Read)?;
            }
            Ok(())
        };
        watch().map_err(LaunchError::system("watch a connection to a host"))?;
        let directory = std::env::current_dir().ok();
        connection.send(&AgentCommand::Start(NodeShare { directory, ..share.clone() }), b"", poll);
        Ok(connection)
    }

    /// Whether this rank is on the host.
    pub(crate) fn has(&self, rank: u32) -> bool {
        rank.checked_sub(self.first).is_some_and(|index| (index as usize) < self.ended.len())
    }

    /// Whether the connection has ended.
    pub(crate) fn is_over(&self) -> bool {
        self.pipes.is_none()
    }

    /// Whether the agent has not answered yet.
    pub(crate) fn is_awaited(&self) -> bool {
        self.pipes.is_some() && !self.has_greeted
    }

    /// Gives up a host that has not answered for so long.
    pub(crate) fn give_up_unanswered(&mut self, time: Duration, poll: &Poll, out: &mut Vec<RankEvent>) {
        let message = format!(
            "it has not answered within {time:?}: try `ssh {} true`, or give it longer (--host-timeout)",
            self.host
        );
        self.failure = Some((message, Some(HOST_LOST)));
        self.give_up(poll, out);
    }

    /// Why the host's ranks could not be started.
    pub(crate) fn failure(&self) -> Option<LaunchError> {
        let (message, status) = self.failure.clone()?;
        Some(LaunchError::HostFailed { host: self.host.clone(), message, status })
    }

    /// How many bytes of frames ssh has not taken yet.
    pub(crate) fn backlog(&self) -> usize {
        self.outbox.len()
    }

    /// How many bytes of standard input rank 0 has not taken yet, wherever they are on the way.
    pub(crate) fn stdin_backlog(&self) -> usize {
        self.stdin_backlog
    }

    /// Sends a command to the agent. Does nothing if the connection has ended.
    pub(crate) fn send(&mut self, command: &AgentCommand, payload: &[u8], poll: &Poll) {
        if self.pipes.is_some() {
            if *command == AgentCommand::Input {
                self.stdin_backlog += payload.len();
            }
            let idle = self.outbox.is_empty();
            self.outbox.push(&encode(command, payload));
            if idle {
                self.flush(poll);
            }
        }
    }

    /// Pauses the output of the host's ranks, or resumes it; all other events still come.
    pub(crate) fn pause_output(&mut self, paused: bool, poll: &Poll) {
        if std::mem::replace(&mut self.output_paused, paused) != paused {
            self.send(&AgentCommand::Pause(paused), b"", poll);
        }
    }

    /// Stops reading from the host; or resumes.
    pub(crate) fn pause(&mut self, paused: bool, poll: &Poll) {
        if std::mem::replace(&mut self.paused, paused) == paused {
            return;
        }
        match &self.pipes {
            Some((_, from)) if paused => poll.remove(from),
            Some((_, from)) => drop(poll.add(from, Token::AgentIn(self.index), Interest::Read)),
            None => {}
        }
    }

    /// Handles a pipe that is ready. Appends the events that follow.
    pub(crate) fn ready(&mut self, token: Token, poll: &Poll, out: &mut Vec<RankEvent>) {
        match token {
            Token::AgentIn(_) => self.receive(poll, out),
            _ => self.flush(poll),
        }
    }

    /// Ends the connection. Ranks that had not ended are lost.
    pub(crate) fn give_up(&mut self, poll: &Poll, out: &mut Vec<RankEvent>) {
        let Some((to, from)) = self.pipes.take() else { return };
        poll.remove(&to);
        poll.remove(&from);
        for (index, ended) in self.ended.iter_mut().enumerate() {
            if !std::mem::replace(ended, true) {
                let ending = Ending::HostLost { host: self.host.clone() };
                out.push(RankEvent::Ended { rank: self.first + index as u32, ending });
            }
        }
    }

    /// Gives up the host, and reports why on standard error.
    pub(crate) fn give_up_because(&mut self, why: &str, poll: &Poll, out: &mut Vec<RankEvent>) {
        let text = format!("host {} is given up: {why}\n", self.host);
        out.push(RankEvent::Output { stream: 1, bytes: text.into_bytes() });
        self.give_up(poll, out);
    }

    fn receive(&mut self, poll: &Poll, out: &mut Vec<RankEvent>) {
        let Some((_, from)) = &self.pipes else { return };
        let open = self.inbox.fill(from);
        while !self.has_greeted {
            match self.inbox.line() {
                Some(line) if line == HELLO.as_bytes() => self.has_greeted = true,
                Some(line) => {
                    if let Some(theirs) = line.strip_prefix(AGENT.as_bytes()) {
                        self.failure = Some((other_version(theirs), None));
                        return self.give_up(poll, out);
                    }
                }
                None if open && self.inbox.len() < GREETING_MAX => return,
                None => return self.give_up(poll, out),
            }
        }
        loop {
            match decode(&mut self.inbox) {
                Ok(Some((AgentEvent::Done, _))) => return self.give_up(poll, out),
                Err(error) => return self.give_up_because(&error.to_string(), poll, out),
                Ok(Some((event, payload))) => self.handle_event(event, payload, out),
                Ok(None) => break,
            }
        }
        if !open {
            self.give_up(poll, out);
        }
    }

    fn handle_event(&mut self, event: AgentEvent, payload: Vec<u8>, out: &mut Vec<RankEvent>) {
        match event {
            // Events of ranks on other hosts are ignored.
            AgentEvent::Line { rank } if self.has(rank) => out.push(RankEvent::Line { rank, line: payload }),
            AgentEvent::Disconnected { rank, program } if self.has(rank) => {
                out.push(RankEvent::Disconnected { rank, program });
            }
            AgentEvent::Ended { rank, ending } if self.has(rank) && self.set_ended(rank) => {
                out.push(RankEvent::Ended { rank, ending });
            }
            AgentEvent::Output { stream } if stream < 2 => {
                out.push(RankEvent::Output { stream, bytes: payload });
            }
            AgentEvent::StdinTaken { bytes } => self.stdin_backlog = self.stdin_backlog.saturating_sub(bytes),
            // A failure to start never has status 0.
            AgentEvent::Failed { message, status } => {
                self.failure = Some((message, status.filter(|status| *status > 0)));
            }
            _ => {}
        }
    }

    /// A rank of this host has ended. Returns whether it had not before.
    fn set_ended(&mut self, rank: u32) -> bool {
        !std::mem::replace(&mut self.ended[(rank - self.first) as usize], true)
    }

    fn flush(&mut self, poll: &Poll) {
        let Some((to, _)) = &self.pipes else { return };
        if self.outbox.flush(to, usize::MAX, || true).is_err() {
            // The pipe from ssh says more; this direction has ended.
            self.outbox.clear();
        }
        poll.remove(to);
        if !self.outbox.is_empty() {
            let _ = poll.add(to, Token::AgentOut(self.index), Interest::Write);
        }
    }
}

/// The error of a host whose agent has another version.
fn other_version(theirs: &[u8]) -> String {
    let theirs = theirs[..theirs.len().min(40)].escape_ascii();
    let ours = HELLO.trim_start_matches(AGENT);
    format!("its carrousel is version {theirs}, and this one is {ours}: install the same on all hosts")
}
