//! The launcher's side: a host, the ssh that leads there, and the ranks that are behind it.

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

/// What a login may say before the agent does.
const GREETING_MAX: usize = 1 << 20;

/// A host, and its ranks.
#[derive(Debug)]
pub(crate) struct AgentConnection {
    host: String,
    index: u32,
    first: u32,
    ended: Vec<bool>,
    /// To and from ssh; `None` when that is over.
    pipes: Option<(OwnedFd, OwnedFd)>,
    inbox: Inbox,
    outbox: Outbox,
    /// Standard input that rank 0 has not taken.
    stdin_backlog: usize,
    has_greeted: bool,
    paused: bool,
    /// Whether its agent has been told to take no output.
    output_paused: bool,
    /// Why the ranks could not be started, and the status of that.
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
        // A question for a password would have nobody to answer it; a dead network should be noticed.
        // A connection that the user shares among logins would be ended with what the ranks have left.
        command.args(["-oBatchMode=yes", "-oServerAliveInterval=5", "-oControlPath=none"]);
        command.args(["-T", "--", host]).arg(&job.agent);
        // Keys at the terminal are for the ranks, which get them from us.
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

    /// Whether this rank is there.
    pub(crate) fn has(&self, rank: u32) -> bool {
        rank.checked_sub(self.first).is_some_and(|index| (index as usize) < self.ended.len())
    }

    /// Whether nothing more will come.
    pub(crate) fn is_over(&self) -> bool {
        self.pipes.is_none()
    }

    /// Why its ranks could not be started.
    pub(crate) fn failure(&self) -> Option<LaunchError> {
        let (message, status) = self.failure.clone()?;
        Some(LaunchError::HostFailed { host: self.host.clone(), message, status })
    }

    /// How many bytes have not been taken yet.
    pub(crate) fn backlog(&self) -> usize {
        self.outbox.len()
    }

    /// How much standard input rank 0 has not taken yet, wherever it is.
    pub(crate) fn stdin_backlog(&self) -> usize {
        self.stdin_backlog
    }

    /// Says something to the agent. One that is gone hears nothing.
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

    /// Lets the ranks wait when they write, or no longer; of all else the host tells.
    pub(crate) fn pause_output(&mut self, paused: bool, poll: &Poll) {
        if std::mem::replace(&mut self.output_paused, paused) != paused {
            self.send(&AgentCommand::Pause(paused), b"", poll);
        }
    }

    /// Reads nothing that the host says; or reads again.
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

    /// Something is ready. Appends what has happened.
    pub(crate) fn ready(&mut self, token: Token, poll: &Poll, out: &mut Vec<RankEvent>) {
        match token {
            Token::AgentIn(_) => self.receive(poll, out),
            _ => self.flush(poll),
        }
    }

    /// The host has not answered for too long, or has said enough.
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

    /// Gives it up, and says why.
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
            // Of another's ranks it cannot speak.
            AgentEvent::Line { rank } if self.has(rank) => out.push(RankEvent::Line { rank, line: payload }),
            AgentEvent::Ended { rank, ending } if self.has(rank) && self.set_ended(rank) => {
                out.push(RankEvent::Ended { rank, ending });
            }
            AgentEvent::Output { stream } if stream < 2 => {
                out.push(RankEvent::Output { stream, bytes: payload });
            }
            AgentEvent::StdinTaken { bytes } => self.stdin_backlog = self.stdin_backlog.saturating_sub(bytes),
            // None of them is a success.
            AgentEvent::Failed { message, status } => {
                self.failure = Some((message, status.filter(|status| *status > 0)));
            }
            _ => {}
        }
    }

    /// A rank of this host has ended. Whether that is new.
    fn set_ended(&mut self, rank: u32) -> bool {
        !std::mem::replace(&mut self.ended[(rank - self.first) as usize], true)
    }

    fn flush(&mut self, poll: &Poll) {
        let Some((to, _)) = &self.pipes else { return };
        if self.outbox.flush(to, usize::MAX, || true).is_err() {
            // What comes from there says more; this direction is over.
            self.outbox.clear();
        }
        poll.remove(to);
        if !self.outbox.is_empty() {
            let _ = poll.add(to, Token::AgentOut(self.index), Interest::Write);
        }
    }
}

/// What is wrong with a host that greets with this version.
fn other_version(theirs: &[u8]) -> String {
    let theirs = theirs[..theirs.len().min(40)].escape_ascii();
    let ours = HELLO.trim_start_matches(AGENT);
    format!("its carrousel is version {theirs}, and this one is {ours}: install the same on all hosts")
}
