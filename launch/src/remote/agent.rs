//! The agent on another host: starts the ranks that a launcher wants there, and ends them when the launcher is gone.

use super::frame::{AgentCommand, AgentEvent, HELLO, decode, encode};
use crate::error::LaunchError;
use crate::flow::Inbox;
use crate::job::{ESCALATION_DELAY, NodeShare};
use crate::local_ranks::{KILL_TIMEOUT, LocalRanks, REAP_INTERVAL, RankEvent, Stdin, adopt};
use crate::poll::{Interest, Poll, Token};
use crate::signals::notice_children;
use crate::sink::Sink;
use rustix::process::Signal;
use std::io::{Stdin as Input, Stdout};
use std::time::{Duration, Instant};

/// Executes the commands that a launcher on another host sends by standard input, until the ranks have ended, or the
/// launcher is gone. For the command that [`Job::agent`](crate::Job::agent) names; like [`run`](crate::run), it needs
/// a process of its own.
pub fn agent() -> Result<(), LaunchError> {
    notice_children()?;
    adopt();
    Agent::new()?.run().map_err(LaunchError::system("wait for the launcher"))
}

struct Agent {
    poll: Poll,
    local_ranks: LocalRanks,
    input: Input,
    inbox: Inbox,
    output: Sink<Stdout>,
    started_at: Instant,
    ranks_started: bool,
    /// Bytes of standard input that have arrived, and have not been reported to the launcher as taken by rank 0.
    stdin_backlog: usize,
    /// Whether the launcher has paused the output.
    output_paused: bool,
    /// When the launcher was found to be gone, and the ranks were sent SIGTERM.
    orphaned_since: Option<Duration>,
}

impl Agent {
    fn new() -> Result<Self, LaunchError> {
        let poll = Poll::new().map_err(LaunchError::system("make a poll"))?;
        let input = std::io::stdin();
        poll.add(&input, Token::Input, Interest::Read)
            .map_err(LaunchError::system("watch standard input"))?;
        let mut output = Sink::new(std::io::stdout(), 0);
        output.push(format!("{HELLO}\n").as_bytes());
        // A closed pipe is noticed when the launcher's commands end.
        let _ = output.flush(&poll);
        Ok(Self {
            poll,
            local_ranks: LocalRanks::new(),
            input,
            inbox: Inbox::default(),
            output,
            started_at: Instant::now(),
            ranks_started: false,
            stdin_backlog: 0,
            output_paused: false,
            orphaned_since: None,
        })
    }

    fn run(mut self) -> std::io::Result<()> {
        loop {
            let pause = if self.ranks_started && self.local_ranks.all_ended() {
                Some(REAP_INTERVAL)
            } else {
                self.orphaned_since.map(|_| ESCALATION_DELAY / 4)
            };
            let pause = pause.into_iter().chain(self.local_ranks.recheck_after()).min();
            let mut events = Vec::new();
            for token in self.poll.wait(pause)? {
                match token {
                    Token::Input => self.read_commands(),
                    Token::Sink(_) => {}
                    _ => self.local_ranks.handle_ready(token, &self.poll, &mut events),
                }
            }
            self.local_ranks.check_ends(&self.poll, &mut events);
            events.into_iter().for_each(|event| self.forward(event));
            let left = self.local_ranks.stdin_backlog().unwrap_or(0);
            if left < self.stdin_backlog {
                self.send(&AgentEvent::StdinTaken { bytes: self.stdin_backlog - left }, b"");
                self.stdin_backlog = left;
            }
            let is_open = self.output.flush(&self.poll).is_ok();
            let full = self.output.is_full();
            // A pause by a launcher that is gone no longer counts.
            self.local_ranks
                .pause_output(full || self.output_paused && self.orphaned_since.is_none(), &self.poll);
            self.local_ranks.pause_lines(full, &self.poll);
            let now = self.started_at.elapsed();
            if !is_open {
                self.orphan(now);
            }
            if self.orphaned_since.is_some_and(|since| now >= since + ESCALATION_DELAY) {
                self.local_ranks.signal(Signal::KILL.as_raw());
            }
            if self.orphaned_since.is_some_and(|since| now >= since + ESCALATION_DELAY + KILL_TIMEOUT) {
                // The launcher, to which the events would be sent, is gone.
                self.local_ranks.abandon(&self.poll, &mut Vec::new());
            }
            if self.is_over(now) {
                for process in self.local_ranks.take_left() {
                    let host = rustix::system::uname();
                    let host = host.nodename().to_string_lossy();
                    let text = format!("{process} of the job could not be ended, and is left on {host}\n");
                    self.send(&AgentEvent::Output { stream: 1 }, text.as_bytes());
                }
                self.send(&AgentEvent::Done, b"");
                while self.output.flush(&self.poll).is_ok()
                    && !self.output.is_empty()
                    && self.orphaned_since.is_none()
                {
                    self.poll.wait(Some(REAP_INTERVAL))?;
                }
                return Ok(());
            }
        }
    }

