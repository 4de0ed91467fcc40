//! Tickets that the host of the memory takes for origins on other nodes.

use crate::manager::Death;
use crate::mode::{Grant, Mode};
use crate::ticket::{Progress, TicketError, TicketLock, TicketRules};
use crate::words::Access;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use carrousel_wire::RankId;

/// One origin, as the host acts for it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Remote<R> {
    ticket: TicketLock<R>,
    is_dead: bool,
}

/// The tickets that the host of the memory takes for origins that do not share it. Their requests and releases arrive in
/// packets; with those of the host's node they are one queue, in the order of tickets.
///
/// After each input the driver carries out [`HostTickets::next`] until there is none, and calls [`HostTickets::poll`]
/// whenever it makes progress. So requests take their tickets in order of arrival. Only the oldest ticket that waits is
/// polled: none behind it can have its turn before. An origin has one ticket at most; a request, a release and a poll take
/// constant time.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct HostTickets<R> {
    /// By rank of the window.
    remotes: Vec<Remote<R>>,
    /// Accesses that are due, in order.
    due: VecDeque<(RankId, Access)>,
    /// Tickets that wait, in order.
    waiting: VecDeque<RankId>,
}

impl<R: TicketRules> HostTickets<R> {
    /// For a window of this many ranks, at the beginning.
    pub fn new(ranks: u32) -> Self {
        let remote = |rank| Remote { ticket: TicketLock::new(RankId(rank)), is_dead: false };
        Self { remotes: (0..ranks).map(remote).collect(), due: VecDeque::new(), waiting: VecDeque::new() }
    }

    /// A request has arrived. The grant comes from a later [`HostTickets::answer`].
    ///
    /// # Errors
    /// If the origin has a ticket, is dead, or does not exist.
    pub fn request(&mut self, origin: RankId, mode: Mode) -> Result<(), TicketError> {
        let access = self.living(origin)?.request(mode)?;
        self.due.push_back((origin, access));
        Ok(())
    }

    /// A release has arrived, behind the data of the holder.
    ///
    /// # Errors
    /// If the origin does not hold the lock, is dead, or does not exist.
    pub fn release(&mut self, origin: RankId) -> Result<(), TicketError> {
        let access = self.living(origin)?.release()?;
        self.due.push_back((origin, access));
        Ok(())
    }

    /// An origin has died. If its request waits, its ticket is passed on at its turn. A lock that it holds stays held: the
    /// caller has to report it. A second report changes nothing.
    ///
    /// # Errors
    /// If there is no such origin.
    pub fn died(&mut self, origin: RankId) -> Result<Death, TicketError> {
        let remote = self.known(origin)?;
        remote.is_dead = true;
        let ticket = &mut remote.ticket;
        let waited = ticket.requested().filter(|_| ticket.give_up());
        let held = ticket.held();
        if let Ok(access) = ticket.lose() {
            self.due.push_back((origin, access));
        }
        Ok(Death { held, waited })
    }

    /// The access that is due, and the origin for whose ticket. The answer goes to [`HostTickets::answer`] before anything
    /// else comes in.
    pub fn next(&self) -> Option<(RankId, Access)> {
        self.due.front().copied()
    }

    /// Looks again whether the oldest ticket that waits has its turn.
    pub fn poll(&mut self) {
        if self.due.is_empty() {
            self.poll_oldest();
        }
    }

    /// The answer to the access that was due. Grants come into `out`, in order.
    ///
    /// # Errors
    /// If no access was due, or if the words are corrupt.
    pub fn answer(&mut self, value: u64, out: &mut impl Extend<Grant>) -> Result<(), TicketError> {
        let (origin, _) = self.due.pop_front().ok_or(TicketError::NothingAsked)?;
        let is_oldest = self.waiting.front() == Some(&origin);
        let ticket = &mut self.known(origin)?.ticket;
        let progress = ticket.answer(value)?;
        let has_turn = is_oldest && ticket.requested().is_none();
        let is_released = progress == Progress::Released;
        match progress {
            // The accesses of one input are carried out together, so that tickets are taken in order of arrival.
            Progress::Access(access) => self.due.push_front((origin, access)),
            Progress::Waits if !is_oldest => self.waiting.push_back(origin),
            Progress::Granted => out.extend(ticket.held().map(|mode| Grant { origin, mode })),
            Progress::Waits | Progress::Lost | Progress::Released => {}
        }
        if has_turn {
            self.waiting.pop_front();
        }
        // A shared request has let the next one in, and so has a release.
        if has_turn || is_released {
            self.poll_oldest();
        }
        Ok(())
    }

    /// Holders for which the host acts, in order of rank; dead ones too. Looks at every rank: for reports.
    pub fn holders(&self) -> impl Iterator<Item = Grant> {
        let tickets = self.remotes.iter().map(|remote| &remote.ticket);
        tickets.filter_map(|ticket| Some(Grant { origin: ticket.origin(), mode: ticket.held()? }))
    }

    /// Origins for which the host acts and whose tickets wait, in their order.
    pub fn waiting(&self) -> impl Iterator<Item = RankId> {
        self.waiting.iter().copied()
    }

    fn known(&mut self, origin: RankId) -> Result<&mut Remote<R>, TicketError> {
        // The number of ranks was a `u32`.
        let ranks = self.remotes.len() as u32;
        self.remotes.get_mut(origin.0 as usize).ok_or(TicketError::NoSuchOrigin { origin, ranks })
    }

