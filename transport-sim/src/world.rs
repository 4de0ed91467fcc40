//! The event loop: ranks, their CPUs, and the network between them.

use crate::config::{Config, Jitter, Progress};
use crate::data::Flights;
use crate::error::SimError;
use crate::keys::{clear, take_first};
use crate::lateness::Lateness;
use crate::load::{Load, Owner};
use crate::network::{Fabric, Transfer};
use crate::parameters::{Cpu, Thread};
use crate::process::{Driver, Files, Goal, Phase, Process};
use crate::program::Action;
use crate::queue::{Occurrence, Queue};
use crate::record::Recorder;
use crate::report::Report;
use crate::timeline::State;
use crate::totals::Totals;
use crate::windows::Arrival;
use carrousel_rank::{Event, Failure, Packet, Protocol, RankId, Read, Work, Write};
use carrousel_scenario::Scenario;

/// The end of virtual time. It is far below the maximum of the type, so no sum of durations overflows.
const TIME_NS_MAX: u64 = u64::MAX / 4;
/// Events between two looks of whoever watches a run: some hundredths of a second.
const LOOK_INTERVAL: u64 = 1 << 16;

/// How far a run is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RunProgress {
    /// Events so far.
    pub events: u64,
    /// The virtual time.
    pub time_ns: u64,
}

/// The next work of a CPU.
enum Next {
    /// Busy in this state, for this many nanoseconds.
    Busy(State, u64),
    /// Idle until an arrival.
    Idle,
    /// The same, but not longer than until this time.
    IdleUntil(u64),
}

/// One rank's CPU.
#[derive(Clone, Copy, Debug, Default)]
struct Core {
    /// Its present state, and the time at which that began.
    busy: Option<(State, u64)>,
    /// The time at which it became idle.
    idle: Option<u64>,
    /// Tells its present event apart from cancelled ones.
    version: u32,
    /// The time at which its computation ends, if the progress thread takes no time from it.
    computes_until: u64,
    /// The rest of an interrupted computation.
    left_ns: u64,
    /// The progress thread is about to run.
    woken: bool,
}

/// A run.
pub(crate) struct World<'a, P: Protocol> {
    pub(crate) cpu: Cpu,
    /// The progress thread, if there is one.
    thread: Option<Thread>,
    /// Whether every call first takes in all arrivals.
    polls: bool,
    pub(crate) queue: Queue,
    pub(crate) network: Fabric,
    record: Recorder,
    /// The statements of all ranks.
    pub(crate) totals: Totals,
    /// The waits for late ranks in epochs.
    pub(crate) lateness: Lateness,
    jitter: Jitter,
    pub(crate) processes: Vec<Process<P>>,
    cores: Vec<Core>,
    /// The data that travels next to the network, if ranks have bytes.
    flights: Option<Flights>,
    config: &'a Config,
    finished_at: u64,
}

pub(crate) fn copy_ns(cpu: &Cpu, bytes: u64) -> u64 {
    bytes.saturating_mul(cpu.copy_ps_per_byte) / 1000
}

impl<'a, P: Protocol> World<'a, P> {
    /// A run of these processes, on these nodes, by rank.
    pub(crate) fn new(processes: Vec<Process<P>>, nodes: &[u32], config: &'a Config) -> Self {
        let jitter = Jitter::new(config);
        let mut for_cpus = jitter.clone();
        for_cpus.diverge();
        Self {
            cpu: config.network.cpu,
            thread: (config.progress == Progress::Thread).then_some(config.network.thread),
            polls: !config.protocol.is_classical(),
            queue: Queue::default(),
            network: Fabric::new(&config.network, nodes, jitter),
            record: Recorder::new(processes.len() as u32, config.timeline),
            // What it takes to say "done" and to hear of it, with room for the processors.
            lateness: Lateness::new(4 * config.network.remote.latency_ns, config.late_max),
            totals: Totals::new(config.statements_max),
            jitter: for_cpus,
            cores: vec![Core::default(); processes.len()],
            flights: processes.iter().any(|process| process.data.is_some()).then(Flights::default),
            processes,
            config,
            finished_at: 0,
        }
    }

