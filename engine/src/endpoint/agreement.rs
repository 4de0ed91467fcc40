//! Communicators are defined under numbers that their members agree on.

use super::Endpoint;
use super::communicators::{Membership, Taken};
use super::transports::Transports;
use crate::Error;
use crate::error::BoxedError;
use carrousel_rank::{Communicator, Members};

impl Endpoint {
    /// Which communicator numbers from `block` times [`COMPARED`](super::COMPARED) on are in use at this rank, in the eyes of
    /// the ranks for which `takes_part` holds: they agree on a number now, and all of their messages have arrived.
    pub fn communicators_taken(&mut self, block: usize, takes_part: impl Fn(u32) -> bool) -> Taken {
        // A message that has arrived keeps its communicator in use.
        self.poll_until_idle();
        let Self { communicators, driver, .. } = self;
        communicators.taken(block, |communicator, members| {
            members.iter().all(|rank| takes_part(rank.0)) && driver.rank.may_forget(communicator)
        })
    }

    /// Takes the numbers that are in use at any of the ranks: all other numbers of the block are free.
    pub fn communicators_agreed(&mut self, block: usize, all: &Taken) {
        let Self { communicators, driver, .. } = self;
        communicators.agreed(block, all, |communicator| driver.forget(communicator));
    }

    /// Defines a communicator of these ranks, under a number that all of them have agreed on.
    pub fn define(
        &mut self,
        number: usize,
        members: &Members,
    ) -> Result<(Communicator, Membership), BoxedError> {
        let communicator = u16::try_from(number).ok().and_then(Communicator::new);
        let communicator = communicator.ok_or(Error::TooManyCommunicators)?;
        self.driver.define(communicator, members, &mut Transports::of(&mut self.node, &mut self.net))?;
        Ok((communicator, self.communicators.take(communicator, members.clone())))
    }

    /// Lets receives from any source in this communicator outlast the loss of peers: others may still send. In other
    /// communicators the loss of a peer fails them, as they may have waited for that peer alone.
    pub fn welcome_strangers(&mut self, communicator: Communicator) -> Result<(), BoxedError> {
        let own = Members::new(&[self.driver.resources.me], self.ranks)?;
        self.driver.define(communicator, &own, &mut Transports::of(&mut self.node, &mut self.net))?;
        Ok(())
    }
}
