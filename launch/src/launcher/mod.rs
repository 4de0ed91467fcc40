//! Runs a job to its end: one loop over everything that can happen.

mod input;

use crate::ending::{Ending, Stop};
use crate::error::{HOSTS, LaunchError};
use crate::failure_policy::{Decision, FailurePolicy, Times};
use crate::job::{ESCALATION_DELAY, Job};
use crate::limits::make_room;
use crate::local_ranks::{KILL_TIMEOUT, LocalRanks, REAP_INTERVAL, RankEvent, Stdin, adopt};
use crate::poll::{Interest, Poll, Token};
use crate::remote::connection::AgentConnection;
use crate::remote::frame::AgentCommand;
use crate::server::{PmiEffect, PmiServer, lost};
use crate::signals::{Signals, asks_for_the_end, notice_children, stop};
use crate::sink::Sink;
use input::{Input, Read};
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
        stop: Stop,
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
    pub stop: Option<Stop>,
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
        launcher.clear();
    }
    done?;
    // Nothing of a job that did not begin is its result.
    if let Some(failure) = launcher.agents.iter().find_map(AgentConnection::failure) {
        return Err(failure);
    }
    if let Some(error) = launcher.broken {
        return Err(LaunchError::Output { source: error.into() });
    }
    let (failure, stop) = launcher.policy.into_outcome();
    // A result that is not whole is no success.
    let stop = stop.or(launcher.cut.filter(|_| failure.is_none()));
    let failed = failure.as_ref().map_or(0, |(_, ending)| ending.status());
    Ok(Outcome { status: stop.map_or(failed, Stop::status), failure, stop })
}

struct Launcher {
    poll: Poll,
    signals: Signals,
    server: PmiServer,
    policy: FailurePolicy,
    local_ranks: LocalRanks,
    agents: Vec<AgentConnection>,
    input: Option<Input>,
    output: Sink<Stdout>,
    errors: Sink<Stderr>,
    begun: Instant,
    /// When everything was killed.
    killed: Option<Duration>,
    /// Since when hosts have said nothing, although nothing is left for them to do but to say that they are done.
    silent: Option<Duration>,
    /// When reports are over, if there are any.
    settled: Option<Duration>,
    /// What has happened while the ranks were started.
    early: Vec<RankEvent>,
    /// The failures so far, for ranks that take part later.
    lost: Vec<String>,
    /// A slow reader makes the ranks wait.
    full: bool,
    /// What ranks have written can be written nowhere.
    broken: Option<Errno>,
    /// The user, or a timeout, has asked for the end: a reader that takes nothing does not prevent it.
    hurry: Option<Stop>,
    /// Why what ranks have written was not waited for.
    cut: Option<Stop>,
    /// When nothing was left but to be read.
    over: Option<Duration>,
}