    /// Runs all ranks to their end. `scenario` is given if they execute one; `title` is the title of the report.
    pub(crate) fn run(
        mut self,
        scenario: Option<&Scenario>,
        title: &str,
        watch: &mut dyn FnMut(RunProgress) -> bool,
    ) -> Result<Report, SimError> {
        let mut look_at = LOOK_INTERVAL;
        for rank in 0..self.processes.len() as u32 {
            self.queue.add(0, Occurrence::Cpu { rank, version: 0 });
        }
        while let Some(what) = self.queue.next() {
            self.check_limits()?;
            let events = self.queue.processed();
            if events >= look_at {
                look_at = events + LOOK_INTERVAL;
                let time_ns = self.queue.now();
                if !watch(RunProgress { events, time_ns }) {
                    return Err(SimError::GivenUp { events, time_ns });
                }
            }
            match what {
                Occurrence::Cpu { rank, version } if version == self.cores[rank as usize].version => {
                    self.end_idleness(rank);
                    self.advance(rank)?;
                }
                Occurrence::Cpu { .. } => {}
                Occurrence::Wake { rank } => self.wake(rank)?,
                Occurrence::Flow { flow, version } => self.network.flow_event(flow, version, &mut self.queue),
                Occurrence::Arrive { transfer } => {
                    if self.network.arrived(transfer, &mut self.queue) {
                        self.deliver(transfer)?;
                    }
                }
                Occurrence::Deliver { transfer } => self.deliver(transfer)?,
            }
        }
        self.report(scenario, title)
    }

    fn check_limits(&self) -> Result<(), SimError> {
        let limits = &self.config.limits;
        if self.queue.processed() > limits.events_max {
            Err(SimError::TooManyEvents(limits.events_max))
        } else if self.queue.now() > limits.time_ns_max.min(TIME_NS_MAX) {
            Err(SimError::TooLate(limits.time_ns_max.min(TIME_NS_MAX)))
        } else {
            Ok(())
        }
    }

    /// Advances a CPU that has finished its present work.
    fn advance(&mut self, rank: u32) -> Result<(), SimError> {
        let core = rank as usize;
        loop {
            let now = self.queue.now();
            if let Some((state, since)) = self.cores[core].busy.take() {
                self.record.interval(rank, state, since, now);
            }
            match self.step(rank)? {
                Next::Idle => {
                    self.cores[core].idle = Some(now);
                    return Ok(());
                }
                Next::IdleUntil(until) => {
                    let core = &mut self.cores[core];
                    core.idle = Some(now);
                    self.queue.add(until, Occurrence::Cpu { rank, version: core.version });
                    return Ok(());
                }
                Next::Busy(_, 0) => {}
                Next::Busy(state, ns) => {
                    let until = now.saturating_add(ns);
                    let core = &mut self.cores[core];
                    core.busy = Some((state, now));
                    if state == State::Computing {
                        core.computes_until = until;
                    }
                    if !self.queue.skip_to(until) {
                        self.queue.add(until, Occurrence::Cpu { rank, version: core.version });
                        return Ok(());
                    }
                    self.check_limits()?;
                }
            }
        }
    }

