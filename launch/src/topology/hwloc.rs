//! The topology as hwloc knows it.

use super::Topology;
use hwlocality::object::types::ObjectType;
use hwlocality::topology::builder::{BuildFlags, TopologyBuilder};

/// The topology of the processors in `allowed`; none if hwloc cannot tell, or was told to describe another machine
/// (`HWLOC_XMLFILE`, `HWLOC_SYNTHETIC`).
pub(super) fn read(allowed: &[usize]) -> Option<Topology> {
    // What may be used is known already, from the affinity that ranks inherit.
    let builder = TopologyBuilder::new().with_flags(BuildFlags::INCLUDE_DISALLOWED).ok()?;
    let topology = builder.build().ok().filter(hwlocality::Topology::is_this_system)?;
    of(&topology, allowed)
}

/// What a topology says of these processors; none unless it places each of them on one core and one node.
fn of(topology: &hwlocality::Topology, allowed: &[usize]) -> Option<Topology> {
    let groups = |kind| {
        let cpus = topology.objects_with_type(kind).filter_map(|object| object.cpuset());
        let usable = |cpus: &_| -> Vec<usize> {
            let cpus: &hwlocality::cpu::cpuset::CpuSet = cpus;
            allowed.iter().copied().filter(|cpu| cpus.is_set(*cpu)).collect()
        };
        let mut groups: Vec<_> = cpus.map(|cpus| usable(&cpus)).filter(|cpus| !cpus.is_empty()).collect();
        groups.sort();
        // Memory of two kinds beside the same cores is two nodes of hwloc's.
        groups.dedup();
        let mut placed = groups.concat();
        placed.sort_unstable();
        (placed == allowed).then_some(groups)
    };
    Some(Topology { cores: groups(ObjectType::Core)?, numa_nodes: groups(ObjectType::NUMANode)? })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::SYSTEM;
    use std::path::Path;

    fn synthetic(description: &str, allowed: &[usize]) -> Option<Topology> {
        let builder = TopologyBuilder::new().from_synthetic(description).expect("hwloc knows such a machine");
        of(&builder.build().expect("it can be described"), allowed)
    }

    #[test]
    fn cores_and_nodes_of_a_described_machine_are_found() {
        let all = synthetic("numa:2 core:2 pu:2", &[0, 1, 2, 3, 4, 5, 6, 7]).expect("they are there");
        assert_eq!(all.cores, [[0, 1], [2, 3], [4, 5], [6, 7]]);
        assert_eq!(all.numa_nodes, [[0, 1, 2, 3], [4, 5, 6, 7]]);
        let some = synthetic("numa:2 core:2 pu:2", &[1, 4, 5]).expect("they are there");
        assert_eq!(some.cores, [vec![1], vec![4, 5]]);
        assert_eq!(some.numa_nodes, [vec![1], vec![4, 5]]);
    }

    #[test]
    fn two_kinds_of_memory_beside_the_same_cores_are_one_node() {
        let topology = synthetic("pack:2 [numa] [numa] core:2 pu:1", &[0, 1, 2, 3]).expect("they are there");
        assert_eq!(topology.numa_nodes, [[0, 1], [2, 3]]);
    }

    #[test]
    fn a_processor_that_it_does_not_know_is_no_answer() {
        assert_eq!(synthetic("core:2 pu:1", &[0, 1, 2]), None);
    }

    #[test]
    fn of_this_node_it_says_what_the_system_does() {
        let allowed = rustix::thread::sched_getaffinity(None).expect("it is told");
        let allowed: Vec<_> =
            (0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
        let told = read(&allowed).expect("hwloc knows this machine");
        assert_eq!(told, Topology::read(Path::new(SYSTEM), &allowed));
    }
}
