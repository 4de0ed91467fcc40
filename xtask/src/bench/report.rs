//! Results for people and for programs.

use super::digits::digits;
use super::modes::Modes;
use super::results::{BASELINES, ResultRow, Results, Source, Verdict};
use super::statistics::Summary;
use super::targets::{Group, RATIO_TOLERANCE, STARTUP, Target, less_is_better};
use crate::table;
use serde::Serialize;

/// The library that was measured.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Library {
    pub(crate) name: &'static str,
    pub(crate) version: String,
    /// How it moves data between processes of this node, in its own words.
    pub(crate) transport: String,
}

/// The conditions of the measurement.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Conditions {
    pub(crate) cores: usize,
    /// Shares of all cores that others used before the first round and after the last, in percent.
    pub(crate) busy_before_percent: Option<f64>,
    pub(crate) busy_after_percent: Option<f64>,
    pub(crate) rounds: u32,
    /// For each measurement of each round; none where calls are counted.
    pub(crate) seconds: Option<f64>,
    pub(crate) libraries: Vec<Library>,
    /// How far apart the processors were, and what was thrown away because of that; none where it was not measured.
    pub(crate) modes: Option<Modes>,
    /// Failures and omissions.
    pub(crate) notes: Vec<String>,
}

/// Others that use more than this share of the machine are told of.
const BUSY_PERCENT_MAX: f64 = 5.0;

impl Conditions {
    /// Whether other processes were at work.
    pub(crate) fn disturbed(&self) -> bool {
        let busy = [self.busy_before_percent, self.busy_after_percent];
        busy.into_iter().flatten().any(|percent| percent > BUSY_PERCENT_MAX)
    }
}

/// The report for people.
pub(crate) fn table(results: &Results, conditions: &Conditions) -> String {
    let mut text = String::new();
    for library in &conditions.libraries {
        text += &format!("{} {}: {}\n", library.name, library.version, library.transport);
    }
    let seconds = conditions.seconds.map(|seconds| format!(", {seconds} s for each measurement"));
    text += &format!(
        "{} rounds{}, {} cores; median (min..max) of the rounds; ours/best: median of the ratios within a round [its \
         interval of 95 %], met within {} %\n",
        conditions.rounds,
        seconds.unwrap_or_default(),
        conditions.cores,
        100.0 * RATIO_TOLERANCE
    );
    if let Some(modes) = &conditions.modes {
        text += &of_modes(modes);
    }
    if conditions.disturbed() {
        text += &format!(
            "DISTURBED: other processes used {} of the machine before and {} after; repeat on a quiet one\n",
            percent(conditions.busy_before_percent),
            percent(conditions.busy_after_percent)
        );
    }
    text += "\n";
    text += &rows(results);
    text += "\n";
    for note in &conditions.notes {
        text += &format!("note: {note}\n");
    }
    text
}

/// The bare cache line, and what was thrown away because of it.
fn of_modes(modes: &Modes) -> String {
    let Modes { compared_ns, other_ns, thrown_away_changed, thrown_away_other } = modes;
    let other: Vec<String> = other_ns.iter().map(|mode| format!("{} ns", spread(*mode))).collect();
    let other = if other.is_empty() { String::new() } else { format!(" ({})", other.join(", ")) };
    let thrown_away = thrown_away_changed + thrown_away_other;
    format!(
        "bare cache line, half round trip, before and after each measurement: {} ns; of {} measurements {thrown_away} \
         thrown away: {thrown_away_changed} because it changed meanwhile, {thrown_away_other} of another mode{other}\n",
        spread(*compared_ns),
        compared_ns.rounds + thrown_away
    )
}