    /// One step of a rank, from the present state of its CPU.
    fn step(&mut self, rank: u32) -> Result<Next, SimError> {
        let now = self.queue.now();
        let cpu = &self.cpu;
        let process = &mut self.processes[rank as usize];
        let library = |ns| Ok(Next::Busy(State::Library, ns));
        match process.phase {
            Phase::Fetch => return self.fetch(rank),
            Phase::Computed => {
                process.end(now, &mut self.totals);
                return library(0);
            }
            Phase::Perform => {
                self.perform(rank)?;
                return library(0);
            }
            Phase::Handle(arrival) => {
                process.phase = Phase::Library;
                debug_assert!(process.outputs.is_empty(), "outputs before the next input");
                self.handle(rank, arrival)?;
                return library(0);
            }
            Phase::Due(window, work) => {
                process.phase = Phase::Library;
                self.perform_of_window(rank, window, work)?;
                return library(0);
            }
            Phase::Library => {}
        }
        // The driver's law: every output, in order, before the next input.
        if let Some(work) = process.outputs.get(process.performed).copied() {
            process.phase = Phase::Perform;
            let Work::Window { window, work } = work else { return library(cost(cpu, &work)) };
            if self.admits(rank, window, work) {
                return library(self.cost_of(rank, &work));
            }
            let process = &mut self.processes[rank as usize];
            process.phase = Phase::Library;
            process.performed += 1;
            return library(0);
        }
        clear(&mut process.outputs);
        process.performed = 0;
        if let Some(copied) = process.windows.take_copied() {
            process.phase = Phase::Handle(copied);
            return library(0);
        }
        if let Some(receive) = process.rank.may_announce() {
            process.phase = Phase::Handle(Arrival::Message(Event::Announce(receive)));
            return library(0);
        }
        // What has arrived goes before a copy: a late grant need not wait for all of them.
        if process.windows.is_due() {
            if self.polls
                && let Some(arrival) = take_first(&mut process.inbox)
            {
                return library(self.begin_to_handle(rank, arrival));
            }
            if let Some((window, work)) = process.windows.take_due() {
                process.phase = Phase::Due(window, work);
                return library(self.cost_of(rank, &work));
            }
        }
        match process.goal {
            Goal::Calls => {
                match process.call() {
                    Ok(true) => {}
                    Ok(false) => {
                        process.look_up();
                        process.goal = Goal::Await;
                    }
                    Err(error) => process.refused(rank, error, now, &mut self.totals)?,
                }
                return library(0);
            }
            Goal::Await => {
                let waits = process.windows.waits_for_grant(now, !process.inbox.is_empty());
                if !waits && process.is_satisfied() {
                    process.end(now, &mut self.totals);
                    return library(0);
                }
            }
            Goal::Poll | Goal::Resume | Goal::Finished => {}
        }
        if let Some(arrival) = take_first(&mut process.inbox) {
            return library(self.begin_to_handle(rank, arrival));
        }
        match process.goal {
            Goal::Poll => {
                process.goal = Goal::Calls;
                library(0)
            }
            Goal::Resume => {
                process.phase = Phase::Computed;
                Ok(Next::Busy(State::Computing, self.cores[rank as usize].left_ns))
            }
            Goal::Await if process.windows.waits_for_grant(now, false) => {
                Ok(process.windows.meanwhile().map_or(Next::Busy(State::Library, 0), Next::IdleUntil))
            }
            Goal::Await | Goal::Finished if process.windows.demand_everything() => library(0),
            Goal::Calls | Goal::Await | Goal::Finished => Ok(Next::Idle),
        }
    }

    /// A rank takes something out of its inbox. Returns the time that handling it takes.
    fn begin_to_handle(&mut self, rank: u32, arrival: Arrival) -> u64 {
        let process = &mut self.processes[rank as usize];
        if let (Some(data), Arrival::Message(Event::Packet { packet: Packet::Eager { .. }, .. })) =
            (&mut process.data, arrival)
        {
            data.handle();
        }
        process.phase = Phase::Handle(arrival);
        self.cost_of_arrival(&arrival)
    }

    /// A rank handles what has arrived.
    fn handle(&mut self, rank: u32, arrival: Arrival) -> Result<(), SimError> {
        match arrival {
            Arrival::Message(event) => {
                let process = &mut self.processes[rank as usize];
                let handled = process.rank.event(event, &mut process.outputs);
                handled.map_err(|error| SimError::Broken { rank, line: process.line(), error })
            }
            Arrival::Window(window, event) => self.tell_window(rank, window, event),
            Arrival::Apply { from, window, operation, accumulation } => {
                self.apply(rank, from, (window, operation), accumulation)
            }
        }
    }

    /// Begins the next statement.
    fn fetch(&mut self, rank: u32) -> Result<Next, SimError> {
        let now = self.queue.now();
        let process = &mut self.processes[rank as usize];
        let compute = |ns| Next::Busy(State::Computing, ns);
        Ok(match process.begin(now, &mut self.totals)? {
            None => {
                self.finished_at = self.finished_at.max(now);
                Next::Busy(State::Library, 0)
            }
            Some(action @ (Action::Compute(_) | Action::Touch(_) | Action::Create(_))) => {
                if !process.inbox.is_empty() {
                    self.call_thread(rank);
                }
                match action {
                    Action::Compute(ns) => compute(self.jitter.lengthen(ns)),
                    Action::Touch(bytes) => compute(copy_ns(&self.cpu, bytes)),
                    _ => compute(0),
                }
            }
            Some(_) => {
                process.phase = Phase::Library;
                process.goal = if self.polls || process.tests { Goal::Poll } else { Goal::Calls };
                Next::Busy(State::Library, self.cpu.call_ns)
            }
        })
    }

