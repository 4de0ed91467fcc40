//! The state: windows, and what is on its way between them.

use super::program::EpochProgram;
use super::rank::{EpochRank, WindowOperation};
use carrousel_epoch::{EpochRules, GrantWord, Order, Packet};
use std::collections::VecDeque;

/// An operation: its origin, and its place among those.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OperationName {
    pub(super) origin: usize,
    pub(super) at: usize,
}

/// What is on its way on a lane, which keeps the order of posting.
#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq)]
pub(super) enum LaneItem {
    Data(OperationName),
    Packet(Packet, Order),
}

/// A grant word: the value that is stored, and the one that its rank has seen.
#[derive(Clone, Copy, Debug, Default, Hash, PartialEq, Eq)]
pub(super) struct StoredWord {
    pub(super) stored: u64,
    pub(super) seen: u64,
}

/// One state.
#[derive(Clone, Debug, Hash, PartialEq, Eq)]
pub(super) struct EpochState {
    pub(super) ranks: Vec<EpochRank>,
    /// By sender and receiver, as [`EpochState::pair`] counts them.
    pub(super) lanes: Vec<VecDeque<LaneItem>>,
    /// Reads that have arrived, and have not acted. In order of name.
    pub(super) reading: Vec<OperationName>,
    /// Writes and atomics that have acted, which their origin does not know. In order of name.
    pub(super) unreported: Vec<OperationName>,
    /// By rank: staging buffers that it has given, and whose operand was not applied.
    pub(super) given_buffers: Vec<u16>,
    /// By host and origin: exposures, and locks.
    pub(super) words: Vec<[StoredWord; 2]>,
    /// By sender and receiver: messages of the program that were not received.
    pub(super) messages: Vec<u8>,
    /// Done and LockRelease that were posted: sender, receiver, word and access. In order.
    pub(super) finished: Vec<(u8, u8, GrantWord, u64)>,
    /// The property that is broken, and how.
    pub(super) violation: Option<String>,
}

/// The place of a grant word.
pub(super) fn word_index(word: GrantWord) -> usize {
    match word {
        GrantWord::Exposures => 0,
        GrantWord::Locks => 1,
    }
}

impl EpochState {
    pub(super) fn new<R: EpochRules>(program: &EpochProgram) -> Self {
        let ranks = program.ranks.len();
        Self {
            ranks: (0..ranks).map(|me| EpochRank::new::<R>(me, ranks, program.flags)).collect(),
            lanes: vec![VecDeque::new(); ranks * ranks],
            reading: Vec::new(),
            unreported: Vec::new(),
            given_buffers: vec![0; ranks],
            words: vec![[StoredWord::default(); 2]; ranks * ranks],
            messages: vec![0; ranks * ranks],
            finished: Vec::new(),
            violation: None,
        }
    }

    /// The place of a pair of ranks.
    pub(super) fn pair(&self, from: usize, to: usize) -> usize {
        from * self.ranks.len() + to
    }

    pub(super) fn operation(&self, name: OperationName) -> &WindowOperation {
        &self.ranks[name.origin].operations[name.at]
    }

    /// Whether every rank has run to its end.
    pub(super) fn is_over(&self, program: &EpochProgram) -> bool {
        let ended =
            |(rank, steps): (&EpochRank, &Vec<_>)| usize::from(rank.at) == steps.len() && rank.is_free();
        self.ranks.iter().zip(&program.ranks).all(ended)
    }
}

/// Inserts into a list that is in order.
pub(super) fn insert_sorted<T: Ord>(list: &mut Vec<T>, item: T) -> bool {
    match list.binary_search(&item) {
        Ok(_) => false,
        Err(at) => {
            list.insert(at, item);
            true
        }
    }
}
