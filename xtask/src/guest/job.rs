//! The job that guests run, and how it ended.

use super::packages;
use super::paths::absolute;
use std::path::{Path, PathBuf};
use std::thread;

/// The exit status of a shell's `timeout`, too.
pub(super) const LATE: u8 = 124;
/// Nothing that the command has said: a guest has died, or its kernel has complained.
pub(super) const BROKEN: u8 = 125;
/// Processors of a guest, at most, unless a case asks for more.
const CPUS_MAX: usize = 4;

/// A command, and the guests that it runs in.
#[derive(Clone, Debug)]
pub(super) struct GuestJob {
    /// How many guests, 1 to 9.
    pub(super) nodes: usize,
    pub(super) programs: Vec<Program>,
    /// Files and directories, which are at the same path in the guest.
    pub(super) files: Vec<PathBuf>,
    /// Variables that the command sees.
    pub(super) environment: Vec<(String, String)>,
    /// Whether guests reach each other by ssh.
    pub(super) ssh: bool,
    /// How long the command may take, in seconds.
    pub(super) timeout_s: u32,
    /// Processors of each guest; by default this machine's, shared out.
    pub(super) cpus: Option<usize>,
    /// Memory of each guest, in MiB.
    pub(super) memory_mib: u32,
    /// A program, and its arguments.
    pub(super) command: Vec<String>,
    /// Where what the guests leave behind is kept.
    pub(super) out: Option<PathBuf>,
}

impl GuestJob {
    /// Processors of each guest.
    pub(super) fn cpus(&self) -> usize {
        let here = thread::available_parallelism().map_or(1, usize::from);
        self.cpus.unwrap_or((here / self.nodes).clamp(1, CPUS_MAX))
    }
}

/// A program that is copied into guests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Program {
    /// Its name there, in addition to its path.
    pub(super) name: String,
    /// Where it is, here and there.
    pub(super) path: PathBuf,
}

impl Program {
    /// The program that a user has named: by its path, or, without a slash, one that is on `PATH`.
    pub(super) fn find(named: &str) -> Result<Self, String> {
        let path = if named.contains('/') { absolute(Path::new(named))? } else { packages::program(named)? };
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        match name {
            Some(name) if path.is_file() => Ok(Self { name, path }),
            _ => Err(format!("there is no program {named}")),
        }
    }
}

/// How a node ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The command has ended with this status.
    Status(u8),
    /// The command was killed when its time was over.
    Late,
    /// The guest has not come so far, or was ended without being asked.
    Died,
    /// The kernel has complained, in these lines, however the command ended.
    Complaint(Vec<String>),
}

impl End {
    /// As an exit status.
    pub(super) fn status(&self) -> u8 {
        match self {
            Self::Status(status) => *status,
            Self::Late => LATE,
            Self::Died | Self::Complaint(_) => BROKEN,
        }
    }

    /// From the files in which the guest has said how its command ended and whether it was late, and from the
    /// kernel's log.
    pub(super) fn of(status: Option<&str>, late: bool, log: &str) -> Self {
        let complaint: Vec<String> = log.lines().filter(|line| complains(line)).map(str::to_owned).collect();
        match status.and_then(|status| status.trim().parse().ok()) {
            _ if !complaint.is_empty() => Self::Complaint(complaint),
            _ if late => Self::Late,
            Some(status) => Self::Status(status),
            None => Self::Died,
        }
    }
}

/// Whether a line of a kernel's log says that something is wrong with the kernel.
fn complains(line: &str) -> bool {
    let said = |what: &str| {
        line.match_indices(what).any(|(begin, _)| {
            let (before, behind) = (&line[..begin], &line[begin + what.len()..]);
            let in_a_word = before.ends_with(is_of_word) || behind.starts_with(is_of_word);
            !in_a_word && behind.contains(':')
        })
    };
    ["BUG", "WARNING", "Oops", "Kernel panic"].into_iter().any(said)
        || line.contains("general protection fault")
}

fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_of_the_kernel_are_recognised() {
        for line in [
            "[    3.1] BUG: kernel NULL pointer dereference, address: 0000000000000000",
            "[    3.1] WARNING: CPU: 0 PID: 99 at drivers/infiniband/sw/rxe/rxe_qp.c:7 rxe_qp_cleanup",
            "[    3.1] Oops: 0002 [#1] PREEMPT SMP",
            "[    3.1] Kernel panic - not syncing: Fatal exception",
            "[    3.1] general protection fault, probably for non-canonical address",
            "[   40.0] watchdog: BUG: soft lockup - CPU#0 stuck for 22s!",
        ] {
            assert!(complains(line), "{line}");
        }
    }

    #[test]
    fn other_lines_are_no_complaints() {
        for line in [
            "[    0.1] DEBUG: something",
            "[    0.1] rdma_rxe: loaded",
            "[    0.1] 9pnet: BUGS",
            "[    0.1] the word WARNING alone",
            "[    0.1] _WARNING: part of a name",
        ] {
            assert!(!complains(line), "{line}");
        }
    }

    #[test]
    fn a_complaint_counts_more_than_a_status() {
        assert_eq!(End::of(Some("0\n"), false, "fine"), End::Status(0));
        assert_eq!(End::of(Some("0\n"), false, "Oops: 1").status(), BROKEN);
        assert_eq!(End::of(Some("3"), false, "").status(), 3);
    }

    #[test]
    fn who_has_said_nothing_has_died() {
        assert_eq!(End::of(None, false, ""), End::Died);
        assert_eq!(End::of(None, true, ""), End::Late);
        assert_eq!(End::of(Some(""), false, "").status(), BROKEN);
        assert_eq!(End::of(Some("124"), true, "").status(), LATE);
    }

    #[test]
    fn a_program_is_found_on_the_path_or_by_its_own() {
        assert!(Program::find("sh").unwrap().path.ends_with("sh"));
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/main.rs");
        let found = Program::find(path.to_str().unwrap()).unwrap();
        assert_eq!(found, Program { name: "main.rs".to_owned(), path });
        assert!(Program::find("/nowhere/at-all").unwrap_err().contains("/nowhere/at-all"));
        assert!(Program::find("/usr/lib").is_err());
    }
}
