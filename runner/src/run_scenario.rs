//! One rank of a scenario, for real: its statements as calls of the library.
//!
//! Every message has memory of its own, also if it is of a named buffer: whether a program uses buffers rightly is for
//! `verify` to find, not for luck. What a program reads of a named buffer is what has last come into it, or what it has
//! written since; what it writes is memory of the buffer's own.
//!
//! Nothing but the statements happens while the clock runs: their memory is made before, and what has come is compared
//! after. Where `source(NAME)` or `tag(NAME)` stands, that is so as far as the values are known before.

use crate::arrived::{Arrived, Named};
use crate::memory::{Memory, Supply, checksum, empty};
use carrousel::{Any, CallSite, Communicator, Error, Request, Source, SourceLine, Status, Tag};
use carrousel_scenario::{
    self as scenario, BufferId, Op, Program, Received, RequestId, Scenario, Step, TagSelector, ValueError,
};
use std::collections::HashMap;
use std::hint::black_box;
use std::mem;
use std::time::{Duration, Instant};
use thiserror::Error;

/// When one statement was called, returned, and was complete, in seconds since the start; not a number
/// when that never was.
pub type Times = [f64; 3];

/// What came of one statement.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Done {
    /// When.
    pub times: Times,
    /// Of a send: to which rank, and with which tag.
    pub sent: Option<(u32, u32)>,
    /// Of a receive that is complete: the message.
    pub received: Option<Status>,
}