fn rows(results: &Results) -> String {
    let mut table = table::table();
    // A peer that was not asked for has no column.
    let peers: Vec<Source> = BASELINES
        .into_iter()
        .chain([Source::Copying, Source::Perftest])
        .filter(|peer| results.has(*peer))
        .collect();
    let names = peers.iter().map(|peer| peer.name());
    table.set_header(
        ["measurement", "size", "unit", "ours"].into_iter().chain(names).chain(["ours/best", "target"]),
    );
    for row in results.rows() {
        let cell = |summary: Option<Summary>| summary.map_or_else(|| "-".to_owned(), spread);
        let targets = results.targets(row).map(|target| {
            let verdict = results.verdict(row, target);
            let met = verdict.map_or("-  ", |verdict| if verdict.met { "ok " } else { "not" });
            let unsure = verdict.is_some_and(|verdict| verdict.within_interval);
            let doubt = if unsure { " (rounds disagree)" } else { "" };
            format!("{met} {}{doubt}", asked(row, target, verdict))
        });
        let mut cells = vec![row.name(), size(row), row.unit.clone(), cell(row.summary(Source::Carrousel))];
        cells.extend(peers.iter().map(|peer| cell(row.summary(*peer))));
        let ratio = row.ratio().map_or_else(|| "-".to_owned(), interval);
        cells.extend([ratio, targets.collect::<Vec<_>>().join("\n")]);
        table.add_row(cells);
    }
    table::render(table, 1..2)
}

/// The target, with the value reached where the table does not have it yet.
fn asked(row: &ResultRow, target: Target, verdict: Option<Verdict>) -> String {
    let relation = if less_is_better(&row.unit) { "<=" } else { ">=" };
    match target {
        Target::OfBestPeer(factor) => format!("{relation} {factor} x best"),
        Target::OfPerftest(factor) | Target::OfCopying(factor) => {
            let reached = verdict.map(|verdict| format!(": {}", spread(verdict.reached)));
            let of = if matches!(target, Target::OfCopying(_)) { "copying" } else { "perftest" };
            format!("{relation} {factor} x {of}{}", reached.unwrap_or_default())
        }
        Target::OfCacheLine(factor) => {
            let reached = verdict.map(|verdict| format!(": {}", digits(verdict.reached.median)));
            format!("<= {factor} x cache line{}", reached.unwrap_or_default())
        }
        Target::AtMost(limit) => format!("<= {limit} {}", row.unit),
    }
}

fn spread(summary: Summary) -> String {
    if summary.rounds == 1 {
        return digits(summary.median);
    }
    format!("{} ({}..{})", digits(summary.median), digits(summary.min), digits(summary.max))
}

/// A median with its interval.
fn interval(summary: Summary) -> String {
    let [low, high] = summary.interval.map(digits);
    if summary.rounds == 1 {
        return digits(summary.median);
    }
    format!("{} [{low}..{high}]", digits(summary.median))
}

fn size(row: &ResultRow) -> String {
    match row.size {
        ranks if row.bench == STARTUP => format!("{ranks} ranks"),
        bytes if bytes >= 1 << 20 && bytes % (1 << 20) == 0 => format!("{}MiB", bytes >> 20),
        bytes if bytes >= 1 << 10 && bytes % (1 << 10) == 0 => format!("{}KiB", bytes >> 10),
        bytes => bytes.to_string(),
    }
}

fn percent(share: Option<f64>) -> String {
    share.map_or_else(|| "an unknown share".to_owned(), |share| format!("{share:.0} %"))
}

/// The verdict on each target of these groups, a line each, and whether all are met. What was not measured is not.
pub(crate) fn verdicts<'a>(results: &Results, groups: impl IntoIterator<Item = &'a Group>) -> (String, bool) {
    let (mut text, mut all) = (String::new(), true);
    for group in groups {
        for (bytes, target) in group.judged {
            let rows = results.judged(group.bench, *bytes);
            // A measurement that failed has no row.
            let rows = if rows.is_empty() { vec![None] } else { rows.into_iter().map(Some).collect() };
            for row in rows {
                let verdict = row.and_then(|row| {
                    let target = results.in_force(row, *target);
                    Some((target, results.verdict(row, target)?))
                });
                let met = verdict.is_some_and(|(_, verdict)| verdict.met);
                all &= met;
                text += if met { "met      " } else { "NOT met  " };
                let name = row.map_or_else(|| group.bench.to_owned(), ResultRow::name);
                text += &match row.zip(verdict) {
                    Some((row, (target, verdict))) => {
                        let reached = interval(verdict.reached);
                        let asked = asked(row, target, None);
                        format!("{name} of {}: {reached}, asked for {asked}\n", size(row))
                    }
                    None => format!("{name} of {bytes} bytes: not measured\n"),
                };
            }
        }
    }
    (text, all)
}

