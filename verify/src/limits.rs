//! How far an exploration may go, and why one ended before its end.

use serde::{Deserialize, Serialize};
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Bounds and means of an exploration.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// Threads that explore.
    pub threads: usize,
    /// Distinct states, at most.
    pub max_states: Option<u64>,
    /// Memory, at most.
    pub memory: Footprint,
    /// Set by others when the search has to end.
    pub interrupt: Option<&'a AtomicBool>,
    /// Told now and then how far the exploration is.
    pub progress: Option<&'a (dyn Fn(SearchProgress) + Sync)>,
}

impl Default for Limits<'_> {
    fn default() -> Self {
        Self { threads: 2, max_states: None, memory: Footprint::default(), interrupt: None, progress: None }
    }
}

/// Bytes of this whole process, each kind as the system counts it.
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
    /// What this process has, where the system tells.
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

    /// Whether a process that has this much has to stop for the sake of `most`.
    ///
    /// Where address space or data run out, an allocation fails and the process is aborted, however little of it would be
    /// used. A collection that grows doubles, so that what there is has to fit in once more.
    fn is_beyond(&self, most: &Self) -> bool {
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
    /// States generated so far, the same one several times.
    pub generated: u64,
    /// Distinct states whose successors have not been generated.
    pub frontier: u64,
    /// Since the start.
    pub elapsed: Duration,
}

/// Why an exploration ended before all was explored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stopped {
    /// It has as many states as it may have.
    States,
    /// It has as much memory as it may have.
    Memory,
    /// Somebody has asked it to.
    Interrupted,
}

impl Limits<'_> {
    /// Why a search has to stop that has so many states.
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

    /// Whether somebody has asked for the end.
    pub(crate) fn is_interrupted(&self) -> bool {
        self.interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// Looks after a search until it is done, and has it stop where a limit says so; `count` are its states,
    /// those generated, and those expanded.
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
            std::thread::sleep(pause);
            // Memory is looked at so often that little of it goes between two looks.
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
        // A search that ends between two looks has kept its bounds, or has not.
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
        // What there is would not fit in once more.
        for most in [resident(0), address_space(201), data(3)] {
            assert!(has.is_beyond(&most), "{most:?}");
        }
        assert!(Footprint::of_process().resident.is_some_and(|bytes| bytes > 0));
    }
}
