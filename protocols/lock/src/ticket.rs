//! One origin's side of a lock by tickets.

use crate::mode::Mode;
use crate::words::{Access, Owner, Word};
use carrousel_wire::RankId;
use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;

/// The rules of tickets, one function each; `rules.toml` gives the purpose of each. Types that switch a rule off exist
/// only in the checker.
pub trait TicketRules: Clone + Copy + Debug + Eq + Hash + Send + Sync + 'static {
    /// A shared request lets the next one in when it has its own turn.
    fn admits_at_its_turn() -> bool {
        true
    }
    /// The release of an exclusive holder lets a shared request behind it in, too.
    fn writer_admits_readers() -> bool {
        true
    }
    /// A release counts itself. Shared holders release in any order, so it cannot store its own ticket's successor.
    fn release_counts() -> bool {
        true
    }
    /// An origin says in its word that it takes a ticket before it does.
    fn taking_is_said() -> bool {
        true
    }
    /// An inspection reads which ticket is served behind the words of all owners.
    fn serving_read_last() -> bool {
        true
    }
}

/// Every rule is on: the type of production.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AllTicketRules {}
impl TicketRules for AllTicketRules {}

/// A call that cannot be, or an impossible answer. Nothing has changed, but that an access with an answer is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum TicketError {
    /// The origin requests a lock for which it has a ticket.
    #[error("{origin} requests the lock, for which it has a ticket; it has to release it first")]
    HasTicket {
        /// The origin.
        origin: RankId,
    },
    /// The origin releases a lock that it does not hold.
    #[error("{origin} releases the lock, which it does not hold")]
    DoesNotHold {
        /// The origin.
        origin: RankId,
    },
    /// The origin has died, and is not heard any more.
    #[error("{origin} was given up before: its packets are not heard any more")]
    Dead {
        /// The origin.
        origin: RankId,
    },
    /// An answer has come, and no access was asked for.
    #[error("an answer has come, and no access was asked for")]
    NothingAsked,
    /// No rank of the window has this number.
    #[error("{origin} does not exist in a window of {ranks} ranks")]
    NoSuchOrigin {
        /// The rank that was named.
        origin: RankId,
        /// Ranks of the window.
        ranks: u32,
    },
    /// The words were overwritten: a ticket was passed over.
    #[error(
        "the lock serves ticket {serving}, and ticket {ticket} of {origin} still waits: its words are corrupt"
    )]
    PassedOver {
        /// The origin.
        origin: RankId,
        /// Its ticket.
        ticket: u64,
        /// The ticket that is served.
        serving: u64,
    },
}

/// What follows from a call or an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Progress {
    /// Carry this access out, and give the answer to [`TicketLock::answer`].
    Access(Access),
    /// It is not the ticket's turn yet: [`TicketLock::poll`] looks again.
    Waits,
    /// The origin has the lock.
    Granted,
    /// The origin has no ticket any more: the lock is released, or the request was given up.
    Released,
    /// The lock of a holder that has died stays held; its word says so.
    Lost,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Phase {
    Idle,
    // In the order in which a request goes through them; in each but `Waits` and `Holds` an access is carried out.
    SaysThatItTakes(Mode),
    Takes(Mode),
    SaysItsTicket(Mode, u64),
    Waits(Mode, u64),
    Looks(Mode, u64),
    Admits(u64),
    Holds(Mode, u64),
    AdmitsReaders(u64),
    Releases,
    SaysThatItIsIdle,
    // The holder has died on another node.
    SaysThatItIsLost(Mode),
    Lost(Mode),
}

/// One origin's side of a fair lock for readers and writers, by tickets: nothing in it waits.
///
/// A request takes a ticket. An exclusive one has its turn when as many tickets were released as were taken before it. A
/// shared one has its turn when all those before it let it in: a shared request does so at its own turn, an exclusive
/// holder when it releases. So the order is that of tickets, and neighbouring shared requests hold the lock side by side.
///
/// A driver carries out each access that it is asked for, and answers. While the lock [waits](Progress::Waits), it polls
/// when it likes. Requests and releases take a constant number of accesses, apart from polls.
///
/// Counters are 64 bits wide and wrap. They are compared by their difference, so the wrap has no meaning while less than
/// 2^60 tickets are taken under one shared holder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TicketLock<R> {
    origin: RankId,
    phase: Phase,
    /// The request was given up: at its turn, the lock is released.
    given_up: bool,
    rules: PhantomData<R>,
}

