//! The host's job, as far as this process can know it: what its launcher says in the environment, and which MPI library is in
//! the process. Nothing depends on it but what is told to people (hang reports, traces, and the line of the option `report`),
//! and whether a process offers its processor to others.

use carrousel_trace::{HostLibrary, HostRank};
use std::fs;

/// Variables in which launchers tell a rank, the size of its job, and the job's name: of PMIx as of Open MPI's launcher, of
/// hydra, and of Slurm.
const RANKS: [(&str, &str, Option<&str>); 4] = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", Some("PMIX_NAMESPACE")),
    ("PMI_RANK", "PMI_SIZE", None),
    ("PMIX_RANK", "SLURM_NTASKS", Some("PMIX_NAMESPACE")),
    ("SLURM_PROCID", "SLURM_NTASKS", Some("SLURM_JOB_ID")),
];
/// Variables in which launchers tell a rank how many ranks are on its node: Open MPI's, and hydra.
const HERE: [&str; 2] = ["OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"];
/// Set in processes that hydra has started for `MPI_Comm_spawn`: their ranks are those of a job that has no name.
const SPAWNED: &str = "PMI_SPAWNED";

/// The rank of this process.
pub(crate) fn rank() -> Option<HostRank> {
    rank_in(|name| std::env::var(name).ok())
}

fn rank_in(variable: impl Fn(&str) -> Option<String>) -> Option<HostRank> {
    if variable(SPAWNED).is_some_and(|value| value != "0") {
        return None;
    }
    launched_in(variable)
}

/// The rank of this process among those that its launcher has started with it, also by `MPI_Comm_spawn`.
pub(crate) fn launched() -> Option<HostRank> {
    launched_in(|name| std::env::var(name).ok())
}

/// How many ranks of its job are on the node of this process, if its launcher says so.
pub(crate) fn ranks_here() -> Option<u32> {
    HERE.into_iter().find_map(|name| std::env::var(name).ok()?.trim().parse().ok())
}

fn launched_in(variable: impl Fn(&str) -> Option<String>) -> Option<HostRank> {
    let number = |name: &str| variable(name)?.trim().parse::<u32>().ok();
    RANKS.into_iter().find_map(|(rank, size, job)| {
        let (rank, ranks) = (number(rank)?, number(size)?);
        (rank < ranks).then(|| HostRank { job: job.and_then(&variable), rank, ranks })
    })
}

/// The rank of the process of a peer, by the peer's address and that of this process: the environment of a process of this
/// node says it, if they number processes alike.
pub(crate) fn rank_at(address: &str, own: &str) -> Option<HostRank> {
    let process = process_at(address, own)?;
    let environment = fs::read(format!("/proc/{process}/environ")).ok()?;
    rank_in(|name| {
        let values = environment.split(|byte| *byte == 0).filter_map(|entry| std::str::from_utf8(entry).ok());
        values
            .filter_map(|entry| entry.split_once('='))
            .find(|(other, _)| *other == name)
            .map(|(_, value)| value.to_owned())
    })
}

/// The number of the process at an address, if it is one of this process's node and namespace.
pub(crate) fn process_at(address: &str, own: &str) -> Option<u32> {
    // The text of `carrousel_transport_shm::Address`: the process first, the namespace last.
    let parts = |text: &str| {
        let shm = text.split(' ').find_map(|word| word.strip_prefix("shm:"))?;
        let (process, rest) = shm.split_once(':')?;
        Some((process.parse().ok()?, rest.rsplit(':').next()?.to_owned()))
    };
    let ((process, namespace), (_, own)): ((u32, String), (u32, String)) = (parts(address)?, parts(own)?);
    (namespace == own).then_some(process)
}

/// The MPI library of this process, if its tags are known.
pub(crate) fn library() -> Option<HostLibrary> {
    library_in(&fs::read_to_string("/proc/self/maps").ok()?)
}

/// The library among the files that a process has mapped.
fn library_in(maps: &str) -> Option<HostLibrary> {
    let files = maps.lines().filter_map(|line| line.rsplit('/').next());
    let is = |name: &str, begins: &[&str]| begins.iter().any(|begin| name.starts_with(begin));
    files.into_iter().find_map(|name| match name {
        _ if is(name, &["libmpich.so", "libmpi.so.12", "libmpi_abi.so"]) => Some(HostLibrary::Mpich),
        _ if is(name, &["libmpi.so.40", "libopen-pal.so"]) => Some(HostLibrary::OpenMpi),
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launchers_say_which_rank_a_process_is() {
        let rank = |variables: &'static [(&str, &str)]| {
            rank_in(|name| {
                variables.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
            })
        };
        let host = |job: Option<&str>| Some(HostRank { job: job.map(str::to_owned), rank: 1, ranks: 4 });
        assert_eq!(rank(&[("PMI_RANK", "1"), ("PMI_SIZE", "4")]), host(None));
        let open = [
            ("OMPI_COMM_WORLD_RANK", "1"),
            ("OMPI_COMM_WORLD_SIZE", "4"),
            ("PMIX_RANK", "1"),
            ("PMIX_NAMESPACE", "prterun-host-7@1"),
        ];
        assert_eq!(
            rank_in(|name| open
                .iter()
                .find(|(other, _)| *other == name)
                .map(|(_, value)| (*value).to_owned())),
            host(Some("prterun-host-7@1"))
        );
        assert_eq!(
            rank(&[("SLURM_PROCID", "1"), ("SLURM_NTASKS", "4"), ("SLURM_JOB_ID", "9")]),
            host(Some("9"))
        );
        assert_eq!(rank(&[("PMI_RANK", "1"), ("PMI_SIZE", "4"), ("PMI_SPAWNED", "1")]), None);
        for wrong in [[("PMI_RANK", "4"), ("PMI_SIZE", "4")], [("PMI_RANK", "one"), ("PMI_SIZE", "4")]] {
            assert_eq!(
                rank_in(|name| wrong
                    .iter()
                    .find(|(other, _)| *other == name)
                    .map(|(_, value)| (*value).to_owned())),
                None
            );
        }
    }

    #[test]
    fn a_peer_of_this_node_has_a_process() {
        let own = "carrousel shm:5:3:ff:feed:7:4026531836";
        let process = |address: &str| process_at(address, own);
        assert_eq!(process("carrousel shm:12:3:ff:feed:7:4026531836"), Some(12));
        assert_eq!(process("carrousel shm:12:3:ff:feed:7:4026531837"), None, "in another namespace");
        assert_eq!(
            (process(""), process("carrousel shm:x"), process("ib:12:4026531836")),
            (None, None, None)
        );
        // A process without a launcher has no rank.
        let own = format!("carrousel shm:{}:3:ff:feed:7:4026531836", std::process::id());
        assert_eq!(rank_at(&own, &own), rank());
    }

    #[test]
    fn the_library_is_the_one_that_is_mapped() {
        let maps = |file: &str| {
            format!("7f00-7f01 r--p 0 08:01 12   /usr/lib/libc.so.6\n7f02-7f03 r-xp 0 08:01 13   {file}\n")
        };
        let (mpich, open) = (Some(HostLibrary::Mpich), Some(HostLibrary::OpenMpi));
        for (file, library) in [
            ("/venv/lib/libmpi.so.12.3.1", mpich),
            ("/venv/lib/libmpi_abi.so.0.0.0", mpich),
            ("/usr/lib/libmpi.so.40.30.4", open),
            ("/usr/lib/libmpicolor.so.1", None),
        ] {
            assert_eq!(library_in(&maps(file)), library, "{file}");
        }
    }
}
