//! The processors of a node, as hwloc knows them.

use hwlocality::Topology;
use hwlocality::cpu::cpuset::CpuSet;
use hwlocality::object::types::ObjectType;
use hwlocality::topology::builder::{BuildFlags, TopologyBuilder};

/// Processors by core, and by NUMA node, each in the order of their first processor.
type CoresAndNodes = [Vec<Vec<usize>>; 2];

/// The processors in `allowed`, by core and by NUMA node; none if hwloc cannot tell, or was told to describe another
/// machine (`HWLOC_XMLFILE`, `HWLOC_SYNTHETIC`).
pub(super) fn cores_and_nodes(allowed: &[usize]) -> Option<CoresAndNodes> {
    // Where sched_getaffinity is refused, hwloc asks again and again, for ever.
    if allowed.is_empty() {
        return None;
    }
    // The allowed processors are known already, from the affinity that ranks inherit.
    let builder = TopologyBuilder::new().with_flags(BuildFlags::INCLUDE_DISALLOWED).ok()?;
    let topology = builder.build().ok().filter(Topology::is_this_system)?;
    of(&topology, allowed)
}

/// The cores and nodes of these processors; `None` unless the topology places each on one core and one node.
fn of(topology: &Topology, allowed: &[usize]) -> Option<CoresAndNodes> {
    let groups = |kind| {
        let cpus = topology.objects_with_type(kind).filter_map(|object| object.cpuset());
        let usable = |cpus: &_| -> Vec<usize> {
            let cpus: &CpuSet = cpus;
            allowed.iter().copied().filter(|cpu| cpus.is_set(*cpu)).collect()
        };
        let mut groups: Vec<_> = cpus.map(|cpus| usable(&cpus)).filter(|cpus| !cpus.is_empty()).collect();
        groups.sort();
        // If the same cores have two kinds of memory, hwloc has two nodes for them.
        groups.dedup();
        let mut placed = groups.concat();
        placed.sort_unstable();
        (placed == allowed).then_some(groups)
    };
    Some([groups(ObjectType::Core)?, groups(ObjectType::NUMANode)?])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn synthetic(description: &str, allowed: &[usize]) -> Option<CoresAndNodes> {
        let builder = TopologyBuilder::new().from_synthetic(description).expect("hwloc knows such a machine");
        of(&builder.build().expect("it can be described"), allowed)
    }

    #[test]
    fn cores_and_nodes_of_a_described_machine_are_found() {
        let [cores, nodes] = synthetic("numa:2 core:2 pu:2", &[0, 1, 2, 3, 4, 5, 6, 7]).expect("it is known");
        assert_eq!(cores, [[0, 1], [2, 3], [4, 5], [6, 7]]);
        assert_eq!(nodes, [[0, 1, 2, 3], [4, 5, 6, 7]]);
        let [cores, nodes] = synthetic("numa:2 core:2 pu:2", &[1, 4, 5]).expect("it is known");
        assert_eq!(cores, [vec![1], vec![4, 5]]);
        assert_eq!(nodes, [vec![1], vec![4, 5]]);
    }

    #[test]
    fn two_kinds_of_memory_beside_the_same_cores_are_one_node() {
        let [_, nodes] = synthetic("pack:2 [numa] [numa] core:2 pu:1", &[0, 1, 2, 3]).expect("it is known");
        assert_eq!(nodes, [[0, 1], [2, 3]]);
    }

    #[test]
    fn a_processor_that_it_does_not_know_is_no_answer() {
        assert_eq!(synthetic("core:2 pu:1", &[0, 1, 2]), None);
    }
}
