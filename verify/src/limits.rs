//! The limits of an exploration, and the reasons to end one early.

use serde::{Deserialize, Serialize};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Limits and means of an exploration.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// Threads that explore.
    pub threads: usize,
    /// Distinct states, at most.
    pub max_states: Option<u64>,
    /// Memory, at most.
    pub memory: Footprint,
    /// Set by the caller when the search has to end.
    pub interrupt: Option<&'a AtomicBool>,
    /// Called now and then with the progress of the exploration.
    pub progress: Option<&'a (dyn Fn(SearchProgress) + Sync)>,
}

impl Default for Limits<'_> {
    fn default() -> Self {
        Self { threads: 2, max_states: None, memory: Footprint::default(), interrupt: None, progress: None }
    }
}

/// Memory of this process in bytes, each kind as the system counts it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Resident bytes.
    pub resident: Option<u64>,
    /// Bytes of address space, used or not (what `RLIMIT_AS` bounds).
    pub address_space: Option<u64>,
    /// Bytes that are private and writable (what `RLIMIT_DATA` bounds).
    pub data: Option<u64>,
}

impl Footprint {
    /// The memory of this process, where the system reports it.
    pub fn of_process() -> Self {
        fs::read_to_string("/proc/self/status").map_or(Self::default(), |status| Self::of_status(&status))
    }

    fn of_status(status: &str) -> Self {
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
            kib.checked_mul(1024)
        };
        Self { resident: field("VmRSS:"), address_space: field("VmSize:"), data: field("VmData:") }
    }

    /// Whether a process with this much memory has to stop to stay below `most`.
    ///
    /// Where address space or data run out, an allocation fails and the process is aborted, even if it would use
    /// little of the memory. A collection that grows doubles, so the data has to fit a second time.
    pub fn is_beyond(&self, most: &Self) -> bool {
        let beyond =
            |has: Option<u64>, most: Option<u64>| has.zip(most).is_some_and(|(has, most)| has > most);
        let again = |has: Option<u64>| Some(has?.saturating_add(self.data.unwrap_or(0)));
        beyond(self.resident, most.resident)
            || beyond(again(self.address_space), most.address_space)
            || beyond(again(self.data), most.data)
    }
}

/// How far an exploration is.
#[derive(Clone, Copy, Debug)]
pub struct SearchProgress {
    /// Distinct states so far.
    pub states: u64,
    /// States generated so far; a state that is reached in several ways counts several times.
    pub generated: u64,
    /// Distinct states whose successors have not been generated.
    pub frontier: u64,
    /// Since the start.
    pub elapsed: Duration,
}

/// Why an exploration ended before it had explored all states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stopped {
    /// It reached the limit of states.
    States,
    /// It reached the limit of memory.
    Memory,
    /// It was interrupted.
    Interrupted,
}

impl Limits<'_> {
    /// The limit that a search with so many states exceeds.
    pub(crate) fn exceeded(&self, states: u64) -> Option<Stopped> {
        if self.is_interrupted() {
            Some(Stopped::Interrupted)
        } else if self.max_states.is_some_and(|most| states > most) {
            Some(Stopped::States)
        } else if self.memory != Footprint::default() && Footprint::of_process().is_beyond(&self.memory) {
            Some(Stopped::Memory)
        } else {
            None
        }
    }

    /// Whether the caller has asked for the end.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Watches a search until it is done, and stops it at a limit. `count` returns its distinct states, those
    /// generated, and those expanded.
    pub(crate) fn watch(
        &self,
        stop: &AtomicBool,
        is_done: impl Fn() -> bool,
        count: impl Fn() -> (u64, u64, u64),
    ) -> Option<Stopped> {
        let began = Instant::now();
        let (mut reported, mut pause) = (began, Duration::from_micros(50));
        let mut stopped = None;
        while !is_done() {
            // The search wakes this thread at its end.
            std::thread::park_timeout(pause);
            // The limits are checked often enough that little memory is taken in between.
            pause = (pause * 2).min(Duration::from_millis(20));
            let (states, generated, expanded) = count();
            if stopped.is_none() {
                stopped = self.exceeded(states);
                stop.fetch_or(stopped.is_some(), Ordering::Relaxed);
            }
            if let Some(progress) = self.progress
                && reported.elapsed() > Duration::from_millis(100)
            {
                reported = Instant::now();
                let frontier = states.saturating_sub(expanded);
                progress(SearchProgress { states, generated, frontier, elapsed: began.elapsed() });
            }
        }
        // A search may exceed a limit and end between two checks.
        stopped.or_else(|| self.exceeded(count().0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATUS: &str = "Name:\tcarrousel\nVmSize:\t  204800 kB\nVmRSS:\t   1024 kB\nVmData:\t  2048 kB\n";

    #[test]
    fn each_kind_of_memory_has_its_bound() {
        const MIB: u64 = 1 << 20;
        let has = Footprint::of_status(STATUS);
        assert_eq!([has.resident, has.address_space, has.data], [Some(MIB), Some(200 * MIB), Some(2 * MIB)]);
        let nothing = Footprint::default();
        let resident = |mib| Footprint { resident: Some(mib * MIB), ..nothing };
        let address_space = |mib| Footprint { address_space: Some(mib * MIB), ..nothing };
        let data = |mib| Footprint { data: Some(mib * MIB), ..nothing };
        for most in [nothing, resident(1), address_space(202), data(4)] {
            assert!(!has.is_beyond(&most), "{most:?}");
        }
        // The data would not fit a second time.
        for most in [resident(0), address_space(201), data(3)] {
            assert!(has.is_beyond(&most), "{most:?}");
        }
        assert!(Footprint::of_process().resident.is_some_and(|bytes| bytes > 0));
    }
}