/// How long a host may say nothing while it ends what its ranks have left: longer than that takes.
const SILENCE: Duration = KILL_TIMEOUT.saturating_add(ESCALATION_DELAY.saturating_mul(3));
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
            begun: Instant::now(),
            killed: None,
            silent: None,
            settled: None,
            early: Vec::new(),
            lost: Vec::new(),
            full: false,
            broken: None,
            hurry: None,
            cut: None,
            over: None,
        })
    }

    fn start(&mut self, job: &Job, layout: &[u32]) -> Result<(), LaunchError> {
        let stdin = std::io::stdin();
        let ranks = job.ranks();
        let Self { signals, policy, local_ranks, poll, early, agents, .. } = self;
        // Other signals are for ranks that are there to get them.
        let mut may = |started: u32| match signals.take().into_iter().find(|signal| asks_for_the_end(*signal))
        {
            Some(signal) => Err(LaunchError::Interrupted { signal, started, ranks }),
            None => Ok(()),
        };
        if job.hosts.is_empty() {
            // In its group of its own, a rank that reads from the terminal would be stopped.
            let fed = stdin.is_terminal();
            let share = job.node_share(0, ranks);
            let direct = ranks == 1 && !job.prefix;
            if direct {
                // A shell says nothing of that either.
                policy.forwarded(Signal::PIPE.as_raw());
            }
            let from = if fed { Stdin::Piped } else { Stdin::Inherited };
            local_ranks.start(&share, (from, direct), poll, &mut may, early)?;
            self.input = fed.then(|| Input::new(stdin));
            return Ok(());
        }
        let used = layout.iter().filter(|count| **count > 0).count();
        make_room(used as u32, HOSTS, 2)?;
        let mut first = 0;
        for (host, count) in job.hosts.iter().zip(layout).filter(|(_, count)| **count > 0) {
            may(first)?;
            let index = agents.len() as u32;
            let share = job.node_share(first, *count);
            agents.push(AgentConnection::start(job, &host.name, index, &share, poll)?);
            first += count;
        }
        self.input = Some(Input::new(stdin));
        Ok(())
    }

    fn run(&mut self, watch: &mut dyn FnMut(Event<'_>, &mut Vec<u8>)) -> Result<(), LaunchError> {
        while !self.is_over(watch) {
            let mut happened = std::mem::take(&mut self.early);
            let mut heard = false;
            self.prepare_input();
            let timeout = self.timeout();
            for token in self.poll.wait(timeout).map_err(LaunchError::system("wait for the ranks"))? {
                match token {
                    Token::Signals => self.forward(watch),
                    Token::Input => self.read_input(),
                    Token::Sink(_) => {}
                    Token::AgentIn(agent) | Token::AgentOut(agent) => {
                        heard |= matches!(token, Token::AgentIn(_));
                        if let Some(agent) = self.agents.get_mut(agent as usize) {
                            agent.ready(token, &self.poll, &mut happened);
                        }
                    }
                    _ => self.local_ranks.handle_ready(token, &self.poll, &mut happened),
                }
            }
            if self.input.as_ref().is_some_and(Input::is_ready) {
                self.read_input();
            }
            if self.killed.is_some_and(|since| self.begun.elapsed() >= since + KILL_TIMEOUT) {
                self.local_ranks.abandon(&self.poll, &mut happened);
            }
            self.see_to_hosts(heard, &mut happened);
            for event in happened {
                self.take(event, watch);
            }
            let mut decisions = Vec::new();
            self.policy.tick(self.begun.elapsed(), &mut decisions);
            self.carry_out(decisions, watch);
            if self.policy.all_ended() {
                self.hurry = self.hurry.or(self.policy.timed_out(self.begun.elapsed()));
            }
            if self.settled.is_some_and(|settled| self.begun.elapsed() >= settled) {
                self.settled = None;
                self.tell(Event::ReportsOver, watch);
            }
            self.write(watch);
        }
        Ok(())
    }

    /// Whether all has ended and has been said.
    fn is_over(&mut self, watch: &mut dyn FnMut(Event<'_>, &mut Vec<u8>)) -> bool {
        let now = self.begun.elapsed();
        if !self.policy.all_ended() || self.agents.iter().any(|agent| !agent.is_over()) {
            return false;
        }
        // Only now: the connections to hosts are children, too.
        if !self.local_ranks.is_over(now, self.hurry.is_some()) {
            return false;
        }
        let left = self.local_ranks.take_left();
        if !left.is_empty() {
            self.tell(Event::Left { processes: &left }, watch);
        }
        if self.settled.take().is_some() {
            self.tell(Event::ReportsOver, watch);
        }
        let over = *self.over.get_or_insert(now);
        let is_read = self.output.is_empty() && self.errors.is_empty();
        // In a hurry, ranks may have been ended for that whose output was not read for the sake of a slow reader.
        if is_read && (self.hurry.is_none() || self.local_ranks.is_silent()) {
            return true;
        }
        self.cut = self.hurry.filter(|_| now >= over + ESCALATION_DELAY).or(self.cut);
        self.cut.is_some()
    }

    fn timeout(&self) -> Option<Duration> {
        if self.input.as_ref().is_some_and(Input::is_ready) {
            return Some(Duration::ZERO);
        }
        // What has happened already is not waited for.
        if !self.early.is_empty() {
            return Some(Duration::ZERO);
        }
        if self.policy.all_ended() {
            return Some(REAP_INTERVAL);
        }
        let killed = self.killed.filter(|_| !self.local_ranks.all_ended()).map(|since| since + KILL_TIMEOUT);
        let silent = self.silent.map(|since| since + SILENCE);
        let deadlines = [self.policy.deadline(), killed, silent, self.settled];
        let deadline = deadlines.into_iter().flatten().min();
        let until = |deadline: Duration| deadline.saturating_sub(self.begun.elapsed());
        let input = self.input.as_ref().and_then(Input::look_again);
        deadline.map(|deadline| until(deadline).max(Duration::from_millis(1))).into_iter().chain(input).min()
    }

    fn take(&mut self, event: RankEvent, watch: &mut dyn FnMut(Event<'_>, &mut Vec<u8>)) {
        let now = self.begun.elapsed();
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
                        PmiEffect::Send(rank, line) => self.send(rank, &line),
                        PmiEffect::Initialised(rank) => {
                            // Once: what a rank says again and again must not multiply what is kept for it.
                            if self.policy.initialised(rank, now, &mut decisions) {
                                let known: String = self.lost.concat();
                                self.send(rank, &known);
                            }
                        }
                        PmiEffect::Finalised(rank) => self.policy.finalised(rank),
                        PmiEffect::Failed(rank, ending) => {
                            self.policy.failed(rank, ending, now, &mut decisions)
                        }
                        PmiEffect::Report(rank, json) => {
                            self.settled = Some(now + SETTLED);
                            self.tell(Event::Report { rank, json: &json }, watch);
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
                Decision::Terminate => self.signal(Signal::TERM.as_raw()),
                Decision::Kill => self.kill(),
                // Of a job that has not begun, the host's reason is all that matters.
                Decision::Failed { .. } if self.has_refused() => {}
                Decision::Stopped { stop } => {
                    self.hurry.get_or_insert(stop);
                    let ranks = self.policy.running();
                    self.tell(Event::Stopped { stop, ranks: &ranks }, watch);
                }
                Decision::Failed { rank, ending, expected } => {
                    self.tell(Event::Failed { rank, ending: &ending, expected }, watch);
                    let line = lost(rank, &ending);
                    for other in self.policy.others(rank) {
                        self.send(other, &line);
                    }
                    self.lost.push(line);
                }
            }
        }
    }

    /// Tells the caller, and passes on what it says to that.
    fn tell(&mut self, event: Event<'_>, watch: &mut dyn FnMut(Event<'_>, &mut Vec<u8>)) {
        let mut said = Vec::new();
        watch(event, &mut said);
        self.errors.push(&said);
    }

    fn send(&mut self, rank: u32, line: &str) {
        if line.is_empty() {
            return;
        }
        match self.agents.iter_mut().find(|agent| agent.has(rank)) {
            Some(agent) => agent.send(&AgentCommand::Line { rank }, line.as_bytes(), &self.poll),
            None => self.local_ranks.send(rank, line.as_bytes(), &self.poll),
        }
    }

    fn signal(&mut self, number: i32) {
        self.local_ranks.signal(number);
        for agent in &mut self.agents {
            agent.send(&AgentCommand::Signal(number), b"", &self.poll);
        }
    }

    fn kill(&mut self) {
        self.killed = Some(self.begun.elapsed());
        self.silent = self.killed.filter(|_| !self.agents.is_empty());
        self.signal(Signal::KILL.as_raw());
    }

    /// Passes on what the user has sent to this process.
    fn forward(&mut self, watch: &mut dyn FnMut(Event<'_>, &mut Vec<u8>)) {
        for number in self.signals.take() {
            self.policy.forwarded(number);
            self.signal(number);
            if asks_for_the_end(number) {
                self.hurry.get_or_insert(Stop::Signal(number));
                let mut decisions = Vec::new();
                self.policy.asked_to_end(number, self.begun.elapsed(), &mut decisions);
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
            (Read::Bytes(bytes), _) if bytes.is_empty() => {}
            (Read::Bytes(bytes), Some(agent)) => agent.send(&AgentCommand::Input, &bytes, &self.poll),
            (Read::Bytes(bytes), None) => self.local_ranks.write_stdin(&bytes, &self.poll),
            (Read::Over, Some(agent)) => agent.send(&AgentCommand::InputOver, b"", &self.poll),
            (Read::Over, None) => self.local_ranks.close_stdin(&self.poll),
        }
    }

    /// A host that cannot start its ranks ends the job; one that says nothing in the end is given up.
    fn see_to_hosts(&mut self, heard: bool, happened: &mut Vec<RankEvent>) {
        if self.killed.is_none() && self.has_refused() {
            self.kill();
        }
        let is_ending = self.killed.is_some() || self.policy.all_ended();
        if !is_ending || self.agents.iter().all(AgentConnection::is_over) {
            self.silent = None;
            return;
        }
        let now = self.begun.elapsed();
        // One that is not read cannot say anything, and a user who is in a hurry waits for neither.
        if (heard || self.full) && self.hurry.is_none() {
            self.silent = Some(now);
        }
        if now >= *self.silent.get_or_insert(now) + SILENCE {
            self.cut = self.cut.or(self.hurry);
            for agent in self.agents.iter_mut().filter(|agent| !agent.is_over()) {
                agent.give_up_because("it does not say that nothing is left there", &self.poll, happened);
            }
        }
    }

    fn has_refused(&self) -> bool {
        self.agents.iter().any(|agent| agent.failure().is_some())
    }

    /// Writes what is taken; while the reader is slow, what ranks write is not read, here or on other hosts. Their ends
    /// and failures are.
    fn write(&mut self, watch: &mut dyn FnMut(Event<'_>, &mut Vec<u8>)) {
        for flushed in [self.output.flush(&self.poll), self.errors.flush(&self.poll)] {
            let Err(error) = flushed else { continue };
            let (now, mut decisions) = (self.begun.elapsed(), Vec::new());
            if error == Errno::PIPE {
                // As in any pipeline. What the ranks write meanwhile is read, and goes nowhere: they end because the
                // launcher says so, and not by whatever each makes of a pipe that is closed.
                self.policy.reader_left(now, &mut decisions);
            } else {
                self.broken = Some(error);
                self.policy.give_up(now, &mut decisions);
            }
            self.carry_out(decisions, watch);
        }
        self.full = self.output.is_full() || self.errors.is_full();
        self.local_ranks.pause_output(self.full, &self.poll);
        let is_flooded = self.output.len() + self.errors.len() > OUTPUT_BACKLOG_MAX;
        for agent in &mut self.agents {
            agent.pause_output(self.full, &self.poll);
            agent.pause(is_flooded || agent.backlog() > AGENT_BACKLOG_MAX, &self.poll);
        }
    }

    /// After an error: nothing of the job stays.
    fn clear(&mut self) {
        self.local_ranks.signal(Signal::KILL.as_raw());
        for agent in &mut self.agents {
            agent.give_up(&self.poll, &mut Vec::new());
        }
        while !self.local_ranks.reap_descendants(self.begun.elapsed()) {
            std::thread::sleep(REAP_INTERVAL);
        }
    }
}
