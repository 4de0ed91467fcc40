//! The words of a lock in memory that its origins share, and the accesses to them.

use crate::mode::Mode;
use alloc::vec;
use alloc::vec::Vec;
use carrousel_wire::RankId;
use core::sync::atomic::Ordering;

/// One of the words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Word {
    /// The next ticket: how many were taken.
    Next,
    /// The ticket whose exclusive request has its turn: how many tickets were released.
    WriteServing,
    /// The ticket whose shared request has its turn: how many tickets let a shared request behind them in.
    ReadServing,
    /// What this rank of the window has to do with the lock, an [`Owner`].
    Owner(RankId),
}

/// An access to a word, for a driver to carry out. Each is atomic, and those of one process are carried out one by one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Answers with the value.
    Load(Word),
    /// Answers with anything. Only the process that asks for it stores to the word.
    Store(Word, u64),
    /// Adds 1, modulo 2^64, and answers with the value before.
    Increment(Word),
}

impl Word {
    /// The word for which a request of this mode waits.
    pub const fn serving(mode: Mode) -> Self {
        match mode {
            Mode::Exclusive => Self::WriteServing,
            Mode::Shared => Self::ReadServing,
        }
    }
}

impl Access {
    /// The weakest memory order of this access where the words are shared memory.
    ///
    /// An increment of a serving word releases what its process has done under the lock to the process whose turn it is
    /// then, which acquires it by its load; increments by others in between pass it on. An increment of `next`, and the
    /// owners' words, order what an [`Inspection`](crate::Inspection) reads: it sees at least the words as they were when
    /// a ticket ahead of its own was taken, and each release that precedes what it sees.
    pub const fn order(self) -> Ordering {
        match self {
            Self::Load(_) => Ordering::Acquire,
            Self::Store(..) => Ordering::Release,
            Self::Increment(Word::Next) => Ordering::AcqRel,
            Self::Increment(_) => Ordering::Release,
        }
    }
}

/// What a rank has to do with the lock, as its word tells all others: so a ticket whose process is dead has a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Owner {
    /// It has no ticket.
    Idle,
    /// It takes a ticket; perhaps it has it already.
    Taking(Mode),
    /// It has this ticket: it waits, holds the lock, or is releasing it.
    Has(Mode, u64),
    /// It has died on another node as the holder with this ticket, as the host says, which took the ticket for it.
    Lost(Mode, u64),
}

/// Bits of a word that are not the ticket's.
const KIND_BITS: u32 = 3;
const KINDS: u64 = (1 << KIND_BITS) - 1;

impl Owner {
    /// As it stands in the word. Of the ticket, the low 61 bits are kept: two that are there at once differ by far less
    /// than 2^60, which would take a thousand million tickets a second for 36 years under one shared lock.
    pub const fn encode(self) -> u64 {
        match self {
            Self::Idle => 0,
            Self::Taking(Mode::Exclusive) => 1,
            Self::Taking(Mode::Shared) => 2,
            Self::Has(Mode::Exclusive, ticket) => ticket << KIND_BITS | 3,
            Self::Has(Mode::Shared, ticket) => ticket << KIND_BITS | 4,
            Self::Lost(Mode::Exclusive, ticket) => ticket << KIND_BITS | 5,
            Self::Lost(Mode::Shared, ticket) => ticket << KIND_BITS | 6,
        }
    }

    /// What a word says; nothing if no process of ours has written it.
    pub const fn decode(word: u64) -> Option<Self> {
        let ticket = word >> KIND_BITS;
        match (word & KINDS, ticket) {
            (0, 0) => Some(Self::Idle),
            (1, 0) => Some(Self::Taking(Mode::Exclusive)),
            (2, 0) => Some(Self::Taking(Mode::Shared)),
            (3, _) => Some(Self::Has(Mode::Exclusive, ticket)),
            (4, _) => Some(Self::Has(Mode::Shared, ticket)),
            (5, _) => Some(Self::Lost(Mode::Exclusive, ticket)),
            (6, _) => Some(Self::Lost(Mode::Shared, ticket)),
            _ => None,
        }
    }
}

/// How many tickets later one was taken than another one; negative if it was taken before. Of both, the low bits count, as a word keeps them.
pub(crate) const fn distance(later: u64, earlier: u64) -> i64 {
    (later.wrapping_sub(earlier) << KIND_BITS).cast_signed() >> KIND_BITS
}

/// Whether a ticket was taken before another one.
pub(crate) const fn is_ahead_of(ticket: u64, own: u64) -> bool {
    distance(own, ticket) > 0
}