impl<R: TicketRules> TicketLock<R> {
    /// The side of an origin, which has no ticket.
    pub fn new(origin: RankId) -> Self {
        Self { origin, phase: Phase::Idle, given_up: false, rules: PhantomData }
    }

    /// Requests the lock. Returns the first access.
    ///
    /// # Errors
    /// If the origin has a ticket.
    pub fn request(&mut self, mode: Mode) -> Result<Access, TicketError> {
        if self.phase != Phase::Idle {
            return Err(TicketError::HasTicket { origin: self.origin });
        }
        if R::taking_is_said() {
            self.phase = Phase::SaysThatItTakes(mode);
            return Ok(self.says(Owner::Taking(mode)));
        }
        self.phase = Phase::Takes(mode);
        Ok(Access::Increment(Word::Next))
    }

    /// Whether it is this origin's turn: the access that finds out. Nothing if no request waits, or an access is carried
    /// out already.
    pub fn poll(&mut self) -> Option<Access> {
        let Phase::Waits(mode, ticket) = self.phase else { return None };
        Some(self.looks(mode, ticket))
    }

    /// Releases the lock, once the holder's operations are complete. Returns the first access.
    ///
    /// # Errors
    /// If the origin does not hold the lock.
    pub fn release(&mut self) -> Result<Access, TicketError> {
        let Phase::Holds(mode, ticket) = self.phase else {
            return Err(TicketError::DoesNotHold { origin: self.origin });
        };
        Ok(self.releases(mode, ticket))
    }

    /// Gives a request up that waits: its ticket is taken, so it comes to its turn, and then the lock is released and not
    /// granted. Returns whether a request did wait.
    pub fn give_up(&mut self) -> bool {
        let waits = self.is_waiting();
        self.given_up |= waits;
        waits
    }

    /// The holder has died, and this is its side at the host: the lock stays held. Returns the access that says so in
    /// its word.
    ///
    /// # Errors
    /// If it does not hold the lock.
    pub fn lose(&mut self) -> Result<Access, TicketError> {
        let Phase::Holds(mode, ticket) = self.phase else {
            return Err(TicketError::DoesNotHold { origin: self.origin });
        };
        self.phase = Phase::SaysThatItIsLost(mode);
        Ok(self.says(Owner::Lost(mode, ticket)))
    }

    /// The answer to the access that was asked for.
    ///
    /// # Errors
    /// If none was, or if the words are corrupt.
    pub fn answer(&mut self, value: u64) -> Result<Progress, TicketError> {
        Ok(Progress::Access(match self.phase {
            Phase::Idle | Phase::Waits(..) | Phase::Holds(..) | Phase::Lost(_) => {
                return Err(TicketError::NothingAsked);
            }
            Phase::SaysThatItTakes(mode) => {
                self.phase = Phase::Takes(mode);
                Access::Increment(Word::Next)
            }
            Phase::Takes(mode) => {
                self.phase = Phase::SaysItsTicket(mode, value);
                self.says(Owner::Has(mode, value))
            }
            Phase::SaysItsTicket(Mode::Shared, ticket) if !R::admits_at_its_turn() => self.admits(ticket),
            Phase::SaysItsTicket(mode, ticket) => self.looks(mode, ticket),
            Phase::Looks(mode, ticket) => match ticket.wrapping_sub(value).cast_signed() {
                0 if mode == Mode::Shared && R::admits_at_its_turn() => self.admits(ticket),
                0 => return Ok(self.has_turn(mode, ticket)),
                // It has let itself pass.
                ..0 if mode == Mode::Shared && !R::admits_at_its_turn() => {
                    return Ok(self.has_turn(mode, ticket));
                }
                1.. => {
                    self.phase = Phase::Waits(mode, ticket);
                    return Ok(Progress::Waits);
                }
                _ => {
                    // The access is over, and the next poll finds the same.
                    self.phase = Phase::Waits(mode, ticket);
                    return Err(TicketError::PassedOver { origin: self.origin, ticket, serving: value });
                }
            },
            Phase::Admits(ticket) if !R::admits_at_its_turn() => self.looks(Mode::Shared, ticket),
            Phase::Admits(ticket) => return Ok(self.has_turn(Mode::Shared, ticket)),
            Phase::AdmitsReaders(ticket) => self.counts_release(ticket),
            Phase::Releases => {
                self.phase = Phase::SaysThatItIsIdle;
                self.says(Owner::Idle)
            }
            Phase::SaysThatItIsIdle => {
                self.phase = Phase::Idle;
                return Ok(Progress::Released);
            }
            Phase::SaysThatItIsLost(mode) => {
                self.phase = Phase::Lost(mode);
                return Ok(Progress::Lost);
            }
        }))
    }

