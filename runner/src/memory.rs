//! The memory of a rank's statements, made before the clock starts: send buffers are filled, receive buffers are
//! touched. So the times of statements contain no page faults and no filling that a program would not have.
//!
//! For a statement with `source(NAME)` or `tag(NAME)`, memory of known size is touched before the clock starts and
//! filled when the statement begins. Memory of unknown size is made when the statement begins.

use crate::payload::{Stream, contribution};
use carrousel_program::{Action, Operation, Program, Send, Statement, mpi};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The most bytes that are made ahead, of all ranks of a job together.
const AHEAD_MAX: u64 = 1 << 30;

/// The send and receive memory of one statement.
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
    /// Messages sent so far, by stream.
    sent: HashMap<Stream, u64>,
    /// Memory that was made ahead, and is not taken yet.
    ahead: VecDeque<Memory>,
    /// The number of statements whose memory was made ahead, as far as their sizes are known before.
    ahead_of: usize,
}

impl<'a> Supply<'a> {
    /// Makes the memory of the first statements; of all, if they need no more than may be made ahead.
    pub(crate) fn new(program: &'a Program, me: u32, ranks: u32) -> Self {
        Self::with_most(program, me, most_of_each(ranks))
    }

    fn with_most(program: &'a Program, me: u32, most: u64) -> Self {
        let ahead_of = fitting(program, me, most);
        let ahead = VecDeque::with_capacity(ahead_of);
        let mut supply = Self { program, me, sent: HashMap::new(), ahead, ahead_of };
        for statement in program.statements().take(ahead_of) {
            let memory = match statement.is_deferred() {
                true => {
                    let (sent, received) = known_lens(program, statement, me).unwrap_or_default();
                    Memory { outgoing: empty(sent), incoming: empty(received) }
                }
                false => supply.make(&statement.outline()),
            };
            supply.ahead.push_back(memory);
        }
        supply
    }

    /// The memory of the next statement, the one at this position, whose action is `action`.
    pub(crate) fn take(&mut self, at: usize, action: &Action<'_>) -> Memory {
        match self.ahead.pop_front() {
            Some(memory) if self.program.statement(at).is_deferred() => self.complete(memory, action),
            Some(memory) => memory,
            None => self.make(action),
        }
    }

    /// Whether all memory of a statement was made ahead.
    pub(crate) fn is_ahead(&self, at: usize) -> bool {
        at < self.ahead_of && known_lens(self.program, self.program.statement(at), self.me).is_some()
    }

    /// Completes the memory of a statement whose values were not all known ahead.
    fn complete(&mut self, ahead: Memory, action: &Action<'_>) -> Memory {
        let Memory { mut outgoing, mut incoming } = ahead;
        for operation in action.operations() {
            match operation {
                Operation::Send(send) => {
                    outgoing.resize(send.len as usize, 0);
                    let (stream, number) = self.next_message(&send);
                    stream.fill(number, &mut outgoing);
                }
                Operation::Receive(receive) if incoming.len() as u64 != receive.len => {
                    incoming = empty(receive.len);
                }
                Operation::Receive(_) | Operation::Collective(_) => {}
            }
        }
        Memory { outgoing, incoming }
    }

    fn make(&mut self, action: &Action<'_>) -> Memory {
        let Self { program, me, .. } = *self;
        let mut memory = Memory::default();
        for operation in action.operations() {
            match operation {
                Operation::Send(send) => {
                    let (stream, number) = self.next_message(&send);
                    memory.outgoing = stream.payload(number, send.len as usize);
                }
                Operation::Receive(receive) => memory.incoming = empty(receive.len),
                Operation::Collective(call) => {
                    let (outgoing, incoming) = lens(program, &operation, me);
                    // An all-to-all sends the same block to each rank: its result is then that of an allgather.
                    let blocks = outgoing.checked_div(call.len).unwrap_or(0);
                    memory.outgoing = contribution(me, call.len).repeat(blocks as usize);
                    memory.incoming = empty(incoming);
                }
            }
        }
        memory
    }

    /// The stream of a message, and its number there, for its payload.
    fn next_message(&mut self, send: &Send) -> (Stream, u64) {
        let (to, tag, communicator) = (send.to.0, mpi::number(send.tag), send.communicator.index());
        let stream = Stream { from: self.me, to, communicator, tag };
        let number = self.sent.entry(stream).or_default();
        *number += 1;
        (stream, *number)
    }
}

/// The bytes that an operation of a program sends and receives.
fn lens(program: &Program, operation: &Operation, me: u32) -> (u64, u64) {
    let (me, members) = program.place(operation.communicator(), me);
    let lens = operation.outgoing_and_incoming_len(me, members);
    lens.unwrap_or_else(|misfit| unreachable!("a program moves bytes that can be counted: {misfit}"))
}

