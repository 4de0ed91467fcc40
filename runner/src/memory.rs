//! The memory of a rank's statements, made before the clock starts: what is sent is filled, what is received into is
//! touched. So no statement takes, or makes a later one wait for, page faults and patterns that a program would not have.
//!
//! Of a statement with `source(NAME)` or `tag(NAME)`, memory is touched before if its size is known. It is filled when
//! the statement begins, and memory of a size that is not known before is made then.

use crate::payload::Stream;
use carrousel_scenario::{Deferred, Op, Program, Scenario};
use std::collections::{HashMap, VecDeque};

/// The most bytes that are made ahead, of all ranks of a job together.
const AHEAD_MAX: u64 = 1 << 30;

/// What one statement sends from, and what it receives into.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Memory {
    pub(crate) outgoing: Vec<u8>,
    pub(crate) incoming: Vec<u8>,
}

/// The memory of all statements of a program, in their order.
#[derive(Debug)]
pub(crate) struct Supply<'a> {
    program: &'a Program,
    me: u32,
    ranks: u32,
    /// Messages sent so far, by stream.
    sent: HashMap<Stream, u64>,
    /// What was made ahead, and is not taken yet.
    ahead: VecDeque<Memory>,
    /// Of so many statements it was, as far as their sizes are known before.
    ahead_of: usize,
}

impl<'a> Supply<'a> {
    /// Makes the memory of the first statements; of all, unless they need more than is made ahead.
    pub(crate) fn new(program: &'a Program, me: u32, ranks: u32) -> Self {
        let most = AHEAD_MAX / u64::from(ranks.max(1));
        Self::with_most(program, me, ranks, most)
    }

    fn with_most(program: &'a Program, me: u32, ranks: u32, most: u64) -> Self {
        let ahead_of = fitting(program, me, ranks, most);
        let ahead = VecDeque::with_capacity(ahead_of);
        let mut supply = Self { program, me, ranks, sent: HashMap::new(), ahead, ahead_of };
        for step in &program.steps[..ahead_of] {
            let memory = supply.make(&step.op);
            supply.ahead.push_back(memory);
        }
        supply
    }

    /// The memory of the next statement, the one at this position, which does `op`.
    pub(crate) fn take(&mut self, at: usize, op: &Op) -> Memory {
        match (self.ahead.pop_front(), &self.program.steps[at].op) {
            (Some(memory), Op::Deferred(_)) => self.complete(memory, op),
            (Some(memory), _) => memory,
            (None, _) => self.make(op),
        }
    }

    /// Whether all memory of a statement was made ahead.
    pub(crate) fn is_ahead(&self, statement: usize) -> bool {
        let is_known = |op: &Op| match op {
            Op::Deferred(deferred) => known_sizes(deferred).is_some(),
            _ => true,
        };
        statement < self.ahead_of && is_known(&self.program.steps[statement].op)
    }

    /// The rest of a statement whose values were not all known ahead.
    fn complete(&mut self, ahead: Memory, op: &Op) -> Memory {
        let Memory { mut outgoing, mut incoming } = ahead;
        if let Op::Send { to, tag, size, .. } | Op::SendRecv { to, send_tag: tag, send_size: size, .. } = *op
        {
            outgoing.resize(size as usize, 0);
            let (stream, number) = self.next_message(to, tag);
            stream.fill(number, &mut outgoing);
        }
        if let Op::Recv { size, .. } | Op::SendRecv { recv_size: size, .. } = *op
            && incoming.len() as u64 != size
        {
            incoming = empty(size);
        }
        Memory { outgoing, incoming }
    }

    fn make(&mut self, op: &Op) -> Memory {
        let Self { me, ranks, .. } = *self;
        let memory = |outgoing, incoming| Memory { outgoing, incoming };
        let if_root = |root: u32, bytes: u64| if me == root { empty(bytes) } else { Vec::new() };
        let all = u64::from(ranks);
        match *op {
            Op::Deferred(ref deferred) => {
                let (sent, received) = known_sizes(deferred).unwrap_or_default();
                memory(empty(sent), empty(received))
            }
            Op::Send { to, tag, size, .. } => memory(self.message(to, tag, size), Vec::new()),
            Op::Recv { size, .. } => memory(Vec::new(), empty(size)),
            Op::SendRecv { to, send_tag, send_size, recv_size, .. } => {
                memory(self.message(to, send_tag, send_size), empty(recv_size))
            }
            Op::Bcast { root, size } => {
                memory(Vec::new(), if me == root { contribution(root, size) } else { empty(size) })
            }
            Op::Reduce { root, size } => memory(contribution(me, size), if_root(root, size)),
            Op::AllReduce { size } => memory(contribution(me, size), empty(size)),
            Op::Gather { root, size } => memory(contribution(me, size), if_root(root, size * all)),
            Op::AllGather { size } => memory(contribution(me, size), empty(size * all)),
            // To each rank the same: what comes is then what an allgather brings.
            Op::AllToAll { size } => memory(contribution(me, size).repeat(ranks as usize), empty(size * all)),
            _ => Memory::default(),
        }
    }

    fn message(&mut self, to: u32, tag: u32, size: u64) -> Vec<u8> {
        let (stream, number) = self.next_message(to, tag);
        stream.payload(number, size as usize)
    }

    /// A message gets a number of its own in its stream when it is filled.
    fn next_message(&mut self, to: u32, tag: u32) -> (Stream, u64) {
        let stream = Stream { from: self.me, to, tag };
        let number = self.sent.entry(stream).or_default();
        *number += 1;
        (stream, *number)
    }
}

