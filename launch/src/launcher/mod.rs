//! Runs a job to its end: one event loop over ranks, hosts, signals, input, output and time.

mod input;

use crate::coordinator::{Coordinator, Instruction};
use crate::ending::{Ending, StopReason};
use crate::error::{HOSTS, LaunchError};
use crate::failure_policy::{Decision, FailurePolicy};
use crate::job::{ESCALATION_DELAY, Job};
use crate::limits::ensure_limits;
use crate::local_ranks::{KILL_TIMEOUT, LocalRanks, REAP_INTERVAL, RankEvent, Stdin, adopt};
use crate::poll::{Interest, Poll, Token};
use crate::remote::connection::AgentConnection;
use crate::remote::frame::AgentCommand;
use crate::signals::{Signals, is_end_request, notice_children, stop};
use crate::sink::Sink;
use input::{StdinRead, StdinReader};
use rustix::io::Errno;
use rustix::process::Signal;
use std::cell::Cell;
use std::io::{IsTerminal, Stderr, Stdout};
use std::time::{Duration, Instant};

/// An event of a running job, for the caller of [`run`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event<'a> {
    /// A rank has failed. The others have been told, and are ended after the grace period.
    Failed {
        /// The rank.
        rank: u32,
        /// How it ended.
        ending: &'a Ending,
        /// Whether the user has sent the signal that the rank died of.
        expected: bool,
    },
    /// A rank has sent its launcher a report, by [`Client::report`](crate::Client::report).
    Report {
        /// The rank.
        rank: u32,
        /// The report.
        json: &'a str,
    },
    /// Ranks have sent reports, and for [`SETTLED`], or to the end of the job, no rank has sent another.
    ReportsOver {
        /// Set by the caller to end the job, whose ranks wait for each other.
        deadlock: &'a Cell<bool>,
    },
    /// The launcher ends the job, although no rank has failed.
    Stopped {
        /// The reason.
        stop: StopReason,
        /// The ranks that were still running.
        ranks: &'a [u32],
    },
    /// Processes that the ranks have left behind, or ranks themselves, cannot be ended.
    Left {
        /// Descriptions of the processes: `process 123 (sleep)`, or `rank 3, process 124 (cat)`.
        processes: &'a [String],
    },
}

/// How long after the last report [`Event::ReportsOver`] comes: ranks that wait for each other notice it at about
/// the same time.
pub const SETTLED: Duration = Duration::from_secs(1);

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Outcome {
    /// The exit status for the launcher: 0, or the status of the failure or the stop that ended the job.
    pub status: u8,
    /// The rank that failed first, and how.
    pub failure: Option<(u32, Ending)>,
    /// Why the launcher has ended the job, unless a failure came first.
    pub stop: Option<StopReason>,
}

