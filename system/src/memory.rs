//! How much memory is available: on the node, and in the control groups of this process. A system that is asked for more
//! does not refuse it, but kills a process, and not always one of those that asked.

use std::fs;
use std::path::Path;

/// Bytes that are available, by the files below `root`: on the node, and in each control group (v1 and v2).
pub(crate) fn available(root: &Path) -> Option<u64> {
    let node = fs::read_to_string(root.join("proc/meminfo")).ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
        line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1 << 10)
    });
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let groups = groups.lines().filter_map(|line| in_groups(root, line));
    node.into_iter().chain(groups).min()
}

/// Bytes that are available in the group that a line of `/proc/self/cgroup` names, and in the groups above it.
fn in_groups(root: &Path, line: &str) -> Option<u64> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (controllers, path) = (fields.next()?, fields.next()?);
    let unified = controllers.is_empty();
    if !unified && !controllers.split(',').any(|controller| controller == "memory") {
        return None;
    }
    let system = root.join("sys/fs/cgroup");
    // Where both versions are used, the second has a directory next to those of the first.
    let mounts =
        if unified { [system.clone(), system.join("unified")] } else { [system.join("memory"), system] };
    let mount = mounts.into_iter().find(|mount| mount.join("cgroup.procs").exists())?;
    let group = mount.join(path.trim_start_matches('/'));
    // A container sees its own group at the top, whatever its name is outside.
    let group = if group.exists() { group } else { mount.clone() };
    let within = |group: &&Path| group.starts_with(&mount);
    group.ancestors().take_while(within).filter_map(|group| in_group(group, unified)).min()
}

/// Bytes that are available in one group: up to its limit, with the cached files that it can drop.
fn in_group(group: &Path, unified: bool) -> Option<u64> {
    let read = |name: &str| fs::read_to_string(group.join(name)).ok();
    let number = |name: &str| read(name)?.trim().parse::<u64>().ok();
    let (limit, used, prefix) = if unified {
        (number("memory.max")?, number("memory.current")?, "")
    } else {
        (number("memory.limit_in_bytes")?, number("memory.usage_in_bytes")?, "total_")
    };
    let statistics = read("memory.stat").unwrap_or_default();
    let of = |name: &str| {
        let line =
            |line: &str| line.strip_prefix(prefix)?.strip_prefix(name)?.strip_prefix(' ')?.parse().ok();
        statistics.lines().find_map(line).unwrap_or(0_u64)
    };
    let droppable = of("inactive_file").saturating_add(of("active_file"));
    Some(limit.saturating_sub(used.saturating_sub(droppable)))
}

#[cfg(all(test, not(miri)))]
mod tests {
    use super::*;
    use std::path::PathBuf;

    const MIB: u64 = 1 << 20;

    /// A directory with these files, removed when the value is dropped.
    struct Root(PathBuf);

    impl Root {
        fn new(name: &str, files: &[(&str, &str)]) -> Self {
            let root = std::env::temp_dir().join(format!("carrousel-memory-{}-{name}", std::process::id()));
            for (file, text) in files {
                let file = root.join(file);
                fs::create_dir_all(file.parent().expect("it has one")).expect("it can be made");
                fs::write(file, text).expect("it can be written");
            }
            Self(root)
        }
    }

    impl Drop for Root {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_node_says_what_is_available() {
        let root =
            Root::new("node", &[("proc/meminfo", "MemTotal: 9 kB\nMemAvailable:    2048 kB\nX: 1 kB\n")]);
        assert_eq!(available(&root.0), Some(2 * MIB));
        assert_eq!(available(&root.0.join("nowhere")), None);
        assert!(available(Path::new("/")).is_some_and(|bytes| bytes > MIB), "this one does");
    }

    #[test]
    fn the_tightest_of_all_groups_counts_and_cached_files_do_not() {
        let files = [
            ("proc/meminfo", "MemAvailable: 9999999 kB\n"),
            ("proc/self/cgroup", "0::/job/step\n"),
            ("sys/fs/cgroup/cgroup.procs", ""),
            ("sys/fs/cgroup/job/memory.max", "104857600\n"),
            ("sys/fs/cgroup/job/memory.current", "83886080\n"),
            ("sys/fs/cgroup/job/memory.stat", "anon 5\ninactive_file 20971520\nactive_file 10485760\n"),
            ("sys/fs/cgroup/job/step/memory.max", "max\n"),
            ("sys/fs/cgroup/job/step/memory.current", "5\n"),
        ];
        assert_eq!(available(&Root::new("v2", &files).0), Some(50 * MIB));
    }

    #[test]
    fn groups_of_the_first_version_count_too() {
        let files = [
            ("proc/self/cgroup", "5:cpu:/\n4:memory,other:/of/the/host\n0::/\n"),
            ("sys/fs/cgroup/memory/cgroup.procs", ""),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "10485760\n"),
            ("sys/fs/cgroup/memory/memory.usage_in_bytes", "9437184\n"),
            ("sys/fs/cgroup/memory/memory.stat", "inactive_file 7\ntotal_inactive_file 1048576\n"),
        ];
        // The path is that of the host: the container sees its own group at the top.
        assert_eq!(available(&Root::new("v1", &files).0), Some(2 * MIB));
    }
}
