//! The locks of windows under the weakest MPI, as far as ranks contend for them.
//!
//! MPI promises that a lock excludes others (12.5.3), and no order in which waiting ranks get it: any request that is
//! compatible with the holders may be granted next, or be kept behind another that waits. A lock is given back when its epoch
//! is closed, at the latest before the close returns.

use super::held::LockStep;
use super::names::{EpochId, LockName};
use super::orders::Order;
use super::plan::WindowPlan;
use crate::state::State;
use carrousel_rank::Protocol;
use carrousel_rank::epoch::Mode;

/// The locks of a host that ranks have asked for and neither got nor given up, and those that they hold.
struct LockQueue {
    waiting: Vec<LockName>,
    holders: Vec<LockName>,
}

impl WindowPlan {
    /// Whether a lock of a host excludes another.
    fn excludes(&self, one: Mode, other: Mode) -> bool {
        one.excludes(other) && self.keeps(Order::LocksExclude)
    }

    fn queue<P: Protocol>(&self, state: &State<P>, (window, host): (u16, u16)) -> LockQueue {
        let (mut waiting, mut holders) = (Vec::new(), Vec::new());
        for lock in self.contended(window, host) {
            if state.weakest.is_held(window, lock.epoch, host) {
                holders.push(*lock);
            } else if !state.weakest.is_freed(window, lock.epoch, host) && self.wants_lock(state, lock.epoch)
            {
                waiting.push(*lock);
            }
        }
        LockQueue { waiting, holders }
    }

    /// The steps of locks that are possible at a host, each with whether it has to happen some time.
    pub(crate) fn lock_steps_at<P: Protocol>(
        &self,
        state: &State<P>,
        place: (u16, u16),
        mut found: impl FnMut(LockStep, bool),
    ) {
        let (window, host) = place;
        let queue = self.queue(state, place);
        let step = |lock: &LockName, is_grant| {
            let (origin, epoch) = lock.epoch;
            LockStep { window, host, origin, epoch, is_grant }
        };
        let excludes = |held: &LockName, lock: &LockName| {
            held.epoch.0 != lock.epoch.0 && self.excludes(held.mode, lock.mode)
        };
        let is_admitted = |lock: &LockName| !queue.holders.iter().any(|held| excludes(held, lock));
        // A library may keep all of them behind one that has to wait.
        let is_blocked = queue.waiting.iter().any(|lock| !is_admitted(lock));
        for lock in queue.waiting.iter().filter(|lock| is_admitted(lock)) {
            found(step(lock, true), !is_blocked && self.must_have_begun(state, lock.epoch));
        }
        for lock in &queue.holders {
            if self.may_give_back(state, lock.epoch) {
                found(step(lock, false), true);
            }
        }
    }

    /// The ranks that hold a lock of a host that excludes this epoch's, and those that want one.
    pub(crate) fn rivals<P: Protocol>(&self, state: &State<P>, epoch: EpochId, host: u16) -> [Vec<u16>; 2] {
        let its = self.epoch(epoch);
        let queue = self.queue(state, (its.window, host));
        [queue.holders, queue.waiting].map(|locks| {
            let others = locks.iter().filter(|it| it.epoch.0 != epoch.0 && self.excludes(it.mode, its.mode));
            others.map(|lock| lock.epoch.0).collect()
        })
    }
}