/// The same for programs.
#[derive(Debug, Serialize)]
struct Document<'a> {
    #[serde(flatten)]
    conditions: &'a Conditions,
    disturbed: bool,
    measurements: Vec<Measurement<'a>>,
}

#[derive(Debug, Serialize)]
struct Measurement<'a> {
    bench: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    case: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call: Option<&'a str>,
    size: u64,
    unit: &'a str,
    ours: Option<Summary>,
    mpich: Option<Summary>,
    openmpi: Option<Summary>,
    openmpi_ucx: Option<Summary>,
    copying: Option<Summary>,
    perftest: Option<Summary>,
    best_peer: Option<&'static str>,
    ratio_to_best: Option<Summary>,
    targets: Vec<Judged>,
}

#[derive(Debug, Serialize)]
struct Judged {
    target: String,
    reached: Option<Summary>,
    met: Option<bool>,
    within_interval: Option<bool>,
}

/// The report as one JSON object.
pub(crate) fn json(results: &Results, conditions: &Conditions) -> Result<String, String> {
    let measurements = results.rows().into_iter().map(|row| Measurement {
        bench: &row.bench,
        case: row.case.as_deref(),
        call: row.call.as_deref(),
        size: row.size,
        unit: &row.unit,
        ours: row.summary(Source::Carrousel),
        mpich: row.summary(Source::Mpich),
        openmpi: row.summary(Source::OpenMpi),
        openmpi_ucx: row.summary(Source::OpenMpiUcx),
        copying: row.summary(Source::Copying),
        perftest: row.summary(Source::Perftest),
        best_peer: row.best_peer().map(Source::name),
        ratio_to_best: row.ratio(),
        targets: results
            .targets(row)
            .map(|target| {
                let verdict = results.verdict(row, target);
                Judged {
                    target: asked(row, target, verdict),
                    reached: verdict.map(|verdict| verdict.reached),
                    met: verdict.map(|verdict| verdict.met),
                    within_interval: verdict.map(|verdict| verdict.within_interval),
                }
            })
            .collect(),
    });
    let document =
        Document { conditions, disturbed: conditions.disturbed(), measurements: measurements.collect() };
    serde_json::to_string_pretty(&document).map_err(|error| format!("cannot write JSON: {error}"))
}

#[cfg(test)]
mod tests {
    use super::super::modes::Bracket;
    use super::super::record::Record;
    use super::super::results::tests::{measured, record};
    use super::*;

    fn conditions() -> Conditions {
        Conditions {
            cores: 2,
            busy_before_percent: Some(1.2),
            busy_after_percent: Some(1.0),
            rounds: 3,
            seconds: Some(0.2),
            libraries: vec![Library { name: "MPICH", version: "5.0.2".into(), transport: "ch4".into() }],
            modes: Modes::of(
                &[(46.0, 46.0), (47.0, 49.0), (210.0, 210.0), (46.0, 210.0)]
                    .map(|(before_ns, after_ns)| Bracket { before_ns, after_ns }),
            ),
            notes: vec!["ours was left out".into()],
        }
    }

    #[test]
    fn the_table_has_medians_spreads_ratios_and_verdicts() {
        // As wide as the widest cell is not what is tested.
        let collapse = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        let text = collapse(&table(&measured(), &conditions()));
        for expected in [
            "MPICH 5.0.2: ch4 3 rounds, 0.2 s",
            "each measurement: 47.0 (46.0..48.0) ns; of 4 measurements 2 thrown away: 1 because it changed meanwhile, 1 of \
             another mode (210 ns)",
            "latency 8 us 0.200 (0.200..0.800) 0.800 (0.800..3.20) 0.250 (0.250..1.00) 0.800 [0.800..0.800] ok <= 0.9 x best",
            "not <= 2.5 x cache line: 4.00",
            "12.0M (12.0M..48.0M) 2.00M (2.00M..8.00M) 10.0M (10.0M..40.0M) 1.20 [1.20..1.20] not >= 1.5 x best",
            "bandwidth 1MiB MB/s - 9000 (9000..36000) - - - >= 1 x best",
            "note: ours was left out",
        ] {
            assert!(text.contains(expected), "{expected:?} is not in:\n{text}");
        }
        assert!(!text.contains("DISTURBED"), "{text}");
    }

