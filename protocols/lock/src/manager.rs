//! The lock as a queue at the host of the memory.

use crate::mode::{Grant, Mode};
use alloc::collections::VecDeque;
use alloc::vec;
use alloc::vec::Vec;
use carrousel_wire::RankId;
use core::fmt::Debug;
use core::hash::Hash;
use core::marker::PhantomData;

/// The rules of the queue, one function each; `rules.toml` gives the purpose of each. Types that switch a rule off
/// exist only in the checker.
pub trait LockRules: Clone + Copy + Debug + Eq + Hash + Send + Sync + 'static {
    /// A shared request waits behind an exclusive one that arrived before it, whoever holds the lock.
    fn first_in_first_out() -> bool {
        true
    }
    /// An exclusive request waits for shared holders.
    fn exclusive_waits_for_shared() -> bool {
        true
    }
    /// A shared request waits for an exclusive holder.
    fn shared_waits_for_exclusive() -> bool {
        true
    }
    /// The release of one shared holder leaves the lock to the others.
    fn last_holder_frees() -> bool {
        true
    }
    /// A release by an origin that does not hold the lock is refused.
    fn release_is_checked() -> bool {
        true
    }
    /// A lock whose holder has died stays held.
    fn death_frees_nothing() -> bool {
        true
    }
    /// When a request goes because its origin has died, those behind it are looked at again.
    fn death_grants() -> bool {
        true
    }
}

/// Every rule is on: the type of production.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AllLockRules {}
impl LockRules for AllLockRules {}

/// A request or a release that cannot be. Nothing has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
#[non_exhaustive]
pub enum LockError {
    /// No rank of the window has this number.
    #[error("{origin} does not exist in a window of {ranks} ranks")]
    NoSuchOrigin {
        /// The rank that was named.
        origin: RankId,
        /// Ranks of the window.
        ranks: u32,
    },
    /// The origin holds the lock that it requests: it has to release it first.
    #[error("{origin} requests the lock that it holds ({mode}); it has to release it first")]
    AlreadyHolds {
        /// The origin.
        origin: RankId,
        /// How it holds the lock.
        mode: Mode,
    },
    /// A request of the origin waits already.
    #[error("{origin} requests the lock a second time, while its request ({mode}) waits")]
    AlreadyWaits {
        /// The origin.
        origin: RankId,
        /// How it has requested the lock.
        mode: Mode,
    },
    /// The origin releases a lock that it does not hold.
    #[error("{origin} releases the lock, which it does not hold{}", if *waits { " yet: its request waits" } else { "" })]
    DoesNotHold {
        /// The origin.
        origin: RankId,
        /// Whether a request of it waits.
        waits: bool,
    },
    /// The origin has died, and is not heard any more.
    #[error("{origin} was given up before: its packets are not heard any more")]
    Dead {
        /// The origin.
        origin: RankId,
    },
}

/// What one origin has to do with the lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Standing {
    /// Nothing.
    #[default]
    Idle,
    /// Its request waits.
    Waits(Mode),
    /// It holds the lock.
    Holds(Mode),
    /// It has died; as a holder, if there is a mode. Then the lock stays held.
    Dead(Option<Mode>),
}

/// What the death of an origin means for the lock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Death {
    /// It held the lock, in this mode, and nobody can release it any more. The memory may be half written.
    pub held: Option<Mode>,
    /// Its request waited, in this mode, and is gone.
    pub waited: Option<Mode>,
}

/// The lock of one process's memory, as the process itself keeps it: holders, and a queue of requests.
///
/// Each origin has one request at most, which waits or is granted; so the queue is never longer than the window has
/// ranks. [`LockManager::request`] and [`LockManager::release`] take constant time, plus that of the grants that follow:
/// one a request in all. [`LockManager::died`] searches the queue.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LockManager<R> {
    /// By origin.
    standing: Vec<Standing>,
    /// Requests that wait, in order of arrival.
    queue: VecDeque<Grant>,
    /// Holders of each mode, dead ones too.
    exclusive: u32,
    shared: u32,
    rules: PhantomData<R>,
}

