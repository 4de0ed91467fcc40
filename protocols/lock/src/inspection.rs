//! Finding out whether the ticket that blocks belongs to a process that is dead.

use crate::mode::Mode;
use crate::ticket::TicketRules;
use crate::words::{Access, Owner, Word, distance, is_ahead_of};
use alloc::vec::Vec;
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
/// It reads the word of each rank, and then how many tickets were released, or have let shared requests pass. Those ahead
/// that did not are in the way, and each belongs to a process whose word said before that it has or takes one. So if there
/// are more of them than live processes may have, a dead one has one of them, and nobody will take it out of the way. A
/// process that died when its release was counted already blocks nobody, nor does a dead shared holder block a shared
/// request that is directly behind it; neither is reported.
///
/// A live process that is out of the way, and whose word does not say so yet, counts as one that may be in the way. So a
/// dead one is found once the live ones before it have released. An inspection reads as many words as the window has
/// ranks: it is for the slow path of a long wait.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Inspection<R> {
    mode: Mode,
    ticket: u64,
    /// The rank whose own word is not looked at.
    own: RankId,
    ranks: u32,
    /// By rank: its word, and whether it was alive before.
    owners: Vec<(Owner, bool)>,
    /// The values of [`Word::WriteServing`] and, for a shared request, of [`Word::ReadServing`].
    released: Option<u64>,
    admitted: Option<u64>,
    rules: PhantomData<R>,
}

