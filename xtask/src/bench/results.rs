//! The values of all rounds, and how Carrousel compares.

use super::record::Record;
use super::statistics::Summary;
use super::targets::{self, Group, RATIO_TOLERANCE, Target};
use std::collections::BTreeMap;

/// The libraries that were measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Source {
    Carrousel,
    Mpich,
    OpenMpi,
    /// Open MPI as its users can set it.
    OpenMpiUcx,
    /// Carrousel, with the options by which it copies all small messages.
    Copying,
    /// No library: the bare verbs, which the programs of this name measure.
    Perftest,
}

/// The libraries that Carrousel is compared with.
pub(crate) const BASELINES: [Source; 3] = [Source::Mpich, Source::OpenMpi, Source::OpenMpiUcx];

impl Source {
    /// For people.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Carrousel => "ours",
            Self::Mpich => "MPICH",
            Self::OpenMpi => "Open MPI",
            Self::OpenMpiUcx => "Open MPI/ucx",
            Self::Copying => "ours, copying",
            Self::Perftest => "perftest",
        }
    }
}

/// One measurement at one size: a value for each source and round.
#[derive(Clone, Debug)]
pub(crate) struct ResultRow {
    pub(crate) bench: String,
    /// Which rank begins, and which call it is; of an overlap only.
    pub(crate) case: Option<String>,
    pub(crate) call: Option<String>,
    pub(crate) size: u64,
    pub(crate) unit: String,
    values: BTreeMap<(Source, u32), Measured>,
}

/// A value of one source in one round.
#[derive(Clone, Copy, Debug)]
struct Measured {
    value: f64,
    /// What the bare cache line took meanwhile, in ns, if that was measured.
    line_ns: Option<f64>,
}

/// How a value of Carrousel stands to one target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Verdict {
    /// The quantity that the target limits: a ratio, or the value.
    pub(crate) reached: Summary,
    /// By the median; a ratio to a peer within [`RATIO_TOLERANCE`].
    pub(crate) met: bool,
    /// One end of the median's interval says one thing and the other end the other: more rounds, or a quieter machine,
    /// may turn it.
    pub(crate) within_interval: bool,
}

impl ResultRow {
    /// The measurement, for people.
    pub(crate) fn name(&self) -> String {
        let words = [Some(&self.bench), self.case.as_ref(), self.call.as_ref()];
        words.into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(" ")
    }

    /// Whether targets apply to it. Of an overlap they are about its waits: the call that starts a request may copy.
    fn is_judged(&self) -> bool {
        self.call.as_ref().is_none_or(|call| call.contains("_wait"))
    }

    /// The values of one source.
    pub(crate) fn summary(&self, source: Source) -> Option<Summary> {
        Summary::of(self.values.iter().filter(|((from, _), _)| *from == source).map(|(_, of)| of.value))
    }

    /// The peer whose median is best.
    pub(crate) fn best_peer(&self) -> Option<Source> {
        let medians = BASELINES.into_iter().filter_map(|peer| Some((peer, self.summary(peer)?.median)));
        let sign = if targets::less_is_better(&self.unit) { 1.0 } else { -1.0 };
        medians.min_by(|left, right| (sign * left.1).total_cmp(&(sign * right.1))).map(|(peer, _)| peer)
    }

    /// Carrousel divided by the best peer, round by round: what disturbs a round disturbs both.
    pub(crate) fn ratio(&self) -> Option<Summary> {
        self.ratio_to(self.best_peer()?)
    }

    /// The same by another source.
    fn ratio_to(&self, base: Source) -> Option<Summary> {
        self.ratios(|round, _| self.values.get(&(base, round)).map(|base| base.value))
    }

    fn ratios(&self, base: impl Fn(u32, &Measured) -> Option<f64>) -> Option<Summary> {
        let ours = self.values.iter().filter(|((from, _), _)| *from == Source::Carrousel);
        // Without a positive base there is no ratio: an overlap of 0 percent, for one.
        Summary::of(ours.filter_map(|((_, round), own)| {
            base(*round, own).filter(|base| *base > 0.0).map(|base| own.value / base)
        }))
    }
}

/// All rows.
#[derive(Clone, Debug)]
pub(crate) struct Results {
    groups: &'static [Group],
    rows: Vec<ResultRow>,
    /// Whether Carrousel does not copy small messages, by size class: of so many KiB, and of the last or more.
    lent: Vec<bool>,
}

impl Results {
    /// None yet, of what these groups measure.
    pub(crate) fn new(groups: &'static [Group]) -> Self {
        Self { groups, rows: Vec::new(), lent: Vec::new() }
    }

    /// The targets of a row.
    pub(crate) fn targets(&self, row: &ResultRow) -> impl Iterator<Item = Target> {
        let asked = targets::of(self.groups, &row.bench, row.size).filter(|_| row.is_judged());
        asked.map(|target| self.in_force(row, target))
    }

