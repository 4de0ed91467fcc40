//! Which numbers of communicators are in use at this rank.
//!
//! A number is used again once no member has its communicator any more, and no message of it waits or is on its way: what
//! a program has sent and never received must not be found by a receive in another communicator. No rank knows that
//! alone. So it is found out where ranks agree on a number for a further communicator: before, all that they have sent
//! has arrived, and then each says which numbers are in use. One whose communicator has had a member that takes no
//! part counts as in use.

use carrousel_rank::Communicator;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How many numbers ranks compare at a time: those that most programs ever have.
pub(crate) const COMPARED: usize = 2048;

/// A bit for each of the numbers that are compared at a time, the lowest first: whether it is in use.
pub(crate) type Taken = [u64; COMPARED / u64::BITS as usize];

/// The word of a number, and its bit there.
fn bit(communicator: Communicator) -> (usize, u64) {
    let number = usize::from(communicator.index());
    (number / u64::BITS as usize, 1 << (number % u64::BITS as usize))
}

/// The same within a block of [`COMPARED`] numbers; `None` of a number in another one.
fn bit_in(block: usize, communicator: Communicator) -> Option<(usize, u64)> {
    const WORDS: usize = COMPARED / u64::BITS as usize;
    let (word, bit) = bit(communicator);
    word.checked_sub(block * WORDS).filter(|at| *at < WORDS).map(|at| (at, bit))
}

/// Communicators whose last handle is gone. They tell by themselves, at any time, also while the rank is at work.
#[derive(Clone, Debug, Default)]
struct GivenUp(Arc<Mutex<Vec<Members>>>);

impl GivenUp {
    /// Nobody who has the list can fail, so it is whole.
    fn list(&self) -> MutexGuard<'_, Vec<Members>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A communicator, and its members, as ranks of the job.
type Members = (Communicator, Box<[u32]>);

/// The members of a communicator, for as long as anybody has it.
#[derive(Debug)]
pub(crate) struct Membership {
    /// As ranks of the job, by place.
    pub(crate) members: Box<[u32]>,
    /// Places, by rank.
    places: Box<[u32]>,
    /// `None` at a rank that is none of them.
    own: Option<(Communicator, GivenUp)>,
}

impl Membership {
    /// Of ranks of which this one is none.
    pub(crate) fn of_others(members: &[u32]) -> Self {
        Self::new(members, None)
    }

    fn new(members: &[u32], own: Option<(Communicator, GivenUp)>) -> Self {
        let mut places: Box<[u32]> = (0..members.len() as u32).collect();
        places.sort_unstable_by_key(|place| members[*place as usize]);
        Self { members: members.into(), places, own }
    }

    /// The place of a rank of the job; `None` if it is no member.
    #[inline]
    pub(crate) fn place(&self, rank: u32) -> Option<u32> {
        let member = |place: &u32| self.members[*place as usize];
        // In a duplicate of all ranks each has the place of its number.
        if self.members.get(rank as usize) == Some(&rank) {
            return Some(rank);
        }
        let at = self.places.binary_search_by_key(&rank, member).ok()?;
        Some(self.places[at])
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        if let Some((communicator, given_up)) = self.own.take() {
            given_up.list().push((communicator, std::mem::take(&mut self.members)));
        }
    }
}

/// The numbers that are in use.
#[derive(Debug, Default)]
pub(super) struct Communicators {
    /// A bit for each, as far as any was in use.
    taken: Vec<u64>,
    given_up: GivenUp,
}

impl Communicators {
    /// Which of the numbers from `block` times [`COMPARED`] on are in use, to ranks that [`Communicators::agreed`] is told
    /// the same by: `may_end` says of a communicator that nobody here has any more whether that is all. The number of
    /// all ranks of the job always is in use, and so is one that there cannot be.
    pub(super) fn taken(&self, block: usize, mut may_end: impl FnMut(Communicator, &[u32]) -> bool) -> Taken {
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

    /// These are in use at some rank of those that agree, this one among them. Has the others `forget` that nobody has any
    /// more.
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

    /// A communicator is in use from now on.
    pub(super) fn take(&mut self, communicator: Communicator, members: &[u32]) -> Membership {
        let (word, bit) = bit(communicator);
        if self.taken.len() <= word {
            self.taken.resize(word + 1, 0);
        }
        self.taken[word] |= bit;
        Membership::new(members, Some((communicator, self.given_up.clone())))
    }
}