/// The bytes that a statement sends and receives, if they are known before it runs.
fn known_sizes(deferred: &Deferred) -> Option<(u64, u64)> {
    // By their slots: see `Verb::slots`.
    let (is_known, sizes) = match *deferred.outline() {
        Op::Send { size, .. } => (!deferred.is_deferred(2), (size, 0)),
        Op::Recv { size, .. } => (!deferred.is_deferred(2), (0, size)),
        Op::SendRecv { send_size, recv_size, .. } => {
            (!deferred.is_deferred(2) && !deferred.is_deferred(5), (send_size, recv_size))
        }
        _ => (true, (0, 0)),
    };
    is_known.then_some(sizes)
}

/// What a rank contributes to a collective: a payload for itself in a tag of the collective's own, so that every rank
/// knows what the others have.
pub(crate) fn contribution(rank: u32, size: u64) -> Vec<u8> {
    Stream { from: rank, to: rank, tag: 0 }.payload(1, size as usize)
}

/// Memory for what comes: touched, with what no message is full of.
pub(crate) fn empty(size: u64) -> Vec<u8> {
    vec![0xa5; size as usize]
}

/// The sum of all bytes, word by word.
pub(crate) fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    words.chain(rest.iter().map(|byte| u64::from(*byte))).fold(0, u64::wrapping_add)
}

/// Whether the memory of some statements of a scenario cannot be made ahead.
pub fn exceeds(scenario: &Scenario) -> bool {
    let most = AHEAD_MAX / u64::from(scenario.ranks.max(1));
    (0..scenario.ranks).any(|rank| {
        let program = scenario.program(rank);
        fitting(program, rank, scenario.ranks, most) < program.steps.len()
    })
}

/// How many of the first statements together need at most so many bytes.
fn fitting(program: &Program, me: u32, ranks: u32, most: u64) -> usize {
    let mut sum = 0u64;
    let needs = program.steps.iter().map(|step| need(&step.op, me, u64::from(ranks)));
    let fits = needs.take_while(|bytes| {
        sum = sum.saturating_add(*bytes);
        sum <= most
    });
    fits.count()
}

/// The bytes that a statement needs.
fn need(op: &Op, me: u32, ranks: u64) -> u64 {
    let at_root = |root: u32, bytes: u64| if me == root { bytes } else { 0 };
    match *op {
        Op::Deferred(ref deferred) => {
            known_sizes(deferred).map_or(0, |(sent, received)| sent.saturating_add(received))
        }
        Op::Send { size, .. } | Op::Recv { size, .. } | Op::Bcast { size, .. } => size,
        Op::SendRecv { send_size, recv_size, .. } => send_size.saturating_add(recv_size),
        Op::Reduce { root, size } => size.saturating_add(at_root(root, size)),
        Op::AllReduce { size } => size.saturating_mul(2),
        Op::Gather { root, size } => size.saturating_add(at_root(root, size.saturating_mul(ranks))),
        Op::AllGather { size } => size.saturating_mul(ranks + 1),
        Op::AllToAll { size } => size.saturating_mul(2 * ranks),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(text: &str) -> Scenario {
        carrousel_scenario::load("test.scn", text.as_bytes()).expect("it is right")
    }

    const MANY: &str = "ranks 2\nrank *\n  isend to 1-me tag 0 size 3000\n  isend to 1-me tag 0 size 100\n  \
                        sendrecv to me tag 1 size 9 from me tag 1 size 20\n  recv from any tag 0 size 3000\n  \
                        recv from any tag 0 size 3000\n  wait all\n  bcast root 1 size 70\n  reduce root 0 size 8\n  \
                        allreduce size 8\n  gather root 0 size 8\n  allgather size 8\n  alltoall size 8\n";

    fn all(mut supply: Supply<'_>) -> Vec<Memory> {
        let program = supply.program;
        (0..).zip(&program.steps).map(|(at, step)| supply.take(at, &step.op)).collect()
    }

    #[test]
    fn what_is_made_ahead_is_what_is_made_when_it_is_needed() {
        let scenario = scenario(MANY);
        for rank in 0..2 {
            let program = scenario.program(rank);
            let ahead = Supply::new(program, rank, 2);
            assert_eq!(ahead.ahead.len(), program.steps.len());
            let late = Supply::with_most(program, rank, 2, 3100);
            assert_eq!((late.ahead.len(), late.ahead_of), (2, 2));
            assert_eq!(all(ahead), all(late));
        }
    }

    #[test]
    fn statements_need_what_is_made_for_them() {
        let scenario = scenario(MANY);
        for rank in 0..2 {
            let program = scenario.program(rank);
            let made = all(Supply::new(program, rank, 2));
            let lens = made.iter().map(|memory| (memory.outgoing.len() + memory.incoming.len()) as u64);
            let needs = program.steps.iter().map(|step| need(&step.op, rank, 2));
            assert_eq!(lens.collect::<Vec<_>>(), needs.collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_scenario_with_more_than_is_made_ahead_is_found() {
        assert!(!exceeds(&scenario(MANY)));
        let many = "ranks 2\nrank 0\n  repeat 600\n    send to 1 tag 0 size 1MiB\n  end\nrank 1\n  repeat 600\n    \
                    recv from 0 tag 0 size 1MiB\n  end\n";
        assert!(exceeds(&scenario(many)));
    }

    #[test]
    fn every_word_and_byte_counts_in_a_checksum() {
        assert_eq!(checksum(&[1, 0, 0, 0, 0, 0, 0, 0, 2, 3]), 6);
        let bytes: Vec<u8> = (0..100).collect();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_ne!(checksum(&changed), checksum(&bytes));
        }
    }
}
