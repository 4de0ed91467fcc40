//! Runs a job to its end: one loop over everything that can happen.

mod input;

use crate::ending::{Ending, StopReason};
use crate::error::{HOSTS, LaunchError};
use crate::failure_policy::{Decision, FailurePolicy, Times};
use crate::job::{ESCALATION_DELAY, Job};
use crate::limits::ensure_limits;
use crate::local_ranks::{KILL_TIMEOUT, LocalRanks, REAP_INTERVAL, RankEvent, Stdin, adopt};
use crate::poll::{Interest, Poll, Token};
use crate::remote::connection::AgentConnection;
use crate::remote::frame::AgentCommand;
use crate::server::{PmiEffect, PmiServer, lost};
use crate::signals::{Signals, is_end_request, notice_children, stop};
use crate::sink::Sink;
use input::{StdinRead, StdinReader};
use rustix::io::Errno;
use rustix::process::Signal;
use std::io::{IsTerminal, Stderr, Stdout};
use std::time::{Duration, Instant};

/// What the caller of [`run`] is told while the job runs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A rank has failed. The others have been told, and are ended after the grace period.
    Failed {
        /// Which.
        rank: u32,
        /// How.
        ending: &'a Ending,
        /// The user has sent the signal that it died of.
        expected: bool,
    },
    /// A rank has said something to its launcher, by [`Client::report`](crate::Client::report).
    Report {
        /// Which.
        rank: u32,
        /// What.
        json: &'a str,
    },
    /// Ranks have said something, and for [`SETTLED`], or to the end of the job, none has said more.
    ReportsOver,
    /// The launcher ends the job, although no rank has failed.
    Stopped {
        /// Why.
        stop: StopReason,
        /// The ranks that were still there.
        ranks: &'a [u32],
    },
    /// Processes that the ranks have left behind, or ranks themselves, cannot be ended.
    Left {
        /// Which, each as a person knows it: `process 123 (sleep)`, or `rank 3, process 124 (cat)`.
        processes: &'a [String],
    },
}

/// How long after the last report [`Event::ReportsOver`] comes: ranks that wait for each other find out
/// at about the same time that they do.
pub const SETTLED: Duration = Duration::from_secs(1);

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// What the launcher should exit with: 0, or the status of what ended the job.
    pub status: u8,
    /// The rank that failed first, and how.
    pub failure: Option<(u32, Ending)>,
    /// Why the launcher has ended the job, if no failure came before that.
    pub stop: Option<StopReason>,
}

