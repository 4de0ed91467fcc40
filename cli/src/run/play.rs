//! One rank of a scenario, for real: its statements as calls of the library.
//!
//! Every message has memory of its own, a named buffer too: whether a program uses buffers rightly is for
//! `verify` to find, not for luck.

use super::payload::Stream;
use carrousel::{Any, Communicator, Error, Request, Source, Status, Tag};
use carrousel_scenario::{self as scenario, Op, Program, Received, RequestId, TagSelector, ValueError};
use std::collections::HashMap;
use std::time::{Duration, Instant};
use thiserror::Error;

/// When one statement was called, returned, and was complete, in seconds since the start; not a number
/// when that never was.
pub(super) type Times = [f64; 3];

/// Why a rank cannot go on.
#[derive(Debug, Error)]
pub(super) enum PlayError {
    /// The library says so.
    #[error("{0}")]
    Library(#[from] Error),
    /// A message arrived changed.
    #[error("byte {at} of the {len} bytes from rank {from} with tag {tag} is not what was sent")]
    Changed { from: u32, tag: u32, at: usize, len: usize },
    /// A collective has brought what it should not.
    #[error("byte {at} of the {len} bytes that `{name}` has brought is wrong")]
    WrongResult { name: &'static str, at: usize, len: usize },
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
pub(super) struct Player<'a> {
    world: &'a Communicator,
    program: &'a Program,
    begin: Instant,
    times: Vec<Times>,
    /// Messages sent so far, by stream.
    sent: HashMap<Stream, u64>,
    /// Requests that are not waited for, by the order of their start.
    open: HashMap<u64, Open>,
    started: u64,
    /// What each variable holds.
    variables: Vec<Option<u64>>,
    /// The message that each variable stands for.
    received: Vec<Option<Received>>,
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
    pub(super) fn new(world: &'a Communicator, program: &'a Program) -> Self {
        let times = Vec::with_capacity(program.steps.len());
        let (sent, open) = (HashMap::new(), HashMap::new());
        let variables = vec![None; program.requests.len()];
        let received = vec![None; program.requests.len()];
        Self { world, program, begin: Instant::now(), times, sent, open, started: 0, variables, received }
    }

    /// Runs the program to its end. `Err` names the statement that failed, by position.
    pub(super) fn play(mut self) -> Result<Vec<Times>, (usize, PlayError)> {
        self.begin = Instant::now();
        for at in 0..self.program.steps.len() {
            let step = &self.program.steps[at];
            self.world.at_line(step.line);
            let begin = self.now();
            self.times.push([begin, begin, f64::NAN]);
            self.statement(at).map_err(|error| (at, error))?;
            if !step.op.starts_request() {
                self.times[at][2] = self.times[at][1];
            }
        }
        // A request that the program never completes is a leak that `verify` reports. Here it must not
        // keep the rank from its end: its memory stays until the process is gone.
        for (_, open) in self.open.drain() {
            std::mem::forget(open.request);
        }
        Ok(self.times)
    }

    fn now(&self) -> f64 {
        self.begin.elapsed().as_secs_f64()
    }

    /// The time of the call alone: not that of filling memory before it, or of looking at it after.
    fn timed<T>(&mut self, call: impl FnOnce(&Communicator) -> Result<T, Error>) -> Result<T, Error> {
        let begin = self.now();
        let result = call(self.world);
        let end = self.now();
        if let Some(times) = self.times.last_mut() {
            (times[0], times[1]) = (begin, end);
        }
        result
    }

    fn statement(&mut self, at: usize) -> Result<(), PlayError> {
        let bind = self.program.steps[at].bind;
        let resolved;
        let op = match &self.program.steps[at].op {
            Op::Deferred(deferred) => {
                resolved = deferred.resolve(|name| self.received[name.0 as usize])?;
                &resolved
            }
            op => op,
        };
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
            Op::Send { to, tag, size, synchronous, blocking, .. } => {
                let (to, tag) = (*to, *tag);
                let data = self.payload(to, tag, *size);
                match (synchronous, blocking) {
                    (false, true) => self.timed(|world| world.send(&data, to, tag))?,
                    (true, true) => self.timed(|world| world.ssend(&data, to, tag))?,
                    (synchronous, false) => {
                        let request = self.timed(|world| match synchronous {
                            false => world.isend(data, to, tag),
                            true => world.issend(data, to, tag),
                        })?;
                        self.opened(at, false, request);
                    }
                }
            }
            Op::Recv { from, tag, size, blocking, .. } => {
                let (from, tag, mut buffer) = (source(*from), selector(*tag), empty(*size));
                if *blocking {
                    let status = self.timed(|world| world.recv(&mut buffer, from, tag))?;
                    self.found(bind, status);
                    self.check(&buffer, status)?;
                } else {
                    let request = self.timed(|world| world.irecv(buffer, from, tag))?;
                    self.opened(at, true, request);
                }
            }
            Op::SendRecv { to, send_tag, send_size, from, recv_tag, recv_size } => {
                let data = self.payload(*to, *send_tag, *send_size);
                let mut buffer = empty(*recv_size);
                let send = (&data[..], *to, *send_tag);
                let receive = (&mut buffer[..], source(*from), selector(*recv_tag));
                let status = self.timed(|world| world.sendrecv(send, receive))?;
                self.found(bind, status);
                self.check(&buffer, status)?;
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
                let number = self.variables[name.0 as usize];
                let open = number.and_then(|number| self.open.get_mut(&number));
                let is_complete = open.is_some_and(|open| open.request.test());
                self.complete(number.filter(|_| is_complete).into_iter().collect())?;
            }
            collective if is_collective(collective) => self.collective(collective)?,
            // A buffer that the program touches itself is touched: there is nothing to wait for.
            Op::ReadBuf(_) | Op::WriteBuf(_) => {}
            other => return Err(PlayError::Unsupported(other.name())),
        }
        Ok(())
    }

    /// A collective on bytes of which every rank knows what the others have: rank `r` has its payload for
    /// itself in a tag of the operation's own. A reduction combines by exclusive or.
    fn collective(&mut self, op: &Op) -> Result<(), PlayError> {
        let (me, ranks) = (self.world.rank(), self.world.size());
        let of = |rank: u32, size: u64| Stream { from: rank, to: rank, tag: 0 }.payload(1, size as usize);
        let xor = |left: u8, right: u8| left ^ right;
        let all = |size: u64| (0..ranks).flat_map(move |rank| of(rank, size)).collect::<Vec<u8>>();
        let combined = |size: u64| {
            let mut sum = vec![0; size as usize];
            for rank in 0..ranks {
                sum.iter_mut().zip(of(rank, size)).for_each(|(sum, byte)| *sum ^= byte);
            }
            sum
        };
        let if_root = |root: u32, bytes: Vec<u8>| if me == root { bytes } else { Vec::new() };
        let (got, expected) = match *op {
            Op::Bcast { root, size } => {
                let mut data = if me == root { of(root, size) } else { empty(size) };
                self.timed(|world| world.broadcast(&mut data, root))?;
                (data, of(root, size))
            }
            Op::Reduce { root, size } => {
                let (source, mut target) = (of(me, size), if_root(root, empty(size)));
                self.timed(|world| world.reduce(&source, &mut target, root, xor))?;
                (target, if_root(root, combined(size)))
            }
            Op::AllReduce { size } => {
                let (source, mut target) = (of(me, size), empty(size));
                self.timed(|world| world.allreduce(&source, &mut target, xor))?;
                (target, combined(size))
            }
            Op::Gather { root, size } => {
                let (source, mut target) = (of(me, size), if_root(root, empty(size * u64::from(ranks))));
                self.timed(|world| world.gather(&source, &mut target, root))?;
                (target, if_root(root, all(size)))
            }
            Op::AllGather { size } => {
                let (source, mut target) = (of(me, size), empty(size * u64::from(ranks)));
                self.timed(|world| world.allgather(&source, &mut target))?;
                (target, all(size))
            }
            Op::AllToAll { size } => {
                // To each rank the same: what comes is then what an allgather brings.
                let source = of(me, size).repeat(ranks as usize);
                let mut target = empty(size * u64::from(ranks));
                self.timed(|world| world.alltoall(&source, &mut target))?;
                (target, all(size))
            }
            _ => return Err(PlayError::Unsupported(op.name())),
        };
        let wrong = got.iter().zip(&expected).position(|(got, expected)| got != expected);
        match wrong {
            Some(at) => Err(PlayError::WrongResult { name: op.name(), at, len: got.len() }),
            None => Ok(()),
        }
    }

    fn payload(&mut self, to: u32, tag: u32, size: u64) -> Vec<u8> {
        let stream = Stream { from: self.world.rank(), to, tag };
        let number = self.sent.entry(stream).or_default();
        *number += 1;
        stream.payload(*number, size as usize)
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
        let begin = self.now();
        let mut received = Vec::new();
        for number in numbers {
            let Some(Open { request, statement, receives }) = self.open.remove(&number) else { continue };
            let (buffer, status) = request.wait()?;
            self.times[statement][2] = self.now();
            if let Some(status) = status.filter(|_| receives) {
                // A name that is bound again meanwhile stands for something else.
                let name = self.program.steps[statement].bind;
                let name = name.filter(|name| self.variables[name.0 as usize] == Some(number));
                if let Some(name) = name {
                    let message = Received { source: status.source, tag: status.tag };
                    self.received[name.0 as usize] = Some(message);
                }
                received.push((buffer, status));
            }
        }
        let end = self.now();
        if let Some(times) = self.times.last_mut() {
            (times[0], times[1]) = (begin, end);
        }
        received.iter().try_for_each(|(buffer, status)| self.check(buffer, *status))
    }

    /// Checks what has been received.
    fn check(&self, buffer: &[u8], status: Status) -> Result<(), PlayError> {
        let Status { source: from, tag, bytes } = status;
        let stream = Stream { from, to: self.world.rank(), tag };
        let got = &buffer[..bytes as usize];
        match stream.first_wrong(got) {
            Some(at) => Err(PlayError::Changed { from, tag, at, len: got.len() }),
            None => Ok(()),
        }
    }
}

/// Memory for a message: with what no message is full of.
fn empty(size: u64) -> Vec<u8> {
    vec![0xa5; size as usize]
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
pub(super) fn unsupported(program: &Program) -> Option<(u32, &'static str)> {
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
    let is_known = |op: &Op| match op {
        Op::Deferred(deferred) => knows(deferred.outline()),
        op => knows(op),
    };
    program.steps.iter().find(|step| !is_known(&step.op)).map(|step| (step.line, step.op.name()))
}
