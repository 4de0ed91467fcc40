//! Starting one rank.

use super::watchdog::JOB;
use crate::client::{LAUNCHER, PROCESSORS};
use crate::error::LaunchError;
use crate::flow::nonblocking;
use crate::job::{NodeShare, Program};
use carrousel_system::record;
use rustix::fs::Access;
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::ffi::OsStr;
use std::io::ErrorKind;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Variables that a PMIx launcher, or another launcher of ours, has set for its own ranks. They are removed: the ranks
/// of this launcher are not those.
const FOREIGN_VARIABLES: [&str; 6] =
    ["PMI_PORT", "PMI_ID", "PMI_SPAWNED", "PMIX_RANK", "PMIX_NAMESPACE", "PMIX_VERSION"];

/// A rank that has been started: its process, and the launcher's ends of its connections.
#[derive(Debug)]
pub(super) struct StartedRank {
    pub(super) pid: Pid,
    /// `None` where the system gives none.
    pub(super) pidfd: Option<OwnedFd>,
    pub(super) control: OwnedFd,
    pub(super) stdin: Option<OwnedFd>,
    pub(super) stdout: Option<OwnedFd>,
    pub(super) stderr: Option<OwnedFd>,
}

/// The values that are the same for all ranks of a node.
pub(super) struct SpawnContext<'a> {
    pub(super) share: &'a NodeShare,
    /// The unique name of the job.
    pub(super) job: String,
    /// How many processors they have together, if that is known.
    pub(super) processors: Option<usize>,
}

/// The destination of a rank's output.
#[derive(Clone, Copy)]
pub(super) enum OutputTarget<'a> {
    /// The output of this process.
    Inherited,
    /// A pipe to this process.
    Piped,
    /// Files in this directory.
    Files(&'a Path),
}

impl OutputTarget<'_> {
    /// Opens a stream of a rank. The stream's name is the file's extension.
    fn of(self, rank: u32, stream: &str) -> Result<Stdio, LaunchError> {
        let Self::Files(directory) = self else {
            return Ok(if matches!(self, Self::Piped) { Stdio::piped() } else { Stdio::inherit() });
        };
        let path = directory.join(format!("rank.{rank}.{stream}"));
        let file = record::replace(&path);
        file.map(Stdio::from).map_err(|source| LaunchError::File { doing: "write", path, source })
    }
}

/// The command of the ranks that run one of the programs. [`start`] sets the parts that differ between them.
pub(super) fn command(context: &SpawnContext<'_>, program: &Program) -> Result<Command, LaunchError> {
    let share = context.share;
    let mut command =
        Command::new(find_in_path(share, program).as_deref().unwrap_or(Path::new(&program.program)));
    command.arg0(&program.program).args(&program.arguments);
    command.envs(share.environment.iter().chain(&program.environment).map(|(key, value)| (key, value)));
    for variable in FOREIGN_VARIABLES {
        command.env_remove(variable);
    }
    command.env("PMI_SIZE", share.size.to_string());
    command.env(LAUNCHER, std::process::id().to_string());
    command.env(JOB, &context.job);
    match context.processors {
        Some(count) => command.env(PROCESSORS, count.to_string()),
        None => command.env_remove(PROCESSORS),
    };
    if let Some(path) = &program.directory {
        // Otherwise the error would say that the program does not exist.
        std::fs::read_dir(path).map_err(|source| LaunchError::File {
            doing: "start ranks in",
            path: path.clone(),
            source,
        })?;
        command.current_dir(path);
    }
    // A group of its own: its children end with it, and a key at the terminal reaches it once, from the launcher.
    command.process_group(0);
    Ok(command)
}

/// The path of the program, if it is to be found in `PATH`. Searched once: otherwise every rank would try all
/// directories.
fn find_in_path(share: &NodeShare, program: &Program) -> Option<PathBuf> {
    if program.program.as_bytes().contains(&b'/') {
        return None;
    }
    let mut given = share.environment.iter().chain(&program.environment).rev();
    let given = given.find(|(key, _)| key == "PATH");
    let path = given.map(|(_, value)| value.clone()).or_else(|| std::env::var_os("PATH"))?;
    let mut places = std::env::split_paths(&path).map(|directory| directory.join(&program.program));
    places.find(|place| place.is_file() && rustix::fs::access(place, Access::EXEC_OK).is_ok())
}

/// Starts a rank.
pub(super) fn start(
    command: &mut Command,
    program: &OsStr,
    rank: u32,
    stdin: Stdio,
    output: OutputTarget<'_>,
) -> Result<StartedRank, LaunchError> {
    let system = LaunchError::system::<Errno>;
    let kind = (AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC);
    let (control, theirs) =
        socketpair(kind.0, kind.1, kind.2, None).map_err(system("make a socket for a rank"))?;
    // Only the next child inherits this end: no other thread of a launcher starts programs.
    fcntl_setfd(&theirs, FdFlags::empty()).map_err(system("make a socket for a rank"))?;
    command.env("PMI_RANK", rank.to_string()).env("PMI_FD", theirs.as_raw_fd().to_string());
    command.stdin(stdin).stdout(output.of(rank, "out")?).stderr(output.of(rank, "err")?);
    let child = command.spawn();
    // The child has these descriptors now: they must not stay open here until the next one is started.
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let mut child = child.map_err(|source| match source.kind() {
        ErrorKind::WouldBlock => LaunchError::TooManyProcesses { rank, source },
        _ => LaunchError::Spawn { program: program.to_string_lossy().into_owned(), source },
    })?;
    let pid = Pid::from_child(&child);
    let started = StartedRank {
        pid,
        // Filters of containers refuse this, and systems before Linux 5.3 do not know it.
        pidfd: match pidfd_open(pid, PidfdFlags::empty()) {
            Ok(pidfd) => Some(pidfd),
            Err(Errno::PERM | Errno::ACCESS | Errno::NOSYS) => None,
            Err(error) => return Err(system("watch a rank")(error)),
        },
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