    /// The rank for which this is.
    pub fn origin(&self) -> RankId {
        self.origin
    }

    /// How the request is made that waits, and its ticket, once it is taken.
    pub fn waiting_ticket(&self) -> Option<(Mode, u64)> {
        match self.phase {
            Phase::SaysItsTicket(mode, ticket) | Phase::Waits(mode, ticket) | Phase::Looks(mode, ticket) => {
                Some((mode, ticket))
            }
            Phase::Admits(ticket) => Some((Mode::Shared, ticket)),
            _ => None,
        }
    }

    /// How the origin holds the lock, if it does; even one that has died.
    pub fn held(&self) -> Option<Mode> {
        match self.phase {
            Phase::Holds(mode, _) | Phase::SaysThatItIsLost(mode) | Phase::Lost(mode) => Some(mode),
            _ => None,
        }
    }

    /// Whether a request is neither granted nor given up.
    pub fn is_waiting(&self) -> bool {
        self.requested().is_some() && !self.given_up
    }

    /// How the origin requests the lock, before its turn.
    pub(crate) fn requested(&self) -> Option<Mode> {
        match self.phase {
            Phase::SaysThatItTakes(mode)
            | Phase::Takes(mode)
            | Phase::SaysItsTicket(mode, _)
            | Phase::Waits(mode, _)
            | Phase::Looks(mode, _) => Some(mode),
            Phase::Admits(_) => Some(Mode::Shared),
            _ => None,
        }
    }

    /// Whether there is nothing to be done: the origin has no ticket.
    pub fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    fn says(&self, owner: Owner) -> Access {
        Access::Store(Word::Owner(self.origin), owner.encode())
    }

    fn looks(&mut self, mode: Mode, ticket: u64) -> Access {
        self.phase = Phase::Looks(mode, ticket);
        Access::Load(Word::serving(mode))
    }

    fn admits(&mut self, ticket: u64) -> Access {
        self.phase = Phase::Admits(ticket);
        Access::Increment(Word::ReadServing)
    }

    fn has_turn(&mut self, mode: Mode, ticket: u64) -> Progress {
        if core::mem::take(&mut self.given_up) {
            return Progress::Access(self.releases(mode, ticket));
        }
        self.phase = Phase::Holds(mode, ticket);
        Progress::Granted
    }

    fn releases(&mut self, mode: Mode, ticket: u64) -> Access {
        if mode == Mode::Exclusive && R::writer_admits_readers() {
            self.phase = Phase::AdmitsReaders(ticket);
            return Access::Increment(Word::ReadServing);
        }
        self.counts_release(ticket)
    }