impl<R: LockRules> LockManager<R> {
    /// Nobody holds the lock, in a window of this many ranks.
    pub fn new(ranks: u32) -> Self {
        Self {
            standing: vec![Standing::Idle; ranks as usize],
            queue: VecDeque::new(),
            exclusive: 0,
            shared: 0,
            rules: PhantomData,
        }
    }

    /// A request has arrived. The grant comes into `out`, now or from a later call.
    ///
    /// # Errors
    /// If the origin holds the lock or waits for it already, is dead, or does not exist.
    pub fn request(
        &mut self,
        origin: RankId,
        mode: Mode,
        out: &mut impl Extend<Grant>,
    ) -> Result<(), LockError> {
        match self.known(origin)? {
            Standing::Idle => {}
            Standing::Waits(mode) => return Err(LockError::AlreadyWaits { origin, mode }),
            Standing::Holds(mode) => return Err(LockError::AlreadyHolds { origin, mode }),
            Standing::Dead(_) => return Err(LockError::Dead { origin }),
        }
        self.set(origin, Standing::Waits(mode));
        // SI thesis 2.4.3: in order of arrival. Its section lets a shared request pass at once, which starves writers.
        let request = Grant { origin, mode };
        if !R::first_in_first_out() && mode == Mode::Shared && self.may_hold(mode) {
            self.hold(request);
            out.extend([request]);
            return Ok(());
        }
        self.queue.push_back(request);
        self.grant(out);
        Ok(())
    }

    /// A release has arrived, behind the data of the holder. The grants that follow come into `out`, in order.
    ///
    /// # Errors
    /// If the origin does not hold the lock, is dead, or does not exist.
    pub fn release(&mut self, origin: RankId, out: &mut impl Extend<Grant>) -> Result<(), LockError> {
        match self.known(origin)? {
            Standing::Holds(mode) => {
                self.set(origin, Standing::Idle);
                self.leave(mode);
            }
            Standing::Dead(_) => return Err(LockError::Dead { origin }),
            Standing::Idle | Standing::Waits(_) if !R::release_is_checked() => {
                self.leave(if self.exclusive > 0 { Mode::Exclusive } else { Mode::Shared });
            }
            other => {
                let waits = matches!(other, Standing::Waits(_));
                return Err(LockError::DoesNotHold { origin, waits });
            }
        }
        self.grant(out);
        Ok(())
    }

    /// An origin has died. Its request goes, if it waits, and the grants that follow come into `out`. A lock that it holds
    /// stays held, as its data may be half written: the caller has to report it. A second report changes nothing.
    ///
    /// # Errors
    /// If there is no such origin.
    pub fn died(&mut self, origin: RankId, out: &mut impl Extend<Grant>) -> Result<Death, LockError> {
        let death = match self.known(origin)? {
            Standing::Idle => Death::default(),
            Standing::Waits(mode) => Death { waited: Some(mode), held: None },
            Standing::Holds(mode) => Death { held: Some(mode), waited: None },
            Standing::Dead(held) => return Ok(Death { held, waited: None }),
        };
        self.set(origin, Standing::Dead(death.held));
        if death.waited.is_some() {
            self.queue.retain(|request| request.origin != origin);
        }
        if let (false, Some(mode)) = (R::death_frees_nothing(), death.held) {
            self.leave(mode);
        }
        if R::death_grants() {
            self.grant(out);
        }
        Ok(death)
    }

    /// What an origin has to do with the lock.
    pub fn standing(&self, origin: RankId) -> Option<Standing> {
        self.standing.get(origin.0 as usize).copied()
    }

    /// Whether nobody holds the lock.
    pub fn is_free(&self) -> bool {
        self.exclusive == 0 && self.shared == 0
    }

