//! The program of a rank: joins its job, takes the steps of the plan by the library's calls, checks every byte that it
//! gets, and leaves.

use crate::job::world;
use crate::plan::{CollectiveKind, Message, Plan, Step, Wildcards, content};
use crate::world::World;
use carrousel::{Any, Communicator, Error, Job, Request, Source, Status, Tag};
use carrousel_launch::{Client, Ending, LaunchError};
use carrousel_options::Settings;
use carrousel_system::{SYSTEM, System};
use fastrand::Rng;
use rustix::fd::OwnedFd;
use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The bytes of a receive's buffer before a message comes: those behind the message must stay so.
const UNTOUCHED: u8 = 0xa5;

/// The end of a rank after an error of the library, or after something that is wrong: no function returns it. The rank
/// stays where it is, as programs do that end their process there; a request that were dropped on the way out would wait for
/// its peer.
enum Stopped {}

impl From<Error> for Stopped {
    fn from(error: Error) -> Self {
        let world = world();
        if let Some(why) = unexplained(&world, &error) {
            wrong(&format!("an error that no fault explains: {error} ({why})"));
        }
        world.note(format_args!("gives up: {error}"));
        world.leave(Ending::Exited(1))
    }
}

/// What the library did to this rank is wrong.
fn wrong(what: &str) -> ! {
    let world = world();
    world.fails_here(format_args!("rank {}: {what}", world.current()))
}

/// Runs a rank to its end.
pub(crate) fn run(world: &World, plan: &Plan, me: usize, socket: OwnedFd, rng: Rng) {
    let mut rank = Program { world, plan, me, rng };
    match rank.run(socket) {
        Ok(()) => {}
        Err(stopped) => match stopped {},
    }
}

/// Why no fault explains an error, if none does.
fn unexplained(world: &World, error: &Error) -> Option<String> {
    if world.calls_failed.get() > 0
        && matches!(
            error,
            Error::Memory(_) | Error::PeerLost { .. } | Error::Connect { .. } | Error::Launch(_)
        )
    {
        return None;
    }
    let has_failed = |rank: usize| world.with(rank, |actor| actor.has_failed());
    match error {
        Error::PeerLost { rank, .. } | Error::Connect { rank, .. } => {
            let rank = *rank as usize;
            match world.with(rank, |actor| actor.ending.clone()) {
                Some(Ending::Exited(0)) if !exited_early(world, rank) => {
                    Some(format!("rank {rank} has left the job"))
                }
                Some(_) => None,
                None => Some(format!("rank {rank} has not ended")),
            }
        }
        Error::Launch(_) if (0..world.ranks()).any(|rank| has_failed(rank) || exited_early(world, rank)) => {
            None
        }
        _ => Some("it is none of a peer's end".to_owned()),
    }
}

/// Whether a fault has let this rank end without leaving the job.
fn exited_early(world: &World, rank: usize) -> bool {
    world.faults.exit.is_some_and(|(early, ..)| early == rank) && world.with(rank, |actor| actor.is_over())
}

/// A receive: where from, and its buffer.
#[derive(Clone, Copy, Debug)]
struct Pattern {
    from: Option<u32>,
    tag: Option<u32>,
    bytes: usize,
}

impl Pattern {
    fn source(self) -> Source {
        self.from.map_or_else(|| Any.into(), Into::into)
    }

    fn tag(self) -> Tag {
        self.tag.map_or_else(|| Any.into(), Into::into)
    }
}

/// The message of a receive, once it has one.
type Got = Option<(Status, Vec<u8>)>;

/// A rank.
struct Program<'a> {
    world: &'a World,
    plan: &'a Plan,
    me: usize,
    rng: Rng,
}

