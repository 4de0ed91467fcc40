//! Which processors each rank of a node may use.

use crate::error::LaunchError;
use crate::topology::{Topology, list};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};

/// Where the ranks of a node run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Bind {
    /// On any processor: the system decides.
    #[default]
    None,
    /// Each on a core of its own, or, if there are too few cores, on a processor (hardware thread) of its own.
    /// More ranks than processors are an error.
    Core,
    /// As [`Self::Core`] where several ranks of a node fit its processors. As [`Self::None`] where they do not, and
    /// for a rank that is alone on its node: no other rank disturbs it, and its threads need room.
    CoreIfRoom,
    /// Blocks of consecutive ranks on each NUMA node.
    Numa,
}

/// The processors of each rank of a node, while its ranks are started.
pub(crate) struct CpuBindings {
    /// By the rank's position on the node; empty: all that are allowed.
    cpus_by_index: Vec<Vec<usize>>,
    allowed: Vec<usize>,
    original: Option<CpuSet>,
}

impl CpuBindings {
    /// Assigns processors to this number of ranks on this node.
    pub(crate) fn assign(bind: Bind, ranks: u32) -> Result<Self, LaunchError> {
        // The system call fails on a node with more processors than a set can hold: its ranks are not bound.
        let original = sched_getaffinity(None).ok();
        let is_allowed = |cpu: &usize| original.as_ref().is_some_and(|set| set.is_set(*cpu));
        let allowed: Vec<usize> = (0..CpuSet::MAX_CPU).filter(is_allowed).collect();
        let topology = Topology::of_this_node(&allowed);
        let cpus_by_index = assign_cpus(bind, &topology, allowed.len(), ranks as usize)?;
        Ok(Self { cpus_by_index, allowed, original })
    }

    /// How many processors the ranks of this node have together, if the system tells.
    pub(crate) fn processors(&self) -> Option<usize> {
        Some(self.allowed.len()).filter(|count| *count > 0)
    }

    /// Binds this process to the processors of the rank at this position on the node. A child that is started next
    /// inherits the binding, so that it never runs elsewhere.
    pub(crate) fn apply(&self, index: u32) -> Result<(), LaunchError> {
        let Some(cpus) = self.cpus_by_index.get(index as usize).filter(|cpus| !cpus.is_empty()) else {
            return Ok(());
        };
        let mut set = CpuSet::new();
        cpus.iter().for_each(|cpu| set.set(*cpu));
        sched_setaffinity(None, &set).map_err(LaunchError::system("bind a rank to its processors"))
    }

    /// A line that says on which processors the rank at this position runs.
    pub(crate) fn describe(&self, rank: u32, index: u32) -> String {
        let host = rustix::system::uname();
        let host = host.nodename().to_string_lossy();
        match self.cpus_by_index.get(index as usize).filter(|cpus| !cpus.is_empty()) {
            Some(cpus) => format!("rank {rank} on {host}: bound to processors {}\n", list(cpus)),
            None if self.allowed.is_empty() => format!("rank {rank} on {host}: not bound\n"),
            None => format!("rank {rank} on {host}: not bound, processors {}\n", list(&self.allowed)),
        }
    }
}

impl Drop for CpuBindings {
    /// Restores the affinity of this process.
    fn drop(&mut self) {
        if let Some(original) =
            self.original.filter(|_| self.cpus_by_index.iter().any(|cpus| !cpus.is_empty()))
        {
            let _ = sched_setaffinity(None, &original);
        }
    }
}

/// The processors of each rank; a rank with an empty list, or without a list, is not bound.
fn assign_cpus(
    bind: Bind,
    topology: &Topology,
    allowed: usize,
    ranks: usize,
) -> Result<Vec<Vec<usize>>, LaunchError> {
    let cores = &topology.cores;
    let nodes = &topology.numa_nodes;
    Ok(match bind {
        Bind::None => Vec::new(),
        // The system does not tell which processors this process may use.
        _ if allowed == 0 => Vec::new(),
        Bind::CoreIfRoom if ranks < 2 || ranks > allowed => Vec::new(),
        Bind::Core if ranks > allowed => {
            return Err(LaunchError::TooFewProcessors { ranks, processors: allowed });
        }
        Bind::Core | Bind::CoreIfRoom if ranks <= cores.len() => cores[..ranks].to_vec(),
        Bind::Core | Bind::CoreIfRoom => cores.iter().flatten().take(ranks).map(|cpu| vec![*cpu]).collect(),
        Bind::Numa => (0..ranks).map(|rank| nodes[rank * nodes.len() / ranks].clone()).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bind: Bind, ranks: usize) -> Vec<Vec<usize>> {
        let cores = [[0, 4], [1, 5], [2, 6], [3, 7]].map(|core| core.to_vec()).to_vec();
        let numa_nodes = vec![vec![0, 1, 4, 5], vec![2, 3, 6, 7]];
        assign_cpus(bind, &Topology { cores, numa_nodes }, 8, ranks).expect("they fit")
    }

    #[test]
    fn ranks_have_cores_of_their_own_or_else_processors() {
        assert_eq!(of(Bind::Core, 1), [[0, 4]]);
        assert_eq!(of(Bind::Core, 3), [[0, 4], [1, 5], [2, 6]]);
        assert_eq!(of(Bind::CoreIfRoom, 5), [[0], [4], [1], [5], [2]]);
        assert_eq!(of(Bind::CoreIfRoom, 8).concat().len(), 8);
    }

    #[test]
    fn a_rank_alone_or_without_room_is_not_bound_unless_asked_for() {
        assert_eq!(of(Bind::CoreIfRoom, 1), [[0usize; 0]; 0]);
        assert_eq!(of(Bind::CoreIfRoom, 9), [[0usize; 0]; 0]);
        let topology = Topology { cores: vec![vec![0]], numa_nodes: vec![vec![0]] };
        let error = assign_cpus(Bind::Core, &topology, 1, 2).expect_err("there is no room");
        assert!(error.to_string().starts_with("2 ranks cannot have a core each"), "{error}");
    }

    #[test]
    fn without_an_affinity_mask_no_rank_is_bound() {
        let topology = Topology { cores: Vec::new(), numa_nodes: Vec::new() };
        for bind in [Bind::None, Bind::Core, Bind::CoreIfRoom, Bind::Numa] {
            assert_eq!(assign_cpus(bind, &topology, 0, 3).expect("that is no error"), [[0usize; 0]; 0]);
        }
        let bindings = CpuBindings { cpus_by_index: Vec::new(), allowed: Vec::new(), original: None };
        assert_eq!(bindings.processors(), None);
        assert!(bindings.describe(0, 0).ends_with(": not bound\n"), "{}", bindings.describe(0, 0));
    }

    #[test]
    fn blocks_of_ranks_share_numa_nodes() {
        let nodes = of(Bind::Numa, 4);
        assert_eq!(nodes, [[0, 1, 4, 5], [0, 1, 4, 5], [2, 3, 6, 7], [2, 3, 6, 7]]);
        assert_eq!(of(Bind::Numa, 1), [[0, 1, 4, 5]]);
        assert_eq!(of(Bind::Numa, 20).len(), 20);
    }
}
