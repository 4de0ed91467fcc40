//! The client under hydra, the launcher of MPICH. Where that is not installed, this says so and passes:
//! `cargo xtask test` installs one, and sets the variable that names it.

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
    assert_eq!(client.news().expect("there is none"), []);
    client.barrier().expect("all come");
    client.finalize().expect("it is acknowledged");
    println!("\nrank {rank} of {size} is done");
}

/// Hydra, if there is one. Other launchers have an `mpiexec` too.
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

fn check(arguments: &[&str]) {
    let Some(mpiexec) = hydra() else { return };
    let mut command = Command::new(mpiexec);
    command.args(arguments).args(["-n", "4"]).arg(std::env::current_exe().expect("it has a path"));
    command.args(["--exact", "child", "--quiet", "--nocapture"]).env(TASK, "hydra");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let done = finish(command);
    assert_eq!(done.status, 0, "{}{}", done.stdout, done.stderr);
    for rank in 0..4 {
        assert!(done.stdout.contains(&format!("rank {rank} of 4 is done")), "{}", done.stdout);
    }
}

#[test]
fn hydra_lets_ranks_inherit_a_socket() {
    check(&[]);
}

#[test]
fn hydra_lets_ranks_connect_to_a_port() {
    check(&["-pmi-port"]);
}
