//! Received data of a rank: kept while the clock runs, and compared with the expected data afterwards.

use crate::error::RunError;
use crate::memory::empty;
use crate::payload::{Stream, contribution};
use carrousel::Status;
use carrousel_program::{BufferId, Collective, Kind, Operation, Program};
use std::hint::black_box;

/// Received data, to be compared with the expected data.
pub(crate) struct Arrived {
    /// The statement that received it.
    pub(crate) statement: usize,
    pub(crate) buffer: Vec<u8>,
    /// The status of a message, with its source as a rank of the job; `None` for the result of a collective.
    pub(crate) status: Option<Status>,
    /// The named buffer into which it was received.
    pub(crate) named: Option<BufferId>,
    /// Whether its memory was made before the clock started: then it is checked after the run.
    pub(crate) ahead: bool,
}

/// A named buffer of the program.
struct Named {
    /// The bytes that the program writes.
    own: Vec<u8>,
    /// The data that was received into it since the program last wrote it, by position among all received data.
    come: Option<usize>,
}

/// The received data of a rank, and the contents of its named buffers.
pub(crate) struct Contents<'a> {
    program: &'a Program,
    me: u32,
    arrived: Vec<Arrived>,
    named: Vec<Named>,
    /// The sum of everything that the program has read from its buffers.
    pub(crate) read: u64,
    /// The number of its writes to named buffers.
    writes: u8,
}

impl<'a> Contents<'a> {
    pub(crate) fn new(program: &'a Program, me: u32) -> Self {
        let named = program.buffers().map(|len| Named { own: empty(len), come: None }).collect();
        let arrived = Vec::with_capacity(program.len());
        Self { program, me, arrived, named, read: 0, writes: 0 }
    }

    /// Keeps received data until it is checked, after the run. Data in memory that was not made ahead is checked at
    /// once, and its memory given back, unless it is in a named buffer, which the program may read.
    pub(crate) fn come(&mut self, arrived: Arrived) -> Result<(), RunError> {
        if !arrived.ahead {
            self.check(&arrived)?;
        }
        if let Some(name) = arrived.named {
            let before = self.named[name.0 as usize].come.replace(self.arrived.len());
            // Data in memory that was made ahead is checked after the run.
            if let Some(before) = before.filter(|before| !self.arrived[*before].ahead) {
                self.arrived[before].buffer = Vec::new();
            }
        } else if !arrived.ahead {
            return Ok(());
        }
        self.arrived.push(arrived);
        Ok(())
    }

    /// The program reads a named buffer: the data that it last received into it, or has written since.
    pub(crate) fn read(&mut self, buffer: BufferId) {
        let Named { own, come } = &self.named[buffer.0 as usize];
        let bytes = come.map_or(own, |come| &self.arrived[come].buffer);
        self.read = self.read.wrapping_add(black_box(checksum(bytes)));
    }

    /// The program writes a named buffer, in memory of the buffer's own.
    pub(crate) fn write(&mut self, buffer: BufferId) {
        self.writes = self.writes.wrapping_add(1);
        let named = &mut self.named[buffer.0 as usize];
        named.own.fill(self.writes);
        black_box(&mut named.own);
        named.come = None;
    }

    /// Checks the received data that was not checked on arrival. `Err` names the statement, by position.
    pub(crate) fn check_all(&self) -> Result<(), (usize, RunError)> {
        let mut late = self.arrived.iter().filter(|arrived| arrived.ahead);
        late.try_for_each(|arrived| self.check(arrived).map_err(|error| (arrived.statement, error)))
    }

    fn check(&self, arrived: &Arrived) -> Result<(), RunError> {
        let Arrived { statement, buffer, status, .. } = arrived;
        let Some(Status { source: from, tag, bytes }) = *status else {
            let wrong = buffer.iter().zip(self.expected(*statement)).position(|(got, due)| *got != due);
            let name = self.program.statement(*statement).keyword();
            let error = |at| RunError::WrongResult { name, at, len: buffer.len() };
            return wrong.map_or(Ok(()), |at| Err(error(at)));
        };
        let communicator = self.program.statement(*statement).communicator().index();
        let stream = Stream { from, to: self.me, communicator, tag };
        let got = &buffer[..bytes as usize];
        match stream.first_wrong(got) {
            Some(at) => Err(RunError::Changed { from, tag, at, len: got.len() }),
            None => Ok(()),
        }
    }