/// Runs a job, and returns when all its processes are gone.
///
/// `watch` is told what happens; what it appends goes to standard error, whole, between the lines of the
/// ranks. To be called from the thread that is there longest, in a process that has no other children and
/// does nothing else meanwhile: signals are caught, all descendants adopted, and those that are left at
/// the end are ended.
pub fn run(job: &Job, watch: &mut dyn FnMut(Event<'_>, &mut Vec<u8>)) -> Result<Outcome, LaunchError> {
    let layout = job.layout()?;
    let mut launcher = Launcher::new(job, &layout)?;
    let done = launcher.start(job, &layout).and_then(|()| launcher.run(watch));
    if done.is_err() {
        launcher.kill_everything();
    }
    done?;
    // Nothing of a job that did not begin is its result.
    if let Some(failure) = launcher.agents.iter().find_map(AgentConnection::failure) {
        return Err(failure);
    }
    if let Some(error) = launcher.output_error {
        return Err(LaunchError::Output { source: error.into() });
    }
    let (failure, stop) = launcher.policy.into_outcome();
    // A result that is not whole is no success.
    let stop = stop.or(launcher.output_cut.filter(|_| failure.is_none()));
    let failed = failure.as_ref().map_or(0, |(_, ending)| ending.status());
    Ok(Outcome { status: stop.map_or(failed, StopReason::status), failure, stop })
}

struct Launcher {
    poll: Poll,
    signals: Signals,
    server: PmiServer,
    policy: FailurePolicy,
    local_ranks: LocalRanks,
    agents: Vec<AgentConnection>,
    input: Option<StdinReader>,
    output: Sink<Stdout>,
    errors: Sink<Stderr>,
    started_at: Instant,
    /// When everything was killed.
    killed_at: Option<Duration>,
    /// Since when hosts have said nothing, although nothing is left for them to do but to say that they are done.
    hosts_silent_since: Option<Duration>,
    /// When reports are over, if there are any.
    reports_settle_at: Option<Duration>,
    /// What has happened while the ranks were started.
    start_events: Vec<RankEvent>,
    /// The failures so far, for ranks that take part later.
    lost_lines: Vec<String>,
    /// A slow reader makes the ranks wait.
    output_full: bool,
    /// What ranks have written can be written nowhere.
    output_error: Option<Errno>,
    /// The user, or a timeout, has asked for the end: a reader that takes nothing does not prevent it.
    end_requested: Option<StopReason>,
    /// Why what ranks have written was not waited for.
    output_cut: Option<StopReason>,
    /// When nothing was left but to be read.
    ended_at: Option<Duration>,
}

/// How long a host may say nothing while it ends what its ranks have left: longer than that takes.
const HOST_SILENCE_MAX: Duration = KILL_TIMEOUT.saturating_add(ESCALATION_DELAY.saturating_mul(3));
/// With more than this on its way to a host, no more is read from there.
const AGENT_BACKLOG_MAX: usize = 4 << 20;
/// With more than this to write, nothing is read from hosts: they have been told to send no more long before.
const OUTPUT_BACKLOG_MAX: usize = 64 << 20;

impl Launcher {
    fn new(job: &Job, layout: &[u32]) -> Result<Self, LaunchError> {
        let signals = Signals::catch()?;
        notice_children()?;
        adopt();
        let poll = Poll::new().map_err(LaunchError::system("make a poll"))?;
        let by_program: Vec<u32> = job.programs.iter().map(|program| program.ranks).collect();
        let times = Times { grace: job.grace, kill_after: job.kill_after, timeout: job.timeout };
        poll.add(&signals, Token::Signals, Interest::Read).map_err(LaunchError::system("watch signals"))?;
        Ok(Self {
            poll,
            signals,
            server: PmiServer::new(layout, &by_program),
            policy: FailurePolicy::new(job.ranks(), times),
            local_ranks: LocalRanks::new(),
            agents: Vec::new(),
            input: None,
            output: Sink::new(std::io::stdout(), 0),
            errors: Sink::new(std::io::stderr(), 1),
            started_at: Instant::now(),
            killed_at: None,
            hosts_silent_since: None,
            reports_settle_at: None,
            start_events: Vec::new(),
            lost_lines: Vec::new(),
            output_full: false,
            output_error: None,
            end_requested: None,
            output_cut: None,
            ended_at: None,
        })
    }

    fn start(&mut self, job: &Job, layout: &[u32]) -> Result<(), LaunchError> {
        let stdin = std::io::stdin();
        let ranks = job.ranks();
        let Self { signals, policy, local_ranks, poll, start_events, agents, .. } = self;
        // Other signals are for ranks that are there to get them.
        let mut may_continue =
            |started: u32| match signals.take().into_iter().find(|signal| is_end_request(*signal)) {
                Some(signal) => Err(LaunchError::Interrupted { signal, started, ranks }),
                None => Ok(()),
            };
        if job.hosts.is_empty() {
            // In its group of its own, a rank that reads from the terminal would be stopped.
            let piped = stdin.is_terminal();
            let share = job.node_share(0, ranks);
            let direct = ranks == 1 && !job.prefix;
            if direct {
                // A shell says nothing of that either.
                policy.forwarded(Signal::PIPE.as_raw());
            }
            let from = if piped { Stdin::Piped } else { Stdin::Inherited };
            local_ranks.start(&share, (from, direct), poll, &mut may_continue, start_events)?;
            self.input = piped.then(|| StdinReader::new(stdin));
            return Ok(());
        }
        let used = layout.iter().filter(|count| **count > 0).count();
        ensure_limits(used as u32, HOSTS, 2)?;
        let mut first = 0;
        for (host, count) in job.hosts.iter().zip(layout).filter(|(_, count)| **count > 0) {
            may_continue(first)?;
            let index = agents.len() as u32;
            let share = job.node_share(first, *count);
            agents.push(AgentConnection::start(job, &host.name, index, &share, poll)?);
            first += count;
        }
        self.input = Some(StdinReader::new(stdin));
        Ok(())
    }

    fn run(&mut self, watch: &mut dyn FnMut(Event<'_>, &mut Vec<u8>)) -> Result<(), LaunchError> {
        while !self.is_over(watch) {
            let mut events = std::mem::take(&mut self.start_events);
            let mut host_heard = false;
            self.prepare_input();
            let timeout = self.timeout();
            for token in self.poll.wait(timeout).map_err(LaunchError::system("wait for the ranks"))? {
                match token {
                    Token::Signals => self.forward_signals(watch),
                    Token::Input => self.read_input(),
                    Token::Sink(_) => {}
                    Token::AgentIn(agent) | Token::AgentOut(agent) => {
                        host_heard |= matches!(token, Token::AgentIn(_));
                        if let Some(agent) = self.agents.get_mut(agent as usize) {
                            agent.ready(token, &self.poll, &mut events);
                        }
                    }
                    _ => self.local_ranks.handle_ready(token, &self.poll, &mut events),
                }
            }
            if self.input.as_ref().is_some_and(StdinReader::is_ready) {
                self.read_input();
            }
            if self.killed_at.is_some_and(|since| self.started_at.elapsed() >= since + KILL_TIMEOUT) {
                self.local_ranks.abandon(&self.poll, &mut events);
            }
            self.check_hosts(host_heard, &mut events);
            for event in events {
                self.handle_event(event, watch);
            }
            let mut decisions = Vec::new();
            self.policy.tick(self.started_at.elapsed(), &mut decisions);
            self.carry_out(decisions, watch);
            if self.policy.all_ended() {
                self.end_requested = self.end_requested.or(self.policy.timed_out(self.started_at.elapsed()));
            }
            if self.reports_settle_at.is_some_and(|settled| self.started_at.elapsed() >= settled) {
                self.reports_settle_at = None;
                self.notify(Event::ReportsOver, watch);
            }
            self.write_output(watch);
        }
        Ok(())
    }

    /// Whether all has ended and has been said.
    fn is_over(&mut self, watch: &mut dyn FnMut(Event<'_>, &mut Vec<u8>)) -> bool {
        let now = self.started_at.elapsed();
        if !self.policy.all_ended() || self.agents.iter().any(|agent| !agent.is_over()) {
            return false;
        }
        // Only now: the connections to hosts are children, too.
        if !self.local_ranks.is_over(now, self.end_requested.is_some()) {
            return false;
        }
        let left = self.local_ranks.take_left();
        if !left.is_empty() {
            self.notify(Event::Left { processes: &left }, watch);
        }
        if self.reports_settle_at.take().is_some() {
            self.notify(Event::ReportsOver, watch);
        }
        let ended_at = *self.ended_at.get_or_insert(now);
        let is_read = self.output.is_empty() && self.errors.is_empty();
        // In a hurry, ranks may have been ended for that whose output was not read for the sake of a slow reader.
        if is_read && (self.end_requested.is_none() || self.local_ranks.is_silent()) {
            return true;
        }
        self.output_cut =
            self.end_requested.filter(|_| now >= ended_at + ESCALATION_DELAY).or(self.output_cut);
        self.output_cut.is_some()
    }

    fn timeout(&self) -> Option<Duration> {
        if self.input.as_ref().is_some_and(StdinReader::is_ready) {
            return Some(Duration::ZERO);
        }
        // What has happened already is not waited for.
        if !self.start_events.is_empty() {
            return Some(Duration::ZERO);
        }
        if self.policy.all_ended() {
            return Some(REAP_INTERVAL);
        }
        let kill_deadline =
            self.killed_at.filter(|_| !self.local_ranks.all_ended()).map(|since| since + KILL_TIMEOUT);
        let silence_deadline = self.hosts_silent_since.map(|since| since + HOST_SILENCE_MAX);
        let deadlines = [self.policy.deadline(), kill_deadline, silence_deadline, self.reports_settle_at];
        let deadline = deadlines.into_iter().flatten().min();
        let until = |deadline: Duration| deadline.saturating_sub(self.started_at.elapsed());
        let input = self.input.as_ref().and_then(StdinReader::recheck_after);
        deadline.map(|deadline| until(deadline).max(Duration::from_millis(1))).into_iter().chain(input).min()
    }

    fn handle_event(&mut self, event: RankEvent, watch: &mut dyn FnMut(Event<'_>, &mut Vec<u8>)) {
        let now = self.started_at.elapsed();
        let mut decisions = Vec::new();
        match event {
            RankEvent::Output { stream: 0, bytes } => self.output.push(&bytes),
            RankEvent::Output { bytes, .. } => self.errors.push(&bytes),
            RankEvent::Ended { rank, ending } => self.policy.ended(rank, ending, now, &mut decisions),
            RankEvent::Line { rank, line } => {
                let mut effects = Vec::new();
                self.server.handle(rank, &line, &mut effects);
                for effect in effects {
                    match effect {
                        PmiEffect::Send(rank, line) => self.send_line(rank, &line),
                        PmiEffect::Initialised(rank) => {
                            // Once: what a rank says again and again must not multiply what is kept for it.
                            if self.policy.initialised(rank, now, &mut decisions) {
                                let known: String = self.lost_lines.concat();
                                self.send_line(rank, &known);
                            }
                        }
                        PmiEffect::Finalised(rank) => self.policy.finalised(rank),
                        PmiEffect::Failed(rank, ending) => {
                            self.policy.failed(rank, ending, now, &mut decisions)
                        }
                        PmiEffect::Report(rank, json) => {
                            self.reports_settle_at = Some(now + SETTLED);
                            self.notify(Event::Report { rank, json: &json }, watch);
                        }
                    }
                }
            }
        }
        self.carry_out(decisions, watch);
    }

    fn carry_out(&mut self, decisions: Vec<Decision>, watch: &mut dyn FnMut(Event<'_>, &mut Vec<u8>)) {
        for decision in decisions {
            match decision {
                Decision::Terminate => self.signal_ranks(Signal::TERM.as_raw()),
                Decision::Kill => self.kill(),
                // Of a job that has not begun, the host's reason is all that matters.
                Decision::Failed { .. } if self.has_failed_host() => {}
                Decision::Stopped { stop } => {
                    self.end_requested.get_or_insert(stop);
                    let ranks = self.policy.running();
                    self.notify(Event::Stopped { stop, ranks: &ranks }, watch);
                }
                Decision::Failed { rank, ending, expected } => {
                    self.notify(Event::Failed { rank, ending: &ending, expected }, watch);
                    let line = lost(rank, &ending);
                    for other in self.policy.others(rank) {
                        self.send_line(other, &line);
                    }
                    self.lost_lines.push(line);
                }
            }
        }
    }

    /// Tells the caller, and passes on what it says to that.
    fn notify(&mut self, event: Event<'_>, watch: &mut dyn FnMut(Event<'_>, &mut Vec<u8>)) {
        let mut said = Vec::new();
        watch(event, &mut said);
        self.errors.push(&said);
    }

    fn send_line(&mut self, rank: u32, line: &str) {
        if line.is_empty() {
            return;
        }
        match self.agents.iter_mut().find(|agent| agent.has(rank)) {
            Some(agent) => agent.send(&AgentCommand::Line { rank }, line.as_bytes(), &self.poll),
            None => self.local_ranks.send(rank, line.as_bytes(), &self.poll),
        }
    }

    fn signal_ranks(&mut self, number: i32) {
        self.local_ranks.signal(number);
        for agent in &mut self.agents {
            agent.send(&AgentCommand::Signal(number), b"", &self.poll);
        }
    }

    fn kill(&mut self) {
        self.killed_at = Some(self.started_at.elapsed());
        self.hosts_silent_since = self.killed_at.filter(|_| !self.agents.is_empty());
        self.signal_ranks(Signal::KILL.as_raw());
    }

    /// Passes on what the user has sent to this process.
    fn forward_signals(&mut self, watch: &mut dyn FnMut(Event<'_>, &mut Vec<u8>)) {
        for number in self.signals.take() {
            self.policy.forwarded(number);
            self.signal_ranks(number);
            if is_end_request(number) {
                self.end_requested.get_or_insert(StopReason::Signal(number));
                let mut decisions = Vec::new();
                self.policy.end_requested(number, self.started_at.elapsed(), &mut decisions);
                self.carry_out(decisions, watch);
            }
            if number == Signal::TSTP.as_raw() {
                stop();
            }
        }
    }

    fn prepare_input(&mut self) {
        let Some(input) = &mut self.input else { return };
        let backlog = match self.agents.iter().find(|agent| agent.has(0)) {
            Some(agent) if agent.is_over() => None,
            Some(agent) => Some(agent.stdin_backlog()),
            None => self.local_ranks.stdin_backlog(),
        };
        input.prepare(backlog, &self.poll);
    }

    fn read_input(&mut self) {
        let Some(input) = &mut self.input else { return };
        let read = input.read(&self.poll);
        let agent = self.agents.iter_mut().find(|agent| agent.has(0));
        match (read, agent) {
            (StdinRead::Bytes(bytes), _) if bytes.is_empty() => {}
            (StdinRead::Bytes(bytes), Some(agent)) => agent.send(&AgentCommand::Input, &bytes, &self.poll),
            (StdinRead::Bytes(bytes), None) => self.local_ranks.write_stdin(&bytes, &self.poll),
            (StdinRead::End, Some(agent)) => agent.send(&AgentCommand::InputOver, b"", &self.poll),
            (StdinRead::End, None) => self.local_ranks.close_stdin(&self.poll),
        }
    }

    /// A host that cannot start its ranks ends the job; one that says nothing in the end is given up.
    fn check_hosts(&mut self, host_heard: bool, events: &mut Vec<RankEvent>) {
        if self.killed_at.is_none() && self.has_failed_host() {
            self.kill();
        }
        let is_ending = self.killed_at.is_some() || self.policy.all_ended();
        if !is_ending || self.agents.iter().all(AgentConnection::is_over) {
            self.hosts_silent_since = None;
            return;
        }
        let now = self.started_at.elapsed();
        // One that is not read cannot say anything, and a user who is in a hurry waits for neither.
        if (host_heard || self.output_full) && self.end_requested.is_none() {
            self.hosts_silent_since = Some(now);
        }
        if now >= *self.hosts_silent_since.get_or_insert(now) + HOST_SILENCE_MAX {
            self.output_cut = self.output_cut.or(self.end_requested);
            for agent in self.agents.iter_mut().filter(|agent| !agent.is_over()) {
                agent.give_up_because("it does not say that nothing is left there", &self.poll, events);
            }
        }
    }

    fn has_failed_host(&self) -> bool {
        self.agents.iter().any(|agent| agent.failure().is_some())
    }

    /// Writes what is taken; while the reader is slow, what ranks write is not read, here or on other hosts. Their ends
    /// and failures are.
    fn write_output(&mut self, watch: &mut dyn FnMut(Event<'_>, &mut Vec<u8>)) {
        for flushed in [self.output.flush(&self.poll), self.errors.flush(&self.poll)] {
            let Err(error) = flushed else { continue };
            let (now, mut decisions) = (self.started_at.elapsed(), Vec::new());
            if error == Errno::PIPE {
                // As in any pipeline. What the ranks write meanwhile is read, and goes nowhere: they end because the
                // launcher says so, and not by whatever each makes of a pipe that is closed.
                self.policy.reader_left(now, &mut decisions);
            } else {
                self.output_error = Some(error);
                self.policy.give_up(now, &mut decisions);
            }
            self.carry_out(decisions, watch);
        }
        self.output_full = self.output.is_full() || self.errors.is_full();
        self.local_ranks.pause_output(self.output_full, &self.poll);
        let is_flooded = self.output.len() + self.errors.len() > OUTPUT_BACKLOG_MAX;
        for agent in &mut self.agents {
            agent.pause_output(self.output_full, &self.poll);
            agent.pause(is_flooded || agent.backlog() > AGENT_BACKLOG_MAX, &self.poll);
        }
    }

    /// After an error: nothing of the job stays.
    fn kill_everything(&mut self) {
        self.local_ranks.signal(Signal::KILL.as_raw());
        for agent in &mut self.agents {
            agent.give_up(&self.poll, &mut Vec::new());
        }
        while !self.local_ranks.reap_descendants(self.started_at.elapsed()) {
            std::thread::sleep(REAP_INTERVAL);
        }
    }
}
