//! The requirements of guests on this machine: programs and files of Debian packages.

use crate::tools::{self, find};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Programs, and the packages that they come from.
const PROGRAMS: [(&str, &str); 18] = [
    ("qemu-system-x86_64", "qemu-system-x86"),
    ("busybox", "busybox-static"),
    ("depmod", "kmod"),
    ("modprobe", "kmod"),
    ("rdma", "iproute2"),
    ("tc", "iproute2"),
    ("xz", "xz-utils"),
    ("setpriv", "util-linux"),
    ("ldd", "libc-bin"),
    ("apt-cache", "apt"),
    ("apt-get", "apt"),
    ("dpkg-deb", "dpkg"),
    ("ssh", "openssh-client"),
    ("ssh-keygen", "openssh-client"),
    ("sshd", "openssh-server"),
    ("ibv_devinfo", "ibverbs-utils"),
    ("ibv_rc_pingpong", "ibverbs-utils"),
    ("ib_write_lat", "perftest"),
];
/// The packages to measure MPI libraries over UCX in guests; each is known by a header.
pub(super) const MPI: [(&str, &str); 8] = [
    ("mpicc.mpich", "mpich"),
    ("mpiexec.hydra", "mpich"),
    ("/usr/include/x86_64-linux-gnu/mpich/mpi.h", "libmpich-dev"),
    ("mpicc.openmpi", "openmpi-bin"),
    ("orted", "openmpi-bin"),
    ("/usr/lib/x86_64-linux-gnu/openmpi/include/mpi.h", "libopenmpi-dev"),
    ("ib_send_lat", "perftest"),
    ("ib_write_bw", "perftest"),
];
/// How libibverbs is told of the library for Soft-RoCE devices.
pub(super) const PROVIDER: &str = "/etc/libibverbs.d/rxe.driver";
const PROVIDER_PACKAGE: &str = "ibverbs-providers";

/// Where a program is.
///
/// # Errors
/// The error for a missing file: says which package has it, if that is known.
pub(super) fn program(name: &str) -> Result<PathBuf, String> {
    find(name).ok_or_else(|| {
        let package = PROGRAMS.iter().find(|(program, _)| *program == name);
        let way_out = package.map_or_else(String::new, |(_, package)| format!(": {}", way_out(&[package])));
        format!("there is no program {name}{way_out}")
    })
}

/// A command that runs a program of the table.
pub(super) fn command(name: &str) -> Result<Command, String> {
    program(name).map(Command::new)
}

/// The packages that are missing.
pub(crate) fn missing() -> Vec<&'static str> {
    let mut packages = missing_of(&PROGRAMS);
    if !Path::new(PROVIDER).exists() {
        packages.push(PROVIDER_PACKAGE);
    }
    packages.sort_unstable();
    packages.dedup();
    packages
}

/// The packages of a table that are missing, each once or more.
pub(crate) fn missing_of(programs: &[(&str, &'static str)]) -> Vec<&'static str> {
    // A path from the root is looked for where it is.
    let programs = programs.iter().filter(|(program, _)| find(program).is_none());
    programs.map(|(_, package)| *package).collect()
}

/// Installs what is missing.
///
/// # Errors
/// When this user may not, or apt cannot.
pub(super) fn install_missing() -> Result<(), String> {
    install(&missing())
}

/// Installs what is missing for measuring, too.
///
/// # Errors
/// As [`install_missing`].
pub(super) fn install_missing_mpi() -> Result<(), String> {
    let mut packages = missing();
    packages.extend(missing_of(&MPI));
    packages.sort_unstable();
    packages.dedup();
    install(&packages)
}

/// Installs packages.
///
/// # Errors
/// When this user may not, or apt cannot.
pub(crate) fn install(packages: &[&str]) -> Result<(), String> {
    if packages.is_empty() {
        return Ok(());
    }
    if !is_root() || find("apt-get").is_none() {
        return Err(format!("missing: {}; {}", packages.join(", "), way_out(packages)));
    }
    eprintln!("{} are missing: installing them", packages.join(", "));
    update()?;
    let mut install = command("apt-get")?;
    install.args(["install", "--quiet", "--yes", "--no-install-recommends"]).args(packages);
    // The output of apt is not that of a guest.
    install.env("DEBIAN_FRONTEND", "noninteractive").stdout(io::stderr());
    tools::run(install)
}

/// Asks for the lists of packages that there are now.
pub(super) fn update() -> Result<(), String> {
    let mut update = command("apt-get")?;
    update.args(["update", "--quiet"]).stdout(io::stderr());
    tools::run(update)
}

/// Whether packages may be installed.
pub(crate) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn way_out(packages: &[&str]) -> String {
    format!("as root, on Debian: apt-get install --no-install-recommends {}", packages.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_named() {
        assert_eq!(program("no-such-program").unwrap_err(), "there is no program no-such-program");
    }

    #[test]
    fn the_way_out_can_be_typed() {
        assert!(
            way_out(&["kmod", "perftest"]).ends_with("apt-get install --no-install-recommends kmod perftest")
        );
    }
}
