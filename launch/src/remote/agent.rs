//! The other host's side: starts the ranks that a launcher wants there, and ends them when it is gone.

use super::frame::{HELLO, Notice, Order, decode, encode};
use crate::error::LaunchError;
use crate::flow::Inbox;
use crate::job::{INSISTENCE, Share};
use crate::local_ranks::{LocalRanks, PATIENCE, PAUSE, RankEvent, Stdin, adopt};
use crate::poll::{Interest, Poll, Token};
use crate::signals::notice_children;
use crate::sink::Sink;
use rustix::process::Signal;
use std::io::{Stdin as Input, Stdout};
use std::time::{Duration, Instant};

/// Carries out what a launcher on another host says on standard input, until its ranks have ended, or it
/// is gone. For the command that [`Job::agent`](crate::Job::agent) names; like [`run`](crate::run), it
/// wants a process of its own.
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
    begun: Instant,
    started: bool,
    /// Standard input of which the launcher does not know yet that rank 0 has taken it.
    unfed: usize,
    /// Whether the launcher takes no output.
    paused: bool,
    /// When the launcher was found to be gone, and the ranks were asked to end.
    orphaned: Option<Duration>,
}

impl Agent {
    fn new() -> Result<Self, LaunchError> {
        let poll = Poll::new().map_err(LaunchError::system("make a poll"))?;
        let input = std::io::stdin();
        poll.add(&input, Token::Input, Interest::Read)
            .map_err(LaunchError::system("watch standard input"))?;
        let mut output = Sink::new(std::io::stdout(), 0);
        output.push(format!("{HELLO}\n").as_bytes());
        // One that is closed is noticed when the launcher's orders end.
        let _ = output.flush(&poll);
        Ok(Self {
            poll,
            local_ranks: LocalRanks::new(),
            input,
            inbox: Inbox::default(),
            output,
            begun: Instant::now(),
            started: false,
            unfed: 0,
            paused: false,
            orphaned: None,
        })
    }

    fn run(mut self) -> std::io::Result<()> {
        loop {
            let pause = if self.started && self.local_ranks.all_ended() {
                Some(PAUSE)
            } else {
                self.orphaned.map(|_| INSISTENCE / 4)
            };
            let mut happened = Vec::new();
            for token in self.poll.wait(pause)? {
                match token {
                    Token::Input => self.listen(),
                    Token::Sink(_) => {}
                    _ => self.local_ranks.ready(token, &self.poll, &mut happened),
                }
            }
            happened.into_iter().for_each(|event| self.pass_on(event));
            let left = self.local_ranks.backlog().unwrap_or(0);
            if left < self.unfed {
                self.say(&Notice::Fed { bytes: self.unfed - left }, b"");
                self.unfed = left;
            }
            let open = self.output.flush(&self.poll).is_ok();
            let full = self.output.is_full();
            // Nobody is spared for a launcher that is gone.
            self.local_ranks.pause(full || self.paused && self.orphaned.is_none(), &self.poll);
            self.local_ranks.hold(full, &self.poll);
            let now = self.begun.elapsed();
            if !open {
                self.orphan(now);
            }
            if self.orphaned.is_some_and(|since| now >= since + INSISTENCE) {
                self.local_ranks.signal(Signal::KILL.as_raw());
            }
            if self.orphaned.is_some_and(|since| now >= since + INSISTENCE + PATIENCE) {
                // Nobody hears of it.
                self.local_ranks.abandon(&self.poll, &mut Vec::new());
            }
            if self.is_over(now) {
                for process in self.local_ranks.take_left() {
                    let host = rustix::system::uname();
                    let host = host.nodename().to_string_lossy();
                    let text = format!("{process} of the job could not be ended, and is left on {host}\n");
                    self.say(&Notice::Output { stream: 1 }, text.as_bytes());
                }
                self.say(&Notice::Done, b"");
                while self.output.flush(&self.poll).is_ok()
                    && !self.output.is_empty()
                    && self.orphaned.is_none()
                {
                    self.poll.wait(Some(PAUSE))?;
                }
                return Ok(());
            }
        }
    }

    fn pass_on(&mut self, event: RankEvent) {
        match event {
            RankEvent::Line { rank, line } => self.say(&Notice::Line { rank }, &line),
            RankEvent::Output { stream, bytes } => self.say(&Notice::Output { stream }, &bytes),
            RankEvent::Ended { rank, ending } => self.say(&Notice::Ended { rank, ending }, b""),
        }
    }

    /// Whether the ranks have ended, what they have left behind too, and all has been passed on.
    fn is_over(&mut self, now: Duration) -> bool {
        if !self.local_ranks.all_ended() || !(self.started || self.orphaned.is_some()) {
            return false;
        }
        self.local_ranks.is_over(now, self.orphaned.is_some())
    }

    fn listen(&mut self) {
        let open = self.inbox.fill(&self.input);
        loop {
            match decode(&mut self.inbox) {
                Ok(Some((order, payload))) => self.obey(order, &payload),
                Ok(None) if open => return,
                // The launcher is gone, or is none.
                Ok(None) | Err(_) => break,
            }
        }
        self.poll.remove(&self.input);
        self.orphan(self.begun.elapsed());
    }

    fn orphan(&mut self, now: Duration) {
        if self.orphaned.is_none() {
            self.orphaned = Some(now);
            self.local_ranks.signal(Signal::TERM.as_raw());
        }
    }

    fn obey(&mut self, order: Order, payload: &[u8]) {
        match order {
            Order::Start(share) if !self.started => {
                self.started = true;
                if let Err(error) = self.start(&share) {
                    self.say(&Notice::Failed { message: error.to_string(), status: error.status() }, b"");
                    self.local_ranks.signal(Signal::KILL.as_raw());
                }
            }
            Order::Start(_) => {}
            Order::Line { rank } => self.local_ranks.send(rank, payload, &self.poll),
            Order::Signal(number) => self.local_ranks.signal(number),
            Order::Input => {
                self.unfed += payload.len();
                self.local_ranks.feed(payload, &self.poll);
            }
            Order::InputOver => self.local_ranks.feed_over(&self.poll),
            Order::Pause(paused) => self.paused = paused,
        }
    }

    fn start(&mut self, share: &Share) -> Result<(), LaunchError> {
        if let Some(directory) = &share.directory {
            std::env::set_current_dir(directory)
                .map_err(LaunchError::system("change to the directory that the job was started in"))?;
        }
        let mut out = Vec::new();
        let started =
            self.local_ranks.start(share, (Stdin::Fed, false), &self.poll, &mut |_| Ok(()), &mut out);
        out.into_iter().for_each(|event| self.pass_on(event));
        started
    }

    fn say(&mut self, notice: &Notice, payload: &[u8]) {
        self.output.push(&encode(notice, payload));
    }
}
