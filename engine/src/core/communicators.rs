//! Which numbers of communicators are in use at this rank.
//!
//! A number is used again once nobody here has its communicator any more, and no message of it waits: what a program has
//! sent and never received must not be found by a receive in another communicator.

use carrousel_rank::Communicator;
use std::cell::RefCell;
use std::rc::Rc;

/// How many numbers ranks compare at a time: those that most programs ever have.
pub(crate) const COMPARED: usize = 2048;

/// A bit for each of the numbers that are compared at a time, the lowest first: whether it is in use.
pub(crate) type Taken = [u64; COMPARED / u64::BITS as usize];

/// The word of a number, and its bit there.
fn bit(communicator: Communicator) -> (usize, u64) {
    let number = usize::from(communicator.index());
    (number / u64::BITS as usize, 1 << (number % u64::BITS as usize))
}

/// Communicators whose last handle is gone. They tell by themselves, at any time, also while the rank is at work.
#[derive(Clone, Debug, Default)]
struct GivenUp(Rc<RefCell<Vec<Communicator>>>);

/// The members of a communicator, for as long as anybody has it.
#[derive(Debug)]
pub(crate) struct Membership {
    /// As ranks of the job, by place.
    pub(crate) members: Box<[u32]>,
    /// `None` at a rank that is none of them.
    own: Option<(Communicator, GivenUp)>,
}

impl Membership {
    /// Of ranks of which this one is none.
    pub(crate) fn of_others(members: &[u32]) -> Self {
        Self { members: members.into(), own: None }
    }
}

impl Drop for Membership {
    fn drop(&mut self) {
        if let Some((communicator, given_up)) = &self.own {
            given_up.0.borrow_mut().push(*communicator);
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
    /// Which of the numbers from `block` times [`COMPARED`] on are in use. That of all ranks of the job always is, and so
    /// is one that there cannot be.
    pub(super) fn taken(&self, block: usize) -> Taken {
        let first = block * COMPARED;
        let mut taken = [0; COMPARED / u64::BITS as usize];
        for (word, taken) in taken.iter_mut().enumerate() {
            let word = first / u64::BITS as usize + word;
            *taken = match word * u64::BITS as usize >= usize::from(Communicator::MAX) {
                true => u64::MAX,
                false => self.taken.get(word).copied().unwrap_or(0) | u64::from(word == 0),
            };
        }
        taken
    }

    /// A communicator is in use from now on.
    pub(super) fn take(&mut self, communicator: Communicator, members: &[u32]) -> Membership {
        let (word, bit) = bit(communicator);
        if self.taken.len() <= word {
            self.taken.resize(word + 1, 0);
        }
        self.taken[word] |= bit;
        Membership { members: members.into(), own: Some((communicator, self.given_up.clone())) }
    }

    /// Has those that nobody has any more `forget`, if that is possible now.
    pub(super) fn collect(&mut self, mut forget: impl FnMut(Communicator) -> bool) {
        let given_up = std::mem::take(&mut *self.given_up.0.borrow_mut());
        for communicator in given_up {
            if forget(communicator) {
                let (word, bit) = bit(communicator);
                self.taken[word] &= !bit;
            } else {
                self.given_up.0.borrow_mut().push(communicator);
            }
        }
    }
}
