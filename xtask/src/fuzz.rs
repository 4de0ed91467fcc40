//! `cargo xtask fuzz`.

use crate::bench::format::Format;
use crate::nightly::{self, NIGHTLY};
use crate::table;
use crate::tools::{self, cargo, cargo_of, need, root};
use serde::Serialize;
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::process::{ExitCode, Stdio};

/// The version that is compiled where it is missing.
const FUZZ: &str = "0.13.2";
/// An input that takes longer is a finding. The language promises a second; the sanitizer takes its share.
const INPUT_SECONDS_MAX: u32 = 20;
/// The name that stands for all targets.
pub(crate) const ALL: &str = "all";
/// Each target, and the package whose test `corpus` replays what was found, with the features that it needs.
const TARGETS: [(&str, &str, Option<&str>); 9] = [
    ("agent", "carrousel-launch", None),
    ("hello", "carrousel-transport-verbs", Some("carrousel-transport-verbs/verbs")),
    ("options", "carrousel-options", None),
    ("packet", "carrousel-rank", None),
    ("pmi", "carrousel-launch", None),
    ("ring", "carrousel-transport-shm", None),
    ("scenario", "carrousel-scenario", None),
    ("thresholds", "carrousel-registration", None),
    ("trace", "carrousel-verify", None),
];

/// The result of feeding a target.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
struct FuzzOutcome {
    target: String,
    /// How long it was fed.
    seconds: u64,
    /// Inputs that were tried; none if the fuzzer did not get that far.
    executions: Option<u64>,
    /// Places in the code that the inputs have reached, as libFuzzer counts them (`cov:`).
    coverage: Option<u64>,
    /// Files that fail.
    findings: Vec<String>,
    /// Why the fuzzer has ended early.
    error: Option<String>,
}