    /// Carries out the next output of a rank.
    fn perform(&mut self, rank: u32) -> Result<(), SimError> {
        let (now, queue) = (self.queue.now(), &mut self.queue);
        let process = &mut self.processes[rank as usize];
        let work = process.outputs[process.performed];
        process.performed += 1;
        process.phase = Phase::Library;
        match work {
            Work::Send { to: RankId(to), context, packet, data: memory } => {
                let len = if let Packet::Eager { len, .. } = packet { len } else { 0 };
                let transfer =
                    self.network.post(rank, to, Load::Packet { context, packet, data: len }, queue);
                if let (Some(flights), Some(data), Packet::Eager { .. }, Some(memory)) =
                    (&mut self.flights, &process.data, packet, memory)
                {
                    flights.eager.insert(transfer, data.bytes(memory, len).to_vec());
                }
            }
            Work::Write { context, write, .. } => {
                let Write { to: RankId(to), from, into, len, notice, request } = write;
                if let Some(flights) = &mut self.flights {
                    flights.writes.insert((rank, request), (from, into));
                }
                let owner = Owner::Message(request);
                self.network.post(rank, to, Load::Write { owner, len }, queue);
                // Write and notice are one list of work requests, handed to the card at once.
                if let Some(packet) = notice {
                    self.network.post(rank, to, Load::Packet { context, packet, data: 0 }, queue);
                }
            }
            Work::Read { context, read, .. } => {
                let Read { of: RankId(of), from, into, len, notice, request } = read;
                if let Some(flights) = &mut self.flights {
                    flights.reads.insert((rank, request), (from, into));
                }
                let notice = notice.map(|packet| (context, packet));
                let owner = Owner::Message(request);
                self.network.post(rank, of, Load::ReadRequest { owner, len, notice }, queue);
            }
            Work::Window { window, work } => return self.perform_of_window(rank, window, work),
            Work::Complete { request, status } => {
                if let (Some(Failure::Truncated { sent }), Driver::Script(_)) =
                    (status.failure, &process.driver)
                {
                    let line = match process.statement_of(request) {
                        Some(statement) => process.line_of(statement, &self.totals),
                        None => process.line(),
                    };
                    return Err(SimError::Truncated { rank, line, sent, room: status.len });
                }
                process.completed(request, now, &mut self.totals);
            }
            Work::Place { .. }
            | Work::Keep { .. }
            | Work::Take { .. }
            | Work::Copy { .. }
            | Work::Combine { .. } => {
                if let Some(data) = &mut process.data {
                    data.perform(work);
                }
            }
        }
        Ok(())
    }

    fn deliver(&mut self, transfer: u32) -> Result<(), SimError> {
        let Transfer { from, to, load, .. } =
            self.network.deliver(transfer, &mut self.queue, &mut self.record);
        if self.flights.is_some() {
            self.land(transfer, (from, to), &load);
        }
        match load {
            Load::Packet { context, packet, .. } => {
                self.arrive(to, Arrival::Message(Event::Packet { from: RankId(from), context, packet }))
            }
            Load::Written { owner: Owner::Message(request) } => {
                self.arrive(to, Arrival::Message(Event::Written(request)))
            }
            Load::ReadData { owner: Owner::Message(request), .. } => {
                self.arrive(to, Arrival::Message(Event::Read(request)))
            }
            load => match self.arrival((from, to), &load)? {
                Some(arrival) => self.arrive(to, arrival),
                None => Ok(()),
            },
        }
    }

    /// The bytes of what is delivered are where they belong.
    fn land(&mut self, transfer: u32, (from, to): (u32, u32), load: &Load) {
        let Some(flights) = &mut self.flights else { return };
        let (eager, moved) = match load {
            Load::Packet { packet: Packet::Eager { .. }, .. } => (flights.eager.remove(&transfer), None),
            Load::Write { owner: Owner::Message(request), len } => {
                (None, flights.writes.remove(&(from, *request)).zip(Some(*len)))
            }
            Load::ReadData { owner: Owner::Message(request), len, .. } => {
                (None, flights.reads.remove(&(to, *request)).zip(Some(*len)))
            }
            _ => return,
        };
        let bytes = match (eager, moved, &self.processes[from as usize].data) {
            (_, Some(((memory, _), len)), Some(data)) => data.bytes(memory, len).to_vec(),
            (eager, ..) => eager.unwrap_or_default(),
        };
        if let Some(data) = &mut self.processes[to as usize].data {
            match moved {
                Some(((_, into), _)) => data.write(into, &bytes),
                None => data.arrive(bytes),
            }
        }
    }

