//! Finding out whether the ticket that blocks belongs to a process that is dead.

use crate::mode::Mode;
use crate::ticket::TicketRules;
use crate::words::{Access, Owner, Word, is_ahead_of};
use carrousel_wire::RankId;
use core::marker::PhantomData;

/// A dead process on which a waiting origin waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeadOwner {
    /// The process.
    pub origin: RankId,
    /// How it had requested the lock.
    pub mode: Mode,
    /// Whether it had said which ticket it has. If not, it died while it took one.
    pub has_said_ticket: bool,
}

/// Words that no process of ours has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum InspectionError {
    /// A word of an owner.
    #[error("the word of {origin} at the lock is {word:#x}, which says nothing: it is corrupt")]
    Owner {
        /// The rank whose word it is.
        origin: RankId,
        /// Its value.
        word: u64,
    },
    /// A ticket was taken, and no process has said so.
    #[error("{missing} tickets ahead have no owner, alive or dead: the words of the lock are corrupt")]
    Unowned {
        /// How many.
        missing: u64,
    },
}

/// What follows from an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Inspected {
    /// [`Inspection::access`] is the next access.
    Next,
    /// All tickets ahead belong to processes that live.
    Lives,
    /// At least one ticket ahead belongs to a process that is dead. This one is the first of those that it may be.
    Blocked(DeadOwner),
}

/// Finds out, for an origin whose ticket waits, whether one of the tickets ahead of it belongs to a dead process.
///
/// It reads the word of each rank, and then the serving word for which the ticket waits: that tells how many tickets
/// ahead are not out of its way yet. Each of these belongs to a process whose word said before that it has or takes one.
/// So if there are more of them than live processes may have, a dead one has one of them, and nobody will take it out of
/// the way. A process that died when its release was counted already blocks nobody, nor does a dead shared holder block
/// a shared request; neither is reported.
///
/// A live process that is out of the way and still holds the lock counts as one that may be in the way. So a dead one is
/// found once the live ones before it have released. An inspection reads as many words as the window has ranks: it is for
/// the slow path of a long wait.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Inspection<R> {
    mode: Mode,
    ticket: u64,
    /// The rank whose own word is not looked at.
    own: RankId,
    ranks: u32,
    at: u32,
    /// The ticket that is served, if it was read first.
    serving: Option<u64>,
    /// Tickets ahead that processes may have that live.
    alive: u64,
    /// Processes that are dead and may have a ticket ahead; and the first of them.
    dead: u64,
    first_dead: Option<DeadOwner>,
    rules: PhantomData<R>,
}

impl<R: TicketRules> Inspection<R> {
    /// On behalf of this rank of a window of `ranks`, whose ticket waits ([`TicketLock::waiting_ticket`]).
    /// [`Inspection::access`] is the first access.
    ///
    /// [`TicketLock::waiting_ticket`]: crate::TicketLock::waiting_ticket
    pub fn new(own: RankId, (mode, ticket): (Mode, u64), ranks: u32) -> Self {
        let mut begun = Self {
            mode,
            ticket,
            own,
            ranks,
            at: 0,
            serving: None,
            alive: 0,
            dead: 0,
            first_dead: None,
            rules: PhantomData,
        };
        begun.skip_own();
        begun
    }

    /// The access that is due, and the rank whose life is to be asked about before it. A ticket lives with the process that
    /// takes it: the rank itself if it shares the words, else their host.
    pub fn access(&self) -> (Access, Option<RankId>) {
        match self.reads_serving() {
            true => (Access::Load(Word::serving(self.mode)), None),
            false => (Access::Load(Word::Owner(RankId(self.at))), Some(RankId(self.at))),
        }
    }

    /// The answer, and whether the rank was alive before.
    ///
    /// # Errors
    /// If the words are corrupt.
    pub fn answer(&mut self, value: u64, is_alive: bool) -> Result<Inspected, InspectionError> {
        if self.reads_serving() {
            if !R::SERVING_READ_LAST {
                self.serving = Some(value);
                return Ok(Inspected::Next);
            }
            return self.judged(value);
        }
        let origin = RankId(self.at);
        let owner = Owner::decode(value).ok_or(InspectionError::Owner { origin, word: value })?;
        let candidate = match owner {
            Owner::Has(mode, ticket) if is_ahead_of(ticket, self.ticket) => Some((mode, true)),
            Owner::Lost(mode, ticket) if is_ahead_of(ticket, self.ticket) => Some((mode, true)),
            Owner::Taking(mode) => Some((mode, false)),
            Owner::Idle | Owner::Has(..) | Owner::Lost(..) => None,
        };
        let is_alive = is_alive && !matches!(owner, Owner::Lost(..));
        match candidate {
            Some(_) if is_alive => self.alive += 1,
            Some((mode, has_said_ticket)) => {
                self.dead += 1;
                let dead = DeadOwner { origin, mode, has_said_ticket };
                // One that has said its ticket is more likely to block than one that perhaps has none.
                if self.first_dead.is_none_or(|first| has_said_ticket && !first.has_said_ticket) {
                    self.first_dead = Some(dead);
                }
            }
            None => {}
        }
        self.at += 1;
        self.skip_own();
        match self.serving {
            Some(serving) if self.at >= self.ranks => self.judged(serving),
            _ => Ok(Inspected::Next),
        }
    }