    /// The expected result of a statement's collective.
    fn expected(&self, statement: usize) -> Vec<u8> {
        let operation = self.program.statement(statement).outline().operations().next();
        let Some(Operation::Collective(Collective { kind, communicator, root, len })) = operation else {
            return Vec::new();
        };
        let members = self.program.members(communicator);
        let root = members.rank(root).map_or(root, |rank| rank.0);
        let all = || members.iter().flat_map(|rank| contribution(rank.0, len)).collect::<Vec<u8>>();
        let combined = || {
            let mut sum = vec![0; len as usize];
            for rank in members.iter() {
                sum.iter_mut().zip(contribution(rank.0, len)).for_each(|(sum, byte)| *sum ^= byte);
            }
            sum
        };
        match kind {
            Kind::Barrier => Vec::new(),
            Kind::Broadcast => contribution(root, len),
            Kind::Reduce | Kind::Gather if self.me != root => Vec::new(),
            Kind::Reduce | Kind::AllReduce => combined(),
            Kind::Gather | Kind::AllGather | Kind::AllToAll => all(),
        }
    }
}

/// The sum of all bytes, word by word.
fn checksum(bytes: &[u8]) -> u64 {
    let (words, rest) = bytes.as_chunks();
    let words = words.iter().map(|word| u64::from_le_bytes(*word));
    words.chain(rest.iter().map(|byte| u64::from(*byte))).fold(0, u64::wrapping_add)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_scenario::Runner;
    use carrousel::threads;
    use carrousel_program::programs;
    use carrousel_scenario::load;

    /// What a job's ranks have read of their buffers, summed up.
    fn read(text: &str) -> Vec<Result<u64, String>> {
        let scenario = load("test.scn", text.as_bytes()).expect("it is right");
        let programs = programs(&scenario).expect("it can be run");
        let read = threads(2, |world| {
            let mut runner = Runner::new(world, &scenario, &programs[world.rank() as usize]);
            runner.run().map(|()| runner.read()).map_err(|(at, error)| format!("{at}: {error}"))
        });
        read.expect("the job can be set up")
    }

    fn message(tag: u32, len: usize) -> Vec<u8> {
        Stream { from: 0, to: 1, communicator: 0, tag }.payload(1, len)
    }

    fn sum(contents: &[Vec<u8>]) -> u64 {
        contents.iter().map(|bytes| checksum(bytes)).fold(0, u64::wrapping_add)
    }

    #[test]
    fn a_named_buffer_is_read_with_what_has_come_into_it_and_with_what_was_written_since() {
        let read = read(
            "ranks 2\nrank 0\n  send to 1 tag 0 size 4000\n  send to 1 tag 1 size 4000\nrank 1\n  read buf b\n  \
             recv from 0 tag 0 size 4000 buf b\n  read buf b\n  \
             r = irecv from 0 tag 1 size 4000 buf b\n  wait r\n  read buf b\n  write buf b\n  read buf b\n",
        );
        let contents = [empty(4000), message(0, 4000), message(1, 4000), vec![1; 4000]];
        assert_eq!(read, [Ok(0), Ok(sum(&contents))]);
    }

    #[test]
    fn a_named_buffer_has_what_has_come_into_it_from_a_source_that_was_found_out() {
        let read = read(
            "ranks 2\nrank 0\n  send to 1 tag 0 size 400\n  send to 1 tag 400 size 400\nrank 1\n  \
             p = probe from any tag 400\n  recv from source(p) tag 0 size tag(p) buf b\n  read buf b\n  \
             recv from source(p) tag tag(p) size tag(p) buf b\n  read buf b\n",
        );
        assert_eq!(read, [Ok(0), Ok(sum(&[message(0, 400), message(400, 400)]))]);
    }

    #[test]
    fn a_receive_without_room_leaves_its_named_buffer_alone() {
        let read = read(
            "ranks 2\nrank 0\n  send to 1 tag 0 size 400\n  send to 1 tag 1 size 0\nrank 1\n  \
             recv from 0 tag 0 size 400 buf b\n  recv from 0 tag 1 size 0 buf b\n  read buf b\n",
        );
        assert_eq!(read, [Ok(0), Ok(sum(&[message(0, 400)]))]);
    }

    #[test]
    fn what_comes_wrong_is_found_after_the_run_with_its_statement() {
        let text = "ranks 2\nrank *\n  barrier\n  allreduce size 64\n  recv from any tag any size 64\n";
        let scenario = load("test.scn", text.as_bytes()).expect("it is right");
        let programs = programs(&scenario).expect("it can be run");
        let status = Status { source: 0, tag: 7, bytes: 64 };
        for (statement, status, expected) in [
            (2, Some(status), "byte 8 of the 64 bytes from rank 0 with tag 7 is not what was sent"),
            (1, None, "byte 0 of the 64 bytes that `allreduce` has brought is wrong"),
        ] {
            let mut contents = Contents::new(&programs[1], 1);
            let arrived = Arrived { statement, buffer: empty(64), status, named: None, ahead: true };
            contents.come(arrived).expect("it is checked after the run");
            let (at, error) = contents.check_all().expect_err("it is wrong");
            assert_eq!((at, error.to_string().as_str()), (statement, expected));
        }
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
