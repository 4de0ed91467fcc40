//! The launcher's side: a host, the ssh that leads there, and the ranks that are behind it.

use super::frame::{AGENT, HELLO, Notice, Order, decode, encode};
use crate::ending::Ending;
use crate::error::LaunchError;
use crate::flow::{Inbox, Outbox, nonblocking};
use crate::job::{Job, Share};
use crate::local_ranks::RankEvent;
use crate::poll::{Interest, Poll, Token};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

/// What a login may say before the agent does.
const GREETING_MAX: usize = 1 << 20;

/// A host, and its ranks.
#[derive(Debug)]
pub(crate) struct Link {
    host: String,
    index: u32,
    first: u32,
    ended: Vec<bool>,
    /// To and from ssh; `None` when that is over.
    pipes: Option<(OwnedFd, OwnedFd)>,
    inbox: Inbox,
    outbox: Outbox,
    /// Standard input that rank 0 has not taken.
    unfed: usize,
    greeted: bool,
    paused: bool,
    /// Whether its agent has been told to take no output.
    quiet: bool,
    /// Why the ranks could not be started, and the status of that.
    failure: Option<(String, Option<u8>)>,
}

impl Link {
    /// Starts the ranks of a share on a host.
    pub(crate) fn start(
        job: &Job,
        host: &str,
        index: u32,
        share: &Share,
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
        let mut link = Self {
            host: host.to_owned(),
            index,
            first: share.first,
            ended: vec![false; share.count as usize],
            pipes,
            inbox: Inbox::default(),
            outbox: Outbox::default(),
            unfed: 0,
            greeted: false,
            paused: false,
            quiet: false,
            failure: None,
        };
        let watch = || -> std::io::Result<()> {
            if let Some((to, from)) = &link.pipes {
                nonblocking(to)?;
                nonblocking(from)?;
                poll.add(from, Token::LinkIn(index), Interest::Read)?;
            }
            Ok(())
        };
        watch().map_err(LaunchError::system("watch a connection to a host"))?;
        let directory = std::env::current_dir().ok();
        link.send(&Order::Start(Share { directory, ..share.clone() }), b"", poll);
        Ok(link)
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
        Some(LaunchError::Host { host: self.host.clone(), message, status })
    }

    /// How many bytes have not been taken yet.
    pub(crate) fn backlog(&self) -> usize {
        self.outbox.len()
    }

    /// How much standard input rank 0 has not taken yet, wherever it is.
    pub(crate) fn unfed(&self) -> usize {
        self.unfed
    }

    /// Says something to the agent. One that is gone hears nothing.
    pub(crate) fn send(&mut self, order: &Order, payload: &[u8], poll: &Poll) {
        if self.pipes.is_some() {
            if *order == Order::Input {
                self.unfed += payload.len();
            }
            let idle = self.outbox.is_empty();
            self.outbox.push(&encode(order, payload));
            if idle {
                self.flush(poll);
            }
        }
    }

    /// Lets the ranks wait when they write, or no longer; of all else the host tells.
    pub(crate) fn quiet(&mut self, quiet: bool, poll: &Poll) {
        if std::mem::replace(&mut self.quiet, quiet) != quiet {
            self.send(&Order::Pause(quiet), b"", poll);
        }
    }

    /// Reads nothing that the host says; or reads again.
    pub(crate) fn pause(&mut self, paused: bool, poll: &Poll) {
        if std::mem::replace(&mut self.paused, paused) == paused {
            return;
        }
        match &self.pipes {
            Some((_, from)) if paused => poll.remove(from),
            Some((_, from)) => drop(poll.add(from, Token::LinkIn(self.index), Interest::Read)),
            None => {}
        }
    }

    /// Something is ready. Appends what has happened.
    pub(crate) fn ready(&mut self, token: Token, poll: &Poll, out: &mut Vec<RankEvent>) {
        match token {
            Token::LinkIn(_) => self.receive(poll, out),
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
    pub(crate) fn condemn(&mut self, why: &str, poll: &Poll, out: &mut Vec<RankEvent>) {
        let text = format!("host {} is given up: {why}\n", self.host);
        out.push(RankEvent::Output { stream: 1, bytes: text.into_bytes() });
        self.give_up(poll, out);
    }

    fn receive(&mut self, poll: &Poll, out: &mut Vec<RankEvent>) {
        let Some((_, from)) = &self.pipes else { return };
        let open = self.inbox.fill(from);
        while !self.greeted {
            match self.inbox.line() {
                Some(line) if line == HELLO.as_bytes() => self.greeted = true,
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
                Ok(Some((Notice::Done, _))) => return self.give_up(poll, out),
                Err(error) => return self.condemn(&error.to_string(), poll, out),
                Ok(Some((notice, payload))) => self.take(notice, payload, out),
                Ok(None) => break,
            }
        }
        if !open {
            self.give_up(poll, out);
        }
    }

    fn take(&mut self, notice: Notice, payload: Vec<u8>, out: &mut Vec<RankEvent>) {
        match notice {
            // Of another's ranks it cannot speak.
            Notice::Line { rank } if self.has(rank) => out.push(RankEvent::Line { rank, line: payload }),
            Notice::Ended { rank, ending } if self.has(rank) && self.ends(rank) => {
                out.push(RankEvent::Ended { rank, ending });
            }
            Notice::Output { stream } if stream < 2 => {
                out.push(RankEvent::Output { stream, bytes: payload });
            }
            Notice::Fed { bytes } => self.unfed = self.unfed.saturating_sub(bytes),
            // None of them is a success.
            Notice::Failed { message, status } => {
                self.failure = Some((message, status.filter(|status| *status > 0)));
            }
            _ => {}
        }
    }

    /// A rank of this host has ended. Whether that is new.
    fn ends(&mut self, rank: u32) -> bool {
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
            let _ = poll.add(to, Token::LinkOut(self.index), Interest::Write);
        }
    }
}

/// What is wrong with a host that greets with this version.
fn other_version(theirs: &[u8]) -> String {
    let theirs = theirs[..theirs.len().min(40)].escape_ascii();
    let ours = HELLO.trim_start_matches(AGENT);
    format!("its carrousel is version {theirs}, and this one is {ours}: install the same on all hosts")
}
