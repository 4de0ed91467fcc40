//! The communicator numbers that are in use at this rank.
//!
//! A number can be used again once no member has a handle of its communicator any more, and no message of the communicator
//! is unexpected or on its way: a receive in another communicator must not find it. No rank knows that alone. So the
//! ranks find it out when they agree on the number of a new communicator: first all messages that they have sent arrive,
//! then each rank says which numbers are in use. A number stays in use if a member of its communicator does not take
//! part in the agreement.

use carrousel_rank::{Communicator, Members};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many numbers the ranks compare at a time: more than most programs ever have.
pub const COMPARED: usize = 2048;

/// A bit for each number of a block, the lowest first: whether the number is in use.
pub type Taken = [u64; COMPARED / u64::BITS as usize];

/// The word of a number, and its bit there.
fn bit(communicator: Communicator) -> (usize, u64) {
    let number = usize::from(communicator.index());
    (number / u64::BITS as usize, 1 << (number % u64::BITS as usize))
}

/// The same within a block of [`COMPARED`] numbers; `None` for a number of another block.
fn bit_in(block: usize, communicator: Communicator) -> Option<(usize, u64)> {
    const WORDS: usize = COMPARED / u64::BITS as usize;
    let (word, bit) = bit(communicator);
    word.checked_sub(block * WORDS).filter(|at| *at < WORDS).map(|at| (at, bit))
}

/// The communicators whose last handle has been dropped. A handle may be dropped at any time, also during progress.
#[derive(Clone, Debug, Default)]
struct GivenUp(Arc<Mutex<Vec<Ended>>>);

impl GivenUp {
    /// The list; it is valid even if the lock is poisoned, as no holder can panic halfway through a change.
    fn list(&self) -> MutexGuard<'_, Vec<Ended>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A communicator, and its members.
type Ended = (Communicator, Members);

/// The members of a communicator, as long as there is a handle of it.
#[derive(Debug)]
pub struct Membership {
    members: Members,
    /// `None` at a rank that is not a member.
    own: Option<(Communicator, GivenUp)>,
}

impl Membership {
    /// A group that this rank is not a member of.
    pub fn of_others(members: Members) -> Self {
        Self { members, own: None }
    }

    /// The members.
    #[inline]
    pub fn members(&self) -> &Members {
        &self.members
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        if let Some((communicator, given_up)) = self.own.take() {
            given_up.list().push((communicator, self.members.clone()));
        }
    }
}

/// The communicator numbers that are in use.
#[derive(Debug, Default)]
pub(super) struct Communicators {
    /// A bit for each number, up to the highest one that was ever in use.
    taken: Vec<u64>,
    given_up: GivenUp,
}

impl Communicators {
    /// Which numbers from `block` times [`COMPARED`] on are in use, in the eyes of the ranks that agree on a number now.
    /// `may_end` says of a communicator without handles whether its number is free for them. The world's number is always
    /// in use, and so are numbers beyond the last one.
    pub(super) fn taken(
        &self,
        block: usize,
        mut may_end: impl FnMut(Communicator, &Members) -> bool,
    ) -> Taken {
        let first = block * COMPARED;
        let mut taken = [0; COMPARED / u64::BITS as usize];
        for (at, taken) in taken.iter_mut().enumerate() {
            let word = first / u64::BITS as usize + at;
            *taken = match word * u64::BITS as usize >= usize::from(Communicator::MAX) {
                true => u64::MAX,
                false => self.taken.get(word).copied().unwrap_or(0) | u64::from(word == 0),
            };
        }
        for (communicator, members) in self.given_up.list().iter() {
            if let Some((at, bit)) = bit_in(block, *communicator)
                && may_end(*communicator, members)
            {
                taken[at] &= !bit;
            }
        }
        taken
    }

    /// Takes the numbers that are in use at any of the ranks that agree. Communicators without handles whose numbers are
    /// free everywhere are forgotten, by `forget`.
    pub(super) fn agreed(&mut self, block: usize, all: &Taken, mut forget: impl FnMut(Communicator) -> bool) {
        let Self { taken, given_up } = self;
        given_up.list().retain(|(communicator, _)| {
            let is_free = bit_in(block, *communicator).is_some_and(|(at, bit)| all[at] & bit == 0);
            let ends = is_free && forget(*communicator);
            if ends {
                let (word, bit) = bit(*communicator);
                taken[word] &= !bit;
            }
            !ends
        });
    }

    /// Puts a number in use.
    pub(super) fn take(&mut self, communicator: Communicator, members: Members) -> Membership {
        let (word, bit) = bit(communicator);
        if self.taken.len() <= word {
            self.taken.resize(word + 1, 0);
        }
        self.taken[word] |= bit;
        Membership { members, own: Some((communicator, self.given_up.clone())) }
    }
}