    /// The rows that a target of this measurement and size is about.
    pub(crate) fn judged(&self, bench: &str, size: u64) -> Vec<&ResultRow> {
        let mut rows = self.rows();
        rows.retain(|row| row.bench == bench && row.size == size && row.is_judged());
        rows
    }

    /// The size classes whose messages Carrousel does not copy.
    pub(crate) fn lends(&mut self, classes: Vec<bool>) {
        self.lent = classes;
    }

    /// The target in force for a row: a message that is not copied must not be slower than one that is.
    pub(crate) fn in_force(&self, row: &ResultRow, target: Target) -> Target {
        let last = self.lent.len().saturating_sub(1);
        match target {
            Target::OfCopying(_) if self.lent.get(last.min(row.size as usize >> 10)) == Some(&true) => {
                Target::OfCopying(1.0)
            }
            target => target,
        }
    }

    /// Keeps a value, with what the bare cache line took meanwhile, if that was measured.
    pub(crate) fn add(
        &mut self,
        source: Source,
        round: u32,
        record: Record,
        line_ns: Option<f64>,
    ) -> Result<(), String> {
        let is_of = |row: &ResultRow| {
            (&row.bench, &row.case, &row.call, row.size)
                == (&record.bench, &record.case, &record.call, record.size)
        };
        let at = self.rows.iter().position(is_of).unwrap_or_else(|| {
            let Record { bench, case, call, size, unit, .. } = record.clone();
            self.rows.push(ResultRow { bench, case, call, size, unit, values: BTreeMap::new() });
            self.rows.len() - 1
        });
        let row = &mut self.rows[at];
        if row.unit != record.unit {
            return Err(format!(
                "{} of {} bytes comes in {} from {}, and in {} from others: give both the same unit",
                row.name(),
                row.size,
                record.unit,
                source.name(),
                row.unit
            ));
        }
        row.values.insert((source, round), Measured { value: record.value, line_ns });
        Ok(())
    }

    /// The rows in the order of the groups, then of sizes; those of one size as they came.
    pub(crate) fn rows(&self) -> Vec<&ResultRow> {
        let place = |row: &ResultRow| self.groups.iter().position(|group| group.bench == row.bench);
        let mut rows: Vec<&ResultRow> = self.rows.iter().collect();
        rows.sort_by_key(|row| (place(row).unwrap_or(self.groups.len()), row.size));
        rows
    }

    /// Whether a source has any value.
    pub(crate) fn has(&self, source: Source) -> bool {
        self.rows.iter().any(|row| row.summary(source).is_some())
    }