/// Feeds a target, or all of them one after the other, each for some seconds, beginning with the corpus in the
/// repository. What the fuzzer adds to it goes to a directory of its own, so that the repository grows only by what
/// was found. Then the ordinary tests replay the corpora.
pub(crate) fn run(target: &str, seconds: u64, format: Format) -> Result<ExitCode, String> {
    let chosen: Vec<_> = TARGETS.iter().filter(|(name, ..)| [ALL, name].contains(&target)).collect();
    if chosen.is_empty() {
        let names: Vec<_> = TARGETS.iter().map(|(name, ..)| *name).collect();
        return Err(format!("there is no fuzz target `{target}`; there are: {}, or {ALL}", names.join(", ")));
    }
    nightly::install()?;
    need("fuzz", FUZZ)?;
    let mut outcomes = Vec::new();
    for (name, ..) in &chosen {
        outcomes.push(feed(name, seconds)?);
    }
    match format {
        Format::Table => print!("{}", table(&outcomes)),
        Format::Json => {
            let text = serde_json::to_string_pretty(&outcomes);
            println!("{}", text.map_err(|error| format!("cannot write JSON: {error}"))?);
        }
    }
    let mut replay = cargo(&["test", "--test", "corpus"]);
    for (_, package, features) in &chosen {
        replay.args(["--package", package]);
        replay.args(features.iter().flat_map(|features| ["--features", features]));
    }
    // Standard output is for the results.
    tools::run({
        replay.stdout(io::stderr());
        replay
    })?;
    let is_clean = |outcome: &FuzzOutcome| outcome.findings.is_empty() && outcome.error.is_none();
    Ok(if outcomes.iter().all(is_clean) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Feeds one target. What the fuzzer says is passed on.
fn feed(target: &str, seconds: u64) -> Result<FuzzOutcome, String> {
    let added = format!("fuzz/target/corpus/{target}");
    let kept = format!("fuzz/corpus/{target}");
    for directory in [&added, &kept] {
        let path = root().join(directory);
        fs::create_dir_all(&path).map_err(|error| format!("cannot make {}: {error}", path.display()))?;
    }
    let duration = format!("-max_total_time={seconds}");
    let timeout = format!("-timeout={INPUT_SECONDS_MAX}");
    let statistics = "-print_final_stats=1";
    let mut fuzzer =
        cargo_of(NIGHTLY, &["fuzz", "run", target, &added, &kept, "--", &duration, &timeout, statistics]);
    let wrong = |error: io::Error| format!("the fuzzer cannot be started: {error}");
    let mut child = fuzzer.stdout(io::stderr()).stderr(Stdio::piped()).spawn().map_err(wrong)?;
    let mut outcome = FuzzOutcome { target: target.to_owned(), seconds, ..FuzzOutcome::default() };
    if let Some(said) = child.stderr.take() {
        outcome.listen(said, |line| eprintln!("{line}")).map_err(wrong)?;
    }
    let status = child.wait().map_err(wrong)?;
    if !status.success() {
        outcome.error = Some(format!("the fuzzer ended with {status}"));
        eprintln!(
            "If the fuzzer found something, it is in fuzz/artifacts/{target}: make it shorter with\n  \
             cargo +{NIGHTLY} fuzz tmin {target} FILE\n\
             and put it into {kept}, from where the ordinary tests replay it."
        );
    }
    Ok(outcome)
}

impl FuzzOutcome {
    /// Takes what libFuzzer says on standard error.
    fn listen(&mut self, from: impl Read, mut show: impl FnMut(&str)) -> io::Result<()> {
        /// A line that is longer is taken as several: an input may be shown in it.
        const LINE_MAX: u64 = 64 << 10;
        let mut from = BufReader::new(from);
        let mut bytes = Vec::new();
        while (&mut from).take(LINE_MAX).read_until(b'\n', &mut bytes)? > 0 {
            let line = String::from_utf8_lossy(&bytes).trim_end().to_owned();
            show(&line);
            self.line(&line);
            bytes.clear();
        }
        Ok(())
    }

    fn line(&mut self, line: &str) {
        let number = |text: Option<&str>| text.and_then(|text| text.trim().parse().ok());
        let mut words = line.split_whitespace();
        if line.starts_with('#') {
            let is_name = |word: &&str| *word == "cov:";
            self.coverage = words.find(is_name).and_then(|_| number(words.next())).or(self.coverage);
        } else if let Some(executions) = line.strip_prefix("stat::number_of_executed_units:") {
            self.executions = number(Some(executions));
        } else if let Some((_, file)) = line.split_once("Test unit written to ") {
            self.findings.push(file.trim().to_owned());
        }
    }
}

fn table(outcomes: &[FuzzOutcome]) -> String {
    let mut table = table::table();
    table.set_header(["target", "seconds", "executions", "coverage", "findings"]);
    for outcome in outcomes {
        let number = |number: Option<u64>| number.map_or_else(|| "-".to_owned(), |number| number.to_string());
        let findings = match (&outcome.findings[..], &outcome.error) {
            ([], None) => "none".to_owned(),
            ([], Some(error)) => error.clone(),
            (files, _) => files.join("\n"),
        };
        let FuzzOutcome { target, seconds, executions, coverage, .. } = outcome;
        table.add_row([
            target.clone(),
            seconds.to_string(),
            number(*executions),
            number(*coverage),
            findings,
        ]);
    }
    table::render(table, 1..4)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "\
INFO: Seed: 1
#2\tINITED cov: 10 ft: 11 corp: 1/1b exec/s: 0 rss: 40Mb
#512\tREDUCE cov: 25 ft: 31 corp: 4/9b lim: 4 exec/s: 0 rss: 41Mb L: 2/4 MS: 1 EraseBytes-
#777\tDONE   cov: 25 ft: 31 corp: 4/9b lim: 4 exec/s: 12 rss: 41Mb
stat::number_of_executed_units: 777
";

    #[test]
    fn what_the_fuzzer_says_is_understood() {
        let (mut outcome, mut shown) = (FuzzOutcome::default(), 0);
        outcome.listen(SAID.as_bytes(), |_| shown += 1).unwrap();
        assert_eq!((outcome.executions, outcome.coverage, shown), (Some(777), Some(25), 5));
        assert!(outcome.findings.is_empty());
        let found = "artifact_prefix='x/'; Test unit written to x/crash-0123\n";
        outcome.listen(found.as_bytes(), |_| ()).unwrap();
        assert_eq!(outcome.findings, ["x/crash-0123"]);
    }

    #[test]
    fn a_fuzzer_that_says_one_endless_line_is_listened_to_in_pieces() {
        let mut longest = 0;
        let endless = io::repeat(b'x').take(1 << 20);
        FuzzOutcome::default().listen(endless, |line| longest = line.len().max(longest)).unwrap();
        assert_eq!(longest, 64 << 10);
    }

    #[test]
    fn a_table_has_a_line_for_each_target() {
        let run = |target: &str, executions, findings: &[&str]| FuzzOutcome {
            target: target.to_owned(),
            seconds: 60,
            executions,
            coverage: executions.map(|_| 25),
            findings: findings.iter().map(|file| (*file).to_owned()).collect(),
            error: (executions.is_none()).then(|| "the fuzzer ended with exit status: 1".to_owned()),
        };
        let text = table(&[
            run("ring", Some(777), &[]),
            run("trace", Some(8), &["x/crash-0"]),
            run("pmi", None, &[]),
        ]);
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], ["target", "seconds", "executions", "coverage", "findings"]);
        assert_eq!(lines[1], ["ring", "60", "777", "25", "none"]);
        assert_eq!(lines[2], ["trace", "60", "8", "25", "x/crash-0"]);
        assert_eq!(lines[3][..4], ["pmi", "60", "-", "-"]);
        assert!(
            text.lines().nth(3).is_some_and(|line| line.ends_with("ended with exit status: 1")),
            "{text}"
        );
    }

    #[test]
    fn every_target_has_a_corpus_and_a_test_that_replays_it() {
        let files = fs::read_dir(root().join("fuzz/fuzz_targets")).unwrap();
        let mut found: Vec<String> = files
            .map(|file| file.unwrap().path())
            .filter(|path| fs::read_to_string(path).unwrap().contains("fuzz_target!("))
            .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        found.sort();
        assert_eq!(found, TARGETS.map(|(name, ..)| name), "the table has what there is");
        for (name, package, _) in TARGETS {
            assert!(fs::read_dir(root().join("fuzz/corpus").join(name)).unwrap().count() >= 6, "{name}");
            let directory = package.trim_start_matches("carrousel-");
            let mut tests =
                ["", "protocols"].map(|above| root().join(above).join(directory).join("tests/corpus.rs"));
            let test = tests.iter_mut().find(|path| path.exists()).unwrap_or_else(|| panic!("{package}"));
            let text = fs::read_to_string(&*test).unwrap();
            assert!(text.contains(&format!("replay::corpus(\"{name}\", ")), "{name} in {}", test.display());
        }
    }
}
