//! One rank of a scenario in a real run: its statements as calls of the library.

use crate::arrived::{Arrived, Contents};
use crate::envelope::{member, of_job, received, selector, source};
use crate::error::{FailedStatement, RunError};
use crate::memory::{Memory, Supply};
use carrousel::{CallSite, Communicator, Error, Request, SourceLine, Status};
use carrousel_program::{
    self as program, Action, Buffer, BufferId, Collective, Kind, Members, Operation, Ordinal, Program,
    Receive, Received, RequestId, Send, mpi,
};
use carrousel_scenario::Scenario;
use std::collections::HashMap;
use std::mem;
use std::time::{Duration, Instant};

/// The times at which one statement was called, returned, and was complete, in seconds since the start. NaN if it
/// never was.
pub type Times = [f64; 3];

/// The result of one statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Done {
    /// The times of the statement.
    pub times: Times,
    /// For a send: its receiver, as a rank of the job, and its tag.
    pub sent: Option<(u32, u32)>,
    /// For a receive that is complete: its message, with its source as a rank of the job.
    pub received: Option<Status>,
}

/// Runs the program of this rank, of a job as large as the scenario; all ranks call it. The clocks start at the end
/// of a barrier, so they agree as far as it ends at one time for all.
///
/// # Errors
/// If a statement fails, or has a wrong result.
pub fn run_scenario(
    world: &Communicator,
    scenario: &Scenario,
    program: &Program,
) -> Result<Vec<Done>, FailedStatement> {
    // Its memory is there before the clock starts.
    let mut runner = Runner::new(world, scenario, program);
    let line = |at: usize| if at < program.len() { program.statement(at).line() } else { 0 };
    let begun = world.at(site(scenario, line(0))).barrier();
    begun.map_err(|error| FailedStatement { line: line(0), error: error.into() })?;
    runner.run().map_err(|(at, error)| FailedStatement { line: line(at), error })?;
    Ok(runner.done)
}

/// The call site for a line of a scenario; line 0 is its end.
pub fn site(scenario: &Scenario, line: u32) -> CallSite {
    CallSite::Script(Box::leak(Box::new(SourceLine { file: scenario.file.clone(), line })))
}

/// The call site of each statement of a program, for reports about its calls. They live as long as the process: there
/// is one for each line.
fn sites(scenario: &Scenario, program: &Program) -> Vec<CallSite> {
    let mut known = HashMap::new();
    let lines = program.statements().map(|statement| statement.line());
    lines.map(|line| *known.entry(line).or_insert_with(|| site(scenario, line))).collect()
}

/// The purpose of a request.
struct Open {
    request: Request<u8>,
    statement: usize,
    /// For a receive: its named buffer, if it has one.
    receives: Option<Option<BufferId>>,
}

/// A rank that executes its program.
pub(crate) struct Runner<'a> {
    /// The communicators of the program.
    communicators: Vec<(program::Communicator, Communicator)>,
    /// The one of the statement that is executed; its calls are at the line of the statement.
    on: Communicator,

    /// The call site of each statement.
    sites: Vec<CallSite>,
    program: &'a Program,
    begin: Instant,
    /// The statement that is executed.
    at: usize,
    done: Vec<Done>,
    supply: Supply<'a>,
    contents: Contents<'a>,
    /// Send memory that is not needed any more.
    spent: Vec<Vec<u8>>,
    /// Requests that are not waited for.
    open: HashMap<Ordinal, Open>,
    /// The message that each name stands for.
    received: Vec<Option<Received>>,
}

impl<'a> Runner<'a> {
    /// A rank at the start of its program, with its memory as far as it is made ahead.
    pub(crate) fn new(world: &Communicator, scenario: &Scenario, program: &'a Program) -> Self {
        let statements = program.len();
        Self {
            communicators: vec![(program::Communicator::WORLD, world.clone())],
            on: world.clone(),
            sites: sites(scenario, program),
            program,
            begin: Instant::now(),
            at: 0,
            // NaN, not zeroes: for zeroes, the system would leave the pages untouched.
            done: vec![Done { times: [f64::NAN; 3], sent: None, received: None }; statements],
            supply: Supply::new(program, world.rank(), world.size()),
            contents: Contents::new(program, world.rank()),
            spent: Vec::with_capacity(statements),
            open: HashMap::with_capacity(statements),
            received: vec![None; program.names()],
        }
    }