    /// Holders, in order of rank; dead ones too. Looks at every rank: for reports.
    pub fn holders(&self) -> impl Iterator<Item = Grant> {
        (0..).map(RankId).zip(&self.standing).filter_map(|(origin, standing)| match *standing {
            Standing::Holds(mode) | Standing::Dead(Some(mode)) => Some(Grant { origin, mode }),
            Standing::Idle | Standing::Waits(_) | Standing::Dead(None) => None,
        })
    }

    /// Holders that have died: an exclusive request behind a shared one of these waits for ever, and every request behind
    /// an exclusive one. Looks at every rank: for reports.
    pub fn dead_holders(&self) -> impl Iterator<Item = Grant> {
        self.holders().filter(|holder| matches!(self.standing(holder.origin), Some(Standing::Dead(_))))
    }

    /// Requests that wait, in order of arrival.
    pub fn waiting(&self) -> impl Iterator<Item = Grant> {
        self.queue.iter().copied()
    }

    fn known(&self, origin: RankId) -> Result<Standing, LockError> {
        // The number of ranks was a `u32`.
        let ranks = self.standing.len() as u32;
        self.standing(origin).ok_or(LockError::NoSuchOrigin { origin, ranks })
    }

    fn set(&mut self, origin: RankId, standing: Standing) {
        self.standing[origin.0 as usize] = standing;
    }

    fn may_hold(&self, mode: Mode) -> bool {
        match mode {
            Mode::Exclusive => self.exclusive == 0 && (self.shared == 0 || !R::exclusive_waits_for_shared()),
            Mode::Shared => self.exclusive == 0 || !R::shared_waits_for_exclusive(),
        }
    }

    fn hold(&mut self, Grant { origin, mode }: Grant) {
        self.set(origin, Standing::Holds(mode));
        match mode {
            Mode::Exclusive => self.exclusive += 1,
            Mode::Shared => self.shared += 1,
        }
    }

    fn leave(&mut self, mode: Mode) {
        // Without the check of a release, or with one that frees the lock for all, the count may be 0.
        match mode {
            Mode::Exclusive => self.exclusive = self.exclusive.saturating_sub(1),
            Mode::Shared if R::last_holder_frees() => self.shared = self.shared.saturating_sub(1),
            Mode::Shared => self.shared = 0,
        }
    }