/// The words of one lock, as plain numbers: for the checker, for tests, and as the layout of shared memory, whose words
/// are [`TicketWords::index`] in this order.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TicketWords {
    next: u64,
    write_serving: u64,
    read_serving: u64,
    /// By rank of the window.
    owners: Vec<u64>,
}

impl TicketWords {
    /// The words of a window of this many ranks, before the first request.
    pub fn new(ranks: u32) -> Self {
        Self::starting_at(0, ranks)
    }

    /// As after this many requests: tickets wrap at 2^64.
    pub fn starting_at(ticket: u64, ranks: u32) -> Self {
        Self { next: ticket, write_serving: ticket, read_serving: ticket, owners: vec![0; ranks as usize] }
    }

    /// How many words the lock of a window of this many ranks has.
    pub const fn words(ranks: u32) -> usize {
        ranks as usize + 3
    }

    /// The position of a word among [`TicketWords::words`].
    pub const fn index(word: Word) -> usize {
        match word {
            Word::Next => 0,
            Word::WriteServing => 1,
            Word::ReadServing => 2,
            Word::Owner(RankId(rank)) => rank as usize + 3,
        }
    }

    /// Carries an access out, and returns the answer; nothing if the window has no such word.
    pub fn carry_out(&mut self, access: Access) -> Option<u64> {
        let (Access::Load(word) | Access::Store(word, _) | Access::Increment(word)) = access;
        let place = match word {
            Word::Next => &mut self.next,
            Word::WriteServing => &mut self.write_serving,
            Word::ReadServing => &mut self.read_serving,
            Word::Owner(rank) => self.owners.get_mut(rank.0 as usize)?,
        };
        let before = *place;
        *place = match access {
            Access::Load(_) => before,
            Access::Store(_, value) => value,
            Access::Increment(_) => before.wrapping_add(1),
        };
        Some(before)
    }

    /// What the word of a rank says; nothing if there is no such rank, or no process of ours has written it.
    pub fn owner(&self, rank: RankId) -> Option<Owner> {
        Owner::decode(*self.owners.get(rank.0 as usize)?)
    }

    /// How many tickets were taken, and not released yet.
    pub fn outstanding(&self) -> u64 {
        self.next.wrapping_sub(self.write_serving)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Mode::{Exclusive, Shared};

    #[test]
    fn a_word_says_what_was_written() {
        let last = u64::MAX >> KIND_BITS;
        for owner in [
            Owner::Idle,
            Owner::Taking(Exclusive),
            Owner::Taking(Shared),
            Owner::Has(Exclusive, 0),
            Owner::Has(Shared, 7),
            Owner::Has(Exclusive, last),
            Owner::Lost(Exclusive, 3),
            Owner::Lost(Shared, last),
        ] {
            assert_eq!(Owner::decode(owner.encode()), Some(owner));
        }
        assert_eq!(Owner::decode(Owner::Has(Shared, u64::MAX).encode()), Some(Owner::Has(Shared, last)));
        for nonsense in [7, 1 << 8, 1 << 8 | 1, 1 << 8 | 2, u64::MAX] {
            assert_eq!(Owner::decode(nonsense), None, "{nonsense}");
        }
    }

    #[test]
    fn a_ticket_from_before_the_wrap_is_ahead_of_one_behind_it() {
        let low = |ticket: u64| ticket & (u64::MAX >> KIND_BITS);
        for (ticket, own) in [(0, 1), (7, 9), (u64::MAX, 0), (u64::MAX - 3, 5), ((1 << 61) - 1, 1 << 61)] {
            assert!(is_ahead_of(low(ticket), own), "{ticket} {own}");
            assert!(!is_ahead_of(low(own), ticket), "{own} {ticket}");
            assert!(!is_ahead_of(low(own), own));
        }
    }

    #[test]
    fn words_wrap_and_answer_with_what_they_were() {
        let mut words = TicketWords::starting_at(u64::MAX, 1);
        assert_eq!(words.carry_out(Access::Increment(Word::Next)), Some(u64::MAX));
        assert_eq!(words.carry_out(Access::Load(Word::Next)), Some(0));
        assert_eq!(words.outstanding(), 1);
        assert_eq!(words.carry_out(Access::Store(Word::Owner(RankId(0)), 9)), Some(0));
        assert_eq!(words.carry_out(Access::Load(Word::Owner(RankId(1)))), None, "there is no such rank");
        let places = [Word::Next, Word::WriteServing, Word::ReadServing, Word::Owner(RankId(0))];
        assert!(places.map(TicketWords::index).into_iter().eq(0..TicketWords::words(1)));
    }
}