    /// Runs the program to its end. `Err` names the statement that failed, by position.
    pub(crate) fn run(&mut self) -> Result<(), (usize, RunError)> {
        self.begin = Instant::now();
        for (at, statement) in self.program.statements().enumerate() {
            self.at = at;
            self.on = self.communicator(statement.communicator()).at(self.sites[at]);
            let begin = self.now();
            self.done[at].times = [begin, begin, f64::NAN];
            self.carry_out(at).map_err(|error| (at, error))?;
            if !statement.outline().starts_request() {
                self.done[at].times[2] = self.done[at].times[1];
            }
        }
        // A request that the program never completes is a leak that the checker reports. Here it must not keep the
        // rank from its end, so its memory stays until the process is gone.
        for (_, open) in self.open.drain() {
            mem::forget(open.request);
        }
        self.contents.check_all()
    }

    fn communicator(&self, communicator: program::Communicator) -> &Communicator {
        let found = self.communicators.iter().find(|(known, _)| *known == communicator);
        found.map(|(_, it)| it).unwrap_or_else(|| unreachable!("a program makes {communicator:?} first"))
    }

    /// The members of the communicator of a statement.
    fn members(&self, at: usize) -> &'a Members {
        let program = self.program;
        program.members(program.statement(at).communicator())
    }

    fn now(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    /// Notes the times at which the present statement was called and returned.
    fn called(&mut self, begin: f64, end: f64) {
        let times = &mut self.done[self.at].times;
        (times[0], times[1]) = (begin, end);
    }

    /// The time of the call alone.
    fn timed<T>(&mut self, call: impl FnOnce(&Communicator) -> Result<T, Error>) -> Result<T, Error> {
        let begin = self.now();
        let result = call(&self.on);
        let end = self.now();
        self.called(begin, end);
        result
    }

    fn carry_out(&mut self, at: usize) -> Result<(), RunError> {
        let statement = self.program.statement(at);
        let action = statement.action(|name| self.received[name.0 as usize])?;
        let memory = self.supply.take(at, &action);
        match action {
            Action::Compute { ns } => {
                let busy = Duration::from_nanos(ns);
                self.timed(|_| {
                    let begin = Instant::now();
                    while begin.elapsed() < busy {
                        std::hint::spin_loop();
                    }
                    Ok(())
                })?;
            }
            Action::Touch { buffer, write } => {
                let begin = self.now();
                match write {
                    true => self.contents.write(buffer),
                    false => self.contents.read(buffer),
                }
                let end = self.now();
                self.called(begin, end);
            }
            Action::Start { operation: Operation::Send(send), blocking } => {
                self.send(&send, blocking, memory)?;
            }
            Action::Start { operation: Operation::Receive(receive), blocking } => {
                self.receive(&receive, blocking, memory)?;
            }
            Action::Start { operation: Operation::Collective(call), blocking } => {
                self.collective(&call, blocking, memory)?;
            }
            Action::Split { color, key, made, .. } => {
                let own = self.timed(|parent| parent.split(color, key))?;
                self.communicators.extend(made.zip(own));
            }
            Action::Exchange { send, receive } => {
                let Memory { outgoing, incoming: mut buffer } = memory;
                let members = self.members(at);
                let (to, send_tag) = (member(send.to, members), mpi::number(send.tag));
                self.done[at].sent = Some((send.to.0, send_tag));
                let (from, tag) = (source(receive.from, members), selector(receive.tag));
                let status = self.timed(|on| on.sendrecv(&outgoing, to, send_tag, &mut buffer, from, tag))?;
                self.keep(at, outgoing);
                self.received_by_statement(at, buffer, named(receive.buffer), status)?;
            }
            Action::Access(_) | Action::TouchWindow(_) | Action::Synchronize(_) => {
                unreachable!("a scenario with windows is refused")
            }
            Action::Probe(pattern) => {
                let (from, tag) = (source(pattern.source, self.members(at)), selector(pattern.tag));
                let status = self.timed(|on| on.probe(from, tag))?;
                self.learn(statement.bind(), status);
            }
            Action::Wait(requests) => self.complete(requests)?,
            Action::Test(request) => {
                let begin = self.now();
                let open = request.and_then(|request| self.open.get_mut(&request));
                let is_complete = open.is_some_and(|open| open.request.test());
                self.complete(request.filter(|_| is_complete).as_slice())?;
                self.done[at].times[0] = begin;
            }
        }
        Ok(())
    }

    fn send(&mut self, send: &Send, blocking: bool, memory: Memory) -> Result<(), RunError> {
        let (at, buffer) = (self.at, memory.outgoing);
        let (to, tag) = (member(send.to, self.members(at)), mpi::number(send.tag));
        self.done[at].sent = Some((send.to.0, tag));
        match (send.synchronous, blocking) {
            (false, true) => self.timed(|on| on.send(&buffer, to, tag))?,
            (true, true) => self.timed(|on| on.ssend(&buffer, to, tag))?,
            (synchronous, false) => {
                let request = self.timed(|on| match synchronous {
                    false => on.isend(buffer, to, tag),
                    true => on.issend(buffer, to, tag),
                })?;
                self.opened(request, None);
                return Ok(());
            }
        }
        self.keep(at, buffer);
        Ok(())
    }

    fn receive(&mut self, receive: &Receive, blocking: bool, memory: Memory) -> Result<(), RunError> {
        let from = source(receive.from, self.members(self.at));
        let (tag, mut buffer) = (selector(receive.tag), memory.incoming);
        let named = named(receive.buffer);
        if blocking {
            let status = self.timed(|on| on.recv(&mut buffer, from, tag))?;
            return self.received_by_statement(self.at, buffer, named, status);
        }
        let request = self.timed(|on| on.irecv(buffer, from, tag))?;
        self.opened(request, Some(named));
        Ok(())
    }

    /// A collective whose contributions every rank knows, see [`crate::payload::contribution`]. A reduction combines
    /// by exclusive or.
    fn collective(&mut self, call: &Collective, blocking: bool, memory: Memory) -> Result<(), RunError> {
        let Memory { mut outgoing, mut incoming } = memory;
        let (at, root) = (self.at, call.root);
        let xor = |left: u8, right: u8| left ^ right;
        match call.kind {
            Kind::Barrier if !blocking => {
                let request = self.timed(Communicator::ibarrier)?;
                self.opened(request, None);
                return Ok(());
            }
            Kind::Barrier => return Ok(self.timed(Communicator::barrier)?),
            Kind::Broadcast => {
                let data = if self.on.rank() == root { &mut outgoing } else { &mut incoming };
                self.timed(|on| on.broadcast(data, root))?;
            }
            Kind::Reduce => self.timed(|on| on.reduce(&outgoing, &mut incoming, root, xor))?,
            Kind::AllReduce => self.timed(|on| on.allreduce(&outgoing, &mut incoming, xor))?,
            Kind::Gather => self.timed(|on| on.gather(&outgoing, &mut incoming, root))?,
            Kind::AllGather => self.timed(|on| on.allgather(&outgoing, &mut incoming))?,
            Kind::AllToAll => self.timed(|on| on.alltoall(&outgoing, &mut incoming))?,
        }
        self.keep(at, outgoing);
        let ahead = self.supply.is_ahead(at);
        self.come(Arrived { statement: at, buffer: incoming, status: None, named: None, ahead })
    }

    /// The statement has started its request.
    fn opened(&mut self, request: Request<u8>, receives: Option<Option<BufferId>>) {
        let number = self.program.statement(self.at).requests().start;
        self.open.insert(number, Open { request, statement: self.at, receives });
    }

    /// A name stands for this message from now on.
    fn learn(&mut self, name: Option<RequestId>, message: Status) {
        if let Some(name) = name {
            self.received[name.0 as usize] = Some(received(message));
        }
    }

    /// The receive that a statement has started is complete.
    fn received_by_statement(
        &mut self,
        at: usize,
        buffer: Vec<u8>,
        named: Option<BufferId>,
        status: Status,
    ) -> Result<(), RunError> {
        self.learn(self.program.statement(at).name_of_message(), status);
        let ahead = self.supply.is_ahead(at);
        self.come(Arrived { statement: at, buffer, status: Some(status), named, ahead })
    }

    fn come(&mut self, arrived: Arrived) -> Result<(), RunError> {
        let status = arrived.status.map(|status| of_job(status, self.members(arrived.statement)));
        self.done[arrived.statement].received = status;
        self.contents.come(Arrived { status, ..arrived })
    }

    /// Keeps send memory, because freeing it would take time.
    fn keep(&mut self, statement: usize, buffer: Vec<u8>) {
        if self.supply.is_ahead(statement) {
            self.spent.push(buffer);
        }
    }

    /// Waits for requests, except those that have been waited for.
    fn complete(&mut self, requests: &[Ordinal]) -> Result<(), RunError> {
        let mut ended = Vec::with_capacity(requests.len());
        let begin = self.now();
        for number in requests {
            let Some(Open { request, statement, receives }) = self.open.remove(number) else { continue };
            let (buffer, status) = request.wait_at(self.sites[self.at])?;
            self.done[statement].times[2] = self.now();
            ended.push((statement, buffer, status, receives));
        }
        let end = self.now();
        self.called(begin, end);
        for (statement, buffer, status, receives) in ended {
            match (status, receives) {
                (Some(status), Some(named)) => {
                    self.received_by_statement(statement, buffer, named, status)?;
                }
                _ => self.keep(statement, buffer),
            }
        }
        Ok(())
    }
}