    fn forward(&mut self, event: RankEvent) {
        match event {
            RankEvent::Line { rank, line } => self.send(&AgentEvent::Line { rank }, &line),
            RankEvent::Output { stream, bytes } => self.send(&AgentEvent::Output { stream }, &bytes),
            RankEvent::Disconnected { rank, program } => {
                self.send(&AgentEvent::Disconnected { rank, program }, b"");
            }
            RankEvent::Ended { rank, ending } => self.send(&AgentEvent::Ended { rank, ending }, b""),
        }
    }

    /// Whether the ranks and their descendants have ended, and all output has been passed on.
    fn is_over(&mut self, now: Duration) -> bool {
        if !self.local_ranks.all_ended() || !(self.ranks_started || self.orphaned_since.is_some()) {
            return false;
        }
        self.local_ranks.is_over(now, self.orphaned_since.is_some())
    }

    fn read_commands(&mut self) {
        let open = self.inbox.fill(&self.input);
        loop {
            match decode(&mut self.inbox) {
                Ok(Some((command, payload))) => self.execute(command, &payload),
                Ok(None) if open => return,
                // The launcher is gone, or does not keep to the protocol.
                Ok(None) | Err(_) => break,
            }
        }
        self.poll.remove(&self.input);
        self.orphan(self.started_at.elapsed());
    }

    fn orphan(&mut self, now: Duration) {
        if self.orphaned_since.is_none() {
            self.orphaned_since = Some(now);
            self.local_ranks.signal(Signal::TERM.as_raw());
        }
    }

    fn execute(&mut self, command: AgentCommand, payload: &[u8]) {
        match command {
            AgentCommand::Start(share) if !self.ranks_started => {
                self.ranks_started = true;
                if let Err(error) = self.start(&share) {
                    self.send(
                        &AgentEvent::Failed { message: error.to_string(), status: error.status() },
                        b"",
                    );
                    self.local_ranks.signal(Signal::KILL.as_raw());
                }
            }
            AgentCommand::Start(_) => {}
            AgentCommand::Line { rank } => self.local_ranks.send(rank, payload, &self.poll),
            AgentCommand::Signal(number) => self.local_ranks.signal(number),
            AgentCommand::Input => {
                self.stdin_backlog += payload.len();
                self.local_ranks.write_stdin(payload, &self.poll);
            }
            AgentCommand::InputOver => self.local_ranks.close_stdin(&self.poll),
            AgentCommand::Pause(paused) => self.output_paused = paused,
        }
    }

    fn start(&mut self, share: &NodeShare) -> Result<(), LaunchError> {
        if let Some(directory) = &share.directory {
            std::env::set_current_dir(directory)
                .map_err(LaunchError::system("change to the directory that the job was started in"))?;
        }
        let mut out = Vec::new();
        let started =
            self.local_ranks.start(share, (Stdin::Piped, false), &self.poll, &mut |_| Ok(()), &mut out);
        out.into_iter().for_each(|event| self.forward(event));
        started
    }

    fn send(&mut self, event: &AgentEvent, payload: &[u8]) {
        self.output.push(&encode(event, payload));
    }
}
