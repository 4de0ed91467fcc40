//! Other load on the machine.

use std::fs;
use std::thread;
use std::time::Duration;

/// How long the machine is watched. Long enough for the kernel's ticks, and for a compiler to show.
const WATCHED: Duration = Duration::from_secs(1);

/// The share of all cores that is in use while we do nothing, in percent; none where the kernel does not say.
pub(crate) fn busy_percent() -> Option<f64> {
    let before = Ticks::parse(&fs::read_to_string("/proc/stat").ok()?)?;
    thread::sleep(WATCHED);
    let after = Ticks::parse(&fs::read_to_string("/proc/stat").ok()?)?;
    let (all, idle) = (after.all.checked_sub(before.all)?, after.idle.checked_sub(before.idle)?);
    (all > 0).then(|| 100.0 * all.saturating_sub(idle) as f64 / all as f64)
}

/// Cores that processes may be started on.
pub(crate) fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Time since the start, over all cores.
#[derive(Debug, PartialEq)]
struct Ticks {
    all: u64,
    idle: u64,
}

impl Ticks {
    /// From the line of /proc/stat that sums the cores up: user, nice, system, idle, iowait, irq, softirq,
    /// steal; what follows is contained in user.
    fn parse(stat: &str) -> Option<Self> {
        let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
        let ticks: Vec<u64> = line.split_whitespace().take(8).map_while(|word| word.parse().ok()).collect();
        let idle = ticks.get(3)? + ticks.get(4)?;
        Some(Self { all: ticks.iter().sum(), idle })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_for_a_disk_is_idle_and_a_stolen_tick_is_not() {
        let stat = "cpu  10 20 30 400 50 1 2 3 77 88\ncpu0 1 2 3 4 5 6 7 8 9 10\n";
        assert_eq!(Ticks::parse(stat), Some(Ticks { all: 516, idle: 450 }));
    }

    #[test]
    fn another_kernel_is_no_panic() {
        assert_eq!(Ticks::parse("intr 7\n"), None);
        assert_eq!(Ticks::parse("cpu  1 2\n"), None);
    }
}
