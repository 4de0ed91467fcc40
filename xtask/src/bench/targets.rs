//! The measurements and their targets.

/// How a value of Carrousel is judged.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Target {
    /// As a multiple of the best peer's value: at most that where less is better, else at least. A median of ratios is
    /// not more exact than [`RATIO_TOLERANCE`].
    OfBestPeer(f64),
    /// At most that multiple of the bare cache line's half round trip.
    OfCacheLine(f64),
    /// As a multiple of what perftest reaches without any library: at most that where less is better, else at least.
    OfPerftest(f64),
    /// As a multiple of what Carrousel reaches when it copies all small messages: at most that where less is better,
    /// else at least.
    OfCopying(f64),
    /// At most that, in the measurement's own unit.
    AtMost(f64),
}

/// A ratio to a peer that misses its target by less than this share of it meets it.
pub(crate) const RATIO_TOLERANCE: f64 = 0.03;

/// Measurements of one kind, and which of them are judged.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Group {
    /// The name that programs know it by.
    pub(crate) bench: &'static str,
    /// The sizes that are measured, each by a run of its own. None where one run measures all.
    pub(crate) sizes: &'static [u64],
    /// Its targets: size and value. A size may stand twice. Of an overlap, every wait is judged.
    pub(crate) judged: &'static [(u64, Target)],
}

/// The name of `startup`. Its size is the number of ranks.
pub(crate) const STARTUP: &str = "startup";
/// Ranks of `startup`.
pub(crate) const STARTUP_RANKS: u64 = 64;
/// The name of the bare hardware's measurement.
pub(crate) const CACHE_LINE: &str = "cacheline";

const KI: u64 = 1024;
const MI: u64 = 1024 * KI;

/// Those between the ranks of this machine, in the order of measurement.
pub(crate) const GROUPS: [Group; 13] = {
    use Target::{AtMost, OfBestPeer, OfCacheLine};
    const fn group(bench: &'static str, sizes: &'static [u64], judged: &'static [(u64, Target)]) -> Group {
        Group { bench, sizes, judged }
    }
    /// No slower than the best peer.
    const BEST: Target = OfBestPeer(1.0);
    const RATES: [u64; 9] = [8, 64, 512, 4 * KI, 16 * KI, 64 * KI, 256 * KI, MI, 4 * MI];
    [
        group(
            "latency",
            &[0, 8, 64, 512, 2 * KI, 4 * KI, 16 * KI, 64 * KI, 256 * KI, MI],
            &[
                (8, OfBestPeer(0.9)),
                (8, OfCacheLine(2.5)),
                (64, BEST),
                (512, BEST),
                (2 * KI, BEST),
                (MI, BEST),
            ],
        ),
        group("stream", &[8], &[(8, BEST)]),
        group("reversed", &[8], &[(8, BEST)]),
        group("sendrecv", &[8, 64 * KI, MI], &[(64 * KI, BEST), (MI, BEST)]),
        group("bandwidth", &RATES, &[(64 * KI, BEST), (MI, BEST)]),
        group("bibandwidth", &RATES, &[]),
        group("message_rate", &[8], &[(8, OfBestPeer(1.5))]),
        group("overlap", &[64 * KI, 256 * KI, MI, 4 * MI], &[(MI, AtMost(5.0))]),
        group("hidden_send", &[64 * KI, MI], &[]),
        group("hidden_receive", &[64 * KI, MI], &[]),
        group("allreduce", &[8, 64 * KI], &[(8, BEST), (64 * KI, BEST)]),
        group("barrier", &[0], &[(0, BEST)]),
        group(STARTUP, &[STARTUP_RANKS], &[(STARTUP_RANKS, BEST)]),
    ]
};

/// The targets of one measurement of these groups.
pub(crate) fn of(groups: &'static [Group], bench: &str, size: u64) -> impl Iterator<Item = Target> + use<> {
    let group = groups.iter().find(|group| group.bench == bench);
    let judged = group.map_or(&[][..], |group| group.judged);
    judged.iter().filter(move |(judged, _)| *judged == size).map(|(_, target)| *target)
}

/// Whether a smaller value of this unit is the better one.
pub(crate) fn less_is_better(unit: &str) -> bool {
    matches!(unit, "ns" | "us" | "ms" | "s")
}

impl Group {
    /// Sizes that are judged, each once.
    pub(crate) fn sizes_judged(&self) -> Vec<u64> {
        let mut sizes: Vec<u64> = self.judged.iter().map(|(size, _)| *size).collect();
        sizes.dedup();
        sizes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_bytes_are_judged_twice() {
        let targets: Vec<Target> = of(&GROUPS, "latency", 8).collect();
        assert_eq!(targets, [Target::OfBestPeer(0.9), Target::OfCacheLine(2.5)]);
        assert_eq!(GROUPS[0].sizes_judged(), [8, 64, 512, 2 * KI, MI]);
    }

    #[test]
    fn what_is_judged_is_measured() {
        for group in &GROUPS {
            let judged = group.sizes_judged();
            assert!(judged.iter().all(|size| group.sizes.contains(size)), "{}: {judged:?}", group.bench);
        }
    }

    #[test]
    fn what_nobody_asked_for_is_not_judged() {
        assert_eq!(of(&GROUPS, "latency", 4 * KI).count(), 0);
        assert_eq!(of(&GROUPS, "unheard", 8).count(), 0);
    }

    #[test]
    fn only_of_times_less_is_better() {
        assert!(["us", "ns", "ms"].into_iter().all(less_is_better));
        assert!(!["MB/s", "messages/s", "percent"].into_iter().any(less_is_better));
    }
}
