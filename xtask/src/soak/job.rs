//! A random job, derived from its seed.

use fastrand::Rng;
use std::ops::RangeInclusive;
use std::time::Duration;

/// The fault that a job gets while it runs, or how it is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Fault {
    /// Nothing.
    None,
    /// Ranks are stopped and continued.
    Pause,
    /// A rank is killed.
    KillRank,
    /// The launcher gets SIGTERM.
    Terminate,
    /// The same, and no rank ends by it.
    TerminateStubborn,
    /// Nobody reads the output any more.
    ReaderLeaves,
    /// The launcher is killed.
    KillLauncher,
}

impl Fault {
    /// For a person, and for JSON.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Pause => "ranks stopped and continued",
            Self::KillRank => "rank killed",
            Self::Terminate => "launcher terminated",
            Self::TerminateStubborn => "launcher terminated, ranks ignore it",
            Self::ReaderLeaves => "reader left",
            Self::KillLauncher => "launcher killed",
        }
    }

    /// Whether the job is to end by it, however much it has to do.
    pub(super) fn is_final(self) -> bool {
        !matches!(self, Self::None | Self::Pause)
    }
}

/// A job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SoakJob {
    pub(super) seed: u64,
    pub(super) ranks: u32,
    /// So many that it does not end by itself, if a fault ends it.
    pub(super) steps: u32,
    pub(super) shape: &'static str,
    /// Variables that set options.
    pub(super) options: Vec<(String, &'static str)>,
    pub(super) fault: Fault,
    /// How long after the ranks have begun.
    pub(super) after: Duration,
    /// Whether its trace is checked.
    pub(super) trace: bool,
    /// Whether the job is in a PID namespace of its own.
    pub(super) container: bool,
    /// Whether each rank leaves a process behind that has left its session.
    pub(super) leaves: bool,
    /// Options of the command.
    pub(super) arguments: Vec<&'static str>,
}

const OPTIONS: [(&str, &[&str]); 7] = [
    ("eager_threshold", &["0", "1", "100", "4KiB", "16KiB", "64KiB", "1MiB"]),
    ("eager_window", &["0", "1KiB", "20KiB", "256KiB", "64MiB"]),
    ("speculation", &["off", "always", "always", "adaptive"]),
    ("rtr_limit", &["0", "1", "3", "65535"]),
    ("shm_ring", &["4KiB", "8KiB", "64KiB", "1MiB"]),
    ("shm_direct", &["off", "off", "on"]),
    ("hang_report", &["0", "1s", "60s"]),
];

impl SoakJob {
    /// The job of a seed.
    pub(super) fn of(seed: u64, ranks: &RangeInclusive<u32>) -> Self {
        let mut rng = Rng::with_seed(seed);
        // Few ranks say more about a pair, and take less time.
        let (least, most) = (*ranks.start(), *ranks.end());
        let ranks = match rng.u32(..10) {
            0..6 => rng.u32(2..=8),
            6..9 => rng.u32(9..=32),
            _ => rng.u32(33..=64),
        };
        let ranks = ranks.clamp(least, most);
        let fault = match rng.u32(..20) {
            0..3 => Fault::Pause,
            3..6 => Fault::KillRank,
            6 => Fault::Terminate,
            7 => Fault::TerminateStubborn,
            8 => Fault::ReaderLeaves,
            9 => Fault::KillLauncher,
            _ => Fault::None,
        };
        let trace = rng.u32(..3) == 0 && !matches!(fault, Fault::Pause | Fault::KillLauncher);
        let steps = match fault {
            fault if fault.is_final() => 1_000_000,
            _ if trace => rng.u32(5..=15),
            // As many as take about a second.
            _ => rng.u32(20..=60) * 4 / ranks.clamp(4, 16),
        };
        let mut options = Vec::new();
        for (name, values) in OPTIONS {
            if rng.u32(..3) == 0 {
                let value = rng.choice(values).copied().unwrap_or_default();
                options.push((format!("CARROUSEL_{}", name.to_uppercase()), value));
            }
        }
        let shape = *rng.choice(&["dense", "dense", "dense", "sparse", "late", "idle"]).unwrap_or(&"dense");
        let arguments = match rng.u32(..4) {
            0 => vec!["--bind", "none"],
            1 => vec!["--tag-output"],
            _ => Vec::new(),
        };
        // At once, early, or in the midst of it.
        let after = Duration::from_micros(match rng.u32(..3) {
            0 => 0,
            1 => rng.u64(..20_000),
            _ => rng.u64(..800_000),
        });
        let (container, leaves) = (rng.u32(..8) == 0, rng.u32(..8) == 0);
        Self { seed, ranks, steps, shape, options, fault, after, trace, container, leaves, arguments }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_a_job() {
        assert_eq!(SoakJob::of(7, &(2..=64)), SoakJob::of(7, &(2..=64)));
        let jobs: Vec<SoakJob> = (0..500).map(|seed| SoakJob::of(seed, &(2..=64))).collect();
        assert!(jobs.iter().all(|job| (2..=64).contains(&job.ranks)));
        for fault in [Fault::None, Fault::Pause, Fault::KillRank, Fault::Terminate, Fault::KillLauncher] {
            assert!(jobs.iter().any(|job| job.fault == fault && job.ranks > 32), "{fault:?}");
        }
    }
}
