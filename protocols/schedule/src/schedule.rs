//! The queue of copies, and what makes them due.

use crate::rules::{AllScheduleRules, ScheduleRules};
use crate::threshold::Threshold;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec::Vec;
use core::marker::PhantomData;

/// Where a transfer's target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    /// On this node, or this rank itself: the processor copies (intra-epoch-scheduling 4: iR and ir).
    Node,
    /// On another node: the adapter moves the data (IR).
    Remote,
}

/// When a transfer's target granted the access. No transfer is offered before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Granted {
    /// Before the call that asks for the transfer.
    InCall,
    /// After it, while nothing waits for the transfer: its epoch is open, and no flush covers it.
    Later,
    /// After it, and its epoch is closed already, or a flush or a request waits for it.
    Awaited,
}

/// What the schedule has to know of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Transfer {
    /// Where its target is.
    pub place: Place,
    /// How many bytes it moves.
    pub bytes: u64,
    /// When its target granted the access.
    pub granted: Granted,
    /// Whether it is one of the accumulates, which MPI orders (accumulate, get_accumulate, fetch_and_op,
    /// compare_and_swap).
    pub accumulates: bool,
}

/// The copies of one rank that wait for its remote transfers.
///
/// `T` is what the driver carries out, `K` names a target: of a window, where a rank has several. Due copies are
/// taken target by target, in the order in which these became due, so that each target hears of its end as soon as
/// it can.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Schedule<T, K: Ord, R: ScheduleRules = AllScheduleRules> {
    threshold: Threshold,
    /// For each target that has any, its copies and notices in program order.
    queues: BTreeMap<K, Queue<T>>,
    /// Targets with something due, each once.
    due: VecDeque<K>,
    /// How many works have been queued, so that a demand of several targets takes them in program order. It starts
    /// again when nothing waits: equal situations are equal states, whatever was before.
    queued: u64,
    rules: PhantomData<R>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Queue<T> {
    waiting: VecDeque<Waiting<T>>,
    /// How many from the front are due.
    due: usize,
    /// How many of those that wait are accumulates.
    accumulates: usize,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Waiting<T> {
    work: T,
    /// How many works were queued before it.
    number: u64,
    accumulates: bool,
}

impl<T, K: Ord + Clone, R: ScheduleRules> Schedule<T, K, R> {
    /// An empty schedule that queues copies of at least this size.
    #[must_use]
    pub fn new(threshold: Threshold) -> Self {
        Self { threshold, queues: BTreeMap::new(), due: VecDeque::new(), queued: 0, rules: PhantomData }
    }

    /// A transfer that may be carried out. It is given back if that is to be now; else it waits here.
    ///
    /// A remote one is never queued: it is posted before any copy. A small copy is made in the call; one whose target
    /// granted late is not, as the call that finds the grant may be any (intra-epoch-scheduling 4, listing 1).
    #[must_use = "what is given back is to be carried out now"]
    pub fn offer(&mut self, target: K, transfer: Transfer, work: T) -> Option<T> {
        if transfer.place == Place::Remote {
            return Some(work);
        }
        let small = transfer.granted == Granted::InCall && !self.threshold.queues(transfer.bytes);
        if small && !(transfer.accumulates && self.accumulates_wait(&target)) {
            return Some(work);
        }
        self.push(target.clone(), work, transfer.accumulates);
        if transfer.granted == Granted::Awaited && R::late_grant_is_due() {
            self.demand(&target);
        }
        None
    }

    /// What tells a target that an epoch has no more transfers for it (Done, LockRelease). It is given back if it can
    /// be sent now; else it waits behind the copies to this target, and is due with them.
    #[must_use = "what is given back is to be sent now"]
    pub fn notice(&mut self, target: K, work: T) -> Option<T> {
        if !R::notice_behind_copies() || !self.queues.contains_key(&target) {
            return Some(work);
        }
        self.push(target.clone(), work, false);
        self.demand(&target);
        None
    }

    /// Makes all queued copies to this target due: their epoch was closed or flushed, or the request of one of these
    /// operations is waited for.
    pub fn demand(&mut self, target: &K) {
        if !R::demand_reaches_queued() {
            return;
        }
        if let Some(queue) = self.queues.get_mut(target) {
            if queue.due == 0 {
                self.due.push_back(target.clone());
            }
            queue.due = queue.waiting.len();
        }
    }

    /// As [`Self::demand`], for all targets that `covers` says, in the order of their oldest copies.
    pub fn demand_all(&mut self, mut covers: impl FnMut(&K) -> bool) {
        let mut covered: Vec<(u64, K)> = (self.queues.iter())
            .filter(|(target, _)| covers(target))
            .filter_map(|(target, queue)| Some((queue.waiting.front()?.number, target.clone())))
            .collect();
        covered.sort_unstable();
        for (_, target) in covered {
            self.demand(&target);
        }
    }

    /// Whether anything waits for one of the targets that `covers` says, due or not.
    #[must_use]
    pub fn waits_for(&self, covers: impl FnMut(&K) -> bool) -> bool {
        self.queues.keys().any(covers)
    }

    /// Makes the oldest work due that waits for one of the targets that `covers` says, if any does.
    ///
    /// A call that waits for the grant of another node, while the network has nothing to do, has time for a copy. One
    /// at a time: the grant may come with each.
    pub fn demand_oldest(&mut self, mut covers: impl FnMut(&K) -> bool) {
        let oldest = (self.queues.iter_mut())
            .filter(|(target, _)| covers(target))
            .filter_map(|(target, queue)| Some((queue.waiting.front()?.number, target, queue)))
            .min_by_key(|(number, ..)| *number);
        if let Some((_, target, queue)) = oldest
            && queue.due == 0
        {
            queue.due = 1;
            self.due.push_back(target.clone());
        }
    }

    /// The next that is due: a sweep takes these one by one when all that is remote was posted, and looks for late
    /// grants of other nodes in between, so that none of them waits for all copies (R8).
    pub fn take_due(&mut self) -> Option<T> {
        let target = self.due.front()?;
        let queue = self.queues.get_mut(target)?;
        let first = queue.waiting.pop_front()?;
        queue.accumulates -= usize::from(first.accumulates);
        queue.due -= 1;
        if queue.due == 0 {
            if queue.waiting.is_empty() {
                self.queues.remove(target);
            }
            self.due.pop_front();
            self.forget_order();
        }
        Some(first.work)
    }

    /// Whether a sweep has copies to make.
    #[must_use]
    pub fn is_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// Whether nothing waits here, due or not.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queues.is_empty()
    }

    /// Takes out all that waits for a target that is lost, in order: none of it can be carried out.
    pub fn lost(&mut self, target: &K) -> impl Iterator<Item = T> + use<T, K, R> {
        self.due.retain(|due| due != target);
        let queue = self.queues.remove(target);
        self.forget_order();
        queue.into_iter().flat_map(|queue| queue.waiting).map(|waiting| waiting.work)
    }

    fn forget_order(&mut self) {
        if self.queues.is_empty() {
            self.queued = 0;
        }
    }

    fn accumulates_wait(&self, target: &K) -> bool {
        R::accumulates_in_order() && self.queues.get(target).is_some_and(|queue| queue.accumulates > 0)
    }

    fn push(&mut self, target: K, work: T, accumulates: bool) {
        let number = self.queued;
        self.queued += 1;
        let empty = || Queue { waiting: VecDeque::new(), due: 0, accumulates: 0 };
        let queue = self.queues.entry(target).or_insert_with(empty);
        queue.accumulates += usize::from(accumulates);
        queue.waiting.push_back(Waiting { work, number, accumulates });
    }
}
