//! One rank of a scenario in a real run: its statements as calls of the library.

use crate::arrived::{Arrived, Contents};
use crate::envelope::{received, selector, source};
use crate::error::{FailedStatement, RunError};
use crate::memory::{Memory, Supply};
use carrousel::{CallSite, Communicator, Error, Request, SourceLine, Status};
use carrousel_program::{
    Action, Buffer, BufferId, Collective, Kind, Operation, Ordinal, Program, Receive, Received, RequestId,
    Send, mpi,
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
    /// For a send: its receiver and its tag.
    pub sent: Option<(u32, u32)>,
    /// For a receive that is complete: its message.
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
    /// The communicator; its calls are at the line of the statement that is executed.
    world: Communicator,
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
            world: world.clone(),
            sites: sites(scenario, program),
            program,
            begin: Instant::now(),
            at: 0,
            // NaN, not zeroes: for zeroes, the system would leave the pages untouched.
            done: vec![Done { times: [f64::NAN; 3], sent: None, received: None }; statements],
            supply: Supply::new(program, world.rank(), world.size()),
            contents: Contents::new(program, world.rank(), world.size()),
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
            self.world = self.world.at(self.sites[at]);
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
        let result = call(&self.world);
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
            Action::Exchange { receive, send } => {
                let Memory { outgoing, incoming: mut buffer } = memory;
                let (to, send_tag) = (send.to.0, mpi::number(send.tag));
                self.done[at].sent = Some((to, send_tag));
                let (from, tag) = (source(receive.from), selector(receive.tag));
                let status =
                    self.timed(|world| world.sendrecv(&outgoing, to, send_tag, &mut buffer, from, tag))?;
                self.keep(at, outgoing);
                self.received_by_statement(at, buffer, named(receive.buffer), status)?;
            }
            Action::Probe(pattern) => {
                let (from, tag) = (source(pattern.source), selector(pattern.tag));
                let status = self.timed(|world| world.probe(from, tag))?;
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
        let (to, tag) = (send.to.0, mpi::number(send.tag));
        self.done[at].sent = Some((to, tag));
        match (send.synchronous, blocking) {
            (false, true) => self.timed(|world| world.send(&buffer, to, tag))?,
            (true, true) => self.timed(|world| world.ssend(&buffer, to, tag))?,
            (synchronous, false) => {
                let request = self.timed(|world| match synchronous {
                    false => world.isend(buffer, to, tag),
                    true => world.issend(buffer, to, tag),
                })?;
                self.opened(request, None);
                return Ok(());
            }
        }
        self.keep(at, buffer);
        Ok(())
    }

    fn receive(&mut self, receive: &Receive, blocking: bool, memory: Memory) -> Result<(), RunError> {
        let (from, tag, mut buffer) = (source(receive.from), selector(receive.tag), memory.incoming);
        let named = named(receive.buffer);
        if blocking {
            let status = self.timed(|world| world.recv(&mut buffer, from, tag))?;
            return self.received_by_statement(self.at, buffer, named, status);
        }
        let request = self.timed(|world| world.irecv(buffer, from, tag))?;
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
                let data = if self.world.rank() == root { &mut outgoing } else { &mut incoming };
                self.timed(|world| world.broadcast(data, root))?;
            }
            Kind::Reduce => self.timed(|world| world.reduce(&outgoing, &mut incoming, root, xor))?,
            Kind::AllReduce => self.timed(|world| world.allreduce(&outgoing, &mut incoming, xor))?,
            Kind::Gather => self.timed(|world| world.gather(&outgoing, &mut incoming, root))?,
            Kind::AllGather => self.timed(|world| world.allgather(&outgoing, &mut incoming))?,
            Kind::AllToAll => self.timed(|world| world.alltoall(&outgoing, &mut incoming))?,
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
        let request = self.program.statement(at).requests().start;
        self.learn(self.program.name_of_message(request), status);
        let ahead = self.supply.is_ahead(at);
        self.come(Arrived { statement: at, buffer, status: Some(status), named, ahead })
    }

    fn come(&mut self, arrived: Arrived) -> Result<(), RunError> {
        self.done[arrived.statement].received = arrived.status;
        self.contents.come(arrived)
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
