//! The client under other launchers: hydra, which is MPICH's, and Slurm. Where one is not installed, its tests say
//! so and pass: `cargo xtask test` installs hydra, and sets the variable that names it; Slurm has to be there.

use crate::support::*;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Where hydra's `mpiexec` is, if not in `PATH`.
const MPIEXEC: &str = "HYDRA_MPIEXEC";

pub(crate) fn exchange() {
    let mut client = client();
    assert!(!client.is_watched());
    let (rank, size) = (client.rank(), client.size());
    exchange_values(&mut client, |rank| 1 + 100 * rank as usize);
    assert_eq!(client.peer_events().expect("there is none"), []);
    client.barrier().expect("all come");
    client.finalize().expect("it is acknowledged");
    println!("\nrank {rank} of {size} is done");
}

/// Hydra, if it is installed. Other launchers have an `mpiexec` too.
fn hydra() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os(MPIEXEC) {
        return Some(named.into());
    }
    let version = Command::new("mpiexec").arg("--version").stderr(Stdio::null()).output();
    if version.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains("HYDRA")) {
        return Some("mpiexec".into());
    }
    println!("skipped: no mpiexec of hydra in PATH, and {MPIEXEC} is not set");
    None
}

/// Whether Slurm is installed, and starts jobs at once.
fn has_slurm() -> bool {
    let mut probe = Command::new("srun");
    probe.args(["--immediate=10", "-n", "1", "true"]).stdin(Stdio::null()).stderr(Stdio::null());
    let is_there = probe.status().is_ok_and(|status| status.success());
    if !is_there {
        println!("skipped: srun is not in PATH, or starts nothing");
    }
    is_there
}

/// Checks that four ranks find each other under this launcher, whose command ends with the program.
fn check(mut launcher: Command) {
    launcher.args(["-n", "4"]).arg(std::env::current_exe().expect("it has a path"));
    launcher.args(["--exact", "child", "--quiet", "--nocapture"]).env(TASK, "others");
    launcher.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let done = finish(launcher);
    assert_eq!(done.status, 0, "{}{}", done.stdout, done.stderr);
    for rank in 0..4 {
        assert!(done.stdout.contains(&format!("rank {rank} of 4 is done")), "{}", done.stdout);
    }
}

#[test]
fn hydra_lets_ranks_inherit_a_socket() {
    hydra().into_iter().map(Command::new).for_each(check);
}

#[test]
fn hydra_lets_ranks_connect_to_a_port() {
    if let Some(mpiexec) = hydra() {
        let mut launcher = Command::new(mpiexec);
        launcher.arg("-pmi-port");
        check(launcher);
    }
}

/// Slurm's plugin for PMI-2 speaks PMI-1 with clients that do.
#[test]
fn slurm_lets_ranks_inherit_a_socket() {
    if has_slurm() {
        let mut launcher = Command::new("srun");
        launcher.args(["--mpi=pmi2", "--overcommit"]);
        check(launcher);
    }
}