    #[test]
    fn a_busy_machine_is_told_of() {
        let busy = Conditions { busy_after_percent: Some(60.0), ..conditions() };
        assert!(table(&measured(), &busy).contains("1 % of the machine before and 60 % after"));
    }

    #[test]
    fn a_verdict_has_what_was_reached_and_what_was_not_measured_is_not_met() {
        let groups = &super::super::targets::GROUPS;
        let chosen = |name: &str| groups.iter().filter(|group| group.bench == name).collect::<Vec<_>>();
        let (text, all) = verdicts(&measured(), chosen("message_rate"));
        assert_eq!(
            (text.as_str(), all),
            ("NOT met  message_rate of 8: 1.20 [1.20..1.20], asked for >= 1.5 x best\n", false)
        );
        let (text, all) = verdicts(&measured(), chosen("barrier"));
        assert_eq!((text.as_str(), all), ("NOT met  barrier of 0 bytes: not measured\n", false));
        let (text, all) = verdicts(&measured(), chosen("bibandwidth"));
        assert_eq!((text.as_str(), all), ("", true));
        assert!(verdicts(&measured(), chosen("latency")).0.starts_with("met      latency of 8: 0.800"));
    }

    #[test]
    fn every_wait_of_an_overlap_has_a_verdict_and_a_row() {
        let mut results = measured();
        let about = |call: &str, us| Record {
            case: Some("sender_early".into()),
            call: Some(call.into()),
            ..record("overlap", 1 << 20, us, "us")
        };
        for (call, us) in [("irecv", 70.0), ("recv_wait", 0.5), ("isend", 0.4), ("send_wait", 9.0)] {
            results.add(Source::Carrousel, 0, about(call, us), None).unwrap();
        }
        let group = super::super::targets::GROUPS.iter().filter(|group| group.bench == "overlap");
        let (text, all) = verdicts(&results, group);
        let expected = "met      overlap sender_early recv_wait of 1MiB: 0.500, asked for <= 5 us\n\
                        NOT met  overlap sender_early send_wait of 1MiB: 9.00, asked for <= 5 us\n";
        assert_eq!((text.as_str(), all), (expected, false));
        let value: serde_json::Value = serde_json::from_str(&json(&results, &conditions()).unwrap()).unwrap();
        let rows = value["measurements"].as_array().unwrap();
        let calls: Vec<_> =
            rows.iter().filter(|row| row["case"] == "sender_early").map(|row| &row["call"]).collect();
        assert_eq!(calls, ["irecv", "recv_wait", "isend", "send_wait"]);
        assert!(rows[0].get("case").is_none());
        assert!(table(&results, &conditions()).contains("overlap sender_early isend"));
    }

    #[test]
    fn json_says_the_same() {
        let text = json(&measured(), &conditions()).unwrap();
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        let first = &value["measurements"][0];
        assert_eq!((&first["bench"], &first["best_peer"]), (&"latency".into(), &"Open MPI".into()));
        assert_eq!(first["ours"]["median"], 0.2);
        assert_eq!(first["targets"][1]["target"], "<= 2.5 x cache line: 4.00");
        assert_eq!(first["targets"][1]["met"], false);
        assert_eq!(value["measurements"][1]["ours"], serde_json::Value::Null);
        assert_eq!(value["modes"]["compared_ns"]["median"], 47.0);
        assert_eq!(value["modes"]["thrown_away_changed"], 1);
        let low = first["ratio_to_best"]["interval"][0].as_f64();
        assert!(low.is_some_and(|low| (low - 0.8).abs() < 1e-9), "{low:?}");
    }
}