    fn reads_serving(&self) -> bool {
        if R::SERVING_READ_LAST { self.at >= self.ranks } else { self.serving.is_none() }
    }

    fn skip_own(&mut self) {
        if self.at == self.own.0 {
            self.at += 1;
        }
    }

    fn judged(&self, serving: u64) -> Result<Inspected, InspectionError> {
        // As long as this ticket waits, no later one counts there: so these are the tickets ahead that are in its way.
        let ahead = self.ticket.wrapping_sub(serving);
        if ahead.cast_signed() <= 0 || ahead <= self.alive {
            return Ok(Inspected::Lives);
        }
        match self.first_dead {
            Some(dead) if ahead <= self.alive + self.dead => Ok(Inspected::Blocked(dead)),
            _ => Err(InspectionError::Unowned { missing: ahead - self.alive - self.dead }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ticket::AllTicketRules;
    use crate::words::TicketWords;
    use Mode::{Exclusive, Shared};

    /// What rank 3 finds, whose ticket is 9, at these words, when so many tickets were released.
    fn found(owners: [(Owner, bool); 3], released: u64) -> Result<Inspected, InspectionError> {
        let mut inspection = Inspection::<AllTicketRules>::new(RankId(3), (Exclusive, 9), 4);
        for (rank, (owner, is_alive)) in (0..).map(RankId).zip(owners) {
            assert_eq!(inspection.access(), (Access::Load(Word::Owner(rank)), Some(rank)));
            assert_eq!(inspection.answer(owner.encode(), is_alive), Ok(Inspected::Next));
        }
        assert_eq!(inspection.access(), (Access::Load(Word::WriteServing), None));
        inspection.answer(released, true)
    }

    const IDLE: (Owner, bool) = (Owner::Idle, true);

    #[test]
    fn a_dead_owner_of_a_ticket_ahead_blocks() {
        let blocked = |rank, mode, has_said_ticket| {
            Ok(Inspected::Blocked(DeadOwner { origin: RankId(rank), mode, has_said_ticket }))
        };
        let dead = (Owner::Has(Exclusive, 7), false);
        assert_eq!(found([IDLE, dead, (Owner::Has(Shared, 8), true)], 7), blocked(1, Exclusive, true));
        assert_eq!(found([(Owner::Taking(Shared), false), IDLE, IDLE], 8), blocked(0, Shared, false));
        let lost = (Owner::Lost(Shared, 8), true);
        assert_eq!(found([(Owner::Taking(Shared), false), IDLE, lost], 8), blocked(2, Shared, true));
    }

    #[test]
    fn owners_that_live_or_are_behind_or_have_released_do_not_block() {
        let alive = [(Owner::Has(Exclusive, 7), true), (Owner::Taking(Shared), true), IDLE];
        assert_eq!(found(alive, 7), Ok(Inspected::Lives), "one says that it takes ticket 8, or a later one");
        let released = [(Owner::Has(Exclusive, 7), false), (Owner::Has(Shared, 8), true), IDLE];
        assert_eq!(found(released, 8), Ok(Inspected::Lives), "it died when its release was counted");
        let behind = [(Owner::Has(Exclusive, 10), false), (Owner::Has(Exclusive, 8), true), IDLE];
        assert_eq!(found(behind, 8), Ok(Inspected::Lives));
        assert_eq!(
            found([IDLE, IDLE, (Owner::Taking(Shared), false)], 9),
            Ok(Inspected::Lives),
            "its turn has come"
        );
    }

    #[test]
    fn words_that_no_process_of_ours_writes_are_an_error() {
        assert_eq!(found([IDLE; 3], 7), Err(InspectionError::Unowned { missing: 2 }));
        let mut inspection = Inspection::<AllTicketRules>::new(RankId(1), (Shared, 9), 2);
        let error = InspectionError::Owner { origin: RankId(0), word: 7 };
        assert_eq!(inspection.answer(7, true), Err(error));
    }

    #[test]
    fn a_window_of_one_rank_has_nobody_ahead() {
        let mut words = TicketWords::new(1);
        let mut inspection = Inspection::<AllTicketRules>::new(RankId(0), (Shared, 0), 1);
        let (access, _) = inspection.access();
        assert_eq!(access, Access::Load(Word::ReadServing));
        let value = words.carry_out(access).expect("the word is there");
        assert_eq!(inspection.answer(value, true), Ok(Inspected::Lives));
    }
}