/// The tickets ahead of one that may be in its way.
#[derive(Default)]
struct Ahead {
    alive: u64,
    dead: u64,
    first_dead: Option<DeadOwner>,
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
            owners: Vec::with_capacity(ranks as usize),
            released: None,
            admitted: None,
            rules: PhantomData,
        };
        begun.skip_own();
        begun
    }

    /// The access that is due, and the rank whose life is to be asked about before it. A ticket lives with the process that
    /// takes it: the rank itself if it shares the words, else their host.
    pub fn access(&self) -> (Access, Option<RankId>) {
        match self.serving_due() {
            Some(word) => (Access::Load(word), None),
            None => (Access::Load(Word::Owner(self.at())), Some(self.at())),
        }
    }

    /// The answer, and whether the rank was alive before.
    ///
    /// # Errors
    /// If the words are corrupt.
    pub fn answer(&mut self, value: u64, is_alive: bool) -> Result<Inspected, InspectionError> {
        match self.serving_due() {
            Some(Word::ReadServing) => self.admitted = Some(value),
            Some(_) => self.released = Some(value),
            None => {
                let origin = self.at();
                let owner = Owner::decode(value).ok_or(InspectionError::Owner { origin, word: value })?;
                self.owners.push((owner, is_alive && !matches!(owner, Owner::Lost(..))));
                self.skip_own();
            }
        }
        match (self.released, self.admitted) {
            (Some(_), None) if self.mode == Mode::Shared => Ok(Inspected::Next),
            (Some(released), admitted) if self.at().0 >= self.ranks => self.judged(released, admitted),
            _ => Ok(Inspected::Next),
        }
    }

    /// The rank whose word is next.
    fn at(&self) -> RankId {
        // No longer than the number of ranks, which was a `u32`.
        RankId(self.owners.len() as u32)
    }

    /// The serving word that is read next, if one is.
    fn serving_due(&self) -> Option<Word> {
        if R::serving_read_last() && self.at().0 < self.ranks {
            return None;
        }
        match (self.released, self.admitted) {
            (None, _) => Some(Word::WriteServing),
            (Some(_), None) if self.mode == Mode::Shared => Some(Word::ReadServing),
            _ => None,
        }
    }

    fn skip_own(&mut self) {
        if self.at() == self.own {
            self.owners.push((Owner::Idle, true));
        }
    }

    /// Whether a dead process is in the way: an exclusive request waits for the releases of all tickets ahead. A shared one
    /// waits until they let it pass, and the last exclusive one among them does not do so before its own turn.
    fn judged(&self, released: u64, admitted: Option<u64>) -> Result<Inspected, InspectionError> {
        let Some(admitted) = admitted else { return self.counted(self.ticket, released) };
        match self.counted(self.ticket, admitted)? {
            Inspected::Lives => {
                self.last_exclusive().map_or(Ok(Inspected::Lives), |ticket| self.counted(ticket, released))
            }
            other => Ok(other),
        }
    }

    /// The last exclusive ticket ahead.
    fn last_exclusive(&self) -> Option<u64> {
        let exclusive = self.owners.iter().filter_map(|(owner, _)| match *owner {
            Owner::Has(Mode::Exclusive, ticket) if is_ahead_of(ticket, self.ticket) => Some(ticket),
            _ => None,
        });
        exclusive.min_by_key(|ticket| distance(self.ticket, *ticket))
    }

    /// Compares the tickets that are in the way of one with those that processes may have.
    fn counted(&self, ticket: u64, serving: u64) -> Result<Inspected, InspectionError> {
        let Ahead { alive, dead, first_dead } = self.ahead_of(ticket);
        // As long as this ticket waits, no later one counts there. If its turn has come, nothing is in its way.
        let ahead = u64::try_from(distance(ticket, serving)).unwrap_or(0);
        match first_dead {
            _ if ahead <= alive => Ok(Inspected::Lives),
            Some(first) if ahead <= alive + dead => Ok(Inspected::Blocked(first)),
            _ => Err(InspectionError::Unowned { missing: ahead - alive - dead }),
        }
    }

    fn ahead_of(&self, own: u64) -> Ahead {
        let mut ahead = Ahead::default();
        for (origin, (owner, is_alive)) in (0..).map(RankId).zip(&self.owners) {
            let (mode, has_said_ticket) = match *owner {
                Owner::Has(mode, ticket) | Owner::Lost(mode, ticket) if is_ahead_of(ticket, own) => {
                    (mode, true)
                }
                Owner::Taking(mode) => (mode, false),
                Owner::Idle | Owner::Has(..) | Owner::Lost(..) => continue,
            };
            if *is_alive {
                ahead.alive += 1;
                continue;
            }
            ahead.dead += 1;
            // A process that has said its ticket is more likely to block than one that perhaps has none.
            if ahead.first_dead.is_none_or(|first| has_said_ticket && !first.has_said_ticket) {
                ahead.first_dead = Some(DeadOwner { origin, mode, has_said_ticket });
            }
        }
        ahead
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ticket::AllTicketRules;
    use crate::words::TicketWords;
    use Mode::{Exclusive, Shared};

    /// What rank 3 finds, whose ticket is 9, at these words, when so many tickets were released, or, if its request is
    /// shared, have let it pass.
    fn found_by(
        mode: Mode,
        owners: [(Owner, bool); 3],
        [released, admitted]: [u64; 2],
    ) -> Result<Inspected, InspectionError> {
        let mut inspection = Inspection::<AllTicketRules>::new(RankId(3), (mode, 9), 4);
        for (rank, (owner, is_alive)) in (0..).map(RankId).zip(owners) {
            assert_eq!(inspection.access(), (Access::Load(Word::Owner(rank)), Some(rank)));
            assert_eq!(inspection.answer(owner.encode(), is_alive), Ok(Inspected::Next));
        }
        assert_eq!(inspection.access(), (Access::Load(Word::WriteServing), None));
        let inspected = inspection.answer(released, true);
        if mode == Exclusive {
            return inspected;
        }
        assert_eq!(inspected, Ok(Inspected::Next));
        assert_eq!(inspection.access(), (Access::Load(Word::ReadServing), None));
        inspection.answer(admitted, true)
    }

    fn found(owners: [(Owner, bool); 3], released: u64) -> Result<Inspected, InspectionError> {
        found_by(Exclusive, owners, [released, 0])
    }

    fn blocked(rank: u32, mode: Mode, has_said_ticket: bool) -> Result<Inspected, InspectionError> {
        Ok(Inspected::Blocked(DeadOwner { origin: RankId(rank), mode, has_said_ticket }))
    }

    const IDLE: (Owner, bool) = (Owner::Idle, true);

    #[test]
    fn a_dead_owner_of_a_ticket_ahead_blocks() {
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
    fn a_dead_shared_holder_blocks_shared_requests_behind_an_exclusive_one_only() {
        let dead = (Owner::Has(Shared, 7), false);
        assert_eq!(
            found_by(Shared, [dead, (Owner::Has(Shared, 8), true), IDLE], [7, 9]),
            Ok(Inspected::Lives)
        );
        let exclusive = (Owner::Has(Exclusive, 8), true);
        assert_eq!(found_by(Shared, [dead, exclusive, IDLE], [7, 8]), blocked(0, Shared, true));
        assert_eq!(
            found_by(Shared, [dead, exclusive, IDLE], [8, 8]),
            Ok(Inspected::Lives),
            "it has released"
        );
        // It died before it let others in.
        assert_eq!(
            found_by(Shared, [dead, IDLE, (Owner::Has(Shared, 8), true)], [7, 7]),
            blocked(0, Shared, true)
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
        let mut answer = |inspection: &mut Inspection<AllTicketRules>| {
            let value = words.carry_out(inspection.access().0).expect("the word is there");
            inspection.answer(value, true)
        };
        assert_eq!(answer(&mut inspection), Ok(Inspected::Next));
        assert_eq!(answer(&mut inspection), Ok(Inspected::Lives));
    }
}
