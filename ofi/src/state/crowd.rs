//! Whether the processes of a job want more processors than they have on this node.
//!
//! Hosts that wait read their queue again and again, and never block. With more of them than processors the one that is
//! waited for does not run until the scheduler takes the processor from one that finds nothing: some milliseconds a message.

use super::av::Av;
use super::ep::Ep;
use super::table::Table;
use crate::host::process_at;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity};
use std::collections::BTreeSet;
use std::num::NonZero;
use std::thread::available_parallelism;

impl Ep {
    /// Tells the engine how many processes of this node there are in the address vector, if others were inserted. To be called
    /// once in a while.
    pub(super) fn look_for_crowd(&mut self, avs: &Table<Av>) {
        let Some(av) = self.av.and_then(|av| avs.get(av)).filter(|av| av.changes() != self.crowd) else {
            return;
        };
        self.crowd = av.changes();
        let own = self.engine.full_address();
        let mut processes: BTreeSet<u32> = av.all().filter_map(|address| process_at(address, &own)).collect();
        processes.insert(std::process::id());
        // Without those that have ended.
        let sets: Vec<Vec<usize>> = processes.into_iter().filter_map(processors_of).collect();
        let most = available_parallelism().map_or(usize::MAX, NonZero::get);
        self.engine.share_processors(sets.len(), processors(&sets, most));
    }
}

/// How many processors there are for processes that may run on these each: launchers bind each to some, or none. `most` is
/// how many this process, one of them, has: fewer than it may run on if a container has a quota, which holds for all of them.
fn processors(sets: &[Vec<usize>], most: usize) -> usize {
    let all: BTreeSet<usize> = sets.iter().flatten().copied().collect();
    if sets.iter().all(|set| most < set.len()) { most } else { all.len() }
}

/// The processors on which a process may run. `None` if it has ended, or the system does not say it: not on a node with more
/// processors than a set can hold.
fn processors_of(process: u32) -> Option<Vec<usize>> {
    let process = Pid::from_raw(i32::try_from(process).ok()?)?;
    let set = sched_getaffinity(Some(process)).ok()?;
    Some((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_have_the_processors_on_which_one_of_them_may_run() {
        let bound = [vec![0], vec![2], vec![0]];
        let free = [vec![0, 1, 2], vec![0, 1, 2]];
        assert_eq!((processors(&bound, 1), processors(&free, 3), processors(&free, 2)), (2, 3, 2));
        assert!(processors_of(std::process::id()).is_some_and(|own| !own.is_empty()));
        assert_eq!(processors_of(u32::MAX), None);
    }
}
