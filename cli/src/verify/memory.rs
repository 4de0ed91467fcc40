//! How much memory an exploration may take.

use std::fs;

/// Memory of this host, and what of it is available, in bytes; where the system tells.
pub(crate) fn of_host() -> Option<(u64, u64)> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        let kib: u64 = line.trim_start_matches(':').trim().trim_end_matches("kB").trim().parse().ok()?;
        kib.checked_mul(1024)
    };
    Some((field("MemTotal")?, field("MemAvailable")?))
}

/// What an exploration may take when nobody says: a run that ends inconclusively is better than one that
/// the system kills, or a host that swaps.
pub(crate) fn default_bound() -> Option<u64> {
    of_host().map(|(_, available)| available / 4 * 3)
}