/// Why a rank cannot go on.
#[derive(Debug, Error)]
pub enum PlayError {
    /// The library says so.
    #[error("{0}")]
    Library(#[from] Error),
    /// A message arrived changed.
    #[error("byte {at} of the {len} bytes from rank {from} with tag {tag} is not what was sent")]
    Changed {
        /// The sender.
        from: u32,
        /// The tag.
        tag: u32,
        /// The position of the first wrong byte.
        at: usize,
        /// Bytes of the message.
        len: usize,
    },
    /// A collective has brought what it should not.
    #[error("byte {at} of the {len} bytes that `{name}` has brought is wrong")]
    WrongResult {
        /// The statement's keyword.
        name: &'static str,
        /// The position of the first wrong byte.
        at: usize,
        /// Bytes of the result.
        len: usize,
    },
    /// A value that only this run has leaves its range.
    #[error("{0}")]
    OutOfRange(#[from] ValueError),
    /// A statement that cannot be run yet.
    #[error("`{0}` cannot be run yet")]
    Unsupported(&'static str),
}

/// What a request was started for.
struct Open {
    request: Request<u8>,
    statement: usize,
    receives: bool,
}

/// A rank at its program.
pub struct Player<'a> {
    /// The communicator; its calls are at the line of the statement that is executed.
    pub(crate) world: Communicator,
    /// Where each statement is.
    sites: Vec<CallSite>,
    pub(crate) program: &'a Program,
    begin: Instant,
    /// The statement that is executed.
    at: usize,
    pub(crate) done: Vec<Done>,
    pub(crate) supply: Supply<'a>,
    pub(crate) arrived: Vec<Arrived>,
    /// What was sent from, and is not needed any more.
    pub(crate) spent: Vec<Vec<u8>>,
    pub(crate) buffers: Vec<Named>,
    /// What the program has read of its buffers, summed up.
    pub(crate) read: u64,
    /// How often it has written one.
    writes: u8,
    /// Requests that are not waited for, by the order of their start.
    open: HashMap<u64, Open>,
    started: u64,
    /// What each variable holds.
    variables: Vec<Option<u64>>,
    /// The message that each variable stands for.
    received: Vec<Option<Received>>,
}

/// Where each statement of a program is, for reports about its calls. As long as the process lives: there is one of each
/// line.
fn sites(scenario: &Scenario, program: &Program) -> Vec<CallSite> {
    let mut known = HashMap::new();
    let site = |step: &Step| *known.entry(step.line).or_insert_with(|| site(scenario, step.line));
    program.steps.iter().map(site).collect()
}

/// A line of a scenario; 0 is its end.
pub fn site(scenario: &Scenario, line: u32) -> CallSite {
    CallSite::Script(Box::leak(Box::new(SourceLine { file: scenario.file.clone(), line })))
}

fn source(from: scenario::Source) -> Source {
    match from {
        scenario::Source::Rank(rank) => rank.into(),
        scenario::Source::Any => Any.into(),
    }
}

fn selector(tag: TagSelector) -> Tag {
    match tag {
        TagSelector::Tag(tag) => tag.into(),
        TagSelector::Any => Any.into(),
    }
}

impl<'a> Player<'a> {
    /// With all its memory, as far as it is made ahead.
    pub fn new(world: &Communicator, scenario: &'a Scenario) -> Self {
        let program = scenario.program(world.rank());
        let statements = program.steps.len();
        let named = |buffer: &scenario::Buffer| Named { own: empty(buffer.size), come: None };
        Self {
            world: world.clone(),
            sites: sites(scenario, program),
            program,
            begin: Instant::now(),
            at: 0,
            // No zeroes, for which untouched pages would do.
            done: vec![Done { times: [f64::NAN; 3], sent: None, received: None }; statements],
            supply: Supply::new(program, world.rank(), world.size()),
            arrived: Vec::with_capacity(statements),
            spent: Vec::with_capacity(statements),
            buffers: program.buffers.iter().map(named).collect(),
            read: 0,
            writes: 0,
            open: HashMap::with_capacity(statements),
            started: 0,
            variables: vec![None; program.requests.len()],
            received: vec![None; program.requests.len()],
        }
    }

    /// Runs the program to its end. `Err` names the statement that failed, by position.
    ///
    /// # Errors
    /// When a statement fails, or has brought something wrong.
    pub fn play(mut self) -> Result<Vec<Done>, (usize, PlayError)> {
        self.run()?;
        Ok(self.done)
    }

    pub(crate) fn run(&mut self) -> Result<(), (usize, PlayError)> {
        self.begin = Instant::now();
        for at in 0..self.program.steps.len() {
            self.at = at;
            let step = &self.program.steps[at];
            self.world = self.world.at(self.sites[at]);
            let begin = self.now();
            self.done[at].times = [begin, begin, f64::NAN];
            self.statement(at).map_err(|error| (at, error))?;
            if !step.op.starts_request() {
                self.done[at].times[2] = self.done[at].times[1];
            }
        }
        // A request that the program never completes is a leak that `verify` reports. Here it must not
        // keep the rank from its end: its memory stays until the process is gone.
        for (_, open) in self.open.drain() {
            mem::forget(open.request);
        }
        for arrived in self.arrived.iter().filter(|arrived| self.is_ahead(arrived.statement)) {
            self.check(arrived).map_err(|error| (arrived.statement, error))?;
        }
        Ok(())
    }

    fn now(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    /// When the statement that is executed was called, and returned.
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

    fn statement(&mut self, at: usize) -> Result<(), PlayError> {
        let program = self.program;
        let bind = program.steps[at].bind;
        let resolved;
        let op = match &program.steps[at].op {
            Op::Deferred(deferred) => {
                resolved = deferred.resolve(|name| self.received[name.0 as usize])?;
                &resolved
            }
            op => op,
        };
        let Memory { outgoing, incoming } = self.supply.take(at, op);
        match op {
            Op::Compute { ns } => {
                let busy = Duration::from_nanos(*ns);
                self.timed(|_| {
                    let begin = Instant::now();
                    while begin.elapsed() < busy {
                        std::hint::spin_loop();
                    }
                    Ok(())
                })?;
            }
            Op::Send { to, tag, synchronous, blocking, .. } => {
                let (to, tag) = (*to, *tag);
                self.done[at].sent = Some((to, tag));
                match (synchronous, blocking) {
                    (false, true) => self.timed(|world| world.send(&outgoing, to, tag))?,
                    (true, true) => self.timed(|world| world.ssend(&outgoing, to, tag))?,
                    (synchronous, false) => {
                        let request = self.timed(|world| match synchronous {
                            false => world.isend(outgoing, to, tag),
                            true => world.issend(outgoing, to, tag),
                        })?;
                        self.opened(at, false, request);
                        return Ok(());
                    }
                }
                self.keep(at, outgoing);
            }
            Op::Recv { from, tag, blocking, .. } => {
                let (from, tag, mut buffer) = (source(*from), selector(*tag), incoming);
                if *blocking {
                    let status = self.timed(|world| world.recv(&mut buffer, from, tag))?;
                    self.found(bind, status);
                    self.come(Arrived { statement: at, buffer, status: Some(status) })?;
                } else {
                    let request = self.timed(|world| world.irecv(buffer, from, tag))?;
                    self.opened(at, true, request);
                }
            }
            Op::SendRecv { to, send_tag, from, recv_tag, .. } => {
                let mut buffer = incoming;
                self.done[at].sent = Some((*to, *send_tag));
                let send = (&outgoing[..], *to, *send_tag);
                let receive = (&mut buffer[..], source(*from), selector(*recv_tag));
                let status = self.timed(|world| world.sendrecv(send, receive))?;
                self.found(bind, status);
                self.keep(at, outgoing);
                self.come(Arrived { statement: at, buffer, status: Some(status) })?;
            }
            Op::Probe { from, tag } => {
                let (from, tag) = (source(*from), selector(*tag));
                let status = self.timed(|world| world.probe(from, tag))?;
                self.found(bind, status);
            }
            Op::Barrier { blocking: true } => self.timed(Communicator::barrier)?,
            Op::Barrier { blocking: false } => {
                let request = self.timed(Communicator::ibarrier)?;
                self.opened(at, false, request);
            }
            Op::Wait(names) => {
                let named = names.iter().filter_map(|name| self.variables[name.0 as usize]).collect();
                self.complete(named)?;
            }
            Op::WaitAll => {
                let mut all: Vec<u64> = self.open.keys().copied().collect();
                all.sort_unstable();
                self.complete(all)?;
            }
            Op::Test(name) => {
                let (number, begin) = (self.variables[name.0 as usize], self.now());
                let open = number.and_then(|number| self.open.get_mut(&number));
                let is_complete = open.is_some_and(|open| open.request.test());
                self.complete(number.filter(|_| is_complete).into_iter().collect())?;
                self.done[at].times[0] = begin;
            }
            collective if is_collective(collective) => {
                self.collective(at, collective, Memory { outgoing, incoming })?;
            }
            Op::ReadBuf(BufferId(buffer)) => {
                let begin = self.now();
                let Named { own, come } = &self.buffers[*buffer as usize];
                let bytes = come.map_or(own, |come| &self.arrived[come].buffer);
                self.read = self.read.wrapping_add(black_box(checksum(bytes)));
                self.done[at].times = [begin, self.now(), f64::NAN];
            }
            Op::WriteBuf(BufferId(buffer)) => {
                let begin = self.now();
                self.writes = self.writes.wrapping_add(1);
                let named = &mut self.buffers[*buffer as usize];
                named.own.fill(self.writes);
                black_box(&mut named.own);
                named.come = None;
                self.done[at].times = [begin, self.now(), f64::NAN];
            }
            other => return Err(PlayError::Unsupported(other.name())),
        }
        Ok(())
    }

    /// A collective on bytes of which every rank knows what the others have, see [`contribution`]. A reduction
    /// combines by exclusive or.
    fn collective(&mut self, at: usize, op: &Op, memory: Memory) -> Result<(), PlayError> {
        let Memory { outgoing, mut incoming } = memory;
        let xor = |left: u8, right: u8| left ^ right;
        match *op {
            Op::Bcast { root, .. } => self.timed(|world| world.broadcast(&mut incoming, root))?,
            Op::Reduce { root, .. } => {
                self.timed(|world| world.reduce(&outgoing, &mut incoming, root, xor))?
            }
            Op::AllReduce { .. } => self.timed(|world| world.allreduce(&outgoing, &mut incoming, xor))?,
            Op::Gather { root, .. } => self.timed(|world| world.gather(&outgoing, &mut incoming, root))?,
            Op::AllGather { .. } => self.timed(|world| world.allgather(&outgoing, &mut incoming))?,
            Op::AllToAll { .. } => self.timed(|world| world.alltoall(&outgoing, &mut incoming))?,
            _ => return Err(PlayError::Unsupported(op.name())),
        }
        self.keep(at, outgoing);
        self.come(Arrived { statement: at, buffer: incoming, status: None })
    }

    fn opened(&mut self, statement: usize, receives: bool, request: Request<u8>) {
        let number = self.started;
        self.started += 1;
        self.open.insert(number, Open { request, statement, receives });
        if let Some(name) = self.program.steps[statement].bind {
            self.variables[name.0 as usize] = Some(number);
        }
    }

    /// A statement has received, or found, a message: a name stands for that, and for no request.
    fn found(&mut self, name: Option<RequestId>, status: Status) {
        if let Some(name) = name {
            self.variables[name.0 as usize] = None;
            self.received[name.0 as usize] = Some(Received { source: status.source, tag: status.tag });
        }
    }

    /// Waits for requests, except those that have been waited for.
    fn complete(&mut self, numbers: Vec<u64>) -> Result<(), PlayError> {
        let mut ended = Vec::with_capacity(numbers.len());
        let begin = self.now();
        for number in numbers {
            let Some(Open { request, statement, receives }) = self.open.remove(&number) else { continue };
            let (buffer, status) = request.wait_at(self.sites[self.at])?;
            self.done[statement].times[2] = self.now();
            ended.push((number, Arrived { statement, buffer, status }, receives));
        }
        let end = self.now();
        self.called(begin, end);
        for (number, arrived, receives) in ended {
            let Some(status) = arrived.status.filter(|_| receives) else {
                self.keep(arrived.statement, arrived.buffer);
                continue;
            };
            // A name that is bound again meanwhile stands for something else.
            let name = self.program.steps[arrived.statement].bind;
            let name = name.filter(|name| self.variables[name.0 as usize] == Some(number));
            if let Some(name) = name {
                let message = Received { source: status.source, tag: status.tag };
                self.received[name.0 as usize] = Some(message);
            }
            self.come(arrived)?;
        }
        Ok(())
    }
}

/// The collectives that move data.
fn is_collective(op: &Op) -> bool {
    matches!(
        op,
        Op::Bcast { .. }
            | Op::Reduce { .. }
            | Op::AllReduce { .. }
            | Op::Gather { .. }
            | Op::AllGather { .. }
            | Op::AllToAll { .. }
    )
}

/// Whether every statement of a program can be run.
pub fn unsupported(program: &Program) -> Option<(u32, &'static str)> {
    let knows = |op: &Op| {
        matches!(
            op,
            Op::Compute { .. }
                | Op::Send { .. }
                | Op::Recv { .. }
                | Op::SendRecv { .. }
                | Op::Probe { .. }
                | Op::Wait(_)
                | Op::WaitAll
                | Op::Test(_)
                | Op::Barrier { .. }
                | Op::ReadBuf(_)
                | Op::WriteBuf(_)
        ) || is_collective(op)
    };
    program.steps.iter().find(|step| !knows(step.op.outline())).map(|step| (step.line, step.op.name()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrousel::threads;
    use std::fs;

    fn scenario(text: &str) -> Scenario {
        scenario::load("test.scn", text.as_bytes()).expect("it is right")
    }

    /// Page faults of this thread so far.
    fn faults() -> u64 {
        let stat = fs::read_to_string("/proc/thread-self/stat").expect("the kernel says");
        // Behind the name, in brackets, in which anything may stand: the eighth field.
        let fields = stat.rsplit_once(')').expect("there is a name").1;
        fields.split_whitespace().nth(7).and_then(|field| field.parse().ok()).expect("a number")
    }

    #[test]
    fn memory_of_messages_is_touched_before_the_clock_starts() {
        let text = "ranks 2\nrank *\n  a = irecv from 1-me tag 0 size 8MiB\n  b = isend to 1-me tag 0 size 8MiB\n  \
                    wait a b\n  sendrecv to 1-me tag 1 size 8MiB from 1-me tag 1 size 8MiB\n  read buf r\n  \
                    c = irecv from 1-me tag 2 size 8MiB buf r\n  send to 1-me tag 2 size 8MiB\n  wait c\n  \
                    read buf r\n  write buf r\n";
        let scenario = scenario(text);
        let all = threads(2, |world| {
            let mut player = Player::new(world, &scenario);
            world.barrier().expect("the other is there");
            let before = faults();
            player.run().map_err(|(at, error)| format!("{at}: {error}"))?;
            Ok::<u64, String>(faults() - before)
        });
        for faults in all.expect("the job can be set up") {
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
        let scenario = scenario(text);
        let all = threads(2, |world| {
            let mut player = Player::new(world, &scenario);
            world.barrier().expect("the other is there");
            let before = faults();
            player.run().map_err(|(at, error)| format!("{at}: {error}"))?;
            Ok::<u64, String>(faults() - before)
        });
        for faults in all.expect("the job can be set up") {
            let faults = faults.expect("all bytes are right");
            assert!(faults < 1500, "{faults} page faults while the clock ran");
        }
    }
}