/// The named buffer among buffers.
fn named(buffer: Buffer) -> Option<BufferId> {
    match buffer {
        Buffer::Named(name) => Some(name),
        Buffer::Own(_) => None,
    }
}

#[cfg(test)]
impl Runner<'_> {
    /// The sum of everything that the program has read from its buffers.
    pub(crate) fn read(&self) -> u64 {
        self.contents.read
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrousel::threads;
    use carrousel_program::programs;
    use std::fs;

    /// Page faults of this thread so far.
    fn faults() -> u64 {
        let stat = fs::read_to_string("/proc/thread-self/stat").expect("the kernel says");
        // The eighth field behind the name, which is in brackets and may contain anything.
        let fields = stat.rsplit_once(')').expect("there is a name").1;
        fields.split_whitespace().nth(7).and_then(|field| field.parse().ok()).expect("a number")
    }

    /// Page faults of each rank of a job of two while its clock runs.
    fn faults_of(text: &str) -> Vec<Result<u64, String>> {
        let scenario = carrousel_scenario::load("test.scn", text.as_bytes()).expect("it is right");
        let programs = programs(&scenario).expect("it can be run");
        let all = threads(2, |world| {
            let mut runner = Runner::new(world, &scenario, &programs[world.rank() as usize]);
            world.barrier().expect("the other is there");
            let before = faults();
            runner.run().map_err(|(at, error)| format!("{at}: {error}"))?;
            Ok::<u64, String>(faults() - before)
        });
        all.expect("the job can be set up")
    }

    #[test]
    fn memory_of_messages_is_touched_before_the_clock_starts() {
        let text = "ranks 2\nrank *\n  a = irecv from 1-me tag 0 size 8MiB\n  b = isend to 1-me tag 0 size 8MiB\n  \
                    wait a b\n  sendrecv to 1-me tag 1 size 8MiB from 1-me tag 1 size 8MiB\n  read buf r\n  \
                    c = irecv from 1-me tag 2 size 8MiB buf r\n  send to 1-me tag 2 size 8MiB\n  wait c\n  \
                    read buf r\n  write buf r\n";
        for faults in faults_of(text) {
            // The messages alone have 12,288 pages; those of the transport are few.
            let faults = faults.expect("all bytes are right");
            assert!(faults < 1500, "{faults} page faults while the clock ran");
        }
    }

    #[test]
    fn memory_of_answers_to_whoever_asks_is_touched_before_the_clock_starts() {
        let text = "ranks 2\nrank 0\n  repeat 2\n  r = recv from any tag any size 8MiB\n  \
                    send to source(r) tag tag(r) size 8MiB\n  end\nrank 1\n  send to 0 tag 3 size 8MiB\n  \
                    r = recv from 0 tag any size 8MiB\n  sendrecv to source(r) tag 1 size 8MiB from source(r) \
                    tag any size 8MiB\n";
        for faults in faults_of(text) {
            let faults = faults.expect("all bytes are right");
            assert!(faults < 1500, "{faults} page faults while the clock ran");
        }
    }
}
