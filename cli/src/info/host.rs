//! What this host and this process have: processors, memory, and the limits that jobs meet.

use crate::numbers::bytes;
use crate::verify::memory;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// This host.
#[derive(Serialize)]
pub(super) struct Host {
    pub(super) name: String,
    pub(super) system: String,
    /// That this process may use.
    pub(super) cores: usize,
    pub(super) memory_bytes: Option<u64>,
    pub(super) memory_available_bytes: Option<u64>,
    numa_nodes: Vec<NumaNode>,
    limits: BTreeMap<&'static str, Limit>,
    huge_pages: Vec<Pool>,
    /// What `/sys/kernel/mm/transparent_hugepage` says of memory of a process, and of shared memory.
    transparent_huge_pages: Option<String>,
    transparent_huge_pages_shared: Option<String>,
    /// `kernel.yama.ptrace_scope`; `null` without Yama.
    pub(super) ptrace_scope: Option<u32>,
    shm_bytes: Option<u64>,
    shm_free_bytes: Option<u64>,
}

/// The processors that are near the same memory.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct NumaNode {
    node: u32,
    /// As the system lists them: `0-3,8`.
    processors: String,
}

/// A limit of this process, which its children have, too.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Limit {
    /// `null`: none.
    soft: Option<u64>,
    /// Up to which it can be raised.
    hard: Option<u64>,
}

/// Huge pages that are set aside (hugetlbfs).
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Pool {
    page_bytes: u64,
    pages: u64,
    free: u64,
}

/// The limits that are read: a name, that of the line in `/proc/self/limits`, and that of `ulimit`.
const LIMITS: [(&str, &str, &str); 4] = [
    ("locked_memory_bytes", "Max locked memory", "locked memory (ulimit -l)"),
    ("descriptors", "Max open files", "descriptors (ulimit -n)"),
    ("processes", "Max processes", "processes (ulimit -u)"),
    ("file_bytes", "Max file size", "file size (ulimit -f)"),
];

impl Host {
    /// The host whose files are below `root`.
    pub(super) fn of(root: &Path) -> Self {
        let read = |path: &str| fs::read_to_string(root.join(path)).map(|text| text.trim().to_owned()).ok();
        let (memory_bytes, memory_available_bytes) = memory::of_host(root).unzip();
        let kernel =
            read("proc/sys/kernel/osrelease").map_or_else(String::new, |release| format!(", {release}"));
        let (shm_bytes, shm_free_bytes) = room(&root.join("dev/shm")).unzip();
        let transparent = |file: &str| chosen(&read(&format!("sys/kernel/mm/transparent_hugepage/{file}"))?);
        Self {
            name: read("proc/sys/kernel/hostname").unwrap_or_else(|| "unknown".to_owned()),
            system: format!("{} {}{kernel}", std::env::consts::OS, std::env::consts::ARCH),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes,
            memory_available_bytes,
            numa_nodes: numa_nodes(&root.join("sys/devices/system/node")),
            limits: limits(&read("proc/self/limits").unwrap_or_default()),
            huge_pages: pools(&root.join("sys/kernel/mm/hugepages")),
            transparent_huge_pages: transparent("enabled"),
            transparent_huge_pages_shared: transparent("shmem_enabled"),
            ptrace_scope: read("proc/sys/kernel/yama/ptrace_scope").and_then(|scope| scope.parse().ok()),
            shm_bytes,
            shm_free_bytes,
        }
    }