impl Program<'_> {
    fn run(&mut self, socket: OwnedFd) -> Result<(), Stopped> {
        let launch = |error: LaunchError| Error::from(carrousel_engine::Error::from(error));
        let client = Client::over(socket, self.me as u32, self.plan.ranks as u32).map_err(launch)?;
        let of = |(name, value): &(&str, String)| (OsString::from(name), OsString::from(value));
        let settings = Settings::of(self.plan.options.iter().map(of));
        let settings = settings.unwrap_or_else(|error| wrong(&error.to_string()));
        let joined = carrousel_engine::join_by(Some(client), Arc::new(AtomicBool::new(false)), &settings);
        let job = Job::of(joined.map_err(Error::from)?);
        let plan = self.plan;
        for (number, step) in plan.steps.iter().enumerate() {
            self.may_exit(number);
            self.world.note(format_args!("step {number}: {}", told(step)));
            self.step(job.world(), step, number)?;
        }
        self.may_exit(plan.steps.len());
        self.world.note(format_args!("leaves"));
        job.finalize()?;
        Ok(())
    }

    /// Ends this process without leaving the job, if that is the fault of this job.
    fn may_exit(&self, number: usize) {
        if let Some((me, step, status)) = self.world.faults.exit
            && (me, step) == (self.me, number)
        {
            self.world.leave(Ending::Exited(status));
        }
    }

    /// Does something else for a while, now and then.
    fn pause(&mut self) {
        if self.rng.u32(..8) == 0 {
            SYSTEM.sleep(Duration::from_micros(1 << self.rng.u32(..14)));
        }
    }

    fn step(&mut self, world: &Communicator, step: &Step, number: usize) -> Result<(), Stopped> {
        self.pause();
        match step {
            Step::Exchange { messages, wildcards, sends_block } => {
                self.exchange(world, messages, *wildcards, *sends_block)
            }
            Step::Burst { from, to, count, bytes, late } => {
                self.burst(world, (*from, *to), *count, *bytes, *late)
            }
            Step::Race { message } => self.race(world, message),
            Step::Collective { kind, root, elements } => self.collective(world, *kind, *root, *elements),
            Step::Duplicate => self.duplicate(world, number),
        }
    }

    fn exchange(
        &mut self,
        world: &Communicator,
        messages: &[Message],
        wildcards: Wildcards,
        sends_block: bool,
    ) -> Result<(), Stopped> {
        let outgoing: Vec<&Message> = messages.iter().filter(|message| message.from == self.me).collect();
        let incoming: Vec<&Message> = messages.iter().filter(|message| message.to == self.me).collect();
        let patterns = patterns(&incoming, wildcards);
        let mut got: Vec<Got> = Vec::new();
        let blocks = self.rng.u32(..3) == 0;
        match (blocks, sends_block) {
            (true, true) => {
                let mut receives = Vec::new();
                for pattern in &patterns {
                    receives.push(self.post_receive(world, *pattern)?);
                }
                for message in outgoing {
                    self.pause();
                    let (data, to) = (content(message.key, message.bytes), message.to as u32);
                    match message.synchronous {
                        true => world.ssend(&data, to, message.tag)?,
                        false => world.send(&data, to, message.tag)?,
                    }
                }
                for receive in receives {
                    got.push(Some(received(receive.wait()?)?));
                }
            }
            (true, false) => {
                let mut sends = Vec::new();
                for message in outgoing {
                    sends.push(self.post_send(world, message)?);
                }
                for pattern in &patterns {
                    self.pause();
                    got.push(Some(self.receive(world, *pattern)?));
                }
                for send in sends {
                    send.wait()?;
                }
            }
            (false, _) => got = self.nonblocking(world, &outgoing, &patterns)?,
        }
        check(&incoming, &patterns, got)
    }

    /// All by requests, started and waited for in any order.
    fn nonblocking(
        &mut self,
        world: &Communicator,
        outgoing: &[&Message],
        patterns: &[Pattern],
    ) -> Result<Vec<Got>, Stopped> {
        let mut is_send = [vec![true; outgoing.len()], vec![false; patterns.len()]].concat();
        self.rng.shuffle(&mut is_send);
        let (mut sends, mut receives) = (outgoing.iter(), patterns.iter().enumerate());
        // Each with the number of its receive, if it is one.
        let mut open: Vec<(Option<usize>, Request<u8>)> = Vec::new();
        for is_send in is_send {
            self.pause();
            if is_send {
                let Some(message) = sends.next() else { continue };
                open.push((None, self.post_send(world, message)?));
            } else {
                let Some((number, pattern)) = receives.next() else { continue };
                open.push((Some(number), self.post_receive(world, *pattern)?));
            }
        }
        let mut got: Vec<Got> = vec![None; patterns.len()];
        while !open.is_empty() {
            let at = self.rng.usize(..open.len());
            if self.rng.u32(..3) == 0 && !open[at].1.test() {
                self.pause();
                continue;
            }
            let (number, request) = open.swap_remove(at);
            let ended = request.wait()?;
            if let Some(number) = number {
                got[number] = Some(received(ended)?);
            }
        }
        Ok(got)
    }

    fn post_send(&self, world: &Communicator, message: &Message) -> Result<Request<u8>, Stopped> {
        let (data, to) = (content(message.key, message.bytes), message.to as u32);
        Ok(match message.synchronous {
            true => world.issend(data, to, message.tag)?,
            false => world.isend(data, to, message.tag)?,
        })
    }

    fn post_receive(&self, world: &Communicator, pattern: Pattern) -> Result<Request<u8>, Stopped> {
        Ok(world.irecv(vec![UNTOUCHED; pattern.bytes], pattern.source(), pattern.tag())?)
    }

    /// A receive that waits, sometimes after a probe.
    fn receive(&mut self, world: &Communicator, pattern: Pattern) -> Result<(Status, Vec<u8>), Stopped> {
        let mut buffer = vec![UNTOUCHED; pattern.bytes];
        let status = match self.rng.u32(..4) {
            0 => {
                let found = world.probe(pattern.source(), pattern.tag())?;
                let status = world.recv(&mut buffer, found.source, found.tag)?;
                if status != found {
                    wrong(&format!("a probe has found {found:?}, a receive got {status:?}"));
                }
                status
            }
            1 => world.mprobe(pattern.source(), pattern.tag())?.recv(&mut buffer)?,
            _ => world.recv(&mut buffer, pattern.source(), pattern.tag())?,
        };
        Ok((status, buffer))
    }

    fn burst(
        &mut self,
        world: &Communicator,
        (from, to): (usize, usize),
        count: u32,
        bytes: usize,
        late: Duration,
    ) -> Result<(), Stopped> {
        if self.me == from {
            for number in 0..count {
                world.send(&content(number.into(), bytes), to as u32, 5)?;
            }
        }
        if self.me == to {
            SYSTEM.sleep(late);
            for number in 0..count {
                let mut buffer = vec![UNTOUCHED; bytes];
                world.recv(&mut buffer, from as u32, 5)?;
                if buffer != content(number.into(), bytes) {
                    wrong(&format!("message {number} of a burst of rank {from} is not the one"));
                }
            }
        }
        Ok(())
    }

    fn race(&mut self, world: &Communicator, message: &Message) -> Result<(), Stopped> {
        if self.me == message.from {
            self.pause();
            self.post_send(world, message)?.wait()?;
        }
        if self.me == message.to {
            let pattern =
                Pattern { from: Some(message.from as u32), tag: Some(message.tag), bytes: message.bytes };
            let mut receive = self.post_receive(world, pattern)?;
            for _ in 0..self.rng.u32(..50) {
                receive.test();
            }
            receive.cancel();
            let got = match receive.wait()? {
                (buffer, Some(status)) => (status, buffer),
                (_, None) => self.receive(world, pattern)?,
            };
            check(&[message], &[pattern], vec![Some(got)])?;
        }
        Ok(())
    }

    fn collective(
        &mut self,
        world: &Communicator,
        kind: CollectiveKind,
        root: usize,
        elements: usize,
    ) -> Result<(), Stopped> {
        let ranks = self.plan.ranks;
        let (is_root, root_number) = (self.me == root, root as u32);
        // Element `at` of what a rank gives, for the rank `to`.
        let given = |rank: usize, to: usize, at: usize| (rank as u64) << 40 | (to as u64) << 32 | at as u64;
        let own: Vec<u64> = (0..elements).map(|at| given(self.me, 0, at)).collect();
        let sum: Vec<u64> = (0..elements).map(|at| (0..ranks).map(|rank| given(rank, 0, at)).sum()).collect();
        let all: Vec<u64> =
            (0..ranks).flat_map(|rank| (0..elements).map(move |at| given(rank, 0, at))).collect();
        let (got, expected) = match kind {
            CollectiveKind::Barrier => {
                world.barrier()?;
                (Vec::new(), Vec::new())
            }
            CollectiveKind::Broadcast => {
                let mut data = if is_root { own } else { vec![0; elements] };
                world.broadcast(&mut data, root_number)?;
                (data, (0..elements).map(|at| given(root, 0, at)).collect())
            }
            CollectiveKind::Reduce => {
                let mut target = vec![0; if is_root { elements } else { 0 }];
                world.reduce(&own, &mut target, root_number, |left, right| left + right)?;
                (target, if is_root { sum } else { Vec::new() })
            }
            CollectiveKind::AllReduce => {
                let mut target = vec![0; elements];
                world.allreduce(&own, &mut target, |left, right| left + right)?;
                (target, sum)
            }
            CollectiveKind::Gather => {
                let mut target = vec![0; if is_root { elements * ranks } else { 0 }];
                world.gather(&own, &mut target, root_number)?;
                (target, if is_root { all } else { Vec::new() })
            }
            CollectiveKind::AllGather => {
                let mut target = vec![0; elements * ranks];
                world.allgather(&own, &mut target)?;
                (target, all)
            }
            CollectiveKind::AllToAll => {
                let me = self.me;
                let source: Vec<u64> =
                    (0..ranks).flat_map(|to| (0..elements).map(move |at| given(me, to, at))).collect();
                let mut target = vec![0; source.len()];
                world.alltoall(&source, &mut target)?;
                let expected = (0..ranks).flat_map(|rank| (0..elements).map(move |at| given(rank, me, at)));
                (target, expected.collect())
            }
        };
        match got == expected {
            true => Ok(()),
            false => wrong(&format!("the result of {kind:?} with {elements} elements is wrong")),
        }
    }

    fn duplicate(&mut self, world: &Communicator, number: usize) -> Result<(), Stopped> {
        let copy = world.duplicate()?;
        let (me, ranks) = (self.me as u32, self.plan.ranks as u32);
        let mut got = [0];
        let sent = [u64::from(me) << 32 | number as u64];
        copy.sendrecv(&sent, (me + 1) % ranks, 3, &mut got, (me + ranks - 1) % ranks, 3)?;
        let expected = [u64::from((me + ranks - 1) % ranks) << 32 | number as u64];
        match got == expected {
            true => Ok(()),
            false => wrong(&format!("in a copy of the communicator, got {got:?}, not {expected:?}")),
        }
    }
}

