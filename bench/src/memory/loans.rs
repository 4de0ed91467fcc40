//! The time that a zero-copy send saves an eager message.

use super::{Adapter, MemoryError, repeated, us_since};
use crate::Budget;
use crate::statistics::Summary;
use carrousel::{Communicator, Error};
use carrousel_registration::{Policy, Thresholds};
use std::thread;
use std::time::Instant;

/// So many in one way, then as many in the other: what disturbs one disturbs the other.
const TURN: usize = 10;
/// Fruitless polls, which take seconds: a rank that waits then hears of a peer that cannot be reached.
const LOOKS: u32 = 2_000_000;
const TAG: u32 = 1;

/// Messages between two ranks of this process, through the whole library and the adapter, from memory that is in the
/// caches of the processor.
#[derive(Debug)]
pub(super) struct Loans<'a> {
    adapter: &'a Adapter,
    copying: Pair,
    lending: Pair,
    outgoing: Vec<u8>,
    incoming: Vec<u8>,
}

impl<'a> Loans<'a> {
    /// Connects ranks that copy messages, and others that lend all of theirs to the adapter, of at most so many bytes.
    pub(super) fn new(adapter: &'a Adapter, bytes_max: usize) -> Result<Self, MemoryError> {
        let lend =
            Policy { thresholds: Thresholds::uniform(1), bytes_max: bytes_max as u64, ..Policy::default() };
        let pair = |reuse| Pair::new(adapter, bytes_max, reuse).map_err(silent(adapter));
        let (copying, lending) = (pair(None)?, pair(Some(lend))?);
        Ok(Self { adapter, copying, lending, outgoing: vec![1; bytes_max], incoming: vec![1; bytes_max] })
    }

    /// By how much less time a message takes that is lent to the adapter than one that is copied first, in us. That is less
    /// than nothing where it takes longer to look for a registration, to have the adapter gather what lies in two places,
    /// and to hear that it has read it.
    pub(super) fn saved(&mut self, bytes: usize, budget: Budget) -> Result<Summary, MemoryError> {
        let Self { adapter, copying, lending, outgoing, incoming } = self;
        let (outgoing, incoming) = (&outgoing[..bytes], &mut incoming[..bytes]);
        let mut turn = |pair: &Pair| -> Result<f64, Error> {
            let began = Instant::now();
            for _ in 0..TURN {
                pair.message(outgoing, incoming)?;
            }
            Ok(us_since(began) / TURN as f64)
        };
        repeated(budget, || Ok(turn(copying)? - turn(lending)?)).map_err(silent(adapter))
    }
}

fn silent(adapter: &Adapter) -> impl Fn(Error) -> MemoryError {
    |why| MemoryError::Silent { adapter: adapter.name().to_owned(), why }
}

/// Two ranks that reach each other through the adapter.
#[derive(Debug)]
struct Pair(Vec<Communicator>);

impl Pair {
    fn new(adapter: &Adapter, bytes_max: usize, reuse: Option<Policy>) -> Result<Self, Error> {
        adapter.ranks(bytes_max, reuse).map(Self)
    }

    /// Sends a message, and returns when it has come and its memory may be changed.
    fn message(&self, outgoing: &[u8], incoming: &mut [u8]) -> Result<(), Error> {
        let [sender, receiver] = [&self.0[0], &self.0[1]];
        sender.scope(|from| {
            let mut sent = from.isend(outgoing, 1, TAG)?;
            receiver.scope(|into| {
                let mut come = into.irecv(incoming, 0, TAG)?;
                // Both have to look for what arrives.
                for _ in 0..LOOKS {
                    if come.test() & sent.test() {
                        break;
                    }
                    sender.iprobe(1, TAG)?;
                    // The kernel may need this processor for it.
                    thread::yield_now();
                }
                Ok(())
            })
        })
    }
}