    /// What a person is told of it, apart from what the first line says: each a name, and what there is.
    pub(super) fn rows(&self) -> Vec<(&'static str, String)> {
        let mut rows = Vec::new();
        let nodes: Vec<_> = self
            .numa_nodes
            .iter()
            .map(|NumaNode { node, processors }| format!("{node}: {processors}"))
            .collect();
        if !nodes.is_empty() {
            rows.push(("NUMA nodes and their processors", nodes.join("; ")));
        }
        for (name, _, text) in LIMITS {
            if let Some(Limit { soft, hard }) = self.limits.get(name) {
                let shown = |limit: Option<u64>| match limit {
                    None => "unlimited".to_owned(),
                    Some(limit) if name.ends_with("_bytes") => bytes(limit),
                    Some(limit) => limit.to_string(),
                };
                let hard =
                    if hard == soft { String::new() } else { format!(", can be raised to {}", shown(*hard)) };
                rows.push((text, format!("{}{hard}", shown(*soft))));
            }
        }
        let pool = |Pool { page_bytes, pages, free }: &Pool| {
            format!("{}: {free} of {pages} free", bytes(*page_bytes))
        };
        let pools: Vec<_> = self.huge_pages.iter().map(pool).collect();
        rows.push(("huge pages", if pools.is_empty() { "none".to_owned() } else { pools.join("; ") }));
        if let Some(private) = &self.transparent_huge_pages {
            let shared = self.transparent_huge_pages_shared.as_deref();
            let shared = shared.map_or_else(String::new, |shared| format!("; of shared memory: {shared}"));
            rows.push(("transparent huge pages", format!("{private}{shared}")));
        }
        rows.push((
            "Yama's ptrace_scope",
            match self.ptrace_scope {
                None => "no Yama: processes of one user may copy from each other".to_owned(),
                Some(scope @ 0) => format!("{scope}: processes of one user may copy from each other"),
                Some(scope @ 1) => format!("{scope}: ranks permit each other to copy"),
                Some(scope) => format!("{scope}: no process may copy from another one"),
            },
        ));
        if let (Some(all), Some(free)) = (self.shm_bytes, self.shm_free_bytes) {
            let text =
                format!("{}, {} free; not needed: shared memory has no files", bytes(all), bytes(free));
            rows.push(("/dev/shm", text));
        }
        rows
    }
}

/// The size of a file system, and what of it is free.
fn room(directory: &Path) -> Option<(u64, u64)> {
    let found = rustix::fs::statvfs(directory).ok()?;
    Some((found.f_blocks.checked_mul(found.f_frsize)?, found.f_bavail.checked_mul(found.f_frsize)?))
}

/// The word in brackets: `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    Some(text.split_once('[')?.1.split_once(']')?.0.to_owned())
}

/// Of lines such as `Max locked memory         8388608              unlimited            bytes`.
fn limits(text: &str) -> BTreeMap<&'static str, Limit> {
    let limit = |(name, line, _): (&'static str, &str, &str)| {
        let rest = text.lines().find_map(|text| text.strip_prefix(line))?;
        let mut words = rest.split_whitespace();
        let mut next = || match words.next()? {
            "unlimited" => Some(None),
            number => number.parse().ok().map(Some),
        };
        Some((name, Limit { soft: next()?, hard: next()? }))
    };
    LIMITS.into_iter().filter_map(limit).collect()
}

/// The numbers in the names of a directory's entries, such as 0 in `node0`, in their order.
fn numbered(directory: &Path, before: &str, after: &str) -> Vec<(u64, String)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let mut found: Vec<_> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let number = name.strip_prefix(before)?.strip_suffix(after)?.parse().ok()?;
            Some((number, name))
        })
        .collect();
    found.sort();
    found
}

fn numa_nodes(directory: &Path) -> Vec<NumaNode> {
    let node = |(node, name): (u64, String)| {
        let processors = fs::read_to_string(directory.join(name).join("cpulist")).ok()?;
        Some(NumaNode { node: u32::try_from(node).ok()?, processors: processors.trim().to_owned() })
    };
    numbered(directory, "node", "").into_iter().filter_map(node).collect()
}

fn pools(directory: &Path) -> Vec<Pool> {
    let pool = |(kib, name): (u64, String)| {
        let read = |file| fs::read_to_string(directory.join(&name).join(file)).ok()?.trim().parse().ok();
        Some(Pool {
            page_bytes: kib.checked_mul(1024)?,
            pages: read("nr_hugepages")?,
            free: read("free_hugepages")?,
        })
    };
    numbered(directory, "hugepages-", "kB").into_iter().filter_map(pool).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_is_a_number_or_none() {
        let text = "Limit                     Soft Limit           Hard Limit           Units\n\
            Max locked memory         8388608              unlimited            bytes\n\
            Max open files            1024                 1048576              files\n\
            Max file size             lots                 1                    bytes\n";
        let limits = limits(text);
        assert_eq!(limits["locked_memory_bytes"], Limit { soft: Some(8 << 20), hard: None });
        assert_eq!(limits["descriptors"], Limit { soft: Some(1024), hard: Some(1 << 20) });
        assert_eq!(limits.len(), 2, "the others are not there, or no numbers");
    }

    #[test]
    fn what_is_chosen_is_in_brackets() {
        assert_eq!(chosen("always [madvise] never").as_deref(), Some("madvise"));
        assert_eq!((chosen("always"), chosen("] ["), chosen("")), (None, None, None));
    }
}
