//! How much memory an exploration may take: a run that ends inconclusively is better than one that the system kills,
//! or a host that swaps.
//!
//! The memory that is left is the minimum over the host, every control group of this process, and its own
//! resource limits.

use carrousel_verify::explore::Footprint;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// The default limit of this process: three quarters of the memory that is left, and the limits of its address space
/// and data. `resident` is what the user has said.
pub(crate) fn bounds(resident: Option<u64>) -> Footprint {
    let root = Path::new("/");
    let has = Footprint::of_process().resident.unwrap_or(0);
    Footprint { resident: resident.or_else(|| left(root).map(|left| has + left / 4 * 3)), ..limits(root) }
}

/// Memory of the host, and what of it is available, in bytes; where the system tells. `root` is where its file systems
/// are.
pub(crate) fn of_host(root: &Path) -> Option<(u64, u64)> {
    let text = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        let kib: u64 = line.trim_start_matches(':').trim().trim_end_matches("kB").trim().parse().ok()?;
        kib.checked_mul(1024)
    };
    Some((field("MemTotal")?, field("MemAvailable")?))
}

/// The memory that the host and the control groups have left; `root` is where their file systems are.
fn left(root: &Path) -> Option<u64> {
    of_host(root).map(|(_, available)| available).into_iter().chain(of_groups(root)).min()
}

/// The limits of address space and data that this process has (`RLIMIT_AS` and `RLIMIT_DATA`).
fn limits(root: &Path) -> Footprint {
    let text = fs::read_to_string(root.join("proc/self/limits")).unwrap_or_default();
    let soft = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        // `unlimited` is no number.
        line.split_whitespace().next()?.parse().ok()
    };
    Footprint { resident: None, address_space: soft("Max address space"), data: soft("Max data size") }
}

/// The memory that each control group with a limit has left: this process's own, and all above it.
fn of_groups(root: &Path) -> Vec<u64> {
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap_or_default();
    let (groups, mounts) = (read("proc/self/cgroup"), read("proc/self/mountinfo"));
    let mut left = Vec::new();
    for line in groups.lines() {
        // `0::/user.slice`, `4:memory:/job/7`.
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        let version = match controllers {
            "" => &SECOND,
            _ if controllers.split(',').any(|controller| controller == "memory") => &FIRST,
            _ => continue,
        };
        let mount = mounts.lines().filter_map(Mount::parse).find(|mount| mount.is_of(version));
        let Some(mount) = mount else { continue };
        let top = root.join(mount.point.strip_prefix("/").unwrap_or(&mount.point));
        let own = mount.directory(Path::new(path)).map_or_else(|| top.clone(), |below| top.join(below));
        let all = own.ancestors().take_while(|group| group.starts_with(&top));
        left.extend(all.filter_map(|group| version.left(group)));
    }
    left
}

/// The files of a version of control groups.
struct Version {
    file_system: &'static str,
    /// Any of these is a limit.
    limits: &'static [&'static str],
    usage: &'static str,
    /// Lines of `memory.stat`: memory that the system reclaims under pressure.
    reclaimed: [&'static str; 2],
}

const FIRST: Version = Version {
    file_system: "cgroup",
    limits: &["memory.limit_in_bytes"],
    usage: "memory.usage_in_bytes",
    reclaimed: ["total_inactive_file ", "total_active_file "],
};
const SECOND: Version = Version {
    file_system: "cgroup2",
    // Beyond `high` a process is slowed down until it gives something back, which we never do.
    limits: &["memory.max", "memory.high"],
    usage: "memory.current",
    reclaimed: ["inactive_file ", "active_file "],
};

impl Version {
    /// The memory that a group with a limit has left.
    fn left(&self, group: &Path) -> Option<u64> {
        let number = |name: &str| fs::read_to_string(group.join(name)).ok()?.trim().parse::<u64>().ok();
        let limit = self.limits.iter().filter_map(|name| number(name)).min()?;
        let statistics = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
        let reclaimed: u64 = self
            .reclaimed
            .iter()
            .filter_map(|name| statistics.lines().find_map(|line| line.strip_prefix(name)))
            .filter_map(|bytes| bytes.trim().parse::<u64>().ok())
            .sum();
        let used = number(self.usage).unwrap_or(0).saturating_sub(reclaimed);
        Some(limit.saturating_sub(used))
    }
}

/// A line of `mountinfo` (proc_pid_mountinfo(5)).
struct Mount<'a> {
    /// Which directory of the file system is mounted.
    root: &'a Path,
    point: PathBuf,
    file_system: &'a str,
    options: &'a str,
}

