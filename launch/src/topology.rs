//! The topology of this node: which processors are one core, and which cores are near the same memory.
//!
//! With the feature `hwloc`, hwloc is asked. It is a library in C that has to be there, and the command alone needs it:
//! without the feature, and where hwloc has no answer of this node, it is what Linux tells in files.

#[cfg(feature = "hwloc")]
mod hwloc;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The directory in which the system describes the topology.
const SYSTEM: &str = "/sys/devices/system";

/// The processors that may be used, by core and by NUMA node, each in the order of their first processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Topology {
    pub(crate) cores: Vec<Vec<usize>>,
    pub(crate) numa_nodes: Vec<Vec<usize>>,
}

impl Topology {
    /// The topology of the processors in `allowed`, which are some of this node's.
    pub(crate) fn of_this_node(allowed: &[usize]) -> Self {
        #[cfg(feature = "hwloc")]
        if let Some([cores, numa_nodes]) = hwloc::cores_and_nodes(allowed) {
            return Self { cores, numa_nodes };
        }
        Self::read(Path::new(SYSTEM), allowed)
    }

    /// Reads the topology of the processors in `allowed`. Where the system tells nothing, each processor is a core, and
    /// all are on one node.
    fn read(system: &Path, allowed: &[usize]) -> Self {
        let siblings = |cpu: &usize| {
            let directory = system.join(format!("cpu/cpu{cpu}/topology"));
            let list = ["core_cpus_list", "thread_siblings_list"].map(|name| directory.join(name));
            let list = list.iter().find_map(|file| fs::read_to_string(file).ok());
            // The first of the siblings names their core, although it may not be used itself.
            list.and_then(|list| parse_list(&list)?.into_iter().min()).unwrap_or(*cpu)
        };
        let mut node_of = BTreeMap::new();
        for entry in fs::read_dir(system.join("node")).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.strip_prefix("node")?.parse::<usize>().ok());
            let cpus =
                fs::read_to_string(entry.path().join("cpulist")).ok().and_then(|list| parse_list(&list));
            for cpu in cpus.filter(|_| number.is_some()).into_iter().flatten() {
                node_of.insert(cpu, number);
            }
        }
        Self {
            cores: group(allowed, siblings),
            numa_nodes: group(allowed, |cpu| node_of.get(cpu).copied().flatten()),
        }
    }
}

fn group<K: Ord>(cpus: &[usize], key: impl Fn(&usize) -> K) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<K, Vec<usize>> = BTreeMap::new();
    for cpu in cpus {
        groups.entry(key(cpu)).or_default().push(*cpu);
    }
    let mut groups: Vec<_> = groups.into_values().collect();
    groups.sort();
    groups
}

/// A list of processors as the kernel writes it: `0-3,8,10-11`.
fn parse_list(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last): (usize, usize) = (first.parse().ok()?, last.parse().ok()?);
        if last.checked_sub(first)? > 1 << 16 {
            return None;
        }
        cpus.extend(first..=last);
    }
    Some(cpus)
}

/// A list of processors as the kernel would write it.
pub(crate) fn list(cpus: &[usize]) -> String {
    let runs =
        cpus.chunk_by(|one, next| one + 1 == *next).filter_map(|run| Some((run.first()?, run.last()?)));
    let texts = runs.map(|(first, last)| match first == last {
        true => first.to_string(),
        false => format!("{first}-{last}"),
    });
    texts.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Two nodes of two cores with two threads each; the second thread of core N is processor N + 4.
    fn system() -> tempfile::TempDir {
        let system = tempfile::tempdir().expect("it can be made");
        for cpu in 0..8 {
            let directory = system.path().join(format!("cpu/cpu{cpu}/topology"));
            fs::create_dir_all(&directory).expect("it can be made");
            let list = format!("{},{}\n", cpu % 4, cpu % 4 + 4);
            fs::write(directory.join("core_cpus_list"), list).expect("it can be written");
        }
        for (node, list) in ["0-1,4-5\n", "2-3,6-7\n"].iter().enumerate() {
            let directory = system.path().join(format!("node/node{node}"));
            fs::create_dir_all(&directory).expect("it can be made");
            fs::write(directory.join("cpulist"), list).expect("it can be written");
        }
        system
    }

    #[test]
    fn threads_of_a_core_and_cores_of_a_node_are_found() {
        let system = system();
        let all = Topology::read(system.path(), &[0, 1, 2, 3, 4, 5, 6, 7]);
        assert_eq!(all.cores, [[0, 4], [1, 5], [2, 6], [3, 7]]);
        assert_eq!(all.numa_nodes, [[0, 1, 4, 5], [2, 3, 6, 7]]);
        // Processors that may not be used are left out.
        let some = Topology::read(system.path(), &[1, 4, 6]);
        assert_eq!(some.cores, [[1], [4], [6]]);
        assert_eq!(some.numa_nodes, [vec![1, 4], vec![6]]);
    }

    #[test]
    fn without_topology_files_each_processor_is_a_core() {
        let topology = Topology::read(Path::new("/nowhere"), &[2, 5]);
        assert_eq!((topology.cores, topology.numa_nodes), (vec![vec![2], vec![5]], vec![vec![2, 5]]));
    }

    #[cfg(feature = "hwloc")]
    #[test]
    fn of_this_node_hwloc_says_what_the_system_does() {
        let allowed = rustix::thread::sched_getaffinity(None).expect("it is told");
        let allowed: Vec<_> =
            (0..rustix::thread::CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
        let [cores, numa_nodes] = hwloc::cores_and_nodes(&allowed).expect("hwloc knows this machine");
        assert_eq!(Topology { cores, numa_nodes }, Topology::read(Path::new(SYSTEM), &allowed));
    }

    #[test]
    fn lists_are_written_as_the_kernel_does() {
        assert_eq!(list(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
        assert_eq!(parse_list("0-2,5\n"), Some(vec![0, 1, 2, 5]));
        assert_eq!([parse_list("3-1"), parse_list("x"), parse_list("0-99999999")], [None, None, None]);
    }

    proptest! {
        #[test]
        fn any_list_is_read_back(cpus in proptest::collection::btree_set(0usize..200, 0..40)) {
            let cpus: Vec<usize> = cpus.into_iter().collect();
            prop_assert_eq!(parse_list(&list(&cpus)), Some(cpus));
        }
    }
}