/// The message that a request got.
fn received((buffer, status): (Vec<u8>, Option<Status>)) -> Result<(Status, Vec<u8>), Stopped> {
    match status {
        Some(status) => Ok((status, buffer)),
        None => wrong("a receive has ended without a message"),
    }
}

/// Receives by which every message is received, whichever arrives first: one for each, with room for the largest of
/// those that it may get.
fn patterns(incoming: &[&Message], wildcards: Wildcards) -> Vec<Pattern> {
    let class = |message: &Message| {
        let from = (wildcards != Wildcards::Source).then_some(message.from as u32);
        let tag = (wildcards != Wildcards::Tag).then_some(message.tag);
        (from, tag)
    };
    let pattern = |message: &&Message| {
        let (from, tag) = class(message);
        let same = incoming.iter().filter(|other| class(other) == (from, tag));
        Pattern { from, tag, bytes: same.map(|other| other.bytes).max().unwrap_or(0) }
    };
    incoming.iter().map(pattern).collect()
}

/// Checks that receives, in the order in which they were posted, got the messages of each sender in the order in which they
/// were sent, and every byte.
fn check(incoming: &[&Message], patterns: &[Pattern], got: Vec<Got>) -> Result<(), Stopped> {
    let mut left: Vec<&Message> = incoming.to_vec();
    for (pattern, got) in patterns.iter().zip(got) {
        let Some((status, buffer)) = got else { wrong(&format!("{pattern:?} has no message")) };
        let fits = |message: &&Message| {
            message.from as u32 == status.source && pattern.tag.is_none_or(|tag| tag == message.tag)
        };
        let Some(at) = left.iter().position(fits) else {
            wrong(&format!("{pattern:?} got {status:?}, which nobody has sent"));
        };
        let Message { from, tag, bytes, key, .. } = *left.remove(at);
        if (status.tag, status.bytes) != (tag, bytes as u64) {
            wrong(&format!("{pattern:?} got {status:?}, and {bytes} bytes with tag {tag} are next"));
        }
        if buffer.len() < bytes || buffer[..bytes] != content(key, bytes) {
            wrong(&format!("the {bytes} bytes with tag {tag} of rank {from} have changed on their way"));
        }
        if buffer[bytes..].iter().any(|byte| *byte != UNTOUCHED) {
            wrong(&format!("{pattern:?}: bytes behind the message were written"));
        }
    }
    Ok(())
}

/// A step in a few words.
fn told(step: &Step) -> String {
    match step {
        Step::Exchange { messages, wildcards, .. } => {
            let bytes: usize = messages.iter().map(|message| message.bytes).sum();
            format!("{} messages of {bytes} bytes, wildcards {wildcards:?}", messages.len())
        }
        Step::Burst { from, to, count, bytes, .. } => {
            format!("{count} messages of {bytes} bytes from {from} to {to}")
        }
        Step::Race { message: Message { from, to, bytes, .. } } => {
            format!("a receive of {bytes} bytes from {from} to {to} that is cancelled")
        }
        Step::Collective { kind, root, elements } => format!("{kind:?}, root {root}, {elements} elements"),
        Step::Duplicate => "a copy of the communicator".to_owned(),
    }
}