impl<'a> Mount<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (before, after) = line.split_once(" - ")?;
        let (mut before, mut after) = (before.split(' ').skip(3), after.split(' '));
        let (root, point) = (Path::new(before.next()?), before.next()?.replace("\\040", " "));
        let (file_system, _, options) = (after.next()?, after.next()?, after.next().unwrap_or(""));
        Some(Self { root, point: point.into(), file_system, options })
    }

    fn is_of(&self, version: &Version) -> bool {
        let has_memory = || self.options.split(',').any(|option| option == "memory");
        self.file_system == version.file_system && (version.file_system == "cgroup2" || has_memory())
    }

    /// Where below the mount a group is; none if what is mounted does not show it, as in some containers, where it is
    /// the group itself.
    fn directory(&self, group: &'a Path) -> Option<&'a Path> {
        let below = group.strip_prefix(self.root).ok()?;
        below.components().all(|part| matches!(part, Component::Normal(_))).then_some(below)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: u64 = 1 << 20;

    /// A tree of files that is gone when the test is over.
    struct Tree(PathBuf);

    impl Tree {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir().join(format!("carrousel-memory-{}-{name}", std::process::id()));
            for (path, text) in files {
                let path = root.join(path);
                let made = path.parent().map(fs::create_dir_all);
                assert!(made.is_some_and(|made| made.is_ok()));
                fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            }
            Self(root)
        }
    }

    impl Drop for Tree {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    const HOST: (&str, &str) = ("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable:    4194304 kB\n");
    const UNIFIED: (&str, &str) = (
        "proc/self/mountinfo",
        "20 1 0:5 / /proc rw - proc proc rw\n30 20 0:26 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n",
    );

    #[test]
    fn a_host_without_groups_leaves_what_is_available() {
        let tree = Tree::new("host", &[HOST]);
        assert_eq!(left(&tree.0), Some(4096 * MIB));
        assert_eq!(left(Path::new("/no/such/root")), None);
    }

    #[test]
    fn the_tightest_of_all_groups_above_counts() {
        let tree = Tree::new(
            "second",
            &[
                HOST,
                UNIFIED,
                ("proc/self/cgroup", "0::/user.slice/job.scope\n"),
                ("sys/fs/cgroup/user.slice/job.scope/memory.max", "max\n"),
                ("sys/fs/cgroup/user.slice/job.scope/memory.high", "2147483648\n"),
                ("sys/fs/cgroup/user.slice/memory.max", "1073741824\n"),
                ("sys/fs/cgroup/user.slice/memory.current", "536870912\n"),
                (
                    "sys/fs/cgroup/user.slice/memory.stat",
                    "anon 1\ninactive_file 104857600\nactive_file 4194304\n",
                ),
            ],
        );
        // 1 GiB, of which half is used, of which 104 MiB can be had back.
        assert_eq!(left(&tree.0), Some((1024 - 512 + 104) * MIB));
        let own = tree.0.join("sys/fs/cgroup/user.slice/job.scope/memory.max");
        assert!(fs::write(own, "104857600\n").is_ok());
        assert_eq!(left(&tree.0), Some(100 * MIB));
    }

    #[test]
    fn groups_of_the_first_version_count_as_well() {
        let tree = Tree::new(
            "first",
            &[
                HOST,
                (
                    "proc/self/mountinfo",
                    "31 24 0:27 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                     32 24 0:28 /docker/7 /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n",
                ),
                ("proc/self/cgroup", "5:cpu:/docker/7\n4:memory:/docker/7/inner\n0::/\n"),
                ("sys/fs/cgroup/memory/memory.limit_in_bytes", "314572800\n"),
                ("sys/fs/cgroup/memory/memory.usage_in_bytes", "209715200\n"),
                ("sys/fs/cgroup/memory/memory.stat", "inactive_file 7\ntotal_inactive_file 104857600\n"),
                ("sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "9223372036854771712\n"),
            ],
        );
        assert_eq!(left(&tree.0), Some(200 * MIB));
    }

    /// A container that shows its own group as the top of the file system, under another name.
    #[test]
    fn what_is_mounted_may_be_the_group_itself() {
        for group in ["0::/\n", "0::/../../elsewhere\n", "0::/docker/7\n"] {
            let limit = ("sys/fs/cgroup/memory.max", "52428800\n");
            let mount = ("proc/self/mountinfo", "30 20 0:26 /docker/8 /sys/fs/cgroup rw - cgroup2 none rw\n");
            let tree = Tree::new("container", &[HOST, mount, ("proc/self/cgroup", group), limit]);
            assert_eq!(left(&tree.0), Some(50 * MIB), "{group}");
        }
    }

    #[test]
    fn resource_limits_are_the_soft_ones() {
        let text = "Limit                     Soft Limit           Hard Limit           Units     \n\
                    Max data size             unlimited            unlimited            bytes     \n\
                    Max address space         409600000            unlimited            bytes     \n";
        let tree = Tree::new("limits", &[("proc/self/limits", text)]);
        let expected = Footprint { address_space: Some(409_600_000), ..Footprint::default() };
        assert_eq!(limits(&tree.0), expected);
        assert_eq!(limits(Path::new("/no/such/root")), Footprint::default());
    }
}