/// Runs a job, and returns when all its processes are gone.
///
/// `watch` gets each event; the text that it appends goes to standard error, whole, between the lines of the
/// ranks. To be called from the thread that lives longest, in a process that has no other children and
/// does nothing else meanwhile: the launcher catches signals, adopts all descendants, and ends those that are left
/// at the end.
pub fn run(job: &Job, watch: &mut dyn FnMut(Event<'_>, &mut Vec<u8>)) -> Result<Outcome, LaunchError> {
    let layout = job.layout()?;
    let mut launcher = Launcher::new(job, &layout)?;
    let done = launcher.start(job, &layout).and_then(|()| launcher.run(watch));
    if done.is_err() {
        launcher.kill_everything();
    }
    done?;
    // A job that did not begin has no other result than the host's error.
    if let Some(failure) = launcher.agents.iter().find_map(AgentConnection::failure) {
        return Err(failure);
    }
    if let Some(error) = launcher.output_error {
        return Err(LaunchError::Output { source: error.into() });
    }
    let (failure, stop) = launcher.coordinator.policy.into_outcome();
    // A job whose output was cut is no success.
    let stop = stop.or(launcher.output_cut.filter(|_| failure.is_none()));
    let failed = failure.as_ref().map_or(0, |(_, ending)| ending.status());
    Ok(Outcome { status: stop.map_or(failed, StopReason::status), failure, stop })
}

struct Launcher {
    poll: Poll,
    signals: Signals,
    coordinator: Coordinator,
    local_ranks: LocalRanks,
    agents: Vec<AgentConnection>,
    input: Option<StdinReader>,
    output: Sink<Stdout>,
    errors: Sink<Stderr>,
    started_at: Instant,
    /// How long hosts have to answer.
    host_timeout: Duration,
    /// When all ranks were sent SIGKILL.
    killed_at: Option<Duration>,
    /// Since when hosts have sent nothing, although all that is left for them is to send that they are done.
    hosts_silent_since: Option<Duration>,
    /// When reports count as over, if there were any.
    reports_settle_at: Option<Duration>,
    /// The events of ranks while others were still being started.
    start_events: Vec<RankEvent>,
    /// The reader of the output is slow: the ranks wait.
    output_full: bool,
    /// Why the output of the ranks cannot be written.
    output_error: Option<Errno>,
    /// The user's signal or the timeout that asks for the end: a reader that takes nothing does not prevent it.
    end_requested: Option<StopReason>,
    /// Why the launcher did not wait until all output was read.
    output_cut: Option<StopReason>,
    /// When all processes had ended, and only output was left to be read.
    ended_at: Option<Duration>,
}

/// How long a host may send nothing while it ends the descendants of its ranks: longer than that takes.
const HOST_SILENCE_MAX: Duration = KILL_TIMEOUT.saturating_add(ESCALATION_DELAY.saturating_mul(3));
/// While more than this many bytes wait to be sent to a host, the launcher reads no more from it.
const AGENT_BACKLOG_MAX: usize = 4 << 20;
/// While more than this many bytes of output wait to be written, the launcher reads nothing from hosts. Long before, it
/// has told them to send no more output.
const OUTPUT_BACKLOG_MAX: usize = 64 << 20;

impl Launcher {
    fn new(job: &Job, layout: &[u32]) -> Result<Self, LaunchError> {
        let signals = Signals::catch()?;
        notice_children()?;
        adopt();
        let poll = Poll::new().map_err(LaunchError::system("make a poll"))?;
        let mut output = Sink::new(std::io::stdout(), 0);
        if job.output_is_closed {
            output.refuse();
        }
        let by_program: Vec<u32> = job.programs.iter().map(|program| program.ranks).collect();
        poll.add(&signals, Token::Signals, Interest::Read).map_err(LaunchError::system("watch signals"))?;
        Ok(Self {
            poll,
            signals,
            coordinator: Coordinator::new(layout, &by_program, job.grace, job.kill_after, job.timeout),
            local_ranks: LocalRanks::new(),
            agents: Vec::new(),
            input: None,
            output,
            errors: Sink::new(std::io::stderr(), 1),
            started_at: Instant::now(),
            host_timeout: job.host_timeout,
            killed_at: None,
            hosts_silent_since: None,
            reports_settle_at: None,
            start_events: Vec::new(),
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
        let Self { signals, coordinator, local_ranks, poll, start_events, agents, .. } = self;
        // Other signals are for ranks that run already.
        let mut may_continue =
            |started: u32| match signals.take().into_iter().find(|signal| is_end_request(*signal)) {
                Some(signal) => Err(LaunchError::Interrupted { signal, started, ranks }),
                None => Ok(()),
            };
        if job.hosts.is_empty() {
            // A rank, which has a process group of its own, would be stopped if it read from the terminal.
            let piped = stdin.is_terminal();
            let share = job.node_share(0, ranks);
            let direct = ranks == 1 && !job.prefix && !job.output_is_closed;
            if direct {
                // A shell does not report a SIGPIPE either.
                coordinator.policy.forwarded(Signal::PIPE.as_raw());
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
            self.local_ranks.check_ends(&self.poll, &mut events);
            if self.killed_at.is_some_and(|since| self.started_at.elapsed() >= since + KILL_TIMEOUT) {
                self.local_ranks.abandon(&self.poll, &mut events);
            }
            self.check_hosts(host_heard, &mut events);
            for event in events {
                self.handle_event(event, watch);
            }
            let mut instructions = Vec::new();
            self.coordinator.tick(self.started_at.elapsed(), &mut instructions);
            self.carry_out(instructions, watch);
            if self.coordinator.all_ended() {
                let timed_out = self.coordinator.policy.timed_out(self.started_at.elapsed());
                self.end_requested = self.end_requested.or(timed_out);
            }
            if self.reports_settle_at.is_some_and(|settled| self.started_at.elapsed() >= settled) {
                self.reports_settle_at = None;
                self.reports_over(watch);
            }
            self.write_output(watch);
        }
        Ok(())
    }

    /// Whether all processes have ended, and all output and events have been passed on.
    fn is_over(&mut self, watch: &mut dyn FnMut(Event<'_>, &mut Vec<u8>)) -> bool {
        let now = self.started_at.elapsed();
        if !self.coordinator.all_ended() || self.agents.iter().any(|agent| !agent.is_over()) {
            return false;
        }
        // After the agents' connections: those are children of this process, too.
        if !self.local_ranks.is_over(now, self.end_requested.is_some()) {
            return false;
        }
        let left = self.local_ranks.take_left();
        if !left.is_empty() {
            self.notify(Event::Left { processes: &left }, watch);
        }
        if self.reports_settle_at.take().is_some() {
            self.reports_over(watch);
        }
        let ended_at = *self.ended_at.get_or_insert(now);
        let is_read = self.output.is_empty() && self.errors.is_empty();
        // When the end was requested, ranks have been ended whose output was not read yet, because the reader was slow.
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
        // Events that have happened already need no wait.
        if !self.start_events.is_empty() {
            return Some(Duration::ZERO);
        }
        if self.coordinator.all_ended() {
            return Some(REAP_INTERVAL);
        }
        let kill_deadline =
            self.killed_at.filter(|_| !self.local_ranks.all_ended()).map(|since| since + KILL_TIMEOUT);
        let silence_deadline = self.hosts_silent_since.map(|since| since + HOST_SILENCE_MAX);
        let answers_due = self.agents.iter().any(AgentConnection::is_awaited).then_some(self.host_timeout);
        let deadlines = [
            self.coordinator.deadline(),
            kill_deadline,
            silence_deadline,
            answers_due,
            self.reports_settle_at,
        ];
        let deadline = deadlines.into_iter().flatten().min();
        let until = |deadline: Duration| deadline.saturating_sub(self.started_at.elapsed());
        let input = self.input.as_ref().and_then(StdinReader::recheck_after);
        let ends = self.local_ranks.recheck_after();
        let deadline = deadline.map(|deadline| until(deadline).max(Duration::from_millis(1)));
        deadline.into_iter().chain(input).chain(ends).min()
    }

    fn handle_event(&mut self, event: RankEvent, watch: &mut dyn FnMut(Event<'_>, &mut Vec<u8>)) {
        let (now, mut instructions) = (self.started_at.elapsed(), Vec::new());
        match event {
            RankEvent::Output { stream: 0, bytes } => self.output.push(&bytes),
            RankEvent::Output { bytes, .. } => self.errors.push(&bytes),
            RankEvent::Ended { rank, ending } => self.coordinator.ended(rank, ending, now, &mut instructions),
            RankEvent::Disconnected { rank, program } => {
                self.coordinator.disconnected(rank, program, now, &mut instructions);
            }
            RankEvent::Line { rank, line } => self.coordinator.line(rank, &line, now, &mut instructions),
        }
        self.carry_out(instructions, watch);
    }

    fn carry_out(&mut self, instructions: Vec<Instruction>, watch: &mut dyn FnMut(Event<'_>, &mut Vec<u8>)) {
        for instruction in instructions {
            match instruction {
                Instruction::Send(rank, line) => self.send_line(rank, &line),
                Instruction::Terminate => self.signal_ranks(Signal::TERM.as_raw()),
                Instruction::Kill => self.kill(),
                Instruction::Stopped { stop } => {
                    self.end_requested.get_or_insert(stop);
                    let ranks = self.coordinator.policy.running();
                    self.notify(Event::Stopped { stop, ranks: &ranks }, watch);
                }
                Instruction::Failed { rank, ending, expected } => {
                    self.notify(Event::Failed { rank, ending: &ending, expected }, watch);
                }
                Instruction::Report(rank, json) => {
                    self.reports_settle_at = Some(self.started_at.elapsed() + SETTLED);
                    self.notify(Event::Report { rank, json: &json }, watch);
                }
            }
        }
    }

    /// Carries out what the policy decides when it is asked.
    fn decide(
        &mut self,
        ask: impl FnOnce(&mut FailurePolicy, &mut Vec<Decision>),
        watch: &mut dyn FnMut(Event<'_>, &mut Vec<u8>),
    ) {
        let mut instructions = Vec::new();
        self.coordinator.decide(&mut instructions, ask);
        self.carry_out(instructions, watch);
    }

    /// Ends the job if the caller has found in the reports that it never ends by itself.
    fn reports_over(&mut self, watch: &mut dyn FnMut(Event<'_>, &mut Vec<u8>)) {
        let deadlock = Cell::new(false);
        self.notify(Event::ReportsOver { deadlock: &deadlock }, watch);
        if deadlock.get() && !self.coordinator.all_ended() {
            let now = self.started_at.elapsed();
            self.decide(|policy, decisions| policy.deadlocked(now, decisions), watch);
        }
    }

    /// Passes an event to the caller, and the caller's text to standard error.
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

    /// Forwards the signals that the user has sent to this process.
    fn forward_signals(&mut self, watch: &mut dyn FnMut(Event<'_>, &mut Vec<u8>)) {
        for number in self.signals.take() {
            self.coordinator.policy.forwarded(number);
            self.signal_ranks(number);
            if is_end_request(number) {
                self.end_requested.get_or_insert(StopReason::Signal(number));
                let now = self.started_at.elapsed();
                self.decide(|policy, decisions| policy.end_requested(number, now, decisions), watch);
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

    /// Ends the job if a host cannot start its ranks, and gives up hosts that send nothing at the end.
    fn check_hosts(&mut self, host_heard: bool, events: &mut Vec<RankEvent>) {
        if self.started_at.elapsed() >= self.host_timeout {
            for agent in self.agents.iter_mut().filter(|agent| agent.is_awaited()) {
                agent.give_up_unanswered(self.host_timeout, &self.poll, events);
            }
        }
        if self.has_failed_host() {
            // The host's error is the result: failures that follow are not told.
            self.coordinator.silence();
            if self.killed_at.is_none() {
                self.kill();
            }
        }
        let is_ending = self.killed_at.is_some() || self.coordinator.all_ended();
        if !is_ending || self.agents.iter().all(AgentConnection::is_over) {
            self.hosts_silent_since = None;
            return;
        }
        let now = self.started_at.elapsed();
        // A host whose output is not read cannot send that it is done. Once the end was requested, neither counts.
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

    /// Writes the output that the reader takes. While the reader is slow, the output of ranks is not read, here or on
    /// other hosts; their ends and failures are.
    fn write_output(&mut self, watch: &mut dyn FnMut(Event<'_>, &mut Vec<u8>)) {
        for flushed in [self.output.flush(&self.poll), self.errors.flush(&self.poll)] {
            let Err(error) = flushed else { continue };
            let now = self.started_at.elapsed();
            if error == Errno::PIPE {
                // As in any pipeline. Output that the ranks write meanwhile is read and dropped: they end by the
                // launcher's signal, and not by their own handling of a closed pipe.
                self.decide(|policy, decisions| policy.reader_left(now, decisions), watch);
            } else {
                self.output_error = Some(error);
                self.decide(|policy, decisions| policy.give_up(now, decisions), watch);
            }
        }
        self.output_full = self.output.is_full() || self.errors.is_full();
        self.local_ranks.pause_output(self.output_full, &self.poll);
        let is_flooded = self.output.len() + self.errors.len() > OUTPUT_BACKLOG_MAX;
        for agent in &mut self.agents {
            agent.pause_output(self.output_full, &self.poll);
            agent.pause(is_flooded || agent.backlog() > AGENT_BACKLOG_MAX, &self.poll);
        }
    }

    /// After an error: ends all processes of the job.
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