/// The bytes that a statement sends and receives, if they are known before it runs.
fn known_lens(program: &Program, statement: Statement<'_>, me: u32) -> Option<(u64, u64)> {
    let outline = statement.outline();
    let Some(deferred) = statement.deferred() else {
        let add = |(sent, received): (u64, u64), (more_sent, more_received): (u64, u64)| {
            (sent.saturating_add(more_sent), received.saturating_add(more_received))
        };
        return Some(outline.operations().map(|operation| lens(program, &operation, me)).fold((0, 0), add));
    };
    if outline.operations().next().is_none() {
        return Some((0, 0));
    }
    let sent = deferred.sending().map_or(Some(0), |send| send.len)?;
    let received = deferred.receiving().map_or(Some(0), |receive| receive.len)?;
    Some((sent, received))
}

/// Memory for received data: touched, and filled with bytes that no message consists of.
pub(crate) fn empty(len: u64) -> Vec<u8> {
    vec![0xa5; len as usize]
}

/// The most bytes that one of this many ranks makes ahead.
fn most_of_each(ranks: u32) -> u64 {
    AHEAD_MAX / u64::from(ranks.max(1))
}

/// Whether some memory of a job with these programs cannot be made ahead.
pub fn exceeds_memory_ahead(programs: &[Arc<Program>]) -> bool {
    let ranks = programs.len() as u32;
    (0..).zip(programs).any(|(rank, program)| fitting(program, rank, most_of_each(ranks)) < program.len())
}

/// The number of first statements that together need at most this many bytes.
fn fitting(program: &Program, me: u32, most: u64) -> usize {
    let mut sum = 0u64;
    let needs = program.statements().map(|statement| need(program, statement, me));
    let fits = needs.take_while(|bytes| {
        sum = sum.saturating_add(*bytes);
        sum <= most
    });
    fits.count()
}

/// The bytes that a statement needs, as far as they are known before it runs.
fn need(program: &Program, statement: Statement<'_>, me: u32) -> u64 {
    known_lens(program, statement, me).map_or(0, |(sent, received)| sent.saturating_add(received))
}

#[cfg(test)]
mod tests {
    use super::*;
    use carrousel_program::programs;

    fn job(text: &str) -> Vec<Arc<Program>> {
        let scenario = carrousel_scenario::load("test.scn", text.as_bytes()).expect("it is right");
        programs(&scenario).expect("it can be run")
    }

    const MANY: &str = "ranks 2\nrank *\n  isend to 1-me tag 0 size 3000\n  isend to 1-me tag 0 size 100\n  \
                        sendrecv to me tag 1 size 9 from me tag 1 size 20\n  recv from any tag 0 size 3000\n  \
                        recv from any tag 0 size 3000\n  wait all\n  bcast root 1 size 70\n  reduce root 0 size 8\n  \
                        allreduce size 8\n  gather root 0 size 8\n  allgather size 8\n  alltoall size 8\n";

    fn all(mut supply: Supply<'_>) -> Vec<Memory> {
        let program = supply.program;
        (0..).zip(program.statements()).map(|(at, it)| supply.take(at, &it.outline())).collect()
    }

    #[test]
    fn what_is_made_ahead_is_what_is_made_when_it_is_needed() {
        for (rank, program) in (0..).zip(&job(MANY)) {
            let ahead = Supply::new(program, rank, 2);
            assert_eq!(ahead.ahead.len(), program.len());
            let late = Supply::with_most(program, rank, 3100);
            assert_eq!((late.ahead.len(), late.ahead_of), (2, 2));
            assert_eq!(all(ahead), all(late));
        }
    }

    #[test]
    fn statements_need_what_is_made_for_them() {
        for (rank, program) in (0..).zip(&job(MANY)) {
            let made = all(Supply::new(program, rank, 2));
            let lens = made.iter().map(|memory| (memory.outgoing.len() + memory.incoming.len()) as u64);
            let needs = program.statements().map(|statement| need(program, statement, rank));
            assert_eq!(lens.collect::<Vec<_>>(), needs.collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_scenario_with_more_than_is_made_ahead_is_found() {
        assert!(!exceeds_memory_ahead(&job(MANY)));
        let many = "ranks 2\nrank 0\n  repeat 600\n    send to 1 tag 0 size 1MiB\n  end\nrank 1\n  repeat 600\n    \
                    recv from 0 tag 0 size 1MiB\n  end\n";
        assert!(exceeds_memory_ahead(&job(many)));
    }
}