    fn counts_release(&mut self, ticket: u64) -> Access {
        self.phase = Phase::Releases;
        if R::release_counts() {
            return Access::Increment(Word::WriteServing);
        }
        Access::Store(Word::WriteServing, ticket.wrapping_add(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::TicketWords;
    use Mode::{Exclusive, Shared};

    const RANKS: u32 = 4;
    /// So that tickets wrap in the middle of each test.
    const FIRST: u64 = u64::MAX - 1;

    /// Origins of one node, and the words that they share.
    struct Node {
        words: TicketWords,
        origins: [TicketLock<AllTicketRules>; RANKS as usize],
    }

    impl Node {
        fn new() -> Self {
            let origins = core::array::from_fn(|rank| TicketLock::new(RankId(rank as u32)));
            Self { words: TicketWords::starting_at(FIRST, RANKS), origins }
        }

        /// Carries out accesses of an origin until one of them leads to something else.
        fn driven(&mut self, origin: usize, mut access: Access) -> Progress {
            loop {
                let value = self.words.carry_out(access).expect("the word is there");
                match self.origins[origin].answer(value).expect("the words are right") {
                    Progress::Access(next) => access = next,
                    other => return other,
                }
            }
        }

        fn request(&mut self, origin: usize, mode: Mode) -> Progress {
            let access = self.origins[origin].request(mode).expect("it has no ticket");
            self.driven(origin, access)
        }

        fn poll(&mut self, origin: usize) -> Progress {
            let access = self.origins[origin].poll().expect("it waits");
            self.driven(origin, access)
        }

        fn release(&mut self, origin: usize) {
            let access = self.origins[origin].release().expect("it holds the lock");
            assert_eq!(self.driven(origin, access), Progress::Released);
        }
    }

    #[test]
    fn tickets_are_served_in_order_and_readers_side_by_side() {
        let mut node = Node::new();
        assert_eq!(node.request(0, Shared), Progress::Granted);
        assert_eq!(node.request(1, Shared), Progress::Granted);
        assert_eq!(node.request(2, Exclusive), Progress::Waits);
        assert_eq!(node.request(3, Shared), Progress::Waits, "the third does not let it in");
        node.release(1);
        assert_eq!(node.poll(2), Progress::Waits, "the first still reads");
        node.release(0);
        assert_eq!(node.poll(3), Progress::Waits);
        assert_eq!(node.poll(2), Progress::Granted);
        assert_eq!(node.poll(3), Progress::Waits);
        node.release(2);
        assert_eq!(node.poll(3), Progress::Granted);
        node.release(3);
        // All words are alike again, four tickets later.
        assert_eq!(node.words, TicketWords::starting_at(FIRST.wrapping_add(4), RANKS));
    }

    #[test]
    fn one_origin_can_hold_a_shared_lock_while_others_come_and_go() {
        let mut node = Node::new();
        assert_eq!(node.request(0, Shared), Progress::Granted);
        for _ in 0..10 {
            assert_eq!(node.request(1, Shared), Progress::Granted);
            node.release(1);
        }
        assert_eq!(node.request(2, Exclusive), Progress::Waits);
        assert_eq!(node.words.outstanding(), 2);
        node.release(0);
        assert_eq!(node.poll(2), Progress::Granted);
    }

    #[test]
    fn a_request_that_was_given_up_lets_the_next_pass() {
        let mut node = Node::new();
        assert_eq!(node.request(0, Exclusive), Progress::Granted);
        assert_eq!(node.request(1, Exclusive), Progress::Waits);
        assert_eq!(node.request(2, Shared), Progress::Waits);
        assert!(node.origins[1].give_up());
        assert!(!node.origins[1].give_up(), "it does not wait any more");
        node.release(0);
        assert_eq!(node.poll(2), Progress::Waits);
        assert_eq!(node.poll(1), Progress::Released);
        assert_eq!(node.poll(2), Progress::Granted);
        assert!(!node.origins[0].give_up() && !node.origins[2].give_up(), "no request of theirs waits");
    }

    #[test]
    fn what_cannot_be_is_an_error_that_changes_nothing() {
        let mut node = Node::new();
        node.request(0, Exclusive);
        node.request(1, Shared);
        let before = node.origins.clone();
        let [holder, waiter, idle] = [0, 1, 2].map(RankId);
        let [first, second, third, _] = &mut node.origins;
        assert_eq!(first.request(Shared), Err(TicketError::HasTicket { origin: holder }));
        assert_eq!(second.request(Shared), Err(TicketError::HasTicket { origin: waiter }));
        assert_eq!(second.release(), Err(TicketError::DoesNotHold { origin: waiter }));
        assert_eq!(third.release(), Err(TicketError::DoesNotHold { origin: idle }));
        for side in [first, second, third] {
            assert_eq!(side.answer(0), Err(TicketError::NothingAsked));
        }
        assert_eq!(node.origins, before);
    }

    #[test]
    fn a_ticket_that_was_passed_over_is_an_error() {
        let mut node = Node::new();
        node.request(0, Exclusive);
        node.request(1, Exclusive);
        for _ in 0..2 {
            node.words.carry_out(Access::Increment(Word::WriteServing)).expect("the word is there");
        }
        let access = node.origins[1].poll().expect("it waits");
        let serving = node.words.carry_out(access).expect("the word is there");
        let ticket = FIRST.wrapping_add(1);
        let error = TicketError::PassedOver { origin: RankId(1), ticket, serving };
        assert_eq!(node.origins[1].answer(serving), Err(error));
    }
}
