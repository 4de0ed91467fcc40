//! The line by which a host's job says that the provider carries its messages (option `report`).

use crate::host::pair;
use crate::processes::test_alone;

#[test]
#[ignore = "another test runs it in a process of its own"]
fn a_host_that_enables_endpoints() {
    let (domain, one, two) = pair();
    domain.close([one, two]);
}

/// What a host is told with these variables, behind the version.
fn said(variables: &[(&str, &str)]) -> Vec<String> {
    let mut host = test_alone("report::a_host_that_enables_endpoints");
    for name in ["OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID", "MPI_LOCALNRANKS"] {
        host.env_remove(name);
    }
    let output = host.envs(variables.iter().copied()).output().expect("it can be started");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let text = String::from_utf8(output.stderr).expect("it is text");
    let begin = format!("carrousel {}: ", env!("CARGO_PKG_VERSION"));
    text.lines().map(|line| line.strip_prefix(&begin).expect("it begins so").to_owned()).collect()
}

const ASKED: (&str, &str) = ("CARROUSEL_REPORT", "1");
const SIZE: (&str, &str) = ("PMI_SIZE", "4");

#[test]
fn rank_0_says_once_what_it_knows_of_the_job() {
    let lines = said(&[ASKED, ("PMI_RANK", "0"), SIZE, ("MPI_LOCALNRANKS", "4")]);
    let [line] = &lines[..] else { panic!("one line: {lines:?}") };
    let begin = "provider of libfabric: 4 ranks on 1 node; within a node: shm; between nodes: ";
    assert!(line.starts_with(begin), "{line}");
    let why = line.strip_prefix(begin).expect("it begins so");
    assert!(
        !why.is_empty() && why != "no network",
        "what carries messages between nodes, or why nothing does: {why}"
    );
    let lines = said(&[("FI_CARROUSEL_REPORT", "yes"), ("PMI_RANK", "0"), SIZE, ("MPI_LOCALNRANKS", "2")]);
    assert!(
        lines[0].starts_with("provider of libfabric: 4 ranks, 2 of them on the node of rank 0; "),
        "{lines:?}"
    );
    // Started by MPI_Comm_spawn: a job of its own.
    let spawned = said(&[ASKED, ("PMI_RANK", "0"), SIZE, ("PMI_SPAWNED", "1")]);
    assert!(spawned[0].starts_with("provider of libfabric: 4 ranks; "), "{spawned:?}");
}

#[test]
fn others_say_nothing_unless_nobody_knows_their_rank() {
    assert_eq!(said(&[ASKED, ("PMI_RANK", "1"), SIZE]), [""; 0]);
    assert_eq!(said(&[("PMI_RANK", "0"), SIZE]), [""; 0], "nobody has asked");
    assert_eq!(said(&[("CARROUSEL_REPORT", "off"), ("PMI_RANK", "0"), SIZE]), [""; 0]);
    let alone = said(&[ASKED]);
    assert_eq!(alone.len(), 1);
    assert!(alone[0].contains(", for which no launcher names a rank; within a node: shm; "), "{alone:?}");
}