    /// Grants from the head of the queue, up to the first request that has to wait.
    fn grant(&mut self, out: &mut impl Extend<Grant>) {
        while let Some(request) = self.queue.front().copied().filter(|request| self.may_hold(request.mode)) {
            self.queue.pop_front();
            self.hold(request);
            out.extend([request]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Mode::{Exclusive, Shared};

    fn grant(origin: u32, mode: Mode) -> Grant {
        Grant { origin: RankId(origin), mode }
    }

    /// A lock at which these requests have arrived, and the grants that they caused.
    fn requested(requests: &[(u32, Mode)]) -> (LockManager<AllLockRules>, Vec<Grant>) {
        let (mut lock, mut grants) = (LockManager::new(8), Vec::new());
        for (origin, mode) in requests {
            lock.request(RankId(*origin), *mode, &mut grants).expect("each requests once");
        }
        (lock, grants)
    }

    fn released(lock: &mut LockManager<AllLockRules>, origin: u32) -> Vec<Grant> {
        let mut grants = Vec::new();
        lock.release(RankId(origin), &mut grants).expect("it holds the lock");
        grants
    }

    #[test]
    fn an_exclusive_holder_is_alone() {
        let (mut lock, grants) = requested(&[(0, Exclusive), (1, Exclusive), (2, Shared)]);
        assert_eq!(grants, [grant(0, Exclusive)]);
        assert_eq!(released(&mut lock, 0), [grant(1, Exclusive)]);
        assert_eq!(released(&mut lock, 1), [grant(2, Shared)]);
        assert_eq!(released(&mut lock, 2), []);
        assert!(lock.is_free());
    }

    #[test]
    fn neighbouring_shared_requests_are_one_batch() {
        let (mut lock, _) =
            requested(&[(0, Exclusive), (1, Shared), (2, Shared), (3, Exclusive), (4, Shared)]);
        assert_eq!(released(&mut lock, 0), [grant(1, Shared), grant(2, Shared)]);
        assert!(lock.holders().eq([grant(1, Shared), grant(2, Shared)]));
        assert!(lock.waiting().eq([grant(3, Exclusive), grant(4, Shared)]));
    }

    #[test]
    fn a_shared_request_does_not_overtake_an_exclusive_one() {
        let (mut lock, grants) = requested(&[(0, Shared), (1, Exclusive), (2, Shared)]);
        assert_eq!(grants, [grant(0, Shared)]);
        assert_eq!(released(&mut lock, 0), [grant(1, Exclusive)]);
    }

    #[test]
    fn the_last_shared_holder_frees_the_lock() {
        let (mut lock, _) = requested(&[(0, Shared), (1, Shared), (2, Exclusive)]);
        assert_eq!(released(&mut lock, 0), []);
        assert_eq!(released(&mut lock, 1), [grant(2, Exclusive)]);
    }

    #[test]
    fn what_cannot_be_is_an_error_that_changes_nothing() {
        let (mut lock, mut grants) = requested(&[(0, Exclusive), (1, Shared)]);
        let (before, granted) = (lock.clone(), grants.clone());
        let [holder, waiter, idle, unknown] = [0, 1, 2, 8].map(RankId);
        let errors = [
            (
                lock.request(holder, Shared, &mut grants),
                LockError::AlreadyHolds { origin: holder, mode: Exclusive },
            ),
            (
                lock.request(waiter, Exclusive, &mut grants),
                LockError::AlreadyWaits { origin: waiter, mode: Shared },
            ),
            (
                lock.request(unknown, Shared, &mut grants),
                LockError::NoSuchOrigin { origin: unknown, ranks: 8 },
            ),
            (lock.release(waiter, &mut grants), LockError::DoesNotHold { origin: waiter, waits: true }),
            (lock.release(idle, &mut grants), LockError::DoesNotHold { origin: idle, waits: false }),
            (lock.release(unknown, &mut grants), LockError::NoSuchOrigin { origin: unknown, ranks: 8 }),
            (
                lock.died(unknown, &mut grants).map(|_| ()),
                LockError::NoSuchOrigin { origin: unknown, ranks: 8 },
            ),
        ];
        for (found, expected) in errors {
            assert_eq!(found, Err(expected));
        }
        assert_eq!((lock, grants), (before, granted));
    }

    #[test]
    fn the_request_of_a_dead_origin_goes() {
        let (mut lock, mut grants) = requested(&[(0, Shared), (1, Exclusive), (2, Shared)]);
        grants.clear();
        let death = lock.died(RankId(1), &mut grants).expect("there is such a rank");
        assert_eq!(death, Death { waited: Some(Exclusive), held: None });
        assert_eq!(grants, [grant(2, Shared)], "it was the one that the third had to wait for");
        assert_eq!(lock.request(RankId(1), Shared, &mut grants), Err(LockError::Dead { origin: RankId(1) }));
        assert_eq!(lock.dead_holders().count(), 0);
    }

    #[test]
    fn a_lock_that_a_dead_origin_holds_is_told_and_stays_held() {
        let (mut lock, mut grants) = requested(&[(0, Exclusive), (1, Exclusive)]);
        grants.clear();
        let death = Death { held: Some(Exclusive), waited: None };
        assert_eq!(lock.died(RankId(0), &mut grants), Ok(death));
        assert!(lock.dead_holders().eq([grant(0, Exclusive)]));
        assert_eq!(lock.release(RankId(0), &mut grants), Err(LockError::Dead { origin: RankId(0) }));
        let before = lock.clone();
        assert_eq!(lock.died(RankId(0), &mut grants), Ok(death), "a second report says the same");
        assert_eq!((lock, grants), (before, Vec::new()));
    }

    #[test]
    fn a_rank_that_does_not_wait_costs_two_bytes() {
        assert_eq!(size_of::<Standing>(), 2);
    }
}
