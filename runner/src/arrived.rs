//! Received data of a rank: kept while the clock runs, and compared with the expected data afterwards.

use crate::memory::contribution;
use crate::payload::Stream;
use crate::run_scenario::{PlayError, Player};
use carrousel::Status;
use carrousel_scenario::{BufferId, Op};

/// Received data, to be compared with the expected data.
pub(crate) struct Arrived {
    /// The statement that received it.
    pub(crate) statement: usize,
    pub(crate) buffer: Vec<u8>,
    /// The status of a message; `None` for the result of a collective.
    pub(crate) status: Option<Status>,
}

/// A named buffer of the program.
pub(crate) struct Named {
    /// What the program writes.
    pub(crate) own: Vec<u8>,
    /// What has come into it since the program has last written it, by position among all that has come.
    pub(crate) come: Option<usize>,
}

impl Player<'_> {
    /// Keeps what has come until it is checked, after the run; what was not made ahead is checked at once, and its
    /// memory given back, unless it is the named buffer that the program may read.
    pub(crate) fn come(&mut self, arrived: Arrived) -> Result<(), PlayError> {
        self.done[arrived.statement].received = arrived.status;
        let late = !self.is_ahead(arrived.statement);
        if late {
            self.check(&arrived)?;
        }
        let op = self.program.steps[arrived.statement].op.outline();
        if let Op::Recv { buf: Some(BufferId(buffer)), .. } = *op {
            let before = self.buffers[buffer as usize].come.replace(self.arrived.len());
            // What was made ahead is looked at after the run.
            if let Some(before) = before.filter(|before| !self.is_ahead(self.arrived[*before].statement)) {
                self.arrived[before].buffer = Vec::new();
            }
        } else if late {
            return Ok(());
        }
        self.arrived.push(arrived);
        Ok(())
    }

    /// Keeps memory that was sent from: giving it back takes time.
    pub(crate) fn keep(&mut self, statement: usize, buffer: Vec<u8>) {
        if self.is_ahead(statement) {
            self.spent.push(buffer);
        }
    }

    /// Whether the memory of a statement was made before the clock started.
    pub(crate) fn is_ahead(&self, statement: usize) -> bool {
        self.supply.is_ahead(statement)
    }

    /// Checks what has come.
    pub(crate) fn check(&self, arrived: &Arrived) -> Result<(), PlayError> {
        let Arrived { statement, buffer, status } = arrived;
        let Some(Status { source: from, tag, bytes }) = *status else {
            let op = &self.program.steps[*statement].op;
            let wrong = buffer.iter().zip(self.expected(op)).position(|(got, expected)| *got != expected);
            let error = |at| PlayError::WrongResult { name: op.name(), at, len: buffer.len() };
            return wrong.map_or(Ok(()), |at| Err(error(at)));
        };
        let stream = Stream { from, to: self.world.rank(), tag };
        let got = &buffer[..bytes as usize];
        match stream.first_wrong(got) {
            Some(at) => Err(PlayError::Changed { from, tag, at, len: got.len() }),
            None => Ok(()),
        }
    }

    /// What a collective should have brought.
    fn expected(&self, op: &Op) -> Vec<u8> {
        let (me, ranks) = (self.world.rank(), self.world.size());
        let all = |size: u64| (0..ranks).flat_map(|rank| contribution(rank, size)).collect::<Vec<u8>>();
        let combined = |size: u64| {
            let mut sum = vec![0; size as usize];
            for rank in 0..ranks {
                sum.iter_mut().zip(contribution(rank, size)).for_each(|(sum, byte)| *sum ^= byte);
            }
            sum
        };
        match *op {
            Op::Bcast { root, size } => contribution(root, size),
            Op::Reduce { root, size } if me == root => combined(size),
            Op::Gather { root, size } if me == root => all(size),
            Op::AllReduce { size } => combined(size),
            Op::AllGather { size } | Op::AllToAll { size } => all(size),
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::{checksum, empty};
    use carrousel::threads;
    use carrousel_scenario::{Scenario, load};

    fn scenario(text: &str) -> Scenario {
        load("test.scn", text.as_bytes()).expect("it is right")
    }

    #[test]
    fn a_named_buffer_is_read_with_what_has_come_into_it_and_with_what_was_written_since() {
        let text = "ranks 2\nrank 0\n  send to 1 tag 0 size 4000\n  send to 1 tag 1 size 4000\nrank 1\n  read buf b\n  \
                    recv from 0 tag 0 size 4000 buf b\n  read buf b\n  \
                    r = irecv from 0 tag 1 size 4000 buf b\n  wait r\n  read buf b\n  write buf b\n  read buf b\n";
        let scenario = scenario(text);
        let read = threads(2, |world| {
            let mut player = Player::new(world, &scenario);
            player.run().map(|()| player.read).map_err(|(at, error)| format!("{at}: {error}"))
        });
        let read = read.expect("the job can be set up");
        let message = |tag| Stream { from: 0, to: 1, tag }.payload(1, 4000);
        let contents = [empty(4000), message(0), message(1), vec![1; 4000]];
        let sum = contents.iter().map(|bytes| checksum(bytes)).fold(0, u64::wrapping_add);
        assert_eq!(read, [Ok(0), Ok(sum)]);
    }

    #[test]
    fn a_named_buffer_has_what_has_come_into_it_from_a_source_that_was_found_out() {
        let text = "ranks 2\nrank 0\n  send to 1 tag 0 size 400\n  send to 1 tag 400 size 400\nrank 1\n  \
                    p = probe from any tag 400\n  recv from source(p) tag 0 size tag(p) buf b\n  read buf b\n  \
                    recv from source(p) tag tag(p) size tag(p) buf b\n  read buf b\n";
        let scenario = scenario(text);
        let read = threads(2, |world| {
            let mut player = Player::new(world, &scenario);
            player.run().map(|()| player.read).map_err(|(at, error)| format!("{at}: {error}"))
        });
        let read = read.expect("the job can be set up");
        let message = |tag| Stream { from: 0, to: 1, tag }.payload(1, 400);
        let sum = [message(0), message(400)].iter().map(|bytes| checksum(bytes)).fold(0, u64::wrapping_add);
        assert_eq!(read, [Ok(0), Ok(sum)]);
    }

    #[test]
    fn what_comes_wrong_is_found_after_the_run_with_its_statement() {
        let scenario =
            scenario("ranks 2\nrank *\n  barrier\n  allreduce size 64\n  recv from any tag any size 64\n");
        let wrong = threads(2, |world| {
            let player = Player::new(world, &scenario);
            let status = Status { source: 0, tag: 7, bytes: 64 };
            let changed = Arrived { statement: 2, buffer: empty(64), status: Some(status) };
            let result = Arrived { statement: 1, buffer: empty(64), status: None };
            [changed, result].map(|arrived| player.check(&arrived).map_err(|error| error.to_string()))
        });
        for [changed, result] in wrong.expect("the job can be set up") {
            assert_eq!(
                changed,
                Err("byte 8 of the 64 bytes from rank 0 with tag 7 is not what was sent".to_owned())
            );
            assert_eq!(
                result,
                Err("byte 0 of the 64 bytes that `allreduce` has brought is wrong".to_owned())
            );
        }
    }
}