    fn living(&mut self, origin: RankId) -> Result<&mut TicketLock<R>, TicketError> {
        let remote = self.known(origin)?;
        if remote.is_dead { Err(TicketError::Dead { origin }) } else { Ok(&mut remote.ticket) }
    }

    fn poll_oldest(&mut self) {
        let Some(origin) = self.waiting.front().copied() else { return };
        if let Some(access) = self.known(origin).ok().and_then(|remote| remote.ticket.poll()) {
            self.due.push_back((origin, access));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ticket::AllTicketRules;
    use crate::words::TicketWords;
    use Mode::{Exclusive, Shared};

    /// The host of a window of 4 ranks, its words, and the grants so far.
    struct Host {
        tickets: HostTickets<AllTicketRules>,
        words: TicketWords,
        grants: Vec<Grant>,
    }

    impl Host {
        fn new() -> Self {
            Self { tickets: HostTickets::new(4), words: TicketWords::new(4), grants: Vec::new() }
        }

        /// Carries out what is due, and returns the grants.
        fn driven(&mut self) -> Vec<Grant> {
            self.tickets.poll();
            while let Some((_, access)) = self.tickets.next() {
                let value = self.words.carry_out(access).expect("the word is there");
                self.tickets.answer(value, &mut self.grants).expect("the words are right");
            }
            core::mem::take(&mut self.grants)
        }

        fn request(&mut self, origin: u32, mode: Mode) -> Vec<Grant> {
            self.tickets.request(RankId(origin), mode).expect("it has no ticket");
            self.driven()
        }

        fn release(&mut self, origin: u32) -> Vec<Grant> {
            self.tickets.release(RankId(origin)).expect("it holds the lock");
            self.driven()
        }
    }

    fn grant(origin: u32, mode: Mode) -> Grant {
        Grant { origin: RankId(origin), mode }
    }

    #[test]
    fn remote_origins_are_granted_in_order_of_arrival() {
        let mut host = Host::new();
        assert_eq!(host.request(0, Exclusive), [grant(0, Exclusive)]);
        for origin in [3, 1] {
            assert_eq!(host.request(origin, Shared), []);
        }
        assert_eq!(host.request(2, Exclusive), []);
        assert!(host.tickets.waiting().eq([3, 1, 2].map(RankId)));
        assert_eq!(host.release(0), [grant(3, Shared), grant(1, Shared)]);
        assert_eq!(host.release(3), []);
        assert!(host.tickets.holders().eq([grant(1, Shared)]));
        assert_eq!(host.release(1), [grant(2, Exclusive)]);
        assert_eq!(host.release(2), []);
        assert_eq!(host.words.outstanding(), 0);
    }

    #[test]
    fn requests_that_arrive_at_once_take_their_tickets_in_order() {
        let mut host = Host::new();
        for origin in [2, 0, 1] {
            host.tickets.request(RankId(origin), Exclusive).expect("it has no ticket");
        }
        assert_eq!(host.driven(), [grant(2, Exclusive)]);
        assert_eq!(host.release(2), [grant(0, Exclusive)]);
        assert_eq!(host.release(0), [grant(1, Exclusive)]);
    }

    #[test]
    fn the_ticket_of_a_dead_origin_that_waits_is_passed_on() {
        let mut host = Host::new();
        host.request(0, Shared);
        host.request(1, Exclusive);
        host.request(2, Shared);
        assert_eq!(host.tickets.died(RankId(1)), Ok(Death { waited: Some(Exclusive), held: None }));
        assert_eq!(host.tickets.request(RankId(1), Shared), Err(TicketError::Dead { origin: RankId(1) }));
        assert_eq!(host.driven(), []);
        assert_eq!(host.release(0), [grant(2, Shared)]);
        assert_eq!(host.tickets.died(RankId(1)), Ok(Death::default()), "its request is gone");
    }

    #[test]
    fn a_lock_that_a_dead_origin_holds_stays_held_and_its_word_says_so() {
        let mut host = Host::new();
        host.request(0, Exclusive);
        host.request(1, Shared);
        let death = Ok(Death { held: Some(Exclusive), waited: None });
        assert_eq!(host.tickets.died(RankId(0)), death);
        assert_eq!(host.driven(), []);
        assert_eq!(host.words.owner(RankId(0)), Some(crate::Owner::Lost(Exclusive, 0)));
        assert_eq!(host.tickets.release(RankId(0)), Err(TicketError::Dead { origin: RankId(0) }));
        assert_eq!(host.tickets.died(RankId(0)), death, "a second report says the same");
        assert_eq!(host.driven(), []);
    }

    #[test]
    fn what_cannot_be_is_an_error_that_changes_nothing() {
        let mut host = Host::new();
        host.request(0, Exclusive);
        host.request(1, Shared);
        let before = host.tickets.clone();
        let [holder, waiter, idle, unknown] = [0, 1, 2, 4].map(RankId);
        assert_eq!(host.tickets.request(holder, Shared), Err(TicketError::HasTicket { origin: holder }));
        assert_eq!(host.tickets.request(waiter, Shared), Err(TicketError::HasTicket { origin: waiter }));
        for origin in [waiter, idle] {
            assert_eq!(host.tickets.release(origin), Err(TicketError::DoesNotHold { origin }));
        }
        let error = TicketError::NoSuchOrigin { origin: unknown, ranks: 4 };
        assert_eq!(host.tickets.request(unknown, Shared), Err(error));
        assert_eq!(host.tickets.died(unknown), Err(error));
        assert_eq!(host.tickets.answer(0, &mut host.grants), Err(TicketError::NothingAsked));
        assert_eq!(host.tickets, before);
    }
}