    /// How Carrousel stands to a target of the row; none while one of the two sides was not measured.
    pub(crate) fn verdict(&self, row: &ResultRow, target: Target) -> Option<Verdict> {
        let less = targets::less_is_better(&row.unit);
        let (reached, limit) = match target {
            Target::OfBestPeer(factor) => (row.ratio()?, factor),
            Target::OfPerftest(factor) => (row.ratio_to(Source::Perftest)?, factor),
            Target::OfCopying(factor) => (row.ratio_to(Source::Copying)?, factor),
            // From ns to the row's us.
            Target::OfCacheLine(factor) => (row.ratios(|_, own| Some(own.line_ns? / 1e3))?, factor),
            Target::AtMost(limit) => (row.summary(Source::Carrousel)?, limit),
        };
        let tolerance = if let Target::OfBestPeer(_) = target { RATIO_TOLERANCE } else { 0.0 };
        let meets = |value: f64| {
            if less { value <= limit * (1.0 + tolerance) } else { value >= limit * (1.0 - tolerance) }
        };
        let [low, high] = reached.interval;
        Some(Verdict { reached, met: meets(reached.median), within_interval: meets(low) != meets(high) })
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::targets::GROUPS;
    use super::*;

    pub(in super::super) fn record(bench: &str, size: u64, value: f64, unit: &str) -> Record {
        Record { size, value, repetitions: 10, ..Record::of(bench, unit) }
    }

    /// Three rounds, of which the second is disturbed.
    pub(in super::super) fn measured() -> Results {
        let mut results = Results::new(&GROUPS);
        for (round, disturbance) in [(0, 1.0), (1, 4.0), (2, 1.0)] {
            let mut add = |source, bench, size, value: f64, unit| {
                let record = record(bench, size, value * disturbance, unit);
                results.add(source, round, record, Some(50.0 * disturbance)).unwrap();
            };
            add(Source::Carrousel, "latency", 8, 0.2, "us");
            add(Source::Mpich, "latency", 8, 0.8, "us");
            add(Source::OpenMpi, "latency", 8, 0.25, "us");
            add(Source::Carrousel, "message_rate", 8, 12e6, "messages/s");
            add(Source::Mpich, "message_rate", 8, 2e6, "messages/s");
            add(Source::OpenMpi, "message_rate", 8, 10e6, "messages/s");
            add(Source::Mpich, "bandwidth", 1 << 20, 9000.0, "MB/s");
        }
        results
    }

    #[test]
    fn the_best_peer_of_a_time_is_the_least_and_of_a_rate_the_greatest() {
        let results = measured();
        let best: Vec<_> = results.rows().iter().map(|row| row.best_peer()).collect();
        assert_eq!(best, [Some(Source::OpenMpi), Some(Source::Mpich), Some(Source::OpenMpi)]);
    }

    #[test]
    fn a_disturbance_of_a_round_cancels_out() {
        let results = measured();
        let ratio = results.rows()[0].ratio().unwrap();
        assert!((ratio.max - 0.8).abs() < 1e-9 && (ratio.min - 0.8).abs() < 1e-9, "{ratio:?}");
    }

    #[test]
    fn each_target_is_judged() {
        let results = measured();
        let met = |at: usize| -> Vec<Option<bool>> {
            let row = results.rows()[at];
            let verdict = |target| results.verdict(row, target).map(|verdict| verdict.met);
            results.targets(row).map(verdict).collect()
        };
        // 0.8 of the best peer, and 4 cache lines.
        assert_eq!(met(0), [Some(true), Some(false)]);
        // Not measured of Carrousel.
        assert_eq!(met(1), [None]);
        // 1.2 of the best, where 1.5 is asked for.
        assert_eq!(met(2), [Some(false)]);
    }

    #[test]
    fn rounds_that_disagree_are_told_of() {
        let mut results = measured();
        let verdict = |results: &Results| {
            let row = results.rows()[2];
            results
                .verdict(row, Target::OfBestPeer(1.5))
                .map(|verdict| (verdict.met, verdict.within_interval))
        };
        assert_eq!(verdict(&results), Some((false, false)));
        results.add(Source::Carrousel, 0, record("message_rate", 8, 16e6, "messages/s"), None).unwrap();
        assert_eq!(verdict(&results), Some((false, true)));
    }

    #[test]
    fn a_ratio_that_misses_its_target_by_less_than_can_be_measured_meets_it() {
        let met = |ours: f64, unit: &str| {
            let mut results = Results::new(&GROUPS);
            for (source, value) in [(Source::Carrousel, ours), (Source::Mpich, 1.0)] {
                results.add(source, 0, record("stream", 8, value, unit), None).unwrap();
            }
            let row = results.rows()[0];
            [Target::OfBestPeer(1.0), Target::AtMost(1.0)]
                .map(|target| results.verdict(row, target).map(|verdict| verdict.met))
        };
        assert_eq!(met(1.02, "us"), [Some(true), Some(false)]);
        assert_eq!(met(1.04, "us")[0], Some(false));
        assert_eq!((met(0.98, "MB/s")[0], met(0.96, "MB/s")[0]), (Some(true), Some(false)));
    }

    #[test]
    fn different_units_are_refused() {
        let mut results = measured();
        let error = results.add(Source::Carrousel, 3, record("latency", 8, 200.0, "ns"), None).unwrap_err();
        assert!(error.contains("ns") && error.contains("us"), "{error}");
    }

    #[test]
    fn of_an_overlap_every_wait_is_judged_and_the_calls_that_start_are_not() {
        let mut results = Results::new(&GROUPS);
        for (call, us) in [("irecv", 90.0), ("recv_wait", 0.4), ("isend", 0.3), ("send_wait2", 70.0)] {
            for case in ["receiver_early", "sender_early_two"] {
                let about = Record {
                    case: Some(case.into()),
                    call: Some(call.into()),
                    ..record("overlap", 1 << 20, us, "us")
                };
                results.add(Source::Carrousel, 0, about, None).unwrap();
            }
        }
        assert_eq!(results.rows().len(), 8);
        let judged = results.judged("overlap", 1 << 20);
        let met = |row: &&ResultRow| {
            let verdicts = results.targets(row).filter_map(|target| results.verdict(row, target));
            (row.name(), verdicts.map(|verdict| verdict.met).collect::<Vec<_>>())
        };
        let met: Vec<_> = judged.iter().map(met).collect();
        let expected = [
            ("overlap receiver_early recv_wait", true),
            ("overlap sender_early_two recv_wait", true),
            ("overlap receiver_early send_wait2", false),
            ("overlap sender_early_two send_wait2", false),
        ];
        assert_eq!(met, expected.map(|(name, met)| (name.to_owned(), vec![met])));
        assert!(results.rows().iter().all(|row| row.is_judged() || results.targets(row).count() == 0));
    }

    #[test]
    fn there_is_no_ratio_to_nothing() {
        let mut results = Results::new(&GROUPS);
        for (source, value) in [(Source::Carrousel, 90.0), (Source::Mpich, 0.0), (Source::OpenMpi, 0.0)] {
            results.add(source, 0, record("hidden_send", 65536, value, "percent"), None).unwrap();
        }
        assert_eq!(results.rows()[0].ratio(), None);
    }
}
