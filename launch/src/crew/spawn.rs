//! Starting one rank.

use crate::client::LAUNCHER;
use crate::error::LaunchError;
use crate::flow::nonblocking;
use crate::job::Share;
use rustix::fs::Access;
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::ffi::OsStr;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// What a PMIx launcher, or another of ours, has left for its own ranks. Ours are not those.
const FOREIGN: [&str; 6] =
    ["PMI_PORT", "PMI_ID", "PMI_SPAWNED", "PMIX_RANK", "PMIX_NAMESPACE", "PMIX_VERSION"];

/// A rank that has been started: its process, and our ends of its connections.
#[derive(Debug)]
pub(super) struct Started {
    pub(super) pid: Pid,
    pub(super) pidfd: OwnedFd,
    pub(super) control: OwnedFd,
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: Option<OwnedFd>,
    pub(super) stderr: Option<OwnedFd>,
}

/// The command of all ranks of a share: what differs between them is set for each.
pub(super) fn command(share: &Share) -> Command {
    let mut command = Command::new(find(share).as_deref().unwrap_or(Path::new(&share.program)));
    command
        .arg0(&share.program)
        .args(&share.arguments)
        .envs(share.environment.iter().map(|(key, value)| (key, value)));
    for variable in FOREIGN {
        command.env_remove(variable);
    }
    command.env("PMI_SIZE", share.size.to_string());
    command.env(LAUNCHER, std::process::id().to_string());
    // A group of its own: its children end with it, and a key at the terminal reaches it once, from us.
    command.process_group(0);
    command
}

/// Where the program is, if that is a question of `PATH`. Asked once: otherwise every rank would try all
/// directories.
fn find(share: &Share) -> Option<PathBuf> {
    if share.program.as_bytes().contains(&b'/') {
        return None;
    }
    let given = share.environment.iter().rev().find(|(key, _)| key == "PATH");
    let path = given.map(|(_, value)| value.clone()).or_else(|| std::env::var_os("PATH"))?;
    let mut places = std::env::split_paths(&path).map(|directory| directory.join(&share.program));
    places.find(|place| place.is_file() && rustix::fs::access(place, Access::EXEC_OK).is_ok())
}

/// Starts a rank that writes to what `output` makes.
pub(super) fn start(
    command: &mut Command,
    program: &OsStr,
    rank: u32,
    stdin: Stdio,
    output: fn() -> Stdio,
) -> Result<Started, LaunchError> {
    let system = LaunchError::system::<Errno>;
    let kind = (AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC);
    let (control, theirs) =
        socketpair(kind.0, kind.1, kind.2, None).map_err(system("make a socket for a rank"))?;
    // Only the child that is started next inherits it: no other thread of a launcher starts programs.
    fcntl_setfd(&theirs, FdFlags::empty()).map_err(system("make a socket for a rank"))?;
    command.env("PMI_RANK", rank.to_string()).env("PMI_FD", theirs.as_raw_fd().to_string());
    command.stdin(stdin).stdout(output()).stderr(output());
    let mut child = command
        .spawn()
        .map_err(|source| LaunchError::Spawn { program: program.to_string_lossy().into_owned(), source })?;
    let pid = Pid::from_child(&child);
    let started = Started {
        pid,
        pidfd: pidfd_open(pid, PidfdFlags::empty()).map_err(system("watch a rank"))?,
        control,
        stdin: child.stdin.take().map(OwnedFd::from),
        stdout: child.stdout.take().map(OwnedFd::from),
        stderr: child.stderr.take().map(OwnedFd::from),
    };
    let ends = [Some(&started.control), started.stdin.as_ref(), started.stdout.as_ref()];
    for end in ends.into_iter().chain([started.stderr.as_ref()]).flatten() {
        nonblocking(end).map_err(LaunchError::system("prepare a rank's pipes"))?;
    }
    Ok(started)
}