    /// An event has arrived in a rank's inbox.
    fn arrive(&mut self, rank: u32, arrival: Arrival) -> Result<(), SimError> {
        self.processes[rank as usize].inbox.push_back(arrival);
        if self.end_idleness(rank) {
            return self.advance(rank);
        }
        if matches!(self.cores[rank as usize].busy, Some((State::Computing, _))) {
            self.call_thread(rank);
        }
        Ok(())
    }

    /// A CPU has something to do; false if it has had before.
    fn end_idleness(&mut self, rank: u32) -> bool {
        let core = &mut self.cores[rank as usize];
        let Some(since) = core.idle.take() else { return false };
        // The end of its patience is of no interest any more.
        core.version = core.version.wrapping_add(1);
        if !self.processes[rank as usize].has_finished() {
            self.record.interval(rank, State::Waiting, since, self.queue.now());
        }
        true
    }

    /// Wakes the progress thread, if there is one.
    fn call_thread(&mut self, rank: u32) {
        let core = &mut self.cores[rank as usize];
        if let Some(thread) = self.thread.filter(|_| !core.woken) {
            core.woken = true;
            self.queue.add(self.queue.now() + thread.wake_ns, Occurrence::Wake { rank });
        }
    }

    /// The progress thread runs: a computation has to wait meanwhile.
    fn wake(&mut self, rank: u32) -> Result<(), SimError> {
        let now = self.queue.now();
        let core = &mut self.cores[rank as usize];
        core.woken = false;
        let (Some((State::Computing, since)), Some(thread)) = (core.busy, self.thread) else { return Ok(()) };
        let process = &mut self.processes[rank as usize];
        if process.inbox.is_empty() || process.phase != Phase::Computed {
            return Ok(());
        }
        self.record.interval(rank, State::Computing, since, now);
        core.left_ns = core.computes_until - now;
        core.version = core.version.wrapping_add(1);
        core.busy = Some((State::Library, now));
        (process.phase, process.goal) = (Phase::Library, Goal::Resume);
        let until = now + thread.switch_ns;
        self.queue.add(until, Occurrence::Cpu { rank, version: core.version });
        Ok(())
    }

    fn report(self, scenario: Option<&Scenario>, title: &str) -> Result<Report, SimError> {
        let stuck: Vec<_> =
            (0..).zip(&self.processes).filter(|(_, process)| !process.has_finished()).collect();
        if !stuck.is_empty() {
            let stuck = stuck
                .into_iter()
                .map(|(rank, process)| process.stuck(rank, scenario, &self.totals))
                .collect();
            return Err(SimError::Deadlock { at_ns: self.queue.now(), stuck });
        }
        let us = |ns: u64| ns as f64 / 1000.0;
        let mut statements = Vec::new();
        if self.totals.records() {
            let recorded = |process: &Process<P>| process.executed.recorded().len();
            statements.reserve_exact(self.processes.iter().map(recorded).sum());
            let mut files = Files::new();
            for (rank, process) in (0..).zip(&self.processes) {
                process.statements(rank, &self.totals, &mut files, &mut statements);
            }
        }
        let (late, late_count) = self.lateness.finish();
        let (timeline, statistics) = self.record.finish(self.queue.processed());
        Ok(Report {
            scenario: title.to_owned(),
            network: self.config.network.name.clone(),
            makespan_us: us(self.finished_at),
            statements,
            lines: self.totals.finish(),
            late,
            late_count,
            timeline,
            statistics,
        })
    }
}

/// The cost of an output for the CPU.
fn cost(cpu: &Cpu, work: &Work) -> u64 {
    match work {
        Work::Send { packet: Packet::Eager { len, .. }, .. } => cpu.post_ns + copy_ns(cpu, *len),
        Work::Send { .. } | Work::Write { .. } | Work::Read { .. } => cpu.post_ns,
        Work::Place { len, .. } | Work::Keep { len, .. } | Work::Take { len, .. } => copy_ns(cpu, *len),
        // A combination costs as much as a copy: it reads one more operand, and computes while it waits for the
        // operands.
        Work::Copy { len, .. } | Work::Combine { len, .. } => copy_ns(cpu, *len),
        Work::Window { .. } | Work::Complete { .. } => 0,
    }
}
